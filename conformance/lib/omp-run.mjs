// Carries out a script through omp's SessionManager.
import { existsSync } from "node:fs";
import { clock } from "./clock.mjs";
import { anyEntry, firstKept } from "./target.mjs";

/** As runScript of pi-run.mjs. */
export async function runScript(SessionManager, { ops, dir, cwd, file }) {
  const open = (name) => SessionManager.open(name, dir, undefined, { suppressBreadcrumb: true });
  const run = { open, session: file ? await open(file) : SessionManager.create(cwd, dir) };
  const done = [];
  for (const op of ops) {
    clock.tick(1);
    done.push({ ...op, did: (await step(run, op)) ?? null });
  }
  await run.session.ensureOnDisk();
  await run.session.flush();
  await run.session.close();
  return { file: run.session.getSessionFile(), done };
}

/** Returns the id of the new entry, or of the entry that the operation referred to. Operations that have no target are left out. */
async function step(run, op) {
  const { session } = run;
  const entries = session.getEntries();
  switch (op.op) {
    case "tick": return void clock.tick(op.ms);
    case "message": return session.appendMessage(op.message);
    case "thinking": return session.appendThinkingLevelChange(op.level, op.configured);
    case "model": return session.appendModelChange(op.model ?? `${op.provider}/${op.modelId}`, op.role, op.fallback);
    case "custom": return session.appendCustomEntry(op.customType, op.data);
    case "customMessage": return session.appendCustomMessageEntry(op.customType, op.content, op.display, op.details, op.attribution);
    case "name": return void (await session.setSessionName(op.name, op.source, op.trigger));
    case "tier": return session.appendServiceTierChange(op.tier);
    case "mode": return session.appendModeChange(op.mode, op.data);
    case "ttsr": return session.appendTtsrInjection(op.rules);
    case "pin": return session.appendCredentialPin(op.provider, op.hash);
    case "init": return session.appendSessionInit(op.init);
    case "boundary": return session.appendResetBoundary();
    case "reset": return void session.resetLeaf();
    case "compaction": {
      const { details, fromExtension, preserveData, method, tokensAfter, replayThrough } = op;
      const path = session.getBranch();
      const providerReplayThroughEntryId = replayThrough === undefined ? undefined : path[Math.floor(replayThrough * path.length)]?.id;
      const options = { details, fromExtension, preserveData, method, tokensAfter, providerReplayThroughEntryId };
      // A compaction that keeps nothing before it names itself in pi, and nothing in omp.
      return session.appendCompaction(op.summary, op.shortSummary, firstKept(op, entries, path) ?? "", op.tokensBefore, options);
    }
    case "branchSummary": {
      const target = op.pick === null ? null : (anyEntry(op.pick, entries) ?? null);
      return session.branchWithSummary(target, op.summary, op.details, op.fromHook);
    }
    case "reopen":
      if (!existsSync(session.getSessionFile())) return;
      await session.close();
      run.session = await run.open(session.getSessionFile());
      return;
  }
  const target = anyEntry(op.pick, entries);
  if (target === undefined) return;
  switch (op.op) {
    case "label": return session.appendLabelChange(target, op.label);
    case "branch": session.branch(target); return target;
    case "elsewhere": return session.appendMessageToBranch(op.message, target);
    case "usage": return session.appendModelUsage(op.usage, { sessionId: session.getSessionId(), parentId: target });
    case "discard": {
      // omp fails where the parent is missing, as it may be in its forks.
      const { parentId } = session.getEntry(target);
      if (parentId === null || session.getEntry(parentId)) await session.discardEntryDurably(target);
      return target;
    }
    case "branchedSession": return session.createBranchedSession(target);
    default: throw new Error(`omp has no operation ${op.op}`);
  }
}
