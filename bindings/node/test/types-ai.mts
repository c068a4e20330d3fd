// The store takes and returns the AI SDK's own type of messages.
import type { UIMessage } from "ai";
import { openChatStore } from "treering/ai";

export async function ai(messages: UIMessage[]): Promise<UIMessage[]> {
  const chats = await openChatStore<UIMessage>("/chats");
  await chats.saveChat({ chatId: "chat", messages });
  return chats.loadChat("chat");
}
