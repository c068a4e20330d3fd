import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { convert, examine, listSessions, openStore, repair, search, Session, TreeringError, usageReport } from "treering";
import { assistant, user, withDirectory } from "./helpers.mjs";

function conversation() {
  const session = Session.inMemory("/project");
  const question = session.appendMessageSync(user("Which color?"));
  const red = session.appendMessageSync(assistant("Red."));
  session.branchSync(question);
  const blue = session.appendMessageSync(assistant("Blue."));
  return { session, question, red, blue };
}

test("entries go in and come out as plain objects, both ways to call agree", async () => {
  const { session, question, blue } = conversation();
  assert.equal(session.leaf, blue);
  assert.deepEqual(session.entry(question).message, user("Which color?"));
  assert.deepEqual(await session.context(), session.contextSync());
  assert.deepEqual(session.contextSync().messages, [user("Which color?"), assistant("Blue.")]);
  assert.deepEqual(session.contextSync().model, { provider: "acme", modelId: "large" });
  assert.deepEqual((await session.pathTo()).map((entry) => entry.id), [question, blue]);
  assert.equal(session.resolve(question.slice(0, 6)), question);
  assert.equal(session.resolve("no such entry"), null);
});

test("the tree has no records of where the leaf was moved, unless they are asked for", () => {
  const { session, question, red, blue } = conversation();
  const [root, ...others] = session.tree();
  assert.equal(others.length, 0);
  assert.deepEqual([root.id, root.children.map((node) => node.id)], [question, [red, blue]]);
  assert.deepEqual(session.children(question), [red, blue]);
  assert.equal(session.children(question, { bookkeeping: true }).length, 3);
  assert.deepEqual(session.branchPoints(), [question]);
  assert.equal(session.commonAncestor(red, blue), question);
  assert.ok(session.isAncestor(question, red));
});

test("iterators read piece by piece, synchronously and not", async () => {
  const session = Session.inMemory("/project");
  // More than one piece of a megabyte.
  for (let index = 0; index < 30; index++) session.appendMessageSync(user("x".repeat(100_000) + index));
  const ids = [...session].map((entry) => entry.id);
  assert.equal(ids.length, 30);
  const streamed = [];
  for await (const entry of session) streamed.push(entry.id);
  assert.deepEqual(streamed, ids);
  assert.deepEqual([...session.entries({ after: ids[27] })].map((entry) => entry.id), ids.slice(28));
});

test("errors have codes and details", async () => {
  const { session } = conversation();
  assert.throws(() => session.entry("absent"), (error) => {
    assert.ok(error instanceof TreeringError && error instanceof Error);
    assert.deepEqual([error.code, error.category, error.details], ["unknown_entry", "NotFound", { entry: "absent" }]);
    return true;
  });
  await assert.rejects(Session.open("/no/such/file"), { name: "TreeringError", category: "NotFound" });
  await assert.rejects(session.append({ type: "message", message: user("late") }, { expecting: null }), { code: "leaf_moved" });
  assert.throws(() => session.appendSync({ no: "type" }), { code: "invalid_entry" });
  await assert.rejects(session.export("pdf"), { code: "unknown_format" });
});

test("an aborted signal ends the wait", async () => {
  const { session } = conversation();
  await assert.rejects(session.context({ signal: AbortSignal.abort() }), { name: "AbortError" });
  const controller = new AbortController();
  const waiting = session.stats({ signal: controller.signal });
  controller.abort(new Error("enough"));
  await assert.rejects(waiting, { message: "enough" });
  assert.equal((await session.stats({ signal: new AbortController().signal })).branches, 2);
});

test("a closed session refuses, and disposing closes", async () => {
  const { session } = conversation();
  session[Symbol.dispose]();
  assert.throws(() => session.leaf, { code: "closed" });
  const other = Session.inMemory("/project");
  await other[Symbol.asyncDispose]();
  await assert.rejects(other.context(), { code: "closed" });
});

test("changes are told as events, and to an async iterator", async () => {
  await withDirectory(async (dir) => {
    const path = join(dir, "s.jsonl");
    const session = Session.createSync("/project", { path }, { creation: "at-once" });
    // A listener does not keep the process alive, so a timer does.
    const alive = setInterval(() => undefined, 1000);
    const first = new Promise((resolve) => session.once("change", resolve));
    const own = session.appendMessageSync(user("one"));
    assert.deepEqual(await first, { entries: [own], isOwn: true });
    clearInterval(alive);
    const controller = new AbortController();
    const changes = session.changes({ interval: 5, signal: controller.signal });
    const next = changes.next();
    const other = Session.openSync(path);
    const foreign = other.appendMessageSync(user("two"));
    assert.deepEqual((await next).value, { entries: [foreign], isOwn: false });
    controller.abort();
    assert.equal((await changes.next()).done, true);
    session.close();
    other.close();
  });
});

test("navigation, labels and names survive a restart", async () => {
  await withDirectory(async (dir) => {
    const session = await Session.create("/project", { dir });
    const question = await session.appendMessage(user("one"));
    await session.appendMessage(assistant("two"));
    session.label(question, "start");
    session.setName("a name");
    await session.branch(question);
    const again = await Session.open(session.path);
    assert.deepEqual([again.leaf, again.sessionName, again.title()], [question, "a name", "a name"]);
    assert.equal(again.labels()[0].label, "start");
    const { sessions, skipped } = await listSessions({ dir }, { cwd: "/project" });
    assert.deepEqual([sessions.length, sessions[0].id, skipped.length], [1, session.id, 0]);
    assert.equal((await search("two", { directories: [dir] })).hits, 1);
    const report = await usageReport({ directories: [dir], groupBy: "model", zone: "UTC" });
    assert.equal(report.total.usage.input, 10);
  });
});

test("context edits, cherry-picks, merges, forks and diffs", async () => {
  await withDirectory(async (dir) => {
    const { session, question, red, blue } = conversation();
    const diff = await session.diff(red, blue);
    assert.deepEqual([diff.commonAncestor, diff.a.entries, diff.b.entries], [question, [red], [blue]]);
    assert.deepEqual(session.planEdit({ action: "drop", ids: [question] }).targets, [question]);
    session.edit({ action: "replace", ids: [question], text: "Which shade?" });
    assert.equal(session.contextSync().messages[0].content, "Which shade?");
    session.edit({ action: "restore", ids: [question] });
    assert.equal(session.planPick({ id: red }).entries.length, 1);
    const [copy] = await session.cherryPick({ id: red });
    assert.deepEqual(session.entry(copy).message.content, assistant("Red.").content);
    const fork = await session.fork({ at: question, dir });
    assert.equal(fork.contextSync().messages.length, 1);
    const other = Session.inMemory("/project");
    other.appendMessageSync(user("elsewhere"));
    assert.equal((await other.cherryPick({ id: red }, { from: session })).length, 1);
    const target = session.branchSync(question);
    const merged = await session.merge(blue, { summary: "It was blue." });
    assert.ok(target === question && session.has(merged.record));
    assert.equal(await session.planMerge(blue), null);
  });
});

test("compactions are planned and written", async () => {
  const session = Session.inMemory("/project");
  for (let turn = 0; turn < 20; turn++) {
    session.appendMessageSync(user(`question ${turn} ${"x".repeat(400)}`));
    session.appendMessageSync(assistant(`answer ${turn} ${"y".repeat(400)}`, { usage: undefined }));
  }
  const settings = { keepRecentTokens: 500 };
  const plan = await session.planCompaction({ settings });
  assert.equal(plan.status, "ready");
  assert.ok(plan.messagesToSummarize.length > 10 && plan.historyRequest.includes("question 0"));
  const id = await session.compact({ settings, historySummary: "Twenty questions.", prefixSummary: "Half a turn." });
  assert.equal(session.entry(id).firstKeptEntryId, plan.firstKept);
  const { messages } = session.contextSync();
  assert.equal(messages[0].role, "compactionSummary");
  assert.ok(messages.length < 10);
  assert.deepEqual(await session.planCompaction({ settings }), { status: "already-compacted" });
});

test("requests of providers, exports, searches, redactions", async () => {
  const { session } = conversation();
  const tools = [{ name: "look", description: "Looks.", inputSchema: { type: "object" } }];
  const { request } = session.providerRequestSync("anthropic", { tools });
  assert.equal(request.messages.length, 2);
  assert.equal(request.tools[0].name, "look");
  assert.equal((await session.providerRequest("openai-chat")).request.messages.length, 2);
  const page = await session.export("html");
  assert.ok(Buffer.isBuffer(page) && page.includes("Which color?"));
  assert.equal((await session.search("blue")).total, 1);
  assert.equal(await session.search("green"), null);
  session.appendMessageSync(user("my key is ghp_k3J9xQz7LmN2vB8wR4tY6uP1sD5fG0hAcEiO"));
  assert.equal((await session.redactionReport()).occurrences, 1);
  const clean = await session.redacted();
  assert.ok(!JSON.stringify(clean.contextSync()).includes("ghp_k3J9"));
});

test("damaged files are examined, repaired and converted", async () => {
  await withDirectory(async (dir) => {
    const session = Session.createSync("/project", { dir }, { creation: "at-once" });
    session.appendMessageSync(user("one"));
    const { path } = session;
    writeFileSync(path, `${readFileSync(path, "utf8")}{"type":"message","id":"torn`);
    assert.deepEqual([...Session.openSync(path)].length, 1);
    const diagnosis = await examine(path);
    assert.ok(!diagnosis.isHealthy && diagnosis.findings.length > 0);
    const to = join(dir, "repaired.jsonl");
    await repair(path, { to });
    assert.ok((await examine(to)).isHealthy);
    const report = await convert(to, join(dir, "omp.jsonl"), "omp");
    assert.deepEqual([report.source, report.target], ["pi", "omp"]);
    assert.equal(Session.openSync(join(dir, "omp.jsonl")).dialect, "omp");
  });
});

test("a directory is a store", async () => {
  await withDirectory(async (dir) => {
    const store = await openStore(dir);
    const session = await store.create("/project", { creation: "at-once" });
    session.appendMessageSync(user("one"));
    const page = await store.list();
    assert.deepEqual([page.sessions.length, page.next], [1, null]);
    assert.equal((await store.open(session.id)).entryCount, 1);
    assert.equal((await store.fork(session)).entryCount, 1);
    const listed = [];
    for await (const info of store.sessions({ limit: 1 })) listed.push(info.id);
    assert.equal(listed.length, 2);
    assert.equal((await store.search("one")).hits, 2);
    await store.remove(session.id);
    assert.equal((await store.list()).sessions.length, 1);
    await assert.rejects(openStore("ftp://example.com"), { code: "invalid_address" });
  });
});

test("programs in CommonJS get the same classes", () => {
  const common = createRequire(import.meta.url)("treering");
  assert.equal(common.Session, Session);
  assert.equal(common.TreeringError, TreeringError);
});
