// An agent with tools and branches: `node agent.ts URL MODEL DIR` (Node 22.18 or newer, bun, or after tsc).
//
// It speaks OpenAI's chat completions. Commands: `/tree` shows the session, `/goto ID` goes back to an entry, so that the
// next question begins a branch; everything else is a question. The session is a file that pi reads, too.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline/promises";
import { type Message, Session, type Tool, type TreeNode } from "treering";

interface ToolCall {
  id: string;
  function: { name: string; arguments: string };
}

type Arguments = Record<string, string>;

const object = (...names: string[]) => ({
  type: "object",
  properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
  required: names,
});
const tools: Tool[] = [
  { name: "read", description: "Reads a file.", inputSchema: object("path") },
  { name: "write", description: "Writes a file.", inputSchema: object("path", "content") },
  { name: "bash", description: "Runs a command.", inputSchema: object("command") },
];
const run: Record<string, (args: Arguments) => string> = {
  read: ({ path }) => readFileSync(path!, "utf8"),
  write: ({ path, content }) => (writeFileSync(path!, content!), "written"),
  bash: ({ command }) => execFileSync("sh", ["-c", command!], { encoding: "utf8", timeout: 60_000 }),
};

/** Asks the model for the next message, given what it sees of the session. */
async function ask(session: Session, url: string, model: string): Promise<Message> {
  const { request } = await session.providerRequest("openai-chat", { tools, model: { provider: "local", modelId: model } });
  const response = await fetch(`${url}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${process.env["OPENAI_API_KEY"] ?? "none"}` },
    body: JSON.stringify({ ...request, model }),
  });
  if (!response.ok) throw new Error(`the model answered ${response.status}: ${await response.text()}`);
  const { choices } = (await response.json()) as { choices: { message: { content: string | null; tool_calls?: ToolCall[] } }[] };
  const { content, tool_calls: calls = [] } = choices[0]!.message;
  const toolCalls = calls.map(({ id, function: { name, arguments: args } }) => ({ type: "toolCall", id, name, arguments: JSON.parse(args) }));
  const text = content ? [{ type: "text", text: content }] : [];
  const stopReason = calls.length > 0 ? "toolUse" : "stop";
  return { role: "assistant", provider: "local", model, content: [...text, ...toolCalls], stopReason, timestamp: Date.now() };
}

/** Runs a tool call. The model gets an error as the result. */
function carryOut(call: { id: string; name: string; arguments: Arguments }): Message {
  let text: string;
  let isError = false;
  try {
    text = run[call.name]?.(call.arguments) ?? `there is no tool ${call.name}`;
  } catch (error) {
    text = error instanceof Error ? error.message : String(error);
    isError = true;
  }
  return { role: "toolResult", toolCallId: call.id, toolName: call.name, content: [{ type: "text", text }], isError, timestamp: Date.now() };
}

/** One turn: the question, and answers until the model calls no more tools. Returns what it said last. */
async function turn(session: Session, question: string, url: string, model: string): Promise<string> {
  await session.appendMessage({ role: "user", content: question, timestamp: Date.now() });
  for (;;) {
    const answer = await ask(session, url, model);
    await session.appendMessage(answer);
    const blocks = answer.content as { type: string; text?: string; id: string; name: string; arguments: Arguments }[];
    const calls = blocks.filter((block) => block.type === "toolCall");
    if (calls.length === 0) return blocks.map((block) => block.text ?? "").join("");
    await session.appendAll(calls.map((call) => ({ type: "message", message: carryOut(call) })));
  }
}

function show(session: Session, nodes: TreeNode[], depth = 0): void {
  for (const node of nodes) {
    const text = JSON.stringify(session.entry(node.id).message?.content ?? node.kind).slice(0, 60);
    console.log(`${" ".repeat(depth)}${node.id === session.leaf ? "*" : " "} ${node.id} ${node.role ?? node.kind} ${text}`);
    show(session, node.children, depth + (nodes.length > 1 ? 2 : 0));
  }
}

const [url, model, dir] = process.argv.slice(2) as [string, string, string];
await using session = await Session.continueRecent(process.cwd(), { dir });
for await (const line of createInterface({ input: process.stdin })) {
  const [command, id] = line.trim().split(/\s+/);
  if (command === "/tree") show(session, session.tree());
  else if (command === "/goto") console.log(`at ${await session.branch(id ? session.resolve(id) : null)}`);
  else if (line.trim()) console.log(await turn(session, line, url, model));
}
