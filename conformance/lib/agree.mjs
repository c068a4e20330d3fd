// Whether treering and pi see the same session in a file.
import { mustEqual } from "./compare.mjs";

/** pi takes the last entry as its leaf; if that is one of treering's `leaf` entries, the leaf is its target. */
function activeLeaf(seen) {
  const { path, ...context } = seen.contexts[0];
  const last = seen.entries.at(-1);
  if (last?.type !== "leaf") return { ...context, path };
  return { ...context, leaf: last.targetId, path: path.slice(0, -1) };
}

const model = (m) => (m ? { provider: m.provider ?? null, modelId: m.modelId ?? null } : null);
const settled = ({ messages, thinkingLevel, model: m }) => ({ messages, thinkingLevel, model: model(m) });

/**
 * Compares path, entries and context at the active leaf and at the other leaves that `seen` (pi-inspect.mjs) holds, then the tree.
 * With `contexts: false` only the shape is compared. Returns how many contexts were compared.
 */
export async function mustAgree(treering, pi, file, seen, { contexts = true } = {}) {
  const sides = [treering.name, `pi ${pi.version}`];
  const byId = new Map(seen.entries.map((e) => [e.id, e]));
  const active = activeLeaf(seen);
  let compared = 0;
  for (const [i, expected] of [active, ...seen.contexts.slice(1)].entries()) {
    const leaf = i === 0 ? undefined : expected.leaf;
    const where = i === 0 ? "at the active leaf" : `at leaf ${leaf}`;
    const log = await treering.log(file, leaf);
    mustEqual(`path ${where}`, log.map((e) => e.id), expected.path, sides);
    mustEqual(`entries of the path ${where}`, log, expected.path.map((id) => byId.get(id)), sides);
    if (!contexts) continue;
    mustEqual(`context ${where}`, settled(await treering.context(file, leaf)), settled(expected), sides);
    compared++;
  }
  await treeMustAgree(treering, file, seen, active, sides);
  return compared;
}

async function treeMustAgree(treering, file, seen, active, sides) {
  const parents = new Map(seen.tree.map((n) => [n.id, n.parentId]));
  const haveChildren = new Set(parents.values());
  // A `leaf` entry is a node like any other to pi. treering may leave it out where nothing hangs below it.
  const shown = (node) => node.type !== "leaf" || haveChildren.has(node.id);
  const onPath = new Set(active.path);
  const expected = seen.tree.filter(shown).map(({ id, parentId, depth, type, role, label }) => ({
    id, parentId, depth, type, role: type === "message" ? role : null, label, active: onPath.has(id), leaf: id === active.leaf,
  }));
  const found = (await treering.tree(file)).filter(shown).map((n) => ({
    id: n.id, parentId: parents.has(n.parentId) ? n.parentId : null, depth: n.depth, type: n.type,
    role: n.type === "message" ? n.role : null, label: n.label ?? null, active: n.active, leaf: n.leaf,
  }));
  mustEqual("tree", found, expected, sides);
}
