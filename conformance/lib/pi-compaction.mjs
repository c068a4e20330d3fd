// What pi would compact. pi gets a copy of the file, because opening may migrate or repair.
import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { anyEntry } from "./target.mjs";

/** Half a surrogate pair cannot be sent to a provider: it becomes U+FFFD on the way. */
const sent = (text) => text.toWellFormed();
const sorted = (set) => [...set].map(sent).sort();

/** Plans at the active leaf and at `picks`, each with every one of `keeps`. */
export function planCompactions({ SessionManager, compaction, utils, toLlm, currentSystem }, { file, dir, picks, keeps }) {
  const copy = join(dir, `copy-${process.pid}.jsonl`);
  copyFileSync(file, copy);
  try {
    const session = SessionManager.open(copy, dir);
    const entries = session.getEntries();
    const plans = [];
    for (const leaf of [session.getLeafId(), ...picks.map((pick) => anyEntry(pick, entries) ?? null)]) {
      if (leaf === null) session.resetLeaf();
      else session.branch(leaf);
      const branch = session.getBranch();
      const projection = session.buildSessionProjection();
      const { tokens, usageTokens, trailingTokens } = compaction.estimateProjectedContextTokens(projection, branch);
      for (const keep of keeps) {
        const found = compaction.prepareCompaction(branch, { enabled: true, reserveTokens: 16384, keepRecentTokens: keep });
        plans.push({ leaf, keep, contextTokens: { tokens, usageTokens, trailingTokens }, prepared: found ? told(found, projection) : null });
      }
    }
    return { plans };
  } finally {
    rmSync(copy, { force: true });
  }

  function lists(ops) {
    const { readFiles, modifiedFiles } = utils.computeFileLists(ops);
    return { readFiles, modifiedFiles };
  }

  function told(found, projection) {
    const messages = (list) => list.map((message) => ({ tokens: compaction.estimateTokens(message), message }));
    const text = (list) => sent(utils.serializeConversation(toLlm(list)));
    const { read, written, edited } = found.fileOps;
    return {
      firstKeptEntryId: found.firstKeptEntryId, isSplitTurn: found.isSplitTurn, tokensBefore: found.tokensBefore,
      previousSummary: found.previousSummary === undefined ? null : sent(found.previousSummary),
      fileOps: { read: sorted(read), written: sorted(written), edited: sorted(edited) }, details: lists(found.fileOps),
      systemMessage: currentSystem(projection.messages) ?? null,
      messagesToSummarize: messages(found.messagesToSummarize), conversation: text(found.messagesToSummarize),
      turnPrefixMessages: messages(found.turnPrefixMessages), turnPrefixConversation: text(found.turnPrefixMessages),
    };
  }
}
