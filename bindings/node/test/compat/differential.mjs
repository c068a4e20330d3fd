// node differential.mjs MODULE COMPATIBILITY: the same calls on the published pi's session manager and on treering/pi.
//
// MODULE is the path of pi's `dist/core/session-manager.js`. Ids and times differ, so entries are compared by their number.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import * as treering from "treering/pi";

const [module, compatibility] = process.argv.slice(2);
const pi = await import(pathToFileURL(module));
const isNew = "findById" in pi.SessionManager;
treering.setCompatibility(compatibility);
const root = mkdtempSync(join(tmpdir(), "treering-differential-"));

/** A generator of numbers that are the same in every run. */
function numbers(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Replaces ids by the order in which they appear, and times and directories by words. */
function normalized(value) {
  const ids = new Map();
  const id = (text) => ids.get(text) ?? (ids.set(text, `#${ids.size}`), ids.get(text));
  const walk = (item, key) => {
    if (Array.isArray(item)) return item.map((element) => walk(element, key));
    if (item instanceof Date) return "time";
    if (item === null || typeof item !== "object") {
      if (typeof item === "string" && /^(id|parentId|targetId|fromId|firstKeptEntryId)$/.test(key) && item !== "root") return id(item);
      if (/timestamp|modified|created/i.test(key) && item !== undefined) return "time";
      if (typeof item === "string") return item.replaceAll(/[^/]*_[0-9a-f-]{36}\.jsonl/g, "FILE").replaceAll(/\/(ours|theirs)\b/g, "/DIR");
      return item;
    }
    return Object.fromEntries(Object.keys(item).sort().filter((name) => item[name] !== undefined).map((name) => [name, walk(item[name], name)]));
  };
  return walk(value, "");
}

const user = (text) => ({ role: "user", content: text, timestamp: 1700000000000 });
const assistant = (text) => ({ role: "assistant", content: [{ type: "text", text }], provider: "acme", model: text, usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2 }, stopReason: "stop", timestamp: 1700000001000 });
const system = (text) => ({ role: "system", content: text, timestamp: 1 });

/** One call, on both managers: the numbers of entries stand for their ids. */
function call(manager, next, text) {
  const entries = manager.getEntries();
  const any = () => entries[next(entries.length)]?.id ?? "absent";
  switch (next(isNew ? 16 : 12)) {
    case 0: case 1: return manager.appendMessage(user(text));
    case 2: case 3: return manager.appendMessage(assistant(text));
    case 4: return manager.appendModelChange("acme", text);
    case 5: return manager.appendThinkingLevelChange(text);
    case 6: return manager.appendCustomEntry("test", { text });
    case 7: return manager.appendCustomMessageEntry("test", text, next(2) === 0, { text });
    case 8: return manager.appendLabelChange(any(), next(3) === 0 ? undefined : text);
    case 9: return manager.branch(any());
    case 10: return next(4) === 0 ? manager.resetLeaf() : manager.branchWithSummary(any(), text, { text }, next(2) === 0);
    case 11: {
      const branch = manager.getBranch();
      return manager.appendCompaction(text, branch[next(branch.length)]?.id ?? "absent", next(100), { text });
    }
    case 12: return manager.appendUsage("cache_warm", "acme", text, { input: 1, output: 0, cacheRead: 0, cacheWrite: 0 }, text).id;
    case 13: return manager.appendContextEdit(any(), next(2) === 0 ? null : { content: text });
    case 14: return manager.appendMessage(system(text));
    default: return manager.appendSessionInfo(` ${text}\n `);
  }
}

function attempt(work) {
  try {
    return { value: work() };
  } catch (error) {
    return { error: error.message };
  }
}

/** Everything that a manager can be asked. */
function view(manager) {
  const entries = manager.getEntries();
  return normalized({
    entries,
    leaf: entries.findIndex((entry) => entry.id === manager.getLeafId()),
    leafEntry: manager.getLeafEntry(),
    branch: manager.getBranch(),
    branches: entries.map((entry) => manager.getBranch(entry.id).length),
    children: entries.map((entry) => manager.getChildren(entry.id).map((child) => entries.indexOf(child))),
    labels: entries.map((entry) => manager.getLabel(entry.id)),
    tree: manager.getTree(),
    context: manager.buildSessionContext(),
    ...(isNew ? { projection: manager.buildSessionProjection(), contextEntries: manager.buildContextEntries(), count: manager.getEntryCount() } : {}),
    name: manager.getSessionName(),
    cwd: manager.getCwd(),
    isPersisted: manager.isPersisted(),
    version: manager.getHeader().version,
    parent: manager.getHeader().parentSession,
    absent: [manager.getEntry("absent"), manager.getLabel("absent")],
  });
}

const file = (manager) => normalized(readFileSync(manager.getSessionFile(), "utf8").trim().split("\n").map((line) => JSON.parse(line)).filter((line) => line.type !== "leaf"));

let compared = 0;
function same(ours, theirs, what) {
  assert.deepEqual(ours, theirs, what);
  compared++;
}

for (let seed = 1; seed <= 40; seed++) {
  const dirs = { ours: join(root, `${seed}`, "ours"), theirs: join(root, `${seed}`, "theirs") };
  const isMemory = seed % 4 === 0;
  const make = (SessionManager, dir) => (isMemory ? SessionManager.inMemory("/project") : SessionManager.create("/project", dir));
  let ours = make(treering.SessionManager, dirs.ours);
  let theirs = make(pi.SessionManager, dirs.theirs);
  const steps = 5 + (seed % 30);
  const [mine, other] = [numbers(seed), numbers(seed)];
  for (let step = 0; step < steps; step++) {
    const text = `text ${seed}.${step}`;
    const a = attempt(() => call(ours, mine, text));
    const b = attempt(() => call(theirs, other, text));
    const blur = (error) => error?.replaceAll(/Entry [0-9a-f-]+/g, "Entry ID");
    same(blur(a.error), blur(b.error), `seed ${seed}, step ${step}`);
    same(view(ours), view(theirs), `seed ${seed}, step ${step}`);
  }
  if (isMemory) continue;
  const isWritten = theirs.getEntries().some((entry) => entry.type === "message" && entry.message.role === "assistant");
  if (!isWritten) continue;
  same(file(ours), file(theirs), `seed ${seed}: the files`);
  // Each reads the file of the other.
  same(view(treering.SessionManager.open(theirs.getSessionFile())), view(pi.SessionManager.open(theirs.getSessionFile())), `seed ${seed}: pi's file`);
  const continued = pi.SessionManager.open(ours.getSessionFile());
  if (compatibility === "treering") {
    // pi does not know the records of where the leaf was moved, but continues at the same context.
    same(normalized(continued.buildSessionContext()), normalized(ours.buildSessionContext()), `seed ${seed}: our file in pi`);
  } else {
    same(view(treering.SessionManager.open(ours.getSessionFile())), view(continued), `seed ${seed}: our file in pi`);
  }
  const leaf = (manager) => manager.getEntries()[steps % manager.getEntries().length].id;
  // pi 0.x loses the entries before a label when it forks.
  if (!isNew && ours.getBranch(leaf(ours)).some((entry) => entry.type === "label")) continue;
  const [ourFork, theirFork] = [ours, theirs].map((manager) => manager.createBranchedSession(leaf(manager)) !== undefined);
  same(ourFork, theirFork, `seed ${seed}: forks`);
  same(view(ours), view(theirs), `seed ${seed}: what is in a fork`);
  ours.appendMessage(assistant("go on"));
  theirs.appendMessage(assistant("go on"));
  same(file(ours), file(theirs), `seed ${seed}: the file of a fork`);
  const fork = (SessionManager, manager, dir) => SessionManager.forkFrom(manager.getSessionFile(), "/elsewhere", dir);
  ours = fork(treering.SessionManager, ours, dirs.ours);
  theirs = fork(pi.SessionManager, theirs, dirs.theirs);
  same(view(ours), view(theirs), `seed ${seed}: a fork into another project`);
  // Several of them have the same time, so their order is not compared.
  const list = async (SessionManager, dir) => (await SessionManager.listAll(dir)).map((info) => JSON.stringify(normalized({ ...info, path: "" }))).sort();
  if (isNew) same(await list(treering.SessionManager, dirs.ours), await list(pi.SessionManager, dirs.theirs), `seed ${seed}: lists`);
}

// Functions on arrays, and files that were damaged.
const odd = [
  "",
  "garbage\n",
  '{"type":"message","id":"1"}\n',
  '{"type":"session","id":"s","timestamp":"2025-01-01T00:00:00Z","cwd":"/p"}\nnot json\n\n{"type":"message","id":"1","parentId":null,"timestamp":"2025-01-01T00:00:00Z","message":{"role":"user","content":"x"}}',
];
odd.forEach((text, index) => {
  const path = join(root, `odd-${index}.jsonl`);
  writeFileSync(path, text);
  same(treering.parseSessionEntries(text), pi.parseSessionEntries(text), text);
  same(treering.loadEntriesFromFile(path), pi.loadEntriesFromFile(path), text);
});
same(treering.findMostRecentSession(root), pi.findMostRecentSession(root), "the newest session");
same(treering.CURRENT_SESSION_VERSION, pi.CURRENT_SESSION_VERSION, "the version");
const missing = Object.keys(pi).filter((name) => !(name in treering));
same(missing, [], "exports");
const methods = (SessionManager) => Object.getOwnPropertyNames(SessionManager.prototype).filter((name) => !name.startsWith("_"));
same(methods(pi.SessionManager).filter((name) => !methods(treering.SessionManager).includes(name)), [], "methods");

rmSync(root, { recursive: true, force: true });
console.log(`${compared} comparisons with ${module.match(/pi-[\d.]+|pi-coding-agent/)?.[0] ?? "pi"}, ${compatibility}: no difference`);
