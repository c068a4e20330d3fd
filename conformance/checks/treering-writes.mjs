// B. treering writes a session, pi reads and continues it, treering reads it; and again.
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { mustAgree } from "../lib/agree.mjs";
import { drive } from "../lib/drive.mjs";
import { makeScript } from "../lib/script.mjs";
import { forEachSeed, picks } from "../lib/seeded.mjs";
import { user } from "../lib/message.mjs";

const ROUNDS = 2;
const LEAVES = 2;

export async function check(setup, report) {
  const { treering, pi15, pi73 } = setup;
  await forEachSeed(setup, report, async ({ rng, seed, dir, story }) => {
    const file = join(dir, "session.jsonl");
    story.files = [file];
    const modern = rng.chance(0.6);
    let compared = 0;

    const agree = async () => {
      const seen = await pi15.ask("inspect", { file, dir, leaves: [null], picks: picks(rng, LEAVES) });
      compared += await mustAgree(treering, pi15, file, seen);
      const old = await pi73.ask("inspect", { file, dir, leaves: seen.contexts.slice(1).map((c) => c.leaf) });
      compared += await mustAgree(treering, pi73, file, old, { contexts: !modern });
    };

    for (let round = 0; round < ROUNDS; round++) {
      const ops = makeScript(rng, rng.int(3, 40), { modern, foreign: true });
      // A session begins with its first user or assistant message; what comes before may wait for it.
      if (round === 0) ops.unshift({ op: "message", message: user(rng) });
      // Often the last thing is to move elsewhere: that must last until the next program opens the file.
      if (rng.chance(0.5)) ops.push(rng.chance(0.15) ? { op: "reset" } : { op: "branch", pick: rng.next() });
      await drive(treering, file, ops, rng, story.operations);
      await agree();

      const guest = rng.chance(0.5) ? pi15 : pi73;
      const more = makeScript(rng, rng.int(1, 8), { modern });
      copyFileSync(file, join(dir, `before-pi-${round}.jsonl`));
      story.operations.push({ opened: `by pi ${guest.version}` });
      const { done } = await guest.ask("run", { file, ops: more, dir, seed: seed * 100 + round });
      story.operations.push(...done);
      await agree();
    }
    return compared;
  });
}
