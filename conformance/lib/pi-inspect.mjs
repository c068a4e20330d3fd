// Prints pi's reading of a file. pi gets a copy, because opening may migrate or repair.
import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { anyEntry } from "./target.mjs";

/**
 * The first context is the one of the active leaf.
 * `leaves` and `picks` say at which other leaves to look, by id (null: before the first entry) or by a number in [0, 1).
 * With `toLlm`, pi's own conversion, each context also has the messages for a provider.
 */
export function inspect(SessionManager, { file, dir, leaves = [], picks = [], toLlm }) {
  const copy = join(dir, `copy-${process.pid}.jsonl`);
  copyFileSync(file, copy);
  try {
    const session = SessionManager.open(copy, dir);
    const entries = session.getEntries();
    const leaf = session.getLeafId();
    const tree = preorder(session);
    const contexts = [context(session, toLlm)];
    for (const id of [...leaves, ...picks.map((pick) => anyEntry(pick, entries) ?? null)]) {
      if (id === null) session.resetLeaf();
      else session.branch(id);
      contexts.push(context(session, toLlm));
    }
    return { header: session.getHeader(), leaf, entries, tree, contexts };
  } finally {
    rmSync(copy, { force: true });
  }
}

/** The sums of pi's footer, added up as the footer does, with pi's own functions. */
export function usageTotals(SessionManager, { createUsageTotals, addUsageToTotals, getUsageCostBreakdown }, { file, dir }) {
  const session = SessionManager.open(file, dir);
  const totals = createUsageTotals();
  const complete = [];
  for (const entry of session.getEntries()) {
    const isAnswer = entry.type === "message" && entry.message.role === "assistant";
    const usage = entry.type === "usage" || isAnswer ? (entry.message ?? entry).usage : entry.usage;
    if (isAnswer) complete.push(["api", "provider", "model", "stopReason"].every((key) => typeof entry.message[key] === "string"));
    if (usage) addUsageToTotals(totals, usage);
  }
  getUsageCostBreakdown(session.getEntries());
  totals.cost = Math.round(totals.cost * 1e9) / 1e9;
  return { totals, entries: complete };
}

function context(session, toLlm) {
  const { messages, thinkingLevel, model } = session.buildSessionContext();
  return { leaf: session.getLeafId(), path: session.getBranch().map((e) => e.id), messages, thinkingLevel, model, ...(toLlm && { llm: toLlm(messages) }) };
}

/** Every node once: pi shows an entry again for each further line with its id. */
function preorder(session) {
  const nodes = [];
  const seen = new Set();
  const stack = session.getTree().reverse().map((node) => ({ node, parentId: null, depth: 0 }));
  while (stack.length > 0) {
    const { node, parentId, depth } = stack.pop();
    const { id, type, message } = node.entry;
    if (seen.has(id)) continue;
    seen.add(id);
    nodes.push({ id, parentId, depth, type, role: message?.role ?? null, label: node.label ?? null, labelTimestamp: node.labelTimestamp ?? null });
    for (const child of [...node.children].reverse()) stack.push({ node: child, parentId: id, depth: depth + 1 });
  }
  return nodes;
}
