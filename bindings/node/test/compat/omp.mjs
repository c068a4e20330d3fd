// bun omp.mjs DIR: the same calls on the published oh-my-pi's session manager (in DIR/node_modules) and on treering/omp.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import * as treering from "treering/omp";

const omp = await import(join(resolve(process.argv[2]), "node_modules/@oh-my-pi/pi-coding-agent/src/session/session-manager.ts"));
treering.setCompatibility({ navigation: "memory" });
const root = mkdtempSync(join(tmpdir(), "treering-omp-"));
const user = (text) => ({ role: "user", content: [{ type: "text", text }], timestamp: 1700000000000 });
const assistant = (text) => ({ role: "assistant", content: [{ type: "text", text }], api: "x", provider: "acme", model: "large", usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } }, stopReason: "stop", timestamp: 1700000001000 });

function numbers(seed) {
  let state = seed;
  return (below) => Math.floor(((state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32) * below);
}

/** Replaces ids by their order, and times by a word. */
function normalized(value) {
  const ids = new Map();
  return JSON.parse(JSON.stringify(value, (key, item) => {
    if (/^(id|parentId|targetId|fromId|firstKeptEntryId)$/.test(key) && typeof item === "string" && item !== "root") {
      if (!ids.has(item)) ids.set(item, `#${ids.size}`);
      return ids.get(item);
    }
    return key === "timestamp" ? "time" : item;
  }));
}

function call(manager, next, text) {
  const entries = manager.getEntries();
  const any = () => entries[next(entries.length)]?.id;
  switch (next(11)) {
    case 0: case 1: return manager.appendMessage(user(text));
    case 2: case 3: return manager.appendMessage(assistant(text));
    case 4: return manager.appendModelChange(`acme/${text}`, next(2) ? "default" : "plan");
    case 5: return manager.appendThinkingLevelChange("high", "high");
    case 6: return manager.appendModeChange("plan", { text });
    case 7: return manager.appendCustomEntry("test", { text });
    case 8: return manager.appendTtsrInjection([text]);
    case 9: return entries.length > 0 && manager.appendLabelChange(any(), text);
    default: return entries.length > 0 && manager.branch(any());
  }
}

const sorted = (entries) => entries.map((entry) => Object.fromEntries(Object.entries(entry).sort(([a], [b]) => (a < b ? -1 : 1))));
let compared = 0;
function same(ours, theirs, what) {
  assert.deepEqual(ours, theirs, what);
  compared++;
}
const context = (manager) => {
  const { messages, models, mode, injectedTtsrRules, thinkingLevel } = manager.buildSessionContext();
  return JSON.parse(JSON.stringify({ messages, models, mode, injectedTtsrRules, thinkingLevel }));
};

for (let seed = 1; seed <= 12; seed++) {
  const ours = treering.SessionManager.create(root, join(root, `${seed}`, "ours"));
  const theirs = omp.SessionManager.create(root, join(root, `${seed}`, "theirs"));
  const [mine, other] = [numbers(seed), numbers(seed)];
  for (let step = 0; step < 25; step++) {
    call(ours, mine, `text ${step}`);
    call(theirs, other, `text ${step}`);
    same(normalized(sorted(ours.getEntries())), normalized(sorted(theirs.getEntries())), `seed ${seed}, step ${step}: entries`);
    same(ours.getBranch().length, theirs.getBranch().length, `seed ${seed}, step ${step}: branch`);
    same(context(ours), context(theirs), `seed ${seed}, step ${step}: context`);
  }
  await theirs.flush();
  const file = theirs.getSessionFile();
  const reopened = await omp.SessionManager.open(file);
  const read = await treering.SessionManager.open(file);
  same(sorted(read.getEntries()), JSON.parse(JSON.stringify(sorted(reopened.getEntries()))), `seed ${seed}: omp's file`);
  same(context(read), context(reopened), `seed ${seed}: the context of omp's file`);
  const back = await omp.SessionManager.open(ours.getSessionFile());
  same(context(back), context(await treering.SessionManager.open(ours.getSessionFile())), `seed ${seed}: our file in omp`);
}

// Files beside sessions, moves and lists: the same calls on both, with different paths.
for (const name of ["from", "to", "listed"]) mkdirSync(join(root, name));
async function beside(module, name) {
  const found = [];
  const at = (path) => path?.replaceAll(join(root, name), "ROOT").replaceAll(root, "BASE");
  const manager = module.SessionManager.create(join(root, "from"), join(root, name, "sessions"));
  manager.appendMessage(user("one"));
  manager.appendMessage(assistant("two"));
  await manager.flush();
  const id = (text) => text?.replaceAll(basename(manager.getSessionFile(), ".jsonl"), "SESSION");
  const first = await manager.saveArtifact("one", "bash");
  found.push(first, await manager.saveArtifact("two", "a/../b:c"), id(at(await manager.getArtifactPath("1"))), await manager.getArtifactPath("9"));
  found.push(id(at((await manager.allocateArtifactPath("///")).path)), id(at(manager.getArtifactsDir())));
  await manager.saveDraft("draft");
  found.push(await manager.consumeDraft(), await manager.consumeDraft());
  const blob = await manager.putBlob(Buffer.from("data"), { extension: "Txt" });
  const { displayPath, path, hash, ref } = manager.putBlobSync(Buffer.from("data"), { extension: "../x" });
  found.push(blob.displayPath, displayPath, path, hash, ref, existsSync(blob.displayPath));
  manager.beginTurnBudget(10, false);
  manager.appendMessage(assistant("three"));
  manager.recordEvalSubagentOutput(3);
  found.push(manager.getTurnBudget());
  const old = manager.getSessionFile();
  const length = manager.getEntries().length;
  await manager.moveTo(join(root, "to"), join(root, name, "moved"));
  found.push(existsSync(old), id(at(manager.getSessionFile())), at(manager.getCwd()), at(manager.getHeader().cwd), manager.getEntries().length === length);
  found.push(id(at(await manager.getArtifactPath(first))), readFileSync(await manager.getArtifactPath(first), "utf8"));
  manager.appendMessage(user("after the move"));
  await manager.flush();
  const again = await module.SessionManager.open(manager.getSessionFile());
  found.push(context(again), at(again.getCwd()));
  await manager.dropSession(manager.getSessionFile());
  found.push(existsSync(manager.getSessionFile()), existsSync(join(root, name, "moved")));
  return found;
}
const [ourFiles, theirFiles] = [await beside(treering, "ours"), await beside(omp, "theirs")];
ourFiles.forEach((found, index) => same(found, theirFiles[index], `files and moves, ${index}`));

const kept = omp.SessionManager.create(join(root, "listed"));
kept.appendMessage(user("listed"));
kept.appendMessage(assistant("two"));
await kept.flush();
const facts = (sessions) => sessions.map(({ path, id, cwd, messageCount }) => ({ path, id, cwd, messageCount })).sort((a, b) => (a.path < b.path ? -1 : 1));
same(facts(await treering.SessionManager.listAll()), facts(await omp.SessionManager.listAll()), "listAll");
await kept.dropSession(kept.getSessionFile());
rmSync(root, { recursive: true, force: true });
// Names, new sessions and what other requests used.
async function names(module, name) {
  const manager = module.SessionManager.create(join(root, "from"), join(root, name, "names"));
  const question = manager.appendMessage(user("one"));
  manager.appendMessage(assistant("two"));
  const found = [manager.titleSource, await manager.setSessionName(" a\tname  of it "), manager.titleSource, manager.getSessionName()];
  found.push(await manager.setSessionName("chosen", "user", "rename"), await manager.setSessionName("auto"), await manager.setSessionName("  ", "user"));
  found.push(manager.getSessionName(), manager.titleSource, manager.titleRevision, manager.reserveTitleRevision());
  const usage = { purpose: "title", provider: "acme", model: "small", usage: assistant("").usage };
  manager.appendModelUsage(usage, { sessionId: manager.getSessionId(), parentId: question });
  found.push(manager.appendModelUsage(usage, { sessionId: "another", parentId: question }));
  const init = { systemPrompt: "p", task: "t", tools: ["read"] };
  manager.appendSessionInit(init);
  await manager.flush();
  const first = manager.getSessionFile();
  const entries = (of) => normalized(sorted(of.getEntries().map(({ treering, ...entry }) => entry)));
  found.push(entries(manager), entries(await module.SessionManager.open(first)));
  found.push({ ...(await module.SessionManager.peekSessionInit(first)), cwd: undefined }.init.task, await module.SessionManager.peekSessionInit(join(root, "absent.jsonl")));
  await manager.newSession({ parentSession: "/x.jsonl" });
  found.push(existsSync(manager.getSessionFile()), manager.getHeader().parentSession, manager.getEntries(), manager.getSessionName());
  return found;
}
same(await names(treering, "ours"), await names(omp, "theirs"), "names and new sessions");

console.log(`${compared} comparisons with oh-my-pi 18.2.3: no difference`);
process.exit(0);
