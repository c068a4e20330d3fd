//! Entries and positions as users type them.
//!
//! The library takes complete ids. Users may type the beginning of one: these types keep the text
//! until it can be resolved in a session, so that no command uses it unresolved.

use std::convert::Infallible;
use std::str::FromStr;
use treering::merge::Selection;
use treering::{EntryId, Position, Result, Session};

/// An entry: its id, or the beginning of its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TypedEntry(String);

impl TypedEntry {
    /// Returns the entry of `session` that the text refers to.
    pub(crate) fn resolve(&self, session: &Session) -> Result<EntryId> {
        session.resolve(&self.0).found(&self.0)
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

impl FromStr for TypedEntry {
    type Err = Infallible;

    fn from_str(text: &str) -> std::result::Result<Self, Infallible> {
        Ok(TypedEntry(text.to_owned()))
    }
}

/// Parses a label or a name. It may begin with a hyphen, but a mistyped option does not become one.
pub(crate) fn label_text(text: &str) -> std::result::Result<String, String> {
    let is_option_letter = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
    match text.strip_prefix("--") {
        Some(option) if !option.is_empty() && option.bytes().all(is_option_letter) => {
            Err("there is no such option; a text cannot look like one".to_owned())
        }
        _ => Ok(text.to_owned()),
    }
}

/// Parses a number. The messages of the standard library speak of digits in strings.
pub(crate) fn number<T: TryFrom<u64>>(text: &str) -> std::result::Result<T, String> {
    let number = text.parse::<u64>().ok().and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| "expected a number such as 20".to_owned())
}

/// Parses a number of things of which there must be one.
pub(crate) fn positive(text: &str) -> std::result::Result<usize, String> {
    match number(text)? {
        0 => Err("expected a number of at least 1".to_owned()),
        number => Ok(number),
    }
}

/// Parses a label. An empty text would clear it, which scripts may not expect.
pub(crate) fn label(text: &str) -> std::result::Result<String, String> {
    match text.trim().is_empty() {
        true => Err("a label cannot be empty; `treering label --clear` clears it".to_owned()),
        false => label_text(text),
    }
}

/// A position in a tree: an entry, or `none` for before the first one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TypedPosition {
    Start,
    Entry(TypedEntry),
}

impl TypedPosition {
    /// Returns the position in `session` that the text refers to.
    pub(crate) fn resolve(&self, session: &Session) -> Result<Position> {
        match self {
            TypedPosition::Start => Ok(Position::Start),
            TypedPosition::Entry(entry) => Ok(entry.resolve(session)?.into()),
        }
    }

    /// Returns the position in `session` that the text refers to; the leaf if none was typed.
    pub(crate) fn or_leaf(typed: Option<&Self>, session: &Session) -> Result<Position> {
        typed.map_or(Ok(Position::Leaf), |typed| typed.resolve(session))
    }

    /// Returns the entry that was typed.
    pub(crate) fn entry(&self) -> Option<&TypedEntry> {
        match self {
            TypedPosition::Start => None,
            TypedPosition::Entry(entry) => Some(entry),
        }
    }
}

impl FromStr for TypedPosition {
    type Err = Infallible;

    fn from_str(text: &str) -> std::result::Result<Self, Infallible> {
        match text {
            "none" => Ok(TypedPosition::Start),
            entry => entry.parse().map(TypedPosition::Entry),
        }
    }
}

/// One entry, or `FIRST..LAST`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TypedSelection {
    first: TypedEntry,
    last: TypedEntry,
}

impl TypedSelection {
    /// Returns the entries of `session` that the text refers to.
    pub(crate) fn resolve(&self, session: &Session) -> Result<Selection> {
        Ok(Selection::range(self.first.resolve(session)?, self.last.resolve(session)?))
    }
}

impl FromStr for TypedSelection {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (first, last) = match text.split_once("..") {
            Some((first, last)) if first.is_empty() || last.is_empty() => {
                return Err("a range needs both ends: FIRST..LAST".to_owned());
            }
            Some(ends) => ends,
            None => (text, text),
        };
        Ok(TypedSelection {
            first: TypedEntry(first.to_owned()),
            last: TypedEntry(last.to_owned()),
        })
    }
}
