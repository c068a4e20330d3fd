// C. treering forks a session at a leaf: pi sees the same context and labels there as in the source.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { mustAgree } from "../lib/agree.mjs";
import { mustEqual } from "../lib/compare.mjs";
import { drive } from "../lib/drive.mjs";
import { user } from "../lib/message.mjs";
import { makeScript } from "../lib/script.mjs";
import { forEachSeed, picks } from "../lib/seeded.mjs";

const FORKS = 4;
const CWD = "/other project";

export async function check(setup, report) {
  const { treering, pi15, pi73 } = setup;
  await forEachSeed(setup, report, async ({ rng, seed, dir, story }) => {
    const modern = rng.chance(0.6);
    const file = await write(setup, { rng, seed, dir, story, modern });
    const source = await pi15.ask("inspect", { file, dir, picks: picks(rng, FORKS) });
    let compared = 0;
    for (const [i, at] of source.contexts.entries()) {
      if (!hasConversation(at.path, source.entries)) continue;
      const path = await treering.fork(file, { at: i === 0 ? undefined : at.leaf, dir: join(dir, "forks"), cwd: CWD });
      story.operations.push({ fork: at.leaf, to: path });
      story.files.push(path);
      const forked = await pi15.ask("inspect", { file: path, dir });
      forkMustMatch(file, source, at, forked);
      await entriesMustMatch(setup, { file, dir, at, path, source });
      compared += await mustAgree(treering, pi15, path, forked);
      compared += await mustAgree(treering, pi73, path, await pi73.ask("inspect", { file: path, dir }), { contexts: !modern });
    }
    return compared;
  });
}

/** Half of the sources are written by pi, half by treering. */
async function write({ treering, pi15 }, { rng, seed, dir, story, modern }) {
  const length = rng.int(10, 60);
  if (rng.chance(0.5)) {
    const { file, done } = await pi15.ask("run", { ops: makeScript(rng, length, { modern }), dir, cwd: "/project", seed });
    story.operations = done;
    story.files = [file];
    return file;
  }
  const file = join(dir, "session.jsonl");
  story.files = [file];
  const ops = [{ op: "message", message: user(rng) }, ...makeScript(rng, length, { modern, foreign: true })];
  if (rng.chance(0.5)) ops.push({ op: "branch", pick: rng.next() });
  await drive(treering, file, ops, rng, story.operations);
  return file;
}

function hasConversation(path, entries) {
  const ids = new Set(path);
  return entries.some((e) => ids.has(e.id) && e.type === "message" && ["user", "assistant"].includes(e.message.role));
}

const SIDES = ["fork", "source"];

function forkMustMatch(file, source, at, forked) {
  const { leaf: _l, path: _p, ...context } = at;
  const { leaf: _m, path, ...forkedContext } = forked.contexts[0];
  mustEqual("context", forkedContext, context, SIDES);
  const shape = (ids, entries) => ids.filter((id) => !["label", "leaf"].includes(entries.find((e) => e.id === id).type));
  mustEqual("path without labels", shape(path, forked.entries), shape(at.path, source.entries), SIDES);
  const kept = new Set(shape(at.path, source.entries));
  const labels = (tree) => Object.fromEntries(tree.filter((n) => n.label !== null && kept.has(n.id)).map((n) => [n.id, [n.label, n.labelTimestamp]]));
  mustEqual("labels", labels(forked.tree), labels(source.tree), SIDES);
  mustEqual("header", { ...forked.header, id: "", timestamp: "" }, { type: "session", version: 3, id: "", timestamp: "", cwd: CWD, parentSession: file }, SIDES);
  if (forked.header.id === source.header.id) throw new Error("the fork has its source's session id");
}

/** The fork holds the very entries that pi's own fork would hold, labels apart: those are written anew. */
async function entriesMustMatch({ treering, pi15 }, { file, dir, at, path, source }) {
  const onPath = new Set(at.path);
  if (source.entries.some((e) => e.type === "leaf" && onPath.has(e.id))) return;
  const theirs = await pi15.ask("fork", { file, at: at.leaf, dir: join(dir, "pi-forks"), cwd: CWD });
  const entries = (name) => readFileSync(name, "utf8").split("\n").filter((line) => line !== "").slice(1).map((line) => JSON.parse(line));
  mustEqual("entries", ...[path, theirs].map((f) => entries(f).filter((e) => e.type !== "label")), [treering.name, `pi ${pi15.version}`]);
}
