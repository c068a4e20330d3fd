// Random scripts for Chimera's SessionTree. Like those of script.mjs they name entries by `pick`.
import { json, object, text } from "./text.mjs";

const WEIGHTS = {
  user: 14, assistant: 12, tools: 8, system: 2, odd: 1, compaction: 5, summarize: 3, label: 6, state: 6, generic: 5, fork: 5, switch: 4, elsewhere: 3, root: 2,
  orphan: 1, header: 1, reopen: 2, tick: 5,
};
const KINDS = ["model", "thinking", "thinking_level", "sandbox", ""];
const VALUES = ["anthropic/claude-sonnet-4-5", "glm-5", "high", "off", "/", "a/b/c"];
// Some of these mean something in treering's own files, and nothing here.
const TYPES = ["checkpoint", "custom", "custom_message", "leaf", "session", "session_info", "branch_summary", "context_edit", "usage", "model_change", "title", "", "Message"];
const STEPS = [0, 0.001, 0.25, 1, 7, 1000, 61_000, 86_400_000, -1, -5000, -3_600_000];

export function chimeraScript(rng, length, { begins }) {
  const script = begins && rng.chance(0.4) ? operations(rng, "header") : [];
  while (script.length < length) script.push(...operations(rng, rng.weighted(WEIGHTS)));
  return script;
}

const said = (rng) => (rng.chance(0.08) ? "" : text(rng));
const files = (rng) => Array.from({ length: rng.int(0, 2) }, () => text(rng));

function operations(rng, kind) {
  const pick = rng.next();
  const message = (role, more = {}) => ({ op: "message", role, content: said(rng), ...more });
  switch (kind) {
    case "user": case "assistant": case "system": return [message(kind)];
    case "odd": return [message(rng.of(["developer", "tool", "", text(rng)]), { ...(rng.chance(0.3) && { call_id: "" }) })];
    case "elsewhere": return [message(rng.of(["user", "assistant"]), { pick })];
    case "header": return [{ op: "header", cwd: rng.of(["/project", "", text(rng)]), system_prompt: said(rng) }];
    case "orphan": return [message("user", { parent: "no-entry" })];
    case "root": return [message("user", { root: true })];
    case "tools": return toolTurn(rng, message);
    case "compaction":
      return [{
        op: "compaction", summary: said(rng), pick, kept: rng.chance(0.1) ? rng.of(["", "no-entry"]) : null, tokens: rng.int(0, 200_000),
        ...(rng.chance(0.5) && { read_files: files(rng), modified_files: files(rng) }),
      }];
    case "summarize": return [{ op: "summarize", pick: rng.chance(0.3) ? null : pick, summary: said(rng) }];
    case "label": return [{ op: "label", pick, label: rng.chance(0.2) ? "" : text(rng) }];
    case "state": return [{ op: "state", kind: rng.chance(0.1) ? text(rng) : rng.of(KINDS), value: rng.chance(0.3) ? text(rng) : rng.of(VALUES) }];
    case "generic": {
      const type = rng.of(TYPES);
      const { targetId: _, ...data } = object(rng);
      return [{ op: "generic", type, data: type === "leaf" ? data : { ...data, ...(rng.chance(0.3) && { more: json(rng) }) } }];
    }
    case "tick": return [{ op: "tick", ms: rng.of(STEPS) }];
    default: return [{ op: kind, pick }];
  }
}

function toolTurn(rng, message) {
  const calls = Array.from({ length: rng.int(1, 3) }, () => ({ id: `call_${rng.hex(6)}`, name: rng.of(["read", "bash", "<b>tool</b>"]), arguments: object(rng) }));
  const answered = calls.filter(() => rng.chance(0.9));
  return [message("assistant", { tool_calls: calls }), ...answered.map((call) => message("tool", { call_id: call.id }))];
}
