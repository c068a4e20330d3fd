//! Reads the members of other agents' records, and builds messages in treering's format. Values are
//! copied as raw JSON.

use super::{Class, QuickRead};
use crate::entry::head::{self, Head, Marks};
use crate::json::{self, Members, ObjectEnd};
use std::borrow::Cow;

/// Returns the values of some members of an object, in one pass that ends when all are found. If a
/// key is repeated, the first value counts. The values are not checked to be valid JSON.
pub(crate) fn members<'a, const N: usize>(
    object: &'a [u8],
    keys: [&str; N],
) -> [Option<&'a [u8]>; N] {
    let mut found = [None; N];
    let mut members = Members::new(object, json::skip_space(object, 0));
    while let Some((key, start)) = members.key() {
        let name = json::key_name(&object[key.start + 1..key.end - 1]);
        let Some(span) = members.find_value(start) else { break };
        for (value, key) in found.iter_mut().zip(keys) {
            if value.is_none() && *name == *key.as_bytes() {
                *value = object.get(span.clone());
            }
        }
        if found.iter().all(Option::is_some) {
            break;
        }
    }
    found
}

/// Returns the text of a string member.
pub(crate) fn text<'a>(object: &'a [u8], key: &str) -> Option<Cow<'a, str>> {
    get(object, key).and_then(json::string)
}

/// Returns the value of a member.
pub(crate) fn get<'a>(object: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let [value] = members(object, [key]);
    value
}

/// Returns a string member as a literal, so that not even half a surrogate pair changes.
pub(crate) fn literal<'a>(object: &'a [u8], key: &str) -> Option<&'a [u8]> {
    get(object, key).filter(|value| value.starts_with(b"\""))
}

/// Returns the inside of a string literal; empty if there is none.
pub(crate) fn inside(literal: Option<&[u8]>) -> &[u8] {
    literal.and_then(json::inside).unwrap_or_default()
}

pub(crate) fn is_object(value: &[u8]) -> bool {
    value.starts_with(b"{")
}

/// A JSON object under construction. Values are added as raw JSON.
pub(crate) struct ObjectBuilder(Vec<u8>);

impl ObjectBuilder {
    pub(crate) fn new() -> Self {
        ObjectBuilder(b"{".to_vec())
    }

    pub(crate) fn raw(mut self, key: &str, value: &[u8]) -> Self {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        json::write_string(&mut self.0, key);
        self.0.push(b':');
        self.0.extend_from_slice(value);
        self
    }

    pub(crate) fn text(self, key: &str, value: &str) -> Self {
        self.raw(key, &json::quoted(value))
    }

    pub(crate) fn maybe(self, key: &str, value: Option<&[u8]>) -> Self {
        match value {
            Some(value) => self.raw(key, value),
            None => self,
        }
    }

    pub(crate) fn close(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }

    /// Returns the object without its closing brace, for a member that is too large to be copied.
    pub(crate) fn into_open(self) -> Vec<u8> {
        self.0
    }
}

/// Returns a string literal from its inside.
pub(crate) fn quote(inside: &[u8]) -> Vec<u8> {
    [b"\"", inside, b"\""].concat()
}

/// Returns an array of the values.
pub(crate) fn array<T: AsRef<[u8]>>(values: &[T]) -> Vec<u8> {
    let mut out = b"[".to_vec();
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(value.as_ref());
    }
    out.push(b']');
    out
}

/// Returns the values of some members of a line that is exactly one complete object. If a key is
/// repeated, the last value counts. Returns `None` for other lines. The grammar of the values is
/// checked when they are read.
pub(crate) fn whole_line<'a, const N: usize>(
    line: &'a [u8],
    keys: [&str; N],
) -> Option<[Option<&'a [u8]>; N]> {
    let mut found = [None; N];
    let mut members = Members::new(line, 0);
    while let Some((key, start)) = members.key() {
        let name = json::key_name(line.get(key.start + 1..key.end - 1)?);
        let span = members.find_value(start)?;
        if let Some(place) = keys.iter().position(|key| *name == *key.as_bytes()) {
            found[place] = line.get(span);
        }
    }
    match members.end {
        ObjectEnd::Closed(end) if json::skip_space(line, end) == line.len() => Some(found),
        _ => None,
    }
}

/// Returns the result of a quick read of a line whose class is known, from the literals of its id,
/// parent and time.
pub(crate) fn quick_read<'a>(
    line: &[u8],
    class: Class,
    [id, parent, time]: [Option<&'a [u8]>; 3],
) -> QuickRead<'a> {
    let (kind, role) = match class {
        Class::Entry(kind, role) => (kind, role),
        Class::Side => return QuickRead::Side,
        Class::Header | Class::HeaderNode => return QuickRead::Unclear,
    };
    let (id, parent) = (id.and_then(head::name), parent.and_then(head::name));
    let time = time.and_then(head::timestamp);
    match id {
        Some(_) => {
            let marks = Marks::default();
            QuickRead::Entry(Head { kind, role, id, parent, time, marks }, line.len())
        }
        None => QuickRead::Unclear,
    }
}

/// Returns a text block with this literal.
pub(crate) fn text_block(literal: &[u8]) -> Vec<u8> {
    ObjectBuilder::new().text("type", "text").raw("text", literal).close()
}

/// An answer of a model, with the fields of treering's format.
#[derive(Debug)]
pub(crate) struct AnswerFields<'a> {
    /// The blocks of the answer, as JSON.
    pub content: &'a [Vec<u8>],
    /// The API name of its signatures.
    pub api: &'a str,
    /// The provider, as JSON.
    pub provider: &'a [u8],
    /// The model, as JSON.
    pub model: &'a [u8],
    /// Tokens: input, output, read from a cache, written to a cache.
    pub tokens: [u64; 4],
    /// The reason why the answer ended; derived from the content if `None`.
    pub stop: Option<&'a str>,
    pub millis: Option<i64>,
}

impl AnswerFields<'_> {
    /// Returns the message.
    pub(crate) fn message(&self) -> Vec<u8> {
        let is_call = |block: &Vec<u8>| json::get(block, "type") == Some(b"\"toolCall\"");
        let stop = self.stop.unwrap_or(match self.content.iter().any(is_call) {
            true => "toolUse",
            false => "stop",
        });
        ObjectBuilder::new()
            .text("role", "assistant")
            .raw("content", &array(self.content))
            .text("api", self.api)
            .raw("provider", self.provider)
            .raw("model", self.model)
            .raw("usage", &usage(self.tokens))
            .text("stopReason", stop)
            .raw("timestamp", &time(self.millis))
            .close()
    }
}

/// Returns the usage of an answer whose cost the file does not state.
pub(crate) fn usage([input, output, read, write]: [u64; 4]) -> Vec<u8> {
    let total = input.saturating_add(output).saturating_add(read).saturating_add(write);
    format!(
        "{{\"input\":{input},\"output\":{output},\"cacheRead\":{read},\"cacheWrite\":{write},\"totalTokens\":{total},\"cost\":{{\"input\":0,\"output\":0,\"cacheRead\":0,\"cacheWrite\":0,\"total\":0}}}}"
    )
    .into_bytes()
}

/// Returns a user message of these blocks.
pub(crate) fn user(content: &[Vec<u8>], millis: Option<i64>) -> Vec<u8> {
    ObjectBuilder::new()
        .text("role", "user")
        .raw("content", &array(content))
        .raw("timestamp", &time(millis))
        .close()
}

/// Returns the result of a call. The call's id and the tool's name are JSON.
pub(crate) fn tool_result(
    call: &[u8],
    name: &[u8],
    content: &[Vec<u8>],
    is_error: bool,
    millis: Option<i64>,
) -> Vec<u8> {
    ObjectBuilder::new()
        .text("role", "toolResult")
        .raw("toolCallId", call)
        .raw("toolName", name)
        .raw("content", &array(content))
        .raw("isError", if is_error { b"true" } else { b"false" })
        .raw("timestamp", &time(millis))
        .close()
}

/// Returns a time in Unix milliseconds as JSON.
pub(crate) fn time(millis: Option<i64>) -> Vec<u8> {
    millis.map_or(b"null".to_vec(), |millis| millis.to_string().into_bytes())
}

/// Returns a number of tokens.
pub(crate) fn count(literal: Option<&[u8]>) -> u64 {
    literal.and_then(crate::entry::number).map_or(0, |number| number as u64)
}
