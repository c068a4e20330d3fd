// G. omp writes a session, treering reads it: same entries, tree, labels, name, leaf, paths and contexts.
import { mustAgreeWith } from "../lib/agree-foreign.mjs";
import { ompScript } from "../lib/omp-script.mjs";
import { forEachSeed, picks } from "../lib/seeded.mjs";

const LEAVES = 6;

export async function check(setup, report) {
  const { treering, omp } = setup;
  await forEachSeed(setup, report, async ({ rng, seed, dir, story }) => {
    const { file, done } = await omp.ask("run", { ops: ompScript(rng, rng.int(3, 90), { files: true }), dir, cwd: dir, seed });
    story.operations = done;
    story.files = [file];
    const seen = await omp.ask("inspect", { file, dir, picks: picks(rng, LEAVES), leaves: [null] });
    return mustAgreeWith(treering, omp, file, seen);
  });
}
