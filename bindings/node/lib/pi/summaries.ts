/** pi's summaries: the requests to a model, and the summaries made from its answers. */
import { call } from "../call.js";
import {
  type CompactionPreparation, computeFileLists, createFileOps, estimateTokens, extractFileOpsFromMessage, type FileOperations,
  formatFileOperations,
} from "./compaction.js";
import type { ReadonlySessionManager } from "./manager.js";
import { ask, getSummarizationFailure, type Model, type RetryCallbacks, type RetryPolicy, type StreamFn, type SummaryRequest } from "./models.js";
import { branchSummaryMessage, compactionSummaryMessage, projectContextEntry, textOf } from "./messages.js";
import type { AgentMessage, ContextEditEntry, SessionEntry, Usage } from "./types.js";

/** The result of a compaction, for `appendCompaction`. */
export interface CompactionResult<T = unknown> {
  summary: string;
  firstKeptEntryId: string;
  tokensBefore: number;
  details?: T;
  usage?: Usage;
}

export interface BranchSummaryResult {
  summary?: string;
  usage?: Usage;
  readFiles?: string[];
  modifiedFiles?: string[];
  aborted?: boolean;
  error?: string;
}

export interface BranchSummaryDetails {
  readFiles: string[];
  modifiedFiles: string[];
}

export interface BranchPreparation {
  messages: AgentMessage[];
  fileOps: FileOperations;
  totalTokens: number;
}

export interface CollectEntriesResult {
  entries: SessionEntry[];
  commonAncestorId: string | null;
}

export interface GenerateBranchSummaryOptions {
  model: Model;
  apiKey?: string;
  headers?: Record<string, string>;
  /** Values of the environment that the model's provider gets. */
  env?: Record<string, string>;
  signal: AbortSignal;
  thinkingLevel?: string;
  customInstructions?: string;
  replaceInstructions?: boolean;
  reserveTokens?: number;
  /** Asks the model in place of pi's package. */
  streamFn?: StreamFn;
  retry?: RetryPolicy;
  callbacks?: RetryCallbacks;
}

/** Returns a conversation as text, for a model that summarizes it. */
export function serializeConversation(messages: AgentMessage[]): string {
  return call("conversationText", {}, messages.map((message) => JSON.stringify(message)));
}

type SummaryOptions = Omit<SummaryRequest, "model" | "prompt">;

/** The arguments of `generateSummary` from the fifth on. */
type Rest = [
  headers?: Record<string, string>,
  signal?: AbortSignal,
  customInstructions?: string,
  previousSummary?: string,
  thinkingLevel?: string,
  streamFn?: StreamFn,
  env?: Record<string, string>,
  retry?: RetryPolicy,
  callbacks?: RetryCallbacks,
  sessionId?: string,
];

/** The same in pi 0.58 and earlier. */
type EarlyRest = [signal?: AbortSignal, customInstructions?: string, previousSummary?: string];

function isEarly(rest: Rest | EarlyRest): rest is EarlyRest {
  return rest[0] instanceof AbortSignal || typeof rest[1] === "string";
}

async function summary(request: SummaryRequest, label: string): Promise<{ text: string; usage: Usage }> {
  const answer = await ask(request);
  const failure = getSummarizationFailure(answer, label);
  if (failure) throw new Error(failure);
  return { text: textOf(answer.content, "\n"), usage: answer.usage };
}

function historySummary(
  messages: AgentMessage[], model: Model, previousSummary: string | undefined, instructions: string | undefined, options: SummaryOptions,
): Promise<{ text: string; usage: Usage }> {
  const prompt = call<string>("summaryRequest", { conversation: serializeConversation(messages), previousSummary, instructions });
  return summary({ model, prompt, ...options }, "Summarization");
}

/** Asks a model for a summary of messages, or to bring an earlier summary up to date. */
export async function generateSummary(
  currentMessages: AgentMessage[], model: Model, reserveTokens: number | undefined, apiKey?: string, ...rest: Rest | EarlyRest
): Promise<string> {
  return (await generateSummaryWithUsage(currentMessages, model, reserveTokens, apiKey, ...rest)).text;
}

/** Like `generateSummary`, and returns what the request used. */
export async function generateSummaryWithUsage(
  currentMessages: AgentMessage[], model: Model, reserveTokens: number | undefined, apiKey?: string, ...rest: Rest | EarlyRest
): Promise<{ text: string; usage: Usage }> {
  const all: Rest = isEarly(rest) ? [undefined, ...rest] : rest;
  const [headers, signal, customInstructions, previousSummary, thinkingLevel, streamFn, env, retry, callbacks, sessionId] = all;
  const maxTokens = reserveTokens === undefined ? undefined : Math.floor(0.8 * reserveTokens);
  const options = { apiKey, headers, env, signal, thinkingLevel, maxTokens, streamFn, retry, callbacks, sessionId };
  return historySummary(currentMessages, model, previousSummary, customInstructions, options);
}

/** Runs a prepared compaction. The fourth and fifth argument may also be instructions and a signal, as in pi 0.58. */
export async function compact(
  preparation: CompactionPreparation, model: Model, apiKey?: string, headers?: Record<string, string> | string,
  customInstructions?: string | AbortSignal, signal?: AbortSignal, thinkingLevel?: string, streamFn?: StreamFn, env?: Record<string, string>,
  retry?: RetryPolicy, callbacks?: RetryCallbacks, sessionId?: string,
): Promise<CompactionResult<BranchSummaryDetails>> {
  if (typeof headers === "string" || customInstructions instanceof AbortSignal) {
    return compact(preparation, model, apiKey, undefined, headers as string | undefined, customInstructions as AbortSignal | undefined);
  }
  const { messagesToSummarize, turnPrefixMessages, previousSummary, firstKeptEntryId, tokensBefore, fileOps, settings } = preparation;
  const options = { apiKey, headers, env, signal, thinkingLevel, streamFn, retry, callbacks, sessionId };
  const limit = (part: number) => ({ ...options, maxTokens: Math.floor(part * settings.reserveTokens) });
  const isSplit = preparation.isSplitTurn && turnPrefixMessages.length > 0;
  const history: { text: string; usage?: Usage } =
    isSplit && messagesToSummarize.length === 0
      ? { text: previousSummary ?? "No prior history." }
      : await historySummary(messagesToSummarize, model, previousSummary, customInstructions, limit(0.8));
  let { text, usage } = history;
  if (isSplit) {
    const conversation = serializeConversation(turnPrefixMessages);
    const prompt = call<string>("prefixRequest", { conversation, instructions: customInstructions });
    const prefix = await summary({ model, prompt, ...limit(0.5) }, "Turn prefix summarization");
    text = `${text}\n\n---\n\n**Turn Context (split turn):**\n\n${prefix.text}`;
    usage = usage ? addUsage(usage, prefix.usage) : prefix.usage;
  }
  const details = computeFileLists(fileOps);
  const whole = text + formatFileOperations(details.readFiles, details.modifiedFiles);
  return { summary: whole, firstKeptEntryId, tokensBefore, ...(usage ? { usage } : {}), details };
}

/** Returns the sum of the usage of two requests. */
function addUsage(one: Usage, other: Usage): Usage {
  const sum: Record<string, unknown> = { ...one };
  for (const [name, value] of Object.entries(other ?? {})) {
    const before = sum[name];
    if (typeof value === "number") sum[name] = (typeof before === "number" ? before : 0) + value;
    else if (value !== null && typeof value === "object") sum[name] = addUsage((before ?? {}) as Usage, value as Usage);
    else sum[name] ??= value;
  }
  return sum as Usage;
}

/** Returns the entries that are abandoned when the leaf moves from one entry to another. */
export function collectEntriesForBranchSummary(session: ReadonlySessionManager, oldLeafId: string | null, targetId: string): CollectEntriesResult {
  if (!oldLeafId) return { entries: [], commonAncestorId: null };
  const left = session.getBranch(oldLeafId);
  const kept = new Set(session.getBranch(targetId).map((entry) => entry.id));
  const common = left.findLastIndex((entry) => kept.has(entry.id));
  return { entries: left.slice(common + 1), commonAncestorId: left[common]?.id ?? null };
}

function messageOf(entry: SessionEntry, edit: ContextEditEntry | undefined): AgentMessage | undefined {
  switch (entry.type) {
    case "message":
      // The calls that follow show what a tool returned.
      return entry.message.role === "toolResult" ? undefined : projectContextEntry(entry, edit)[0];
    case "custom_message":
      return projectContextEntry(entry, edit)[0];
    case "branch_summary":
      return branchSummaryMessage(entry.summary, entry.fromId, entry.timestamp);
    case "compaction":
      return compactionSummaryMessage(entry.summary, entry.tokensBefore, entry.timestamp);
    default:
      return undefined;
  }
}

/** Returns the messages of a branch that fit into a budget, the last ones first, and the files of all of it. */
export function prepareBranchEntries(entries: SessionEntry[], tokenBudget = 0): BranchPreparation {
  const fileOps = createFileOps();
  const edits = new Map<string, ContextEditEntry>();
  for (const entry of entries) {
    if (entry.type === "context_edit") edits.set(entry.targetId, entry);
    if (entry.type !== "branch_summary" || entry.fromHook) continue;
    const { readFiles, modifiedFiles } = (entry.details ?? {}) as Partial<BranchSummaryDetails>;
    for (const file of Array.isArray(readFiles) ? readFiles : []) fileOps.read.add(file);
    for (const file of Array.isArray(modifiedFiles) ? modifiedFiles : []) fileOps.edited.add(file);
  }
  const messages: AgentMessage[] = [];
  let totalTokens = 0;
  for (const entry of entries.toReversed()) {
    const message = messageOf(entry, edits.get(entry.id));
    if (!message) continue;
    extractFileOpsFromMessage(message, fileOps);
    const tokens = estimateTokens(message);
    const isOver = tokenBudget > 0 && totalTokens + tokens > tokenBudget;
    // A summary replaces many messages and may exceed the budget a little.
    const isSummary = entry.type === "compaction" || entry.type === "branch_summary";
    if (isOver && !(isSummary && totalTokens < tokenBudget * 0.9)) break;
    messages.push(message);
    totalTokens += tokens;
    if (isOver) break;
  }
  return { messages: messages.reverse(), fileOps, totalTokens };
}

/** Asks a model for a summary of an abandoned branch. */
export async function generateBranchSummary(entries: SessionEntry[], options: GenerateBranchSummaryOptions): Promise<BranchSummaryResult> {
  const { model, customInstructions, replaceInstructions, reserveTokens = 16384 } = options;
  const { messages, fileOps } = prepareBranchEntries(entries, (model.contextWindow || 128000) - reserveTokens);
  if (messages.length === 0) return { summary: "No content to summarize" };
  const conversation = serializeConversation(messages);
  const prompt = call<string>("branchRequest", { conversation, instructions: customInstructions, replaceInstructions });
  const answer = await ask({ ...options, prompt });
  if (answer.stopReason === "aborted") return { aborted: true };
  const failure = getSummarizationFailure(answer, "Branch summarization");
  if (failure) return { error: failure };
  const { readFiles, modifiedFiles } = computeFileLists(fileOps);
  const text = call<string>("branchPreamble") + textOf(answer.content, "\n") + formatFileOperations(readFiles, modifiedFiles);
  return { summary: text, usage: answer.usage, readFiles, modifiedFiles };
}
