// Resolves pi's session manager to another module.
import { appendFileSync } from "node:fs";

let options;

export function initialize(data) {
  options = data;
}

export async function resolve(specifier, context, next) {
  const found = await next(specifier, context);
  if (!found.url.endsWith("/pi-coding-agent/dist/core/session-manager.js")) return found;
  if (options.log) appendFileSync(options.log, `${context.parentURL}\n`);
  // The package is CommonJS inside, whatever the module that was asked for is.
  return { url: options.replacement, format: "module", shortCircuit: true };
}
