// pi 1.5 in treering's place, for the self-check: the same verbs, with durable navigation by `leaf` entries.
import { dirname } from "node:path";

/** Opens the session and takes the leaf from a `leaf` entry, as treering does. */
function open(SessionManager, file, dir, cwd) {
  const session = SessionManager.open(file, dir, cwd);
  const last = session.getLeafEntry();
  if (last?.type === "leaf") session.leafId = last.targetId;
  return session;
}

export function append(SessionManager, { file, entries }) {
  const session = open(SessionManager, file, dirname(file));
  return entries.map((given) => {
    const entry = { id: crypto.randomUUID().slice(0, 8), parentId: session.getLeafId(), timestamp: new Date().toISOString(), ...given };
    session._appendEntry(entry);
    return entry.id;
  });
}

export function goto(SessionManager, { file, id }) {
  return append(SessionManager, { file, entries: [{ type: "leaf", parentId: id, targetId: id }] });
}

export function fork(SessionManager, { file, at, dir, cwd }) {
  const session = open(SessionManager, file, dir, cwd);
  return session.createBranchedSession(at ?? session.getLeafId());
}
