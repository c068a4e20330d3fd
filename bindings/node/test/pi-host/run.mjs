// node run.mjs PI: the published pi runs a scripted session on treering's session manager, continues the same file
// without it, and on it again. PI is the directory of pi's package.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Session } from "treering";
import { modelServer } from "./model-server.mjs";

const pi = resolve(process.argv[2]);
const root = mkdtempSync(join(tmpdir(), "treering-pi-"));
const [agent, project, sessions, log] = ["agent", "project", "sessions", "hook.log"].map((name) => join(root, name));
for (const dir of [agent, project, sessions]) mkdirSync(dir);
const server = await modelServer([
  { tool: "write", arguments: { path: "color.txt", content: "red" } },
  "The color is written.",
  "It is red.",
  "It was red, I said.",
]);
writeFileSync(join(agent, "models.json"), JSON.stringify({
  providers: { stub: { baseUrl: server.url, api: "openai-completions", apiKey: "none", models: [{ id: "stub" }] } },
}));

async function run(isReplaced, ...args) {
  const hook = isReplaced ? ["--import", fileURLToPath(new URL("register.mjs", import.meta.url))] : [];
  const child = spawn(process.execPath, [...hook, join(pi, "dist", "cli.js"), "--model", "stub/stub", "--session-dir", sessions, "--offline", ...args], {
    cwd: project,
    env: { ...process.env, PI_CODING_AGENT_DIR: agent, PI_OFFLINE: "1", HOME: root, TREERING_HOOK_LOG: log },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [out, err] = ["", ""];
  child.stdout.on("data", (chunk) => (out += chunk));
  child.stderr.on("data", (chunk) => (err += chunk));
  const [code] = await once(child, "close");
  assert.equal(code, 0, `pi failed: ${err}`);
  return out;
}

const texts = (request) => JSON.stringify(request.messages);
try {
  const first = await run(true, "-p", "Write down a color.");
  assert.match(first, /The color is written/);
  assert.ok(existsSync(log), "pi's session manager was replaced");
  assert.equal(readFileSync(join(project, "color.txt"), "utf8"), "red");

  const second = await run(false, "-c", "-p", "Which color is it?");
  assert.match(second, /It is red/);
  assert.ok(texts(server.requests.at(-1)).includes("The color is written."), "pi alone sees what was said before");

  const third = await run(true, "-c", "-p", "What did you say?");
  assert.match(third, /It was red, I said/);
  assert.ok(texts(server.requests.at(-1)).includes("It is red."), "pi on treering sees what pi alone wrote");

  const { readdirSync } = await import("node:fs");
  const files = readdirSync(sessions, { recursive: true }).filter((name) => name.endsWith(".jsonl"));
  assert.equal(files.length, 1, "all of it is one session");
  const session = Session.openSync(join(sessions, files[0]));
  const roles = session.contextSync().messages.map((message) => message.role);
  assert.deepEqual(roles, ["user", "assistant", "toolResult", "assistant", "user", "assistant", "user", "assistant"]);
  assert.deepEqual((await session.findings({ all: true })).filter((finding) => finding.severity === "error"), []);
  console.log(`pi ran ${server.requests.length} requests on treering and without it, in one session of ${session.entryCount} entries`);
} finally {
  server.close();
  rmSync(root, { recursive: true, force: true });
}
