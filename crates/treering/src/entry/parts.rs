//! The blocks and the fields of a message, found in one pass over it.
//!
//! Finding a field means skipping all others, and content is most of a message: with one search for
//! each block and each value, it would be read four times. A message that is known to be
//! well-formed is read here once, from front to back. Any other message is left to the readers that
//! check it; the result is the same.

use super::{Block, MessageView};
use crate::json::{self, Members, ObjectEnd};

impl<'a> MessageView<'a> {
    /// Returns the blocks of the content, and the raw JSON of other fields.
    ///
    /// ```
    /// let message = treering::entry::MessageView::new(br#"{"role":"user","content":"hi","n":1}"#);
    /// let (blocks, [n, usage]) = message.parts(["n", "usage"]);
    /// assert_eq!((blocks.len(), n, usage), (1, Some(&b"1"[..]), None));
    /// ```
    pub fn parts<const N: usize>(
        &self,
        keys: [&str; N],
    ) -> (Vec<Block<'a>>, [Option<&'a [u8]>; N]) {
        if !self.checked {
            return (self.blocks(), self.get_all(keys));
        }
        let bytes = self.raw;
        let (mut blocks, mut found) = (Vec::new(), [None; N]);
        let mut members = Members::new(bytes, json::skip_space(bytes, 0));
        while let Some((key, start)) = members.key() {
            let name = json::key_name(bytes.get(key.start + 1..key.end - 1).unwrap_or_default());
            let place = keys.iter().position(|key| *name == *key.as_bytes());
            let value = match &*name == b"content" {
                false => members.find_value(start),
                true => content(bytes, start).map(|(all, end)| {
                    blocks = all;
                    members.value_ends(ObjectEnd::Closed(end));
                    start..end
                }),
            };
            let Some(value) = value else { break };
            if let Some(slot) = place.and_then(|place| found.get_mut(place)) {
                *slot = bytes.get(value);
            }
        }
        (blocks, found)
    }
}

/// Returns the blocks of the content at `start`, and where it ends.
fn content(bytes: &[u8], start: usize) -> Option<(Vec<Block<'_>>, usize)> {
    if bytes.get(start) != Some(&b'[') {
        let end = json::value_end(bytes, start)?;
        return Some((Block::all(bytes.get(start..end)?), end));
    }
    let mut blocks = Vec::new();
    let mut at = json::skip_space(bytes, start + 1);
    while bytes.get(at)? != &b']' {
        let (block, end) = element(bytes, at)?;
        blocks.push(block);
        at = json::skip_space(bytes, end);
        if bytes.get(at) == Some(&b',') {
            at = json::skip_space(bytes, at + 1);
        }
    }
    Some((blocks, at + 1))
}

/// Returns the block at `start`, and where it ends.
fn element(bytes: &[u8], start: usize) -> Option<(Block<'_>, usize)> {
    if bytes.get(start) != Some(&b'{') {
        let end = json::value_end(bytes, start)?;
        return Some((Block::Other(bytes.get(start..end)?), end));
    }
    let mut values = [None; Block::KEYS.len()];
    let mut members = Members::new(bytes, start);
    while let Some((key, from)) = members.key() {
        let name = json::key_name(bytes.get(key.start + 1..key.end - 1)?);
        let value = members.find_value(from)?;
        if let Some(place) = Block::KEYS.iter().position(|key| *name == *key.as_bytes()) {
            *values.get_mut(place)? = bytes.get(value);
        }
    }
    let ObjectEnd::Closed(end) = members.end else { return None };
    Some((Block::with(bytes.get(start..end)?, values), end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Generates messages as agents write them, and unusual ones.
    fn message() -> impl Strategy<Value = String> {
        let text = prop_oneof![
            Just("\"\"".to_owned()),
            Just(r#""a \"b\" [{\\""#.to_owned()),
            Just(r#""\ud83d\ude00 ]} é""#.to_owned()),
        ];
        let scalar = prop_oneof![text, Just("null".to_owned()), Just("-1e400".to_owned())];
        let key = prop_oneof![
            Just("type"),
            Just("text"),
            Just("thinking"),
            Just("id"),
            Just("name"),
            Just("arguments"),
            Just("content"),
            Just("cont\\u0065nt"),
            Just("usage"),
        ];
        let value = scalar.prop_recursive(4, 40, 5, move |inner| {
            let member = (key.clone(), inner.clone());
            let kind = prop_oneof![
                Just("\"type\":\"text\""),
                Just("\"type\" : \"toolCall\""),
                Just("\"type\":\"thinking\""),
                Just("\"x\":[{}, []]"),
            ];
            prop_oneof![
                prop::collection::vec(inner, 0..4)
                    .prop_map(|all| format!("[ {} ]", all.join(" , "))),
                (kind, prop::collection::vec(member, 0..4)).prop_map(|(kind, all)| {
                    let all = all.iter().map(|(key, value)| format!(",\"{key}\": {value}"));
                    format!("{{{kind}{}}}", all.collect::<String>())
                }),
            ]
        });
        (value.clone(), value.clone(), any::<bool>()).prop_map(|(content, other, twice)| {
            let again = if twice { format!(",\"content\":{other}") } else { String::new() };
            format!("{{\"usage\":{other},\"content\":{content}{again} }}")
        })
    }

    proptest! {
        #[test]
        fn one_pass_finds_what_several_find(text in message()) {
            prop_assert_eq!(json::skip_value(text.as_bytes(), 0), Some(text.len()));
            let careful = MessageView::new(text.as_bytes());
            let quick = MessageView { checked: true, ..careful };
            let keys = ["usage", "content", "x"];
            let shown = |view: MessageView<'_>| format!("{:?}", view.parts(keys));
            prop_assert_eq!(shown(quick), shown(careful));
            prop_assert_eq!(
                json::get_all_checked(text.as_bytes(), keys),
                json::get_all(text.as_bytes(), keys)
            );
        }
    }
}
