// Reads a session from its file: only to choose targets, never to compare.
// Entries of every agent's file have treering's shape in the members that target.mjs reads.
import { existsSync, readFileSync } from "node:fs";

const ROLES = { tool: "toolResult" };

const NATIVE = {
  pi: (record) => record.type !== "session" && record,
  omp: (record) => !["session", "title"].includes(record.type) && (record.treering?.type ? { ...record, ...record.treering } : record),
  chimera({ parent_id: parentId, treering, message, data, ...record }) {
    const told = treering?.type ? treering : record.type === "leaf" ? data : message && { message: { ...message, role: ROLES[message.role] ?? message.role } };
    return { ...record, ...told, parentId };
  },
};

export function look(file, dialect = "pi") {
  if (!existsSync(file)) return { entries: [], path: [], leaf: null };
  const lines = readFileSync(file, "utf8").split("\n").filter((line) => line !== "");
  const entries = lines.map((line) => NATIVE[dialect](JSON.parse(line))).filter(Boolean);
  const byId = new Map(entries.map((e) => [e.id, e]));
  const last = entries.at(-1);
  const leaf = last?.type === "leaf" && last.targetId !== undefined ? last.targetId : (last?.id ?? null);
  const path = [];
  for (let e = byId.get(leaf); e && path.length <= entries.length; e = byId.get(e.parentId)) path.unshift(e);
  return { entries, path, leaf };
}
