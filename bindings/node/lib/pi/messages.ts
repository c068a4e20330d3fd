/** Converts entries to messages. */
import type { AgentMessage, ContextEditEntry, MessageContent, SessionEntry } from "./types.js";

const millis = (timestamp: string): number => new Date(timestamp).getTime();

/** Roles whose content a context edit may replace. */
const EDITABLE = new Set(["user", "assistant", "toolResult", "custom"]);
/** Roles whose content is always a list of blocks. */
const BLOCKS = new Set(["assistant", "toolResult"]);

/** Returns the messages that an entry contributes to a context. */
export function sessionEntryToContextMessages(entry: SessionEntry): AgentMessage[] {
  switch (entry.type) {
    case "message":
      return [withContent(entry.message)];
    case "custom_message": {
      const { customType, content, display, details } = entry;
      return [{ role: "custom", customType, content: content ?? [], display, details, timestamp: millis(entry.timestamp) }];
    }
    case "branch_summary":
      return entry.summary ? [branchSummaryMessage(entry.summary, entry.fromId, entry.timestamp)] : [];
    case "compaction": {
      const summary = compactionSummaryMessage(entry.summary, entry.tokensBefore, entry.timestamp);
      return entry.systemMessage ? [entry.systemMessage, summary] : [summary];
    }
    default:
      return [];
  }
}

export function branchSummaryMessage(summary: string, fromId: string, timestamp: string): AgentMessage {
  return { role: "branchSummary", summary, fromId, timestamp: millis(timestamp) };
}

export function compactionSummaryMessage(summary: string, tokensBefore: number, timestamp: string): AgentMessage {
  return { role: "compactionSummary", summary, tokensBefore, timestamp: millis(timestamp) };
}

/** Files that were edited by hand may have messages without content. */
function withContent(message: AgentMessage): AgentMessage {
  if (message.content !== null && message.content !== undefined) return message;
  if (message.role === "system") return { ...message, content: "" };
  const hasContent = message.role === "user" || message.role === "assistant" || message.role === "toolResult";
  return hasContent ? { ...message, content: [] } : message;
}

/** Returns the messages of an entry after a context edit. */
export function projectContextEntry(entry: SessionEntry, edit: ContextEditEntry | undefined): AgentMessage[] {
  const messages = sessionEntryToContextMessages(entry);
  if (!edit) return messages;
  const { replacement } = edit;
  if (replacement === null) return [];
  return messages.map((message) =>
    EDITABLE.has(message.role) ? { ...message, content: contentFor(message.role, replacement.content) } : message,
  );
}

/** Returns content in the form that a role needs. */
export function contentFor(role: string, content: MessageContent): MessageContent {
  return BLOCKS.has(role) && typeof content === "string" ? [{ type: "text", text: content }] : content;
}

/** Returns the text in the content of a message. */
export function textOf(content: unknown, separator = " "): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.filter((block) => block?.type === "text").map((block) => block.text).join(separator);
}

/** Returns whether a text of the library has a character that may stand for half of a surrogate pair, which UTF-8 does not have. */
export function mayBeReplaced(text: string | null | undefined): boolean {
  return text?.includes("\ufffd") ?? false;
}
