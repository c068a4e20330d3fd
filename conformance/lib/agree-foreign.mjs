// Whether treering and another agent see the same session in that agent's file.
import { readFileSync } from "node:fs";
import { mustEqual } from "./compare.mjs";

/** The records of a file that have an id, unchanged. */
export function records(file) {
  return readFileSync(file, "utf8").split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}

/** Another agent takes the last entry as its leaf; if treering recorded a move with it, the leaf is the target of the move. */
function activeLeaf(seen) {
  const { path, ...at } = seen.contexts[0];
  const last = seen.entries.at(-1);
  if (!last?.isMove) return { ...at, path };
  return { ...at, leaf: last.parentId, path: path.slice(0, -1) };
}

/** An entry without what the tree supplies. */
const own = ({ id: _, parentId: _p, timestamp: _t, record: _r, ...fields }) => fields;

/** treering prints null where a setting is undefined, and the default one of several models where one is expected. */
function settled({ model, ...context }) {
  if (model !== undefined && model !== (context.models?.default ?? null)) throw new Error(`the model is ${JSON.stringify(model)}`);
  return Object.fromEntries(Object.entries(context).filter(([, value]) => value !== null));
}

/**
 * `seen` is what the peer's `inspect` gave: `entries` in file order, `labels`, and `contexts`, the active leaf's first. Not every agent
 * has a `name` for a session and an order of its `tree` (ids in pre-order).
 * `given` are entries that went in through `treering append`, by id: they come out as they were, even where the agent has nothing of the kind.
 * Returns how many contexts were compared.
 */
export async function mustAgreeWith(treering, peer, file, seen, given = new Map()) {
  const sides = [treering.name, peer.title];
  const byId = new Map(records(file).map((record) => [record.id, record]));
  const active = activeLeaf(seen);
  for (const [i, expected] of [active, ...seen.contexts.slice(1)].entries()) {
    const leaf = i === 0 ? undefined : expected.leaf;
    const where = i === 0 ? "at the active leaf" : `at leaf ${leaf}`;
    const log = await treering.log(file, leaf);
    mustEqual(`path ${where}`, log.map((e) => e.id), expected.path, sides);
    mustEqual(`records of the path ${where}`, log.map((e) => e.record ?? e), expected.path.map((id) => byId.get(id)), [treering.name, "file"]);
    const kept = log.filter((e) => given.has(e.id));
    mustEqual(`entries of the path ${where}`, kept.map(own), kept.map((e) => own(given.get(e.id))), [treering.name, "what was appended"]);
    mustEqual(`context ${where}`, settled(await treering.agentContext(file, leaf)), settled(expected.context), sides);
  }
  await treeMustAgree(treering, file, seen, active, sides);
  if (seen.name !== undefined) mustEqual("name", await treering.nameOf(file), seen.name && seen.name.toWellFormed(), sides); // a text to treering
  return seen.contexts.length;
}

async function treeMustAgree(treering, file, seen, active, sides) {
  const haveChildren = new Set(seen.entries.map((e) => e.parentId));
  const moves = new Set(seen.entries.filter((e) => e.isMove && !haveChildren.has(e.id)).map((e) => e.id));
  const onPath = new Set(active.path);
  // Forks of omp's may lack a parent: what names it is a root then.
  const ids = new Set(seen.entries.map((e) => e.id));
  const parentOf = (e) => (ids.has(e.parentId) ? e.parentId : null);
  const found = (await treering.tree(file)).filter((n) => !moves.has(n.id));
  const byId = (nodes) => Object.fromEntries(nodes.map(({ id, ...node }) => [id, node]));
  const expected = seen.entries.filter((e) => !moves.has(e.id)).map((e) => ({
    id: e.id, parentId: parentOf(e), type: e.type, label: seen.labels[e.id] ?? null, active: onPath.has(e.id), leaf: e.id === active.leaf,
  }));
  mustEqual("number of nodes", found.length, expected.length, sides);
  const shown = found.map((n) => ({
    id: n.id, parentId: parentOf(n), type: n.record?.type ?? n.type, label: n.label ?? null, active: n.active, leaf: n.leaf,
  }));
  mustEqual("tree", byId(shown), byId(expected), sides);
  if (seen.tree) mustEqual("order of the tree", found.map((n) => n.id), seen.tree.filter((id) => !moves.has(id)), sides);
}
