// The agents other than pi: where install.mjs puts them, and how their servers are started.
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { Peer } from "./peer.mjs";

const server = (name) => new URL(name, import.meta.url).pathname;

const PEERS = {
  chimera: { version: "0.9.2.3", command: (dir) => [join(dir, "bin", "python"), server("chimera-server.py")] },
  omp: { version: "18.2.3", command: (dir) => [join(dir, "node_modules", ".bin", "bun"), server("omp-server.mjs"), dir] },
};

/** The file that records that an agent is installed, and which version. */
export const stampOf = (cache, agent) => join(cache, `${agent}.installed.json`);

/** Undefined when the agent is not installed. */
export async function startPeer(agent, cache) {
  if (!existsSync(stampOf(cache, agent))) return undefined;
  // Agents keep state in the home directory: give them one of their own.
  const home = join(cache, "home");
  mkdirSync(home, { recursive: true });
  const { version, command } = PEERS[agent];
  return Peer.start(agent, version, command(join(cache, agent)), { HOME: home });
}
