// Random scripts for omp's SessionManager: those of script.mjs, and what only omp has.
import * as make from "./message.mjs";
import { makeScript } from "./script.mjs";
import { json, object, text } from "./text.mjs";

const WEIGHTS = {
  pi: 60, role: 5, model: 4, thinking: 2, mode: 4, ttsr: 4, tier: 3, pin: 1, init: 1, boundary: 2, name: 2, compaction: 4, customMessage: 4, notes: 2, elsewhere: 2,
  usage: 2, failed: 4,
};
const FILES = { reopen: 3, branchedSession: 2, discard: 1 };
const ROLES = ["default", "smol", "slow", "fallback", "plan", "10", "2"];
// Types of custom messages that omp treats in ways of their own.
const TYPES = ["prewalk-plan", "vibe-mode-context", "interrupted-thinking", "skill-prompt", "live-delegation", ""];
const METHODS = ["context-full", "handoff", "shake", "snapcompact", "server"];

export function ompScript(rng, length, { files } = {}) {
  const weights = { ...WEIGHTS, ...(files && FILES) };
  const script = [];
  while (script.length < length) script.push(...operations(rng, rng.weighted(weights)));
  return script;
}

const maybe = (rng, chance, fields) => (rng.chance(chance) ? fields() : {});

function operations(rng, kind) {
  const pick = rng.next();
  switch (kind) {
    case "pi": return makeScript(rng, 1, {});
    case "role": return [{ op: "message", message: ownRole(rng) }];
    case "failed": return [{ op: "message", message: failed(rng) }, ...note(rng)];
    case "elsewhere": return [{ op: "elsewhere", pick, message: make.user(rng) }];
    case "model": return [{ op: "model", model: rng.chance(0.1) ? "" : make.model(rng).join("/"), ...maybe(rng, 0.7, () => ({ role: rng.of(ROLES) })), fallback: rng.chance(0.2) }];
    case "thinking": return [{ op: "thinking", ...maybe(rng, 0.8, () => ({ level: rng.of(["off", "low", "high"]) })), ...maybe(rng, 0.6, () => ({ configured: rng.of(["auto", "high"]) })) }];
    case "mode": return [{ op: "mode", mode: rng.of(["plan", "none", "vibe", text(rng)]), ...maybe(rng, 0.5, () => ({ data: object(rng) })) }];
    case "ttsr": return [{ op: "ttsr", rules: Array.from({ length: rng.int(0, 3) }, () => (rng.chance(0.5) ? rng.of(["a", "b", "c"]) : text(rng))) }];
    case "tier": return [{ op: "tier", tier: rng.of([null, {}, { openai: "priority" }, { openai: "flex", anthropic: "priority" }, { google: "default", openai: "none" }, "priority", { openai: 3 }]) }];
    case "pin": return [{ op: "pin", provider: "anthropic", hash: rng.hex(64) }];
    case "init": return [{ op: "init", init: { systemPrompt: text(rng), task: text(rng), tools: ["read"], ...maybe(rng, 0.5, () => ({ agent: "scout", outputSchema: json(rng) })) } }];
    case "name": return [{ op: "name", name: text(rng), source: rng.of(["auto", "user"]), ...maybe(rng, 0.3, () => ({ trigger: text(rng) })) }];
    case "usage": return [{ op: "usage", pick, usage: { purpose: "advisor", role: "smol", api: "some-api", provider: "p", model: "m", usage: make.usage(rng), stopReason: "stop" } }];
    case "notes": return [{ op: "custom", customType: "experimental_context_notes", data: rng.of([{ version: 1, text: text(rng) }, { version: 1, text: "" }, { version: 2, text: "x" }, { version: 1, text: "x", more: 1 }, null]) }];
    case "customMessage":
      return [{
        op: "customMessage", customType: rng.of(TYPES), content: make.content(rng), display: rng.chance(0.5),
        ...maybe(rng, 0.4, () => ({ attribution: rng.of(["user", "agent"]) })), ...maybe(rng, 0.3, () => ({ details: rng.chance(0.3) ? { userInvoked: true } : json(rng) })),
      }];
    case "compaction": return [compaction(rng, pick)];
    default: return [{ op: kind, pick }];
  }
}

const note = (rng) => (rng.chance(0.3) ? [{ op: "customMessage", customType: "interrupted-thinking", content: text(rng), display: false }] : []);

function compaction(rng, pick) {
  return {
    op: "compaction", keep: rng.weighted({ path: 6, before: 2, label: 2, other: 1, missing: 1, empty: 1, previous: 1 }), pick,
    summary: rng.chance(0.1) ? "" : text(rng), tokensBefore: rng.int(0, 200_000),
    ...maybe(rng, 0.5, () => ({ shortSummary: text(rng) })), ...maybe(rng, 0.4, () => ({ tokensAfter: rng.int(0, 9000) })),
    ...maybe(rng, 0.4, () => ({ method: rng.of(METHODS) })), ...maybe(rng, 0.2, () => ({ fromExtension: rng.chance(0.5) })),
    ...maybe(rng, 0.3, () => ({ details: rng.chance(0.5) ? { kind: "experimental-context-rollover" } : json(rng) })),
    ...maybe(rng, 0.3, () => ({ preserveData: preserved(rng) })), ...maybe(rng, 0.2, () => ({ replayThrough: rng.next() })),
  };
}

const preserved = (rng) => rng.of([
  object(rng),
  { openaiRemoteCompaction: { provider: "openai", replacementHistory: [{ type: "message", text: text(rng) }, object(rng)] } },
  { openaiRemoteCompaction: { provider: "", replacementHistory: [] } },
  { openaiRemoteCompaction: { provider: "openai", replacementHistory: [1] } },
  { anthropicCompaction: { provider: "anthropic", content: text(rng), encryptedContent: "abc" } },
]);

/** A turn that ended badly, with or without anything said. */
function failed(rng) {
  const message = make.assistant(rng);
  const blanks = rng.of([[], [{ type: "text", text: rng.of(["", " \n", "\u00a0\ufeff\u2028", "\u0085", "\u200b"]) }], [{ type: "thinking", thinking: " " }], [{ type: "redactedThinking", data: rng.of(["", "x"]) }], [{ type: "fallback" }]]);
  return { ...message, content: rng.chance(0.6) ? blanks : message.content, stopReason: rng.of(["error", "error", "aborted", "stop"]), ...maybe(rng, 0.15, () => ({ retryRecovery: { attempt: 1 } })) };
}

function ownRole(rng) {
  const timestamp = 1767323045678 + rng.int(0, 1e6);
  return rng.of([
    () => ({ role: "developer", content: make.content(rng), timestamp }),
    () => ({ role: "hookMessage", customType: text(rng), content: make.content(rng), display: rng.chance(0.5), timestamp }),
    () => ({ role: "pythonExecution", code: text(rng), output: text(rng), exitCode: rng.of([0, 1, null]), cancelled: false, truncated: false, timestamp, ...maybe(rng, 0.3, () => ({ excludeFromContext: true })) }),
    () => ({ role: "fileMention", files: [{ path: text(rng), content: text(rng), lineCount: rng.int(1, 99) }], timestamp }),
  ])();
}
