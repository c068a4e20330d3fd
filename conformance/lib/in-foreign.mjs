// treering writes into another agent's file, that agent reads and continues it, treering reads it; and again.
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { mustAgreeWith } from "./agree-foreign.mjs";
import { mustEqual } from "./compare.mjs";
import { drive } from "./drive.mjs";
import { user } from "./message.mjs";
import { makeScript } from "./script.mjs";
import { forEachSeed, picks } from "./seeded.mjs";

const ROUNDS = 2;
const LEAVES = 3;
const FORKS = 2;

/** `more(rng)` makes a script for the other agent; `traits` are of treering's. */
export async function eachInForeign(setup, report, { peer, dialect, more, traits }) {
  const treering = setup.treering.writing(dialect);
  await forEachSeed(setup, report, async ({ rng, seed, dir, story }) => {
    const file = join(dir, "session.jsonl");
    story.files = [file];
    const given = new Map();
    let compared = 0;
    const agree = async () => {
      const seen = await peer.ask("inspect", { file, dir, picks: picks(rng, LEAVES) });
      compared += await mustAgreeWith(treering, peer, file, seen, given);
      return seen;
    };

    let seen;
    for (let round = 0; round < ROUNDS; round++) {
      const ops = makeScript(rng, rng.int(3, 40), { modern: rng.chance(0.6), foreign: true, ...traits });
      if (round === 0) ops.unshift({ op: "message", message: user(rng) });
      if (rng.chance(0.5)) ops.push(rng.chance(0.15) ? { op: "reset" } : { op: "branch", pick: rng.next() });
      for (const [id, entry] of await drive(treering, file, ops, rng, story.operations)) given.set(id, entry);
      await agree();

      copyFileSync(file, join(dir, `before-${dialect}-${round}.jsonl`));
      story.operations.push({ opened: `by ${peer.title}` });
      const { done } = await peer.ask("run", { file, dir, ops: more(rng), seed: seed * 100 + round });
      story.operations.push(...done);
      seen = await agree();
    }
    return compared + (await forksMustAgree(treering, peer, { file, dir, story, seen }));
  });
}

/** The other agent sees the same in a fork as in its source. */
async function forksMustAgree(treering, peer, { file, dir, story, seen }) {
  const types = new Map(seen.entries.map((e) => [e.id, e.type]));
  const forkable = seen.contexts.slice(1).filter(({ path }) => path.some((id) => types.get(id) === "message"));
  let compared = 0;
  for (const at of forkable.slice(0, FORKS)) {
    const path = await treering.fork(file, { at: at.leaf, dir: join(dir, "forks"), cwd: "/other project" });
    story.operations.push({ fork: at.leaf, to: path });
    story.files.push(path);
    const forked = await peer.ask("inspect", { file: path, dir });
    mustEqual("context of the fork", forked.contexts[0].context, at.context, [`fork in ${peer.title}`, "source"]);
    compared += await mustAgreeWith(treering, peer, path, forked);
  }
  return compared;
}
