// Carries out a script through treering's commands.
import { look as lookAt } from "./look.mjs";
import { Random } from "./random.mjs";
import { argument, spell } from "./text.mjs";
import { anyEntry, editTarget, firstKept } from "./target.mjs";

/**
 * Runs `ops` on `file`; entries that follow one another go in through one `append --stdin`. What is done is added to `done`.
 * Returns the entries that were given to `append`, by the ids they got.
 */
export async function drive(treering, file, ops, rng, done) {
  const given = new Map();
  const look = (name) => lookAt(name, treering.dialect);
  let batch = [];
  let session = look(file);
  let now = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
  const flush = async () => {
    if (batch.length === 0) return;
    done.push({ verb: "append", lines: batch });
    const ids = await treering.append(file, batch);
    if (ids.length !== batch.length) throw new Error(`append printed ${ids.length} ids for ${batch.length} entries`);
    batch.forEach((line, i) => given.set(ids[i], JSON.parse(line)));
    batch = [];
    session = look(file);
  };
  // treering fills in what is missing; some entries bring their own place or time.
  const placed = () => ({
    ...(rng.chance(0.4) && { timestamp: new Date(now).toISOString() }),
    ...(rng.chance(0.04) && session.entries.length > 0 && { parentId: anyEntry(rng.next(), session.entries) }),
  });
  for (const op of ops) {
    now += op.op === "tick" ? op.ms : 1;
    if (batch.length >= 12 || (NEEDS_IDS.has(op.op) && rng.chance(0.8))) await flush();
    const command = commandFor(op, session, rng);
    if (command === undefined) continue;
    if (command.entry) {
      const entry = { ...command.entry, ...placed() };
      // Spelled with numbers of its own: how many it takes depends on the letters in ids, which are not the script's.
      batch.push(rng.chance(0.5) ? spell(new Random(rng.int(0, 1e9)), entry) : JSON.stringify(entry));
      continue;
    }
    await flush();
    done.push(command);
    await treering[command.verb](file, ...command.args);
    session = look(file);
    if (command.then) batch.push(JSON.stringify(command.then));
  }
  await flush();
  return given;
}

const NEEDS_IDS = new Set(["label", "compaction", "branchSummary", "branch", "edit"]);

/** An entry for `append --stdin`, or a command of its own; undefined when the operation has no target yet. */
function commandFor(op, { entries, path, leaf }, rng) {
  const { op: kind, pick, ...fields } = op;
  const entry = (type, rest) => ({ entry: { type, ...rest } });
  switch (kind) {
    case "tick": return undefined;
    case "message": return entry("message", fields);
    case "thinking": return entry("thinking_level_change", { thinkingLevel: op.level });
    case "model": return entry("model_change", fields);
    case "custom": return entry("custom", fields);
    case "customMessage": return entry("custom_message", fields);
    case "name": return rng.chance(0.3) ? { verb: "rename", args: [op.name && argument(rng)] } : entry("session_info", fields);
    case "usage": return entry("usage", fields);
    case "unknown": return { entry: op.entry };
    case "argument": return { verb: "say", args: [op.role, argument(new Random(op.seed)), ...(op.seed % 4 === 0 ? [anyEntry(op.seed / 1e9, entries) ?? null] : [])] };
    case "reset": return { verb: "goto", args: [null] };
    case "compaction": {
      const { keep, ...rest } = fields;
      const id = rng.hex(8);
      return entry("compaction", { id, ...rest, firstKeptEntryId: firstKept(op, entries, path) ?? id });
    }
    case "edit": {
      const targetId = editTarget(op, entries, path);
      return targetId && entry("context_edit", { targetId, replacement: op.replacement });
    }
    case "branchSummary": {
      const target = op.pick === null ? null : (anyEntry(pick, entries) ?? null);
      return { verb: "goto", args: [target], then: { type: "branch_summary", fromId: leaf ?? "root", ...fields } };
    }
  }
  const target = anyEntry(pick, entries);
  if (target === undefined) return undefined;
  if (kind === "branch") return { verb: "goto", args: [target] };
  if (kind === "label") return labelCommand(target, op.label, rng);
  throw new Error(`treering has no operation ${kind}`);
}

/** Half of the labels go through the command, where they must be possible as an argument. */
function labelCommand(target, label, rng) {
  if (rng.chance(0.5)) return { entry: { type: "label", targetId: target, ...(label !== undefined && { label }) } };
  return { verb: "label", args: label ? [target, argument(rng)] : [target] };
}
