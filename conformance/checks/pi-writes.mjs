// A. pi writes a session, treering reads it: same paths, entries, contexts, tree and labels.
import { mustAgree } from "../lib/agree.mjs";
import { makeScript } from "../lib/script.mjs";
import { forEachSeed, picks } from "../lib/seeded.mjs";

const LEAVES = 10;

export async function check(setup, report) {
  const { treering, pi15, pi73 } = setup;
  await forEachSeed(setup, report, async ({ rng, seed, dir, story }) => {
    const writer = rng.chance(0.6) ? pi15 : pi73;
    const modern = rng.chance(0.6);
    const ops = makeScript(rng, rng.int(5, 120), { modern, files: true });
    const { file, done } = await writer.ask("run", { ops, dir, cwd: "/project", seed });
    story.operations = done;
    story.files = [file];

    const seen = await pi15.ask("inspect", { file, dir, leaves: [null], picks: picks(rng, LEAVES) });
    let compared = await mustAgree(treering, pi15, file, seen);
    // The context rules are those of 1.5; what 0.73.1 knows it must see in the same way.
    const old = await pi73.ask("inspect", { file, dir, leaves: seen.contexts.slice(1).map((c) => c.leaf) });
    compared += await mustAgree(treering, pi73, file, old, { contexts: !modern });
    return compared;
  });
}
