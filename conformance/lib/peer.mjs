// The harness's end of a process that holds another agent: one line of JSON per request, one per answer, in the same order.
import { spawn } from "node:child_process";

export class Peer {
  #child;
  #waiting = [];

  /** `command` starts a server of this directory; its first line reports that it is ready. */
  static async start(name, version, [program, ...args], env = {}) {
    const peer = new Peer();
    peer.title = `${name} ${version}`;
    peer.#child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, ...env } });
    const ready = new Promise((resolve, reject) => peer.#waiting.push({ resolve, reject }));
    const fail = (why) => peer.#waiting.splice(0).forEach(({ reject }) => reject(new Error(`${peer.title}: ${why}`)));
    peer.#child.on("error", (error) => fail(error.message)).on("close", (code) => fail(`has ended (exit code ${code})`));
    peer.#child.stdin.on("error", () => {});
    eachLine(peer.#child.stdout, (line) => {
      const { resolve, reject } = peer.#waiting.shift();
      const { answer, error } = JSON.parse(line);
      if (error === undefined) resolve(answer);
      else reject(new Error(`${peer.title}: ${error}`));
    });
    await ready;
    return peer;
  }

  ask(verb, request) {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#child.stdin.write(`${JSON.stringify({ verb, request })}\n`);
    });
  }

  stop() {
    this.#child.stdin.end();
  }
}

// Not node:readline, which also ends a line at U+2028.
export function eachLine(stream, take) {
  let pieces = [];
  stream.on("data", (chunk) => {
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      pieces.push(chunk.subarray(from, end));
      take(Buffer.concat(pieces).toString("utf8"));
      pieces = [];
      from = end + 1;
    }
    if (from < chunk.length) pieces.push(chunk.subarray(from));
  });
}
