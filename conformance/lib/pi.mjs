// The harness's end of a pi-server process.
import { fork } from "node:child_process";
import { join } from "node:path";

export class Pi {
  #child;
  #waiting = new Map();
  #next = 0;

  static async start(version, cache) {
    const pi = new Pi();
    pi.version = version;
    const server = new URL("pi-server.mjs", import.meta.url).pathname;
    pi.#child = fork(server, [join(cache, `pi-${version}`)], { serialization: "json" });
    await new Promise((resolve, reject) => {
      pi.#child.once("message", resolve);
      pi.#child.once("exit", (code) => reject(new Error(`pi ${version} does not start (exit code ${code})`)));
    });
    pi.#child.on("message", ({ ticket, answer, error }) => {
      const { resolve, reject } = pi.#waiting.get(ticket);
      pi.#waiting.delete(ticket);
      if (error === undefined) resolve(answer);
      else reject(new Error(`pi ${version}: ${error}`));
    });
    pi.#child.on("exit", () => {
      for (const { reject } of pi.#waiting.values()) reject(new Error(`pi ${version} has ended`));
    });
    return pi;
  }

  ask(verb, request) {
    const ticket = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(ticket, { resolve, reject });
      this.#child.send({ ticket, verb, request });
    });
  }

  stop() {
    this.#child.disconnect();
  }
}
