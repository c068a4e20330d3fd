// Colors for code: strings, comments, numbers, keywords. One expression per family of languages,
// applied when a code block comes into sight; it changes no character of the text. Which languages
// there are, and their words, is in languages.json; highlight.rs does the same for terminals.

const { words: WORDS, families: FAMILIES } = LANGUAGES;
const DOUBLE = '"(?:\\\\.|[^"\\\\\\n])*"';
const SINGLE = "'(?:\\\\.|[^'\\\\\\n])*'";
const NUMBER = '\\b(?:0x[\\da-fA-F_]+|\\d[\\d_]*(?:\\.\\d+)?(?:e[+-]?\\d+)?)';
const SLASHES = '//[^\\n]*|/\\*[^]*?(?:\\*/|$)';
const HASH = '(?<=^|\\s)#[^\\n]*';
const SHAPES = {
  rs: [SLASHES, `b?r?${DOUBLE}|'(?:\\\\.|[^'\\\\\\n])'`], js: [SLASHES, `${DOUBLE}|${SINGLE}|\`(?:\\\\.|[^\`\\\\])*\``],
  py: [HASH, `"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|${DOUBLE}|${SINGLE}`], go: [SLASHES, `${DOUBLE}|\`[^\`]*\`|'(?:\\\\.|[^'\\\\\\n])'`],
  c: [SLASHES, `${DOUBLE}|'(?:\\\\.|[^'\\\\\\n])'`], sh: [HASH, `"(?:\\\\.|[^"\\\\])*"|'[^']*'`], toml: [HASH, `${DOUBLE}|${SINGLE}`],
  sql: ['--[^\\n]*|/\\*[^]*?(?:\\*/|$)', SINGLE], rb: [HASH, `${DOUBLE}|${SINGLE}`], css: ['/\\*[^]*?(?:\\*/|$)', `${DOUBLE}|${SINGLE}`], json: ['(?!)', DOUBLE],
};
const expressions = new Map();

function expression(family) {
  if (!expressions.has(family)) {
    const [comment, string] = SHAPES[family];
    const words = WORDS[family] ? `\\b(?:${WORDS[family].split(' ').join('|')})\\b` : '\\b(?:true|false|null|yes|no)\\b';
    const name = family === 'toml' ? '^[ \\t-]*[\\w."-]+(?=\\s*[:=])|^\\[[^\\n]*\\]' : family === 'json' ? '"(?:\\\\.|[^"\\\\\\n])*"(?=\\s*:)' : '\\b[A-Za-z_]\\w*(?=\\()';
    const flags = family === 'sql' ? 'gmi' : 'gm';
    expressions.set(family, new RegExp(`(?<k>${family === 'json' ? name : '(?!)'})|(?<c>${comment})|(?<s>${string})|(?<n>${NUMBER})|(?<w>${words})|(?<f>${family === 'json' ? '(?!)' : name})`, flags));
  }
  return expressions.get(family);
}

function highlightDiff(text, out) {
  for (const line of text.split(/(?<=\n)/)) {
    const name = line[0] === '+' ? 'ins' : line[0] === '-' ? 'del' : /^(@@|\*\*\*|diff )/.test(line) ? 'hl-c' : '';
    out.append(name ? make(name === 'hl-c' ? 'span' : name, name === 'hl-c' ? name : '', line) : line);
  }
}

function highlight(code) {
  const family = FAMILIES[code.dataset.l];
  const text = code.textContent;
  // Marks of invisible characters must stay, and very long code is not colored.
  if (!family || code.firstElementChild || text.length > 40000) return;
  const out = document.createDocumentFragment();
  if (family === 'diff') highlightDiff(text, out);
  else if (SHAPES[family]) {
    let from = 0;
    for (const found of text.matchAll(expression(family))) {
      if (!found[0]) continue;
      const name = Object.keys(found.groups).find(key => found.groups[key] !== undefined);
      out.append(text.slice(from, found.index), make('span', `hl-${name}`, found[0]));
      from = found.index + found[0].length;
    }
    out.append(text.slice(from));
  } else return;
  code.replaceChildren(out);
}
