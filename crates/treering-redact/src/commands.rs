//! Finds passwords on command lines: `curl -u user:…`, `mysql -p…`, `sshpass -p …`.

use crate::headers::{cookie_pairs, is_typed};
use std::ops::Range;

/// The maximum number of bytes of a command line that are read.
const MAX_LENGTH: usize = 1024;

/// The maximum number of undecoded bytes that are read: no escape is longer than sixteen bytes.
const MAX_RAW_LENGTH: usize = 16 * MAX_LENGTH;

/// The content of an option's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OptionContent {
    Password,
    /// A user's name, a separator, and a password.
    Pair(u8),
    Cookies,
}

/// The syntax of an option's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OptionSyntax {
    /// `-pVALUE`
    Attached,
    /// `-p VALUE`, `-pVALUE`, `--option=VALUE`
    Either,
    /// `-k VALUE` only, because other options begin with the same letters.
    Apart,
}

/// A command with an option for a password.
#[derive(Debug)]
pub(crate) struct Tool {
    pub word: &'static str,
    /// Words one of which must precede the command: `docker` before `login`.
    before: &'static [&'static str],
    options: &'static [(&'static str, OptionSyntax, OptionContent)],
}

const PAIR: OptionContent = OptionContent::Pair(b':');

const CURL: &[(&str, OptionSyntax, OptionContent)] = &[
    ("-u", OptionSyntax::Either, PAIR),
    ("--user", OptionSyntax::Either, PAIR),
    ("-U", OptionSyntax::Either, PAIR),
    ("--proxy-user", OptionSyntax::Either, PAIR),
    ("-b", OptionSyntax::Either, OptionContent::Cookies),
];
const SMALL_P: &[(&str, OptionSyntax, OptionContent)] =
    &[("-p", OptionSyntax::Either, OptionContent::Password)];
const LARGE_P: &[(&str, OptionSyntax, OptionContent)] =
    &[("-P", OptionSyntax::Either, OptionContent::Password)];
const ATTACHED_P: &[(&str, OptionSyntax, OptionContent)] =
    &[("-p", OptionSyntax::Attached, OptionContent::Password)];
const LDAP: &[(&str, OptionSyntax, OptionContent)] =
    &[("-w", OptionSyntax::Either, OptionContent::Password)];

const fn tool(
    word: &'static str,
    options: &'static [(&'static str, OptionSyntax, OptionContent)],
) -> Tool {
    Tool { word, before: &[], options }
}

pub(crate) const TOOLS: &[Tool] = &[
    tool("curl", CURL),
    tool("mysql", ATTACHED_P),
    tool("mysqldump", ATTACHED_P),
    tool("mysqladmin", ATTACHED_P),
    tool("mysqlimport", ATTACHED_P),
    tool("mariadb", ATTACHED_P),
    tool("mariadb-dump", ATTACHED_P),
    tool("sshpass", SMALL_P),
    tool("mongo", SMALL_P),
    tool("mongosh", SMALL_P),
    tool("mongodump", SMALL_P),
    tool("mongorestore", SMALL_P),
    tool(
        "redis-cli",
        &[
            ("-a", OptionSyntax::Either, OptionContent::Password),
            ("--pass", OptionSyntax::Either, OptionContent::Password),
        ],
    ),
    tool("rabbitmqadmin", SMALL_P),
    tool("sqlcmd", LARGE_P),
    tool("ldapsearch", LDAP),
    tool("ldapadd", LDAP),
    tool("ldapmodify", LDAP),
    tool("ldapwhoami", LDAP),
    tool("smbclient", &[("-U", OptionSyntax::Either, OptionContent::Pair(b'%'))]),
    tool("unzip", LARGE_P),
    tool("openssl", &[("-k", OptionSyntax::Apart, OptionContent::Password)]),
    tool(
        "ssh-keygen",
        &[
            ("-N", OptionSyntax::Apart, OptionContent::Password),
            ("-P", OptionSyntax::Apart, OptionContent::Password),
        ],
    ),
    tool(
        "keytool",
        &[
            ("-storepass", OptionSyntax::Apart, OptionContent::Password),
            ("-keypass", OptionSyntax::Apart, OptionContent::Password),
        ],
    ),
    Tool {
        word: "login",
        before: &[
            "docker", "podman", "nerdctl", "buildah", "skopeo", "helm", "registry", "oras",
            "crane", "az", "oc", "cf", "ibmcloud", "argocd",
        ],
        options: SMALL_P,
    },
];

/// Adds the passwords in the command line whose command is at `at`.
pub(crate) fn passwords(tool: &Tool, text: &[u8], at: usize, found: &mut Vec<Range<usize>>) {
    let end = at + tool.word.len();
    if !is_command(text, at, end) {
        return;
    }
    if !tool.before.is_empty() {
        let before = text.get(at.saturating_sub(32)..at).unwrap_or_default();
        let mut words = before.split(|byte| !byte.is_ascii_alphanumeric());
        if !words.any(|word| tool.before.iter().any(|known| known.as_bytes() == word)) {
            return;
        }
    }
    let mut words = CommandWords { text, at: end, end: text.len().min(end + MAX_LENGTH) };
    while let Some(word) = words.next() {
        let bytes = text.get(word.clone()).unwrap_or_default();
        for (option, form, holds) in tool.options {
            let Some(rest) = bytes.strip_prefix(option.as_bytes()) else { continue };
            let value = match (rest, form) {
                ([], OptionSyntax::Attached) => continue,
                ([], OptionSyntax::Either | OptionSyntax::Apart) => match words.next() {
                    Some(value) => value,
                    None => return,
                },
                ([b'=', ..], OptionSyntax::Attached | OptionSyntax::Either) => {
                    word.start + option.len() + 1..word.end
                }
                (_, OptionSyntax::Apart) => continue,
                (_, _) if option.starts_with("--") => continue,
                _ => word.start + option.len()..word.end,
            };
            add(text, value, *holds, found);
            break;
        }
    }
}

/// Returns whether a command may have one of the options, in a text that may still have escapes.
pub(crate) fn may_have_password(tool: &Tool, raw: &[u8], at: usize) -> bool {
    let end = at + tool.word.len();
    let after = raw.get(end..raw.len().min(end + MAX_RAW_LENGTH)).unwrap_or_default();
    let is_word = after.first().is_some_and(|byte| matches!(byte, b' ' | b'\\'));
    is_word
        && tool
            .options
            .iter()
            .any(|(option, _, _)| memchr::memmem::find(after, option.as_bytes()).is_some())
}

/// Returns whether a word can be a command: it is alone, or at the end of a path.
fn is_command(text: &[u8], at: usize, end: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| text.get(before));
    let is_free =
        before.is_none_or(|byte| byte.is_ascii_whitespace() || b"/$(`\"';&|>".contains(byte));
    is_free && matches!(text.get(end), Some(b' ' | b'\t' | b'\\'))
}

fn add(text: &[u8], value: Range<usize>, holds: OptionContent, found: &mut Vec<Range<usize>>) {
    let mut value = unquoted(text, value);
    match holds {
        OptionContent::Cookies => return cookie_pairs(text, value.start, found),
        OptionContent::Pair(separator) => {
            let bytes = text.get(value.clone()).unwrap_or_default();
            let Some(at) = memchr::memchr(separator, bytes) else { return };
            value.start += at + 1;
        }
        OptionContent::Password => {}
    }
    let bytes = text.get(value.clone()).unwrap_or_default();
    if is_typed(bytes) && bytes.first() != Some(&b'-') {
        found.push(value);
    }
}

/// Returns the inside of a word, up to a quote or an escape.
fn unquoted(text: &[u8], mut word: Range<usize>) -> Range<usize> {
    let quotes = |byte: Option<&u8>| matches!(byte, Some(b'"' | b'\''));
    let quote = text.get(word.start).copied().filter(|byte| quotes(Some(byte)));
    word.start += usize::from(quote.is_some());
    let bytes = text.get(word.clone()).unwrap_or_default();
    let stop = |byte: &u8| match quote {
        Some(quote) => *byte == quote || *byte == b'\\',
        None => b"\"'\\`".contains(byte),
    };
    word.start..word.start + bytes.iter().take_while(|byte| !stop(byte)).count()
}

/// The words of a command line.
struct CommandWords<'a> {
    text: &'a [u8],
    at: usize,
    end: usize,
}

impl Iterator for CommandWords<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let text = self.text.get(..self.end)?;
        loop {
            match text.get(self.at..)? {
                [b' ' | b'\t', ..] => self.at += 1,
                // The line continues.
                [b'\\', b'\n', ..] => self.at += 2,
                [b'\\', b'\r', b'\n', ..] => self.at += 3,
                [b'\n' | b'\r' | b'|' | b';' | b'&' | b'<' | b'>' | b')', ..] | [] => return None,
                _ => break,
            }
        }
        let start = self.at;
        let mut quote = None;
        while let Some(&byte) = text.get(self.at) {
            match (quote, byte) {
                (None, b' ' | b'\t' | b'\n' | b'\r' | b'|' | b';' | b')') => break,
                (None, b'"' | b'\'') => quote = Some(byte),
                (Some(open), close) if open == close => quote = None,
                (Some(_), b'\n') => break,
                _ => {}
            }
            self.at += 1;
        }
        Some(start..self.at)
    }
}

/// Returns the password in `pass:…`, a form of openssl's options; `pass:` is at `at`.
pub(crate) fn pass_option(text: &[u8], at: usize) -> Option<Range<usize>> {
    let before = text.get(at.saturating_sub(10)..at)?;
    let is_option = [&b"-passin "[..], b"-passout ", b"-pass ", b"-k ", b"/"]
        .iter()
        .any(|b| before.ends_with(b));
    let start = at + b"pass:".len();
    let value = unquoted(text, start..text.len().min(start + 128));
    let bytes = text.get(value.clone())?;
    let length = bytes.iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
    (is_option && is_typed(bytes.get(..length)?)).then_some(start..start + length)
}

/// Returns the password that `echo` passes to the command whose word is at `at`: `echo … | sudo
/// -S`, `echo … | docker login --password-stdin`, and for a pair of a name and a password `echo
/// user:… | chpasswd`.
pub(crate) fn piped(text: &[u8], at: usize, is_pair: bool) -> Option<Range<usize>> {
    let floor = at.saturating_sub(512);
    let before = text.get(floor..at)?;
    let pipe = memchr::memrchr(b'|', before)?;
    let line = before.get(..pipe)?;
    let line_start = memchr::memrchr2(b'\n', b';', line).map_or(0, |at| at + 1);
    let echo = memchr::memmem::rfind(line.get(line_start..)?, b"echo ")? + line_start + 5;
    let mut words = CommandWords { text, at: floor + echo, end: floor + pipe };
    let mut word = words.next()?;
    if matches!(text.get(word.clone())?, b"-n" | b"-e" | b"-en" | b"-ne") {
        word = words.next()?;
    }
    if words.next().is_some() {
        return None;
    }
    let mut value = unquoted(text, word);
    if is_pair {
        value.start += memchr::memchr(b':', text.get(value.clone())?)? + 1;
    }
    is_typed(text.get(value.clone())?).then_some(value)
}
