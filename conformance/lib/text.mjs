// Texts and JSON values that are legal, and hard on careless readers.
const WORDS = "read the file then run it again and tell me why this branch fails before we merge".split(" ");

const PIECES = [
  "日本語のテキスト", "한국어", "ไทย", "עברית مرحبا", "\u202eright to left\u202c", "e\u0301 n\u0303", "👩‍👩‍👧‍👦 🏳️‍🌈", "\u{10ffff}\u{1d11e}",
  "\u0000", "\u0001\u001f\u007f\u0085", "\b\t\n\f\r", "\r\n", "\u2028\u2029", "\ufeff", "\ufffd",
  "\ud800", "\udfff", "\ud83d x", "\u001b[31mred\u001b[0m",
  '"quoted"', "\\", "\\\\\"", "\\u0041", "\\ud800", "\\n", '{"type":"session","id":"x"}', '","id":"00000000","parentId":null,"x":"',
  "<script>alert(1)</script>", "&amp;<b>", "</summary>", "```\ncode\n```", "$(rm -rf x)", "%s %d", "''",
];

export function text(rng) {
  const parts = [];
  for (let n = rng.int(1, 6); n > 0; n--) parts.push(rng.chance(0.4) ? rng.of(PIECES) : rng.of(WORDS));
  const out = parts.join(rng.chance(0.8) ? " " : "");
  return rng.chance(0.03) ? out.repeat(rng.int(50, 400)) : out;
}

/** A text that can be a command line argument: no NUL, no half of a surrogate pair, no leading dash. */
export function argument(rng) {
  const out = text(rng).replace(/\u0000/g, "").replace(/^[-\s]+/, "").toWellFormed();
  return out === "" ? "x" : out.slice(0, 2000).toWellFormed();
}

const KEYS = ["id", "parentId", "type", "timestamp", "message", "role", "content", "targetId", "", "10", "2", "__proto__", "ключ", "a.b", "\u0000", '"', "\\"];
const SCALARS = [null, true, false, 0, -1, 1.5, 1e21, 1e-7, 9007199254740991, 0.1, "", "null"];

export function json(rng, depth = 0) {
  const kind = depth > 3 ? 0 : rng.int(0, 4);
  if (kind === 0) return rng.of(SCALARS);
  if (kind === 1) return text(rng);
  if (kind === 2) return Array.from({ length: rng.int(0, 3) }, () => json(rng, depth + 1));
  return object(rng, depth + 1);
}

export function object(rng, depth = 0) {
  // fromEntries defines own properties, so that "__proto__" is a key like any other.
  return Object.fromEntries(Array.from({ length: rng.int(0, 4) }, () => [rng.of(KEYS), json(rng, depth)]));
}

/** JSON for `value` on one line, in an unusual but legal spelling: blanks, escaped letters, another order of keys. */
export function spell(rng, value) {
  const blank = () => (rng.chance(0.15) ? rng.of([" ", "\t", "  "]) : "");
  const string = (s) =>
    JSON.stringify(s).replace(/(\\u....|\\.)|([a-z/])/g, (all, escaped, letter) =>
      escaped || rng.next() > 0.05 ? all : `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0").toUpperCase()}`,
    );
  const write = (v) => {
    if (typeof v === "string") return string(v);
    if (Array.isArray(v)) return `[${blank()}${v.map(write).join(`${blank()},${blank()}`)}${blank()}]`;
    if (v !== null && typeof v === "object") {
      const members = rng.shuffle(Object.keys(v).filter((k) => v[k] !== undefined));
      return `{${blank()}${members.map((k) => `${string(k)}${blank()}:${blank()}${write(v[k])}`).join(`${blank()},${blank()}`)}${blank()}}`;
    }
    return JSON.stringify(v);
  };
  return write(value);
}
