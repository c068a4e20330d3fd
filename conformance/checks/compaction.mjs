// E. What a compaction would do: pi's own planning functions against `treering compact --dry-run`.
// The rules are those of pi 1.5.2; 0.73.1 cuts and counts by older ones (no edits, no images, no system messages).
import { mustEqual } from "../lib/compare.mjs";
import { makeScript } from "../lib/script.mjs";
import { forEachSeed, picks } from "../lib/seeded.mjs";
import { agentOps } from "../lib/work.mjs";

const LEAVES = 3;

export async function check(setup, report) {
  const { treering, pi15 } = setup;
  // In the self-check pi would be compared with itself, by the same functions.
  if (!treering.planCompaction) return;
  await forEachSeed(setup, report, async ({ rng, seed, dir, story }) => {
    const ops = rng.chance(0.5) ? makeScript(rng, rng.int(5, 80), { modern: true }) : agentOps(rng, rng.int(3, 25));
    const { file, done } = await pi15.ask("run", { ops, dir, cwd: "/project", seed });
    story.operations = done;
    story.files = [file];
    const keeps = [0, 1, rng.int(2, 60), rng.int(60, 2000), rng.int(2000, 20000)];
    const { plans } = await pi15.ask("planCompactions", { file, dir, picks: picks(rng, LEAVES), keeps });
    for (const { leaf, keep, contextTokens, prepared } of plans) {
      const ours = await treering.planCompaction(file, leaf, keep);
      const sides = [treering.name, `pi ${pi15.version}`];
      const where = `at leaf ${leaf}, keeping ${keep}`;
      mustEqual(`context tokens ${where}`, ours.contextTokens, contextTokens, sides);
      mustEqual(`compaction ${where}`, trimmed(ours.prepared), prepared, sides);
    }
    return plans.length;
  });
}

/** Without what pi does not work out. */
function trimmed(prepared) {
  if (prepared === null) return null;
  const { saving, tokensKept, ...rest } = prepared;
  const messages = (list) => list.map(({ tokens, message }) => ({ tokens, message }));
  const { read, written, edited } = rest.fileOps;
  return { ...rest, fileOps: { read: read.sort(), written: written.sort(), edited: edited.sort() }, messagesToSummarize: messages(rest.messagesToSummarize), turnPrefixMessages: messages(rest.turnPrefixMessages) };
}
