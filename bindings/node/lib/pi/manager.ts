/** pi's session manager on treering. */
import { appendFileSync, existsSync, mkdirSync, statSync, truncateSync } from "node:fs";
import { dirname } from "node:path";
import { call, callSession, hasEntry } from "../call.js";
import { fromNative, TreeringError } from "../errors.js";
import type { NativeSession } from "../native.js";
import { EntryCache, type Labels } from "./cache.js";
import { type Compatibility, getCompatibility } from "./compatibility.js";
import { CurrentContext } from "./context.js";
import { CURRENT_SESSION_VERSION, migrateSessionEntries, newId, readHeader, shortId, timestampNow, withoutLabels } from "./entries.js";
import { listDirectory, listEverything } from "./list.js";
import { contentFor, mayBeReplaced } from "./messages.js";
import {
  assertValidSessionId, defaultSessionDirPath, findMostRecentSession, getDefaultSessionDir, isOfProject, normalizePath,
  resolvePath, sessionFiles,
} from "./paths.js";
import type {
  AgentMessage, ContextEditEntry, FileEntry, MessageContent, NewSessionOptions, SessionContext, SessionEntry, SessionHeader,
  SessionInfo, SessionListProgress, SessionProjection, SessionTreeNode, Usage, UsageEntry,
} from "./types.js";

/** Members of entries that a caller gives; the manager adds the others. */
type Members = Record<string, unknown>;

/** The storage of a manager's session: a file, or memory. */
interface Start {
  cwd: string;
  sessionDir: string;
  file?: string;
  persist: boolean;
  options?: NewSessionOptions | undefined;
  entries?: FileEntry[] | undefined;
  /** An open session. */
  native?: NativeSession;
}

/**
 * A session as pi's `SessionManager` shows it: the same methods, the same entries, the same files.
 *
 * {@link Compatibility} describes the differences between treering and pi; see `setCompatibility`.
 */
export class SessionManager {
  readonly #compatibility: Compatibility = getCompatibility();
  readonly #cwd: string;
  readonly #sessionDir: string;
  readonly #persist: boolean;
  #native!: NativeSession;
  #cache!: EntryCache;
  #id!: string;
  #file: string | undefined;
  #leaf: string | null = null;
  #header: SessionHeader | undefined;
  #labels: Labels | undefined;
  #name: string | null | undefined;
  #context: CurrentContext | undefined;

  private constructor(start: Start) {
    this.#cwd = resolvePath(start.cwd);
    this.#sessionDir = normalizePath(start.sessionDir);
    this.#persist = start.persist;
    if (start.persist && this.#sessionDir && !existsSync(this.#sessionDir)) mkdirSync(this.#sessionDir, { recursive: true });
    if (start.native) this.#use(start.native);
    else if (start.file !== undefined) this.setSessionFile(start.file);
    else if (start.entries?.length) this.#loadEntries(start.entries, start.options);
    else this.newSession(start.options);
  }

  // Opening and creating.

  static create(cwd: string, sessionDir?: string, options?: NewSessionOptions): SessionManager {
    return new SessionManager({ cwd, sessionDir: sessionDir || getDefaultSessionDir(cwd), persist: true, options });
  }

  static open(path: string, sessionDir?: string, cwdOverride?: string): SessionManager {
    const file = resolvePath(path);
    const headerCwd = cwdOverride === undefined && existsSync(file) ? readHeader(file)?.cwd : undefined;
    const cwd = cwdOverride ?? (typeof headerCwd === "string" ? headerCwd : process.cwd());
    return new SessionManager({ cwd, sessionDir: sessionDir || dirname(file), file, persist: true });
  }

  static continueRecent(cwd: string, sessionDir?: string): SessionManager {
    const dir = sessionDir ? normalizePath(sessionDir) : getDefaultSessionDir(cwd);
    const file = findMostRecentSession(dir, projectOf(cwd, sessionDir)) ?? undefined;
    return new SessionManager({ cwd, sessionDir: dir, persist: true, ...(file === undefined ? {} : { file }) });
  }

  static inMemory(cwd: string = process.cwd(), options?: NewSessionOptions, entries?: FileEntry[]): SessionManager {
    return new SessionManager({ cwd, sessionDir: "", persist: false, options, entries });
  }

  static forkFrom(sourcePath: string, targetCwd: string, sessionDir?: string, options?: NewSessionOptions): SessionManager {
    const source = resolvePath(sourcePath);
    const cwd = resolvePath(targetCwd);
    if (!existsSync(source) || readHeader(source) === null) {
      throw new Error(`Cannot fork: source session file is empty or invalid: ${source}`);
    }
    if (options?.id !== undefined) assertValidSessionId(options.id);
    const dir = sessionDir ? normalizePath(sessionDir) : getDefaultSessionDir(cwd);
    if (!existsSync(dir)) mkdirSync(dir, { recursive: true });
    const { durability } = getCompatibility();
    const native = call<NativeSession>("forkFrom", { path: source, cwd, dir, id: options?.id, creation: "at-once", durability });
    return new SessionManager({ cwd, sessionDir: dir, persist: true, native });
  }

  static findById(cwd: string, id: string, sessionDir?: string): string | undefined {
    const dir = sessionDir ? normalizePath(sessionDir) : getDefaultSessionDir(cwd);
    const project = projectOf(cwd, sessionDir);
    try {
      return sessionFiles(dir).find((path) => {
        const header = readHeader(path);
        return header?.id === id && (project === undefined || isOfProject(header.cwd, resolvePath(project)));
      });
    } catch {
      return undefined;
    }
  }

  static async list(cwd: string, sessionDir?: string, onProgress?: SessionListProgress, signal?: AbortSignal): Promise<SessionInfo[]> {
    const dir = sessionDir ? normalizePath(sessionDir) : getDefaultSessionDir(cwd);
    return listDirectory(dir, projectOf(cwd, sessionDir), onProgress, signal);
  }

  static listAll(onProgress?: SessionListProgress, signal?: AbortSignal): Promise<SessionInfo[]>;
  static listAll(sessionDir?: string, onProgress?: SessionListProgress, signal?: AbortSignal): Promise<SessionInfo[]>;
  static async listAll(
    first?: string | SessionListProgress,
    second?: SessionListProgress | AbortSignal,
    third?: AbortSignal,
  ): Promise<SessionInfo[]> {
    const given = [first, second, third];
    const dir = typeof first === "string" ? first : undefined;
    const onProgress = given.find((value) => typeof value === "function") as SessionListProgress | undefined;
    const signal = given.find((value) => value instanceof AbortSignal) as AbortSignal | undefined;
    return listEverything(dir, onProgress, signal);
  }

  /** Switches to the session in a file, which is created if it does not exist. */
  setSessionFile(sessionFile: string): void {
    const path = resolvePath(sessionFile);
    if (!existsSync(path)) {
      this.#use(this.#create({ path, cwd: this.#cwd }));
      return;
    }
    if (this.#compatibility.unknownFile === "replace" && readHeader(path) === null) truncateSync(path);
    if (statSync(path).size === 0) {
      this.#use(openEmpty(path, this.#cwd, this.#compatibility));
      return;
    }
    const native = call<NativeSession>("open", { path, durability: this.#compatibility.durability, lazily: true });
    if (this.#compatibility.upgrade === "open" && isOld(callSession<SessionHeader>(native, "header"))) callSession(native, "upgrade");
    this.#use(native);
  }

  /** Begins a new session. Returns its file, which may not exist yet. */
  newSession(options?: NewSessionOptions): string | undefined {
    if (options?.id !== undefined) assertValidSessionId(options.id);
    const { id, parentSession } = options ?? {};
    this.#use(this.#create({ cwd: this.#cwd, id, parentSession }));
    return this.#file;
  }

  #create(args: { cwd: string; id?: string | undefined; parentSession?: string | undefined; path?: string }): NativeSession {
    if (!this.#persist) return call("inMemory", args);
    const { creation, durability } = this.#compatibility;
    return call("create", { dir: args.path === undefined ? this.#sessionDir : undefined, creation, durability, ...args });
  }

  #loadEntries(entries: FileEntry[], options: NewSessionOptions | undefined): void {
    migrateSessionEntries(entries);
    const header = entries.find((entry) => entry.type === "session");
    this.#use(this.#create({
      cwd: header?.cwd || this.#cwd,
      id: header?.id ?? options?.id,
      parentSession: header?.parentSession ?? options?.parentSession,
    }));
    appendAll(this.#native, entries.filter((entry) => entry.type !== "session"));
    this.#restart();
  }

  /** Uses a native session from here on. */
  #use(native: NativeSession): void {
    this.#native = native;
    this.#restart();
  }

  #restart(): void {
    const start = callSession<{ id: string; path: string | null; leaf: string | null; lastEntry: string | null }>(this.#native, "start");
    const isRecorded = this.#compatibility.navigation === "recorded";
    this.#id = start.id;
    this.#file = this.#persist ? (start.path ?? undefined) : undefined;
    this.#cache = new EntryCache(this.#native, isRecorded);
    this.#header = undefined;
    this.#labels = undefined;
    this.#name = undefined;
    this.#context = undefined;
    this.#leaf = isRecorded ? start.leaf : start.lastEntry;
  }

  // Facts.

  isPersisted(): boolean {
    return this.#persist;
  }
  getCwd(): string {
    return this.#cwd;
  }
  getSessionDir(): string {
    return this.#sessionDir;
  }
  usesDefaultSessionDir(): boolean {
    return resolvePath(this.#sessionDir) === defaultSessionDirPath(this.#cwd);
  }
  getSessionId(): string {
    return this.#id;
  }
  getSessionFile(): string | undefined {
    return this.#file;
  }
  getHeader(): SessionHeader | null {
    this.#header ??= callSession<SessionHeader>(this.#native, "header");
    return this.#header;
  }
  getSessionName(): string | undefined {
    if (this.#name === undefined) {
      this.#name = callSession<{ name: string | null }>(this.#native, "facts").name;
      if (mayBeReplaced(this.#name)) this.#name = this.#cache.all().findLast((entry) => entry.type === "session_info")?.name ?? this.#name;
    }
    return this.#name?.trim() || undefined;
  }

  // Appending.

  #append<E extends SessionEntry>(type: E["type"], members: Members, parentId: string | null = this.#leaf): E {
    const json = JSON.stringify(members);
    const rest = json === "{}" ? "}" : `,${json.slice(1)}`;
    return this.#appendNew(type, parentId, rest, (id, timestamp) => ({ type, id, parentId, timestamp, ...members }) as unknown as E);
  }

  /** Appends an entry under a new id. `rest` is its JSON after the members that every entry has: a large message is made JSON once. */
  #appendNew<E extends SessionEntry>(type: E["type"], parentId: string | null, rest: string, make: (id: string, timestamp: string) => E): E {
    const timestamp = timestampNow();
    const parent = parentId !== null && /^[\w-]*$/.test(parentId) ? `"${parentId}"` : JSON.stringify(parentId);
    for (let attempt = 1; ; attempt++) {
      const id = shortId();
      try {
        this.#native.appendEntry(`{"type":"${type}","id":"${id}","parentId":${parent},"timestamp":"${timestamp}"${rest}`);
      } catch (failure) {
        const error = fromNative(failure);
        const isTaken = error instanceof TreeringError && error.code === "duplicate_entry";
        if (!isTaken || attempt === 100) throw error;
        continue;
      }
      return this.#follow(make(id, timestamp));
    }
  }

  /** Appends an entry that has all its members. */
  #appendWhole<E extends SessionEntry>(entry: E): E {
    try {
      this.#native.appendEntry(JSON.stringify(entry));
    } catch (failure) {
      throw fromNative(failure);
    }
    return this.#follow(entry);
  }

  /** Records an entry that was appended, and returns it. */
  #follow<E extends SessionEntry>(entry: E): E {
    this.#cache.add(entry);
    this.#leaf = entry.id;
    if (this.#context && !this.#context.follow(entry)) this.#context = undefined;
    return entry;
  }

  appendMessage(message: AgentMessage): string {
    const parentId = this.#leaf;
    const make = (id: string, timestamp: string) => ({ type: "message", id, parentId, timestamp, message }) as SessionEntry;
    return this.#appendNew("message", parentId, `,"message":${JSON.stringify(message)}}`, make).id;
  }
  appendThinkingLevelChange(thinkingLevel: string): string {
    return this.#append("thinking_level_change", { thinkingLevel }).id;
  }
  appendModelChange(provider: string, modelId: string): string {
    return this.#append("model_change", { provider, modelId }).id;
  }
  appendUsage(kind: string, provider: string, model: string, usage: Usage, note?: string): UsageEntry {
    return this.#append<UsageEntry>("usage", { kind, provider, model, usage, ...(note ? { note } : {}) });
  }
  /** Appends a compaction. Without a first kept entry it keeps nothing before itself. */
  appendCompaction<T = unknown>(
    summary: string, firstKeptEntryId: string | null, tokensBefore: number, details?: T, fromHook?: boolean, usage?: Usage,
  ): string {
    const id = newId((candidate) => hasEntry(this.#native, candidate));
    const timestamp = new Date();
    const prompt = callSession<AgentMessage | null>(this.#native, "systemMessage", { at: this.#leaf });
    return this.#appendWhole({
      type: "compaction", id, parentId: this.#leaf, timestamp: timestamp.toISOString(), summary, firstKeptEntryId: firstKeptEntryId ?? id, tokensBefore,
      details, usage, fromHook,
      ...(prompt ? { systemMessage: { ...prompt, timestamp: timestamp.getTime() } } : {}),
    } as SessionEntry).id;
  }
  appendCustomEntry(customType: string, data?: unknown): string {
    return this.#append("custom", { customType, data }).id;
  }
  appendSessionInfo(name: string): string {
    const clean = name.replace(/[\r\n]+/g, " ").trim();
    const { id } = this.#append("session_info", { name: clean });
    this.#name = clean;
    return id;
  }
  appendCustomMessageEntry<T = unknown>(customType: string, content: MessageContent, display: boolean, details?: T): string {
    return this.#append("custom_message", { customType, content, display, details }).id;
  }
  /** Replaces what an entry of the active branch contributes to contexts; null omits it. */
  appendContextEdit(targetId: string, replacement: ContextEditEntry["replacement"]): string {
    const isContent = (content: unknown) => typeof content === "string" || Array.isArray(content);
    if (replacement !== null && !(typeof replacement === "object" && isContent(replacement.content))) {
      throw new Error("a context edit needs a replacement that is null or has content that is a string or an array");
    }
    const target = this.#existing(targetId);
    if (!this.getBranch().includes(target)) throw new Error(`Entry ${targetId} is not on the active branch`);
    const role = target.type === "custom_message" ? "custom" : target.type === "message" ? target.message.role : "";
    if (!["user", "assistant", "toolResult"].includes(role) && target.type !== "custom_message") {
      throw new Error(`Entry ${targetId} does not contribute editable model content`);
    }
    const content = replacement && { content: contentFor(role, replacement.content) };
    return this.#append("context_edit", { targetId, replacement: content }).id;
  }
  appendLabelChange(targetId: string, label: string | undefined): string {
    this.#existing(targetId);
    const labels = this.#allLabels();
    const entry = this.#append("label", { targetId, label });
    if (label) labels.set(targetId, { label, timestamp: entry.timestamp });
    else labels.delete(targetId);
    return entry.id;
  }

  // Reading.

  getLeafId(): string | null {
    return this.#leaf;
  }
  getLeafEntry(): SessionEntry | undefined {
    return this.#leaf === null ? undefined : this.#cache.get(this.#leaf);
  }
  getEntry(id: string): SessionEntry | undefined {
    return this.#cache.get(id);
  }
  getChildren(parentId: string): SessionEntry[] {
    return this.#cache.children(parentId);
  }
  getLabel(id: string): string | undefined {
    return this.#allLabels().get(id)?.label;
  }
  getEntryCount(): number {
    return this.#cache.size;
  }
  getEntries(): SessionEntry[] {
    return this.#cache.all().slice();
  }
  getTree(): SessionTreeNode[] {
    return this.#cache.tree(this.#allLabels());
  }
  getBranch(fromId?: string): SessionEntry[] {
    return this.#cache.path(fromId ?? this.#leaf);
  }
  buildContextEntries(): SessionEntry[] {
    return this.#currentContext().entries.map((entry) => entry.sourceEntry);
  }
  buildSessionProjection(): SessionProjection {
    const context = this.#currentContext();
    return context.withSettings({ entries: context.entries.slice(), messages: context.messages.slice() });
  }
  /**
   * Returns what the model sees at the leaf.
   *
   * In a long session only the end of the file is read for it. If the thinking level was set before that, the member
   * `thinkingLevel` is looked up when it is first read.
   */
  buildSessionContext(): SessionContext {
    const context = this.#currentContext();
    return context.withSettings({ messages: context.messages.slice() });
  }

  #currentContext(): CurrentContext {
    if (this.#context?.leaf !== this.#leaf) this.#context = undefined;
    return (this.#context ??= CurrentContext.at(this.#leaf, this.#native, this.#cache));
  }

  #allLabels(): Labels {
    if (this.#labels) return this.#labels;
    const found = callSession<{ id: string; label: string; time: number | null }[]>(this.#native, "labels");
    this.#labels = new Map(found.map(({ id, label, time }) => [id, { label, timestamp: new Date(time ?? 0).toISOString() }]));
    if (found.some(({ label }) => mayBeReplaced(label))) {
      for (const entry of this.#cache.all()) {
        const label = entry.type === "label" ? this.#labels.get(entry.targetId) : undefined;
        if (label && entry.type === "label" && entry.label) label.label = entry.label;
      }
    }
    return this.#labels;
  }

  #existing(id: string): SessionEntry {
    const entry = this.#cache.get(id);
    if (!entry) throw new Error(`Entry ${id} not found`);
    return entry;
  }

  // Moving.

  branch(branchFromId: string): void {
    this.#existing(branchFromId);
    this.#moveTo(branchFromId);
  }
  resetLeaf(): void {
    this.#moveTo(null);
  }
  branchWithSummary(branchFromId: string | null, summary: string, details?: unknown, fromHook?: boolean, usage?: Usage): string {
    if (branchFromId !== null) this.#existing(branchFromId);
    const fromId = (this.#compatibility.summaryFrom === "left" ? this.#leaf : branchFromId) ?? "root";
    return this.#append("branch_summary", { fromId, summary, details, usage, fromHook }, branchFromId).id;
  }

  #moveTo(id: string | null): void {
    if (this.#compatibility.navigation === "recorded" && id !== this.#leaf) {
      callSession(this.#native, "branch", { to: id });
      this.#cache.noteHidden();
    }
    this.#leaf = id;
  }

  /** Switches to a new session with the path to an entry. Returns its file; undefined if it is in memory. */
  createBranchedSession(leafId: string): string | undefined {
    const path = this.getBranch(leafId);
    if (path.length === 0) throw new Error(`Entry ${leafId} not found`);
    const labels = this.#allLabels();
    const records = withoutLabels(path);
    const parentSession = this.#persist ? this.#file : undefined;
    const ids = new Set(records.map((entry) => entry.id));
    let parentId = records.at(-1)?.id ?? null;
    for (const [targetId, { label, timestamp }] of labels) {
      if (!ids.has(targetId)) continue;
      const id = newId((candidate) => ids.has(candidate));
      records.push({ type: "label", id, parentId, timestamp, targetId, label });
      ids.add(id);
      parentId = id;
    }
    const native = this.#create({ cwd: this.#cwd, parentSession });
    appendAll(native, records);
    this.#use(native);
    return this.#file;
  }
}

/** Returns whether a session is of a version that pi rewrites. */
function isOld({ version }: SessionHeader): boolean {
  return typeof version !== "number" || version < CURRENT_SESSION_VERSION;
}

/** Returns the project that listed sessions must belong to, if they are not in the project's own directory. */
function projectOf(cwd: string, sessionDir: string | undefined): string | undefined {
  if (sessionDir === undefined) return undefined;
  return resolvePath(sessionDir) === defaultSessionDirPath(cwd) ? undefined : cwd;
}

function appendAll(native: NativeSession, records: FileEntry[]): void {
  if (records.length > 0) callSession(native, "appendRecords", {}, records.map((record) => JSON.stringify(record)));
}

/** Begins a session in an existing empty file, with a header. */
function openEmpty(path: string, cwd: string, { durability }: Compatibility): NativeSession {
  const header = callSession<SessionHeader>(call<NativeSession>("inMemory", { cwd }), "header");
  appendFileSync(path, `${JSON.stringify(header)}\n`);
  return call("open", { path, durability });
}

/** The methods of a session manager that only read. */
export type ReadonlySessionManager = Pick<
  SessionManager,
  | "getCwd" | "getSessionDir" | "getSessionId" | "getSessionFile" | "getLeafId" | "getLeafEntry" | "getEntry" | "getLabel"
  | "getBranch" | "buildContextEntries" | "buildSessionProjection" | "getHeader" | "getEntries" | "getTree" | "getSessionName"
>;
