//! Classifies a record by its beginning.
//!
//! Codex writes the envelope's `type` and the payload's `type` first, and these two decide for most
//! records. Others — user messages, token counts, rollbacks, records in another order — have to be
//! read as a whole.

use crate::dialect::QuickRead;
use crate::entry::head::{Head, Marks};
use crate::entry::{Kind, Role};
use memchr::memmem;

/// Returns the record on a line in the usual form; `None` if its beginning is not enough.
pub(super) fn quick_read(line: &[u8]) -> Option<QuickRead<'_>> {
    let rest = line.strip_prefix(b"{\"timestamp\":\"")?;
    let (time, rest) = word(rest)?;
    let (kind, rest) = word(rest.strip_prefix(b",\"type\":\"")?)?;
    let (item, rest) = word(rest.strip_prefix(b",\"payload\":{\"type\":\"")?)?;
    let (mut kind_of_entry, mut is_entry) = (Kind::Message, true);
    let role = match (kind, item) {
        (b"event_msg", b"thread_rolled_back") => return None,
        (b"event_msg", b"token_count") => {
            kind_of_entry = Kind::Usage;
            is_entry = counts(rest)?;
            None
        }
        (b"event_msg", _) => {
            is_entry = false;
            None
        }
        (b"response_item", b"reasoning" | b"function_call" | b"custom_tool_call") => {
            Some(Role::Assistant)
        }
        (b"response_item", b"function_call_output" | b"custom_tool_call_output") => {
            Some(Role::ToolResult)
        }
        (b"response_item", b"message") if is_plain_answer(rest) => Some(Role::Assistant),
        _ => return None,
    };
    // Another record on the same line would begin right after this one.
    if !line.ends_with(b"}}") || memmem::find(rest, b"}{").is_some() {
        return None;
    }
    if !is_entry {
        return Some(QuickRead::Side);
    }
    let head = Head {
        kind: kind_of_entry,
        role,
        id: None,
        parent: None,
        time: Some(crate::time::parse(time)?),
        // None of these begins a turn.
        marks: Marks::default(),
    };
    Some(QuickRead::Entry(head, line.len()))
}

/// Returns whether a token count has the counts of a request; `None` if it has another form.
fn counts(rest: &[u8]) -> Option<bool> {
    if rest.starts_with(b",\"info\":null") {
        return Some(false);
    }
    let info = rest.strip_prefix(b",\"info\":{\"total_token_usage\":{")?;
    let end = memchr::memchr(b'}', info)?;
    info[end..].starts_with(b"},\"last_token_usage\":{").then_some(true)
}

/// Returns whether a message continues as a text answer, and not as a message between agents, which
/// is JSON.
fn is_plain_answer(rest: &[u8]) -> bool {
    const BEFORE: &[u8] =
        b",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"";
    let text = rest.strip_prefix(BEFORE);
    text.and_then(<[u8]>::first).is_some_and(|first| !b"{\\ ".contains(first))
}

/// Returns a short word without escapes, and the bytes after its closing quote.
fn word(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let window = &bytes[..bytes.len().min(64)];
    let end = memchr::memchr2(b'"', b'\\', window).filter(|&end| window[end] == b'"')?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Codec;
    use crate::dialect::codex::Codex;

    #[test]
    fn the_beginning_tells_what_the_whole_tells() {
        let item = |payload: &str| {
            format!(
                r#"{{"timestamp":"2026-01-05T09:00:20.226Z","type":"response_item","payload":{payload}}}"#
            )
        };
        let event = |payload: &str| {
            format!(
                r#"{{"timestamp":"2026-01-05T09:00:20.226Z","type":"event_msg","payload":{payload}}}"#
            )
        };
        let mut quick = 0;
        for line in [
            item(r#"{"type":"reasoning","summary":[],"content":null}"#),
            item(r#"{"type":"function_call","name":"f","arguments":"{}","call_id":"c"}"#),
            item(r#"{"type":"function_call_output","call_id":"c","output":"x"}"#),
            item(r#"{"type":"custom_tool_call","name":"f","input":"i","call_id":"c"}"#),
            item(r#"{"type":"custom_tool_call_output","call_id":"c","output":"{\"a\":{}}"}"#),
            item(
                r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"yes"}]}"#,
            ),
            item(
                r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"{\"author\":\"a\"}"}]}"#,
            ),
            item(
                r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}"#,
            ),
            item(r#"{"type":"ghost_snapshot","x":{}}"#),
            event(r#"{"type":"agent_message","message":"yes"}"#),
            event(r#"{"type":"token_count","info":null}"#),
            event(
                r#"{"type":"token_count","info":{"total_token_usage":{"total_tokens":1},"last_token_usage":{"input_tokens":1}}}"#,
            ),
            event(r#"{"type":"token_count","info":{"last_token_usage":{"input_tokens":1}}}"#),
            event(r#"{"type":"thread_rolled_back","num_turns":1}"#),
        ] {
            let line = line.as_bytes();
            let mut whole = None;
            crate::dialect::split::split(line, &Codex, |segment| whole = Some(segment.what));
            match quick_read(line) {
                None => continue,
                Some(QuickRead::Side) => {
                    assert_eq!(whole, Some(crate::dialect::split::SegmentKind::Side))
                }
                Some(QuickRead::Entry(head, used)) => {
                    assert_eq!(used, line.len());
                    assert_eq!(whole, Some(crate::dialect::split::SegmentKind::Entry(head)));
                }
                Some(QuickRead::Unclear) => panic!("said for nothing"),
            }
            quick += 1;
            assert!(quick_read(&line[..line.len() / 2]).is_none(), "torn");
            assert!(quick_read(&[line, line].concat()).is_none(), "glued");
            assert!(!matches!(Codex.quick_read(line), QuickRead::Unclear));
        }
        assert_eq!(quick, 9);
    }
}
