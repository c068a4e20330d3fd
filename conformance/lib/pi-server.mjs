// A long-lived process that holds one version of pi and answers requests over its IPC channel.
//   node pi-server.mjs PACKAGE_DIR
import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { clock } from "./clock.mjs";
import { planCompactions } from "./pi-compaction.mjs";
import { inspect, usageTotals } from "./pi-inspect.mjs";
import { runScript } from "./pi-run.mjs";
import * as standIn from "./pi-stand-in.mjs";
import { Random } from "./random.mjs";

// Entry ids come from a seed, so that a script gives the same file every time.
let ids = new Random(0);
crypto.randomUUID = () => `${ids.hex(8)}-${ids.hex(4)}-4${ids.hex(3)}-8${ids.hex(3)}-${ids.hex(12)}`;
syncBuiltinESMExports();
clock.install();

const load = (name) => import(pathToFileURL(join(process.argv[2], "dist/core", name)));
const { SessionManager } = await load("session-manager.js");
const { convertToLlm } = await load("messages.js");

// Only 1.5.2 is asked about compactions; the older version's planning needs packages that are not installed.
const planner = process.argv[2].endsWith("1.5.2") && {
  SessionManager, toLlm: convertToLlm,
  compaction: await load("compaction/compaction.js"), utils: await load("compaction/utils.js"),
  currentSystem: (await import(pathToFileURL(join(process.argv[2], "../pi-ai-1.5.2/dist/utils/transcript.js")))).getCurrentSystemMessage,
};

const totals = process.argv[2].endsWith("1.5.2") && (await load("usage-totals.js"));

const verbs = {
  usageTotals: (request) => usageTotals(SessionManager, totals, request),
  planCompactions: (request) => planCompactions(planner, request),
  run: (request) => runScript(SessionManager, request),
  inspect: (request) => inspect(SessionManager, request),
  inspectLlm: (request) => inspect(SessionManager, { ...request, toLlm: convertToLlm }),
  append: (request) => standIn.append(SessionManager, request),
  goto: (request) => standIn.goto(SessionManager, request),
  fork: (request) => standIn.fork(SessionManager, request),
};

process.on("message", ({ ticket, verb, request }) => {
  try {
    if (request.seed !== undefined) {
      ids = new Random(request.seed);
      clock.reset();
    }
    process.send({ ticket, answer: verbs[verb](request) });
  } catch (error) {
    process.send({ ticket, error: String(error?.stack ?? error) });
  }
});
process.on("disconnect", () => process.exit(0));
process.send({ ready: true });
