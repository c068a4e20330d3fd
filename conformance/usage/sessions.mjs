// Makes sessions of Claude Code and Codex with everything that is easily counted twice or not at all.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const CLAUDE = ["claude-sonnet-4-5-20250929", "claude-opus-4-5-20251101", "claude-haiku-4-5-20251001", "claude-opus-4-1-20250805", "claude-unheard-of-9"];
const CODEX = ["gpt-5-codex", "gpt-5.1-codex-mini", "gpt-5.2", "gpt-unheard-of"];
const START = Date.parse("2026-02-01T00:00:00.000Z");

const line = (value) => `${JSON.stringify(value)}\n`;
const iso = (millis) => new Date(millis).toISOString();

/** Sessions of Claude Code below `root`, as CLAUDE_CONFIG_DIR has them. `text` is the number of characters of each answer. */
export function claude(root, rng, { sessions, answers, text = 40 }) {
  let number = 0;
  const all = [];
  for (let at = 0; at < sessions; at++) {
    const dir = join(root, "projects", `-home-dev-project-${at % 7}`);
    const id = `00000000-0000-4000-8000-${String(at).padStart(12, "0")}`;
    mkdirSync(dir, { recursive: true });
    const session = { cwd: `/home/dev/project-${at % 7}`, sessionId: id, version: "2.0.0", userType: "external" };
    let time = START + rng.int(0, 30 * 86_400_000);
    let parent = null;
    // A fork or a resumed session begins with the records of another one.
    const copied = at > 0 && rng.chance(0.3) ? rng.of(all).slice(0, rng.int(1, 40)) : [];
    const records = copied.map((record) => ({ ...record, ...session }));
    for (let turn = 0; turn < answers; turn++) {
      time += rng.int(1000, 600_000);
      const user = { ...session, parentUuid: parent, isSidechain: false, type: "user", uuid: `u-${++number}`, timestamp: iso(time), message: { role: "user", content: "x".repeat(text) } };
      records.push(user);
      parent = user.uuid;
      records.push(...answer(session, parent, time, false));
      parent = records.at(-1).uuid;
    }
    all.push(records);
    writeFileSync(join(dir, `${id}.jsonl`), records.map(line).join(""));
    if (rng.chance(0.3)) {
      const subagents = join(dir, id, "subagents");
      mkdirSync(subagents, { recursive: true });
      const side = [];
      for (let turn = 0; turn < 3; turn++) side.push(...answer(session, side.at(-1)?.uuid ?? null, time + turn * 60_000, true));
      writeFileSync(join(subagents, `agent-${number}.jsonl`), side.map(line).join(""));
    }
  }

  /** The records of an answer: they repeat its usage, which grows. */
  function answer(session, parent, time, isSidechain) {
    const [model, id, request] = [rng.of(CLAUDE), `msg_${++number}`, `req_${number}`];
    const [write, output, parts] = [rng.int(0, 20_000), rng.int(1, 4000), rng.int(1, 3)];
    const hour = rng.chance(0.3) ? rng.int(0, write) : 0;
    const usage = {
      input_tokens: rng.int(0, 2000), cache_creation_input_tokens: write, cache_read_input_tokens: rng.int(0, 150_000),
      cache_creation: { ephemeral_5m_input_tokens: write - hour, ephemeral_1h_input_tokens: hour }, service_tier: "standard",
    };
    return Array.from({ length: parts }, (_, part) => {
      const uuid = `u-${++number}`;
      const content = [{ type: "text", text: "y".repeat(text) }];
      const grown = { ...usage, output_tokens: part + 1 < parts ? rng.int(1, output) : output };
      const message = { id, type: "message", role: "assistant", model, content, stop_reason: null, stop_sequence: null, usage: grown };
      const record = { ...session, parentUuid: parent, isSidechain, type: "assistant", uuid, requestId: request, timestamp: iso(time), message };
      parent = uuid;
      return record;
    });
  }
}

/** Sessions of Codex below `root`, as CODEX_HOME has them. */
export function codex(root, rng, { sessions, answers }) {
  for (let at = 0; at < sessions; at++) {
    let time = START + rng.int(0, 30 * 86_400_000);
    const id = `019fc8be-0000-7000-8000-${String(at).padStart(12, "0")}`;
    const day = iso(time).slice(0, 10).split("-");
    const dir = join(root, "sessions", ...day);
    mkdirSync(dir, { recursive: true });
    const records = [{ type: "session_meta", payload: { id, timestamp: iso(time), cwd: "/home/dev/project", originator: "codex_cli_rs", cli_version: "0.146.0", source: "cli", model_provider: "openai" } }];
    const total = { input_tokens: 0, cached_input_tokens: 0, output_tokens: 0, reasoning_output_tokens: 0, total_tokens: 0 };
    for (let turn = 0; turn < answers; turn++) {
      const model = rng.of(CODEX);
      records.push({ type: "turn_context", payload: { cwd: "/home/dev/project", approval_policy: "never", model, effort: "high", summary: "auto" } });
      records.push({ type: "response_item", payload: { type: "message", role: "user", content: [{ type: "input_text", text: "x" }] } });
      records.push({ type: "response_item", payload: { type: "message", role: "assistant", content: [{ type: "output_text", text: "y" }] } });
      const input = rng.int(1000, 100_000);
      const output = rng.int(1, 3000);
      const last = { input_tokens: input, cached_input_tokens: rng.int(0, input), output_tokens: output, reasoning_output_tokens: rng.int(0, output), total_tokens: input + output };
      for (const key of Object.keys(total)) total[key] += last[key];
      const count = { type: "event_msg", payload: { type: "token_count", info: { total_token_usage: { ...total }, last_token_usage: last, model_context_window: 272_000 }, rate_limits: null } };
      // Codex repeats its counts.
      records.push(...Array.from({ length: rng.int(1, 2) }, () => count));
    }
    const lines = records.map((record) => line({ timestamp: iso((time += rng.int(100, 5000))), ...record }));
    writeFileSync(join(dir, `rollout-${iso(START).slice(0, 19).replaceAll(":", "-")}-${id}.jsonl`), lines.join(""));
  }
}
