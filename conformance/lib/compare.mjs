// Equality of JSON values, and where two values first differ.
import { createHash } from "node:crypto";

const isObject = (v) => v !== null && typeof v === "object" && !Array.isArray(v);
const keys = (v) => Object.keys(v).filter((k) => v[k] !== undefined);

/** Null when both are the same JSON value; members that are undefined do not count. */
export function difference(left, right, at = "$") {
  if (Array.isArray(left) && Array.isArray(right)) {
    for (let i = 0; i < Math.max(left.length, right.length); i++) {
      const found = difference(left[i], right[i], `${at}[${i}]`);
      if (found) return found;
    }
    return null;
  }
  if (isObject(left) && isObject(right)) {
    for (const key of new Set([...keys(left), ...keys(right)])) {
      const member = (v) => (Object.hasOwn(v, key) ? v[key] : undefined);
      const found = difference(member(left), member(right), `${at}.${JSON.stringify(key)}`);
      if (found) return found;
    }
    return null;
  }
  return left === right ? null : { at, left, right };
}

/** Thrown where two results differ; `sides` says who gave which. */
export class Difference extends Error {
  constructor(what, { at, left, right }, sides) {
    const show = (v) => (v === undefined ? "(nothing)" : JSON.stringify(v).slice(0, 600));
    super(`${what} differs at ${at}\n  ${sides[0]}: ${show(left)}\n  ${sides[1]}: ${show(right)}`);
  }
}

export function mustEqual(what, left, right, sides) {
  const found = difference(left, right);
  if (found) throw new Difference(what, found, sides);
}

const byCodePoint = (a, b) => {
  const [x, y] = [[...a], [...b]];
  for (let i = 0; i < Math.min(x.length, y.length); i++) if (x[i] !== y[i]) return x[i].codePointAt(0) - y[i].codePointAt(0);
  return x.length - y.length;
};

/** JSON with sorted keys and nothing optional in it. */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (isObject(value)) return `{${keys(value).sort(byCodePoint).map((k) => `${JSON.stringify(k)}:${canonical(value[k])}`).join(",")}}`;
  return JSON.stringify(value);
}

export const sha256 = (value) => createHash("sha256").update(canonical(value), "utf8").digest("hex");
