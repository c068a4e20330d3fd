// D. What a provider gets: summaries, shell commands and custom messages become the same texts as in pi.
// Tool calls and system messages are left out: treering may repair the former and place the latter differently.
import { mustEqual } from "../lib/compare.mjs";
import { makeScript } from "../lib/script.mjs";
import { forEachSeed, picks } from "../lib/seeded.mjs";

const LEAVES = 4;

export async function check(setup, report) {
  const { treering, pi15 } = setup;
  await forEachSeed(setup, report, async ({ rng, seed, dir, story }) => {
    const ops = makeScript(rng, rng.int(5, 60), { toolless: true });
    const { file, done } = await pi15.ask("run", { ops, dir, cwd: "/project", seed });
    story.operations = done;
    story.files = [file];
    const { contexts } = await pi15.ask("inspectLlm", { file, dir, picks: picks(rng, LEAVES) });
    for (const { leaf, llm } of contexts) {
      mustEqual(`messages for a provider at leaf ${leaf}`, (await treering.llm(file, leaf)).messages, llm, [treering.name, `pi ${pi15.version}`]);
    }
    return contexts.length;
  });
}
