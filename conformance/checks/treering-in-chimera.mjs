// F. treering writes a session of Chimera's, Chimera reads and continues it, treering reads it; and again.
import { chimeraScript } from "../lib/chimera-script.mjs";
import { eachInForeign } from "../lib/in-foreign.mjs";

export const check = (setup, report) =>
  eachInForeign(setup, report, { peer: setup.chimera, dialect: "chimera", more: (rng) => chimeraScript(rng, rng.int(1, 8), {}) });
