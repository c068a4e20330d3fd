//! The rules that find secrets in a text.
//!
//! One pass over a text finds the words that secrets begin with or are near ([`crate::anchors`]);
//! at each of them the rule of the word reads a bounded number of bytes. The time is therefore
//! proportional to the length of the text.
//!
//! Every rule can also decide whether it may find something in bytes that still have escapes. The
//! result may be a false positive, but never a false negative: bytes that [`Rules::candidates`]
//! skips contain no secret.

use crate::anchors::{AnchorWord, Anchors};
use crate::commands::{TOOLS, Tool};
use crate::special::Special;
use crate::tokens::{Alphabet, SearchedText, TokenPart, web_token};
use crate::value::Strength;
use crate::vendors::SHAPES;
use crate::{Options, PatternError, commands, headers, keys, named, names, personal};
use memchr::memmem::Finder;
use regex::bytes::{Regex, RegexBuilder};
use std::ops::{ControlFlow, Range};

/// The kind of a rule's findings: an index into [`Rules::kinds`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Kind(u16);

/// A finding of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RuleMatch {
    pub span: Range<usize>,
    pub kind: Kind,
    pub rank: Rank,
}

/// The precedence of overlapping findings, highest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// The secret is recognized by its format.
    Shape,
    Pattern,
    /// The secret is recognized by the text around it, and would not be recognized elsewhere.
    Context,
    /// The secret was recognized elsewhere.
    Known,
    /// The finding is not secret, but personal.
    Personal,
}

/// The rule that a word belongs to.
#[derive(Debug, Clone, Copy)]
enum Rule {
    Shape(usize),
    Special(Special),
    WebToken,
    PrivateKey,
    PuttyKey,
    Named(Strength),
    Credentials(&'static str),
    Cookies,
    Url,
    Command(&'static Tool),
    PassOption,
    Piped {
        is_pair: bool,
    },
    Home(&'static str),
    /// An escape that can encode any character. It is only searched for in undecoded bytes.
    Escape,
}

#[derive(Debug)]
struct Trigger {
    rule: Rule,
    kind: Kind,
    length: usize,
}

#[derive(Debug)]
pub(crate) struct Rules {
    anchors: Anchors,
    triggers: Vec<Trigger>,
    patterns: Vec<(Regex, Kind)>,
    slash: Finder<'static>,
    kinds: Vec<String>,
    pub named: Kind,
    pub credentials: Kind,
    pub cookie: Kind,
    email: Option<Kind>,
    home: Option<Kind>,
}

/// The positions of a line at which there may be a finding.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    /// The positions, in ascending order.
    pub positions: Vec<usize>,
    /// Whether there may be a finding at any position.
    pub is_all: bool,
    /// Whether the line has escapes that can encode any character.
    pub has_escapes: bool,
    /// Whether the line has color codes. They are not candidates: without them nothing was found in
    /// the line, but a secret that was recognized elsewhere may be divided by one.
    pub has_colors: bool,
}

impl Candidates {
    /// The maximum number of positions that are kept for a line; with more of them the whole line
    /// is searched.
    const MAX_POSITIONS: usize = 1024;

    /// Returns candidates for a line that has to be searched as a whole.
    pub(crate) fn all() -> Self {
        Candidates { is_all: true, has_escapes: true, ..Candidates::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.is_all && self.positions.is_empty()
    }

    /// Returns whether there may be a finding in a span of the line.
    pub(crate) fn are_in(&self, span: &Range<usize>) -> bool {
        let first = self.positions.partition_point(|at| *at < span.start);
        self.is_all || self.positions.get(first).is_some_and(|at| *at < span.end)
    }

    pub(crate) fn push(&mut self, at: usize) -> ControlFlow<()> {
        if self.positions.len() == Self::MAX_POSITIONS {
            *self = Candidates::all();
            return ControlFlow::Break(());
        }
        self.positions.push(at);
        ControlFlow::Continue(())
    }

    pub(crate) fn sort(&mut self) {
        self.positions.sort_unstable();
    }
}

impl Rules {
    pub(crate) fn new(options: &Options) -> Result<Self, PatternError> {
        let mut builder = Builder::default();
        builder.add_tokens();
        let named = builder.kind("named-secret");
        for (word, strength) in names::WORDS {
            builder.add(word, Some(Alphabet::Ascii), Rule::Named(*strength), named);
        }
        let credentials = builder.kind("authorization");
        for word in ["bearer", "authorization"] {
            builder.add(word, None, Rule::Credentials(word), credentials);
        }
        let cookie = builder.kind("cookie");
        builder.add("cookie", None, Rule::Cookies, cookie);
        let password = builder.kind("url-password");
        builder.add("://", None, Rule::Url, password);
        let password = builder.kind("password");
        for tool in TOOLS {
            builder.add(tool.word, Some(Alphabet::Ascii), Rule::Command(tool), password);
        }
        builder.add("pass:", None, Rule::PassOption, password);
        builder.add("sudo -S", None, Rule::Piped { is_pair: false }, password);
        builder.add("--password-stdin", None, Rule::Piped { is_pair: false }, password);
        builder.add("chpasswd", None, Rule::Piped { is_pair: true }, password);
        let home = options.home.then(|| builder.kind("home"));
        if let Some(home) = home {
            for before in ["/home/", "/Users/", "\\Users", "-home-", "-Users-"] {
                builder.add(before, None, Rule::Home(before), home);
            }
        }
        builder.add("\\u00", None, Rule::Escape, named);
        let email = options.emails.then(|| builder.kind("email"));
        let mut patterns = Vec::new();
        for (name, pattern) in &options.patterns {
            patterns.push((custom(name, pattern)?, builder.kind(name)));
        }
        let Builder { words, triggers, kinds } = builder;
        let slash = Finder::new(b"\\/");
        let anchors = Anchors::new(&words);
        Ok(Rules {
            anchors,
            triggers,
            patterns,
            slash,
            kinds,
            named,
            credentials,
            cookie,
            email,
            home,
        })
    }

    /// Returns the name of a kind.
    pub(crate) fn name(&self, kind: Kind) -> &str {
        self.kinds.get(usize::from(kind.0)).map_or("", String::as_str)
    }

    /// Returns the placeholder for the `number`th finding of a kind.
    pub(crate) fn placeholder(&self, kind: Kind, number: usize) -> String {
        match (Some(kind) == self.home, number) {
            (true, 1) => "user".to_owned(),
            (true, number) => format!("user{number}"),
            (false, number) => format!("[REDACTED:{}:{number}]", self.name(kind)),
        }
    }

    /// Returns the positions of an undecoded line at which there may be a finding.
    pub(crate) fn candidates(&self, raw: &[u8]) -> Candidates {
        if !self.patterns.is_empty() {
            return Candidates::all();
        }
        let mut found = Candidates::default();
        let _ = self.collect(raw, &mut found);
        found.sort();
        found
    }

    fn collect(&self, raw: &[u8], found: &mut Candidates) -> ControlFlow<()> {
        let mut colors = Vec::new();
        self.anchors.find(raw, |word, at| {
            let Some(trigger) = self.triggers.get(word) else { return ControlFlow::Continue(()) };
            if matches!(trigger.rule, Rule::Escape) {
                if let Some(color) = escaped_color(raw, at) {
                    colors.push(color);
                } else if spells_character(raw, at) {
                    *found = Candidates::all();
                    return ControlFlow::Break(());
                }
                return ControlFlow::Continue(());
            }
            if trigger.may_find(raw, at) { found.push(at) } else { ControlFlow::Continue(()) }
        })?;
        if !colors.is_empty() {
            found.has_colors = true;
            let mut plain = Candidates::default();
            let _ = self.collect(&without(raw, &colors), &mut plain);
            if !plain.is_empty() || plain.has_colors {
                *found = Candidates::all();
                return ControlFlow::Break(());
            }
        }
        // A slash may be escaped, and words with a slash are then not found.
        for at in self.slash.find_iter(raw) {
            found.has_escapes = true;
            found.push(at)?;
        }
        for at in memchr::memchr2_iter(b'%', 0x1B, raw) {
            if is_hidden(raw, at) {
                found.has_escapes = true;
                found.push(at)?;
            }
        }
        if self.email.is_some() {
            for at in memchr::memchr_iter(b'@', raw) {
                found.push(at)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Adds all findings in a decoded `text`, in no order, possibly overlapping.
    pub(crate) fn find(&self, text: &[u8], hits: &mut Vec<RuleMatch>) {
        // The end of the last finding by context: nothing inside it has to be searched again.
        let mut done = 0;
        let mut spans = Vec::new();
        let _ = self.anchors.find(text, |word, at| {
            let Some(trigger) = self.triggers.get(word) else { return ControlFlow::Continue(()) };
            if at < done && matches!(trigger.rule, Rule::Named(_) | Rule::PrivateKey) {
                return ControlFlow::Continue(());
            }
            let rank = trigger.find(text, at, &mut spans);
            for span in spans.drain(..) {
                done = done.max(span.end);
                hits.push(RuleMatch { span, kind: trigger.kind, rank });
            }
            ControlFlow::Continue(())
        });
        if let Some(kind) = self.email {
            let spans = memchr::memchr_iter(b'@', text).filter_map(|at| personal::email(text, at));
            hits.extend(spans.map(|span| RuleMatch { span, kind, rank: Rank::Personal }));
        }
        for (pattern, kind) in &self.patterns {
            for found in pattern.captures_iter(text) {
                let Some(found) = found.get(1).or_else(|| found.get(0)) else { continue };
                if !found.is_empty() && !is_placeholder(text, found.range()) {
                    hits.push(RuleMatch { span: found.range(), kind: *kind, rank: Rank::Pattern });
                }
            }
        }
    }

    /// Adds the tokens in a text that are recognized by their format, independent of the context.
    pub(crate) fn find_shapes(&self, text: &[u8], hits: &mut Vec<RuleMatch>) {
        let mut spans = Vec::new();
        let _ = self.anchors.find(text, |word, at| {
            if let Some(trigger) = self.triggers.get(word)
                && matches!(trigger.rule, Rule::Shape(_) | Rule::Special(_) | Rule::WebToken)
            {
                let rank = trigger.find(text, at, &mut spans);
                let hit = |span| RuleMatch { span, kind: trigger.kind, rank };
                hits.extend(spans.drain(..).map(hit));
            }
            ControlFlow::Continue(())
        });
    }
}

impl Trigger {
    /// Adds the findings of the rule in a decoded text at its word.
    fn find(&self, bytes: &[u8], at: usize, spans: &mut Vec<Range<usize>>) -> Rank {
        let text = SearchedText { bytes, is_raw: false };
        let (span, rank) = match self.rule {
            Rule::Shape(shape) => {
                (SHAPES.get(shape).and_then(|shape| shape.at(text, at)), Rank::Shape)
            }
            Rule::Special(special) => (special.at(text, at), Rank::Shape),
            Rule::WebToken => (web_token(text, at), Rank::Shape),
            Rule::PrivateKey => (keys::private_key(bytes, at), Rank::Shape),
            Rule::PuttyKey => (keys::putty_key(bytes, at), Rank::Shape),
            Rule::Named(_) => (named::assigned(bytes, at, self.length), Rank::Context),
            Rule::Credentials(word) => (headers::credentials(bytes, at, word), Rank::Context),
            Rule::Cookies => {
                headers::cookies(bytes, at, spans);
                (None, Rank::Context)
            }
            Rule::Url => (headers::url_password(bytes, at), Rank::Context),
            Rule::Command(tool) => {
                commands::passwords(tool, bytes, at, spans);
                (None, Rank::Context)
            }
            Rule::PassOption => (commands::pass_option(bytes, at), Rank::Context),
            Rule::Piped { is_pair } => (commands::piped(bytes, at, is_pair), Rank::Context),
            Rule::Home(before) => (personal::home(bytes, at, before), Rank::Personal),
            Rule::Escape => (None, Rank::Personal),
        };
        spans.extend(span);
        rank
    }

    /// Returns whether the rule may find something at its word, in bytes that may have escapes.
    fn may_find(&self, bytes: &[u8], at: usize) -> bool {
        let raw = SearchedText { bytes, is_raw: true };
        match self.rule {
            Rule::Shape(shape) => {
                SHAPES.get(shape).is_some_and(|shape| shape.at(raw, at).is_some())
            }
            Rule::Special(special) => special.at(raw, at).is_some(),
            Rule::WebToken => web_token(raw, at).is_some(),
            Rule::PrivateKey => keys::may_be_private_key(bytes, at),
            Rule::Named(strength) => named::may_be_assigned(bytes, at, self.length, strength),
            Rule::Credentials("bearer") => headers::may_be_bearer(bytes, at),
            Rule::Url => headers::may_have_password(bytes, at),
            Rule::Command(tool) => commands::may_have_password(tool, bytes, at),
            Rule::PassOption => commands::pass_option(bytes, at).is_some(),
            Rule::PuttyKey
            | Rule::Credentials(_)
            | Rule::Cookies
            | Rule::Piped { .. }
            | Rule::Home(_)
            | Rule::Escape => true,
        }
    }
}

/// Returns whether the `\u00` at `at` encodes a printable character or begins a color code.
fn spells_character(raw: &[u8], at: usize) -> bool {
    matches!(raw.get(at + 4..at + 6), Some([b'2'..=b'7', _] | [b'1', b'b' | b'B']))
}

/// Returns the span of the color code whose `\u001b` is at `at`, in the form that most programs
/// write: escaped once or twice, with numbers and a letter.
fn escaped_color(raw: &[u8], at: usize) -> Option<Range<usize>> {
    let code = raw.get(at..)?.strip_prefix(b"\\u001")?;
    let code = code.strip_prefix(b"b[").or_else(|| code.strip_prefix(b"B["))?;
    let numbers =
        code.iter().take(16).take_while(|byte| matches!(byte, b'0'..=b'9' | b';')).count();
    code.get(numbers).filter(|byte| byte.is_ascii_alphabetic())?;
    let before = raw.get(..at).unwrap_or_default().iter().rev();
    let start = match before.take(2).take_while(|byte| **byte == b'\\').count() {
        0 => at,
        1 => at - 1,
        _ => return None,
    };
    Some(start..at + b"\\u001b[".len() + numbers + 1)
}

/// Returns a text without some spans, which must be in order.
fn without(text: &[u8], spans: &[Range<usize>]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut at = 0;
    for span in spans {
        plain.extend_from_slice(text.get(at..span.start).unwrap_or_default());
        at = span.end;
    }
    plain.extend_from_slice(text.get(at..).unwrap_or_default());
    plain
}

/// Returns whether a percent sign or an escape character at `at` encodes something.
fn is_hidden(raw: &[u8], at: usize) -> bool {
    match raw.get(at..) {
        Some([0x1B, ..]) => true,
        Some([b'%', b'2'..=b'7', digit, ..]) => digit.is_ascii_hexdigit(),
        _ => false,
    }
}

#[derive(Default)]
struct Builder {
    words: Vec<AnchorWord>,
    triggers: Vec<Trigger>,
    kinds: Vec<String>,
}

impl Builder {
    fn kind(&mut self, name: &str) -> Kind {
        let at = self.kinds.iter().position(|known| known == name).unwrap_or_else(|| {
            self.kinds.push(name.to_owned());
            self.kinds.len() - 1
        });
        Kind(at as u16)
    }

    fn add(&mut self, word: &str, followers: Option<Alphabet>, rule: Rule, kind: Kind) {
        let followers = followers.unwrap_or(Alphabet::Any);
        self.words.push(AnchorWord { text: word.as_bytes().to_vec(), followers });
        self.triggers.push(Trigger { rule, kind, length: word.len() });
    }

    /// Adds the rules for tokens that are recognized by their format.
    fn add_tokens(&mut self) {
        for (at, shape) in SHAPES.iter().enumerate() {
            let kind = self.kind(shape.kind);
            let followers = match shape.pieces.first() {
                Some(TokenPart::Run(alphabet, _, _)) => Some(*alphabet),
                _ => None,
            };
            self.add(shape.prefix, followers, Rule::Shape(at), kind);
        }
        let kind = self.kind("web-token");
        self.add("eyJ", Some(Alphabet::Url), Rule::WebToken, kind);
        let kind = self.kind("private-key");
        self.add("BEGIN ", None, Rule::PrivateKey, kind);
        self.add("Private-Lines:", None, Rule::PuttyKey, kind);
        let mut special = |special: Special, word: &str, followers: Alphabet| {
            let kind = self.kind(special.kind());
            self.add(word, Some(followers), Rule::Special(special), kind);
        };
        special(Special::Telegram, ":AA", Alphabet::Url);
        special(Special::Mailchimp, "-us", Alphabet::Digits);
        special(Special::Atlas, ".atlasv1.", Alphabet::Url);
        special(Special::MaxMind, "_mmk", Alphabet::Any);
        for digit in 0..10 {
            special(Special::AzureApplication, &format!("{digit}Q~"), Alphabet::Tilde);
        }
        special(Special::Discord, "login(", Alphabet::Any);
        special(Special::Discord, "Bot ", Alphabet::Any);
    }
}

/// Returns whether a finding is only a part of a placeholder of an earlier redaction.
fn is_placeholder(text: &[u8], span: Range<usize>) -> bool {
    let before = text.get(..span.start).unwrap_or_default();
    let open =
        memchr::memrchr(b'[', before.get(before.len().saturating_sub(64)..).unwrap_or_default());
    let open = open.map(|open| before.len().saturating_sub(64) + open);
    open.is_some_and(|open| {
        text.get(open..span.end)
            .is_some_and(|inside| inside.starts_with(b"[REDACTED:") && !inside.contains(&b']'))
    })
}

/// Compiles a custom pattern.
fn custom(name: &str, pattern: &str) -> Result<Regex, PatternError> {
    const MAX_SIZE: usize = 1 << 20;
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.is_empty() || name.len() > 32 || !name.bytes().all(is_name) {
        return Err(PatternError::Name(name.to_owned()));
    }
    let built = RegexBuilder::new(pattern).size_limit(MAX_SIZE).dfa_size_limit(MAX_SIZE).build();
    let regex = built.map_err(|error| {
        PatternError::Invalid(
            name.to_owned(),
            match error {
                regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
                // The first lines of the message repeat the pattern.
                error => {
                    let message = error.to_string();
                    let last = message.lines().last().unwrap_or_default();
                    last.trim_start_matches("error: ").to_owned()
                }
            },
        )
    })?;
    match regex.is_match(b"") {
        true => Err(PatternError::Empty(name.to_owned())),
        false => Ok(regex),
    }
}
