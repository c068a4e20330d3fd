// Scripts that look like an agent's work: turns of many calls with long results, files, usage, failed attempts that are edited out,
// repeated compactions. Random scripts (script.mjs) seldom have turns long enough to be split.
import * as make from "./message.mjs";
import { text } from "./text.mjs";

const FILES = ["src/a.rs", "src/b.rs", "docs/x y.md", "/tmp/ü", "😀", "Ａ"];
const words = (rng, most) => `${text(rng)} ${"lorem ipsum ".repeat(rng.int(0, most))}`;

export function agentOps(rng, turns) {
  const ops = [];
  const say = (message) => ops.push({ op: "message", message });
  if (rng.chance(0.6)) say(make.system(rng));
  while (turns-- > 0) {
    say({ role: "user", content: words(rng, 40), timestamp: 1 });
    for (let i = rng.int(0, 6); i > 0; i--) for (const message of call(rng)) say(message);
    if (rng.chance(0.2)) say(make.bash(rng));
    say(answer(rng, []));
    if (rng.chance(0.2)) ops.push(rng.of([{ op: "thinking", level: "high" }, { op: "custom", customType: "note" }, { op: "name", name: "n" }]));
    if (rng.chance(0.15)) say(make.system(rng));
    if (rng.chance(0.15)) ops.push({ op: "edit", pick: rng.next(), replacement: rng.chance(0.5) ? null : { content: words(rng, 10) } });
    if (rng.chance(0.15)) ops.push(compaction(rng));
    if (rng.chance(0.1)) ops.push({ op: "branch", pick: rng.next() });
    if (rng.chance(0.1)) ops.push({ op: "branchSummary", pick: rng.next(), summary: words(rng, 10), details: details(rng) });
  }
  if (rng.chance(0.3)) {
    // A failed answer that is taken out again: pick 0.999… means the last entry that can be edited.
    say({ role: "user", content: words(rng, 10), timestamp: 1 });
    say({ ...answer(rng, []), stopReason: "error" });
    ops.push({ op: "edit", pick: 0.999999, replacement: null });
  }
  return ops;
}

const details = (rng) => ({ readFiles: [rng.of(FILES)], modifiedFiles: rng.chance(0.5) ? [rng.of(FILES)] : [] });
const compaction = (rng) => ({
  op: "compaction", keep: rng.of(["path", "path", "self"]), pick: 1 - rng.next() ** 2 * 0.999 - 0.0005, summary: words(rng, 20),
  tokensBefore: 1, details: details(rng), ...(rng.chance(0.3) && { fromHook: true }),
});

function answer(rng, calls) {
  const { usage, ...rest } = make.assistant(rng, calls);
  return { ...rest, ...(rng.chance(0.5) && { usage: rng.chance(0.2) ? { ...usage, totalTokens: 0 } : usage }) };
}

function call(rng) {
  const path = rng.chance(0.9) ? rng.of(FILES) : rng.of(["", 7, null]);
  const tool = { type: "toolCall", id: `call_${rng.hex(6)}`, name: rng.of(["read", "write", "edit", "bash"]), arguments: { path, "a b": [1.5, { x: text(rng) }] } };
  const nested = rng.chance(0.1) && { nestedCalls: { calls: [{ name: "edit", arguments: { path: rng.of(FILES) } }] } };
  const content = [{ type: "text", text: rng.chance(0.2) ? `${rng.of(["", "x"])}${"😀".repeat(rng.int(900, 1100))}` : words(rng, 300) }];
  return [answer(rng, [tool]), { role: "toolResult", toolCallId: tool.id, toolName: tool.name, content, isError: false, timestamp: 1, ...nested }];
}
