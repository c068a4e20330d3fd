// Random scripts: lists of operations that both pi and treering can carry out.
//
// An operation never names an entry, because ids are not known beforehand: it holds `pick`, a number in [0, 1), and
// target.mjs turns that into an entry of the session as it is by then.
import * as make from "./message.mjs";
import { json, object, text } from "./text.mjs";

const WEIGHTS = {
  user: 14, assistant: 14, tools: 8, bash: 3, custom: 2, customMessage: 4, customEntry: 3, thinking: 3, model: 3, name: 2,
  label: 7, unlabel: 2, compaction: 6, branch: 6, reset: 1, branchSummary: 3, tick: 6,
};
// What the context rules of pi 0.73.1 do not know; a script without these must look the same to every version.
const MODERN = { system: 5, hollow: 2, edit: 8, usage: 2 };
const FILES = { reopen: 3, branchedSession: 2, forkFrom: 1 };
const FOREIGN = { unknown: 4, argument: 4, wildEdit: 4 };

export const KEPT = { path: 6, before: 2, label: 4, other: 1, missing: 1, self: 2, empty: 1, previous: 1 };
const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh"];
// Clocks tick, stand still, jump and step back.
const STEPS = [0, 0, 1, 7, 1000, 61_000, 86_400_000, -1, -5000, -3_600_000];

/** `traits`: modern (pi 1.5's kinds), files (new files from old ones), foreign (what only another writer makes), toolless, sound (no message without content). */
export function makeScript(rng, length, traits) {
  const weights = { ...WEIGHTS, ...(traits.modern && MODERN), ...(traits.files && FILES), ...(traits.foreign && FOREIGN) };
  if (!traits.modern) delete weights.wildEdit;
  if (traits.toolless) delete weights.tools;
  if (traits.sound) delete weights.hollow;
  const script = [];
  while (script.length < length) script.push(...operations(rng, rng.weighted(weights), traits));
  return script;
}

function operations(rng, kind, { modern }) {
  const pick = rng.next();
  const extras = () => ({ ...(rng.chance(0.3) && { details: json(rng) }), ...(rng.chance(0.3) && { fromHook: rng.chance(0.5) }), ...(rng.chance(0.2) && { usage: make.usage(rng) }) });
  switch (kind) {
    case "user": case "assistant": case "bash": case "custom": case "system": case "hollow":
      return [{ op: "message", message: make[kind](rng) }];
    case "tools":
      return make.toolTurn(rng).map((message) => ({ op: "message", message }));
    case "customMessage":
      return [{ op: "customMessage", customType: text(rng), content: make.content(rng), display: rng.chance(0.5), ...(rng.chance(0.4) && { details: json(rng) }) }];
    case "customEntry":
      return [{ op: "custom", customType: text(rng), ...(rng.chance(0.8) && { data: json(rng) }) }];
    case "thinking":
      return [{ op: "thinking", level: rng.of(LEVELS) }];
    case "model": {
      const [provider, modelId] = make.model(rng);
      return [{ op: "model", provider, modelId }];
    }
    case "name":
      return [{ op: "name", name: rng.chance(0.2) ? "" : text(rng) }];
    case "label":
      return [{ op: "label", pick, label: text(rng) }];
    case "unlabel":
      return [{ op: "label", pick, ...(rng.chance(0.5) && { label: "" }) }];
    case "compaction":
      return [{
        op: "compaction", keep: rng.weighted(KEPT), pick, summary: rng.chance(0.1) ? "" : text(rng), tokensBefore: rng.int(0, 200000), ...extras(),
        // pi works this one out for itself
        ...(modern && rng.chance(0.3) && { systemMessage: make.system(rng) }),
      }];
    case "branchSummary":
      return [{ op: "branchSummary", pick: rng.chance(0.1) ? null : pick, summary: rng.chance(0.15) ? "" : text(rng), ...extras() }];
    case "usage":
      return [{ op: "usage", kind: text(rng), provider: "p", model: "m", usage: make.usage(rng) }];
    case "edit": case "wildEdit":
      return [{ op: "edit", wild: kind === "wildEdit", pick, replacement: rng.chance(0.3) ? null : { content: make.content(rng) } }];
    case "unknown":
      return [{ op: "unknown", entry: { type: rng.of(["from_the_future", "", "Message", "title", "compaction2"]), summary: text(rng), payload: object(rng) } }];
    case "argument":
      return [{ op: "argument", role: rng.of(["user", "assistant"]), seed: rng.int(0, 1e9) }];
    case "tick":
      return [{ op: "tick", ms: rng.of(STEPS) }];
    default:
      return [{ op: kind, pick }];
  }
}
