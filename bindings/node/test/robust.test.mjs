// Worker threads on one session, a process that is killed, and memory that stays bounded.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { examine, Session } from "treering";
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
    // Each worker goes on with its own branch, wherever the leaf was when it opened the session.
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
