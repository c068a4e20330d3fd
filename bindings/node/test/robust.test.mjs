// Worker threads on one session, a process that is killed, and memory that stays bounded.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { examine, openStore, Session, sessionInfos } from "treering";
import { SessionManager } from "treering/pi";
import { assistant, user, withDirectory } from "./helpers.mjs";

const beside = (name) => fileURLToPath(new URL(name, import.meta.url));

test("worker threads append to one session at the same time", async () => {
  await withDirectory(async (dir) => {
    const path = join(dir, "s.jsonl");
    const session = Session.createSync("/project", { path }, { creation: "at-once" });
    session.appendMessageSync(user("root"));
    const workers = [1, 2, 3, 4].map((number) => new Worker(beside("worker.mjs"), { workerData: { path, number, count: 50 } }));
    const chains = (await Promise.all(workers.map((worker) => once(worker, "message")))).map(([ids]) => ids);
    await Promise.all(workers.map((worker) => worker.terminate()));
    await session.refresh();
    assert.equal(session.entryCount, 201);
    const texts = [...session].map((entry) => entry.message.content);
    assert.equal(new Set(texts).size, 201);
    // Each worker continues its own branch, wherever the leaf was when it opened the session.
    for (const ids of chains) assert.deepEqual(ids.slice(1).map((id) => session.parent(id)), ids.slice(0, -1));
    assert.ok((await examine(path)).findings.every((finding) => finding.severity !== "error"));
  });
});

test("appends that returned survive kill -9", async () => {
  await withDirectory(async (dir) => {
    const path = join(dir, "s.jsonl");
    Session.createSync("/project", { path }, { creation: "at-once" }).close();
    for (let round = 0; round < 3; round++) {
      const child = spawn(process.execPath, [beside("appender.mjs"), path], { stdio: ["ignore", "pipe", "inherit"] });
      let told = "";
      for await (const chunk of child.stdout) {
        told += chunk;
        if (told.split("\n").length > 40) break;
      }
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
      const ids = told.split("\n").slice(0, -1);
      assert.ok(ids.length >= 40);
      const session = Session.openSync(path);
      assert.deepEqual(ids.filter((id) => !session.has(id)), []);
      // The next append repairs a line that was torn.
      session.appendMessageSync(assistant(`after ${round}`));
      assert.equal([...session].length, session.entryCount);
      session.close();
    }
    const manager = SessionManager.open(path);
    assert.ok(manager.getEntries().length >= 120);
  });
});

test("sessions that are closed or forgotten give their memory back", async () => {
  await withDirectory(async (dir) => {
    const path = join(dir, "s.jsonl");
    const session = Session.createSync("/project", { path }, { creation: "at-once" });
    const big = "x".repeat(10_000);
    for (let index = 0; index < 200; index++) session.appendMessageSync(user(big));
    session.close();
    const round = async () => {
      for (let index = 0; index < 50; index++) {
        const open = Session.openSync(path);
        open.on("change", () => undefined);
        open.contextSync();
        await open.context();
        [...open];
        (await open.export("json")).length;
        open.close();
      }
      collect();
      // Buffers and handles are released in tasks of their own.
      await new Promise((resolve) => setImmediate(resolve));
      collect();
      return process.memoryUsage().rss;
    };
    // Each round touches 400 MB; the allocators need a few to settle.
    for (let index = 0; index < 3; index++) await round();
    const before = await round();
    for (let index = 0; index < 4; index++) await round();
    const after = await round();
    assert.ok(after - before < 150 << 20, `memory grew from ${before >> 20} to ${after >> 20} MB`);
  });
});

test("a session of 1 GB opens in bounded memory", { skip: globalThis.Bun && "node showed it" }, async () => {
  await withDirectory(async (dir) => {
    const path = join(dir, "s.jsonl");
    const file = openSync(path, "w");
    writeSync(file, '{"type":"session","version":3,"id":"big","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/project"}\n');
    const body = Buffer.from(`"message":{"role":"user","content":"${"lorem ipsum ".repeat(90_000)}","timestamp":1}}\n`);
    let parent = "null";
    for (let size = 0, number = 0; size < 1 << 30; size += body.length, number++) {
      writeSync(file, `{"type":"message","id":"e${number}","parentId":${parent},"timestamp":"2025-01-01T00:00:01.000Z",`);
      writeSync(file, body);
      parent = `"e${number}"`;
    }
    const message = JSON.stringify(assistant("answer"));
    writeSync(file, `{"type":"message","id":"a","parentId":${parent},"timestamp":"2025-01-01T00:00:01.000Z","message":${message}}\n`);
    writeSync(file, '{"type":"compaction","id":"c","parentId":"a","timestamp":"2025-01-01T00:00:02.000Z","summary":"s","firstKeptEntryId":"a","tokensBefore":1}\n');
    closeSync(file);
    const child = spawn(process.execPath, [beside("open-large.mjs"), path], { stdio: ["ignore", "pipe", "inherit"] });
    let out = "";
    for await (const chunk of child.stdout) out += chunk;
    const { size, messages, entries, level, peak } = JSON.parse(out);
    assert.ok(size > 1 << 30);
    assert.deepEqual([messages, entries, level], [2, Math.ceil((1 << 30) / body.length) + 2, "off"]);
    assert.ok(peak < 400, `${peak} MB`);
  });
});

function collect() {
  if (globalThis.Bun) globalThis.Bun.gc(true);
  else globalThis.gc?.();
}

test("paths may be file URLs", async () => {
  await withDirectory(async (dir) => {
    const place = pathToFileURL(dir);
    const session = await Session.create(place, { path: new URL(`${place}/a b.jsonl`) });
    await session.appendMessage(user("hello"));
    assert.deepEqual([session.path, session.cwd], [join(dir, "a b.jsonl"), dir]);
    const again = Session.openSync(pathToFileURL(session.path));
    assert.equal(again.entryCount, 1);
    assert.equal((await sessionInfos([pathToFileURL(session.path)]))[0].id, session.id);
    assert.equal((await (await openStore(place)).list()).sessions[0].id, session.id);
    // A name that only looks like a URL is a path.
    await assert.rejects(Session.open(`file://${session.path}`), { code: "io" });
  });
});

test("halves of surrogate pairs in arguments become U+FFFD", async () => {
  const session = Session.inMemory("/project");
  const id = session.appendMessageSync(user("kept: \ud800"));
  assert.equal(session.contextSync().messages[0].content, "kept: \ud800");
  session.setName("a\ud800b 😀");
  session.label(id, "\udc00");
  assert.deepEqual([session.sessionName, session.labels()[0].label], ["a\ufffdb 😀", "\ufffd"]);
  assert.throws(() => session.branchSync("\ud800"), { code: "unknown_entry" });
});

test("an argument that is undefined by mistake changes nothing", async () => {
  const session = Session.inMemory("/project");
  const first = session.appendMessageSync(user("one"));
  session.setName("name");
  const { leaf } = session;
  await assert.rejects(session.branch(undefined), { code: "invalid_argument" });
  assert.throws(() => session.branchWithSummarySync(undefined, "summary"), { code: "invalid_argument" });
  assert.throws(() => session.setName(undefined), { code: "invalid_argument" });
  await assert.rejects(session.abandonedBranch({ from: first }), { code: "invalid_argument" });
  assert.deepEqual([session.leaf, session.sessionName], [leaf, "name"]);
});

test("a compaction without the answers that it needs is refused", async () => {
  const session = Session.inMemory("/project");
  for (let turn = 0; turn < 6; turn++) session.appendMessageSync(user(`question ${turn} ${"x".repeat(400)}`));
  const settings = { keepRecentTokens: 150 };
  const before = session.entryCount;
  await assert.rejects(session.compact({ settings }), { code: "invalid_argument", message: /historySummary/ });
  await assert.rejects(session.compact({ settings, prefixSummary: "x" }), { code: "invalid_argument" });
  assert.equal(session.entryCount, before);
  await session.compact({ settings, summary: "All of it." });
  assert.equal(session.contextSync().messages[0].summary, "All of it.");
});
