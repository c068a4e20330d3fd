/** The plain objects that calls take and return. */

/** An agent whose sessions treering reads, and the form in which it writes them. */
export type Dialect = "pi" | "uuid" | "tau" | "omp" | "chimera" | "operator" | "claude-code" | "codex" | (string & {});

/** The guarantee of an append when it returns. */
export type Durability = "none" | "batched" | "each";

/** The time at which the file of a new session is created. */
export type Creation = "first-message" | "first-assistant-message" | "at-once";

/** The path of a file or directory, or its `file:` URL. */
export type FilePath = string | URL;

/** A position in a session: the id of an entry, or null for the start. */
export type Position = string | null;

/** A message, in the shape that pi gives it. */
export interface Message {
  role: string;
  content?: unknown;
  timestamp?: number;
  [member: string]: unknown;
}

/** An entry of a session, in the shape that pi gives it. */
export interface Entry {
  type: string;
  id: string;
  parentId: string | null;
  timestamp: string;
  message?: Message;
  [member: string]: unknown;
}

/** An entry to append: id, parent (the leaf) and time are added unless they are there. */
export interface NewEntry {
  type: string;
  id?: string;
  parentId?: string | null;
  timestamp?: string;
  [member: string]: unknown;
}

/** Facts about an open session. */
export interface SessionFacts {
  id: string;
  path: string | null;
  cwd: string;
  dialect: Dialect;
  name: string | null;
  leaf: string | null;
  entryCount: number;
  logLength: number;
  isWritten: boolean;
  isWritable: boolean;
}

/** A session in a list. Times are in Unix milliseconds. */
export interface SessionInfo {
  id: string;
  path: string;
  agent: Dialect;
  name: string | null;
  title: string;
  cwd: string;
  created: number | null;
  modified: number;
  parentSession: string | null;
  firstMessage: string;
  entryCount: number;
  messageCount: number;
  branchCount: number;
  compactionCount: number;
  findingCount: number;
  size: number;
  tokens: number | null;
  cost: number | null;
  isPartial: boolean;
}

/** Sessions of directories. */
export interface Listing {
  sessions: SessionInfo[];
  skipped: { path: string; message: string }[];
}

/** A page of a store's sessions. */
export interface Page {
  sessions: SessionInfo[];
  /** The cursor of the next page; null if this is the last. */
  next: string | null;
}

/** The changes of a store since a mark. */
export interface StoreChanges {
  mark: string;
  sessions: { id: string; length: number | null }[];
}

/** A model. */
export interface Model {
  provider: string | null;
  modelId: string | null;
}

/** The messages that a model sees, and the settings on the way there. */
export interface Context {
  messages: Message[];
  thinkingLevel: string;
  model: Model | null;
}

/** A change that was made so that a provider accepts a context. */
export interface ContextRepair {
  entry: string;
  message: string;
}

/** The messages as providers know them, every call with its result. */
export interface LlmContext {
  messages: Message[];
  repairs: ContextRepair[];
}

/** The body of a request to a provider. */
export interface ProviderRequest {
  request: Record<string, unknown>;
  repairs: ContextRepair[];
}

/** A tool that a model may call. */
export interface Tool {
  name: string;
  description?: string;
  inputSchema: object;
}

/** A node of a tree. */
export interface TreeNode {
  id: string;
  kind: string;
  role: string | null;
  label: string | null;
  labelTime: number | null;
  children: TreeNode[];
}

/** A label of an entry. */
export interface Label {
  id: string;
  label: string;
  time: number | null;
}

/** An estimate of the tokens of a context. */
export interface ContextTokens {
  tokens: number;
  usageTokens: number;
  trailingTokens: number;
}

/** Settings of compactions. */
export interface CompactionSettings {
  enabled?: boolean;
  reserveTokens?: number;
  keepRecentTokens?: number;
  /** Settings of single models, by `provider/model`. */
  models?: Record<string, { reserveTokens?: number; keepRecentTokens?: number }>;
}

/** The files that a part of a session read and changed. */
export interface FileOps {
  read: string[];
  written: string[];
  edited: string[];
}

/** A planned compaction, with the requests for its summary. */
export interface CompactionPlan {
  status: "ready";
  firstKept: string;
  leaf: string;
  isSplitTurn: boolean;
  tokensBefore: number;
  tokensKept: number;
  saving: number;
  previousSummary: string | null;
  messagesToSummarize: Message[];
  turnPrefix: Message[];
  fileOps: FileOps;
  historyRequest: string | null;
  prefixRequest: string | null;
}

/** The reason why there is nothing to compact. */
export interface NoCompaction {
  status: "already-compacted" | "too-small";
}

/** A branch that a move of the leaf abandons. */
export interface AbandonedBranch {
  commonAncestor: string | null;
  entries: string[];
  messages: Message[];
  totalTokens: number;
  fileOps: FileOps;
  conversation: string;
  request: string;
}

/** A context edit. */
export type ContextEdit =
  | { action: "drop"; ids: string[] }
  | { action: "restore"; ids: string[] }
  | { action: "replace"; ids: [string]; text: string };

/** The effect of a context edit. */
export interface EditPlan {
  leaf: string | null;
  targets: string[];
  companions: string[];
  tokensBefore: number;
  tokensAfter: number;
}

/** Entries to pick: one, or a range on one path. */
export type Selection = { id: string } | { first: string; last: string };

/** The effect of a cherry-pick. */
export interface PickPlan {
  target: string | null;
  entries: string[];
  companions: string[];
  leftOut: string[];
  skipped: { entry: string; copy: string }[];
  unanswered: { entry: string; call: string }[];
  tokens: number;
}

/** A planned merge: the entries of a branch that another lacks. */
export interface MergePlan {
  source: string;
  target: string | null;
  base: string | null;
  commonAncestor: string | null;
  entries: string[];
  messages: Message[];
  totalTokens: number;
  fileOps: FileOps;
  isContinuation: boolean;
  conversation: string;
  copies: PickPlan;
}

/** The entries that a merge wrote. */
export interface Merged {
  record: string;
  copies: string[];
}

/** Tokens and money. */
export interface Usage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  total: number;
  requests: number;
  [member: string]: unknown;
}

/** Counts and usage of a session or a part of it. */
export interface Stats {
  entries: number;
  branches: number;
  compactions: number;
  usage: Usage;
  active: Usage;
  abandoned: Usage;
  byModel: Record<string, Usage>;
  [member: string]: unknown;
}

/** A branch of a session. */
export interface Branch {
  leaf: string;
  isActive: boolean;
  entries: number;
  usage: Usage;
  [member: string]: unknown;
}

/** One side of a comparison. */
export interface DiffSide {
  entries: string[];
  messages: number;
  tokens: number;
  fileOps: FileOps;
  usage: Usage;
}

/** The comparison of two branches since their common ancestor. */
export interface Diff {
  commonAncestor: string | null;
  a: DiffSide;
  b: DiffSide;
}

/** A finding: a problem in a session. */
export interface Finding {
  code: string;
  severity: "note" | "warning" | "error";
  line: number | null;
  message: string;
  [member: string]: unknown;
}

/** All findings of a file. */
export interface Diagnosis {
  path: string;
  dialect: Dialect;
  size: number;
  entries: number;
  isHealthy: boolean;
  findings: Finding[];
  [member: string]: unknown;
}

/** A report whose fields are described in the documentation of the Rust library. */
export type Report = Record<string, unknown>;

/** A change of a session. */
export interface Change {
  /** The new entries. */
  entries: string[];
  /** Whether this session appended them. */
  isOwn: boolean;
}

/** The formats of exports. */
export type ExportFormat = "html" | "markdown" | "json" | "jsonl";

/** Options of exports. */
export interface ExportOptions {
  /** Only the path to this entry. */
  branch?: Position;
  /** Only this entry and everything below it. */
  subtree?: string;
  /** Only the path to the leaf. */
  active?: boolean;
  /** Everything, however long. */
  full?: boolean;
  /** Leaves thinking out. */
  withoutThinking?: boolean;
}

/** Options of searches. */
export interface SearchOptions {
  caseSensitive?: boolean;
  byRelevance?: boolean;
  maxHits?: number;
  hitsPerSession?: number;
  snippetWidth?: number;
}

/** A place where a session has the words that were searched for. */
export interface SearchHit {
  entry: string | null;
  kind: string;
  role: string | null;
  pieces: { text: string; isMatch: boolean }[];
  [member: string]: unknown;
}

/** The hits of a session. */
export interface SessionHits {
  info?: SessionInfo;
  hits: SearchHit[];
  total: number;
  [member: string]: unknown;
}

/** The result of a search over many sessions. */
export interface SearchResult {
  sessions: SessionHits[];
  unreadable: { path: string; message: string }[];
  files: number;
  bytes: number;
  hits: number;
}

/** Options of redactions. */
export interface RedactOptions {
  emails?: boolean;
  home?: boolean;
  /** Further regular expressions, by name. */
  patterns?: Record<string, string>;
}

/** Options of a new session. */
export interface CreateOptions {
  id?: string;
  dialect?: Dialect;
  parentSession?: string;
  systemPrompt?: string;
  creation?: Creation;
  durability?: Durability;
}

/** Options of a fork. */
export interface ForkOptions {
  /** The entry that the fork ends with; the leaf unless it is given. */
  at?: Position;
  cwd?: FilePath;
  dir?: FilePath;
  root?: FilePath;
  dialect?: Dialect;
  id?: string;
  creation?: Creation;
  durability?: Durability;
}
