// Random calls through the binding, against a model that is a few lines long.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Session } from "treering";
import * as pi from "treering/pi";
import { assistant, check, user, withDirectory } from "./helpers.mjs";

// Texts that are awkward in JSON and UTF-8.
const text = fc.oneof(fc.string({ unit: "grapheme" }), fc.constantFrom("", "\n", "\u0000", "\"\\", "é🙂", "\ud83d", "\udc00\ud83d", "\ufffd", "</script>", "\u2028"));

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constantFrom("user", "assistant", "custom"), text }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom("branch", "label", "edit", "compaction", "summary"), target: fc.nat(), text }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("reset", "name", "model", "thinking", "reopen"), text }) },
);

/** What a session manager is, in the fewest words: entries, and a leaf. */
class Model {
  entries = [];
  leaf = null;
  add(entry) {
    this.entries.push(structuredClone(entry));
    this.leaf = entry.id;
  }
  path() {
    const byId = new Map(this.entries.map((entry) => [entry.id, entry]));
    const path = [];
    for (let id = this.leaf; id !== null; id = byId.get(id).parentId) path.unshift(byId.get(id));
    return path;
  }
}

/** A lone surrogate is no text of UTF-8, in which files are. */
const written = (value) => JSON.parse(JSON.stringify(value));

function apply(manager, model, { kind, text, target = 0 }) {
  const chosen = model.entries.length > 0 ? model.entries[target % model.entries.length].id : undefined;
  let id;
  switch (kind) {
    case "user": id = manager.appendMessage(user(text)); break;
    case "assistant": id = manager.appendMessage(assistant(text)); break;
    case "custom": id = manager.appendCustomMessageEntry("test", text, true, { text }); break;
    case "name": id = manager.appendSessionInfo(text); break;
    case "model": id = manager.appendModelChange("acme", text); break;
    case "thinking": id = manager.appendThinkingLevelChange(text || "high"); break;
    case "reset":
      manager.resetLeaf();
      model.leaf = null;
      return;
    default:
      if (chosen === undefined) return;
      if (kind === "branch") {
        manager.branch(chosen);
        model.leaf = chosen;
        return;
      }
      if (kind === "label") id = manager.appendLabelChange(chosen, text || undefined);
      else if (kind === "summary") id = manager.branchWithSummary(chosen, text || "left");
      else if (kind === "compaction") {
        const path = model.path();
        if (path.length === 0) return;
        id = manager.appendCompaction(text, path[target % path.length].id, 10);
      } else {
        const editable = model.path().filter((entry) => entry.type === "message" || entry.type === "custom_message");
        if (editable.length === 0) return;
        id = manager.appendContextEdit(editable[target % editable.length].id, target % 2 ? { content: text } : null);
      }
  }
  model.add(manager.getEntry(id));
}

function agree(manager, model) {
  const entries = written(model.entries);
  assert.deepEqual(written(manager.getEntries()), entries);
  assert.equal(manager.getLeafId(), model.leaf);
  assert.deepEqual(written(manager.getBranch()), written(model.path()));
  assert.equal(manager.getEntryCount(), entries.length);
  // The context that the library selects is the one that the functions on arrays build.
  assert.deepEqual(written(manager.buildSessionContext()), written(pi.buildSessionContext(model.entries, model.leaf)));
  assert.equal(manager.getSessionName(), model.entries.findLast(({ type }) => type === "session_info")?.name.trim() || undefined);
  const labels = new Map();
  for (const { type, targetId, label } of model.entries) if (type === "label") labels.set(targetId, label);
  for (const { id } of entries) assert.equal(manager.getLabel(id), labels.get(id));
  const flat = [];
  const stack = [...manager.getTree()];
  while (stack.length > 0) {
    const node = stack.pop();
    flat.push(node.entry.id);
    for (const child of node.children) assert.equal(child.entry.parentId, node.entry.id);
    stack.push(...node.children);
  }
  assert.deepEqual(flat.sort(), entries.map((entry) => entry.id).sort());
}

test("pi's session manager is its model, also after it was opened again", async () => {
  await withDirectory((dir) => {
    check(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        let manager = pi.SessionManager.create("/project", dir);
        const model = new Model();
        const file = manager.getSessionFile();
        let isWritten = false;
        for (const step of steps) {
          if (step.kind === "reopen" && isWritten) {
            manager = pi.SessionManager.open(file);
          } else {
            apply(manager, model, step);
            isWritten ||= step.kind === "user" || step.kind === "assistant";
          }
        }
        agree(manager, model);
        if (isWritten) agree(pi.SessionManager.open(file), model);
      }),
      60,
    );
  });
});

test("what is appended is read back the same, whatever its members are", () => {
  check(
    fc.property(fc.array(fc.dictionary(fc.string({ maxLength: 12 }), fc.jsonValue()), { maxLength: 10 }), (members) => {
      const session = Session.inMemory("/project");
      const given = members.map(({ type, id, parentId, timestamp, treering, ...rest }) => ({ type: "custom", customType: "test", ...rest, data: rest }));
      const ids = session.appendAllSync(given);
      const found = [...session].map(({ id, parentId, timestamp, ...rest }) => rest);
      assert.deepEqual(found, written(given));
      assert.equal(new Set(ids).size, given.length);
    }),
    60,
  );
});

test("no file makes opening it crash, and what can be read stays readable", async () => {
  await withDirectory(async (dir) => {
    const { writeFileSync } = await import("node:fs");
    const path = `${dir}/s.jsonl`;
    const line = fc.oneof(
      fc.constant('{"type":"session","version":3,"id":"s","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/p"}'),
      fc.record({ type: fc.constantFrom("message", "label", "compaction", "leaf", "x"), id: fc.constantFrom("a", "b", "c"), parentId: fc.constantFrom("a", "b", null) }).map((entry) => JSON.stringify({ ...entry, message: user("m") })),
      fc.string(),
      fc.constantFrom('{"type":"message","id":"torn', "{}", "[]", "null", "\u0000\u0000"),
    );
    check(
      fc.property(fc.array(line, { maxLength: 12 }), (lines) => {
        writeFileSync(path, lines.join("\n"));
        let session;
        try {
          session = Session.openSync(path);
        } catch (error) {
          assert.equal(error.name, "TreeringError");
          return;
        }
        const entries = [...session];
        assert.equal(entries.length, session.entryCount);
        session.contextSync();
        session.tree({ bookkeeping: true });
        session.close();
      }),
      180,
    );
  });
});
