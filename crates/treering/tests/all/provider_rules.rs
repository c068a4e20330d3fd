//! The rules of the providers' APIs for requests, written down independently of the code that builds them.

use proptest::prelude::*;
use serde_json::Value;
use std::collections::HashSet;

/// The result of a check.
pub(crate) type Checked = Result<(), TestCaseError>;

const IMAGE_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("{key} of {value} is not a string"))
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("{key} of {value} is not an array"))
}

fn keys(value: &Value) -> HashSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

fn is_name(name: &str, longest: usize) -> bool {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=longest).contains(&name.len()) && name.chars().all(is_safe)
}

/// Standard Base64 with its padding, as strict decoders demand it.
fn is_base64(data: &str) -> bool {
    let digits = data.trim_end_matches('=');
    let is_digit = |c: char| c.is_ascii_alphanumeric() || c == '+' || c == '/';
    !digits.is_empty()
        && data.len().is_multiple_of(4)
        && data.len() - digits.len() <= 2
        && digits.chars().all(is_digit)
}

fn check_data_url(url: &str) -> Checked {
    let parts = url.strip_prefix("data:").and_then(|url| url.split_once(";base64,"));
    let (kind, data) = parts.unwrap_or_default();
    check_image(kind, data)
}

/// Checks an image: a type that is not that of the data is refused.
fn check_image(kind: &str, data: &str) -> Checked {
    prop_assert!(IMAGE_TYPES.contains(&kind) && is_base64(data), "{kind} {data} is no image");
    let magic = [("iVBORw0KGgo", "image/png"), ("/9j/", "image/jpeg"), ("R0lGODlh", "image/gif")];
    for (beginning, of_data) in magic {
        prop_assert!(!data.starts_with(beginning) || kind == of_data, "{data} as {kind}");
    }
    Ok(())
}

/// Checks the schema of a tool's arguments.
fn check_schema(schema: &Value) -> Checked {
    prop_assert!(schema["type"] == "object" && schema["properties"].is_object(), "{schema}");
    Ok(())
}

fn check_arguments(arguments: &str) -> Checked {
    prop_assert!(serde_json::from_str::<Value>(arguments).unwrap().is_object(), "{arguments}");
    Ok(())
}

fn check_said(text: &str) -> Checked {
    prop_assert!(!text.trim().is_empty(), "an empty text");
    Ok(())
}

/// Checks a block that both a message of the user and a result may have.
fn check_anthropic_input(block: &Value) -> Checked {
    match text(block, "type") {
        "text" => check_said(text(block, "text"))?,
        "image" => {
            let source = &block["source"];
            prop_assert_eq!(text(source, "type"), "base64");
            check_image(text(source, "media_type"), text(source, "data"))?;
        }
        kind => prop_assert!(false, "{kind} is no input"),
    }
    Ok(())
}

fn check_anthropic_result(block: &Value) -> Checked {
    for part in block["content"].as_array().into_iter().flatten() {
        check_anthropic_input(part)?;
        let may_have = block["is_error"] != true || part["type"] == "text";
        prop_assert!(may_have, "a result that is an error has only texts: {block}");
    }
    let is_none = block["content"].is_null();
    prop_assert!(is_none || !list(block, "content").is_empty());
    prop_assert!(!is_none || block["is_error"] != true, "an error says something: {block}");
    Ok(())
}

fn check_anthropic_answer(block: &Value, ids: &mut HashSet<String>) -> Checked {
    match text(block, "type") {
        "text" => check_said(text(block, "text"))?,
        "thinking" => {
            prop_assert!(block["thinking"].is_string() && !text(block, "signature").is_empty())
        }
        "redacted_thinking" => prop_assert!(!text(block, "data").is_empty()),
        "tool_use" => {
            let id = text(block, "id");
            prop_assert!(is_name(id, 64), "the id {id:?}");
            prop_assert!(ids.insert(id.to_owned()), "{id} is used twice");
            prop_assert!(is_name(text(block, "name"), 128), "{}", block);
            prop_assert!(block["input"].is_object());
        }
        kind => prop_assert!(false, "{kind} is no part of an answer"),
    }
    Ok(())
}

/// Checks the body of a request to Anthropic's Messages API.
pub(crate) fn check_anthropic(body: &Value) -> Checked {
    prop_assert!(keys(body).is_subset(&HashSet::from(["system", "messages", "tools"])));
    let (mut ids, mut open) = (HashSet::new(), HashSet::new());
    let system = body["system"].as_array().into_iter().flatten();
    system.clone().try_for_each(|block| check_said(text(block, "text")))?;
    let messages = list(body, "messages");
    for (at, message) in messages.iter().enumerate() {
        let role = text(message, "role");
        prop_assert_eq!(role, if at % 2 == 0 { "user" } else { "assistant" });
        let blocks = list(message, "content");
        prop_assert!(!blocks.is_empty());
        let mut results = HashSet::new();
        for (at, block) in blocks.iter().enumerate() {
            match (role, text(block, "type")) {
                ("user", "tool_result") => {
                    prop_assert_eq!(at, results.len(), "results stand first, each once");
                    results.insert(text(block, "tool_use_id").to_owned());
                    check_anthropic_result(block)?;
                }
                ("user", _) => check_anthropic_input(block)?,
                _ => check_anthropic_answer(block, &mut ids)?,
            }
        }
        if role == "user" {
            prop_assert_eq!(&results, &open, "every call has its result in the next message");
        }
        let calls = blocks.iter().filter(|block| block["type"] == "tool_use");
        open = calls.map(|block| text(block, "id").to_owned()).collect();
    }
    prop_assert!(open.is_empty());
    if let Some(last) = messages.last().filter(|message| message["role"] == "assistant") {
        let last = list(last, "content").last().unwrap();
        prop_assert!(!text(last, "type").ends_with("thinking"));
        let last_text = last["text"].as_str().unwrap_or_default();
        prop_assert!(!last_text.ends_with(char::is_whitespace), "{last_text:?} at the end");
    }
    let all = messages.iter().flat_map(|message| list(message, "content"));
    let tools = body["tools"].as_array().into_iter().flatten();
    tools.clone().try_for_each(|tool| check_schema(&tool["input_schema"]))?;
    let mut breakpoints = 0;
    for block in all.chain(system).chain(tools) {
        if !block["cache_control"].is_null() {
            breakpoints += 1;
            let is_thinking = block["type"].as_str().is_some_and(|kind| kind.ends_with("thinking"));
            prop_assert!(!is_thinking, "thinking cannot be a breakpoint");
        }
    }
    prop_assert!(breakpoints <= 4);
    Ok(())
}

fn check_chat_user(content: &Value) -> Checked {
    let Some(parts) = content.as_array() else { return check_said(content.as_str().unwrap()) };
    prop_assert!(!parts.is_empty());
    for part in parts {
        match text(part, "type") {
            "text" => check_said(text(part, "text"))?,
            "image_url" => check_data_url(text(&part["image_url"], "url"))?,
            kind => prop_assert!(false, "{kind} is no input"),
        }
    }
    Ok(())
}

/// Checks the body of a request to OpenAI's Chat Completions API.
pub(crate) fn check_chat(body: &Value) -> Checked {
    prop_assert!(keys(body).is_subset(&HashSet::from(["messages", "tools"])));
    let mut tools = body["tools"].as_array().into_iter().flatten();
    tools.try_for_each(|tool| check_schema(&tool["function"]["parameters"]))?;
    let (mut ids, mut open) = (HashSet::new(), HashSet::new());
    for message in list(body, "messages") {
        let (role, content) = (text(message, "role"), &message["content"]);
        if role == "tool" {
            let id = text(message, "tool_call_id");
            prop_assert!(open.remove(id), "{id} has no call before it, or two results");
            prop_assert!(content.is_string());
            continue;
        }
        prop_assert!(open.is_empty(), "{message} stands between a call and its result");
        match role {
            "system" => check_said(content.as_str().unwrap())?,
            "user" => check_chat_user(content)?,
            "assistant" => {
                let calls = message["tool_calls"].as_array();
                prop_assert!(calls.is_none_or(|calls| !calls.is_empty()));
                match content.as_str() {
                    Some(content) => check_said(content)?,
                    None => prop_assert!(content.is_null() && calls.is_some()),
                }
                for call in calls.into_iter().flatten() {
                    let (id, function) = (text(call, "id"), &call["function"]);
                    prop_assert!(is_name(id, 40), "the id {id:?}");
                    prop_assert!(ids.insert(id), "{id} is used twice");
                    open.insert(id);
                    prop_assert!(is_name(text(function, "name"), 64), "{}", call);
                    check_arguments(text(function, "arguments"))?;
                }
            }
            role => prop_assert!(false, "{role} is no role"),
        }
    }
    prop_assert!(open.is_empty());
    Ok(())
}

fn check_input(content: &Value) -> Checked {
    let parts = content.as_array().unwrap();
    prop_assert!(!parts.is_empty());
    for part in parts {
        match text(part, "type") {
            "input_text" => check_said(text(part, "text"))?,
            "input_image" => check_data_url(text(part, "image_url"))?,
            kind => prop_assert!(false, "{kind} is no input"),
        }
    }
    Ok(())
}

/// Checks the body of a request to OpenAI's Responses API.
pub(crate) fn check_responses(body: &Value) -> Checked {
    prop_assert!(keys(body).is_subset(&HashSet::from(["instructions", "input", "tools"])));
    for tool in body["tools"].as_array().into_iter().flatten() {
        check_schema(&tool["parameters"])?;
        prop_assert_eq!(&tool["strict"], &Value::Bool(false), "by default, all is required");
    }
    let (mut ids, mut calls, mut answered) = (HashSet::new(), HashSet::new(), HashSet::new());
    let items = list(body, "input");
    for (at, item) in items.iter().enumerate() {
        if let Some(id) = item["id"].as_str() {
            prop_assert!(!id.is_empty() && id.len() <= 64 && ids.insert(id), "the id {id:?}");
        }
        match item["type"].as_str() {
            Some("reasoning") => {
                prop_assert!(item["summary"].is_array(), "{item} has no summary");
                let next = items.get(at + 1).and_then(|item| item["type"].as_str());
                let is_answer = |kind| matches!(kind, "message" | "function_call" | "reasoning");
                prop_assert!(next.is_some_and(is_answer), "{:?} after reasoning", next);
            }
            Some("function_call") => {
                let id = text(item, "call_id");
                prop_assert!(is_name(id, 64), "the id {id:?}");
                prop_assert!(calls.insert(id), "{id} is used twice");
                prop_assert!(is_name(text(item, "name"), 64), "{}", item);
                check_arguments(text(item, "arguments"))?;
            }
            Some("function_call_output") => {
                let id = text(item, "call_id");
                prop_assert!(calls.contains(id), "{id} has no call before it");
                prop_assert!(answered.insert(id), "{id} has two results");
                if !item["output"].is_string() {
                    check_input(&item["output"])?;
                }
            }
            Some("message") => {
                prop_assert_eq!(text(item, "role"), "assistant");
                for part in list(item, "content") {
                    prop_assert_eq!(text(part, "type"), "output_text");
                    check_said(text(part, "text"))?;
                }
            }
            None => {
                prop_assert!(matches!(text(item, "role"), "user" | "developer"), "{}", item);
                check_input(&item["content"])?;
            }
            Some(kind) => prop_assert!(false, "{kind} is no item"),
        }
    }
    prop_assert_eq!(calls, answered);
    Ok(())
}
