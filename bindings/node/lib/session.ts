/** Sessions. */
import { EventEmitter } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { type Abortable, call, callAsync, callSession, callSessionAsync, guarded, type Args } from "./call.js";
import type { NativeSession } from "./native.js";
import type {
  AbandonedBranch, Branch, Change, CompactionPlan, CompactionSettings, Context, ContextEdit, ContextTokens, CreateOptions,
  Dialect, Diff, Durability, EditPlan, Entry, ExportFormat, ExportOptions, FilePath, Finding, ForkOptions, Label, LlmContext, Merged,
  MergePlan, Message, Model, NewEntry, NoCompaction, PickPlan, Position, ProviderRequest, RedactOptions, Report,
  SearchOptions, Selection, SessionFacts, SessionHits, SessionInfo, Stats, Tool, TreeNode, Usage,
} from "./types.js";

/** Options with the position at which a session is read. */
export interface At {
  /** The entry at the end of the path; the leaf unless it is given, the start if it is null. */
  at?: Position;
}

/** Options of contexts. */
export interface ContextOptions extends At {
  /** The maximum number of messages; the last ones are returned. */
  last?: number;
  /** Images are replaced by a short text. */
  withoutImages?: boolean;
}

/** Options of requests to providers. */
export interface RequestOptions extends At {
  model?: Model;
  tools?: Tool[];
  cache?: "none" | "ephemeral";
}

/** The providers whose requests treering makes. */
export type Provider = "anthropic" | "openai-chat" | "openai-responses";

/** Options of appends. */
export interface AppendOptions {
  /** Fails with `leaf_moved` unless this is the leaf of the file. */
  expecting?: Position;
  /** Appends to the leaf of the file, wherever other writers moved it. */
  following?: boolean;
}

/** Options of summaries. */
export interface SummaryOptions {
  details?: unknown;
  fromHook?: boolean;
  usage?: object;
}

/** The destination of a new session: a file, or a directory of sessions. */
export type Place = { path: FilePath } | { dir: FilePath } | { root: FilePath };

/** Entries of a session, for `for` and `for await`: read piece by piece, so memory stays bounded. */
export class EntryStream implements Iterable<Entry>, AsyncIterable<Entry> {
  readonly #session: NativeSession;
  readonly #args: { after?: string; size?: number; record?: boolean; signal?: AbortSignal | undefined };

  /** @internal */
  constructor(session: NativeSession, args: { after?: string; size?: number; record?: boolean; signal?: AbortSignal | undefined }) {
    this.#session = session;
    this.#args = args;
  }

  *[Symbol.iterator](): Generator<Entry, void, undefined> {
    for (let after = this.#args.after; ; ) {
      const batch = callSession<Batch>(this.#session, "entries", { ...this.#args, after });
      yield* batch.entries;
      if (batch.last === null) return;
      after = batch.last;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Entry, void, undefined> {
    for (let after = this.#args.after; ; ) {
      const batch = await callSessionAsync<Batch>(this.#session, "entries", { ...this.#args, after });
      yield* batch.entries;
      if (batch.last === null) return;
      after = batch.last;
    }
  }

  /** Returns all entries. */
  toArray(): Entry[] {
    return [...this];
  }
}

interface Batch {
  entries: Entry[];
  last: string | null;
}

interface Columns {
  order: number[];
  ids: string[];
  parents: number[];
  kinds: string[];
  roles: (string | null)[];
  labels: (string | null)[];
  labelTimes: (number | null)[];
}

/** The events of a session. Listeners do not keep the process alive; {@link Session.changes} does. */
export interface SessionEvents {
  /** Entries were appended, by this session or by another writer whose entries were read. */
  change: [change: Change];
}

/**
 * An open session: a tree of entries in a file, in memory or in a store.
 *
 * Every method that reads or writes exists twice: one returns a promise and works off the main thread, the other has the
 * suffix `Sync`. Several sessions, worker threads and processes may have the same file open.
 */
export class Session extends EventEmitter<SessionEvents> {
  readonly #native: NativeSession;
  #isListening = false;

  /** @internal */
  constructor(native: NativeSession) {
    super();
    this.#native = native;
    this.on("newListener" as never, ((event: string) => {
      if (event === "change") this.#listen();
    }) as never);
  }

  /** The handle, for the other modules of this package. @internal */
  get native(): NativeSession {
    return this.#native;
  }

  // Opening and creating.

  /** Opens the session in a file. Opening changes nothing. */
  static async open(path: FilePath, options: { durability?: Durability } & Abortable = {}): Promise<Session> {
    return new Session(await callAsync<NativeSession>("open", { path, ...options }));
  }

  /** Opens the session in a file. Of a long one the end is read, and the rest when something needs it. */
  static openSync(path: FilePath, options: { durability?: Durability } = {}): Session {
    return new Session(call<NativeSession>("open", { path, ...options, lazily: true }));
  }

  /** Creates a session for a project, in a file or in a directory of sessions. */
  static async create(cwd: FilePath, place: Place, options: CreateOptions & Abortable = {}): Promise<Session> {
    return new Session(await callAsync<NativeSession>("create", { cwd, ...place, ...options }));
  }

  /** Creates a session for a project, in a file or in a directory of sessions. */
  static createSync(cwd: FilePath, place: Place, options: CreateOptions = {}): Session {
    return new Session(call<NativeSession>("create", { cwd, ...place, ...options }));
  }

  /** Opens the session in a file, or creates it. */
  static openOrCreateSync(path: FilePath, cwd: FilePath, options: CreateOptions = {}): Session {
    return new Session(call<NativeSession>("openOrCreate", { path, cwd, ...options }));
  }

  /** Opens the session in a file, or creates it. */
  static async openOrCreate(path: FilePath, cwd: FilePath, options: CreateOptions & Abortable = {}): Promise<Session> {
    return new Session(await callAsync<NativeSession>("openOrCreate", { path, cwd, ...options }));
  }

  /** Opens the newest session of a project, or creates one. */
  static async continueRecent(cwd: FilePath, place: { dir: FilePath } | { root: FilePath }, options: CreateOptions & Abortable = {}): Promise<Session> {
    return new Session(await callAsync<NativeSession>("continueRecent", { cwd, ...place, ...options }));
  }

  /** Creates a session in memory. */
  static inMemory(cwd: FilePath = process.cwd(), options: CreateOptions = {}): Session {
    return new Session(call<NativeSession>("inMemory", { cwd, ...options }));
  }

  // Facts.

  /** Returns facts about the session. */
  facts(): SessionFacts {
    return this.#sync("facts");
  }
  get id(): string {
    return this.facts().id;
  }
  /** The file; null if the session is in none. */
  get path(): string | null {
    return this.facts().path;
  }
  get cwd(): string {
    return this.facts().cwd;
  }
  get dialect(): Dialect {
    return this.facts().dialect;
  }
  /** The name that the user gave it. */
  get sessionName(): string | null {
    return this.facts().name;
  }
  /** The id of the leaf, to which the next entry is appended; null at the start. */
  get leaf(): string | null {
    return guarded(() => JSON.stringify(this.#native.leaf ?? null));
  }
  get entryCount(): number {
    return guarded(() => JSON.stringify(this.#native.entryCount));
  }
  /** Returns the header, as the file contains it. */
  header(): Record<string, unknown> {
    return this.#sync("header");
  }
  /** Returns the name of the session, or the first message of the user. */
  title(): string {
    return this.#sync("title");
  }
  /** Returns the facts about the session that lists show. */
  info(options: Abortable = {}): Promise<SessionInfo> {
    return this.#async("info", options);
  }

  // Entries.

  /** Returns an entry. */
  entry(id: string, options: { record?: boolean } = {}): Entry {
    return this.#sync("entry", { id, ...options });
  }
  /** Returns whether there is an entry of exactly this id. */
  has(id: string): boolean {
    return guarded(() => JSON.stringify(this.#native.has(id)));
  }
  /** Returns the id that begins with a text; null if there is none. */
  resolve(text: string): string | null {
    return this.#sync("resolve", { text });
  }
  /** Returns all entries in the order of the log, or those after one; in the agent's own shape with `record`. */
  entries(options: { after?: string; record?: boolean } & Abortable = {}): EntryStream {
    return new EntryStream(this.#native, options);
  }
  [Symbol.iterator](): Iterator<Entry> {
    return this.entries()[Symbol.iterator]();
  }
  [Symbol.asyncIterator](): AsyncIterator<Entry> {
    return this.entries()[Symbol.asyncIterator]();
  }
  /** Returns the entries from a root to the leaf, or to another entry. */
  pathTo(to?: Position, options: Abortable = {}): Promise<Entry[]> {
    return this.#async<Batch>("path", { to, ...options }).then((batch) => batch.entries);
  }
  pathToSync(to?: Position): Entry[] {
    return this.#sync<Batch>("path", { to }).entries;
  }

  // The tree.

  /** Returns the tree, without the records of where the leaf was moved unless `bookkeeping` is set. */
  tree(options: { bookkeeping?: boolean } = {}): TreeNode[] {
    const { order, ids, parents, kinds, roles, labels, labelTimes } = this.#sync<Columns>("tree", options);
    const nodes = new Map<number, TreeNode>();
    const roots: TreeNode[] = [];
    // Parents come before their children here.
    for (let index = 0; index < ids.length; index++) {
      const node: TreeNode = {
        id: ids[index]!, kind: kinds[index]!, role: roles[index]!, label: labels[index]!, labelTime: labelTimes[index]!, children: [],
      };
      nodes.set(order[index]!, node);
      const parent = nodes.get(parents[index]!);
      (parent ? parent.children : roots).push(node);
    }
    return roots;
  }
  children(id: string, options: { bookkeeping?: boolean } = {}): string[] {
    return this.#sync("children", { id, ...options });
  }
  parent(id: string, options: { bookkeeping?: boolean } = {}): string | null {
    return this.#sync("parent", { id, ...options });
  }
  roots(options: { bookkeeping?: boolean } = {}): string[] {
    return this.#sync("roots", options);
  }
  leaves(options: { bookkeeping?: boolean } = {}): string[] {
    return this.#sync("leaves", options);
  }
  branchPoints(options: { bookkeeping?: boolean } = {}): string[] {
    return this.#sync("branchPoints", options);
  }
  depth(id: string): number {
    return this.#sync("depth", { id });
  }
  commonAncestor(a: string, b: string): string | null {
    return this.#sync("commonAncestor", { a, b });
  }
  isAncestor(ancestor: string, id: string): boolean {
    return this.#sync("isAncestor", { ancestor, id });
  }
  labels(): Label[] {
    return this.#sync("labels");
  }

  // Contexts.

  /** Returns the messages that the model sees, and the settings. */
  context(options: ContextOptions & Abortable = {}): Promise<Context> {
    return this.#async("context", options);
  }
  contextSync(options: ContextOptions = {}): Context {
    return this.#sync("context", options);
  }
  /** Returns the context as the bytes of its JSON, without creating objects, for programs that send or write it. */
  contextBytes(options: ContextOptions & Abortable = {}): Promise<Buffer> {
    return this.#async("contextBytes", options);
  }
  contextBytesSync(options: ContextOptions = {}): Buffer {
    return this.#sync("contextBytes", options);
  }
  /** Returns the context that the session's own agent would build; null if it is the same. */
  agentContext(options: At & Abortable = {}): Promise<Record<string, unknown> | null> {
    return this.#async("agentContext", options);
  }
  /** Returns the messages as providers know them, every call with its result unless `raw` is set. */
  llmContext(options: At & { raw?: boolean } & Abortable = {}): Promise<LlmContext> {
    return this.#async("llmContext", options);
  }
  llmContextSync(options: At & { raw?: boolean } = {}): LlmContext {
    return this.#sync("llmContext", options);
  }
  /** Returns the body of a request to a provider. */
  providerRequest(provider: Provider, options: RequestOptions & Abortable = {}): Promise<ProviderRequest> {
    return this.#async("providerRequest", { ...options, provider });
  }
  providerRequestSync(provider: Provider, options: RequestOptions = {}): ProviderRequest {
    return this.#sync("providerRequest", { ...options, provider });
  }
  /** Estimates the tokens of a context. */
  contextTokens(options: At = {}): ContextTokens {
    return this.#sync("contextTokens", options);
  }

  // Writing.

  /** Appends an entry to the leaf, which it becomes. Returns its id. */
  async append(entry: NewEntry, options: AppendOptions & Abortable = {}): Promise<string> {
    return (await this.appendAll([entry], options))[0]!;
  }
  appendSync(entry: NewEntry, options: AppendOptions = {}): string {
    return this.appendAllSync([entry], options)[0]!;
  }
  /** Appends entries one after the other, in one write: all of them or none. */
  appendAll(entries: NewEntry[], options: AppendOptions & Abortable = {}): Promise<string[]> {
    return this.#async("append", options, entries.map(toJson));
  }
  appendAllSync(entries: NewEntry[], options: AppendOptions = {}): string[] {
    return this.#sync("append", options, entries.map(toJson));
  }
  /** Appends a message. */
  appendMessage(message: Message, options: AppendOptions & Abortable = {}): Promise<string> {
    return this.append({ type: "message", message }, options);
  }
  appendMessageSync(message: Message, options: AppendOptions = {}): string {
    return this.appendSync({ type: "message", message }, options);
  }
  /** Appends records in the shape that the session's own agent gives them. */
  appendRecords(records: object[], options: Abortable = {}): Promise<string[]> {
    return this.#async("appendRecords", options, records.map(toJson));
  }
  appendRecordsSync(records: object[]): string[] {
    return this.#sync("appendRecords", {}, records.map(toJson));
  }
  /**
   * Appends entries to a branch that the leaf may have left meanwhile; the first one needs a `parentId`. The leaf of the
   * file moves with `moveFile`, the session's own if it is at `moveOwnFrom`.
   */
  appendLate(entries: NewEntry[], options: { expecting?: Position; moveFile?: boolean; moveOwnFrom?: Position } & Abortable = {}): Promise<string[]> {
    return this.#async("appendLate", options, entries.map(toJson));
  }
  /** Moves the leaf: the next entry is a child of that one, or a new root. Survives a restart unless `inMemory` is set. */
  branch(to: Position, options: { inMemory?: boolean } & Abortable = {}): Promise<string | null> {
    return this.#async("branch", { to, ...options });
  }
  branchSync(to: Position, options: { inMemory?: boolean } = {}): string | null {
    return this.#sync("branch", { to, ...options });
  }
  /** Moves the leaf and appends a summary of the abandoned branch. Returns the id of the summary. */
  branchWithSummary(to: Position, summary: string, { details, ...options }: SummaryOptions & Abortable = {}): Promise<string> {
    return this.#async("branchWithSummary", { to, summary, ...options }, optional(details));
  }
  branchWithSummarySync(to: Position, summary: string, { details, ...options }: SummaryOptions = {}): string {
    return this.#sync("branchWithSummary", { to, summary, ...options }, optional(details));
  }
  /** Labels an entry; null clears the label. */
  label(id: string, label: string | null): string {
    return this.#sync("label", { id, label });
  }
  /** Names the session; an empty name clears it. */
  setName(name: string): string {
    return this.#sync("setName", { name });
  }
  /** Returns an id that no entry has. */
  newId(): string {
    return this.#sync("newId");
  }
  /** Moves the leaf before failed answers. Returns their ids. */
  rewindFailed(): string[] {
    return this.#sync("rewindFailed");
  }
  /** Writes everything appended so far to the disk. */
  sync(options: Abortable = {}): Promise<void> {
    return this.#async("sync", options);
  }
  syncSync(): void {
    this.#sync("sync");
  }
  /** Writes the file again after it was deleted. */
  recreate(): void {
    this.#sync("recreate");
  }
  /** Fails if nothing can be appended. */
  checkWritable(): void {
    this.#sync("checkWritable");
  }
  /** Upgrades a file of an older version; null if there is nothing to do. */
  upgrade(options: { dryRun?: boolean } & Abortable = {}): Promise<Report | null> {
    return this.#async(options.dryRun ? "planUpgrade" : "upgrade", options);
  }

  // Other writers.

  /** Returns whether other writers appended something that was not read yet. */
  hasNews(): boolean {
    return guarded(() => JSON.stringify(this.#native.hasNews()));
  }
  /** Reads what other writers appended. Returns the ids. */
  refresh(options: Abortable = {}): Promise<string[]> {
    return this.#async("refresh", options);
  }
  refreshSync(): string[] {
    return this.#sync("refresh");
  }
  /** Moves this session's leaf to the leaf of the file. */
  follow(): string | null {
    return this.#sync("follow");
  }
  /**
   * Yields the changes of this session and of other writers, until the signal is aborted or the session is closed.
   * The file is polled every `interval` milliseconds.
   */
  async *changes(options: { interval?: number } & Abortable = {}): AsyncGenerator<Change, void, undefined> {
    const { signal, interval = 200 } = options;
    const queue: Change[] = [];
    const listener = (change: Change) => queue.push(change);
    this.on("change", listener);
    try {
      while (!signal?.aborted) {
        yield* queue.splice(0);
        if (this.hasNews()) await this.refresh();
        // Changes are reported in a separate task, including those that were just read.
        await delay(queue.length > 0 ? 0 : interval, undefined, signal ? { signal } : {}).catch(() => undefined);
      }
    } finally {
      this.off("change", listener);
    }
  }

  // Compaction, summaries, context edits, merges.

  /** Plans a compaction: what to summarize, what to keep, and what to ask a model for. */
  planCompaction(options: At & { settings?: CompactionSettings; instructions?: string } & Abortable = {}): Promise<CompactionPlan | NoCompaction> {
    return this.#async("planCompaction", options);
  }
  /**
   * Writes the compaction that was planned with the same `at` and `settings`, with the model's answers to each request of the
   * plan, or with a whole summary. Fails with `leaf_moved` if the leaf of the file has moved since.
   */
  async compact(
    options: At & { settings?: CompactionSettings; historySummary?: string; prefixSummary?: string; summary?: string; fromHook?: boolean; details?: unknown } & Abortable,
  ): Promise<string> {
    const { details, ...args } = options;
    return (await this.#async<string[]>("compact", args, optional(details)))[0]!;
  }
  /** Describes the branch that a move of the leaf abandons, and the request for its summary. */
  abandonedBranch(options: { from?: Position; to: Position; budget?: number; instructions?: string; replaceInstructions?: boolean } & Abortable): Promise<AbandonedBranch> {
    return this.#async("abandonedBranch", options);
  }
  /** Plans context edits. */
  planEdit(edit: ContextEdit): EditPlan {
    return this.#sync("planEdit", edit);
  }
  /** Appends context edits. Returns their ids. */
  edit(edit: ContextEdit): string[] {
    return this.#sync("edit", edit);
  }
  /** Plans the merge of another branch into this one; null if there is nothing new. */
  planMerge(from: string, options: { budget?: number } & Abortable = {}): Promise<MergePlan | null> {
    return this.#async("planMerge", { from, ...options });
  }
  /** Merges another branch into this one, as copies, or as a summary. */
  merge(from: string, options: { budget?: number; summary?: string; fromHook?: boolean; details?: unknown } & Abortable = {}): Promise<Merged | null> {
    const { details, ...args } = options;
    return this.#async("merge", { from, ...args }, optional(details));
  }
  /** Plans a cherry-pick, of this session or of another one. */
  planPick(selection: Selection, options: { from?: Session; again?: boolean } = {}): PickPlan {
    return this.#sync("planPick", { ...selection, again: options.again }, undefined, options.from);
  }
  /** Copies entries of another branch, or of another session, to the leaf. Returns the ids of the copies. */
  cherryPick(selection: Selection, options: { from?: Session; again?: boolean } & Abortable = {}): Promise<string[]> {
    return this.#async("cherryPick", { ...selection, again: options.again, signal: options.signal }, undefined, options.from);
  }

  // Reports.

  /** Returns the counts and the usage of the session, a branch or a subtree. */
  stats(options: { branch?: Position; subtree?: string } & Abortable = {}): Promise<Stats> {
    return this.#async("stats", options);
  }
  branches(options: Abortable = {}): Promise<Branch[]> {
    return this.#async("branches", options);
  }
  entryUsage(id: string): Usage | null {
    return this.#sync("entryUsage", { id });
  }
  /** Compares two branches, of this session or of this one and another. */
  diff(a: Position, b: Position, options: { with?: Session } & Abortable = {}): Promise<Diff> {
    return this.#async("diff", { a, b, signal: options.signal }, undefined, options.with);
  }
  /** Returns the findings of reading the session, or all findings with `all`. */
  findings(options: { all?: boolean } & Abortable = {}): Promise<Finding[]> {
    return this.#async(options.all ? "allFindings" : "findings", options);
  }
  /** Searches the session; null if there are no hits. */
  search(query: string, options: SearchOptions & Abortable = {}): Promise<SessionHits | null> {
    return this.#async("search", { query, ...options });
  }

  // Documents and copies.

  /** Writes the session as a document, into a buffer. */
  export(format: ExportFormat, options: ExportOptions & Abortable = {}): Promise<Buffer> {
    return this.#async("export", { format, ...options });
  }
  exportSync(format: ExportFormat, options: ExportOptions = {}): Buffer {
    return this.#sync("export", { format, ...options });
  }
  /** Writes the session as a document, into a file. Returns its size. */
  exportTo(path: FilePath, format: ExportFormat, options: ExportOptions & { replace?: boolean } & Abortable = {}): Promise<number> {
    return this.#async("export", { path, format, ...options });
  }
  /** Returns the session without secrets. */
  async redacted(options: RedactOptions & Abortable = {}): Promise<Session> {
    return new Session(await this.#async<NativeSession>("redacted", options));
  }
  /** Returns a report of the secrets that a redaction would replace. */
  redactionReport(options: RedactOptions & Abortable = {}): Promise<Report> {
    return this.#async("redactionReport", options);
  }
  /** Writes the session as a session of another agent. With `dryRun` nothing is written, and the path is not needed. */
  convert(dialect: Dialect, options: { path?: FilePath; pathTo?: Position; dryRun?: boolean } & Abortable): Promise<Report> {
    return this.#async("convert", { dialect, ...options });
  }
  /** Creates a session with the path to an entry. */
  async fork(options: ForkOptions & Abortable = {}): Promise<Session> {
    return new Session(await this.#async<NativeSession>("fork", options));
  }
  forkSync(options: ForkOptions = {}): Session {
    return new Session(this.#sync<NativeSession>("fork", options));
  }
  /** Copies the whole log to a new file. */
  copyTo(path: FilePath, options: Abortable = {}): Promise<void> {
    return this.#async("copyTo", { path, ...options });
  }

  // Closing.

  /** Closes the session. Running operations continue; later ones fail with `closed`. */
  close(): void {
    this.#native.close();
    this.removeAllListeners();
  }
  [Symbol.dispose](): void {
    this.close();
  }
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.sync();
    } finally {
      this.close();
    }
  }

  #listen(): void {
    if (this.#isListening) return;
    this.#isListening = true;
    const session = new WeakRef(this);
    this.#native.onChange((change) => session.deref()?.emit("change", JSON.parse(change)));
  }

  #sync<T>(operation: string, args?: Args, data?: string[], other?: Session): T {
    return callSession<T>(this.#native, operation, args, data, other?.native);
  }

  #async<T>(operation: string, args?: Args, data?: string[], other?: Session): Promise<T> {
    return callSessionAsync<T>(this.#native, operation, args, data, other?.native);
  }
}

function toJson(value: unknown): string {
  return JSON.stringify(value);
}

function optional(details: unknown): string[] | undefined {
  return details === undefined ? undefined : [JSON.stringify(details)];
}
