// E. A session with an entry of every builder of the library: pi reads it, and its footer can add it up.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { mustAgree } from "../lib/agree.mjs";
import { mustEqual } from "../lib/compare.mjs";

export async function check({ treering, pi15, pi73, work, messages }, report) {
  await report.run("every builder", async (story) => {
    if (!existsSync(messages)) throw new Error(`there is no ${messages}: cargo build --release -p treering --example messages`);
    const dir = join(work, "messages");
    mkdirSync(dir, { recursive: true });
    const file = join(dir, "messages.jsonl");
    story.files = [file];
    execFileSync(messages, [file]);
    const seen = await pi15.ask("inspect", { file, dir, leaves: [null] });
    let compared = await mustAgree(treering, pi15, file, seen);
    const old = await pi73.ask("inspect", { file, dir });
    compared += await mustAgree(treering, pi73, file, old, { contexts: false });
    // The sums of pi's footer: an answer, a summary or a usage entry without a whole cost makes them fail or NaN.
    const { totals, entries } = await pi15.ask("usageTotals", { file, dir });
    mustEqual("sums of the footer", totals, { input: 2080, output: 228, cacheRead: 1200, cacheWrite: 0, cost: 0.009 }, ["expected", `pi ${pi15.version}`]);
    mustEqual("answers with a usage", entries.every((entry) => entry), true, ["expected", `pi ${pi15.version}`]);
    return compared;
  });
}
