// E. Chimera writes a session, treering reads it: same entries, parents, leaf, paths and messages.
import { join } from "node:path";
import { mustAgreeWith } from "../lib/agree-foreign.mjs";
import { chimeraScript } from "../lib/chimera-script.mjs";
import { forEachSeed, picks } from "../lib/seeded.mjs";

const LEAVES = 6;

export async function check(setup, report) {
  const { treering, chimera } = setup;
  await forEachSeed(setup, report, async ({ rng, seed, dir, story }) => {
    const file = join(dir, "session.jsonl");
    story.files = [file];
    const { done } = await chimera.ask("run", { file, ops: chimeraScript(rng, rng.int(3, 90), { begins: true }), seed });
    story.operations = done;
    const seen = await chimera.ask("inspect", { file, picks: picks(rng, LEAVES) });
    return mustAgreeWith(treering, chimera, file, seen);
  });
}
