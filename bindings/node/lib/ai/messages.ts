/** Converts UI messages of the AI SDK to entries of a session, and back. */
import type { Entry, Message, NewEntry } from "../types.js";

/** A part of a UI message. */
export interface UIPart {
  type: string;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  [member: string]: any;
}

/** A UI message of the AI SDK. */
export interface UIMessageLike {
  id: string;
  role: "system" | "user" | "assistant";
  metadata?: unknown;
  parts: readonly { type: string }[];
}

/** The member of an entry with the UI message that was saved as this entry and those after it. */
const MEMBER = "uiMessage";

/** Returns the UI message that begins with an entry. */
export function uiMessageOf<M extends UIMessageLike>(entry: Entry): M | undefined {
  return entry[MEMBER] as M | undefined;
}

/**
 * Returns the entries of a UI message. The first holds the message itself; what they say besides is what models, exports
 * and searches read. An answer with tools becomes several: each step with its calls, and the results.
 */
export function entriesOf(message: UIMessageLike): NewEntry[] {
  const parts = message.parts as readonly UIPart[];
  const messages = message.role === "assistant" ? answer(parts) : [{ role: message.role, content: blocks(parts) }];
  const timestamp = Date.now();
  return messages.map((content, index) => ({
    type: "message",
    message: { ...content, timestamp },
    ...(index === 0 ? { [MEMBER]: message } : {}),
  }));
}

/** Returns the steps of an answer, each followed by the results of its calls. */
function answer(parts: readonly UIPart[]): Message[] {
  const messages: Message[] = [];
  let content: object[] = [];
  let results: Message[] = [];
  const end = () => {
    if (content.length > 0 || messages.length === 0) messages.push({ role: "assistant", content });
    messages.push(...results);
    content = [];
    results = [];
  };
  for (const part of parts) {
    // Content after a result belongs to the next step, whether the SDK marked its start or not.
    if (part.type === "step-start" ? content.length > 0 : results.length > 0 && !isTool(part)) end();
    if (!isTool(part)) {
      content.push(...blocks([part]));
      continue;
    }
    const name = part.type === "dynamic-tool" ? part["toolName"] : part.type.slice("tool-".length);
    content.push({ type: "toolCall", id: part["toolCallId"], name, arguments: part["input"] ?? {} });
    const result = resultOf(part, name);
    if (result) results.push(result);
  }
  end();
  return messages;
}

const isTool = (part: UIPart) => part.type === "dynamic-tool" || part.type.startsWith("tool-");

function resultOf(part: UIPart, toolName: string): Message | undefined {
  const isError = part["state"] === "output-error";
  if (!isError && part["state"] !== "output-available") return undefined;
  const output = isError ? part["errorText"] : part["output"];
  const text = typeof output === "string" ? output : (JSON.stringify(output) ?? "");
  return { role: "toolResult", toolCallId: part["toolCallId"], toolName, content: [{ type: "text", text }], isError };
}

/** Returns parts as blocks of content. Parts that no model sees are in the UI message alone. */
function blocks(parts: readonly UIPart[]): object[] {
  return parts.flatMap((part): object[] => {
    if (part.type === "text") return [{ type: "text", text: part["text"] }];
    if (part.type === "reasoning") return [{ type: "thinking", thinking: part["text"] }];
    if (part.type !== "file") return [];
    const [, mimeType, data] = /^data:(image\/[^;,]+);base64,(.*)$/s.exec(String(part["url"])) ?? [];
    if (data !== undefined) return [{ type: "image", data, mimeType }];
    return [{ type: "text", text: `[${part["filename"] ?? "file"}: ${part["mediaType"] ?? "unknown type"}]` }];
  });
}
