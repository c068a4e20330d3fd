import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, test } from "node:test";
import * as pi from "treering/pi";
import { assistant, user, withDirectory } from "./helpers.mjs";

const { SessionManager, setCompatibility } = pi;
afterEach(() => setCompatibility("treering"));

const lines = (path) => readFileSync(path, "utf8").trim().split("\n").map((line) => JSON.parse(line));

test("entries are chained, and the same entry is the same object", () => {
  const manager = SessionManager.inMemory("/project");
  const first = manager.appendMessage(user("one"));
  const second = manager.appendThinkingLevelChange("high");
  const third = manager.appendModelChange("acme", "large");
  assert.deepEqual(manager.getEntries().map((entry) => entry.parentId), [null, first, second]);
  assert.equal(manager.getLeafId(), third);
  assert.equal(manager.getEntry(first), manager.getBranch()[0]);
  assert.equal(manager.getEntry(first.slice(0, 4)), undefined, "an id is looked up exactly");
  assert.deepEqual(manager.buildSessionContext(), {
    messages: [user("one")],
    thinkingLevel: "high",
    model: { provider: "acme", modelId: "large" },
  });
});

test("a context that was built follows what is appended", () => {
  const manager = SessionManager.inMemory("/project");
  const kept = manager.appendMessage(user("one"));
  assert.equal(manager.buildSessionContext().messages.length, 1);
  manager.appendMessage(assistant("two"));
  manager.appendCustomMessageEntry("note", "three", true);
  const fresh = pi.buildSessionContext(manager.getEntries(), manager.getLeafId());
  assert.deepEqual(manager.buildSessionContext(), fresh);
  manager.appendCompaction("so far", kept, 100);
  manager.appendContextEdit(kept, { content: "ONE" });
  assert.deepEqual(manager.buildSessionContext(), pi.buildSessionContext(manager.getEntries(), manager.getLeafId()));
  assert.deepEqual(manager.buildSessionContext().messages.map((message) => message.role), ["compactionSummary", "user", "assistant", "custom"]);
  manager.buildSessionContext().messages.length = 0;
  assert.equal(manager.buildSessionContext().messages.length, 4);
});

test("the tree has every entry of pi, and labels", () => {
  const manager = SessionManager.inMemory("/project");
  const root = manager.appendMessage(user("one"));
  const left = manager.appendMessage(assistant("two"));
  manager.branch(root);
  const right = manager.appendMessage(assistant("three"));
  const label = manager.appendLabelChange(left, "mark");
  const [node] = manager.getTree();
  assert.deepEqual(node.children.map((child) => child.entry.id), [left, right]);
  assert.deepEqual([node.children[0].label, node.children[1].children[0].entry.id], ["mark", label]);
  assert.deepEqual(manager.getChildren(root).map((entry) => entry.id), [left, right]);
  assert.equal(manager.getEntryCount(), 4);
  manager.appendLabelChange(left, undefined);
  assert.equal(manager.getLabel(left), undefined);
  assert.throws(() => manager.branch("absent"), /Entry absent not found/);
  assert.throws(() => manager.appendLabelChange("absent", "x"), /Entry absent not found/);
});

test("by default navigation survives a restart, and no list shows how", async () => {
  await withDirectory((dir) => {
    const manager = SessionManager.create("/project", dir);
    const first = manager.appendMessage(user("one"));
    manager.appendMessage(assistant("two"));
    manager.branch(first);
    const path = manager.getSessionFile();
    const again = SessionManager.open(path);
    assert.equal(again.getLeafId(), first);
    assert.deepEqual(again.getEntries().map((entry) => entry.type), ["message", "message"]);
    assert.equal(again.getEntryCount(), 2);
    // A program that does not know the record hangs its entry on it.
    const record = lines(path).at(-1);
    assert.equal(record.type, "leaf");
    const added = { type: "message", id: "added001", parentId: record.id, timestamp: new Date().toISOString(), message: user("three") };
    writeFileSync(path, `${readFileSync(path, "utf8")}${JSON.stringify(added)}\n`);
    const third = SessionManager.open(path);
    assert.equal(third.getEntry("added001").parentId, first);
    assert.deepEqual(third.getChildren(first).map((entry) => entry.id).includes("added001"), true);
    assert.deepEqual(third.buildSessionContext().messages, [user("one"), user("three")]);
  });
});

test("with pi's behavior navigation is forgotten and nothing is written for it", async () => {
  await withDirectory((dir) => {
    setCompatibility("pi-1");
    const manager = SessionManager.create("/project", dir);
    const first = manager.appendMessage(user("one"));
    const second = manager.appendMessage(assistant("two"));
    manager.branch(first);
    assert.equal(manager.getLeafId(), first);
    assert.equal(lines(manager.getSessionFile()).length, 3);
    assert.equal(SessionManager.open(manager.getSessionFile()).getLeafId(), second);
    const third = manager.appendMessage(assistant("three"));
    assert.equal(manager.getEntry(third).parentId, first);
  });
});

test("a file comes into being with the first message, or with the first answer", async () => {
  await withDirectory((dir) => {
    for (const [compatibility, isEarly] of [["treering", true], ["pi-1", true], ["pi-0", false]]) {
      setCompatibility(compatibility);
      const manager = SessionManager.create("/project", dir);
      manager.appendModelChange("acme", "large");
      assert.equal(existsSync(manager.getSessionFile()), false);
      const question = manager.appendMessage(user("one"));
      assert.equal(existsSync(manager.getSessionFile()), isEarly, compatibility);
      manager.appendMessage(assistant("two"));
      assert.deepEqual(lines(manager.getSessionFile()).map((line) => line.type), ["session", "model_change", "message", "message"]);
      const fork = manager.createBranchedSession(question);
      assert.equal(existsSync(fork), isEarly, "a fork follows the same rule");
      manager.appendMessage(assistant("again"));
      assert.equal(lines(fork).length, 4);
    }
  });
});

test("files that are no sessions are refused, or replaced as pi 0.x does", async () => {
  await withDirectory((dir) => {
    const garbage = join(dir, "garbage.jsonl");
    const headless = join(dir, "headless.jsonl");
    writeFileSync(garbage, "not a session\n");
    writeFileSync(headless, '{"type":"message","id":"1","parentId":null,"timestamp":"2025-01-01T00:00:00Z","message":{"role":"user","content":"x"}}\n');
    for (const path of [garbage, headless]) {
      const before = readFileSync(path, "utf8");
      assert.throws(() => SessionManager.open(path), { code: "not_a_session" });
      assert.equal(readFileSync(path, "utf8"), before);
      setCompatibility("pi-0");
      const manager = SessionManager.open(path);
      assert.deepEqual(lines(path), [manager.getHeader()]);
      assert.equal(SessionManager.open(path).getSessionId(), manager.getSessionId());
      setCompatibility("treering");
    }
    const empty = join(dir, "empty.jsonl");
    writeFileSync(empty, "");
    const manager = SessionManager.open(empty);
    assert.equal(manager.getSessionFile(), empty);
    assert.equal(lines(empty)[0].id, manager.getSessionId());
  });
});

test("forks leave labels that hang on nothing behind, and keep the others", async () => {
  await withDirectory((dir) => {
    const manager = SessionManager.create("/project", dir);
    const first = manager.appendMessage(user("one"));
    const label = manager.appendLabelChange(first, "start");
    const second = manager.appendMessage(assistant("two"));
    const compaction = manager.appendCompaction("so far", label, 10);
    const last = manager.appendMessage(user("three"));
    const old = manager.getSessionFile();
    const file = manager.createBranchedSession(last);
    const entries = manager.getEntries();
    assert.deepEqual(entries.map((entry) => entry.type), ["message", "message", "compaction", "message", "label"]);
    assert.deepEqual(entries.map((entry) => entry.parentId), [null, first, second, compaction, last]);
    assert.equal(entries[2].firstKeptEntryId, second, "what was kept from a label on is kept from the next entry on");
    assert.deepEqual([manager.getHeader().parentSession, manager.getLabel(first)], [old, "start"]);
    assert.deepEqual(SessionManager.open(file).getEntries(), entries);
  });
});

test("forkFrom copies everything into another project", async () => {
  await withDirectory((dir) => {
    const source = SessionManager.create("/project", join(dir, "a"));
    const first = source.appendMessage(user("one"));
    source.appendMessage(assistant("two"));
    source.branch(first);
    source.appendMessage(assistant("three"));
    const fork = SessionManager.forkFrom(source.getSessionFile(), "/elsewhere", join(dir, "b"));
    assert.deepEqual(fork.getEntries(), source.getEntries());
    assert.deepEqual([fork.getCwd(), fork.getHeader().cwd, fork.getHeader().parentSession], ["/elsewhere", "/elsewhere", source.getSessionFile()]);
    assert.throws(() => SessionManager.forkFrom(join(dir, "absent.jsonl"), "/elsewhere", dir), /Cannot fork/);
  });
});

test("lists, recent sessions and look-ups", async () => {
  await withDirectory(async (dir) => {
    const make = (cwd, text) => {
      const manager = SessionManager.create(cwd, dir);
      manager.appendMessage(user(text));
      manager.appendMessage(assistant(`${text}!`, { timestamp: Date.now() }));
      return manager;
    };
    const one = make("/project", "first words");
    make("/other", "other words");
    const progress = [];
    const sessions = await SessionManager.list("/project", dir, (loaded, total) => progress.push([loaded, total]));
    assert.deepEqual(progress, [[2, 2]]);
    assert.equal(sessions.length, 1);
    assert.deepEqual([sessions[0].path, sessions[0].firstMessage, sessions[0].messageCount], [one.getSessionFile(), "first words", 2]);
    assert.equal(sessions[0].allMessagesText, "first words first words!");
    assert.ok(sessions[0].modified instanceof Date && { ...sessions[0] }.allMessagesText.length > 0);
    assert.equal((await SessionManager.listAll(dir)).length, 2);
    assert.equal(SessionManager.findById("/project", one.getSessionId(), dir), one.getSessionFile());
    assert.equal(SessionManager.findById("/other", one.getSessionId(), dir), undefined);
    assert.equal(SessionManager.continueRecent("/project", dir).getSessionId(), one.getSessionId());
    await assert.rejects(SessionManager.list("/project", dir, undefined, AbortSignal.abort()), { name: "AbortError" });
    const found = pi.filterAndSortSessions(await SessionManager.listAll(dir), '"other words"', "relevance");
    assert.deepEqual(found.map((session) => session.cwd), ["/other"]);
  });
});

test("a long list has every session, the newest first", async () => {
  await withDirectory(async (dir) => {
    const count = 410;
    for (let number = 0; number < count; number++) {
      const timestamp = new Date(1.7e12 + number * 1000).toISOString();
      const header = { type: "session", version: 3, id: `s${number}`, timestamp, cwd: "/project" };
      const entry = { type: "message", id: "aaaaaaaa", parentId: null, timestamp, message: { ...user(`words ${number}`), timestamp: 1.7e12 + number * 1000 } };
      writeFileSync(join(dir, `${(number * 7919) % count}.jsonl`), `${JSON.stringify(header)}\n${JSON.stringify(entry)}\n`);
    }
    const wanted = Array.from({ length: count }, (_, number) => `s${count - 1 - number}`);
    assert.deepEqual((await SessionManager.list("/project", dir)).map((session) => session.id), wanted);
    assert.deepEqual((await SessionManager.list("/project", dir, () => {})).map((session) => session.id), wanted);
    assert.equal((await SessionManager.list("/project", `${dir}/`)).length, count);
  });
});

test("an entry that was appended is the same object whenever it is read", async () => {
  await withDirectory((dir) => {
    const manager = SessionManager.create("/project", dir);
    const messages = [user("one"), assistant("two"), user("three")];
    const ids = messages.map((message) => manager.appendMessage(message));
    assert.equal(manager.getLeafEntry().message, messages[2]);
    assert.ok(ids.every((id, index) => manager.getEntry(id).message === messages[index]));
    ids.push(manager.appendMessage(messages[0]));
    const kept = ids.map((id) => manager.getEntry(id));
    const isKept = (entries) => entries.length === 4 && entries.every((entry, index) => entry === kept[index]);
    assert.ok(isKept(manager.getBranch()) && isKept(manager.getEntries()) && isKept(manager.buildContextEntries()));
  });
});

test("older versions are migrated, as arrays and as files", async () => {
  const old = () => [
    { type: "session", id: "s", timestamp: "2025-01-01T00:00:00Z", cwd: "/project" },
    { type: "message", timestamp: "2025-01-01T00:00:01Z", message: user("one") },
    { type: "message", timestamp: "2025-01-01T00:00:02Z", message: { ...user("two"), role: "hookMessage" } },
    { type: "compaction", timestamp: "2025-01-01T00:00:03Z", summary: "so far", firstKeptEntryIndex: 2, tokensBefore: 3 },
  ];
  const entries = old();
  pi.migrateSessionEntries(entries);
  assert.deepEqual([entries[0].version, entries[2].message.role, entries[3].firstKeptEntryId], [3, "custom", entries[2].id]);
  assert.equal(entries[3].parentId, entries[2].id);
  await withDirectory((dir) => {
    const path = join(dir, "old.jsonl");
    const text = old().map((entry) => `${JSON.stringify(entry)}\n`).join("");
    writeFileSync(path, text);
    const manager = SessionManager.open(path);
    assert.equal(manager.getEntries().length, 3);
    assert.equal(readFileSync(path, "utf8"), text, "opening changes nothing");
    setCompatibility("pi-1");
    SessionManager.open(path);
    assert.equal(lines(path)[0].version, 3);
  });
});

test("sessions in memory take entries that are held elsewhere", () => {
  const source = SessionManager.inMemory("/project");
  source.appendMessage(user("one"));
  source.appendSessionInfo("  a\nname ");
  const manager = SessionManager.inMemory("/project", undefined, [source.getHeader(), ...source.getEntries()]);
  assert.deepEqual(manager.getEntries(), source.getEntries());
  assert.deepEqual([manager.getSessionId(), manager.getSessionName()], [source.getSessionId(), "a name"]);
  assert.deepEqual([manager.isPersisted(), manager.getSessionFile()], [false, undefined]);
  assert.equal(manager.newSession({ id: "chosen" }), undefined);
  assert.deepEqual([manager.getSessionId(), manager.getEntries()], ["chosen", []]);
  assert.throws(() => manager.newSession({ id: "-no-" }), /not valid/);
});

test("two managers on one file see each other's entries", async () => {
  await withDirectory((dir) => {
    const one = SessionManager.create("/project", dir);
    one.appendMessage(user("one"));
    const other = SessionManager.open(one.getSessionFile());
    const foreign = other.appendMessage(assistant("two"));
    assert.equal(one.getEntries().length, 1);
    const own = one.appendMessage(assistant("three"));
    assert.deepEqual(one.getEntries().map((entry) => entry.id).slice(1), [foreign, own]);
    assert.equal(one.getTree()[0].children.length, 2);
  });
});

test("token estimates are those of the library", async () => {
  const { addonEstimate } = await import("./native-estimate.mjs");
  const messages = [
    user("four"), user([{ type: "text", text: "a picture" }, { type: "image", data: "x", mimeType: "image/png" }]),
    assistant("text"), assistant("", { content: [{ type: "thinking", thinking: "hmm" }, { type: "toolCall", id: "1", name: "read", arguments: { path: "ä" } }] }),
    { role: "toolResult", toolCallId: "1", content: [{ type: "text", text: "output" }] },
    { role: "bashExecution", command: "ls", output: "a\nb" }, { role: "compactionSummary", summary: "all of it" },
  ];
  for (const message of messages) assert.equal(pi.estimateTokens(message), addonEstimate(message), message.role);
});

test("summaries ask the model that was set, and keep the files", async () => {
  const manager = SessionManager.inMemory("/project");
  for (let turn = 0; turn < 6; turn++) {
    manager.appendMessage(user(`question ${turn} ${"x".repeat(400)}`));
    manager.appendMessage(assistant("", { usage: undefined, content: [{ type: "toolCall", id: `c${turn}`, name: "edit", arguments: { path: `f${turn}` } }] }));
    manager.appendMessage({ role: "toolResult", toolCallId: `c${turn}`, toolName: "edit", content: [{ type: "text", text: "done" }], timestamp: 3 });
  }
  const preparation = pi.prepareCompaction(manager.getBranch(), { ...pi.DEFAULT_COMPACTION_SETTINGS, keepRecentTokens: 150 });
  const asked = [];
  pi.setCompleteSimple(async (model, context, options) => {
    asked.push({ context, options });
    return assistant("A summary.");
  });
  try {
    const result = await pi.compact(preparation, { id: "m", reasoning: true }, "key", {}, "names", undefined, "low");
    assert.ok(result.summary.startsWith("A summary."));
    assert.ok(result.summary.includes("<modified-files>\nf0\n"));
    assert.equal(asked[0].options.reasoning, "low");
    assert.ok(asked[0].context.messages[0].content[0].text.includes("question 0"));
    manager.appendCompaction(result.summary, result.firstKeptEntryId, result.tokensBefore, result.details);
    assert.equal(pi.prepareCompaction(manager.getBranch(), pi.DEFAULT_COMPACTION_SETTINGS), undefined);
    const { entries, commonAncestorId } = pi.collectEntriesForBranchSummary(manager, manager.getLeafId(), manager.getBranch()[0].id);
    assert.equal(commonAncestorId, manager.getBranch()[0].id);
    const summary = await pi.generateBranchSummary(entries, { model: { id: "m" }, signal: new AbortController().signal });
    assert.ok(summary.summary.includes("A summary.") && summary.modifiedFiles.includes("f5"));
    pi.setCompleteSimple(async () => assistant("", { stopReason: "error", errorMessage: "overloaded" }));
    await assert.rejects(pi.generateSummary([user("x")], { id: "m" }, 1000, "key"), /overloaded/);
  } finally {
    pi.setCompleteSimple(undefined);
  }
});

test("summaries ask through the session's stream function and say what they used", async () => {
  const manager = SessionManager.inMemory("/project");
  manager.appendMessage(user("question"));
  for (let step = 0; step < 6; step++) {
    manager.appendMessage(assistant("", { usage: undefined, content: [{ type: "toolCall", id: `c${step}`, name: "edit", arguments: { path: `f${step}` } }] }));
    manager.appendMessage({ role: "toolResult", toolCallId: `c${step}`, toolName: "edit", content: [{ type: "text", text: "x".repeat(400) }], timestamp: 3 });
    if (step === 1) manager.appendMessage(user("another question"));
  }
  const preparation = pi.prepareCompaction(manager.getBranch(), { ...pi.DEFAULT_COMPACTION_SETTINGS, keepRecentTokens: 150 });
  assert.ok(preparation.isSplitTurn && preparation.messagesToSummarize.length > 0);
  const asked = [];
  const usage = { input: 10, output: 2, cacheRead: 1, cacheWrite: 0, totalTokens: 13, cost: { input: 0.5, total: 1 } };
  const streamFn = async (model, context, options) => {
    asked.push({ context, options });
    return { result: async () => assistant("A summary.", { usage }) };
  };
  const model = { id: "m", reasoning: true };
  const result = await pi.compact(preparation, model, "key", { a: "b" }, undefined, undefined, undefined, streamFn, { REGION: "x" }, undefined, undefined, "routing");
  assert.deepEqual(result.usage, { input: 20, output: 4, cacheRead: 2, cacheWrite: 0, totalTokens: 26, cost: { input: 1, total: 2 } });
  assert.equal(asked.length, 2);
  const { context, options } = asked[0];
  assert.deepEqual(context.messages.map(({ role }) => role), ["system", "user"]);
  assert.equal(context.systemPrompt, undefined);
  assert.equal(context.messages[0].content, pi.SUMMARIZATION_SYSTEM_PROMPT);
  assert.deepEqual([options.apiKey, options.headers.a, options.env.REGION, options.sessionId, options.cacheRetention], ["key", "b", "x", "routing", "none"]);
  assert.ok(!("maxTokens" in options) && !("reasoning" in options));
  const branch = await pi.generateBranchSummary(manager.getBranch(), { model, signal: new AbortController().signal, streamFn });
  assert.ok(branch.summary.includes("A summary.") && asked.length === 3 && asked[2].options.sessionId);
  assert.deepEqual(await pi.generateSummaryWithUsage([user("x")], model, undefined, "key", undefined, undefined, undefined, undefined, "low", streamFn), { text: "A summary.", usage });
  assert.match(pi.getSummarizationFailure(assistant("cut", { stopReason: "length" }), "Summarization"), /^Summarization failed: .*incomplete/);
});

test("summaries take the arguments of earlier versions of pi", async () => {
  const asked = [];
  pi.setCompleteSimple(async (model, context, options) => {
    asked.push({ text: context.messages[0].content[0].text, options });
    return assistant("A summary.");
  });
  const before = pi.getCompatibility();
  try {
    const { signal } = new AbortController();
    const model = { id: "m", reasoning: true };
    await pi.generateSummary([user("x")], model, 1000, "key", signal, "the tests", "an earlier summary");
    const preparation = { messagesToSummarize: [user("x")], turnPrefixMessages: [], isSplitTurn: false, firstKeptEntryId: "1", tokensBefore: 1, fileOps: pi.createFileOps(), settings: pi.DEFAULT_COMPACTION_SETTINGS };
    await pi.compact(preparation, model, "key", "the tests", signal);
    await pi.compact(preparation, model, "key", undefined, signal);
    for (const { options } of asked) assert.deepEqual([options.signal, options.headers, options.maxTokens], [signal, undefined, undefined]);
    assert.deepEqual(asked.map(({ text }) => text.includes("Additional focus: the tests")), [true, true, false]);
    assert.ok(asked[0].text.includes("an earlier summary"));
    pi.setCompatibility("pi-0");
    await pi.generateSummary([user("x")], model, 1000, "key");
    assert.deepEqual([asked[3].options.maxTokens, asked[3].options.reasoning], [800, "high"]);
  } finally {
    pi.setCompatibility(before);
    pi.setCompleteSimple(undefined);
  }
});
