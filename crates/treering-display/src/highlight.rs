//! Splits code into keywords, strings, comments and numbers.
//!
//! This is a scanner, not a parser: it knows how comments and strings begin and end in each family of
//! languages and which words are keywords. It changes no character and takes linear time on any input.
//! Exported pages highlight code in the browser, when it becomes visible, with the same table of languages
//! ([`LANGUAGES`]).

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// The class of a piece of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Class {
    /// Any other text.
    Plain,
    /// A comment.
    Comment,
    /// A string literal.
    String,
    /// A number.
    Number,
    /// A keyword.
    Keyword,
    /// The name of a function that is called, a key, or a section.
    Name,
    /// An added line of a diff.
    Added,
    /// A removed line of a diff.
    Removed,
}

/// The maximum length of code that is highlighted, in bytes.
const MAX_BYTES: usize = 128 * 1024;

/// Returns the pieces of code in a language, named as in a code block. The pieces together are the code.
///
/// ```
/// use treering_display::highlight::{Class, pieces};
/// let code = pieces("rust", "let x = 1; // one");
/// assert_eq!(code[0], (Class::Keyword, "let"));
/// assert_eq!(code.last(), Some(&(Class::Comment, "// one")));
/// ```
pub fn pieces<'a>(language: &str, text: &'a str) -> Vec<(Class, &'a str)> {
    let family = TABLE.families.get(&*language.to_ascii_lowercase()).copied();
    match family {
        _ if text.is_empty() => Vec::new(),
        Some(_) if text.len() > MAX_BYTES => vec![(Class::Plain, text)],
        Some("diff") => diff(text),
        Some(family) => match Syntax::of(family) {
            Some(syntax) => Scanner::new(syntax, text).scan(),
            None => vec![(Class::Plain, text)],
        },
        None => vec![(Class::Plain, text)],
    }
}

/// The families of languages and their keywords, as JSON.
pub const LANGUAGES: &str = include_str!("languages.json");

/// The parsed form of [`LANGUAGES`].
struct LanguageTable {
    families: HashMap<&'static str, &'static str>,
    words: HashMap<&'static str, HashSet<&'static str>>,
}

static TABLE: LazyLock<LanguageTable> = LazyLock::new(|| {
    let json = LANGUAGES;
    let mut lists: HashMap<&str, HashMap<&str, &str>> =
        serde_json::from_str(json).unwrap_or_default();
    let words = lists.remove("words").unwrap_or_default();
    LanguageTable {
        families: lists.remove("families").unwrap_or_default(),
        words: words
            .into_iter()
            .map(|(family, words)| (family, words.split(' ').collect()))
            .collect(),
    }
});

/// The syntax of comments and strings in a family of languages.
#[derive(Clone, Copy)]
struct Syntax {
    family: &'static str,
    /// The beginnings of comments to the end of the line. `#` needs a space before it.
    comment: &'static str,
    /// Whether there are comments between `/*` and `*/`.
    has_blocks: bool,
    quotes: &'static [Quote],
}

/// The delimiters of strings.
struct Quote {
    mark: &'static str,
    kind: QuoteKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum QuoteKind {
    /// One character, perhaps escaped with a backslash.
    Character,
    /// A string within a line, with backslash escapes.
    Line,
    /// A string over several lines, with backslash escapes.
    Lines,
    /// A string over several lines, without escapes.
    Raw,
}

const fn quote(mark: &'static str, kind: QuoteKind) -> Quote {
    Quote { mark, kind }
}

impl Syntax {
    fn of(family: &'static str) -> Option<Syntax> {
        use QuoteKind::{Character, Line, Lines, Raw};
        const CHARACTERS: &[Quote] = &[quote("\"", Line), quote("'", Character)];
        const GO: &[Quote] = &[quote("\"", Line), quote("`", Raw), quote("'", Character)];
        const SCRIPT: &[Quote] = &[quote("\"", Line), quote("'", Line), quote("`", Lines)];
        const SHELL: &[Quote] = &[quote("\"", Lines), quote("'", Raw)];
        const BOTH: &[Quote] = &[quote("\"", Line), quote("'", Line)];
        const PYTHON: &[Quote] =
            &[quote("\"\"\"", Lines), quote("'''", Lines), quote("\"", Line), quote("'", Line)];
        let (comment, has_blocks, quotes) = match family {
            "rs" | "c" => ("//", true, CHARACTERS),
            "js" => ("//", true, SCRIPT),
            "go" => ("//", true, GO),
            "py" => ("#", false, PYTHON),
            "sh" => ("#", false, SHELL),
            "toml" | "rb" => ("#", false, BOTH),
            "sql" => ("--", true, &BOTH[1..]),
            "css" => ("", true, BOTH),
            "json" => ("", false, &BOTH[..1]),
            _ => return None,
        };
        Some(Syntax { family, comment, has_blocks, quotes })
    }
}

struct Scanner<'a> {
    syntax: Syntax,
    words: Option<&'static HashSet<&'static str>>,
    text: &'a str,
    at: usize,
    /// For each quote, the position up to which no closing quote exists.
    barren: [usize; 4],
    out: Vec<(Class, &'a str)>,
    /// The beginning of the current plain piece.
    plain: usize,
}

impl<'a> Scanner<'a> {
    fn new(syntax: Syntax, text: &'a str) -> Self {
        let words = TABLE.words.get(syntax.family);
        Scanner { syntax, words, text, at: 0, barren: [0; 4], out: Vec::new(), plain: 0 }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn scan(mut self) -> Vec<(Class, &'a str)> {
        while let Some(next) = self.rest().chars().next() {
            match self.piece(next) {
                (Class::Plain, length) => self.at += length.max(next.len_utf8()),
                (class, length) => self.push(class, length),
            }
        }
        self.push(Class::Plain, 0);
        self.out
    }

    /// Ends the plain piece, and adds another piece of `length` bytes.
    fn push(&mut self, class: Class, length: usize) {
        let end = self.at + length;
        for (class, from, to) in [(Class::Plain, self.plain, self.at), (class, self.at, end)] {
            if let Some(piece) = self.text.get(from..to).filter(|piece| !piece.is_empty()) {
                self.out.push((class, piece));
            }
        }
        (self.at, self.plain) = (end, end);
    }

    /// Returns the class of the next piece, and its length.
    fn piece(&mut self, next: char) -> (Class, usize) {
        let rest = self.rest();
        if let Some(length) = self.comment(rest) {
            return (Class::Comment, length);
        }
        if self.syntax.family == "toml" && self.is_line_start() {
            let length = setting(rest);
            if length > 0 {
                return (Class::Name, length);
            }
        }
        if let Some(length) = self.quoted(rest) {
            let after = rest.get(length..).unwrap_or_default();
            let is_key = self.syntax.family == "json" && is_followed_by_colon(after);
            return (if is_key { Class::Name } else { Class::String }, length);
        }
        match next {
            '0'..='9' => (Class::Number, number(rest)),
            _ if next == '_' || next.is_alphabetic() => self.word(rest),
            _ => (Class::Plain, next.len_utf8()),
        }
    }

    fn is_line_start(&self) -> bool {
        self.at == 0 || self.text.as_bytes().get(self.at - 1) == Some(&b'\n')
    }

    fn comment(&self, rest: &str) -> Option<usize> {
        let mark = self.syntax.comment;
        if !mark.is_empty() && rest.starts_with(mark) {
            let before = self.at.checked_sub(1).and_then(|at| self.text.as_bytes().get(at));
            let stands_alone = before.is_none_or(u8::is_ascii_whitespace);
            return (mark != "#" || stands_alone).then(|| line_length(rest));
        }
        let inside = rest.strip_prefix("/*").filter(|_| self.syntax.has_blocks)?;
        Some(inside.find("*/").map_or(rest.len(), |end| end + 4))
    }

    fn quoted(&mut self, rest: &str) -> Option<usize> {
        let quotes = self.syntax.quotes.iter().zip(&mut self.barren);
        let (quote, barren) = quotes.into_iter().find(|(quote, _)| rest.starts_with(quote.mark))?;
        let inside = rest.get(quote.mark.len()..)?;
        if quote.kind == QuoteKind::Character {
            return character(inside).map(|length| length + 2);
        }
        if self.at < *barren {
            return None;
        }
        let closed = closing(inside, quote);
        if closed.is_none() {
            // The rest is not searched again for every further quote in it.
            let length = if quote.kind == QuoteKind::Line { line_length(rest) } else { rest.len() };
            *barren = self.at + length;
        }
        closed.map(|end| quote.mark.len() + end)
    }

    fn word(&self, rest: &str) -> (Class, usize) {
        let is_inside = |c: char| c == '_' || c.is_alphanumeric();
        let length = rest.find(|c| !is_inside(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        let is_word = match (self.words, self.syntax.family) {
            (Some(words), "sql") => words.contains(&*word.to_ascii_lowercase()),
            (Some(words), _) => words.contains(word),
            (None, _) => matches!(word, "true" | "false" | "null" | "yes" | "no"),
        };
        match is_word {
            true => (Class::Keyword, length),
            false if after.starts_with('(') => (Class::Name, length),
            false => (Class::Plain, length),
        }
    }
}

fn line_length(text: &str) -> usize {
    text.find('\n').unwrap_or(text.len())
}

/// Returns the end of a string whose beginning was read, including the closing quote.
fn closing(inside: &str, quote: &Quote) -> Option<usize> {
    let mut is_escaped = false;
    for (at, character) in inside.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if quote.kind != QuoteKind::Raw => is_escaped = true,
            '\n' if quote.kind == QuoteKind::Line => return None,
            _ if inside.get(at..).is_some_and(|rest| rest.starts_with(quote.mark)) => {
                return Some(at + quote.mark.len());
            }
            _ => {}
        }
    }
    None
}

/// Returns the length of one character before a closing `'`.
fn character(inside: &str) -> Option<usize> {
    let mut characters = inside.char_indices();
    let (_, first) = characters.next().filter(|(_, first)| !matches!(first, '\'' | '\n'))?;
    if first == '\\' {
        characters.next()?;
    }
    let (end, _) = characters.next().filter(|(_, last)| *last == '\'')?;
    Some(end)
}

fn number(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let run = |from: usize, is_part: fn(&u8) -> bool| {
        bytes.get(from..).unwrap_or_default().iter().take_while(|byte| is_part(byte)).count()
    };
    if rest.starts_with("0x") {
        return 2 + run(2, |byte| byte.is_ascii_hexdigit() || *byte == b'_');
    }
    let mut end = run(0, |byte| byte.is_ascii_digit() || *byte == b'_');
    if bytes.get(end) == Some(&b'.') {
        let digits = run(end + 1, u8::is_ascii_digit);
        end += if digits > 0 { digits + 1 } else { 0 };
    }
    if bytes.get(end) == Some(&b'e') {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let digits = run(end + 1 + sign, u8::is_ascii_digit);
        end += if digits > 0 { digits + 1 + sign } else { 0 };
    }
    end
}

/// Returns the length of `[section]`, or of a key before `=` or `:`; 0 if the line begins
/// otherwise.
fn setting(rest: &str) -> usize {
    let line = rest.get(..line_length(rest)).unwrap_or(rest);
    if line.starts_with('[') {
        return line.rfind(']').map_or(0, |end| end + 1);
    }
    let name = line.trim_start_matches([' ', '\t', '-']);
    let is_key = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '"' | '-');
    let end = name.find(|c| !is_key(c)).unwrap_or(name.len());
    let after = name.get(end..).unwrap_or_default().trim_start();
    match end > 0 && after.starts_with([':', '=']) {
        true => line.len() - name.len() + end,
        false => 0,
    }
}

/// Returns whether a colon follows within a few spaces. Code may have megabytes of spaces.
fn is_followed_by_colon(rest: &str) -> bool {
    rest.chars().take(16).find(|c| !c.is_ascii_whitespace()) == Some(':')
}

fn diff(text: &str) -> Vec<(Class, &str)> {
    let class = |line: &str| match line.as_bytes().first() {
        Some(b'+') => Class::Added,
        Some(b'-') => Class::Removed,
        _ if ["@@", "***", "diff "].iter().any(|start| line.starts_with(start)) => Class::Comment,
        _ => Class::Plain,
    };
    text.split_inclusive('\n').map(|line| (class(line), line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the pieces with a letter before each that is not plain, such as `k:` for a keyword.
    fn shown(language: &str, text: &str) -> String {
        let letter = |class| match class {
            Class::Plain => "",
            Class::Comment => "c:",
            Class::String => "s:",
            Class::Number => "n:",
            Class::Keyword => "k:",
            Class::Name => "f:",
            Class::Added => "+:",
            Class::Removed => "-:",
        };
        let pieces = pieces(language, text);
        let shown: Vec<String> =
            pieces.iter().map(|(class, text)| format!("{}{text}", letter(*class))).collect();
        shown.join("|")
    }

    #[test]
    fn code_is_taken_apart() {
        for (language, text, expected) in [
            ("Rust", "fn f('a', 1.5e3)", "k:fn| |f:f|(|s:'a'|, |n:1.5e3|)"),
            ("rs", "&'a x /* b */ // c", "&'a x |c:/* b */| |c:// c"),
            ("js", "`a\nb` + 'c'", "s:`a\nb`| + |s:'c'"),
            ("py", "'''a\n'b''' # c", "s:'''a\n'b'''| |c:# c"),
            ("sh", "echo a#b \"x\ny\" # c", "k:echo| a#b |s:\"x\ny\"| |c:# c"),
            ("sh", "it's", "it's"),
            (
                "json",
                "{\"a\" : \"b\", \"c\": true}",
                "{|f:\"a\"| : |s:\"b\"|, |f:\"c\"|: |k:true|}",
            ),
            ("toml", "[a.b]\nc-d = 0xff", "f:[a.b]|\n|f:c-d| = |n:0xff"),
            ("sql", "SELECT 'a' -- b", "k:SELECT| |s:'a'| |c:-- b"),
            ("c", "\"a\\\"b\" \"open", "s:\"a\\\"b\"| \"open"),
            ("diff", "@@ 1\n-a\n+b\n c", "c:@@ 1\n|-:-a\n|+:+b\n| c"),
            ("unheard-of", "fn 1", "fn 1"),
            ("html", "<b>", "<b>"),
            ("go", "a := 日本(1..2)", "a := |f:日本|(|n:1|..|n:2|)"),
        ] {
            assert_eq!(shown(language, text), expected, "{language}: {text}");
        }
    }

    #[test]
    fn hostile_code_takes_linear_time() {
        for text in ["\"\\", "'", "\"", "/*", "`", "'''", "\" : ", "[", "- "] {
            let long = text.repeat(MAX_BYTES / text.len());
            for language in ["rs", "js", "py", "sh", "json", "toml"] {
                let length: usize = pieces(language, &long).iter().map(|(_, p)| p.len()).sum();
                assert_eq!(length, long.len());
            }
        }
    }

    proptest! {
        #[test]
        fn no_character_is_changed(text in "[a-z0-9 \"'`/*#\\\\\n(:.=\\[\\]é-]{0,60}") {
            for language in TABLE.families.keys() {
                let together: String = pieces(language, &text).iter().map(|(_, p)| *p).collect();
                prop_assert_eq!(&together, &text);
            }
        }
    }
}
