//! Converts content blocks and usage in both directions.
//!
//! Operator's blocks are those of treering under other names. Blocks without a counterpart (audio,
//! blocks of later versions) are not changed.

use super::Style;
use super::object::{ObjectBuilder, ObjectMembers, array};
use crate::json;

/// Converts Operator's blocks to treering's format. A plain text is the same in both.
pub(super) fn decode(contents: &[u8]) -> Vec<u8> {
    if !contents.starts_with(b"[") {
        return contents.to_vec();
    }
    let mut blocks = Vec::new();
    for block in json::elements(contents) {
        decode_block(block, &mut blocks);
    }
    array(&blocks)
}

fn decode_block(block: &[u8], out: &mut Vec<Vec<u8>>) {
    let mut parts = ObjectMembers::of(block);
    let kind = parts.take_text("type").unwrap_or_default();
    let mut object = ObjectBuilder::new();
    match (&*kind, parts.take("content")) {
        ("text", Some(text)) => {
            object.text("type", "text").raw("text", text).rest(parts, &["text"]);
        }
        ("thinking", Some(text)) => {
            object.text("type", "thinking").raw("thinking", text);
            let signature = parts.take("signature").filter(|signature| *signature != b"\"\"");
            object.maybe("thinkingSignature", signature);
            object.rest(parts, &["thinking", "thinkingSignature"]);
        }
        ("tool_call", None) => {
            object.text("type", "toolCall").maybe("id", parts.take("id"));
            object.maybe("name", parts.take("name"));
            object.raw("arguments", parts.take("args").unwrap_or(b"{}"));
            let metadata = parts.take("metadata").filter(|metadata| !is_empty_object(metadata));
            object.maybe("metadata", metadata).rest(parts, &["arguments"]);
        }
        ("image", None) => return decode_images(block, parts, out),
        _ => return out.push(block.to_vec()),
    }
    out.push(object.done());
}

pub(super) fn is_empty_object(value: &[u8]) -> bool {
    value.starts_with(b"{") && ObjectMembers::of(value).is_empty()
}

/// Converts a block with several images to a block for each.
fn decode_images(block: &[u8], mut parts: ObjectMembers<'_>, out: &mut Vec<Vec<u8>>) {
    let images = json::elements(parts.take("images").unwrap_or_default());
    let known: Option<Vec<_>> = images
        .iter()
        .map(|image| media_type(json::inside(image)?).map(|media_type| (*image, media_type)))
        .collect();
    let Some(known) = known.filter(|known| !known.is_empty()) else {
        return out.push(block.to_vec());
    };
    let mut parts = Some(parts);
    for (data, media_type) in known {
        let mut object = ObjectBuilder::new();
        object.text("type", "image").raw("data", data).text("mimeType", media_type);
        if let Some(parts) = parts.take() {
            object.rest(parts, &["data", "mimeType"]);
        }
        out.push(object.done());
    }
}

/// Returns the media type of Base64 data according to its first bytes: Operator does not record it.
fn media_type(data: &[u8]) -> Option<&'static str> {
    let known: [(&[u8], _); 4] = [
        (b"iVBORw0KGgo", "image/png"),
        (b"/9j/", "image/jpeg"),
        (b"R0lGOD", "image/gif"),
        (b"UklGR", "image/webp"),
    ];
    known.iter().find(|(start, _)| data.starts_with(start)).map(|(_, media_type)| *media_type)
}

/// Converts treering's content to Operator's blocks.
pub(super) fn encode(content: Option<&[u8]>) -> Vec<u8> {
    match content {
        Some(text) if text.starts_with(b"\"") => {
            [b"[{\"type\":\"text\",\"content\":", text, b"}]"].concat()
        }
        Some(blocks) => {
            let blocks: Vec<_> = json::elements(blocks).into_iter().map(encode_block).collect();
            array(&blocks)
        }
        None => b"[]".to_vec(),
    }
}

fn encode_block(block: &[u8]) -> Vec<u8> {
    let mut parts = ObjectMembers::of(block);
    let kind = parts.take_text("type").unwrap_or_default();
    let mut object = ObjectBuilder::new();
    match &*kind {
        "text" => {
            let text = parts.take("text").unwrap_or(b"\"\"");
            object.text("type", "text").raw("content", text).rest(parts, &["content"]);
        }
        "thinking" => {
            let text = parts.take("thinking").unwrap_or(b"\"\"");
            object.text("type", "thinking").raw("content", text);
            object.raw("signature", parts.take("thinkingSignature").unwrap_or(b"\"\""));
            object.rest(parts, &["content", "signature"]);
        }
        "toolCall" => {
            object.text("type", "tool_call").maybe("id", parts.take("id"));
            object.maybe("name", parts.take("name")).maybe("kind", parts.take("kind"));
            object.raw("args", parts.take("arguments").unwrap_or(b"{}"));
            object.raw("metadata", parts.take("metadata").unwrap_or(b"{}"));
            object.rest(parts, &["args", "content"]);
        }
        "image" => {
            let data = parts.take("data").unwrap_or(b"\"\"");
            object.text("type", "image").raw("images", &array(&[data]));
            parts.take("mimeType");
            object.rest(parts, &["images", "content"]);
        }
        _ => return block.to_vec(),
    }
    object.done()
}

/// Returns the text of content that is a single text, as a literal; `None` for any other content.
pub(super) fn only_text(content: &[u8]) -> Option<&[u8]> {
    let blocks = json::elements(content);
    let [block] = blocks[..] else { return None };
    let mut parts = ObjectMembers::of(block);
    let is_text = parts.take_text("type").as_deref() == Some("text");
    parts.take("text").filter(|text| is_text && text.starts_with(b"\"") && parts.is_empty())
}

/// Token counts: treering's names and Operator's.
const COUNTS: [(&str, &str); 4] = [
    ("input", "input_tokens"),
    ("output", "output_tokens"),
    ("cacheRead", "cache_read_tokens"),
    ("cacheWrite", "cache_write_tokens"),
];
const COSTS: [(&str, &str); 5] = [
    ("input", "input"),
    ("output", "output"),
    ("cacheRead", "cache_read"),
    ("cacheWrite", "cache_write"),
    ("total", "total"),
];
const TAU_LONG_CACHE: &str = "cache_write_1h_tokens";
const TAU_INCLUDES: &str = "input_tokens_include_cache_read";

/// Converts Operator's usage to treering's format, which also has the sum.
pub(super) fn decode_usage(usage: &[u8]) -> Vec<u8> {
    if !usage.starts_with(b"{") {
        return usage.to_vec();
    }
    let mut parts = ObjectMembers::of(usage);
    let mut counts = COUNTS.map(|(_, name)| parts.take(name).unwrap_or(b"0"));
    let includes = parts.take(TAU_INCLUDES).filter(|includes| *includes != b"false");
    // Tokens that were read from the cache must not count twice.
    let net = net_input(counts).filter(|_| includes == Some(b"true"));
    let net = net.map(|net| net.to_string());
    if let (Some(net), [input, ..]) = (&net, &mut counts) {
        *input = net.as_bytes();
    }
    let mut object = ObjectBuilder::new();
    for ((name, _), count) in COUNTS.iter().zip(counts) {
        object.raw(name, count);
    }
    let total = sum(&counts).map(String::into_bytes);
    object.maybe("totalTokens", parts.take("total_tokens").or(total.as_deref()));
    object.raw("cost", &decode_cost(parts.take("cost")));
    object.maybe(TAU_LONG_CACHE, parts.take(TAU_LONG_CACHE).filter(|count| *count != b"0"));
    object.maybe(TAU_INCLUDES, includes.filter(|_| net.is_none()));
    object.rest(parts, &["input", "output", "cacheRead", "cacheWrite", "totalTokens"]);
    object.done()
}

fn net_input([input, _, cache_read, _]: [&[u8]; 4]) -> Option<u64> {
    count(input)?.checked_sub(count(cache_read)?)
}

fn decode_cost(cost: Option<&[u8]>) -> Vec<u8> {
    let mut parts = ObjectMembers::of(cost.unwrap_or(b"{}"));
    let mut object = ObjectBuilder::new();
    for (name, theirs) in COSTS {
        object.raw(name, parts.take(theirs).unwrap_or(b"0"));
    }
    object.rest(parts, &["cacheRead", "cacheWrite"]);
    object.done()
}

/// Converts treering's usage to Operator's format.
pub(super) fn encode_usage(usage: &[u8], style: Style) -> Vec<u8> {
    if !usage.starts_with(b"{") {
        return usage.to_vec();
    }
    let mut parts = ObjectMembers::of(usage);
    let mut object = ObjectBuilder::new();
    let counts = COUNTS.map(|(name, _)| parts.take(name).unwrap_or(b"0"));
    for ((_, theirs), count) in COUNTS.iter().zip(counts) {
        object.raw(theirs, count);
    }
    if style == Style::Tau {
        object.raw(TAU_LONG_CACHE, parts.take(TAU_LONG_CACHE).unwrap_or(b"0"));
        object.raw(TAU_INCLUDES, parts.take(TAU_INCLUDES).unwrap_or(b"false"));
    }
    let mut cost = ObjectMembers::of(parts.take("cost").unwrap_or(b"{}"));
    let mut costs = ObjectBuilder::new();
    for (name, theirs) in COSTS {
        costs.raw(theirs, cost.take(name).unwrap_or(b"0.0"));
    }
    costs.rest(cost, &["cache_read", "cache_write"]);
    object.raw("cost", &costs.done());
    let total = parts.take("totalTokens");
    object.maybe("total_tokens", total.filter(|total| sum(&counts).as_deref() != as_text(total)));
    object
        .rest(parts, &["input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"]);
    object.done()
}

fn count(literal: &[u8]) -> Option<u64> {
    as_text(literal)?.parse().ok()
}

fn as_text(literal: &[u8]) -> Option<&str> {
    std::str::from_utf8(literal).ok()
}

/// Returns the sum of plain counts; `None` if some are not plain numbers.
fn sum(counts: &[&[u8]]) -> Option<String> {
    let mut sum = 0_u64;
    for literal in counts {
        sum = sum.checked_add(count(literal)?)?;
    }
    Some(sum.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn blocks_there_and_back() {
        let theirs = r#"[{"type":"text","content":"a\u0041"},{"type":"thinking","content":"t","signature":""},{"type":"tool_call","id":"c","name":"n","args":{"content":null},"metadata":{}},{"type":"image","images":["iVBORw0KGgo="]},{"type":"audio","audio":["x"]}]"#;
        let ours = r#"[{"type":"text","text":"a\u0041"},{"type":"thinking","thinking":"t"},{"type":"toolCall","id":"c","name":"n","arguments":{"content":null}},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"},{"type":"audio","audio":["x"]}]"#;
        assert_eq!(text(decode(theirs.as_bytes())), ours);
        assert_eq!(text(encode(Some(ours.as_bytes()))), theirs);
    }

    #[test]
    fn images_come_apart_if_their_type_is_known() {
        let block = r#"[{"type":"image","images":["/9j/a","R0lGODx"],"dimension_note":"n"}]"#;
        assert_eq!(
            text(decode(block.as_bytes())),
            r#"[{"type":"image","data":"/9j/a","mimeType":"image/jpeg","dimension_note":"n"},{"type":"image","data":"R0lGODx","mimeType":"image/gif"}]"#
        );
        for kept in [
            r#"[{"type":"image","images":["https://host/a.png"]}]"#,
            r#"[{"type":"image","images":[]}]"#,
            r#"[{"type":"text"}]"#,
            r#"[1,"a",null]"#,
        ] {
            assert_eq!(text(decode(kept.as_bytes())), kept);
        }
    }

    #[test]
    fn usage_there_and_back() {
        let theirs = r#"{"input_tokens":1,"output_tokens":2,"cache_read_tokens":3,"cache_write_tokens":4,"cost":{"input":0.1,"output":0.0,"cache_read":0.0,"cache_write":1e400,"total":0.1}}"#;
        let ours = r#"{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":10,"cost":{"input":0.1,"output":0.0,"cacheRead":0.0,"cacheWrite":1e400,"total":0.1}}"#;
        assert_eq!(text(decode_usage(theirs.as_bytes())), ours);
        assert_eq!(text(encode_usage(ours.as_bytes(), Style::Operator)), theirs);
        let odd = ours.replace(":10,", ":11,");
        let theirs = text(encode_usage(odd.as_bytes(), Style::Operator));
        assert!(theirs.ends_with(r#","total_tokens":11}"#), "{theirs}");
        assert_eq!(text(decode_usage(theirs.as_bytes())), odd);
    }

    #[test]
    fn input_that_includes_the_cache_is_counted_once() {
        let theirs = r#"{"input_tokens":10,"output_tokens":2,"cache_read_tokens":4,"cache_write_tokens":0,"cache_write_1h_tokens":0,"input_tokens_include_cache_read":true}"#;
        let ours = text(decode_usage(theirs.as_bytes()));
        assert!(
            ours.starts_with(
                r#"{"input":6,"output":2,"cacheRead":4,"cacheWrite":0,"totalTokens":12,"#
            ),
            "{ours}"
        );
        assert!(!ours.contains("include"), "{ours}");
    }
}
