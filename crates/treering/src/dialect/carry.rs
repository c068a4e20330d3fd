//! What another agent's format has no place for, and how it comes along all the same.
//!
//! Agents ignore members they do not know. So when the record that stands for an entry in some
//! dialect does not say all of it, the record gets one more member, `treering`, with the whole entry
//! in treering's shape. Reading it back gives exactly that entry, and the agent sees its own record.

use super::python;
use crate::entry::{MessageView, NewEntry, Parent};
use crate::json::{self, Members};
use std::borrow::Cow;
use std::collections::HashMap;

const KEY: &str = "treering";

/// An entry of treering's shape from its type and its fields (`,"key":value` each).
pub(crate) fn native(type_name: impl Into<Cow<'static, str>>, fields: Vec<u8>) -> NewEntry {
    let type_name = type_name.into();
    let message = match &*type_name {
        "message" => member(&fields, "message").map(|message| MessageView::new(message).role()),
        _ => None,
    };
    NewEntry { type_name, fields, role: message, id: None, parent: Parent::Leaf, timestamp: None }
}

/// The value of a field in an entry's fields.
pub(crate) fn member<'a>(fields: &'a [u8], key: &str) -> Option<&'a [u8]> {
    members(fields).filter(|(name, _)| json::key_is(name, key)).map(|(_, value)| value).last()
}

/// The fields of an entry: raw keys and values.
pub(crate) fn members(fields: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    // The leading comma stands where an object has its brace.
    Members::after_comma(fields).map(|member| (member.key, &fields[member.value]))
}

/// The entry that a record carries in treering's own shape, if it does.
pub(crate) fn carried(record: &[u8]) -> Option<NewEntry> {
    // Looking for the word is much quicker than reading the record, and nearly none has it.
    memchr::memmem::find(record, KEY.as_bytes())?;
    let object = json::get(record, KEY).filter(|value| value.starts_with(b"{"))?;
    let type_name = json::string(json::get(object, "type")?)?.into_owned();
    let mut fields = Vec::with_capacity(object.len());
    for member in Members::new(object, 0) {
        if !matches!(&*json::key_name(member.key), b"type" | b"id" | b"parentId" | b"timestamp") {
            fields.push(b',');
            fields.extend_from_slice(&object[member.whole]);
        }
    }
    Some(native(type_name, fields))
}

/// The record with the entry carried in it, as its last member.
pub(crate) fn carry(mut record: Vec<u8>, entry: &NewEntry) -> Vec<u8> {
    let Some(end) = record.iter().rposition(|byte| *byte == b'}') else { return record };
    record.truncate(end);
    if record.trim_ascii_end() != b"{" {
        record.push(b',');
    }
    json::write_string(&mut record, KEY);
    record.extend_from_slice(b":{\"type\":");
    json::write_string(&mut record, &entry.type_name);
    record.extend_from_slice(&entry.fields);
    record.extend_from_slice(b"}}");
    record
}

/// Whether two entries say the same: type and fields as JSON values, whatever the order of the
/// fields, the white space and the spelling of strings.
pub(crate) fn same(a: &NewEntry, b: &NewEntry) -> bool {
    if a.type_name != b.type_name {
        return false;
    }
    if a.fields == b.fields {
        return true;
    }
    let by_name = |fields: &'_ [u8]| -> HashMap<Vec<u8>, Vec<u8>> {
        members(fields).map(|(key, value)| (spelled(key), value.to_vec())).collect()
    };
    let (a, b) = (by_name(&a.fields), by_name(&b.fields));
    a.len() == b.len()
        && a.iter().all(|(key, value)| {
            b.get(key)
                .is_some_and(|other| value == other || python::dumps(value) == python::dumps(other))
        })
}

/// A raw key in the one spelling that every key has.
fn spelled(key: &[u8]) -> Vec<u8> {
    python::dumps(&[b"\"", key, b"\""].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(type_name: &'static str, fields: &str) -> NewEntry {
        native(type_name, fields.as_bytes().to_vec())
    }

    #[test]
    fn what_is_carried_comes_back() {
        let whole = entry("usage", r#","usage":{"n":1e400},"note":"\ud83d","x":-0.0"#);
        for record in [&b"{}"[..], b"{ \"type\": \"note\", \"data\": {} }"] {
            let record = carry(record.to_vec(), &whole);
            assert_eq!(json::skip_value(&record, 0), Some(record.len()));
            let back = carried(&record).unwrap();
            assert_eq!((&back.type_name, &back.fields), (&whole.type_name, &whole.fields));
        }
        let message = entry("message", r#","message":{"role":"bashExecution"}"#);
        let back = carried(&carry(b"{}".to_vec(), &message)).unwrap();
        assert_eq!(back.role, Some(crate::entry::Role::BashExecution));
    }

    #[test]
    fn only_an_object_with_a_type_is_carried() {
        for record in [
            r#"{"treering":1}"#,
            r#"{"treering":{}}"#,
            r#"{"treering":{"type":1}}"#,
            r#"{"treering":{"session":{"id":"a"}}}"#,
            r#"{"data":{"treering":{"type":"x"}}}"#,
        ] {
            assert!(carried(record.as_bytes()).is_none(), "{record}");
        }
    }

    #[test]
    fn spelling_and_order_do_not_count_and_values_do() {
        let a = entry("x", r#","a":"\u00e9/","b":[1,{"c":2}]"#);
        assert!(same(&a, &entry("x", ",\"b\": [ 1, {\"c\":2} ],\"\\u0061\":\"é\\/\"")));
        for other in [
            r#","a":"é/""#,
            r#","a":"é/","b":[1,{"c":2}],"d":1"#,
            r#","a":"é/","b":[1,{"c":3}]"#,
            r#","a":"é","b":[1,{"c":2}]"#,
        ] {
            assert!(!same(&a, &entry("x", other)), "{other}");
        }
        assert!(!same(&a, &entry("y", r#","a":"\u00e9/","b":[1,{"c":2}]"#)));
        assert!(!same(&entry("x", r#","a":"\ud83d""#), &entry("x", r#","a":"\ud83e""#)));
    }
}
