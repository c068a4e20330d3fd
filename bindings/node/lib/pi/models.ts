/** Asks models for summaries: with a session's own stream function, or with pi's package for models. */
import { randomUUID } from "node:crypto";
import { call } from "../call.js";
import { getCompatibility } from "./compatibility.js";
import type { AgentMessage } from "./types.js";

/** A model of pi's package, which defines its members. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Model = { contextWindow?: number; reasoning?: boolean; [member: string]: any };

/** A request to a model. pi 1.x passes transcripts, whose first message is the system prompt. */
export interface ModelContext {
  systemPrompt?: string;
  messages: AgentMessage[];
}

/** Asks a model, as `completeSimple` of pi's package for models does. */
export type CompleteSimple = (
  model: Model,
  context: { systemPrompt: string; messages: AgentMessage[] },
  options: Record<string, unknown>,
) => Promise<AgentMessage>;

/** Asks a model, as the stream function of pi's agent does. */
export type StreamFn = (model: Model, context: ModelContext, options: Record<string, unknown>) => ModelStream | Promise<ModelStream>;

/** The answer of a stream function. */
export interface ModelStream {
  result(): Promise<AgentMessage>;
}

/** The options for repeating failed requests. */
export interface RetryPolicy {
  enabled: boolean;
  maxRetries: number;
  baseDelayMs: number;
  maxAgentDelayMs?: number;
}

/** Functions that are called around repeated requests. */
export interface RetryCallbacks {
  onRetryScheduled?: (attempt: number, maxAttempts: number, delayMs: number, errorMessage: string) => void | Promise<void>;
  onRetryAttemptStart?: () => void | Promise<void>;
  onRetryFinished?: (success: boolean, attempt: number, finalError?: string) => void | Promise<void>;
}

/** The role that models have when they summarize. */
export const SUMMARIZATION_SYSTEM_PROMPT: string = call("summarizerRole");

/** The packages of pi in which the functions that ask models may be. */
const PACKAGES = ["@earendil-works/pi-ai/compat", "@earendil-works/pi-ai", "@mariozechner/pi-ai"];
let completeSimple: CompleteSimple | undefined;

/** Sets the function that asks models; that of pi's package is used otherwise, if it is installed. */
export function setCompleteSimple(complete: CompleteSimple | undefined): void {
  completeSimple = complete;
}

/** Returns a function of pi's package for models; undefined if the package is not installed or does not have it. */
async function fromPackages<F>(name: string): Promise<F | undefined> {
  for (const path of PACKAGES) {
    try {
      const found = ((await import(path)) as Record<string, unknown>)[name];
      if (found) return found as F;
    } catch {
      // Another package of the list may be installed.
    }
  }
  return undefined;
}

async function completer(): Promise<CompleteSimple> {
  const found = completeSimple ?? (await fromPackages<CompleteSimple>("completeSimple"));
  if (found) return found;
  throw new Error(`no model can be asked: install ${PACKAGES.at(-1)}, or pass a function to setCompleteSimple`);
}

type Retry = (
  produce: () => Promise<AgentMessage>, policy: RetryPolicy, signal: AbortSignal | undefined, callbacks: RetryCallbacks | undefined,
) => Promise<AgentMessage>;

/**
 * Asks a model for a summary. `streamFn` is preferred to pi's package. `retry` is applied by pi's package, whose rules say
 * which failures are transient; without the package every request is sent once.
 */
export async function completeSummarization(
  model: Model, context: ModelContext, options: Record<string, unknown>, streamFn?: StreamFn, retry?: RetryPolicy, callbacks?: RetryCallbacks,
): Promise<AgentMessage> {
  const request = { ...options, cacheRetention: "none", sessionId: options["sessionId"] ?? randomUUID() };
  const produce = async () =>
    streamFn
      ? (await streamFn(model, asTranscript(context), request)).result()
      : (await completer())(model, context as { systemPrompt: string; messages: AgentMessage[] }, request);
  const retried = retry?.enabled ? await fromPackages<Retry>("retryAssistantCall") : undefined;
  return retry && retried ? retried(produce, retry, options["signal"] as AbortSignal | undefined, callbacks) : produce();
}

/** Returns a request with the system prompt as its first message, as stream functions expect it. */
function asTranscript({ systemPrompt, messages }: ModelContext): ModelContext {
  return { messages: systemPrompt ? [{ role: "system", content: systemPrompt, timestamp: 0 }, ...messages] : messages };
}

/** Returns why an answer is no summary that may be kept; undefined if it is one. */
export function getSummarizationFailure(answer: AgentMessage, label: string): string | undefined {
  if (answer.stopReason === "error") return `${label} failed: ${answer.errorMessage || "Unknown error"}`;
  if (answer.stopReason === "length") return `${label} failed: the answer was cut off, so the summary is incomplete`;
  const isCall = Array.isArray(answer.content) && answer.content.some((block: { type: string }) => block.type === "toolCall");
  return isCall ? `${label} failed: the model called a tool instead of summarizing` : undefined;
}

/** A request for a summary, and the options for sending it. */
export interface SummaryRequest {
  model: Model;
  prompt: string;
  apiKey?: string | undefined;
  headers?: Record<string, string> | undefined;
  env?: Record<string, string> | undefined;
  signal?: AbortSignal | undefined;
  thinkingLevel?: string | undefined;
  /** The limit of the answer, where a part of the reserved tokens limits it. */
  maxTokens?: number | undefined;
  streamFn?: StreamFn | undefined;
  retry?: RetryPolicy | undefined;
  callbacks?: RetryCallbacks | undefined;
  sessionId?: string | undefined;
}

/** Asks a model for a summary, by the rules of the compatibility that is set. */
export async function ask(request: SummaryRequest): Promise<AgentMessage> {
  const { model, prompt, apiKey, headers, env, signal, thinkingLevel, maxTokens, streamFn, retry, callbacks, sessionId } = request;
  const isLimited = getCompatibility().summaryLimit === "reserve";
  const level = thinkingLevel ?? (isLimited ? "high" : undefined);
  const options: Record<string, unknown> = { apiKey, headers, env, signal, sessionId };
  if (isLimited && maxTokens !== undefined) options["maxTokens"] = maxTokens;
  if (model.reasoning && level && level !== "off") options["reasoning"] = level;
  const messages = [{ role: "user", content: [{ type: "text", text: prompt }], timestamp: Date.now() }];
  return completeSummarization(model, { systemPrompt: SUMMARIZATION_SYSTEM_PROMPT, messages }, options, streamFn, retry, callbacks);
}
