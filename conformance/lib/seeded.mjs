// Runs a check once per seed, each in a directory of its own that is removed when all is well.
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Random } from "./random.mjs";
import { inParallel } from "./report.mjs";

const WIDTH = 4;

/** `script({rng, seed, dir, story})` returns how many contexts it compared. */
export async function forEachSeed({ seed: first, scripts, work }, report, script) {
  const seeds = Array.from({ length: scripts }, (_, i) => first + i);
  await inParallel(seeds, WIDTH, async (seed) => {
    // The name is part of the test: paths have blanks and other scripts in them.
    const dir = join(work, report.check, `seed ${seed} 会話`);
    rmSync(dir, { recursive: true, force: true });
    mkdirSync(dir, { recursive: true });
    const passed = await report.run(`seed ${seed}`, (story) => {
      Object.assign(story, { seed, dir });
      return script({ rng: new Random(seed), seed, dir, story });
    });
    if (passed) rmSync(dir, { recursive: true, force: true });
  });
}

export const picks = (rng, count) => Array.from({ length: count }, () => rng.next());
