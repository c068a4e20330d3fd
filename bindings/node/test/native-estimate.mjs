// The library's own estimate of tokens, past the modules of the package.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const require = createRequire(import.meta.url);
const root = dirname(require.resolve("treering/package.json"));
const addon = require(join(root, "prebuilds", `${process.platform}-${process.arch}`, "treering.node"));

export const addonEstimate = (message) => JSON.parse(addon.invoke("estimateTokens", "", [JSON.stringify(message)]));
