// Talks to `/mcp` of a server, and to `treering mcp`, with the official TypeScript SDK.
//   node check.mjs URL TOKEN
// MCP_SDK names the directory in which the package is installed; TREERING_BIN the binary.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [url, token] = process.argv.slice(2);
const require = createRequire(`${process.env.MCP_SDK}/package.json`);
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${name}`)).href);
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");

function data(result) {
  assert.ok(!result.isError, JSON.stringify(result));
  const lines = result.content[0].text.split("\n");
  assert.equal(lines.length, 4);
  assert.equal(lines[1], lines[3]);
  return JSON.parse(lines[2]);
}

async function check(name, transport, tools) {
  const client = new Client({ name: "check", version: "1" });
  await client.connect(transport);
  assert.equal(client.getServerVersion().name, "treering");
  assert.equal((await client.listTools()).tools.length, tools);
  await client.ping();
  const told = [];
  const onprogress = (progress) => told.push(progress);
  const query = { name: "search", arguments: { query: "needle haystack" } };
  const found = data(await client.callTool(query, undefined, { onprogress }));
  // The SDK forgets the call with its answer, so the last notification may be lost on it.
  const isFurther = (one, at) => at === 0 || one.progress > told[at - 1].progress;
  assert.ok(told.length > 0 && told.every(isFurther), JSON.stringify(told));
  assert.equal(found.sessions.length, 1);
  const session = found.sessions[0].session.id;
  const read = data(await client.callTool({ name: "read_session", arguments: { session } }));
  assert.ok(read.entries.length > 0);
  await assert.rejects(client.callTool({ name: "no_such_tool", arguments: {} }), /no tool/);
  const canceled = new AbortController();
  const call = client.callTool({ name: "search", arguments: { query: "absent" } }, undefined, { signal: canceled.signal });
  canceled.abort();
  await assert.rejects(call);
  data(await client.callTool({ name: "list_sessions", arguments: {} }));
  await client.close();
  console.log(`mcp: ${name} with the TypeScript SDK`);
}

const headers = { Authorization: `Bearer ${token}` };
await check("/mcp", new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }), 11);
const env = { PATH: process.env.PATH, HOME: process.env.HOME, TREERING_SESSIONS: process.env.TREERING_SESSIONS };
await check("standard streams", new StdioClientTransport({ command: process.env.TREERING_BIN, args: ["mcp"], env }), 7);
