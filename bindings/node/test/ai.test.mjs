import assert from "node:assert/strict";
import { test } from "node:test";
import { openChatStore } from "treering/ai";
import { withDirectory } from "./helpers.mjs";

const user = (id, text) => ({ id, role: "user", parts: [{ type: "text", text }] });
const assistant = (id, text) => ({ id, role: "assistant", metadata: { model: "large" }, parts: [{ type: "step-start" }, { type: "text", text, state: "done" }] });
const question = user("q1", "Name a color.");
const red = assistant("a1", "Red.");

async function withChats(work) {
  await withDirectory(async (dir) => work(await openChatStore(dir, { cwd: "/project" })));
}

test("a chat is loaded as it was saved, and only what is new is appended", async () => {
  await withChats(async (chats) => {
    const chatId = await chats.createChat();
    assert.deepEqual(await chats.loadChat(chatId), []);
    await chats.saveChat({ chatId, messages: [question, red] });
    const messages = [question, red, user("q2", "Another."), assistant("a2", "Blue.")];
    await chats.saveChat({ chatId, messages });
    await chats.saveChat({ chatId, messages: structuredClone(messages) });
    assert.deepEqual(await chats.loadChat(chatId), messages);
    const session = await chats.openSession(chatId);
    assert.equal(session.entryCount, 4);
    assert.deepEqual((await session.context()).messages.map((message) => message.content[0].text), ["Name a color.", "Red.", "Another.", "Blue."]);
  });
});

test("a regenerated answer and an edited question become branches", async () => {
  await withChats(async (chats) => {
    const chatId = "chat-1";
    await chats.saveChat({ chatId, messages: [question, red, user("q2", "Why?"), assistant("a2", "I like it.")] });
    const blue = assistant("a3", "Blue.");
    await chats.saveChat({ chatId, messages: [question, blue] });
    assert.deepEqual(await chats.loadChat(chatId), [question, blue]);
    assert.deepEqual(await chats.versions(chatId, "a3"), [{ message: red, isActive: false }, { message: blue, isActive: true }]);
    assert.equal((await chats.selectVersion(chatId, "a1")).length, 4, "the branch goes on where it ended");
    assert.equal((await chats.loadChat(chatId)).at(-1).id, "a2");
    // The SDK keeps the id of a message that is edited.
    const edited = user("q1", "Name a fruit.");
    await chats.saveChat({ chatId, messages: [edited, assistant("a4", "Apple.")] });
    assert.deepEqual((await chats.versions(chatId, "q1")).map(({ message, isActive }) => [message.parts[0].text, isActive]), [["Name a color.", false], ["Name a fruit.", true]]);
    // Going back to what is there appends nothing.
    const count = (await chats.openSession(chatId)).leaves().length;
    await chats.saveChat({ chatId, messages: [question, blue] });
    assert.equal((await chats.openSession(chatId)).leaves().length, count);
    assert.equal(count, 3);
    assert.deepEqual(await chats.loadChat(chatId), [question, blue]);
    await chats.saveChat({ chatId, messages: [] });
    assert.deepEqual(await chats.loadChat(chatId), []);
    await assert.rejects(chats.versions(chatId, "absent"), { code: "unknown_message" });
  });
});

test("tools, files and thinking are what models see, and what the chat shows", async () => {
  await withChats(async (chats) => {
    const chatId = await chats.createChat();
    const asked = { id: "q1", role: "user", parts: [{ type: "text", text: "Look." }, { type: "file", mediaType: "image/png", url: "data:image/png;base64,AAAA" }] };
    const answered = {
      id: "a1",
      role: "assistant",
      parts: [
        { type: "step-start" },
        { type: "reasoning", text: "Let me see." },
        { type: "tool-weather", toolCallId: "c1", state: "output-available", input: { city: "Oslo" }, output: { sky: "gray" } },
        { type: "dynamic-tool", toolName: "clock", toolCallId: "c2", state: "output-error", input: {}, errorText: "no clock" },
        { type: "step-start" },
        { type: "text", text: "It is gray.", state: "done" },
        { type: "data-note", data: { hidden: true } },
      ],
    };
    await chats.saveChat({ chatId, messages: [asked, answered] });
    await chats.saveChat({ chatId, messages: [asked, answered, user("q2", "Thanks.")] });
    assert.deepEqual(await chats.loadChat(chatId), [asked, answered, user("q2", "Thanks.")]);
    const session = await chats.openSession(chatId);
    const { messages, repairs } = await session.llmContext();
    assert.deepEqual(messages.map((message) => message.role), ["user", "assistant", "toolResult", "toolResult", "assistant", "user"]);
    assert.deepEqual(messages[1].content.map((block) => block.type), ["thinking", "toolCall", "toolCall"]);
    assert.deepEqual([messages[3].isError, messages[2].content[0].text, repairs.length], [true, '{"sky":"gray"}', 0]);
    assert.equal((await chats.listChats()).length, 1);
    await chats.deleteChat(chatId);
    await assert.rejects(chats.loadChat(chatId), { category: "NotFound" });
  });
});

test("chats that are saved at the same time share what is equal", async () => {
  await withDirectory(async (dir) => {
    const stores = await Promise.all([openChatStore(dir), openChatStore(dir)]);
    const answers = Array.from({ length: 8 }, (_, index) => assistant(`a${index}`, `Answer ${index}.`));
    const [chats] = stores;
    const created = await chats.createChat();
    for (const chatId of [created, "created-by-saving"]) {
      const store = (index) => stores[chatId === created ? index % 2 : 0];
      await Promise.all(answers.map((answer, index) => store(index).saveChat({ chatId, messages: [question, answer] })));
      const ids = (versions) => versions.map(({ message }) => message.id).sort();
      assert.deepEqual(ids(await chats.versions(chatId, "q1")), ["q1"]);
      assert.deepEqual(ids(await chats.versions(chatId, "a0")), ids(answers.map((message) => ({ message }))));
      assert.equal((await chats.loadChat(chatId)).length, 2);
    }
  });
});
