// node check.mjs CACHE_DIR: `treering usage` and ccusage on the same files, day by day and model by model, and how long both take.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Random } from "../lib/random.mjs";
import { claude, codex } from "./sessions.mjs";

const cache = resolve(process.argv[2]);
const treering = resolve(process.env.TREERING_BIN);
const corpus = process.env.CONFORMANCE_CORPUS ?? new URL("../../../shared/corpus", import.meta.url).pathname;
const work = mkdtempSync(join(tmpdir(), "treering-usage-"));
const native = join(cache, "ccusage-20", "node_modules", `@ccusage/ccusage-${process.platform}-${process.arch}`, "bin", "ccusage");
const onNode = join(cache, "ccusage-18", "node_modules", "ccusage", "dist", "index.js");
const problems = [];
let compared = 0;

/** Runs a program with nothing of this machine's sessions in its environment. */
function run(program, args, variables) {
  const env = { PATH: process.env.PATH, HOME: join(work, "home"), TZ: "UTC", LOG_LEVEL: "0", ...variables };
  return execFileSync(program, args, { env, encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] });
}

const milliseconds = (work) => {
  const start = process.hrtime.bigint();
  work();
  return Number(process.hrtime.bigint() - start) / 1e6;
};

/** Tokens and cost by day and model, as treering counts them: [day model] → numbers. */
function ours(dir) {
  const { rows } = JSON.parse(run(treering, ["usage", "daily", "--json", "--dir", dir, "--no-cache", "--timezone", "UTC"], {}));
  const all = new Map();
  for (const { name, models } of rows) {
    for (const { model, usage } of models) {
      const { input, output, cacheRead, cacheWrite, cost, costComputed } = usage;
      if (cost !== null && !costComputed) throw new Error(`the cost of ${model} should be computed`);
      all.set(`${name} ${model.replace(/^[^/]*\//, "")}`, { input, output, cacheRead, cacheWrite, cost });
    }
  }
  return all;
}

function claudeTheirs(dir) {
  const { daily } = JSON.parse(run(native, ["claude", "daily", "--json", "--offline", "-z", "UTC", "--breakdown"], { CLAUDE_CONFIG_DIR: dir }));
  const all = new Map();
  for (const { date, modelBreakdowns } of daily) {
    for (const row of modelBreakdowns) {
      const cost = row.missingPricing ? null : row.cost;
      all.set(`${date} ${row.modelName}`, { input: row.inputTokens, output: row.outputTokens, cacheRead: row.cacheReadTokens, cacheWrite: row.cacheCreationTokens, cost });
    }
  }
  return all;
}

/** ccusage states the cost of Codex by day only: it is compared as a sum. */
function codexTheirs(dir) {
  const { daily } = JSON.parse(run(native, ["codex", "daily", "--json", "--offline", "-z", "UTC"], { CODEX_HOME: dir }));
  const all = new Map();
  for (const { date, models } of daily) {
    for (const [model, row] of Object.entries(models)) {
      all.set(`${date} ${model}`, { input: row.inputTokens, output: row.outputTokens, cacheRead: row.cacheReadTokens, cacheWrite: row.cacheCreationTokens });
    }
  }
  return { all, cost: daily.reduce((sum, { costUSD }) => sum + costUSD, 0) };
}

function compare(what, mine, theirs) {
  for (const key of new Set([...mine.keys(), ...theirs.keys()])) {
    compared++;
    const [a, b] = [mine.get(key), theirs.get(key)];
    const isSame = a && b && ["input", "output", "cacheRead", "cacheWrite"].every((kind) => a[kind] === b[kind]) && (!("cost" in b) || isClose(a.cost, b.cost));
    if (!isSame) problems.push(`${what}: ${key}: treering ${JSON.stringify(a)}, ccusage ${JSON.stringify(b)}`);
  }
}

// ccusage adds floating-point numbers.
const isClose = (a, b) => (a === null || b === null ? a === b : Math.abs(a - b) <= 1e-9 + 1e-9 * Math.abs(b));

const sum = (numbers) => numbers.reduce((all, { cost }) => all + (cost ?? 0), 0);

function check(what, { claudeDir, codexDir }) {
  compare(`${what}, Claude Code`, ours(join(claudeDir, "projects")), claudeTheirs(claudeDir));
  const [mine, theirs] = [ours(join(codexDir, "sessions")), codexTheirs(codexDir)];
  compare(`${what}, Codex`, mine, theirs.all);
  if (!isClose(sum([...mine.values()]), theirs.cost)) problems.push(`${what}, Codex: cost ${sum([...mine.values()])} and ${theirs.cost}`);
}

/** The records of a file without spaces between their members, which ccusage does not read. */
const compact = (text) => text.split("\n").map((line) => {
  try {
    return JSON.stringify(JSON.parse(line));
  } catch {
    return line;
  }
}).join("\n");

/** Puts sample files where the agents would keep them. */
function sample(name) {
  const [claudeDir, codexDir] = [join(work, name, "claude"), join(work, name, "codex")];
  for (const [from, to] of [["claude-code", join(claudeDir, "projects", "-p")], ["codex", join(codexDir, "sessions", "2026", "01", "01")]]) {
    mkdirSync(to, { recursive: true });
    const files = readdirSync(join(corpus, from)).filter((file) => file.endsWith(".jsonl"));
    for (const file of files) writeFileSync(join(to, file), compact(readFileSync(join(corpus, from, file), "utf8")));
  }
  return { claudeDir, codexDir };
}

try {
  if (!existsSync(native)) throw new Error(`ccusage has no program for ${process.platform} ${process.arch}`);
  for (const seed of [1, 2, 3]) {
    const dirs = { claudeDir: join(work, `seed-${seed}`, "claude"), codexDir: join(work, `seed-${seed}`, "codex") };
    claude(dirs.claudeDir, new Random(seed), { sessions: 40, answers: 25 });
    codex(dirs.codexDir, new Random(seed), { sessions: 20, answers: 20 });
    check(`seed ${seed}`, dirs);
  }
  if (existsSync(corpus)) check("sample files", sample("corpus"));
  else console.log("SKIPPED: there is no directory of sample sessions beside the project");
  for (const problem of problems.slice(0, 10)) console.error(problem);
  console.log(`usage: ${compared} sums compared with ccusage 20.0.24, ${problems.length} differences`);
  speed();
} finally {
  rmSync(work, { recursive: true, force: true });
}
process.exitCode = problems.length > 0 ? 1 : 0;

/** Times both on the same files, in turns: the median of each. */
function speed() {
  const dir = join(work, "speed");
  const sessions = Number(process.env.USAGE_SESSIONS ?? 1000);
  claude(dir, new Random(9), { sessions, answers: 20, text: 1000 });
  const variables = { CLAUDE_CONFIG_DIR: dir, XDG_CACHE_HOME: join(work, "cache") };
  const usage = (...more) => run(treering, ["usage", "daily", "--dir", join(dir, "projects"), "--timezone", "UTC", ...more], variables);
  const programs = {
    "treering, no cache": () => usage("--no-cache"),
    "treering, cached": () => usage(),
    "ccusage 20 (native)": () => run(native, ["claude", "daily", "--offline", "-z", "UTC"], variables),
    "ccusage 18 (node)": () => run(process.execPath, [onNode, "daily", "--offline", "-z", "UTC"], variables),
  };
  usage();
  const times = Object.fromEntries(Object.keys(programs).map((name) => [name, []]));
  for (let round = 0; round < 3; round++) {
    for (const [name, program] of Object.entries(programs)) times[name].push(milliseconds(program));
  }
  const median = (numbers) => numbers.toSorted((a, b) => a - b)[1];
  const bytes = readdirSync(dir, { recursive: true }).map((file) => statSync(join(dir, file))).filter((stat) => stat.isFile()).reduce((all, { size }) => all + size, 0);
  console.log(`${sessions} sessions of Claude Code, ${(bytes / 1e6).toFixed(0)} MB:`);
  const first = median(times["treering, no cache"]);
  for (const [name, runs] of Object.entries(times)) {
    console.log(`  ${name.padEnd(20)} ${median(runs).toFixed(0).padStart(6)} ms   ${(median(runs) / first).toFixed(1)} × treering without a cache`);
  }
}
