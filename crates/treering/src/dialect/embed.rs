//! Embeds an entry in treering's format in the record of another agent, if that record cannot
//! express it.
//!
//! A record for another agent is written in that agent's format. If it would not be read back as
//! the same entry, the record gets one more member, `treering`, with the original entry. The agent
//! ignores this member, and treering reads only it.

use super::python;
use crate::entry::{Kind, MessageView, NewEntry, Role};
use crate::json::{self, Members};
use std::borrow::Cow;

/// Returns the entry that is embedded in a record, if there is one. The member's name must be
/// spelled without escapes, because quick readers search for these bytes and must agree.
pub(crate) fn embedded(record: &[u8]) -> Option<NewEntry> {
    memchr::memmem::find(record, b"\"treering\"")?;
    let whole = json::get(record, "treering").filter(|raw| raw.starts_with(b"{"))?;
    // A header is not an entry.
    let type_name = json::string(json::get(whole, "type")?)?;
    if type_name == "session" {
        return None;
    }
    Some(entry_of(whole))
}

/// Returns an entry with any fields (`,"key":value` each).
pub(crate) fn native(type_name: impl Into<Cow<'static, str>>, fields: Vec<u8>) -> NewEntry {
    let type_name = type_name.into();
    let message = (Kind::of(&type_name) == Kind::Message).then(|| member(&fields, "message"));
    let role = message.flatten().and_then(role);
    NewEntry { fields, role, ..NewEntry::of_type(type_name) }
}

/// Returns an object as an entry: its type, and its members except those that the tree has.
pub(crate) fn entry_of(object: &[u8]) -> NewEntry {
    let mut fields = Vec::with_capacity(object.len());
    let mut type_name = Cow::Borrowed("");
    let mut message = None;
    for member in Members::new(object, json::skip_space(object, 0)) {
        match &*json::key_name(member.key) {
            b"type" => {
                type_name = json::string(&object[member.value]).map_or(Cow::Borrowed(""), known);
                continue;
            }
            b"id" | b"parentId" | b"timestamp" => continue,
            b"message" => message = Some(member.value),
            _ => {}
        }
        fields.push(b',');
        fields.extend_from_slice(&object[member.whole]);
    }
    let role = match Kind::of(&type_name) {
        Kind::Message => message.and_then(|span| role(&object[span])),
        _ => None,
    };
    NewEntry { fields, role, ..NewEntry::of_type(type_name) }
}

/// Returns a type's name, without an allocation for the usual ones.
fn known(type_name: Cow<'_, str>) -> Cow<'static, str> {
    match Kind::of(&type_name).name() {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(type_name.into_owned()),
    }
}

/// Returns the role of a message, if it names one.
pub(crate) fn role(message: &[u8]) -> Option<Role> {
    let name = MessageView::new(message).field("role")?;
    Some(if name == "hookMessage" { Role::Custom } else { Role::of(&name) })
}

/// Returns the value of a field in an entry's fields.
pub(crate) fn member<'a>(fields: &'a [u8], key: &str) -> Option<&'a [u8]> {
    members(fields).filter(|(name, _)| json::key_is(name, key)).map(|(_, value)| value).last()
}

/// Returns the fields of an entry: raw keys and values.
pub(crate) fn members(fields: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    // The leading comma is where an object has its brace.
    Members::after_comma(fields).map(|member| (member.key, &fields[member.value]))
}

/// Returns the fields of an entry as one object.
pub(crate) fn as_object(fields: &[u8]) -> Vec<u8> {
    [b"{", fields.get(1..).unwrap_or_default(), b"}"].concat()
}

/// Returns the record with the entry embedded in it.
pub(crate) fn embed(record: Vec<u8>, entry: &NewEntry) -> Vec<u8> {
    let mut native = b"{\"type\":".to_vec();
    json::write_string(&mut native, &entry.type_name);
    native.extend_from_slice(&entry.fields);
    native.push(b'}');
    json::with_member(&record, "treering", &native)
}

/// Returns whether two entries are equal: type and members as JSON values. The order of an entry's
/// and of its message's members does not matter, nor do white space and the escaping of texts.
pub(crate) fn same(a: &NewEntry, b: &NewEntry) -> bool {
    if a.type_name != b.type_name {
        return false;
    }
    if a.fields == b.fields {
        return true;
    }
    let (a, b) = (as_object(&a.fields), as_object(&b.fields));
    let (a, b) = (sorted(&a), sorted(&b));
    a.len() == b.len()
        && a.iter().zip(&b).all(|((key, a), (other, b))| {
            let is_message = **key == *b"message" && a.starts_with(b"{") && b.starts_with(b"{");
            key == other && if is_message { same_members(a, b) } else { same_value(a, b) }
        })
}

/// Returns whether two objects are equal in the same sense.
pub(crate) fn same_members(a: &[u8], b: &[u8]) -> bool {
    let (a, b) = (sorted(a), sorted(b));
    a.len() == b.len()
        && a.iter().zip(&b).all(|((key, a), (other, b))| key == other && same_value(a, b))
}

fn sorted(object: &[u8]) -> Vec<(Cow<'_, [u8]>, &[u8])> {
    let members = Members::new(object, 0);
    let mut found: Vec<_> =
        members.map(|member| (json::key_name(member.key), &object[member.value])).collect();
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    found
}

/// Compares two values token by token, without recursion.
fn same_value(a: &[u8], b: &[u8]) -> bool {
    let (mut at, mut other) = (0, 0);
    loop {
        at = json::skip_space(a, at);
        other = json::skip_space(b, other);
        let (one, two) = (token(a, at), token(b, other));
        if one.is_empty() || two.is_empty() {
            return one.is_empty() && two.is_empty();
        }
        if one != two && !same_text(one, two) {
            return false;
        }
        at += one.len();
        other += two.len();
    }
}

/// Returns the string, number, word or punctuation at `at`; empty at the end.
fn token(bytes: &[u8], at: usize) -> &[u8] {
    let rest = bytes.get(at..).unwrap_or_default();
    let is_mark = |byte: &u8| b"{}[],:\" \t\r\n".contains(byte);
    let len = match rest.first() {
        None => 0,
        Some(b'"') => json::skip_string(rest, 0).unwrap_or(rest.len()),
        Some(mark) if is_mark(mark) => 1,
        Some(_) => rest.iter().position(is_mark).unwrap_or(rest.len()),
    };
    &rest[..len]
}

fn same_text(a: &[u8], b: &[u8]) -> bool {
    let is_text = a.starts_with(b"\"") && b.starts_with(b"\"");
    // Not every text can be a `String`; in this form every character has only one spelling.
    is_text && python::dumps(a) == python::dumps(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(json: &str) -> NewEntry {
        NewEntry::from_json(json.as_bytes()).unwrap()
    }

    #[test]
    fn an_embedded_entry_comes_back() {
        let native = entry(r#"{"type":"odd","a":1e400,"b":"\ud800","c":null}"#);
        let record = embed(br#"{"id":"1","type":"x"}"#.to_vec(), &native);
        let text = String::from_utf8(record.clone()).unwrap();
        assert_eq!(
            text,
            r#"{"id":"1","type":"x","treering":{"type":"odd","a":1e400,"b":"\ud800","c":null}}"#
        );
        assert!(same(&embedded(&record).unwrap(), &native));
    }

    #[test]
    fn the_tree_is_not_taken_from_an_embedded_entry() {
        let record = br#"{"treering":{"type":"odd","id":"x","parentId":"y","timestamp":1,"a":2}}"#;
        assert_eq!(embedded(record).unwrap().fields, b",\"a\":2");
        for none in [
            r#"{"treering":1}"#,
            r#"{"treering":{}}"#,
            r#"{"treering":{"type":"session"}}"#,
            r#"{"\u0074reering":{"type":"odd"}}"#,
        ] {
            assert!(embedded(none.as_bytes()).is_none(), "{none}");
        }
    }

    #[test]
    fn sameness_is_of_values() {
        let one = entry(r#"{"type":"odd","a":"\u00e9","b":[1, {"x":2}]}"#);
        for (other, expected) in [
            (r#"{"type":"odd","b":[1,{"x":2}],"a":"é"}"#, true),
            (r#"{"type":"even","a":"é","b":[1,{"x":2}]}"#, false),
            (r#"{"type":"odd","a":"é","b":[1,{"x":2.0}]}"#, false),
            (r#"{"type":"odd","a":"é","b":[1,{"x":2}],"c":null}"#, false),
            (r#"{"type":"odd","a":"e","b":[1,{"x":2}]}"#, false),
        ] {
            assert_eq!(same(&one, &entry(other)), expected, "{other}");
        }
        let lone = entry(r#"{"type":"odd","a":"\ud800"}"#);
        assert!(same(&lone, &lone.clone()));
        assert!(!same(&lone, &entry(r#"{"type":"odd","a":"\ud801"}"#)));
    }

    fn of(type_name: &'static str, fields: &str) -> NewEntry {
        native(type_name, fields.as_bytes().to_vec())
    }

    #[test]
    fn only_an_object_with_a_type_is_embedded() {
        for record in [
            r#"{"treering":1}"#,
            r#"{"treering":{}}"#,
            r#"{"treering":{"type":1}}"#,
            r#"{"treering":{"session":{"id":"a"}}}"#,
            r#"{"data":{"treering":{"type":"x"}}}"#,
        ] {
            assert!(embedded(record.as_bytes()).is_none(), "{record}");
        }
    }

    #[test]
    fn spelling_and_order_do_not_count_and_values_do() {
        let a = of("x", r#","a":"\u00e9/","b":[1,{"c":2}]"#);
        assert!(same(&a, &of("x", ",\"b\": [ 1, {\"c\":2} ],\"\\u0061\":\"é\\/\"")));
        for other in [
            r#","a":"é/""#,
            r#","a":"é/","b":[1,{"c":2}],"d":1"#,
            r#","a":"é/","b":[1,{"c":3}]"#,
            r#","a":"é","b":[1,{"c":2}]"#,
        ] {
            assert!(!same(&a, &of("x", other)), "{other}");
        }
        assert!(!same(&a, &of("y", r#","a":"\u00e9/","b":[1,{"c":2}]"#)));
        assert!(!same(&of("x", r#","a":"\ud83d""#), &of("x", r#","a":"\ud83e""#)));
    }
}
