// node bench.mjs PI [OMP BUN]: treering/pi against the session managers of pi and oh-my-pi, in process.
//
// PI is pi's package (1.5.0), OMP a directory with oh-my-pi in its node_modules, BUN the program that runs it. `treering` must be
// installed beside this file: check.sh does that, and copies it to target/node-check/app. BENCH_GB=1 adds a session of 1 GB, BENCH_GB=only measures nothing else;
// BENCH_CPU=1 measures the time of the processor, of all threads, instead of the clock's.
import { execFileSync } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, rmSync, statSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const self = fileURLToPath(import.meta.url);
const dir = process.env.BENCH_DIR ?? join(tmpdir(), "treering-node-bench");
const MB = 1 << 20;

// Sessions: turns of a user, answers with calls and results; a branch every 50 entries, a compaction every 400.

function writeSession(path, { size = Infinity, entries = Infinity, cwd = "/project" }) {
  if (existsSync(path)) return path;
  mkdirSync(resolve(path, ".."), { recursive: true });
  let state = 12345;
  const random = (below) => Math.floor(((state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32) * below);
  const words = "the session tree keeps every branch of a conversation and the model sees one path through it".split(" ");
  const text = (count) => Array.from({ length: count }, () => words[random(words.length)]).join(" ");
  const file = openSync(path, "w");
  let buffer = `${JSON.stringify({ type: "session", version: 3, id: `bench-${path.length}-${random(1e9)}`, timestamp: new Date(1.7e12).toISOString(), cwd })}\n`;
  let written = 0;
  let leaf = null;
  const path_ = [];
  for (let number = 0; number < entries && written + buffer.length < size; number++) {
    const id = (number + 0x10000000).toString(16);
    const base = { id, parentId: leaf, timestamp: new Date(1.7e12 + number * 1000).toISOString() };
    let entry;
    if (number % 400 === 399 && path_.length > 30) {
      entry = { type: "compaction", ...base, summary: text(200), firstKeptEntryId: path_[path_.length - 20], tokensBefore: 100000 };
    } else {
      const kind = number % 4;
      const message =
        kind === 0 ? { role: "user", content: text(30), timestamp: 1.7e12 + number * 1000 }
        : kind === 2 ? { role: "toolResult", toolCallId: `c${number - 1}`, toolName: "read", content: [{ type: "text", text: text(600) }], isError: false, timestamp: 1.7e12 }
        : { role: "assistant", provider: "acme", model: "large", usage: { input: 1000, output: 100, cacheRead: 0, cacheWrite: 0, totalTokens: 1100, cost: { input: 0.001, output: 0.001, cacheRead: 0, cacheWrite: 0, total: 0.002 } }, stopReason: "stop", timestamp: 1.7e12 + number * 1000,
            content: [{ type: "text", text: text(80) }, ...(kind === 1 ? [{ type: "toolCall", id: `c${number}`, name: "read", arguments: { path: `/src/${text(1)}.ts` } }] : [])] };
      entry = { type: "message", ...base, message };
    }
    buffer += `${JSON.stringify(entry)}\n`;
    path_.push(id);
    leaf = id;
    if (number % 50 === 49 && number % 400 < 300 && path_.length > 20) {
      path_.length -= 8;
      leaf = path_.at(-1);
    }
    if (buffer.length > MB) {
      writeSync(file, buffer);
      written += buffer.length;
      buffer = "";
    }
  }
  writeSync(file, buffer);
  closeSync(file);
  return path;
}

const median = (times) => times.toSorted((a, b) => a - b)[times.length >> 1];

/** Milliseconds; of all threads of this process with BENCH_CPU, for a machine that others use, too. */
function clock() {
  if (!process.env.BENCH_CPU) return performance.now();
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function measure(runs, work) {
  const times = [];
  for (let run = 0; run < runs; run++) {
    const start = clock();
    await work();
    times.push(clock() - start);
  }
  return median(times);
}

/** Everything that one session manager is asked. Times in milliseconds. */
async function measureManager(SessionManager) {
  const result = {};
  for (const [size, runs] of [[1, 15], [10, 9], [100, 3]]) {
    const path = join(dir, `${size}.jsonl`);
    result[`open + context, ${size} MB`] = await measure(runs, async () => (await SessionManager.open(path)).buildSessionContext());
  }
  // The sessions never set a thinking level, so finding the level takes a read of the whole file.
  result["open + context and its thinking level, 100 MB"] = await measure(3, async () => (await SessionManager.open(join(dir, "100.jsonl"))).buildSessionContext().thinkingLevel);
  // No manager can be faster than this if its context is made of objects.
  const selected = JSON.stringify((await SessionManager.open(join(dir, "1.jsonl"))).buildContextEntries?.() ?? []);
  result["JSON.parse of the context's entries alone, 1 MB"] = await measure(15, () => JSON.parse(selected));
  const open = await SessionManager.open(join(dir, "10.jsonl"));
  open.buildSessionContext();
  result["context of an open session, 10 MB"] = await measure(200, () => open.buildSessionContext());
  result["open + getTree, 44,000 entries"] = await measure(3, async () => (await SessionManager.open(join(dir, "44000.jsonl"))).getTree());
  const big = await SessionManager.open(join(dir, "44000.jsonl"));
  result["getTree, 44,000 entries, first"] = await measure(1, () => big.getTree());
  result["getTree, 44,000 entries, again"] = await measure(15, () => big.getTree());
  const appended = join(dir, `append-${process.pid}.jsonl`);
  rmSync(appended, { force: true });
  writeSession(appended, { entries: 100 });
  const manager = await SessionManager.open(appended);
  const message = { role: "user", content: "x".repeat(1000), timestamp: 1 };
  for (let index = 0; index < 500; index++) manager.appendMessage(message);
  result["append of 1 KB, p50"] = await measure(3000, () => manager.appendMessage(message));
  result["append of 1 KB, and the context"] = await measure(500, () => (manager.appendMessage(message), manager.buildSessionContext()));
  await manager.flush?.();
  rmSync(appended, { force: true });
  result["list of 2,000 sessions"] = await measure(3, () => SessionManager.list("/project", join(dir, "list")));
  // What a program needs that passes the context on: its bytes.
  if (SessionManager.bytes) result["open + context as bytes, 1 MB"] = await measure(15, () => SessionManager.bytes(join(dir, "1.jsonl")));
  return result;
}

async function load(kind, place) {
  if (kind === "treering") {
    const { Session } = await import("treering");
    const { SessionManager } = await import("treering/pi");
    return Object.assign(SessionManager, { bytes: (path) => Session.openSync(path).contextBytesSync() });
  }
  if (kind === "omp") return (await import(join(place, "node_modules/@oh-my-pi/pi-coding-agent/src/session/session-manager.ts"))).SessionManager;
  return (await import(pathToFileURL(join(place, "dist/core/session-manager.js")))).SessionManager;
}

async function measureGigabyte(SessionManager) {
  const start = performance.now();
  const manager = await SessionManager.open(join(dir, "1024.jsonl"));
  const messages = manager.buildSessionContext().messages.length;
  return { ms: performance.now() - start, messages, rss: Math.round(process.resourceUsage().maxRSS / 1024) };
}

if (process.argv[2] === "--child") {
  const [kind, place, what] = process.argv.slice(3);
  const SessionManager = await load(kind, place);
  console.log(JSON.stringify(await (what === "gigabyte" ? measureGigabyte : measureManager)(SessionManager)));
  process.exit(0);
}

// A process each, so that no manager pays for the garbage of another.
const [pi, omp, bun] = process.argv.slice(2).map((path) => resolve(path));
const isOnlyGigabyte = process.env.BENCH_GB === "only";

function child(kind, program, place, what = "all") {
  try {
    const out = execFileSync(program, [self, "--child", kind, place, what], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1 << 26 });
    return JSON.parse(out.trim().split("\n").at(-1));
  } catch (error) {
    return { failed: String(error.stderr ?? error.message).split("\n").find((line) => /error|heap|memory/i.test(line)) ?? "failed" };
  }
}

if (!isOnlyGigabyte) {
  for (const size of [1, 10, 100]) writeSession(join(dir, `${size}.jsonl`), { size: size * MB });
  writeSession(join(dir, "44000.jsonl"), { entries: 44000 });
  if (!existsSync(join(dir, "list"))) {
    for (let number = 0; number < 2000; number++) writeSession(join(dir, "list", `${String(number).padStart(4, "0")}.jsonl`), { size: 100_000 });
  }
  const results = { treering: child("treering", process.execPath, "-"), pi: child("pi", process.execPath, pi) };
  if (omp && bun) results.omp = child("omp", bun, omp);
  const show = (ms) => (ms === undefined ? "" : ms < 1 ? `${(ms * 1000).toFixed(1)} µs` : `${ms.toFixed(ms < 10 ? 2 : 0)} ms`);
  const goals = { "open + context, 1 MB": 10, "open + context, 10 MB": 20, "open + context, 100 MB": 20, "append of 1 KB, p50": 1, "context of an open session, 10 MB": 2, "getTree, 44,000 entries, again": 3, "list of 2,000 sessions": 20 };
  console.log(`| | treering | pi 1.5.0 | ${results.omp ? "omp 18.2.3 (bun) | " : ""}ratio to pi | goal |\n|---|---|---|---|---|${results.omp ? "---|" : ""}`);
  for (const name of Object.keys(results.treering)) {
    const ratio = results.pi[name] / results.treering[name] || 0;
    const others = results.omp ? ` ${show(results.omp[name])} |` : "";
    const goal = goals[name] ? `≥ ${goals[name]} ×${ratio >= goals[name] ? "" : ", **missed**"}` : "";
    console.log(`| ${name} | ${show(results.treering[name])} | ${show(results.pi[name])} |${others} ${ratio ? `${ratio.toFixed(1)} ×` : ""} | ${goal} |`);
  }
  for (const [name, { failed }] of Object.entries(results)) if (failed) console.log(`${name}: ${failed}`);
}
if (process.env.BENCH_GB) {
  writeSession(join(dir, "1024.jsonl"), { size: 1024 * MB });
  console.log(`1 GB (${statSync(join(dir, "1024.jsonl")).size} bytes), open and context:`);
  console.log("  treering", JSON.stringify(child("treering", process.execPath, "-", "gigabyte")));
  console.log("  pi", JSON.stringify(child("pi", process.execPath, pi, "gigabyte")));
}
if (!process.env.BENCH_DIR) rmSync(dir, { recursive: true, force: true });
