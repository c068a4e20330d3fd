// Prints omp's reading of a file. omp gets a copy, because opening may migrate or repair.
import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { anyEntry } from "./target.mjs";

const isMove = (e) => e.type === "leaf" && e.targetId !== undefined;

/** The first context is the one of the active leaf; `leaves` and `picks` say at which others to look, as in pi-inspect.mjs. */
export async function inspect(SessionManager, { file, dir, leaves = [], picks = [] }) {
  const copy = join(dir, `copy-${process.pid}.jsonl`);
  copyFileSync(file, copy);
  try {
    const session = await SessionManager.open(copy, dir, undefined, { suppressBreadcrumb: true });
    const entries = session.getEntries();
    const seen = {
      leaf: session.getLeafId(),
      name: session.getSessionName() ?? null,
      entries: entries.map((e) => ({ id: e.id, parentId: e.parentId ?? null, type: e.type, isMove: isMove(e) })),
      labels: Object.fromEntries(entries.map((e) => [e.id, session.getLabel(e.id)]).filter(([, label]) => label)),
      tree: preorder(session),
      contexts: [context(session)],
    };
    for (const id of [...leaves, ...picks.map((pick) => anyEntry(pick, entries) ?? null)]) {
      if (id === null) session.resetLeaf();
      else session.branch(id);
      seen.contexts.push(context(session));
    }
    session.seal();
    return seen;
  } finally {
    rmSync(copy, { force: true });
  }
}

function context(session) {
  const { cacheMissExplainedAt: _, ...context } = session.buildSessionContext();
  // treering leaves out the notebook that omp puts in front: see its dialects' documentation.
  if (context.messages[0]?.customType === "experimental_context_notes") context.messages.shift();
  // A copy, because the session's own objects are used again.
  return { leaf: session.getLeafId(), path: session.getBranch().map((e) => e.id), context: JSON.parse(JSON.stringify(context)) };
}

function preorder(session) {
  const ids = [];
  const stack = session.getTree().reverse();
  while (stack.length > 0) {
    const node = stack.pop();
    ids.push(node.entry.id);
    stack.push(...[...node.children].reverse());
  }
  return ids;
}
