//! Identifiers of entries and sessions, and generators of new ones.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

/// The id of an entry, unique in its session.
///
/// treering makes ids of 8 lower-case hexadecimal characters; it accepts the ids of all other
/// writers (UUIDs, numbers). An id is always complete: a text that a user typed, which may be the
/// beginning of an id, is resolved with [`Session::resolve`](crate::Session::resolve) first.
///
/// ```
/// let id = treering::EntryId::from("1f3a9c0e");
/// assert_eq!(id, "1f3a9c0e");
/// ```
#[derive(Clone)]
pub struct EntryId(IdText);

/// The text of an id. Ids are created, compared and copied very often, and nearly all have eight
/// characters, so those need no allocation.
#[derive(Clone)]
enum IdText {
    Short { bytes: [u8; 22], len: u8 },
    Long(Box<str>),
}

impl EntryId {
    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            IdText::Short { bytes, len } => {
                std::str::from_utf8(&bytes[..usize::from(*len)]).unwrap_or_default()
            }
            IdText::Long(text) => text,
        }
    }
}

impl From<&str> for EntryId {
    fn from(text: &str) -> Self {
        let mut bytes = [0; 22];
        EntryId(match bytes.get_mut(..text.len()) {
            Some(place) => {
                place.copy_from_slice(text.as_bytes());
                IdText::Short { bytes, len: text.len() as u8 }
            }
            None => IdText::Long(text.into()),
        })
    }
}

impl From<&EntryId> for EntryId {
    fn from(id: &EntryId) -> Self {
        id.clone()
    }
}

impl From<&String> for EntryId {
    fn from(text: &String) -> Self {
        EntryId::from(text.as_str())
    }
}

impl From<String> for EntryId {
    fn from(text: String) -> Self {
        EntryId::from(text.as_str())
    }
}

impl AsRef<str> for EntryId {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl Borrow<str> for EntryId {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl PartialEq for EntryId {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for EntryId {}

impl PartialOrd for EntryId {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for EntryId {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Hash for EntryId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl PartialEq<str> for EntryId {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for EntryId {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EntryId({self})")
    }
}

/// The id of a session.
///
/// The id of a new session is part of its file name, so its alphabet is restricted. The id of an
/// existing session is any text that its file states, and may be empty.
///
/// ```
/// use treering::SessionId;
/// assert!(SessionId::new("fix-login.2").is_ok());
/// assert!(SessionId::new("../../etc/passwd").is_err());
/// assert_eq!(SessionId::generate().to_string().len(), 36);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(Box<str>);

impl SessionId {
    /// The longest id that still leaves room for the rest of a file name.
    pub const MAX_LEN: usize = 128;

    /// Creates an id of letters, digits, `.`, `_` and `-`, with a letter or digit at both ends.
    ///
    /// # Errors
    ///
    /// Fails if the text has another character, is empty, or is longer than
    /// [`MAX_LEN`](SessionId::MAX_LEN).
    ///
    /// ```
    /// use treering::SessionId;
    /// assert_eq!(SessionId::new("fix-login.2")?, "fix-login.2");
    /// assert!(SessionId::new("a/b").unwrap_err().to_string().contains("a/b"));
    /// # Ok::<(), treering::InvalidSessionId>(())
    /// ```
    pub fn new(text: &str) -> Result<Self, InvalidSessionId> {
        SessionId(text.into()).checked()
    }

    /// Creates the id of an existing session, which may be any text. No session can be created with
    /// an id that [`new`](SessionId::new) refuses.
    pub fn of_file(text: impl AsRef<str>) -> Self {
        let text = text.as_ref();
        SessionId(text.into())
    }

    /// Returns the id if it is valid for a new session.
    pub(crate) fn checked(self) -> Result<Self, InvalidSessionId> {
        let text = &*self.0;
        let bytes = text.as_bytes();
        let inner = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
        let ends = [bytes.first(), bytes.last()];
        let valid = bytes.len() <= Self::MAX_LEN
            && bytes.iter().all(inner)
            && ends.iter().all(|end| end.is_some_and(u8::is_ascii_alphanumeric));
        if valid { Ok(self) } else { Err(InvalidSessionId(text.into())) }
    }

    /// Returns a new UUID version 7, which sorts by time of creation.
    pub fn generate() -> Self {
        SessionId(crate::time::uuid().to_string().into())
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether the session has no id.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl AsRef<str> for SessionId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for SessionId {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for SessionId {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

impl PartialEq<String> for SessionId {
    fn eq(&self, other: &String) -> bool {
        &*self.0 == other.as_str()
    }
}

impl PartialEq<SessionId> for String {
    fn eq(&self, other: &SessionId) -> bool {
        self.as_str() == &*other.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text that is not a valid session id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid session id {0:?}: letters, digits, '.', '_' and '-', starting and ending with a letter or digit, at most 128"
)]
pub struct InvalidSessionId(pub(crate) String);

/// Generates entry ids. Uniqueness does not depend on randomness: every candidate is checked
/// against the session, under the file's lock.
#[derive(Debug, Clone)]
pub(crate) struct IdMaker(u64);

impl IdMaker {
    pub(crate) fn new() -> Self {
        // RandomState is seeded by the operating system, but not again in the child of a fork.
        IdMaker(RandomState::new().hash_one(std::process::id()))
    }

    /// Creates a generator that makes the same ids for the same session and number.
    pub(crate) fn seeded(session: &str, number: u64) -> Self {
        IdMaker(fnv1a(0, session.bytes().chain(number.to_le_bytes())))
    }

    /// Returns the next number of SplitMix64, which is small, and good enough for ids that are
    /// checked for collisions anyway.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a new id of 12 hexadecimal characters, as some agents use them.
    pub(crate) fn make_long(&mut self, taken: impl Fn(&str) -> bool) -> EntryId {
        loop {
            let id = format!("{:012x}", self.next() >> 16);
            if !taken(&id) {
                return EntryId::from(id.as_str());
            }
        }
    }

    /// Returns a new id for which `taken` is false: 8 hexadecimal characters, or a UUID after a
    /// hundred collisions.
    pub(crate) fn make(&mut self, taken: impl Fn(&str) -> bool) -> EntryId {
        for _ in 0..100 {
            let mut buffer = [0; 8];
            let id = hex8((self.next() >> 32) as u32, &mut buffer);
            if !taken(id) {
                return EntryId::from(id);
            }
        }
        EntryId::from(crate::time::uuid().to_string().as_str())
    }
}

/// Returns the FNV-1a hash of some bytes: small, and the same on every machine and in every release.
/// Hashes with different seeds are independent.
pub(crate) fn fnv1a(seed: u64, bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(0xCBF2_9CE4_8422_2325 ^ seed, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

/// Returns bytes as lowercase hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

fn hex8(value: u32, buffer: &mut [u8; 8]) -> &str {
    for (at, slot) in buffer.iter_mut().enumerate() {
        *slot = b"0123456789abcdef"[(value >> (28 - 4 * at) & 15) as usize];
    }
    std::str::from_utf8(buffer).unwrap_or_default()
}

/// Returns the id of an entry whose file has none (version 1). It depends only on the session's id
/// and the entry's line, so it is the same at every load.
pub(crate) fn derived(session: &str, line: u64, taken: impl Fn(&str) -> bool) -> EntryId {
    IdMaker::seeded(session, line).make(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_ids_cannot_leave_their_directory() {
        for good in ["a", "A1", "a.b_c-d", "019b8d62-7a80-77da-8ca6-e755b346b1b7"] {
            assert!(SessionId::new(good).is_ok(), "{good}");
        }
        let long = "x".repeat(129);
        for bad in ["", ".", "..", "-a", "a-", "a/b", "../a", "a\0b", "a b", "é", long.as_str()] {
            assert!(SessionId::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn short_and_long_ids_are_the_same_kind_of_thing() {
        for length in [0, 1, 8, 21, 22, 23, 36, 512] {
            let text = "é".repeat(length / 2) + &"x".repeat(length % 2);
            assert_eq!(EntryId::from(text.as_str()).as_str(), text);
            assert_eq!(EntryId::from(text.as_str()), EntryId::from(text.as_str()).clone());
        }
        let (short, long) = (EntryId::from("a"), EntryId::from("b".repeat(40).as_str()));
        assert_eq!(short.cmp(&long), std::cmp::Ordering::Less);
    }

    #[test]
    fn a_byte_is_two_digits() {
        assert_eq!(hex(&[]), "");
        assert_eq!(hex(&[0, 0x0A, 0xB0, 0xFF]), "000ab0ff");
    }

    #[test]
    fn a_hundred_collisions_lead_to_a_uuid() {
        let id = IdMaker::new().make(|id| id.len() == 8);
        assert_eq!(id.as_str().len(), 36);
    }

    #[test]
    fn derived_ids_are_stable_and_avoid_what_is_taken() {
        let first = derived("s", 2, |_| false);
        assert_eq!(first, derived("s", 2, |_| false));
        assert_ne!(first, derived("s", 3, |_| false));
        assert_ne!(first, derived("s", 2, |id| first == id));
        assert_eq!(first.as_str().len(), 8);
    }
}
