// treering through its command line.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";

export class Treering {
  name = "treering";
  /** `dialect`: whose way of writing new sessions are in; pi's if not given. */
  constructor(binary, dialect) {
    this.binary = binary;
    this.dialect = dialect;
  }

  writing(dialect) {
    return new Treering(this.binary, dialect);
  }

  /** Standard output of one command; throws when the exit code is not 0. `leaf`: an id, null, or undefined for the active one. */
  async #run(args, input = "") {
    const child = spawn(this.binary, args, { stdio: "pipe" });
    const ended = new Promise((resolve, reject) => child.on("error", reject).on("close", (code, signal) => resolve(code ?? signal)));
    const [out, err] = [child.stdout, child.stderr].map(collect);
    child.stdin.on("error", () => {});
    child.stdin.end(input);
    const status = await ended;
    if (status !== 0) throw new Error(`treering ${args.map((a) => JSON.stringify(a)).join(" ")}\nended with ${status}: ${await err}`);
    return await out;
  }

  /** Any command, for its effect. */
  command(args) {
    return this.#run(args);
  }
  async context(file, leaf) {
    return JSON.parse(await this.#run(["context", file, "--json", ...at(leaf)]));
  }
  /** The context that the agent whose file it is would build itself. */
  async agentContext(file, leaf) {
    return JSON.parse(await this.#run(["context", file, "--view", "agent", "--json", ...at(leaf)]));
  }
  /** The context as a provider gets it. */
  async llm(file, leaf) {
    return JSON.parse(await this.#run(["context", file, "--llm", "--json", ...at(leaf)]));
  }
  /** What a compaction would do that keeps about `keep` tokens. */
  async planCompaction(file, leaf, keep) {
    return JSON.parse(await this.#run(["compact", file, "--dry-run", "--json", "--keep-recent", String(keep), ...at(leaf)]));
  }
  async log(file, leaf) {
    return objects(await this.#run(["log", file, "--json", ...at(leaf)]));
  }
  async tree(file) {
    return objects(await this.#run(["tree", file, "--json"]));
  }
  /** Appends entries, each given as one line of JSON. Returns the new ids. */
  async append(file, lines) {
    return words(await this.#run(["append", file, "--stdin", ...this.#begin(file)], lines.map((line) => `${line}\n`).join("")));
  }
  /** `parent`: an id, null for a new root, or undefined for the leaf. */
  async say(file, role, text, parent) {
    return words(await this.#run(["append", file, `--${role}`, text, ...(parent === undefined ? [] : ["--parent", parent ?? "none"]), ...this.#begin(file)]));
  }
  #begin(file) {
    return this.dialect && !existsSync(file) ? ["--dialect", this.dialect] : [];
  }
  async rename(file, name) {
    await this.#run(["name", file, name]);
  }
  /** Null if the session has none. */
  async nameOf(file) {
    const listed = objects(await this.#run(["ls", dirname(file), "--json"]));
    return listed.find(({ path }) => resolve(path) === resolve(file)).name;
  }
  async goto(file, id) {
    await this.#run(["goto", file, id ?? "none"]);
  }
  async label(file, id, text) {
    await this.#run(["label", file, id, ...(text === undefined ? [] : [text])]);
  }
  async fork(file, { at: id, dir, cwd }) {
    return (await this.#run(["fork", file, ...(id ? ["--at", id] : []), "--dir", dir, "--cwd", cwd])).replace(/\n$/, "");
  }
}

const at = (leaf) => (leaf === undefined ? [] : ["--leaf", leaf ?? "none"]);
const words = (out) => out.split("\n").filter((line) => line !== "");
const objects = (out) => words(out).map((line) => JSON.parse(line));

async function collect(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}
