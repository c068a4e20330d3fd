// Colours for code: strings, comments, numbers, keywords. One expression per family of languages,
// applied when a code block comes into sight; it changes no character of the text.

const WORDS = {
  rs: 'as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while',
  js: 'as async await break case catch class const continue default delete do else enum export extends false finally for from function get if implements import in instanceof interface let new null of private protected public readonly return set static super switch this throw true try type typeof undefined var void while yield',
  py: 'and as assert async await break class continue def del elif else except False finally for from global if import in is lambda None nonlocal not or pass raise return self True try while with yield',
  go: 'break case chan const continue default defer else fallthrough false for func go goto if import interface map nil package range return select struct switch true type var',
  c: 'auto bool break case catch char class const constexpr continue default delete do double else enum explicit extern false final float for friend if inline int long namespace new noexcept null nullptr operator override private protected public return short signed sizeof static struct super switch template this throw throws true try typedef typename union unsigned using virtual void volatile while abstract boolean byte extends implements import instanceof interface package var val fun when object',
  sh: 'case do done elif else esac exit export fi for function if in local return set shift source then until while cd echo grep sed awk cat ls rm mkdir git cargo npm',
  sql: 'add alter and as asc begin between by case commit create default delete desc distinct drop else end exists foreign from group having in index inner insert into is join key left like limit not null on or order outer primary references right rollback select set table then union unique update values when where with',
  rb: 'alias and begin break case class def do else elsif end ensure false for if in module next nil not or redo require rescue return self super then true undef unless until when while yield',
};
const FAMILIES = {
  rs: 'rs', rust: 'rs', js: 'js', jsx: 'js', mjs: 'js', cjs: 'js', ts: 'js', tsx: 'js', javascript: 'js', typescript: 'js', json: 'json', jsonc: 'json', jsonl: 'json',
  py: 'py', python: 'py', go: 'go', golang: 'go', c: 'c', h: 'c', cc: 'c', cpp: 'c', 'c++': 'c', hpp: 'c', java: 'c', kt: 'c', kotlin: 'c', cs: 'c', 'c#': 'c', swift: 'c', zig: 'c',
  sh: 'sh', bash: 'sh', zsh: 'sh', shell: 'sh', console: 'sh', toml: 'toml', ini: 'toml', yaml: 'toml', yml: 'toml', dockerfile: 'sh', make: 'sh', makefile: 'sh',
  sql: 'sql', rb: 'rb', ruby: 'rb', css: 'css', scss: 'css', html: 'html', xml: 'html', svg: 'html', vue: 'html', diff: 'diff', patch: 'diff',
};
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
  // Marks for what is invisible must stay, and long files are read, not admired.
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
