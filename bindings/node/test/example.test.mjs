// The example agent, compiled, against a model that answers from a script.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Session } from "treering";
import { withDirectory } from "./helpers.mjs";

const program = fileURLToPath(new URL("../examples/agent.js", import.meta.url));

test("the example agent uses its tools and branches", { skip: !existsSync(program) && "the example is not compiled" }, async () => {
  const requests = [];
  const answers = [
    { content: null, tool_calls: [{ id: "c1", function: { name: "write", arguments: '{"path":"color.txt","content":"red"}' } }] },
    { content: "I wrote red." },
    { content: "Blue it is." },
  ];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    requests.push(JSON.parse(body));
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ choices: [{ message: answers.shift() }] }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    await withDirectory(async (dir) => {
      const child = spawn(process.execPath, [program, `http://127.0.0.1:${server.address().port}`, "stub", dir], { cwd: dir, stdio: ["pipe", "pipe", "inherit"] });
      child.stdin.end("Write down a color.\n/goto\nAnother one.\n/tree\n");
      let out = "";
      for await (const chunk of child.stdout) out += chunk;
      assert.match(out, /I wrote red\.[^]*at null[^]*Blue it is\./);
      assert.equal(readFileSync(join(dir, "color.txt"), "utf8"), "red");
      const session = Session.openSync(join(dir, readdirSync(dir).find((name) => name.endsWith(".jsonl"))));
      assert.equal(session.roots().length, 2, "each question is a branch of its own");
      assert.equal(session.contextSync().messages.length, 2);
    });
  } finally {
    server.close();
  }
  assert.deepEqual(requests.map((request) => request.messages.length), [1, 3, 1]);
  assert.deepEqual(requests[0].tools.map((tool) => tool.function.name), ["read", "write", "bash"]);
});
