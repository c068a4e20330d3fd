// What the pi and omp drivers share: the sub-command dispatch, the message
// shapes both agents store, and the latency summary.

/** Runs the sub-command named on the command line and prints its result as one JSON line. */
export async function run(commands) {
  const [name, ...args] = process.argv.slice(2);
  const command = commands[name];
  if (!command) {
    console.error(`usage: ${Object.keys(commands).join(" | ")}`);
    process.exit(2);
  }
  console.log(JSON.stringify(await command(...args)));
}

export const userMessage = (text) => ({
  role: "user",
  content: [{ type: "text", text }],
  timestamp: Date.now(),
});

export const assistantMessage = (text) => ({
  role: "assistant",
  content: [{ type: "text", text }],
  api: "none",
  provider: "none",
  model: "none",
  usage: {
    input: 1,
    output: 1,
    cacheRead: 0,
    cacheWrite: 0,
    totalTokens: 2,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
  },
  stopReason: "stop",
  timestamp: Date.now(),
});

/** Milliseconds, rounded to what the clock can tell. */
export const ms = (from, to = performance.now()) => Math.round((to - from) * 1000) / 1000;

/**
 * Appends `count` user messages of `bytes` bytes, timing each call. `finish`
 * is what the agent needs to have everything written; it counts in the total.
 */
export async function timeAppends(manager, count, bytes, finish = () => {}) {
  const text = "x".repeat(bytes);
  const micros = new Float64Array(count);
  const start = performance.now();
  for (let i = 0; i < count; i++) {
    const before = performance.now();
    manager.appendMessage(userMessage(text));
    micros[i] = (performance.now() - before) * 1000;
  }
  await finish();
  const total = ms(start);
  micros.sort();
  const at = (share) => Math.round(micros[Math.floor((count - 1) * share)] * 10) / 10;
  return { p50_us: at(0.5), p99_us: at(0.99), total_ms: total };
}
