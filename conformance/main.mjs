// Runs the checks. See README.md; run.sh installs what is needed and calls this.
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { startPeer } from "./lib/peers.mjs";
import { Pi } from "./lib/pi.mjs";
import { Report } from "./lib/report.mjs";
import { StandIn } from "./lib/stand-in.mjs";
import { Treering } from "./lib/treering.mjs";

const SCRIPTS = {
  corpus: 0, "pi-writes": 200, "treering-writes": 150, fork: 100, llm: 60, compaction: 300,
  "chimera-writes": 150, "treering-in-chimera": 150, "omp-writes": 150, "treering-in-omp": 150, replacing: 12,
  messages: 1,
};
const CHECKS = Object.keys(SCRIPTS);
// The agent other than pi that a check is about.
const agentOf = (check) => ["chimera", "omp"].find((agent) => check.includes(agent));

const { values: options } = parseArgs({
  options: {
    cache: { type: "string" }, check: { type: "string" }, seed: { type: "string" }, scripts: { type: "string" }, "self-check": { type: "boolean" },
  },
});
const number = (name, given, fallback) => {
  const value = Number(given ?? fallback);
  if (!Number.isSafeInteger(value) || value < 0) fail(`${name} must be a whole number`);
  return value;
};
if (options.check && !CHECKS.includes(options.check)) fail(`--check must be one of ${CHECKS.join(", ")}`);
if (!options.cache) fail("--cache is needed; run conformance/run.sh");

const binary = process.env.TREERING_BIN;
if (!options["self-check"] && !(binary && existsSync(binary))) fail(`there is no treering at ${binary}: build it, or set TREERING_BIN`);

const repository = new URL("..", import.meta.url).pathname;
const work = join(resolve(options.cache), "work");
rmSync(work, { recursive: true, force: true });
mkdirSync(work, { recursive: true });

const [pi15, pi73] = await Promise.all(["1.5.2", "0.73.1"].map((version) => Pi.start(version, options.cache)));
const setup = {
  pi15, pi73, work, cache: options.cache,
  treering: options["self-check"] ? new StandIn(pi15, work) : new Treering(resolve(binary)),
  messages: resolve(process.env.MESSAGES_BIN ?? join(repository, "target/release/examples/messages")),
  corpus: process.env.CONFORMANCE_CORPUS ?? join(repository, "../shared/corpus"),
  seed: number("the seed", options.seed ?? process.env.CONFORMANCE_SEED, 1),
};

const reports = [];
const peers = {};
for (const name of CHECKS.filter((c) => !options.check || c === options.check)) {
  const agent = agentOf(name);
  if ((agent || name === "replacing" || name === "messages") && options["self-check"]) continue;
  if (agent) peers[agent] ??= await startPeer(agent, resolve(options.cache));
  if (agent && !peers[agent]) {
    console.error(`CONFORMANCE NOT CHECKED: ${name}: ${agent} is not installed`);
    if (process.env.CI === "true") process.exitCode = 1;
    continue;
  }
  const { check } = await import(`./checks/${name}.mjs`);
  const report = new Report(name);
  reports.push(report);
  await check({ ...setup, ...peers, scripts: number("the number of scripts", options.scripts ?? process.env.CONFORMANCE_SCRIPTS, SCRIPTS[name]) }, report);
  console.log(report.summary());
}
for (const peer of [pi15, pi73, ...Object.values(peers)]) peer?.stop();

const failed = reports.reduce((sum, r) => sum + r.failed, 0);
console.log(`${reports.reduce((sum, r) => sum + r.scripts, 0) - failed} passed, ${failed} failed`);
if (failed > 0) process.exitCode = 1;

function fail(why) {
  console.error(`conformance: ${why}`);
  process.exit(2);
}
