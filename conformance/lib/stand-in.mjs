// pi 1.5 with treering's interface: shows that the harness itself is sound.
export class StandIn {
  name = "stand-in";
  constructor(pi, dir) {
    this.pi = pi;
    this.dir = dir;
  }

  async #look(file, leaf) {
    // With a seed, entries of version 1 get the same ids each time.
    const seen = await this.pi.ask("inspect", { file, dir: this.dir, leaves: leaf === undefined ? [] : [leaf], seed: 0 });
    const last = seen.entries.at(-1);
    if (leaf === undefined && last?.type === "leaf") return this.#look(file, last.targetId);
    return { ...seen, context: seen.contexts.at(-1) };
  }

  async context(file, leaf) {
    const { messages, thinkingLevel, model } = (await this.#look(file, leaf)).context;
    return { messages, thinkingLevel, model };
  }
  async llm(file, leaf) {
    const seen = await this.pi.ask("inspectLlm", { file, dir: this.dir, leaves: [leaf] });
    return { messages: seen.contexts.at(-1).llm };
  }
  async log(file, leaf) {
    const { entries, context } = await this.#look(file, leaf);
    const byId = new Map(entries.map((e) => [e.id, e]));
    return context.path.map((id) => byId.get(id));
  }
  async tree(file) {
    const { tree, context } = await this.#look(file);
    const active = new Set(context.path);
    return tree.map(({ labelTimestamp, ...node }) => ({ ...node, active: active.has(node.id), leaf: node.id === context.leaf }));
  }
  append(file, lines) {
    return this.pi.ask("append", { file, entries: lines.map((line) => JSON.parse(line)) });
  }
  say(file, role, text, parentId) {
    const message = { role, content: [{ type: "text", text }], timestamp: 1, ...(role === "assistant" && { provider: "p", model: "m" }) };
    return this.append(file, [JSON.stringify({ type: "message", message, parentId })]);
  }
  rename(file, name) {
    return this.append(file, [JSON.stringify({ type: "session_info", name })]);
  }
  goto(file, id) {
    return this.pi.ask("goto", { file, id });
  }
  label(file, id, text) {
    return this.append(file, [JSON.stringify({ type: "label", targetId: id, label: text })]);
  }
  fork(file, request) {
    return this.pi.ask("fork", { file, ...request });
  }
}
