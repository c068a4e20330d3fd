// A session of which only the end was read answers as one that was read whole.
import assert from "node:assert/strict";
import { appendFileSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, test } from "node:test";
import fc from "fast-check";
import { Session } from "treering";
import * as pi from "treering/pi";
import { assistant, check, user, withDirectory } from "./helpers.mjs";

const { SessionManager, setCompatibility } = pi;
afterEach(() => setCompatibility("treering"));

/** Writes a session that is so long that its end is read first: settings, a long talk, a compaction, a few entries more. */
function long(path, { thinking = "high", kept = 3, after = 4, hasCompaction = true } = {}) {
  const lines = [{ type: "session", version: 3, id: "long", timestamp: "2025-01-01T00:00:00.000Z", cwd: "/project" }];
  let parentId = null;
  const add = (entry) => {
    const id = `e${lines.length}`;
    lines.push({ id, parentId, timestamp: new Date(1.7e12 + lines.length * 1000).toISOString(), ...entry });
    parentId = id;
    return id;
  };
  if (thinking) add({ type: "thinking_level_change", thinkingLevel: thinking });
  const talk = [];
  for (let size = 0; size < 1_400_000; size += 20_000) talk.push(add({ type: "message", message: { ...assistant("lorem ".repeat(3300)), timestamp: 1 } }));
  if (hasCompaction) add({ type: "compaction", summary: "so far", firstKeptEntryId: talk.at(-kept) ?? null, tokensBefore: 1000 });
  for (let number = 0; number < after; number++) add({ type: "message", message: user(`after ${number} é🙂`) });
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  return path;
}

/** Opens a session and reads all of it. */
function whole(path) {
  const manager = SessionManager.open(path);
  manager.getEntries();
  return manager;
}

const plain = (value) => JSON.parse(JSON.stringify(value ?? null));
const QUESTIONS = {
  context: (manager) => manager.buildSessionContext(),
  level: (manager) => manager.buildSessionContext().thinkingLevel,
  projection: (manager) => manager.buildSessionProjection(),
  contextEntries: (manager) => manager.buildContextEntries(),
  leaf: (manager) => manager.getLeafId(),
  leafEntry: (manager) => manager.getLeafEntry(),
  header: (manager) => manager.getHeader(),
  id: (manager) => [manager.getSessionId(), manager.getSessionFile(), manager.getSessionName(), manager.getCwd()],
  count: (manager) => manager.getEntryCount(),
  entries: (manager) => manager.getEntries(),
  branch: (manager) => manager.getBranch(),
  tree: (manager) => manager.getTree().map((node) => [node.entry.id, node.children.length]),
  children: (manager) => manager.getChildren("e2"),
  entry: (manager) => [manager.getEntry("e2"), manager.getEntry("absent")],
};

function agree(path, order) {
  const lazy = SessionManager.open(path);
  const eager = whole(path);
  for (const name of order) assert.deepEqual(plain(QUESTIONS[name](lazy)), plain(QUESTIONS[name](eager)), name);
}

test("every question has the same answer, whichever comes first", async () => {
  await withDirectory((dir) => {
    const path = join(dir, "s.jsonl");
    for (const options of [{}, { thinking: null }, { hasCompaction: false }, { kept: 40 }, { after: 0 }]) {
      long(path, options);
      for (const name of Object.keys(QUESTIONS)) agree(path, [name]);
    }
    check(fc.property(fc.shuffledSubarray(Object.keys(QUESTIONS)), (order) => agree(path, order)), 8);
  });
});

test("the end of a file, whatever it looks like, says what the whole says", async () => {
  await withDirectory((dir) => {
    const path = join(dir, "s.jsonl");
    const id = fc.constantFrom("e2", "e60", "e70", "x1", "x2", "x3", "absent");
    const line = fc.oneof(
      fc.record({ type: fc.constant("message"), id, parentId: fc.option(id), message: fc.constant(user("m")) }).map((entry) => JSON.stringify(entry)),
      fc.record({ type: fc.constant("leaf"), id, parentId: fc.option(id), targetId: fc.option(id) }).map((entry) => JSON.stringify(entry)),
      fc.record({ type: fc.constant("compaction"), id, parentId: id, firstKeptEntryId: id, summary: fc.constant("s") }).map((entry) => JSON.stringify(entry)),
      fc.record({ type: fc.constant("context_edit"), id, parentId: id, targetId: id, replacement: fc.constantFrom(null, { content: "new" }) }).map((entry) => JSON.stringify(entry)),
      fc.record({ type: fc.constant("thinking_level_change"), id, parentId: id, thinkingLevel: fc.constant("low") }).map((entry) => JSON.stringify(entry)),
      fc.constantFrom('{"type":"message","id":"torn', "{}", "not JSON", "", '{"type":"session","id":"other"}'),
    );
    const start = readFileSync(long(path));
    check(
      fc.property(fc.constantFrom("treering", "pi-1"), fc.array(line, { maxLength: 6 }), fc.boolean(), (compatibility, lines, isTerminated) => {
        setCompatibility(compatibility);
        writeFileSync(path, start);
        appendFileSync(path, lines.join("\n") + (isTerminated ? "\n" : ""));
        agree(path, ["leaf", "contextEntries", "context", "branch", "entries"]);
      }),
      25,
    );
  });
});

test("an entry whose parents lead back to it through a hidden record is a root", async () => {
  await withDirectory((dir) => {
    const path = join(dir, "s.jsonl");
    const start = readFileSync(long(path));
    const message = (id, parentId) => ({ type: "message", id, parentId, message: user(id) });
    const leaf = (id, parentId) => ({ type: "leaf", id, parentId, targetId: "absent" });
    const cycles = [
      { lines: [message("x1", "hidden"), leaf("hidden", "x1")], parents: { x1: null } },
      { lines: [message("x1", "hidden"), leaf("hidden", "above"), leaf("above", "x1")], parents: { x1: null } },
      { lines: [message("x1", "hidden"), message("x2", "x1"), leaf("hidden", "x2")], parents: { x1: null, x2: "x1" } },
      // The cycle is cut at the hidden record, which stands first.
      { lines: [leaf("hidden", "x2"), message("x1", "hidden"), message("x2", "x1")], parents: { x1: null, x2: "x1" } },
      // No cycle: an entry of the talk became a hidden record, and what follows hangs on the one before it.
      { lines: [leaf("e60", "e59"), message("x1", "e60")], parents: { x1: "e59", e61: "e59" } },
      { lines: [leaf("hidden", null), message("x1", "hidden")], parents: { x1: null } },
    ];
    for (const { lines, parents } of cycles) {
      writeFileSync(path, start);
      appendFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
      const ids = Object.keys(parents);
      for (const first of ["contextEntries", "entries", "branch", "leafEntry"]) {
        agree(path, [first, "contextEntries", "branch", "entries", "count"]);
        const manager = SessionManager.open(path);
        QUESTIONS[first](manager);
        assert.deepEqual(Object.fromEntries(ids.map((id) => [id, manager.getEntry(id).parentId])), parents, `${first}: ${JSON.stringify(lines)}`);
        assert.deepEqual(manager.getEntries().filter(({ type }) => type === "leaf"), []);
        assert.equal(manager.getEntryCount(), manager.getEntries().length);
        const branch = manager.getBranch();
        assert.equal(new Set(branch).size, branch.length);
      }
    }
  });
});

test("what others write between opening and reading is not there until it is asked for", async () => {
  await withDirectory((dir) => {
    for (const first of ["context", "entries", "leaf"]) {
      const path = long(join(dir, `${first}.jsonl`));
      const lazy = SessionManager.open(path);
      const eager = whole(path);
      const other = SessionManager.open(path);
      other.appendMessage(user("from elsewhere"));
      other.appendThinkingLevelChange("low");
      for (const name of [first, ...Object.keys(QUESTIONS)]) {
        assert.deepEqual(plain(QUESTIONS[name](lazy)), plain(QUESTIONS[name](eager)), `${name} after ${first}`);
      }
      // An append reads what others wrote, and continues the own leaf.
      const ids = [lazy.appendMessage(user("own")), eager.appendMessage(user("own, too"))];
      assert.deepEqual(ids.map((id) => lazy.getEntry(id)?.parentId ?? eager.getEntry(id).parentId), [eager.getEntry(ids[1]).parentId, eager.getEntry(ids[1]).parentId]);
      assert.equal(whole(path).getEntryCount(), eager.getEntryCount());
    }
  });
});

test("a file that was replaced or rewritten meanwhile", async () => {
  await withDirectory((dir) => {
    const path = long(join(dir, "s.jsonl"));
    // Another file under the name: the one that was opened is read on.
    const lazy = SessionManager.open(path);
    const count = whole(path).getEntryCount();
    writeFileSync(join(dir, "new"), readFileSync(long(join(dir, "other.jsonl"), { after: 9 })));
    renameSync(join(dir, "new"), path);
    assert.equal(lazy.getEntryCount(), count);
    // The same session in the same file, shorter: it is read as it is.
    const rewritten = SessionManager.open(path);
    writeFileSync(path, readFileSync(path, "utf8").split("\n").slice(0, 4).join("\n") + "\n");
    assert.equal(rewritten.getEntryCount(), 3);
    // Another session in the same file.
    long(path);
    const replaced = SessionManager.open(path);
    writeFileSync(path, '{"type":"session","version":3,"id":"another","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/p"}\n');
    for (const ask of [() => replaced.getEntries(), () => replaced.getEntryCount(), () => replaced.getEntry("e2"), () => replaced.appendMessage(user("m")), () => replaced.getEntries()]) {
      assert.throws(ask, (error) => error.code === "replaced");
    }
  });
});

test("settings that were set long ago are plain members of the context", async () => {
  await withDirectory((dir) => {
    const path = long(join(dir, "s.jsonl"));
    const manager = SessionManager.open(path);
    const contexts = [0, 1, 2, 3].map(() => manager.buildSessionContext());
    assert.deepEqual(Object.keys(contexts[0]), ["messages", "thinkingLevel", "model"]);
    assert.equal({ ...contexts[0] }.thinkingLevel, "high");
    assert.equal(JSON.parse(JSON.stringify(contexts[1])).thinkingLevel, "high");
    assert.equal(structuredClone(contexts[2]).thinkingLevel, "high");
    contexts[3].thinkingLevel = "low";
    assert.equal(contexts[3].thinkingLevel, "low");
    // A context keeps its level when the session is continued.
    const again = SessionManager.open(path);
    const before = again.buildSessionContext();
    again.appendThinkingLevelChange("minimal");
    assert.equal(again.buildSessionContext().thinkingLevel, "minimal");
    assert.equal(before.thinkingLevel, "high");
  });
});

test("settings, names and labels keep half of a surrogate pair, as pi does", async () => {
  await withDirectory((dir) => {
    const half = "a\ud83d\ufffdb";
    for (const isLong of [false, true]) {
      const path = join(dir, `${isLong}.jsonl`);
      const header = { type: "session", version: 3, id: "short", timestamp: "2025-01-01T00:00:00.000Z", cwd: "/project" };
      if (isLong) long(path, { thinking: half });
      else writeFileSync(path, `${JSON.stringify(header)}\n`);
      const writer = SessionManager.open(path);
      if (!isLong) writer.appendThinkingLevelChange(half);
      writer.appendModelChange(half, `${half}2`);
      const id = writer.appendMessage(user("m"));
      writer.appendSessionInfo(half);
      writer.appendLabelChange(id, half);
      for (const manager of [writer, SessionManager.open(path), whole(path)]) {
        const { thinkingLevel, model } = manager.buildSessionContext();
        assert.deepEqual({ thinkingLevel, model }, { thinkingLevel: half, model: { provider: half, modelId: `${half}2` } });
        assert.deepEqual([manager.getSessionName(), manager.getLabel(id)], [half, half]);
      }
    }
  });
});

test("a session of the main module, by its end and whole", async () => {
  await withDirectory(async (dir) => {
    const path = long(join(dir, "s.jsonl"));
    const lazy = Session.openSync(path);
    const eager = await Session.open(path);
    assert.equal(lazy.leaf, eager.leaf);
    assert.deepEqual(lazy.header(), eager.header());
    assert.deepEqual(lazy.contextSync(), await eager.context());
    assert.deepEqual(JSON.parse(lazy.contextBytesSync()), eager.contextSync());
    assert.deepEqual(JSON.parse(await eager.contextBytes({ last: 1 })), eager.contextSync({ last: 1 }));
    assert.deepEqual(lazy.facts(), eager.facts());
    assert.equal(statSync(path).size, lazy.facts().logLength);
    lazy.close();
    assert.throws(() => lazy.leaf, (error) => error.code === "closed");
  });
});
