/** pi's compaction helpers: token estimates, cut points, preparations. They need no model. */
import { call, callSession } from "../call.js";
import type { NativeSession } from "../native.js";
import { sessionEntryToContextMessages } from "./messages.js";
import type { AgentMessage, SessionEntry, SessionProjection, Usage } from "./types.js";

/** The files that a part of a session read and changed. */
export interface FileOperations {
  read: Set<string>;
  written: Set<string>;
  edited: Set<string>;
}

/** The files of a compaction, as its entry lists them. */
export interface CompactionDetails {
  readFiles: string[];
  modifiedFiles: string[];
}

export interface CompactionSettings {
  enabled: boolean;
  reserveTokens: number;
  keepRecentTokens: number;
}

export const DEFAULT_COMPACTION_SETTINGS: CompactionSettings = { enabled: true, reserveTokens: 16384, keepRecentTokens: 20000 };

/** An estimate of the tokens of a context. */
export interface ContextUsageEstimate {
  tokens: number;
  /** The tokens that the last answer reported. */
  usageTokens: number;
  /** The estimated tokens after that answer. */
  trailingTokens: number;
  lastUsageIndex: number | null;
}

/** The point at which a path is cut. */
export interface CutPointResult {
  firstKeptEntryIndex: number;
  /** The start of the turn that is cut in two; -1 if none is. */
  turnStartIndex: number;
  isSplitTurn: boolean;
}

/** A compaction that can be carried out. */
export interface CompactionPreparation {
  firstKeptEntryId: string;
  messagesToSummarize: AgentMessage[];
  turnPrefixMessages: AgentMessage[];
  isSplitTurn: boolean;
  tokensBefore: number;
  previousSummary?: string;
  fileOps: FileOperations;
  settings: CompactionSettings;
}

/** Returns the size of the context that a request had. */
export function calculateContextTokens(usage: Usage): number {
  return usage.totalTokens || usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
}

/** Returns the usage of an answer that was completed. */
function usageOf(message: AgentMessage): Usage | undefined {
  if (message.role !== "assistant" || message.stopReason === "aborted" || message.stopReason === "error") return undefined;
  return message.usage && calculateContextTokens(message.usage) > 0 ? message.usage : undefined;
}

/** Returns the usage of the last answer that was completed. */
export function getLastAssistantUsage(entries: SessionEntry[]): Usage | undefined {
  for (const entry of entries.toReversed()) {
    const usage = entry.type === "message" ? usageOf(entry.message) : undefined;
    if (usage) return usage;
  }
  return undefined;
}

const sum = (messages: AgentMessage[]): number => messages.reduce((total, message) => total + estimateTokens(message), 0);

/** Estimates the tokens of messages: those that the last answer reported, and a token for four characters after it. */
export function estimateContextTokens(messages: AgentMessage[]): ContextUsageEstimate {
  const index = messages.findLastIndex((message) => usageOf(message) !== undefined);
  const trailingTokens = sum(messages.slice(index + 1));
  const usageTokens = index < 0 ? 0 : calculateContextTokens(usageOf(messages[index]!)!);
  return { tokens: usageTokens + trailingTokens, usageTokens, trailingTokens, lastUsageIndex: index < 0 ? null : index };
}

/** Estimates the tokens of a context. Reports of answers before an edit or a compaction do not count. */
export function estimateProjectedContextTokens(projection: SessionProjection, branchEntries: SessionEntry[]): ContextUsageEstimate {
  const estimate = estimateContextTokens(projection.messages);
  const changed = branchEntries.findLastIndex((entry) => entry.type === "context_edit" || entry.type === "compaction");
  if (estimate.lastUsageIndex !== null) {
    const answer = projection.messages[estimate.lastUsageIndex];
    const owner = projection.entries.find((entry) => entry.messages.includes(answer!))?.sourceEntry;
    if (owner && branchEntries.findIndex((entry) => entry.id === owner.id) > changed) return estimate;
  }
  // Of several prompts only the last one is sent.
  const prompt = projection.messages.findLast((message) => message.role === "system");
  const tokens = sum(projection.messages.filter((message) => message.role !== "system" || message === prompt));
  return { tokens, usageTokens: 0, trailingTokens: tokens, lastUsageIndex: null };
}

export function shouldCompact(contextTokens: number, contextWindow: number, settings: CompactionSettings): boolean {
  return settings.enabled && contextTokens > contextWindow - settings.reserveTokens;
}

/** The number of characters that an image counts for. */
const IMAGE = 4800;

function contentLength(content: unknown): number {
  if (typeof content === "string") return content.length;
  if (!Array.isArray(content)) return 0;
  const lengths = content.map((block) => (block.type === "image" ? IMAGE : block.type === "text" ? (block.text?.length ?? 0) : 0));
  return lengths.reduce((total, length) => total + length, 0);
}

function answerLength(content: unknown): number {
  if (!Array.isArray(content)) return contentLength(content);
  const lengths = content.map((block) => {
    if (block.type === "text") return block.text.length;
    if (block.type === "thinking") return block.thinking.length;
    return block.type === "toolCall" ? block.name.length + JSON.stringify(block.arguments).length : 0;
  });
  return lengths.reduce((total, length) => total + length, 0);
}

function lengthOf(message: AgentMessage): number {
  switch (message.role) {
    case "system": {
      const sections = Object.values((message.sections ?? {}) as Record<string, string | undefined>);
      const tools = message.toolsAdded ? JSON.stringify(message.toolsAdded).length : 0;
      return contentLength(message.content) + tools + sections.reduce((total, text) => total + (text?.length ?? 0), 0);
    }
    case "assistant":
      return answerLength(message.content);
    case "user":
    case "custom":
    case "toolResult":
      return contentLength(message.content);
    case "bashExecution":
      return message.command.length + message.output.length;
    case "branchSummary":
    case "compactionSummary":
      return message.summary.length;
    default:
      return 0;
  }
}

/** Estimates the tokens of a message: four characters a token. */
export function estimateTokens(message: AgentMessage): number {
  return Math.ceil(lengthOf(message) / 4);
}

const TURN_STARTS = new Set(["user", "bashExecution", "custom", "branchSummary", "compactionSummary"]);
const isTurnStart = (message: AgentMessage) => TURN_STARTS.has(message.role);
/** A result must stay with its call, so the cut is never before one. */
const isCutPoint = (message: AgentMessage) => isTurnStart(message) || message.role === "assistant";

const visible = (entry: SessionEntry): AgentMessage[] => (entry.type === "compaction" ? [] : sessionEntryToContextMessages(entry));

/** Returns the index of the entry that starts the turn of another; -1 if there is none. */
export function findTurnStartIndex(entries: SessionEntry[], entryIndex: number, startIndex: number): number {
  for (let index = entryIndex; index >= startIndex; index--) if (visible(entries[index]!).some(isTurnStart)) return index;
  return -1;
}

/** Finds where to cut entries so that about this number of tokens is kept. */
export function findCutPoint(entries: SessionEntry[], startIndex: number, endIndex: number, keepRecentTokens: number): CutPointResult {
  const candidates: number[] = [];
  for (let index = startIndex; index < endIndex; index++) if (visible(entries[index]!).some(isCutPoint)) candidates.push(index);
  if (candidates.length === 0) return { firstKeptEntryIndex: startIndex, turnStartIndex: -1, isSplitTurn: false };
  let cut = candidates[0]!;
  for (let index = endIndex - 1, kept = 0; index >= startIndex; index--) {
    const tokens = sum(sessionEntryToContextMessages(entries[index]!));
    kept += tokens;
    if (tokens === 0 || kept < keepRecentTokens) continue;
    cut = candidates.find((candidate) => candidate >= index) ?? candidates.at(-1)!;
    break;
  }
  // Settings and the like before the cut belong to what is kept.
  while (cut > startIndex && isInvisible(entries[cut - 1]!)) cut--;
  const startsTurn = visible(entries[cut]!).some(isTurnStart);
  const turnStartIndex = startsTurn ? -1 : findTurnStartIndex(entries, cut, startIndex);
  return { firstKeptEntryIndex: cut, turnStartIndex, isSplitTurn: turnStartIndex >= 0 };
}

const isInvisible = (entry: SessionEntry) => entry.type !== "compaction" && sessionEntryToContextMessages(entry).length === 0;

interface NativePlan {
  status: string;
  firstKept: string;
  isSplitTurn: boolean;
  tokensBefore: number;
  previousSummary: string | null;
  messagesToSummarize: AgentMessage[];
  turnPrefix: AgentMessage[];
  fileOps: { read: string[]; written: string[]; edited: string[] };
}

/** Plans the compaction of a path; undefined if there is nothing to compact. The library plans it. */
export function prepareCompaction(pathEntries: SessionEntry[], settings: CompactionSettings): CompactionPreparation | undefined {
  if (pathEntries.length === 0) return undefined;
  const session = call<NativeSession>("inMemory", { cwd: "/" });
  try {
    // A path is a chain, even if its beginning is missing.
    const records = pathEntries.map((entry, index) => JSON.stringify({ ...entry, parentId: pathEntries[index - 1]?.id ?? null }));
    callSession(session, "appendRecords", {}, records);
    const plan = callSession<NativePlan>(session, "planCompaction", { settings });
    if (plan.status !== "ready") return undefined;
    const { read, written, edited } = plan.fileOps;
    return {
      firstKeptEntryId: plan.firstKept,
      messagesToSummarize: plan.messagesToSummarize,
      turnPrefixMessages: plan.turnPrefix,
      isSplitTurn: plan.isSplitTurn,
      tokensBefore: plan.tokensBefore,
      ...(plan.previousSummary === null ? {} : { previousSummary: plan.previousSummary }),
      fileOps: { read: new Set(read), written: new Set(written), edited: new Set(edited) },
      settings,
    };
  } finally {
    session.close();
  }
}

export function createFileOps(): FileOperations {
  return { read: new Set(), written: new Set(), edited: new Set() };
}

/** Adds the files that the tool calls of a message name. */
export function extractFileOpsFromMessage(message: AgentMessage, fileOps: FileOperations): void {
  if (message.role !== "assistant" || !Array.isArray(message.content)) return;
  const sets: Record<string, Set<string> | undefined> = { read: fileOps.read, write: fileOps.written, edit: fileOps.edited };
  for (const block of message.content) {
    if (block?.type !== "toolCall" || typeof block.arguments?.path !== "string" || !block.arguments.path) continue;
    sets[block.name]?.add(block.arguments.path);
  }
}

/** Returns the files that were only read, and those that were changed, sorted. */
export function computeFileLists(fileOps: FileOperations): CompactionDetails {
  const modified = new Set([...fileOps.edited, ...fileOps.written]);
  return { readFiles: [...fileOps.read].filter((file) => !modified.has(file)).sort(), modifiedFiles: [...modified].sort() };
}

/** Returns lists of files in the form that they have at the end of a summary. */
export function formatFileOperations(readFiles: string[], modifiedFiles: string[]): string {
  const list = (tag: string, files: string[]) => (files.length === 0 ? "" : `\n\n<${tag}>\n${files.join("\n")}\n</${tag}>`);
  return list("read-files", readFiles) + list("modified-files", modifiedFiles);
}
