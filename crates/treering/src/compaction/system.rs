//! Combines the system messages of a context into one.
//!
//! Texts add up, sections are replaced or removed by name, tools are added and removed. A
//! compaction stores the result, because it replaces the messages that were combined.

use crate::json::stringify;
use crate::json::{self, Members};
use std::collections::HashMap;

/// Returns the system messages joined into one, or `None` if there are none.
pub(super) fn current(messages: &[Vec<u8>]) -> Option<Vec<u8>> {
    let mut texts: Vec<Vec<u8>> = Vec::new();
    let (mut sections, mut tools) = (Named::default(), Named::default());
    let mut timestamp = None;
    for message in messages {
        timestamp = timestamp.or_else(|| Some(json::get(message, "timestamp").unwrap_or(b"0")));
        let text = json::get(message, "content").map(text).unwrap_or_default();
        if !text.is_empty() {
            texts.push(text);
        }
        let patch = json::get(message, "sections").unwrap_or_default();
        for member in Members::new(patch, json::skip_space(patch, 0)) {
            let key = stringify::plain(member.key).into_owned();
            match patch.get(member.value) {
                None | Some(b"null") => sections.remove(&key),
                Some(value) => sections.set(key, value),
            }
        }
        for tool in listed(message, "toolsRemoved") {
            tools.remove(&name(tool));
        }
        for tool in listed(message, "toolsAdded") {
            tools.set(name(tool), tool);
        }
    }
    let timestamp = timestamp?;
    let mut out = b"{\"role\":\"system\",\"content\":\"".to_vec();
    out.extend_from_slice(&texts.join(&b"\\n\\n"[..]));
    out.push(b'"');
    let sections: Vec<Vec<u8>> = sections
        .values()
        .map(|(key, value)| [b"\"", &**key, b"\":", &*stringify::compact(value)].concat())
        .collect();
    if !sections.is_empty() {
        out.extend_from_slice(&[b",\"sections\":{", &*sections.join(&b","[..]), b"}"].concat());
    }
    let tools: Vec<Vec<u8>> = tools.values().map(|(_, tool)| stringify::compact(tool)).collect();
    if !tools.is_empty() {
        out.extend_from_slice(&[b",\"toolsAdded\":[", &*tools.join(&b","[..]), b"]"].concat());
    }
    out.extend_from_slice(b",\"timestamp\":");
    out.extend_from_slice(timestamp);
    out.push(b'}');
    Some(out)
}

/// Returns the text of some content in the escaped form of a string literal, so that nothing is
/// lost, not even half a surrogate pair.
fn text(content: &[u8]) -> Vec<u8> {
    if let Some(inner) = json::inside(content) {
        return stringify::plain(inner).into_owned();
    }
    let is_text = |block: &&[u8]| json::get(block, "type") == Some(b"\"text\"");
    let texts: Vec<Vec<u8>> = json::elements(content)
        .into_iter()
        .filter(is_text)
        .map(|block| json::get(block, "text").and_then(json::inside).unwrap_or_default())
        .map(|inner| stringify::plain(inner).into_owned())
        .collect();
    texts.join(&b"\\n"[..])
}

fn listed<'a>(message: &'a [u8], key: &str) -> Vec<&'a [u8]> {
    json::get(message, key).map(json::elements).unwrap_or_default()
}

fn name(tool: &[u8]) -> Vec<u8> {
    json::get(tool, "name").map(stringify::compact).unwrap_or_default()
}

/// Values by name, in the order in which the names were first set.
#[derive(Default)]
struct Named<'a> {
    places: HashMap<Vec<u8>, usize>,
    values: Vec<Option<(Vec<u8>, &'a [u8])>>,
}

impl<'a> Named<'a> {
    fn set(&mut self, name: Vec<u8>, value: &'a [u8]) {
        let place = *self.places.entry(name.clone()).or_insert(self.values.len());
        match self.values.get_mut(place) {
            Some(slot) => *slot = Some((name, value)),
            None => self.values.push(Some((name, value))),
        }
    }

    fn remove(&mut self, name: &[u8]) {
        if let Some(place) = self.places.remove(name)
            && let Some(slot) = self.values.get_mut(place)
        {
            *slot = None;
        }
    }

    fn values(&self) -> impl Iterator<Item = &(Vec<u8>, &'a [u8])> {
        self.values.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(messages: &[&str]) -> Option<String> {
        let messages: Vec<Vec<u8>> =
            messages.iter().map(|message| message.as_bytes().to_vec()).collect();
        current(&messages).map(|json| String::from_utf8(json).unwrap())
    }

    #[test]
    fn system_messages_add_up() {
        assert_eq!(merged(&[]), None);
        let first = r#"{"role":"system","content":"be kind","sections":{"a":"1","b":"2"},"toolsAdded":[{"name":"read","v":1},{"name":"bash"}],"timestamp":5}"#;
        let second = r#"{"role":"system","content":[{"type":"text","text":"be"},{"type":"image"},{"type":"text","text":"brief"}],"sections":{"b":null,"a":"3","c":"4"},"toolsRemoved":[{"name":"bash"}],"toolsAdded":[{"name":"read","v":2}],"timestamp":6}"#;
        assert_eq!(
            merged(&[first, second]).unwrap(),
            r#"{"role":"system","content":"be kind\n\nbe\nbrief","sections":{"a":"3","c":"4"},"toolsAdded":[{"name":"read","v":2}],"timestamp":5}"#
        );
        assert_eq!(
            merged(&[r#"{"role":"system","content":"","timestamp":1}"#]).unwrap(),
            r#"{"role":"system","content":"","timestamp":1}"#
        );
    }

    #[test]
    fn what_was_removed_comes_back_last() {
        let add = |name: &str| format!(r#"{{"toolsAdded":[{{"name":"{name}"}}],"timestamp":1}}"#);
        let remove = r#"{"toolsRemoved":[{"name":"a"}],"timestamp":1}"#;
        assert_eq!(
            merged(&[&add("a"), &add("b"), remove, &add("a")]).unwrap(),
            r#"{"role":"system","content":"","toolsAdded":[{"name":"b"},{"name":"a"}],"timestamp":1}"#
        );
    }

    #[test]
    fn texts_are_carried_byte_for_byte() {
        assert_eq!(
            merged(&[r#"{"content":"\ud83d \u00e9 \"q\"","timestamp":1}"#]).unwrap(),
            r#"{"role":"system","content":"\ud83d é \"q\"","timestamp":1}"#
        );
    }
}
