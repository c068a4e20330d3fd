/** The differences between treering and pi, and the options that decide between them. */
import type { Creation, Durability } from "../types.js";

/** The behavior of session managers where treering and pi differ. */
export interface Compatibility {
  /**
   * `recorded`: where the leaf was moved is written to the file and survives a restart; the records are in no list.
   * `memory`: it is not stored, as in pi, and a file is continued at its last line.
   */
  navigation: "recorded" | "memory";
  /** A file that is no session: `refuse` it and change nothing, or `replace` its content by a new session, as pi 0.x does. */
  unknownFile: "refuse" | "replace";
  /** When the file of a new session or fork is created: pi 1.x waits for a message, pi 0.x for an assistant's. */
  creation: Creation;
  /** The entry that a branch summary names: the leaf that was `left`, or the one that the leaf moved `to`, as in pi 0.x. */
  summaryFrom: "left" | "to";
  /** Files of versions 1 and 2: rewritten by the first `append`, with a backup, or when they are opened, as in pi. */
  upgrade: "append" | "open";
  /**
   * The limit of a summary: that of the `model`, or a part of the tokens that are reserved, as in pi 0.x. With `reserve`, a model that can
   * reason does so at `high` if no level is passed.
   */
  summaryLimit: "model" | "reserve";
  /** The guarantee of an append when it returns. pi leaves it to the operating system. */
  durability: Durability;
}

const TREERING: Compatibility = {
  navigation: "recorded",
  unknownFile: "refuse",
  creation: "first-message",
  summaryFrom: "left",
  upgrade: "append",
  summaryLimit: "model",
  durability: "none",
};

/** Behaviors by name. */
export const COMPATIBILITY = {
  treering: TREERING,
  "pi-1": { ...TREERING, navigation: "memory", upgrade: "open" },
  "pi-0": {
    ...TREERING,
    navigation: "memory",
    upgrade: "open",
    unknownFile: "replace",
    creation: "first-assistant-message",
    summaryFrom: "to",
    summaryLimit: "reserve",
  },
} as const satisfies Record<string, Compatibility>;

/** The name of a behavior. */
export type CompatibilityName = keyof typeof COMPATIBILITY;

let current: Compatibility = named(process.env["TREERING_PI_COMPATIBILITY"] ?? "treering");

function named(name: string): Compatibility {
  const found = COMPATIBILITY[name as CompatibilityName];
  if (!found) throw new Error(`there is no compatibility ${name}: use ${Object.keys(COMPATIBILITY).join(", ")}`);
  return found;
}

/**
 * Sets the behavior of the session managers that are created from now on: a name, or single choices over the current
 * ones. The default is `treering`, or what the environment variable `TREERING_PI_COMPATIBILITY` names.
 */
export function setCompatibility(choice: CompatibilityName | Partial<Compatibility>): void {
  current = typeof choice === "string" ? named(choice) : { ...current, ...choice };
}

/** Returns the behavior of the session managers that are created from now on. */
export function getCompatibility(): Compatibility {
  return current;
}
