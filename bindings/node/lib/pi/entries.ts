/** Functions on arrays of entries, with the API of pi's module. */
import { randomBytes, randomUUID } from "node:crypto";
import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { StringDecoder } from "node:string_decoder";
import { projectContextEntry } from "./messages.js";
import type {
  CompactionEntry, ContextEditEntry, FileEntry, SessionContext, SessionEntry, SessionHeader, SessionProjection,
} from "./types.js";

/** The version of the format. */
export const CURRENT_SESSION_VERSION = 3;

/** Random digits for the next ids. Requesting a few thousand takes little longer than requesting eight. */
let digits = "";
let used = 0;

/** Returns a short id, which may be taken. */
export function shortId(): string {
  if (used === digits.length) {
    digits = randomBytes(2048).toString("hex");
    used = 0;
  }
  return digits.slice(used, (used += 8));
}

let lastMillis = -1;
let lastTimestamp = "";

/** Returns the time. Many entries may be appended in a millisecond, and have the same. */
export function timestampNow(): string {
  const millis = Date.now();
  if (millis !== lastMillis) {
    lastMillis = millis;
    lastTimestamp = new Date(millis).toISOString();
  }
  return lastTimestamp;
}

/** Returns a short id that is not taken. */
export function newId(isTaken: (id: string) => boolean): string {
  for (let attempt = 0; attempt < 100; attempt++) {
    const id = shortId();
    if (!isTaken(id)) return id;
  }
  return randomUUID();
}

function parseLine(line: string): FileEntry | undefined {
  if (line.trim() === "") return undefined;
  try {
    return JSON.parse(line) as FileEntry;
  } catch {
    return undefined;
  }
}

/** Returns the records of a session file's text. Lines that are not JSON are left out. */
export function parseSessionEntries(content: string): FileEntry[] {
  return content.split("\n").map(parseLine).filter((entry) => entry !== undefined);
}

function* linesOf(path: string, chunkSize: number): Generator<string, void, undefined> {
  const file = openSync(path, "r");
  try {
    const decoder = new StringDecoder("utf8");
    const chunk = Buffer.allocUnsafe(chunkSize);
    let rest = "";
    for (let size = readSync(file, chunk); size > 0; size = readSync(file, chunk)) {
      const lines = (rest + decoder.write(chunk.subarray(0, size))).split("\n");
      rest = lines.pop()!;
      yield* lines;
    }
    yield rest + decoder.end();
  } finally {
    closeSync(file);
  }
}

const isHeader = (entry: FileEntry | undefined): entry is SessionHeader =>
  entry?.type === "session" && typeof entry.id === "string";

/** Returns the records of a session file; none if it does not exist or does not begin with a header. */
export function loadEntriesFromFile(path: string): FileEntry[] {
  if (!existsSync(path)) return [];
  const entries: FileEntry[] = [];
  for (const line of linesOf(path, 1 << 20)) {
    const entry = parseLine(line);
    if (!entry) continue;
    if (entries.length === 0 && !isHeader(entry)) return [];
    entries.push(entry);
  }
  return entries;
}

/** Returns the header of a session file; null if its first record is none. */
export function readHeader(path: string): SessionHeader | null {
  try {
    for (const line of linesOf(path, 4096)) {
      const entry = parseLine(line);
      if (entry) return isHeader(entry) ? entry : null;
    }
  } catch {
    // A file that cannot be read is not found.
  }
  return null;
}

/** Brings entries of older versions to the current one, in place. */
export function migrateSessionEntries(entries: FileEntry[]): void {
  const header = entries.find((entry) => entry.type === "session");
  const version = header?.version ?? 1;
  if (version < 2) addTree(entries);
  if (version < 3) renameHookMessages(entries);
  if (header && version < CURRENT_SESSION_VERSION) header.version = CURRENT_SESSION_VERSION;
}

/** Version 1 had no ids: each entry follows the one before it. */
function addTree(entries: FileEntry[]): void {
  const ids = new Set<string>();
  let last: string | null = null;
  for (const entry of entries) {
    if (entry.type === "session") continue;
    entry.id = newId((id) => ids.has(id));
    entry.parentId = last;
    ids.add(entry.id);
    last = entry.id;
  }
  for (const entry of entries as (FileEntry & { firstKeptEntryIndex?: unknown })[]) {
    if (entry.type !== "compaction" || typeof entry.firstKeptEntryIndex !== "number") continue;
    const kept = entries[entry.firstKeptEntryIndex];
    if (kept && kept.type !== "session") entry.firstKeptEntryId = kept.id;
    delete entry.firstKeptEntryIndex;
  }
}

function renameHookMessages(entries: FileEntry[]): void {
  for (const entry of entries) {
    if (entry.type === "message" && entry.message?.role === "hookMessage") entry.message.role = "custom";
  }
}

/** Returns a path without its labels: children of a label become children of the entry before it. */
export function withoutLabels(path: SessionEntry[]): SessionEntry[] {
  const kept: SessionEntry[] = [];
  /** The entry after each label, which replaces it as the first kept entry of a compaction. */
  const after = new Map<string, string>();
  let labels: string[] = [];
  for (const entry of path) {
    if (entry.type === "label") {
      labels.push(entry.id);
      continue;
    }
    for (const label of labels) after.set(label, entry.id);
    labels = [];
    const copy = { ...entry, parentId: kept.at(-1)?.id ?? null };
    if (copy.type === "compaction" && copy.firstKeptEntryId !== copy.id) {
      copy.firstKeptEntryId = after.get(copy.firstKeptEntryId) ?? copy.firstKeptEntryId;
    }
    kept.push(copy);
  }
  return kept;
}

/** Returns the last compaction in an array. */
export function getLatestCompactionEntry(entries: SessionEntry[]): CompactionEntry | null {
  return (entries.findLast((entry) => entry.type === "compaction") as CompactionEntry | undefined) ?? null;
}

function pathTo(entries: SessionEntry[], leafId: string | null | undefined, byId: Map<string, SessionEntry> | undefined): SessionEntry[] {
  if (leafId === null) return [];
  const index = byId ?? new Map(entries.map((entry) => [entry.id, entry]));
  const path: SessionEntry[] = [];
  const seen = new Set<SessionEntry>();
  let entry = (leafId ? index.get(leafId) : undefined) ?? entries.at(-1);
  // A cycle of parents ends where it closes.
  while (entry && !seen.has(entry)) {
    seen.add(entry);
    path.push(entry);
    entry = entry.parentId ? index.get(entry.parentId) : undefined;
  }
  return path.reverse();
}

/**
 * Returns the entries of a path that count: all of it, or the last compaction, the entries before it that it keeps
 * (without prompts, which it repeats), and those after it.
 */
function selectEntries(path: SessionEntry[]): SessionEntry[] {
  const at = path.findLastIndex((entry) => entry.type === "compaction");
  if (at < 0) return path;
  const compaction = path[at] as CompactionEntry;
  const kept = path.findIndex((entry, index) => index < at && entry.id === compaction.firstKeptEntryId);
  const isPrompt = (entry: SessionEntry) => entry.type === "message" && entry.message.role === "system";
  const before = kept < 0 ? [] : path.slice(kept, at).filter((entry) => !isPrompt(entry));
  return [compaction, ...before, ...path.slice(at + 1)];
}

/** Returns the entries that a context is made of. */
export function buildContextEntries(entries: SessionEntry[], leafId?: string | null, byId?: Map<string, SessionEntry>): SessionEntry[] {
  return selectEntries(pathTo(entries, leafId, byId));
}

/** The settings at the end of a path. */
export interface Settings {
  thinkingLevel: string;
  model: SessionContext["model"];
}

/** Applies an entry to the settings. */
export function applySettings(settings: { thinkingLevel: string | undefined; model: Settings["model"] }, entry: SessionEntry): void {
  if (entry.type === "thinking_level_change") settings.thinkingLevel = entry.thinkingLevel;
  else if (entry.type === "model_change") settings.model = { provider: entry.provider, modelId: entry.modelId };
  else if (entry.type === "message" && entry.message.role === "assistant") {
    settings.model = { provider: entry.message.provider, modelId: entry.message.model };
  }
}

/** Returns the messages of selected entries, context edits applied. */
export function projectEntries(selected: SessionEntry[], settings: Settings): SessionProjection {
  const edits = new Map<string, ContextEditEntry>();
  for (const entry of selected) if (entry.type === "context_edit") edits.set(entry.targetId, entry);
  const entries = selected.map((sourceEntry, index) => ({
    sourceEntry,
    // An older compaction among the kept entries contributes nothing: the summary of the newest one comes first.
    messages: sourceEntry.type === "compaction" && index > 0 ? [] : projectContextEntry(sourceEntry, edits.get(sourceEntry.id)),
  }));
  return { entries, messages: entries.flatMap((entry) => entry.messages), ...settings };
}

/** Returns the context of a path, with the entries that its messages come from. */
export function buildSessionProjection(entries: SessionEntry[], leafId?: string | null, byId?: Map<string, SessionEntry>): SessionProjection {
  const path = pathTo(entries, leafId, byId);
  const settings: Settings = { thinkingLevel: "off", model: null };
  for (const entry of path) applySettings(settings, entry);
  return projectEntries(selectEntries(path), settings);
}

/** Returns the context of a path. */
export function buildSessionContext(entries: SessionEntry[], leafId?: string | null, byId?: Map<string, SessionEntry>): SessionContext {
  const { messages, thinkingLevel, model } = buildSessionProjection(entries, leafId, byId);
  return { messages, thinkingLevel, model };
}
