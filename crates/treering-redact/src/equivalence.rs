//! Checks that the quick pass over a line loses nothing: on random JSON, in random spellings, what the
//! strings with candidates hold is all that a search of every string finds.

#![allow(clippy::unwrap_used, reason = "how a test fails")]

use crate::Options;
use crate::known::KnownSecrets;
use crate::line::SecretFinder;
use crate::rules::{Candidates, Rules};
use proptest::prelude::*;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

/// A source of decisions.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn pick<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }

    fn characters(&mut self, alphabet: &str, length: usize) -> String {
        let alphabet: Vec<char> = alphabet.chars().collect();
        (0..length).map(|_| alphabet[self.below(alphabet.len())]).collect()
    }
}

const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

fn value(random: &mut Random) -> String {
    let length = 1 + random.below(50);
    match random.below(5) {
        0 => random.characters("0123456789abcdef", length),
        1 => random.characters("abc019!@#$%^&*\"'\\/ -_.é\t", length),
        2 => random.characters("ABCDEFGHab019+/=", length),
        _ => random.characters(ALNUM, length),
    }
}

/// Returns a piece of text that may hold a secret.
fn piece(random: &mut Random) -> String {
    let value = value(random);
    let alnum = |random: &mut Random, length| random.characters(ALNUM, length);
    match random.below(14) {
        0 => format!("ghp_{}", alnum(random, 36)),
        1 => format!("AKIA{}", random.characters("ABCDEFGHJK234567", 16)),
        2 => format!("eyJ{}.eyJ{}.{}", alnum(random, 20), alnum(random, 30), alnum(random, 20)),
        3 => format!("hooks.slack.com/services/T{0}/B{0}/{0}", alnum(random, 12)),
        4 => format!("AccountKey={}/{}==", alnum(random, 30), alnum(random, 40)),
        5 => format!(
            "{}{value}",
            random.pick(&[
                "curl -s -u a:",
                "mysql -p",
                "docker login -p ",
                "sshpass -p '",
                "redis-cli -a\t"
            ])
        ),
        6 => format!(
            "{}{value}",
            random.pick(&[
                "Cookie: sid=",
                "Authorization: Basic ",
                "Bearer\t",
                "authorization:\t\"Bearer ",
                "pass:",
                "Set-Cookie: a=b; token="
            ])
        ),
        7 => format!(
            "{}{value}@host/x",
            random.pick(&["postgres://a:", "https://", "redis://:", "http://é:"])
        ),
        8 => {
            format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----", alnum(random, 64))
        }
        9 => format!("123456789:AA{}", alnum(random, 33)),
        10 => value,
        _ => {
            let name = random.pick(&[
                "password",
                "DB_PASS",
                "api_key",
                "apiKey",
                "token",
                "auth",
                "_auth",
                "ALGOLIA_KEY",
                "key",
                "secret",
                "client-key-data",
                "--password",
                "ENV API_KEY",
                "login bob password",
                "the password",
                "configure set api_key",
                "totalTokens",
                "access_token",
                "jwt",
                "name: DB_PASSWORD",
                "<password",
            ]);
            let sign = random.pick(&[
                "=",
                ": ",
                " = ",
                "\t=\t",
                "\": \"",
                "='",
                "=\"",
                " => ",
                ":\n",
                "\",\n  \"value\": \"",
                "\n  value: ",
                "(\"",
                ": &str = \"",
                " ",
                ">",
                "\u{1b}[0m=\u{1b}[1m",
                "%3D",
                " is ",
                "\"] = \"",
                "   :   ",
                ":[\"",
                "\\\": \\\"",
            ]);
            format!("{name}{sign}{value}")
        }
    }
}

fn text(random: &mut Random) -> String {
    let mut text = String::new();
    for _ in 0..=random.below(3) {
        text +=
            random.pick(&["", " ", "\n", "é", "x", "\u{1b}[31m", "%20", "\\n", "\t", "\"", "/"]);
        text += &piece(random);
        text += random.pick(&[
            "",
            "\"",
            "'",
            "\n",
            " x",
            ")",
            "</a>",
            ";",
            "\u{1b}[0m",
            "%20",
            ".",
            "é",
        ]);
    }
    text
}

/// Writes a JSON string in one of its many spellings.
fn write_string(out: &mut String, text: &str, random: &mut Random) {
    let style = random.below(8);
    out.push('"');
    for character in text.chars() {
        let any = random.below(8);
        match character {
            '/' if style == 0 && any < 4 => out.push_str("\\/"),
            '"' | '\\' if any < 7 => {
                out.push('\\');
                out.push(character);
            }
            '\n' if any < 6 => out.push_str("\\n"),
            '\t' if any < 6 => out.push_str("\\t"),
            'é' if any < 4 => out.push('é'),
            _ if style == 1 && any == 0 || character < ' ' || "\"\\é".contains(character) => {
                write!(out, "\\u{:04x}", character as u32).unwrap();
            }
            _ => out.push(character),
        }
    }
    out.push('"');
}

fn write_blanks(out: &mut String, random: &mut Random) {
    if random.below(8) == 0 {
        out.push_str(random.pick(&[" ", "\t", "   ", " \r "]));
    }
}

/// Writes a JSON value.
fn write_value(out: &mut String, depth: usize, random: &mut Random) {
    write_blanks(out, random);
    match random.below(if depth == 0 { 4 } else { 7 }) {
        0 => out.push_str(random.pick(&["1", "true", "null", "-1.5e3"])),
        1..=3 => {
            let text = match depth > 0 && random.below(3) == 0 {
                // JSON in JSON.
                true => {
                    let mut inner = String::new();
                    write_value(&mut inner, depth - 1, random);
                    inner
                }
                false => text(random),
            };
            write_string(out, &text, random);
        }
        4 => {
            out.push('[');
            for at in 0..random.below(4) {
                out.push_str(if at > 0 { "," } else { "" });
                write_value(out, depth - 1, random);
            }
            out.push(']');
        }
        _ => {
            out.push('{');
            for at in 0..random.below(5) {
                out.push_str(if at > 0 { "," } else { "" });
                let key = random.pick(&[
                    "password",
                    "token",
                    "apiKey",
                    "name",
                    "value",
                    "key",
                    "id",
                    "parentId",
                    "arguments",
                    "text",
                    "Cookie",
                    "Authorization",
                    "thinkingSignature",
                    "type",
                    "data",
                    "toolName",
                ]);
                write_blanks(out, random);
                let is_long = random.below(10) == 0;
                let long = text(random);
                write_string(out, if is_long { &long } else { key }, random);
                write_blanks(out, random);
                out.push(':');
                write_value(out, depth - 1, random);
            }
            out.push('}');
        }
    }
    write_blanks(out, random);
}

static RULES: LazyLock<[Rules; 2]> = LazyLock::new(|| {
    let all = Options { emails: true, home: true, patterns: Vec::new() };
    [Rules::new(&Options::default()).unwrap(), Rules::new(&all).unwrap()]
});

type Spans = Vec<(usize, usize, String)>;

fn spans(finder: &SecretFinder<'_>, line: &[u8], candidates: &Candidates) -> Spans {
    if candidates.is_empty() {
        return Vec::new();
    }
    let found = finder.line(line, candidates).found;
    let mut spans: Spans =
        found.into_iter().map(|found| (found.span.start, found.span.end, found.field)).collect();
    spans.sort();
    spans
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn the_quick_pass_loses_nothing(seed in 1_u64.., cut in 0_usize..2000) {
        let mut random = Random(seed);
        let mut line = String::new();
        write_value(&mut line, 3, &mut random);
        // A damaged line, now and then.
        let mut end = if cut < 200 { line.len().min(cut) } else { line.len() };
        while !line.is_char_boundary(end) {
            end -= 1;
        }
        let line = &line.as_bytes()[..end];
        for rules in &*RULES {
            let finder = SecretFinder { rules, known: None };
            let quick = spans(&finder, line, &rules.candidates(line));
            let thorough = spans(&finder, line, &Candidates::all());
            prop_assert_eq!(quick, thorough, "{}", String::from_utf8_lossy(line));
        }
    }

    #[test]
    fn known_secrets_are_found_in_every_spelling(seed in 1_u64..) {
        let mut random = Random(seed);
        let rules = &RULES[0];
        let secrets: Vec<String> = (0..3).map(|_| value(&mut random) + "x9").collect();
        let noticed: HashMap<_, _> =
            secrets.iter().map(|secret| (secret.clone().into_bytes(), rules.named)).collect();
        let known = KnownSecrets::new(&noticed).unwrap();
        let mut line = String::from("{\"text\":");
        write_string(&mut line, &format!("{} {}", text(&mut random), secrets[1]), &mut random);
        line += "}";
        let finder = SecretFinder { rules, known: Some(&known) };
        let mut candidates = rules.candidates(line.as_bytes());
        known.candidates(line.as_bytes(), &mut candidates);
        let quick = spans(&finder, line.as_bytes(), &candidates);
        prop_assert_eq!(quick, spans(&finder, line.as_bytes(), &Candidates::all()), "{}", line);
    }
}
