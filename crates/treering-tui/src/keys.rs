//! Key bindings. The table that `?` shows is the table that is used.
//!
//! A key is normalized: an uppercase letter is the lowercase letter with Shift, whether or not the
//! terminal reports Shift. Terminals without an enhanced keyboard protocol do not distinguish
//! Shift+Enter from Enter or Shift+Ctrl+O from Ctrl+O, so such bindings have a second key with Alt.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::fmt;
use std::str::FromStr;

/// A key without modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each is the key of that name")]
pub enum Code {
    Char(char),
    Enter,
    Esc,
    Tab,
    Backspace,
    Delete,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
}

const NAMES: [(&str, Code); 14] = [
    ("Enter", Code::Enter),
    ("Esc", Code::Esc),
    ("Tab", Code::Tab),
    ("Backspace", Code::Backspace),
    ("Delete", Code::Delete),
    ("↑", Code::Up),
    ("↓", Code::Down),
    ("←", Code::Left),
    ("→", Code::Right),
    ("Home", Code::Home),
    ("End", Code::End),
    ("PgUp", Code::PageUp),
    ("PgDn", Code::PageDown),
    ("Space", Code::Char(' ')),
];

/// Other names of keys.
const WORDS: [(&str, Code); 6] = [
    ("up", Code::Up),
    ("down", Code::Down),
    ("left", Code::Left),
    ("right", Code::Right),
    ("pageup", Code::PageUp),
    ("pagedown", Code::PageDown),
];

/// A key with its modifiers.
///
/// ```
/// use treering_tui::keys::Key;
/// let key: Key = "Ctrl+left".parse()?;
/// assert_eq!(key.to_string(), "Ctrl+←");
/// assert_eq!("L".parse::<Key>()?, "shift+l".parse()?);
/// # Ok::<(), treering_tui::keys::UnknownKey>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the fields are the keys of that name")]
pub struct Key {
    pub code: Code,
    pub ctrl: bool,
    pub alt: bool,
    pub shift: bool,
}

impl Key {
    /// The key ↑.
    pub const UP: Key = Key::plain(Code::Up);
    /// The key ↓.
    pub const DOWN: Key = Key::plain(Code::Down);
    /// The key Enter.
    pub const ENTER: Key = Key::plain(Code::Enter);
    /// The key Esc.
    pub const ESC: Key = Key::plain(Code::Esc);

    /// Creates a key without modifiers.
    pub const fn plain(code: Code) -> Self {
        Key { code, ctrl: false, alt: false, shift: false }
    }

    /// Creates the key that types a character.
    pub fn char(character: char) -> Self {
        let mut small = character.to_lowercase();
        match (small.next(), small.next()) {
            (Some(lower), None) if lower != character && lower.to_uppercase().eq([character]) => {
                Key { shift: true, ..Key::plain(Code::Char(lower)) }
            }
            _ => Key::plain(Code::Char(character)),
        }
    }

    /// Converts a key event; `None` for keys that are not supported.
    pub fn of(event: KeyEvent) -> Option<Self> {
        let has = |modifier| event.modifiers.contains(modifier);
        let code = match event.code {
            KeyCode::Char(character) => {
                let key = Key::char(character);
                let is_letter = character.is_alphabetic();
                let shift = key.shift || (is_letter && has(KeyModifiers::SHIFT));
                let (ctrl, alt) = (has(KeyModifiers::CONTROL), has(KeyModifiers::ALT));
                return Some(Key { ctrl, alt, shift, ..key });
            }
            KeyCode::Enter => Code::Enter,
            KeyCode::Esc => Code::Esc,
            KeyCode::Tab | KeyCode::BackTab => Code::Tab,
            KeyCode::Backspace => Code::Backspace,
            KeyCode::Delete => Code::Delete,
            KeyCode::Up => Code::Up,
            KeyCode::Down => Code::Down,
            KeyCode::Left => Code::Left,
            KeyCode::Right => Code::Right,
            KeyCode::Home => Code::Home,
            KeyCode::End => Code::End,
            KeyCode::PageUp => Code::PageUp,
            KeyCode::PageDown => Code::PageDown,
            _ => return None,
        };
        let shift = has(KeyModifiers::SHIFT) || event.code == KeyCode::BackTab;
        let (ctrl, alt) = (has(KeyModifiers::CONTROL), has(KeyModifiers::ALT));
        Some(Key { code, ctrl, alt, shift })
    }

    /// Returns the character that the key types, if it types one.
    pub fn typed(self) -> Option<char> {
        match self.code {
            Code::Char(_) if self.ctrl || self.alt => None,
            Code::Char(character) if self.shift => character.to_uppercase().next(),
            Code::Char(character) => Some(character),
            _ => None,
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (held, name) in [(self.shift, "Shift+"), (self.ctrl, "Ctrl+"), (self.alt, "Alt+")] {
            f.write_str(if held { name } else { "" })?;
        }
        match (NAMES.iter().find(|(_, code)| *code == self.code), self.code) {
            (Some((name, _)), _) => f.write_str(name),
            (None, Code::Char(character)) => write!(f, "{}", character.to_uppercase()),
            (None, _) => Ok(()),
        }
    }
}

/// The error for an unknown key name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownKey(pub String);

impl fmt::Display for UnknownKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown key {:?}; examples: Ctrl+D, Shift+Enter, PgUp", self.0)
    }
}

impl std::error::Error for UnknownKey {}

impl FromStr for Key {
    type Err = UnknownKey;

    fn from_str(text: &str) -> Result<Self, UnknownKey> {
        let unknown = || UnknownKey(text.to_owned());
        let (mut ctrl, mut alt, mut shift) = (false, false, false);
        let mut rest = text;
        while let Some((word, after)) = rest.split_once('+').filter(|(_, after)| !after.is_empty())
        {
            match word.to_ascii_lowercase().as_str() {
                "ctrl" => ctrl = true,
                "alt" => alt = true,
                "shift" => shift = true,
                _ => return Err(unknown()),
            }
            rest = after;
        }
        let mut characters = rest.chars();
        let key = match (characters.next(), characters.next()) {
            // With a modifier, a letter names the key.
            (Some(one), None) if ctrl || alt || shift => Key::plain(Key::char(one).code),
            (Some(one), None) => Key::char(one),
            _ => {
                let mut names = NAMES.iter().chain(&WORDS);
                let named = names.find(|(name, _)| name.eq_ignore_ascii_case(rest));
                Key::plain(named.ok_or_else(unknown)?.1)
            }
        };
        let arrow = NAMES.iter().find(|(name, _)| *name == rest);
        let code = arrow.map_or(key.code, |(_, code)| *code);
        Ok(Key { code, ctrl, alt, shift: shift || key.shift })
    }
}

/// The actions of a screen. The table holds the name of each action in the configuration file, its
/// description, and its default keys.
pub trait Action: Copy + PartialEq + 'static {
    /// All actions: the action, its name, its description, its keys separated by spaces.
    const ALL: &'static [(Self, &'static str, &'static str, &'static str)];
}

/// The key bindings of a screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bindings<A>(Vec<(Key, A)>);

impl<A: Action> Default for Bindings<A> {
    fn default() -> Self {
        let keys = |keys: &'static str| keys.split(' ').filter_map(|key| key.parse().ok());
        let all =
            A::ALL.iter().flat_map(|(action, _, _, names)| keys(names).map(|key| (key, *action)));
        Bindings(all.collect())
    }
}

impl<A: Action> Bindings<A> {
    /// Returns the action of a key.
    pub fn action(&self, key: Key) -> Option<A> {
        self.0.iter().find(|(bound, _)| *bound == key).map(|(_, action)| *action)
    }

    /// Returns the action of a key, or `None` if the key types a character into text that is already
    /// being written (`is_typing`). A printable key is a command only where no text has been started.
    pub fn command(&self, key: Key, is_typing: bool) -> Option<A> {
        self.action(key).filter(|_| !is_typing || key.typed().is_none())
    }

    /// Binds an action to other keys and removes these keys from other actions. The name must be in
    /// the table, and every key must parse as a [`Key`].
    pub fn rebind(&mut self, name: &str, keys: &[String]) -> Result<(), BindingError> {
        let known = A::ALL.iter().find(|(_, known, ..)| *known == name);
        let (action, ..) = known.ok_or_else(|| BindingError::Action(name.to_owned()))?;
        let keys: Vec<Key> = keys.iter().map(|key| key.parse()).collect::<Result<_, _>>()?;
        self.0.retain(|(key, bound)| bound != action && !keys.contains(key));
        self.0.extend(keys.into_iter().map(|key| (key, *action)));
        Ok(())
    }

    /// Returns the first key of an action.
    pub fn key(&self, action: A) -> Option<Key> {
        self.0.iter().find(|(_, bound)| *bound == action).map(|(key, _)| *key)
    }

    /// Returns all keys of an action.
    pub fn keys(&self, action: A) -> Vec<Key> {
        let keys = self.0.iter().filter(|(_, bound)| *bound == action);
        keys.map(|(key, _)| *key).collect()
    }

    /// Returns the keys and the description of every bound action, in the order of the table.
    pub fn list(&self) -> Vec<(String, &'static str)> {
        let keys = |action: A| {
            let keys = self.0.iter().filter(|(_, bound)| *bound == action);
            keys.map(|(key, _)| key.to_string()).collect::<Vec<_>>().join(" ")
        };
        let all = A::ALL.iter().map(|(action, _, about, _)| (keys(*action), *about));
        all.filter(|(keys, _)| !keys.is_empty()).collect()
    }
}

/// The error of a binding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BindingError {
    /// The key is unknown.
    Key(UnknownKey),
    /// The action is unknown.
    Action(String),
}

impl From<UnknownKey> for BindingError {
    fn from(error: UnknownKey) -> Self {
        BindingError::Key(error)
    }
}

impl fmt::Display for BindingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BindingError::Key(error) => error.fmt(f),
            BindingError::Action(name) => {
                write!(f, "unknown action {name:?}; `treering help keys` lists all")
            }
        }
    }
}

impl std::error::Error for BindingError {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the table of a screen.
    pub(crate) fn check_table<A: Action + fmt::Debug>() {
        let Bindings(bound) = Bindings::<A>::default();
        let count: usize = A::ALL.iter().map(|(.., keys)| keys.split(' ').count()).sum();
        assert_eq!(bound.len(), count, "every key is read");
        for (at, (key, action)) in bound.iter().enumerate() {
            assert_eq!(key.to_string().parse(), Ok(*key), "{action:?}");
            assert!(!bound[..at].iter().any(|(other, _)| other == key), "{key} is bound twice");
        }
        for (at, (action, name, ..)) in A::ALL.iter().enumerate() {
            let before = &A::ALL[..at];
            assert!(!before.iter().any(|(other, known, ..)| other == action || known == name));
        }
    }

    #[test]
    fn every_table_is_sound() {
        check_table::<crate::chat::ChatAction>();
        check_table::<crate::tree::TreeAction>();
        check_table::<crate::picker::PickerAction>();
    }

    #[test]
    fn a_capital_is_the_same_key_however_it_is_reported() {
        let reported = |code, modifiers| Key::of(KeyEvent::new(KeyCode::Char(code), modifiers));
        let capital = Some(Key::char('L'));
        assert_eq!(reported('L', KeyModifiers::NONE), capital);
        assert_eq!(reported('L', KeyModifiers::SHIFT), capital);
        assert_eq!(reported('l', KeyModifiers::SHIFT), capital);
        assert_eq!(reported('?', KeyModifiers::SHIFT), Some(Key::char('?')));
        assert_eq!(Key::char('É').typed(), Some('É'));
        assert_eq!(Key::char('ß').typed(), Some('ß'));
    }

    #[test]
    fn a_word_that_is_no_key_is_refused() {
        for word in ["", "Hyper+x", "Ctrl+", "nokey"] {
            assert!(word.parse::<Key>().is_err(), "{word}");
        }
        assert_eq!("+".parse(), Ok(Key::char('+')));
    }

    #[test]
    fn another_binding_replaces_the_old_one() {
        use crate::tree::TreeAction;
        let mut bindings = Bindings::<TreeAction>::default();
        bindings.rebind("close", &["Ctrl+D".to_owned(), "Q".to_owned()]).unwrap();
        assert_eq!(bindings.action("Ctrl+D".parse().unwrap()), Some(TreeAction::Close));
        assert_eq!(bindings.action("Ctrl+C".parse().unwrap()), None);
        assert!(bindings.list().iter().any(|(keys, _)| keys == "Ctrl+D Shift+Q"));
        let wrong = bindings.rebind("clsoe", &[]).unwrap_err();
        assert_eq!(wrong.to_string(), "unknown action \"clsoe\"; `treering help keys` lists all");
        assert!(bindings.rebind("close", &["Hyper+X".to_owned()]).is_err());
        assert_eq!(
            bindings.key(TreeAction::Close).map(|key| key.to_string()).as_deref(),
            Some("Ctrl+D")
        );
    }
}
