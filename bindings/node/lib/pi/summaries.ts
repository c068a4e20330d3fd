/** pi's summaries: what a model is asked for, and what becomes of its answer. */
import { call } from "../call.js";
import {
  type CompactionPreparation, computeFileLists, createFileOps, estimateTokens, extractFileOpsFromMessage, type FileOperations,
  formatFileOperations,
} from "./compaction.js";
import type { ReadonlySessionManager } from "./manager.js";
import { branchSummaryMessage, compactionSummaryMessage, projectContextEntry, textOf } from "./messages.js";
import type { AgentMessage, ContextEditEntry, SessionEntry, Usage } from "./types.js";

/** The model of pi's package that is asked; its members are pi's business. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Model = { contextWindow?: number; reasoning?: boolean; [member: string]: any };

/** Asks a model, as `completeSimple` of pi's package for models does. */
export type CompleteSimple = (
  model: Model,
  context: { systemPrompt: string; messages: AgentMessage[] },
  options: Record<string, unknown>,
) => Promise<AgentMessage>;

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
  signal: AbortSignal;
  thinkingLevel?: string;
  customInstructions?: string;
  replaceInstructions?: boolean;
  reserveTokens?: number;
}

/** The role that models have when they summarize. */
export const SUMMARIZATION_SYSTEM_PROMPT: string = call("summarizerRole");

/** The packages of pi in which the function that asks models may be. */
const PACKAGES = ["@earendil-works/pi-ai/compat", "@earendil-works/pi-ai", "@mariozechner/pi-ai"];
let completeSimple: CompleteSimple | undefined;

/** Sets the function that asks models; that of pi's package is used otherwise, if it is installed. */
export function setCompleteSimple(complete: CompleteSimple | undefined): void {
  completeSimple = complete;
}

async function completer(): Promise<CompleteSimple> {
  if (completeSimple) return completeSimple;
  for (const name of PACKAGES) {
    try {
      const found = ((await import(name)) as { completeSimple?: CompleteSimple }).completeSimple;
      if (found) return found;
    } catch {
      // Another package of the list may be installed.
    }
  }
  throw new Error(`no model can be asked: install ${PACKAGES.at(-1)}, or pass a function to setCompleteSimple`);
}

/** Returns a conversation as text, for a model that summarizes it. */
export function serializeConversation(messages: AgentMessage[]): string {
  return call("conversationText", {}, messages.map((message) => JSON.stringify(message)));
}

interface Request {
  model: Model;
  prompt: string;
  apiKey?: string | undefined;
  headers?: Record<string, string> | undefined;
  signal?: AbortSignal | undefined;
  thinkingLevel?: string | undefined;
  maxTokens?: number | undefined;
}

async function ask({ model, prompt, apiKey, headers, signal, thinkingLevel, maxTokens }: Request): Promise<AgentMessage> {
  const options: Record<string, unknown> = { apiKey, headers, signal, maxTokens };
  if (model.reasoning && thinkingLevel && thinkingLevel !== "off") options["reasoning"] = thinkingLevel;
  const messages = [{ role: "user", content: [{ type: "text", text: prompt }], timestamp: Date.now() }];
  return (await completer())(model, { systemPrompt: SUMMARIZATION_SYSTEM_PROMPT, messages }, options);
}

/** Returns why an answer is no summary. */
function failureOf(answer: AgentMessage): string | undefined {
  if (answer.stopReason === "error") return answer.errorMessage || "Unknown error";
  if (answer.stopReason === "length") return "the answer was cut off, so the summary is incomplete";
  const isCall = Array.isArray(answer.content) && answer.content.some((block: { type: string }) => block.type === "toolCall");
  return isCall ? "the model called a tool instead of summarizing" : undefined;
}

async function summary(request: Request, label: string): Promise<{ text: string; usage: Usage }> {
  const answer = await ask(request);
  const failure = failureOf(answer);
  if (failure) throw new Error(`${label} failed: ${failure}`);
  return { text: textOf(answer.content, "\n"), usage: answer.usage };
}

/** Asks a model for a summary of messages, or to bring an earlier summary up to date. */
export async function generateSummary(
  currentMessages: AgentMessage[], model: Model, reserveTokens: number | undefined, apiKey?: string, headers?: Record<string, string>,
  signal?: AbortSignal, customInstructions?: string, previousSummary?: string, thinkingLevel?: string,
): Promise<string> {
  const conversation = serializeConversation(currentMessages);
  const prompt = call<string>("summaryRequest", { conversation, previousSummary, instructions: customInstructions });
  const maxTokens = reserveTokens === undefined ? undefined : Math.floor(0.8 * reserveTokens);
  return (await summary({ model, prompt, apiKey, headers, signal, thinkingLevel, maxTokens }, "Summarization")).text;
}

/** Carries out a compaction that was prepared. */
export async function compact(
  preparation: CompactionPreparation, model: Model, apiKey?: string, headers?: Record<string, string>, customInstructions?: string,
  signal?: AbortSignal, thinkingLevel?: string,
): Promise<CompactionResult<BranchSummaryDetails>> {
  const { messagesToSummarize, turnPrefixMessages, previousSummary, firstKeptEntryId, tokensBefore, fileOps, settings } = preparation;
  const history =
    messagesToSummarize.length === 0 && preparation.isSplitTurn
      ? (previousSummary ?? "No prior history.")
      : await generateSummary(
          messagesToSummarize, model, settings.reserveTokens, apiKey, headers, signal, customInstructions, previousSummary, thinkingLevel,
        );
  let text = history;
  if (preparation.isSplitTurn && turnPrefixMessages.length > 0) {
    const conversation = serializeConversation(turnPrefixMessages);
    const prompt = call<string>("prefixRequest", { conversation, instructions: customInstructions });
    const maxTokens = Math.floor(0.5 * settings.reserveTokens);
    const prefix = await summary({ model, prompt, apiKey, headers, signal, thinkingLevel, maxTokens }, "Turn prefix summarization");
    text = `${history}\n\n---\n\n**Turn Context (split turn):**\n\n${prefix.text}`;
  }
  const details = computeFileLists(fileOps);
  return { summary: text + formatFileOperations(details.readFiles, details.modifiedFiles), firstKeptEntryId, tokensBefore, details };
}

/** Returns the entries that are left when the leaf goes from one entry to another. */
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
      // What a tool returned is told by the calls that follow.
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
    // A summary stands for much and may take a little more than what is left.
    const isSummary = entry.type === "compaction" || entry.type === "branch_summary";
    if (isOver && !(isSummary && totalTokens < tokenBudget * 0.9)) break;
    messages.push(message);
    totalTokens += tokens;
    if (isOver) break;
  }
  return { messages: messages.reverse(), fileOps, totalTokens };
}

/** Asks a model for a summary of a branch that is left. */
export async function generateBranchSummary(entries: SessionEntry[], options: GenerateBranchSummaryOptions): Promise<BranchSummaryResult> {
  const { model, customInstructions, replaceInstructions, reserveTokens = 16384 } = options;
  const { messages, fileOps } = prepareBranchEntries(entries, (model.contextWindow || 128000) - reserveTokens);
  if (messages.length === 0) return { summary: "No content to summarize" };
  const conversation = serializeConversation(messages);
  const prompt = call<string>("branchRequest", { conversation, instructions: customInstructions, replaceInstructions });
  const answer = await ask({ ...options, prompt });
  if (answer.stopReason === "aborted") return { aborted: true };
  const failure = failureOf(answer);
  if (failure) return { error: `Branch summarization failed: ${failure}` };
  const { readFiles, modifiedFiles } = computeFileLists(fileOps);
  const text = call<string>("branchPreamble") + textOf(answer.content, "\n") + formatFileOperations(readFiles, modifiedFiles);
  return { summary: text, usage: answer.usage, readFiles, modifiedFiles };
}
