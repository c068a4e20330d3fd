// Random messages of every role.
import { json, object, text } from "./text.mjs";

const MODELS = [["anthropic", "claude-sonnet-4-5"], ["openai", "gpt-5"], ["local", "qwen/qwen3:8b"], ["モデル", "x y"]];
const TOOLS = ["read", "bash", "edit", "<b>tool</b>", "mcp__server__tool"];
const START = 1767323045678;

export const model = (rng) => rng.of(MODELS);
const when = (rng) => START + rng.int(0, 10_000_000);
const optional = (rng, fields) => Object.fromEntries(Object.entries(fields).filter(() => rng.chance(0.3)));

export function usage(rng) {
  const [input, output, cacheRead, cacheWrite] = [0, 0, 0, 0].map(() => rng.int(0, 90000));
  const cost = { input: rng.int(0, 9999) / 1e6, output: rng.int(0, 9999) / 1e6, cacheRead: 0, cacheWrite: 0, total: rng.int(0, 9999) / 1e5 };
  return { input, output, cacheRead, cacheWrite, totalTokens: input + output, cost };
}

export function blocks(rng) {
  return Array.from({ length: rng.int(0, 3) }, () =>
    rng.weighted({ text: 6, image: 1, odd: 1 }) === "text"
      ? { type: "text", text: text(rng), ...optional(rng, { textSignature: text(rng) }) }
      : rng.of([{ type: "image", data: "aGVsbG8=", mimeType: "image/png" }, { type: "from_the_future", ...object(rng) }]),
  );
}

export const content = (rng) => (rng.chance(0.5) ? text(rng) : blocks(rng));

export const user = (rng) => ({ role: "user", content: content(rng), timestamp: when(rng), ...optional(rng, { extra: json(rng) }) });

export function assistant(rng, calls = []) {
  const [provider, name] = model(rng);
  const said = rng.chance(0.4) ? [{ type: "thinking", thinking: text(rng), ...optional(rng, { thinkingSignature: text(rng), redacted: true }) }] : [];
  if (rng.chance(0.8)) said.push({ type: "text", text: text(rng) });
  return {
    role: "assistant", content: [...said, ...calls], api: "some-api", provider, model: name, usage: usage(rng),
    stopReason: calls.length ? "toolUse" : rng.of(["stop", "length", "error", "aborted"]), timestamp: when(rng),
    ...optional(rng, { errorMessage: text(rng), responseId: text(rng) }),
  };
}

/** An assistant message with tool calls, and the results of most of them. */
export function toolTurn(rng) {
  const calls = Array.from({ length: rng.int(1, 3) }, () => ({ type: "toolCall", id: `call_${rng.hex(6)}|fc_${rng.hex(4)}`, name: rng.of(TOOLS), arguments: object(rng) }));
  const answered = calls.filter(() => rng.chance(0.9));
  return [
    assistant(rng, calls),
    ...answered.map((call) => ({
      role: "toolResult", toolCallId: call.id, toolName: call.name, content: blocks(rng), isError: rng.chance(0.2), timestamp: when(rng),
      ...optional(rng, { details: json(rng) }),
    })),
  ];
}

export const bash = (rng) => ({
  role: "bashExecution", command: text(rng), output: rng.chance(0.7) ? text(rng) : "", exitCode: rng.of([0, 1, 127, null]), cancelled: rng.chance(0.1),
  truncated: rng.chance(0.2), timestamp: when(rng), ...optional(rng, { fullOutputPath: "/logs/out put.txt", excludeFromContext: true }),
});

export const custom = (rng) => ({ role: "custom", customType: text(rng), content: content(rng), display: rng.chance(0.5), timestamp: when(rng), ...optional(rng, { details: json(rng) }) });

const tool = (rng) => ({ name: rng.of(TOOLS), description: text(rng), parameters: { type: "object", properties: object(rng) } });

export const system = (rng) => ({
  role: "system", content: content(rng), timestamp: when(rng),
  ...optional(rng, { sections: { [rng.of(["env", "skills", "id"])]: rng.chance(0.3) ? null : text(rng) }, toolsAdded: [tool(rng)], toolsRemoved: [{ name: rng.of(TOOLS) }] }),
});

/** A message whose content is null or missing, as hand-edited and very old files have them. */
export function hollow(rng) {
  const message = rng.of([user, assistant, system])(rng);
  if (rng.chance(0.5)) return { ...message, content: null };
  const { content: _, ...rest } = message;
  return rest;
}
