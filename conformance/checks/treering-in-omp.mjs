// H. treering writes a session of omp's, omp reads and continues it, treering reads it; and again.
import { eachInForeign } from "../lib/in-foreign.mjs";
import { ompScript } from "../lib/omp-script.mjs";

// omp cannot build a context with an answer that has no content.
export const check = (setup, report) =>
  eachInForeign(setup, report, { peer: setup.omp, dialect: "omp", more: (rng) => ompScript(rng, rng.int(1, 8)), traits: { sound: true } });
