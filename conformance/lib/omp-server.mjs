// A long-lived process that holds oh-my-pi and answers requests, one line of JSON each. Run with bun:
//   bun omp-server.mjs DIRECTORY_OF_NODE_MODULES
import { join } from "node:path";
import { clock } from "./clock.mjs";
import { inspect } from "./omp-inspect.mjs";
import { runScript } from "./omp-run.mjs";
import { eachLine } from "./peer.mjs";
import { Random } from "./random.mjs";

// Times and entry ids come from the script, so that a seed gives the same file every time.
let ids = new Random(0);
Object.defineProperty(crypto, "randomUUID", { value: () => `${ids.hex(8)}-${ids.hex(4)}-4${ids.hex(3)}-8${ids.hex(3)}-${ids.hex(12)}` });
clock.install();

// The package publishes its TypeScript sources, so the session manager is imported alone.
const { SessionManager } = await import(join(process.argv[2], "node_modules/@oh-my-pi/pi-coding-agent/src/session/session-manager.ts"));
const verbs = { run: (request) => runScript(SessionManager, request), inspect: (request) => inspect(SessionManager, request) };

async function answer(line) {
  const { verb, request } = JSON.parse(line);
  if (request.seed !== undefined) {
    ids = new Random(request.seed);
    clock.reset();
  }
  try {
    return { answer: await verbs[verb](request) };
  } catch (error) {
    return { error: String(error?.stack ?? error) };
  }
}

const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
let last = Promise.resolve(say({ answer: "ready" }));
eachLine(process.stdin, (line) => (last = last.then(() => answer(line)).then(say)));
process.stdin.on("end", () => last.then(() => process.exit(0)));
