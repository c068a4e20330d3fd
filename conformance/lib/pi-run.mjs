// Carries out a script through pi's SessionManager.
import { existsSync } from "node:fs";
import { clock } from "./clock.mjs";
import { anyEntry, editTarget, firstKept } from "./target.mjs";

/**
 * Runs `ops` in a new session in `dir`, or in the session `file`.
 * Returns the file that the session ended up in and what was done, with the ids that the operations referred to.
 */
export function runScript(SessionManager, { ops, dir, cwd, file }) {
  const run = { SessionManager, dir, cwd, session: file ? SessionManager.open(file, dir) : SessionManager.create(cwd, dir) };
  const done = [];
  for (const op of ops) {
    clock.tick(1);
    done.push({ ...op, did: step(run, op) ?? null });
  }
  // pi puts off creating a file until the conversation has begun; the end of a script is the latest time.
  if (!existsSync(run.session.getSessionFile())) {
    const message = { role: "assistant", content: [], api: "a", provider: "p", model: "m", stopReason: "stop", timestamp: 1 };
    done.push({ op: "message", message, did: run.session.appendMessage(message) });
  }
  return { file: run.session.getSessionFile(), done };
}

/** Returns the id of the new entry, or of the entry that the operation referred to. Operations that have no target are left out. */
function step(run, op) {
  const { session } = run;
  const entries = session.getEntries();
  switch (op.op) {
    case "tick": return void clock.tick(op.ms);
    case "message": return session.appendMessage(op.message);
    case "thinking": return session.appendThinkingLevelChange(op.level);
    case "model": return session.appendModelChange(op.provider, op.modelId);
    case "custom": return session.appendCustomEntry(op.customType, op.data);
    case "customMessage": return session.appendCustomMessageEntry(op.customType, op.content, op.display, op.details);
    case "name": return session.appendSessionInfo(op.name);
    case "usage": return session.appendUsage?.(op.kind, op.provider, op.model, op.usage).id;
    case "reset": return void session.resetLeaf();
    case "compaction":
      return session.appendCompaction(op.summary, firstKept(op, entries, session.getBranch()), op.tokensBefore, op.details, op.fromHook, op.usage);
    case "edit": {
      const target = editTarget(op, entries, session.getBranch());
      return target && session.appendContextEdit?.(target, op.replacement);
    }
    case "branchSummary": {
      const target = op.pick === null ? null : (anyEntry(op.pick, entries) ?? null);
      return session.branchWithSummary(target, op.summary, op.details, op.fromHook, op.usage);
    }
    case "reopen":
      if (existsSync(session.getSessionFile())) run.session = run.SessionManager.open(session.getSessionFile(), run.dir);
      return;
    case "forkFrom":
      if (existsSync(session.getSessionFile())) run.session = run.SessionManager.forkFrom(session.getSessionFile(), `${run.cwd}-fork`, run.dir);
      return;
  }
  const target = anyEntry(op.pick, entries);
  if (target === undefined) return;
  switch (op.op) {
    case "label": return session.appendLabelChange(target, op.label);
    case "branch": session.branch(target); return target;
    case "branchedSession": session.createBranchedSession(target); return target;
    default: throw new Error(`pi has no operation ${op.op}`);
  }
}
