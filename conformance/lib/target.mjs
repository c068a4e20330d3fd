// Which entry an operation means, given the session as it is now.
const at = (list, pick) => list[Math.floor(pick * list.length)];

/** Any entry of the session, or undefined if there is none. No operation navigates to a `leaf` entry, which only points to another one. */
export const anyEntry = (pick, entries) => at(entries.filter((e) => e.type !== "leaf"), pick)?.id;

/** The `firstKeptEntryId` of a compaction; undefined stands for the compaction itself. */
export function firstKept({ keep, pick }, entries, path) {
  const onPath = new Set(path.map((e) => e.id));
  const previous = path.findLastIndex((e) => e.type === "compaction");
  const candidates = {
    path,
    before: path.slice(0, Math.max(previous, 0)),
    label: path.filter((e) => e.type === "label"),
    other: entries.filter((e) => !onPath.has(e.id)),
    previous: path.slice(previous, previous + 1),
    missing: [{ id: "no-entry" }],
    empty: [{ id: "" }],
    self: [],
  }[keep];
  if (keep === "self" || path.length === 0) return undefined;
  return (at(candidates, pick) ?? at(path, pick)).id;
}

const EDITABLE = ["user", "assistant", "toolResult"];
const isEditable = (e) => e.type === "custom_message" || (e.type === "message" && EDITABLE.includes(e.message.role));

/** The target of a context edit: what pi would let its user edit or, for a wild one, mostly what it would not. */
export function editTarget({ wild, pick }, entries, path) {
  if (!wild) return at(path.filter(isEditable), pick)?.id;
  return at(pick < 0.3 ? entries : path.filter((e) => !isEditable(e)), (pick * 1000) % 1)?.id;
}
