//! Everything that is looked for, and where it stands in a text.
//!
//! One pass of an automaton over the text finds the words that secrets begin with or stand behind;
//! at each of them the rule that the word belongs to looks at a bounded number of bytes. So a text
//! takes time in proportion to its length, whatever is in it.

use crate::tokens::{SHAPES, web_token};
use crate::{Options, PatternError, named, places};
use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::bytes::{Regex, RegexBuilder};
use std::ops::Range;

/// What a rule finds; an index into [`Rules::kinds`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Kind(u16);

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hit {
    pub span: Range<usize>,
    pub kind: Kind,
    pub rank: Rank,
}

/// What counts where findings overlap, the first most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// It says itself what it is.
    Shape,
    Pattern,
    /// The text around it says so: elsewhere it would not be noticed.
    Context,
    /// It was noticed elsewhere.
    Known,
    /// Not secret, but personal.
    Personal,
}

/// What to do at a word.
#[derive(Debug, Clone, Copy)]
enum Trigger {
    Shape(usize),
    WebToken,
    PrivateKey,
    Named,
    Credentials(&'static str),
    Url,
    Email,
    Home(&'static str),
}

#[derive(Debug)]
pub(crate) struct Rules {
    words: AhoCorasick,
    triggers: Vec<(Trigger, Kind)>,
    patterns: Vec<(Regex, Kind)>,
    pub kinds: Vec<String>,
    pub named: Kind,
    home: Option<Kind>,
}

impl Rules {
    pub(crate) fn new(options: &Options) -> Result<Self, PatternError> {
        let mut kinds = Vec::new();
        let mut kind = |name: &str| {
            let at = kinds.iter().position(|known| known == name).unwrap_or_else(|| {
                kinds.push(name.to_owned());
                kinds.len() - 1
            });
            Kind(at as u16)
        };
        let mut triggers: Vec<(&str, Trigger, Kind)> = Vec::new();
        for (at, shape) in SHAPES.iter().enumerate() {
            triggers.push((shape.prefix, Trigger::Shape(at), kind(shape.kind)));
        }
        triggers.push(("eyJ", Trigger::WebToken, kind("web-token")));
        triggers.push(("-----BEGIN ", Trigger::PrivateKey, kind("private-key")));
        let named = kind("named-secret");
        triggers.extend(named::WORDS.iter().map(|(word, _)| (*word, Trigger::Named, named)));
        for word in ["bearer", "authorization"] {
            triggers.push((word, Trigger::Credentials(word), kind("authorization")));
        }
        triggers.push(("://", Trigger::Url, kind("url-password")));
        if options.emails {
            triggers.push(("@", Trigger::Email, kind("email")));
        }
        let mut home = None;
        if options.home {
            home = Some(kind("home"));
            for before in ["/home/", "/Users/", "\\Users", "-home-", "-Users-"] {
                triggers.push((before, Trigger::Home(before), kind("home")));
            }
        }
        let mut patterns = Vec::new();
        for (name, pattern) in &options.patterns {
            patterns.push((custom(name, pattern)?, kind(name)));
        }
        let words = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .match_kind(MatchKind::Standard)
            .build(triggers.iter().map(|(word, _, _)| word))
            .map_err(|error| PatternError::Invalid("built in".into(), error.to_string()))?;
        let triggers = triggers.into_iter().map(|(_, trigger, kind)| (trigger, kind)).collect();
        Ok(Rules { words, triggers, patterns, kinds, named, home })
    }

    /// What a finding of this kind is called.
    pub(crate) fn name(&self, kind: Kind) -> &str {
        self.kinds.get(usize::from(kind.0)).map_or("", String::as_str)
    }

    /// What stands for the `number`th finding of a kind.
    pub(crate) fn placeholder(&self, kind: Kind, number: usize) -> String {
        match (Some(kind) == self.home, number) {
            (true, 1) => "user".to_owned(),
            (true, number) => format!("user{number}"),
            (false, number) => format!("[REDACTED:{}:{number}]", self.name(kind)),
        }
    }

    /// Everything in `text`, in no order, possibly overlapping.
    pub(crate) fn find(&self, text: &[u8], hits: &mut Vec<Hit>) {
        // Where the last finding of a context ends: what is inside of it needs no second look.
        let mut done = 0;
        for found in self.words.find_overlapping_iter(text) {
            let Some(&(trigger, kind)) = self.triggers.get(found.pattern().as_usize()) else {
                continue;
            };
            let at = found.start();
            if at < done && matches!(trigger, Trigger::Named | Trigger::PrivateKey) {
                continue;
            }
            let (span, rank) = match trigger {
                Trigger::Shape(shape) => {
                    (SHAPES.get(shape).and_then(|shape| shape.at(text, at)), Rank::Shape)
                }
                Trigger::WebToken => (web_token(text, at), Rank::Shape),
                Trigger::PrivateKey => (places::private_key(text, at), Rank::Shape),
                Trigger::Named => (named::assigned(text, at), Rank::Context),
                Trigger::Credentials(word) => (places::credentials(text, at, word), Rank::Context),
                Trigger::Url => (places::url_password(text, at), Rank::Context),
                Trigger::Email => (places::email(text, at), Rank::Personal),
                Trigger::Home(before) => (places::home(text, at, before), Rank::Personal),
            };
            if let Some(span) = span {
                done = done.max(span.end);
                hits.push(Hit { span, kind, rank });
            }
        }
        for (pattern, kind) in &self.patterns {
            for found in pattern.captures_iter(text) {
                let Some(found) = found.get(1).or_else(|| found.get(0)) else { continue };
                if !found.is_empty() && !is_placeholder(text, found.range()) {
                    hits.push(Hit { span: found.range(), kind: *kind, rank: Rank::Pattern });
                }
            }
        }
    }
}

/// Whether a finding is only a part of what an earlier redaction left.
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

/// A pattern that somebody gave us.
fn custom(name: &str, pattern: &str) -> Result<Regex, PatternError> {
    const MOST: usize = 1 << 20;
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.is_empty() || name.len() > 32 || !name.bytes().all(is_name) {
        return Err(PatternError::Name(name.to_owned()));
    }
    let built = RegexBuilder::new(pattern).size_limit(MOST).dfa_size_limit(MOST).build();
    let regex = built.map_err(|error| {
        PatternError::Invalid(
            name.to_owned(),
            match error {
                regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
                // The first lines repeat the pattern.
                error => error.to_string().lines().last().unwrap_or_default().to_owned(),
            },
        )
    })?;
    match regex.is_match(b"") {
        true => Err(PatternError::Empty(name.to_owned())),
        false => Ok(regex),
    }
}
