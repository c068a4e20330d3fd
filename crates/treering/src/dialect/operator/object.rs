//! Splits and builds objects, member by member, with values as raw bytes.

use crate::json::{self, Members};
use std::borrow::Cow;

/// The members of an object. Known ones are taken out by name; the rest is copied. `null` equals a
/// missing member: both agents leave out members that are `None`.
pub(super) struct ObjectMembers<'a>(Vec<ObjectMember<'a>>);

struct ObjectMember<'a> {
    name: Cow<'a, [u8]>,
    /// The key and the value as raw bytes.
    whole: &'a [u8],
    value: &'a [u8],
}

impl<'a> ObjectMembers<'a> {
    pub(super) fn of(object: &'a [u8]) -> Self {
        let members = Members::new(object, json::skip_space(object, 0));
        let part = |member: json::Member<'a>| ObjectMember {
            name: json::key_name(member.key),
            whole: &object[member.whole],
            value: &object[member.value],
        };
        ObjectMembers(members.map(part).collect())
    }

    /// Removes and returns a member; the last one if the key is repeated.
    pub(super) fn take(&mut self, name: &str) -> Option<&'a [u8]> {
        let last = self.0.iter().rev().find(|part| *part.name == *name.as_bytes())?.value;
        self.0.retain(|part| *part.name != *name.as_bytes());
        (last != b"null").then_some(last)
    }

    pub(super) fn take_text(&mut self, name: &str) -> Option<Cow<'a, str>> {
        self.take(name).and_then(json::string)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|part| part.value == b"null")
    }
}

/// An object under construction, in compact style.
pub(super) struct ObjectBuilder(Vec<u8>);

impl ObjectBuilder {
    pub(super) fn new() -> Self {
        ObjectBuilder(b"{".to_vec())
    }

    pub(super) fn raw(&mut self, key: &str, value: &[u8]) -> &mut Self {
        self.comma();
        json::write_string(&mut self.0, key);
        self.0.push(b':');
        self.0.extend_from_slice(value);
        self
    }

    pub(super) fn text(&mut self, key: &str, value: &str) -> &mut Self {
        self.raw(key, &json::quoted(value))
    }

    /// Writes the key and the value as raw bytes.
    pub(super) fn member(&mut self, whole: &[u8]) -> &mut Self {
        self.comma();
        self.0.extend_from_slice(whole);
        self
    }

    /// Writes a member, if it has a value.
    pub(super) fn maybe(&mut self, key: &str, value: Option<&[u8]>) -> &mut Self {
        if let Some(value) = value {
            self.raw(key, value);
        }
        self
    }

    /// Adds the members that were not taken, except those whose name has another meaning here.
    pub(super) fn rest(&mut self, parts: ObjectMembers<'_>, reserved: &[&str]) -> &mut Self {
        for part in parts.0 {
            let clashes = reserved.iter().any(|name| *name.as_bytes() == *part.name);
            if part.value != b"null" && !clashes {
                self.member(part.whole);
            }
        }
        self
    }

    /// Adds all members, including `null`, for objects of which nothing is known.
    pub(super) fn everything(&mut self, parts: ObjectMembers<'_>, reserved: &[&str]) -> &mut Self {
        for part in parts.0 {
            if !reserved.iter().any(|name| *name.as_bytes() == *part.name) {
                self.member(part.whole);
            }
        }
        self
    }

    fn comma(&mut self) {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
    }

    pub(super) fn done(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }

    /// Returns the object as the fields of an entry: `,"key":value` each.
    pub(super) fn fields(mut self) -> Vec<u8> {
        if self.0.len() == 1 {
            return Vec::new();
        }
        if let Some(open) = self.0.first_mut() {
            *open = b',';
        }
        self.0
    }
}

/// Returns an array of these elements.
pub(super) fn array<T: AsRef<[u8]>>(elements: &[T]) -> Vec<u8> {
    let mut out = b"[".to_vec();
    for (at, element) in elements.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(element.as_ref());
    }
    out.push(b']');
    out
}

/// Returns the value without white space between its tokens.
pub(super) fn compact(value: Vec<u8>) -> Vec<u8> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    let mut out = Vec::with_capacity(value.len());
    let mut at = 0;
    while let Some(byte) = value.get(at) {
        let end = match byte {
            b'"' => json::skip_string(&value, at).unwrap_or(value.len()),
            _ => at + 1,
        };
        if !is_blank(byte) {
            out.extend_from_slice(&value[at..end]);
        }
        at = end;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_taken_is_carried_over() {
        let mut parts = ObjectMembers::of(br#"{ "a":1, "b" :2,"\u0061":3,"c":null,"d": 4}"#);
        assert_eq!(parts.take("a"), Some(&b"3"[..]));
        assert_eq!(parts.take("c"), None);
        let mut object = ObjectBuilder::new();
        object.text("x", "\"").rest(parts, &["d"]);
        assert_eq!(object.done(), br#"{"x":"\"","b" :2}"#);
    }

    #[test]
    fn compact_leaves_texts_alone() {
        assert_eq!(compact(br#"{ "a b" : [ 1 ,	"\" c" ] }"#.to_vec()), br#"{"a b":[1,"\" c"]}"#);
    }
}
