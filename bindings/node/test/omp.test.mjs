import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { afterEach, test } from "node:test";
import { Session } from "treering";
import { SessionManager } from "treering/omp";
import { assistant, user, withDirectory } from "./helpers.mjs";

test("oh-my-pi's entries, contexts and branches", async () => {
  await withDirectory(async (dir) => {
    const manager = SessionManager.create("/project", dir);
    const seen = [];
    manager.onEntryAppended = (entry) => seen.push(entry.type);
    manager.appendModelChange("acme/large", "default");
    manager.appendThinkingLevelChange("high", "high");
    const question = manager.appendMessage(user("one"));
    manager.appendMessage(assistant("two"));
    manager.appendModeChange("plan", { file: "x" });
    const context = manager.buildSessionContext();
    assert.deepEqual(context.messages, [user("one"), assistant("two")]);
    assert.deepEqual([context.models, context.mode, context.thinkingLevel], [{ default: "acme/large" }, "plan", "high"]);
    assert.equal(seen.length, 5);
    manager.branch(question);
    const other = manager.appendMessage(assistant("three"));
    assert.deepEqual(manager.getChildren(question).map((entry) => entry.message.content[0].text), ["two", "three"]);
    assert.equal(await manager.setSessionName("a name"), true);
    const again = await SessionManager.open(manager.getSessionFile());
    const leaf = manager.getLeafId();
    assert.deepEqual([again.getLeafId(), again.getSessionName(), again.getCwd()], [leaf, "a name", "/project"]);
    assert.deepEqual(again.getEntries(), manager.getEntries());
    assert.equal(manager.getBranch().findLast((entry) => entry.type === "message").id, other);
    assert.equal(Session.openSync(manager.getSessionFile()).dialect, "omp");
    assert.equal(manager.getUsageStatistics().input, 20);
    const late = manager.appendMessageToBranch(user("late"), question);
    assert.deepEqual([manager.getLeafId(), manager.getEntry(late).parentId], [leaf, question]);
    const fork = again.createBranchedSession(question);
    assert.notEqual(fork, manager.getSessionFile());
    assert.deepEqual(again.buildSessionContext().messages, [user("one")]);
    const copy = await manager.fork();
    assert.equal(copy.newSessionFile, manager.getSessionFile());
    assert.equal((await SessionManager.list("/project", dir)).find((info) => info.path === copy.oldSessionFile).title, "a name");
    assert.equal((await SessionManager.continueRecent("/project", dir)).getCwd(), "/project");
    assert.throws(() => manager.branch("absent"), /Entry absent not found/);
    manager.appendResetBoundary();
    assert.deepEqual(manager.buildSessionContext().messages, []);
    await manager.close();
  });
});

const { HOME } = process.env;
afterEach(() => {
  process.env.HOME = HOME;
});

test("a session moves to another project, with its files, and goes on there", async () => {
  await withDirectory(async (dir) => {
    process.env.HOME = dir;
    const manager = SessionManager.create(join(dir, "one"));
    const question = manager.appendMessage(user("one"));
    manager.appendMessage(assistant("two"));
    const artifact = await manager.saveArtifact("long output", "mcp/../tool");
    manager.branch(question);
    const before = manager.getEntries();
    const old = manager.getSessionFile();
    await manager.moveTo(join(dir, "two"));
    const file = manager.getSessionFile();
    assert.equal(dirname(file), SessionManager.getDefaultSessionDir(join(dir, "two")));
    assert.deepEqual([basename(file), existsSync(old), manager.getCwd(), manager.getRecordedCwd()], [basename(old), false, join(dir, "two"), join(dir, "two")]);
    assert.deepEqual([manager.getEntries(), manager.getLeafId()], [before, question]);
    assert.equal(readFileSync(await manager.getArtifactPath(artifact), "utf8"), "long output");
    assert.equal(dirname(await manager.getArtifactPath(artifact)), file.slice(0, -6));
    manager.appendMessage(assistant("three"));
    assert.equal((await SessionManager.open(file)).buildSessionContext().messages.length, 2);
    await manager.moveTo(join(dir, "two"), join(dir, "elsewhere"));
    assert.deepEqual([dirname(manager.getSessionFile()), manager.getCwd()], [join(dir, "elsewhere"), join(dir, "two")]);
    await manager.moveTo(join(dir, "two"), join(dir, "elsewhere"));
    // One that has no file yet, and one in memory.
    const pending = SessionManager.create(join(dir, "one"));
    pending.appendModelChange("acme/large");
    await pending.moveTo(join(dir, "three"));
    assert.equal(pending.isSessionOnDisk(), false);
    pending.appendMessage(user("now"));
    assert.deepEqual((await SessionManager.open(pending.getSessionFile())).getEntries().map((entry) => entry.type), ["model_change", "message"]);
    const memory = SessionManager.inMemory(join(dir, "one"));
    memory.appendMessage(user("one"));
    await memory.moveTo(join(dir, "two"));
    assert.deepEqual([memory.getCwd(), memory.getEntries().length, memory.getArtifactsDir()], [join(dir, "two"), 1, null]);
    assert.equal(await memory.saveArtifact("x", "read"), "0");
    const listed = (await SessionManager.listAll()).map((info) => info.path);
    assert.deepEqual(listed, [pending.getSessionFile()], "those in the projects' directories");
    await pending.dropSession(pending.getSessionFile());
    assert.deepEqual(await SessionManager.listAll(), []);
  });
});

test("artifacts, blobs, drafts and budgets", async () => {
  await withDirectory(async (dir) => {
    process.env.HOME = dir;
    const manager = SessionManager.create("/project");
    assert.equal(await manager.getArtifactPath("0"), null);
    const ids = await Promise.all(["a", "b", "c"].map((text) => manager.saveArtifact(text, "bash")));
    assert.deepEqual(ids.toSorted(), ["0", "1", "2"]);
    assert.match((await manager.allocateArtifactPath("read")).path, /3\.read\.log$/);
    const data = Buffer.from("picture");
    const blob = await manager.putBlob(data, { extension: ".PNG" });
    assert.deepEqual(manager.putBlobSync(data), { ...blob, displayPath: blob.path });
    assert.deepEqual([readFileSync(blob.path), readFileSync(blob.displayPath)], [data, data]);
    assert.equal(blob.ref, `blob:sha256:${blob.hash}`);
    // treering finds the blob for the entry that names it.
    manager.appendMessage({ role: "user", content: [{ type: "image", data: blob.ref, mimeType: "image/png" }], timestamp: 1 });
    const context = await (await Session.open(manager.getSessionFile())).context();
    assert.equal(context.messages[0].content[0].data, data.toString("base64"));

    const other = SessionManager.create("/project");
    assert.equal(await other.consumeDraft(), null);
    await other.saveDraft("half a thou");
    assert.ok(other.isSessionOnDisk(), "so that the draft is found again");
    const again = await SessionManager.open(other.getSessionFile());
    assert.deepEqual([await again.consumeDraft(), await again.consumeDraft()], ["half a thou", null]);
    await again.saveDraft("x");
    await again.saveDraft("");
    assert.equal(await again.consumeDraft(), null);

    manager.beginTurnBudget(100, true);
    manager.appendMessage(assistant("five tokens"));
    manager.recordEvalSubagentOutput(7);
    manager.recordEvalSubagentOutput(Number.NaN);
    assert.deepEqual(manager.getTurnBudget(), { total: 100, spent: 12, hard: true });
    manager.appendCredentialPin("acme", "hash");
    manager.appendMessage(assistant("later", { timestamp: 4e12 }));
    assert.deepEqual([...manager.getCredentialPins()], [["acme", { hash: "hash", lastUsedAt: 4e12 }]]);
  });
});

test("names of the agent do not replace names of the user", async () => {
  await withDirectory(async (dir) => {
    const manager = SessionManager.create("/project", dir);
    manager.appendMessage(user("one"));
    let calls = 0;
    manager.onSessionNameChanged(() => calls++);
    assert.equal(manager.titleSource, undefined);
    assert.equal(await manager.setSessionName("a generated name"), true);
    assert.equal(manager.titleSource, "auto");
    assert.equal(await manager.setSessionName(" chosen\n  name ", "user", "rename"), true);
    assert.equal(await manager.setSessionName("another generated name"), false);
    assert.equal(await manager.setSessionName(" \n", "user"), false);
    const again = await SessionManager.open(manager.getSessionFile());
    assert.deepEqual([again.getSessionName(), again.titleSource, calls, manager.titleRevision], ["chosen name", "user", 2, 1]);
    const [, , change] = again.getEntries();
    assert.deepEqual([change.type, change.source, change.previousTitle, change.trigger], ["title_change", "user", "a generated name", "rename"]);
    assert.equal(await again.setSessionName("generated"), false);
    assert.equal(Session.openSync(manager.getSessionFile()).sessionName, "chosen name");
    const memory = SessionManager.inMemory();
    await memory.setSessionName("in memory");
    assert.deepEqual([memory.getSessionName(), memory.titleSource], ["in memory", "auto"]);
  });
});

test("new sessions, peeks, pickers, usage of other requests, and copies for other processes", async () => {
  await withDirectory(async (dir) => {
    process.env.HOME = dir;
    const cwd = join(dir, "project");
    const manager = SessionManager.create(cwd);
    const question = manager.appendMessage(user("one"));
    manager.appendSessionInit({ systemPrompt: "Prompt.", task: "a task", tools: ["read"], advisor: "on" });
    const usage = { input: 5, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 6 };
    const owner = { sessionId: manager.getSessionId(), parentId: question };
    const leaf = manager.getLeafId();
    const used = manager.appendModelUsage({ purpose: "title", provider: "acme", model: "small", usage }, owner);
    assert.deepEqual([manager.getEntry(used).parentId, manager.getLeafId()], [question, leaf]);
    assert.equal(manager.appendModelUsage({ purpose: "title", provider: "acme", model: "small", usage }, { ...owner, sessionId: "another" }), undefined);
    const first = manager.getSessionFile();
    const { cwd: of, init } = await SessionManager.peekSessionInit(first);
    assert.deepEqual([of, init], [cwd, { systemPrompt: "Prompt.", task: "a task", tools: ["read"], advisor: "on" }]);
    assert.equal(await SessionManager.peekSessionInit(join(dir, "absent.jsonl")), null);

    const { header, entries } = manager.snapshotForReplication();
    const guest = SessionManager.inMemory(header.cwd);
    for (const entry of entries) guest.ingestReplicatedEntry(entry);
    assert.deepEqual(guest.getEntries(), manager.getEntries());
    assert.notEqual(entries[0], manager.getEntries()[0]);

    const next = await manager.newSession({ parentSession: first, sessionDir: join(dir, "others") });
    assert.deepEqual([dirname(next), existsSync(next), manager.getHeader().parentSession, manager.getEntries()], [join(dir, "others"), true, first, []]);
    const empty = SessionManager.createEmptySessionFile(cwd);
    assert.equal((await SessionManager.open(empty)).getCwd(), cwd);
    assert.equal((await SessionManager.list(cwd)).length, 2);
    assert.deepEqual((await SessionManager.listForPicker(cwd)).map(({ path }) => path), [first]);
    assert.deepEqual((await SessionManager.listAllForPicker()).map(({ path }) => path), [first]);
  });
});
