/**
 * oh-my-pi's session manager on treering: entries, trees, contexts, names, forks, lists, moves, artifacts, blobs, drafts
 * and budgets of turns. Its pluggable storages, its replication and its pins of sessions are not here.
 *
 * @packageDocumentation
 */
import { existsSync, mkdirSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { call, callAsync, callSession, callSessionAsync } from "../call.js";
import type { NativeSession } from "../native.js";
import type { Stats } from "../types.js";
import { EntryCache, type Labels } from "../pi/cache.js";
import { getCompatibility } from "../pi/compatibility.js";
import { newId } from "../pi/entries.js";
import { listDirectory, listRoot } from "../pi/list.js";
import { findMostRecentSession, resolvePath } from "../pi/paths.js";
import type { AgentMessage, MessageContent, SessionInfo } from "../pi/types.js";
import {
  ArtifactManager, artifactsDirFor, type BlobPutOptions, type BlobPutResult, type BlobStore, defaultBlobs, defaultSessionDir,
  moveArtifacts, siblingSessionDir,
} from "./files.js";

export { ArtifactManager, type BlobPutOptions, type BlobPutResult, BlobStore } from "./files.js";
export { type Compatibility, type CompatibilityName, getCompatibility, setCompatibility } from "../pi/compatibility.js";

/** An entry of a session, as oh-my-pi writes it. */
export interface SessionEntry {
  type: string;
  id: string;
  parentId: string | null;
  timestamp: string;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  [member: string]: any;
}

export interface SessionTreeNode {
  entry: SessionEntry;
  children: SessionTreeNode[];
  label?: string;
}

/** A context by oh-my-pi's rules: the messages for the model, and the settings. */
export interface SessionContext {
  messages: AgentMessage[];
  thinkingLevel?: string;
  configuredThinkingLevel?: string;
  serviceTier?: unknown;
  models: Record<string, string>;
  injectedTtsrRules: string[];
  mode: string;
  modeData?: Record<string, unknown>;
}

export interface UsageStatistics {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  cost: number;
}

/** Where a session's name comes from: the user, or the agent. */
export type TitleSource = "user" | "auto";

/** Options of new sessions. */
export interface NewSessionOptions {
  /** The file of the session that this one continues. */
  parentSession?: string;
  /** The directory of the new session, and of those after it. */
  sessionDir?: string;
}

/** The start of a subagent, as `session_init` entries record it. */
export interface SessionInit {
  systemPrompt: string;
  task: string;
  tools: string[];
  [member: string]: unknown;
}

/** The usage of a request to a model other than for an answer of the conversation. */
export interface ModelUsage {
  purpose: string;
  role?: string;
  api?: string;
  provider: string;
  model: string;
  usage: Record<string, unknown>;
  stopReason?: string;
  errorMessage?: string;
}

/** A session in a list. */
export type OmpSessionInfo = SessionInfo & { title?: string };

/** A session as oh-my-pi's `SessionManager` shows it. */
export class SessionManager {
  readonly #navigation = getCompatibility().navigation;
  readonly #persist: boolean;
  readonly #inMemoryArtifacts: string[] = [];
  #sessionDir: string;
  #cwd: string;
  #artifacts: ArtifactManager | undefined;
  #adoptedArtifacts: ArtifactManager | undefined;
  #blobs: BlobStore | undefined;
  #budget = { total: null as number | null, hard: false, before: 0, others: 0 };
  #titleRevision = 0;
  readonly #nameListeners = new Set<() => void>();
  #native!: NativeSession;
  #cache!: EntryCache;
  #labels: Labels | undefined;
  #leaf: string | null = null;
  /** Called with every entry that is appended. */
  onEntryAppended?: (entry: SessionEntry) => void;

  private constructor(cwd: string, sessionDir: string, persist: boolean, native?: NativeSession) {
    this.#cwd = resolvePath(cwd);
    this.#sessionDir = sessionDir;
    this.#persist = persist;
    if (persist && !existsSync(sessionDir)) mkdirSync(sessionDir, { recursive: true });
    this.#use(native ?? this.#create());
  }

  /** Returns the directory of a project's sessions. */
  static getDefaultSessionDir(cwd: string): string {
    return defaultSessionDir(cwd);
  }
  static create(cwd: string, sessionDir?: string): SessionManager {
    return new SessionManager(cwd, sessionDir ?? SessionManager.getDefaultSessionDir(cwd), true);
  }
  static inMemory(cwd: string = process.cwd()): SessionManager {
    return new SessionManager(cwd, "", false);
  }
  static async open(filePath: string, sessionDir?: string): Promise<SessionManager> {
    const path = resolvePath(filePath);
    const dir = sessionDir ?? dirname(path);
    const { durability } = getCompatibility();
    if (!existsSync(path)) {
      const native = await callAsync<NativeSession>("create", { path, cwd: process.cwd(), dialect: "omp", durability });
      return new SessionManager(process.cwd(), dir, true, native);
    }
    const native = await callAsync<NativeSession>("open", { path, durability });
    return new SessionManager(callSession<{ cwd: string }>(native, "facts").cwd || process.cwd(), dir, true, native);
  }
  static async continueRecent(cwd: string, sessionDir?: string): Promise<SessionManager> {
    const dir = sessionDir ?? SessionManager.getDefaultSessionDir(cwd);
    const recent = findMostRecentSession(dir);
    return recent === null ? SessionManager.create(cwd, dir) : SessionManager.open(recent, dir);
  }
  static async forkFrom(sourcePath: string, cwd: string, sessionDir?: string): Promise<SessionManager> {
    const path = resolvePath(sourcePath);
    if (!existsSync(path)) throw new Error(`cannot fork: there is no session ${path}`);
    const dir = sessionDir ?? SessionManager.getDefaultSessionDir(cwd);
    if (!existsSync(dir)) mkdirSync(dir, { recursive: true });
    const native = await callAsync<NativeSession>("forkFrom", { path, cwd: resolvePath(cwd), dir, creation: "at-once" });
    return new SessionManager(cwd, dir, true, native);
  }
  static async list(cwd: string, sessionDir?: string): Promise<OmpSessionInfo[]> {
    const dir = sessionDir ?? SessionManager.getDefaultSessionDir(cwd);
    return (await listDirectory(dir, undefined, undefined, undefined)).map(titled);
  }
  /** Lists the sessions of all projects, the newest first. */
  static async listAll(): Promise<OmpSessionInfo[]> {
    return (await listRoot(dirname(defaultSessionDir(process.cwd())), undefined, undefined)).map(titled);
  }

  /** Lists the sessions of a project for a picker: without those that have neither messages nor a name. */
  static async listForPicker(cwd: string, sessionDir?: string): Promise<OmpSessionInfo[]> {
    return (await SessionManager.list(cwd, sessionDir)).filter(isWorthPicking);
  }
  /** Lists the sessions of all projects for a picker. */
  static async listAllForPicker(): Promise<OmpSessionInfo[]> {
    return (await SessionManager.listAll()).filter(isWorthPicking);
  }
  /** Creates a session without entries in a project's directory. Returns its file. */
  static createEmptySessionFile(cwd: string): string {
    const dir = SessionManager.getDefaultSessionDir(cwd);
    mkdirSync(dir, { recursive: true });
    const native = call<NativeSession>("create", { cwd: resolvePath(cwd), dir, dialect: "omp", creation: "at-once" });
    const { path } = callSession<{ path: string }>(native, "facts");
    native.close();
    return path;
  }
  /** Returns the project of a session, and how its subagent was started; null if the file is not a session. */
  static async peekSessionInit(filePath: string): Promise<{ cwd: string; init: SessionInit | null } | null> {
    if (!existsSync(resolvePath(filePath))) return null;
    const manager = await SessionManager.open(filePath).catch(() => null);
    if (manager === null) return null;
    const entry = manager.getEntries().findLast(({ type }) => type === "session_init");
    manager.#native.close();
    if (!entry) return { cwd: manager.getCwd(), init: null };
    const { type, id, parentId, timestamp, ...init } = entry;
    return { cwd: manager.getCwd(), init: init as unknown as SessionInit };
  }

  #create(parentSession?: string, creation = getCompatibility().creation): NativeSession {
    const { durability } = getCompatibility();
    if (!this.#persist) return call("inMemory", { cwd: this.#cwd, dialect: "omp", parentSession });
    return call("create", { cwd: this.#cwd, dir: this.#sessionDir, dialect: "omp", creation, durability, parentSession });
  }

  #use(native: NativeSession): void {
    this.#native = native;
    this.#cache = new EntryCache(native, this.#navigation === "recorded", true);
    this.#labels = undefined;
    this.#leaf = this.#navigation === "recorded" ? (native.leaf ?? null) : callSession<string | null>(native, "lastEntry");
  }

  #facts(): { id: string; path: string | null; name: string | null; isWritten: boolean } {
    return callSession(this.#native, "facts");
  }

  async setSessionFile(sessionFile: string): Promise<void> {
    const other = await SessionManager.open(sessionFile, this.#sessionDir);
    this.#use(other.#native);
  }
  /** Switches to a new session. Its file is written at once, so that it is the newest one. */
  async newSession({ parentSession, sessionDir }: NewSessionOptions = {}): Promise<string | undefined> {
    if (sessionDir !== undefined && this.#persist) {
      this.#sessionDir = resolvePath(sessionDir);
      mkdirSync(this.#sessionDir, { recursive: true });
    }
    this.#use(this.#create(parentSession, "at-once"));
    this.#adoptedArtifacts = undefined;
    this.#inMemoryArtifacts.length = 0;
    this.#budget = { total: null, hard: false, before: 0, others: 0 };
    return this.getSessionFile();
  }
  /** Switches to a copy of the whole session. */
  async fork(): Promise<{ oldSessionFile: string; newSessionFile: string } | undefined> {
    const oldSessionFile = this.getSessionFile();
    if (oldSessionFile === undefined || !existsSync(oldSessionFile)) return undefined;
    const copy = await SessionManager.forkFrom(oldSessionFile, this.#cwd, this.#sessionDir);
    this.#use(copy.#native);
    return { oldSessionFile, newSessionFile: this.getSessionFile()! };
  }
  /**
   * Moves the session to another project: its file, with the new directory in its header, and the files beside it are
   * moved to that project's sessions, or to `sessionDir`. The leaf stays.
   */
  async moveTo(newCwd: string, sessionDir?: string): Promise<void> {
    const cwd = resolvePath(newCwd);
    const dir = sessionDir === undefined ? siblingSessionDir(this.#sessionDir, this.#cwd, cwd) : resolvePath(sessionDir);
    const old = this.getSessionFile();
    const file = old && join(dir, basename(old));
    if (cwd === this.#cwd && file === old) return;
    if (old === undefined || file === undefined) {
      this.#replaceBy(call("inMemory", { cwd, id: this.getSessionId(), dialect: "omp" }));
    } else {
      mkdirSync(dir, { recursive: true });
      if (existsSync(old)) {
        await callAsync("relocate", { path: old, cwd, to: file });
        const leaf = this.#leaf;
        this.#use(await callAsync<NativeSession>("open", { path: file, durability: getCompatibility().durability }));
        this.#leaf = leaf;
      } else {
        const { creation, durability } = getCompatibility();
        this.#replaceBy(call("create", { path: file, cwd, id: this.getSessionId(), dialect: "omp", creation, durability }));
      }
      await moveArtifacts(artifactsDirFor(old), artifactsDirFor(file));
    }
    this.#cwd = cwd;
    this.#sessionDir = dir;
  }
  /** Writes the session's file, also if there are no messages yet. */
  async ensureOnDisk(): Promise<void> {
    const path = this.getSessionFile();
    if (path === undefined || existsSync(path)) return;
    const { durability } = getCompatibility();
    this.#replaceBy(call("create", { path, cwd: this.#cwd, id: this.getSessionId(), dialect: "omp", creation: "at-once", durability }));
  }
  /** Deletes the file of a session and the files beside it. */
  async dropSession(sessionPath: string): Promise<void> {
    await rm(sessionPath, { force: true });
    const artifacts = artifactsDirFor(sessionPath);
    if (artifacts !== null) await rm(artifacts, { recursive: true, force: true });
  }

  /** Switches to a new session with all entries of this one. */
  #replaceBy(native: NativeSession): void {
    const records = this.#cache.all().map((entry) => JSON.stringify(entry));
    const leaf = this.#leaf;
    if (records.length > 0) callSession(native, "appendRecords", {}, records);
    this.#use(native);
    if (leaf !== this.#leaf) this.#moveTo(leaf);
  }

  async flush(): Promise<void> {
    await callSessionAsync(this.#native, "sync");
  }
  flushSync(): void {
    callSession(this.#native, "sync");
  }
  async close(): Promise<void> {
    await this.flush();
    this.#native.close();
  }

  getCwd(): string {
    return this.#cwd;
  }
  /** Returns the project that the header names. */
  getRecordedCwd(): string | undefined {
    return this.getHeader()?.["cwd"] as string | undefined;
  }
  getSessionDir(): string {
    return this.#sessionDir;
  }
  getSessionId(): string {
    return this.#facts().id;
  }
  getSessionFile(): string | undefined {
    return this.#persist ? (this.#facts().path ?? undefined) : undefined;
  }
  isSessionOnDisk(): boolean {
    return this.#facts().isWritten;
  }
  getHeader(): Record<string, unknown> | null {
    return callSession(this.#native, "header");
  }
  getSessionName(): string | undefined {
    return this.#facts().name ?? undefined;
  }
  /** Returns who named the session; undefined if it has no name. */
  get titleSource(): TitleSource | undefined {
    if (this.getSessionName() === undefined) return undefined;
    const change = this.#cache.all().findLast((entry) => (entry.type as string) === "title_change") as SessionEntry | undefined;
    return (change?.["source"] ?? this.getHeader()?.["titleSource"] ?? "user") as TitleSource;
  }
  /** Counts the names that the user gave, so that a name that is generated meanwhile can be dropped. */
  get titleRevision(): number {
    return this.#titleRevision;
  }
  reserveTitleRevision(): number {
    return ++this.#titleRevision;
  }
  /**
   * Names the session, in the slot at the start of its file. A name that the agent generates does not replace one of the user.
   * Returns whether the session has the name now.
   */
  async setSessionName(name: string, source: TitleSource = "auto", trigger?: string): Promise<boolean> {
    // eslint-disable-next-line no-control-regex
    const title = name.replace(/[\u0000-\u001f\u007f-\u009f]/g, " ").replace(/ +/g, " ").trim();
    if (title === "" || (source === "auto" && this.titleSource === "user")) return false;
    if (source === "user") this.#titleRevision++;
    const previousTitle = this.getSessionName();
    const record = { type: "session_info", name: title };
    this.#append("title_change", { title, source, ...(previousTitle ? { previousTitle } : {}), ...(trigger ? { trigger } : {}), treering: record });
    for (const listener of this.#nameListeners) listener();
    return true;
  }
  onSessionNameChanged(listener: () => void): () => void {
    this.#nameListeners.add(listener);
    return () => this.#nameListeners.delete(listener);
  }
  getUsageStatistics(): UsageStatistics {
    const { input, output, cacheRead, cacheWrite, cost } = callSession<Stats>(this.#native, "stats").usage;
    return { input, output, cacheRead, cacheWrite, cost: Number(cost) };
  }

  // Files beside the session, and the budget of a turn.

  /** Returns the directory of the session's artifacts, which may not exist; null for sessions in memory. */
  getArtifactsDir(): string | null {
    return this.#adoptedArtifacts?.dir ?? artifactsDirFor(this.getSessionFile());
  }
  getArtifactManager(): ArtifactManager | null {
    if (this.#adoptedArtifacts) return this.#adoptedArtifacts;
    const dir = this.getArtifactsDir();
    if (dir === null) return null;
    if (this.#artifacts?.dir !== dir) this.#artifacts = new ArtifactManager(dir);
    return this.#artifacts!;
  }
  /** Uses the artifacts of another session, as subagents do. */
  adoptArtifactManager(manager: ArtifactManager): void {
    this.#adoptedArtifacts = manager;
  }
  async allocateArtifactPath(toolType: string): Promise<{ id?: string; path?: string }> {
    return (await this.getArtifactManager()?.allocatePath(toolType)) ?? {};
  }
  async saveArtifact(content: string, toolType: string): Promise<string | undefined> {
    const manager = this.getArtifactManager();
    return manager ? manager.save(content, toolType) : String(this.#inMemoryArtifacts.push(content) - 1);
  }
  async getArtifactPath(id: string): Promise<string | null> {
    return (await this.getArtifactManager()?.getPath(id)) ?? null;
  }
  /** Puts data into the store of blobs, which all sessions share. */
  putBlob(data: Uint8Array, options?: BlobPutOptions): Promise<BlobPutResult> {
    return (this.#blobs ??= defaultBlobs()).put(data, options);
  }
  putBlobSync(data: Uint8Array, options?: BlobPutOptions): BlobPutResult {
    return (this.#blobs ??= defaultBlobs()).putSync(data, options);
  }
  /** Stores the user's unsent text; an empty text removes it. */
  async saveDraft(text: string): Promise<void> {
    const dir = this.getArtifactsDir();
    if (dir === null) return;
    if (text === "") return rm(join(dir, "draft.txt"), { force: true });
    await this.ensureOnDisk();
    mkdirSync(dir, { recursive: true });
    await writeFile(join(dir, "draft.txt"), text);
  }
  /** Returns the draft, and removes it; null if there is none. */
  async consumeDraft(): Promise<string | null> {
    const dir = this.getArtifactsDir();
    if (dir === null || !existsSync(join(dir, "draft.txt"))) return null;
    const draft = await readFile(join(dir, "draft.txt"), "utf8");
    await rm(join(dir, "draft.txt"), { force: true });
    return draft;
  }
  /** Begins to count the output tokens of a turn. */
  beginTurnBudget(total: number | null, hard: boolean): void {
    this.#budget = { total, hard, before: this.getUsageStatistics().output, others: 0 };
  }
  /** Adds the output tokens of a subagent. */
  recordEvalSubagentOutput(output: number): void {
    if (Number.isFinite(output) && output > 0) this.#budget.others += output;
  }
  getTurnBudget(): { total: number | null; spent: number; hard: boolean } {
    const { total, hard, before, others } = this.#budget;
    return { total, spent: Math.max(0, this.getUsageStatistics().output - before) + others, hard };
  }

  #append(type: string, members: Record<string, unknown>, parentId: string | null = this.#leaf): string {
    const id = newId((candidate) => this.#native.has(candidate));
    return this.#record({ type, id, parentId, timestamp: new Date().toISOString(), ...members });
  }

  #record(entry: SessionEntry): string {
    callSession(this.#native, "appendRecords", {}, [JSON.stringify(entry)]);
    this.#cache.add(entry as never);
    this.#leaf = entry.id;
    this.onEntryAppended?.(entry);
    return entry.id;
  }

  appendMessage(message: AgentMessage): string {
    return this.#append("message", { message });
  }
  /** Appends a message to another branch; the leaf stays where it is. */
  appendMessageToBranch(message: AgentMessage, parentId: string | null): string {
    const leaf = this.#leaf;
    const id = this.#append("message", { message }, parentId);
    if (leaf !== parentId) this.#moveTo(leaf);
    return id;
  }
  /** Records the usage of a request on the branch that caused it; undefined if the session or branch changed since. */
  appendModelUsage(usage: ModelUsage, owner: { sessionId: string; parentId: string | null }): string | undefined {
    const { sessionId, parentId } = owner;
    if (sessionId !== this.getSessionId() || (parentId !== null && !this.#cache.has(parentId))) return undefined;
    const leaf = this.#leaf;
    const id = this.#append("model_usage", { ...usage }, parentId);
    if (leaf !== parentId) this.#moveTo(leaf);
    return id;
  }
  /** Appends an entry of another process as it is, with its id and its parent. */
  ingestReplicatedEntry(entry: SessionEntry): void {
    this.#record(entry);
  }
  /** Returns copies of the header and all entries, for another process. */
  snapshotForReplication(copy: <T>(value: T) => T = structuredClone): { header: Record<string, unknown>; entries: SessionEntry[] } {
    return { header: copy(this.getHeader() ?? {}), entries: copy(this.getEntries()) };
  }
  appendThinkingLevelChange(thinkingLevel?: string, configured?: string): string {
    return this.#append("thinking_level_change", { thinkingLevel: thinkingLevel ?? null, configured: configured ?? null });
  }
  appendServiceTierChange(serviceTier: unknown): string {
    return this.#append("service_tier_change", { serviceTier });
  }
  appendModeChange(mode: string, data?: Record<string, unknown>): string {
    return this.#append("mode_change", { mode, data });
  }
  appendModelChange(model: string, role?: string, resolvedModelIsFallback = false): string {
    return this.#append("model_change", { model, role, resolvedModelIsFallback });
  }
  appendSessionInit(init: { systemPrompt: string; task: string; tools: string[]; [member: string]: unknown }): string {
    return this.#append("session_init", init);
  }
  appendCompaction(
    summary: string, shortSummary: string | undefined, firstKeptEntryId: string, tokensBefore: number, options: Record<string, unknown> = {},
  ): string {
    return this.#append("compaction", { summary, shortSummary, firstKeptEntryId, tokensBefore, ...options });
  }
  appendResetBoundary(): string {
    return this.#append("reset_boundary", {});
  }
  appendCustomEntry(customType: string, data?: unknown): string {
    return this.#append("custom", { customType, data });
  }
  appendCustomMessageEntry(customType: string, content: MessageContent, display: boolean, details?: unknown, attribution = "agent"): string {
    return this.#append("custom_message", { customType, content, display, details, attribution });
  }
  appendTtsrInjection(ruleNames: string[]): string {
    return this.#append("ttsr_injection", { injectedRules: [...ruleNames] });
  }
  appendCredentialPin(provider: string, hash: string): string {
    return this.#append("credential_pin", { provider, hash });
  }
  /** Returns the account that each provider was last used with on this branch. */
  getCredentialPins(): Map<string, { hash: string; lastUsedAt: number }> {
    const pins = new Map<string, { hash: string; lastUsedAt: number }>();
    for (const entry of this.getBranch()) {
      const pin = entry.type === "message" && entry["message"].role === "assistant" ? pins.get(entry["message"].provider) : undefined;
      if (pin) pin.lastUsedAt = Math.max(pin.lastUsedAt, entry["message"].timestamp);
      if (entry.type === "credential_pin") pins.set(entry["provider"], { hash: entry["hash"], lastUsedAt: Date.parse(entry.timestamp) });
    }
    return pins;
  }
  appendLabelChange(targetId: string, label: string | undefined): string {
    this.#existing(targetId);
    const id = this.#append("label", { targetId, label });
    this.#labels = undefined;
    return id;
  }

  getLeafId(): string | null {
    return this.#leaf;
  }
  getLeafEntry(): SessionEntry | undefined {
    return this.#leaf === null ? undefined : this.getEntry(this.#leaf);
  }
  getEntry(id: string): SessionEntry | undefined {
    return this.#cache.get(id);
  }
  getChildren(parentId: string): SessionEntry[] {
    return this.#cache.children(parentId);
  }
  getEntries(): SessionEntry[] {
    return this.#cache.all().slice();
  }
  getBranch(fromId?: string): SessionEntry[] {
    return this.#cache.path(fromId ?? this.#leaf);
  }
  getTree(): SessionTreeNode[] {
    return this.#cache.tree(this.#allLabels());
  }
  getLabel(id: string): string | undefined {
    return this.#allLabels().get(id)?.label;
  }
  getInjectedTtsrRules(): string[] {
    return [...new Set(this.getBranch().flatMap((entry) => (entry.type === "ttsr_injection" ? (entry["injectedRules"] as string[]) : [])))];
  }
  getLastModelChangeRole(): string | undefined {
    const change = this.getBranch().findLast((entry) => entry.type === "model_change");
    return change && (change["role"] ?? "default");
  }
  /** Returns what the model sees. The library builds it by oh-my-pi's rules. */
  buildSessionContext(): SessionContext {
    const context = callSession<Record<string, unknown>>(this.#native, "agentContext", { at: this.#leaf });
    // What oh-my-pi leaves undefined is null in JSON.
    return Object.fromEntries(Object.entries(context).filter(([, value]) => value !== null)) as unknown as SessionContext;
  }

  branch(branchFromId: string): void {
    this.#existing(branchFromId);
    this.#moveTo(branchFromId);
  }
  resetLeaf(): void {
    this.#moveTo(null);
  }
  branchWithSummary(branchFromId: string | null, summary: string, details?: unknown, fromExtension?: boolean): string {
    if (branchFromId !== null) this.#existing(branchFromId);
    return this.#append("branch_summary", { fromId: branchFromId ?? "root", summary, details, fromExtension }, branchFromId);
  }
  /** Switches to a new session with the path to an entry. Returns its file. */
  createBranchedSession(leafId: string): string | undefined {
    this.#existing(leafId);
    const { creation, durability } = getCompatibility();
    if (this.#persist) {
      this.#use(callSession(this.#native, "fork", { at: leafId, dir: this.#sessionDir, creation, durability }));
      return this.getSessionFile();
    }
    const path = this.getBranch(leafId).map((entry) => JSON.stringify(entry));
    const native = this.#create();
    callSession(native, "appendRecords", {}, path);
    this.#use(native);
    return undefined;
  }

  #moveTo(id: string | null): void {
    if (this.#navigation === "recorded" && (id !== this.#leaf || id !== (this.#native.leaf ?? null))) {
      callSession(this.#native, "branch", { to: id });
      this.#cache.noteHidden();
    }
    this.#leaf = id;
  }

  #existing(id: string): void {
    if (!this.#cache.has(id)) throw new Error(`Entry ${id} not found`);
  }

  #allLabels(): Labels {
    this.#labels ??= new Map(
      callSession<{ id: string; label: string; time: number | null }[]>(this.#native, "labels").map(({ id, label, time }) => [
        id,
        { label, timestamp: new Date(time ?? 0).toISOString() },
      ]),
    );
    return this.#labels;
  }
}

function isWorthPicking(info: OmpSessionInfo): boolean {
  return info.messageCount > 0 || Boolean(info.title);
}

function titled(info: SessionInfo): OmpSessionInfo {
  return Object.assign(info, { title: info.name }) as OmpSessionInfo;
}
