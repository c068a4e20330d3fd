//! Removes what providers refuse: empty messages, empty text blocks, images without data, texts that
//! are not Unicode.

use super::system::join_sections;
use super::{ContextRepair, LlmContext};
use crate::context::ContextMessage;
use crate::entry::{MessageView, Role};
use crate::json;
use std::borrow::Cow;
use std::iter;

/// Cleans every message and reports each change.
pub(super) fn clean(llm: LlmContext) -> LlmContext {
    let mut out =
        LlmContext { repairs: llm.repairs, messages: Vec::with_capacity(llm.messages.len()) };
    for (at, mut message) in llm.messages.into_iter().enumerate() {
        if let Cow::Owned(valid) = json::to_unicode(&message.json) {
            message.json = valid.into_bytes();
            let replaced = ContextRepair::TextReplaced { entry: message.entry.clone() };
            // An entry may have become two messages.
            let mut of_entry =
                out.repairs.iter().rev().take_while(|it| *it.entry() == message.entry);
            if !of_entry.any(|repair| *repair == replaced) {
                out.repairs.push(replaced);
            }
        }
        join_sections(&mut message, at == 0, &mut out.repairs);
        drop_broken_images(&mut message, &mut out.repairs);
        if let Some(message) = without_empty(message, &mut out.repairs) {
            out.messages.push(message);
        }
    }
    out
}

/// Removes images that no provider can decode. Some agents store a reference instead of the data, and
/// the file that it names may be missing.
fn drop_broken_images(message: &mut ContextMessage, repairs: &mut Vec<ContextRepair>) {
    let content = MessageView::new(&message.json).get("content").unwrap_or_default();
    let blocks = json::elements(content);
    let count = blocks.len();
    let kept: Vec<&[u8]> = blocks.into_iter().filter(|block| !is_broken_image(block)).collect();
    let dropped = count - kept.len();
    if dropped > 0 {
        let content = [b"[", &*kept.join(&b","[..]), b"]"].concat();
        message.json = json::with_member(&message.json, "content", &content);
        let (entry, block) = (message.entry.clone(), "image".to_owned());
        repairs.extend(iter::repeat_n(ContextRepair::BlockDropped { entry, block }, dropped));
    }
}

fn is_broken_image(block: &[u8]) -> bool {
    let [kind, data, mime_type] = json::get_all(block, ["type", "data", "mimeType"]);
    let is_base64 = |data: &str| standard_base64(data).is_some();
    let is_image = |mime_type: &str| mime_type.starts_with("image/");
    kind.and_then(json::string).as_deref() == Some("image")
        && !(data.and_then(json::string).as_deref().is_some_and(is_base64)
            && mime_type.and_then(json::string).as_deref().is_some_and(is_image))
}

/// Returns the data in the form of Base64 that all providers decode: the standard alphabet, with its
/// padding and without white space. `None` if it cannot be decoded.
pub(super) fn standard_base64(data: &str) -> Option<Cow<'_, str>> {
    let digits = data.trim_end_matches(['=', ' ', '\r', '\n']);
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || b"+/".contains(&byte);
    if digits.len().is_multiple_of(4) && digits.len() == data.len() && data.bytes().all(is_digit) {
        return (!data.is_empty()).then_some(Cow::Borrowed(data));
    }
    let mut out = String::with_capacity(digits.len() + 2);
    for character in digits.chars() {
        match character {
            '-' => out.push('+'),
            '_' => out.push('/'),
            ' ' | '\r' | '\n' => {}
            digit if digit.is_ascii() && is_digit(digit as u8) => out.push(digit),
            _ => return None,
        }
    }
    let padding = match out.len() % 4 {
        0 => "",
        2 => "==",
        3 => "=",
        _ => return None,
    };
    (!out.is_empty()).then(|| Cow::Owned(out + padding))
}

/// Returns the media type of an image: the one that its data shows, because providers refuse any other,
/// or else the one that the session names.
pub(super) fn media_type<'a>(data: &str, named: Cow<'a, str>) -> Cow<'a, str> {
    // The first bytes of each format, in Base64.
    const BEGINNINGS: [(&str, &str); 4] = [
        ("iVBORw0KGgo", "image/png"),
        ("/9j/", "image/jpeg"),
        ("R0lGODdh", "image/gif"),
        ("R0lGODlh", "image/gif"),
    ];
    if let Some((_, shown)) = BEGINNINGS.iter().find(|(beginning, _)| data.starts_with(beginning)) {
        return Cow::Borrowed(shown);
    }
    match &*named {
        _ if data.starts_with("UklGR") && data.get(11..16) == Some("XRUJQ") => {
            Cow::Borrowed("image/webp")
        }
        "image/jpg" => Cow::Borrowed("image/jpeg"),
        _ => named,
    }
}

/// Returns the message without empty text blocks, or `None` if it has no other content. A tool
/// result may be empty.
fn without_empty(
    mut message: ContextMessage,
    repairs: &mut Vec<ContextRepair>,
) -> Option<ContextMessage> {
    let view = MessageView::new(&message.json);
    if view.role() == Role::ToolResult {
        return Some(message);
    }
    let entry = message.entry.clone();
    let content = view.get("content").unwrap_or_default();
    let (kept, dropped) = match json::string(content) {
        Some(text) if is_blank(&text) => (Vec::new(), 0),
        Some(_) => return Some(message),
        None => {
            let blocks = json::elements(content);
            let count = blocks.len();
            let kept: Vec<&[u8]> =
                blocks.into_iter().filter(|block| !is_empty_text(block)).collect();
            let dropped = count - kept.len();
            (kept, dropped)
        }
    };
    if kept.is_empty() {
        let role = view.role_name().into_owned();
        repairs.push(ContextRepair::EmptyMessageDropped { entry, role });
        return None;
    }
    if dropped > 0 {
        let content = [b"[", &*kept.join(&b","[..]), b"]"].concat();
        message.json = json::with_member(&message.json, "content", &content);
        repairs.push(ContextRepair::EmptyTextDropped { entry, blocks: dropped });
    }
    Some(message)
}

pub(super) fn is_empty_text(block: &[u8]) -> bool {
    let [kind, text] = json::get_all(block, ["type", "text"]);
    kind.and_then(json::string).as_deref() == Some("text")
        && text.and_then(json::string).is_none_or(|text| is_blank(&text))
}

/// Returns whether a text has only white space, which providers refuse like an empty text.
pub(super) fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}
