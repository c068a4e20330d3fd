// treering replaces the file of a session while pi, which takes no lock, appends to it. Nothing that pi wrote may be missing afterwards.
import { fork } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout } from "node:timers/promises";

const VERBS = ["doctor", "migrate", "move"];
// The size of the session, in megabytes: the longer the command takes, the more pi writes meanwhile.
const SIZE = Number(process.env.CONFORMANCE_REPLACING_MB ?? 2);

export async function check({ treering, cache, work, scripts, seed }, report) {
  for (let round = 0; round < scripts; round++) {
    const verb = VERBS[(seed + round) % VERBS.length];
    await report.run(`round ${round}, ${verb}`, (story) => replace({ treering, cache, work, round, verb, story }));
  }
}

async function replace({ treering, cache, work, round, verb, story }) {
  const dir = join(work, `replacing-${round}`);
  mkdirSync(join(dir, "project"), { recursive: true });
  const file = join(dir, "session.jsonl");
  const ids = write(file, verb);
  story.files.push(file);
  const appender = new URL("../lib/pi-appender.mjs", import.meta.url).pathname;
  const pi = fork(appender, [join(resolve(cache), "pi-1.5.2"), file], { serialization: "json" });
  const messages = heard(pi);
  await messages.next();
  if (verb === "migrate") {
    // pi upgrades what it opens. The header says version 2 again, in the same place and the same length.
    const descriptor = openSync(file, "r+");
    writeSync(descriptor, "2", readFileSync(file, "latin1").indexOf('"version":3') + '"version":'.length);
    closeSync(descriptor);
  }
  const args = {
    doctor: ["doctor", file, "--repair", "--in-place", "--force"],
    migrate: ["migrate", file, "--force"],
    move: ["move", file, join(dir, "project"), "--force"],
  }[verb];
  await treering.command(args);
  story.operations.push(args);
  await setTimeout(20);
  pi.send("stop");
  const { written } = (await messages.next()).value;
  const found = new Set((await treering.tree(file)).map(({ id }) => id));
  const missing = [...ids, ...written].filter((id) => !found.has(id));
  if (missing.length > 0) throw new Error(`${missing.length} of ${written.length} entries that pi wrote are missing: ${missing.slice(0, 5).join(", ")}`);
  const backup = ["session.jsonl.bak", "session.jsonl.v2.bak"].map((name) => join(dir, name)).find(existsSync);
  if (!backup) throw new Error("there is no backup: the file was not replaced");
  return written.length;
}

/** Writes a session of the given size, with damage for a repair. Returns the ids in it. */
function write(file, verb) {
  const ids = [];
  const lines = [JSON.stringify({ type: "session", version: 3, id: "replaced", timestamp: "2026-01-05T09:00:00.000Z", cwd: "/from" })];
  for (let size = 0; size < SIZE * 1_000_000; size += lines.at(-1).length + 1) {
    const id = ids.length.toString(16).padStart(8, "0");
    const message = ids.length % 2 === 0
      ? { role: "user", content: [{ type: "text", text: "x".repeat(800) }], timestamp: 1 }
      : { role: "assistant", content: [{ type: "text", text: "y".repeat(800) }], api: "a", provider: "p", model: "m", stopReason: "stop", timestamp: 1 };
    lines.push(JSON.stringify({ type: "message", id, parentId: ids.at(-1) ?? null, timestamp: "2026-01-05T09:00:01.000Z", message }));
    ids.push(id);
  }
  if (verb === "doctor") lines.splice(2, 0, "this line is damaged");
  writeFileSync(file, `${lines.join("\n")}\n`);
  return ids;
}

async function* heard(child) {
  const waiting = [];
  let wake = () => {};
  child.on("message", (message) => { waiting.push(message); wake(); });
  child.on("exit", (code) => { waiting.push(new Error(`pi has ended (exit code ${code})`)); wake(); });
  for (;;) {
    while (waiting.length === 0) await new Promise((resolve) => { wake = resolve; });
    const message = waiting.shift();
    if (message instanceof Error) throw message;
    yield message;
  }
}
