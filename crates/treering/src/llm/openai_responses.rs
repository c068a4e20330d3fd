//! Builds requests to OpenAI's Responses API.

use super::request::{
    ContentPart, Refused, Speaker, Turn, Turns, is_encrypted_reasoning, member, quoted,
    refuse_misplaced,
};
use super::{ProviderRequest, RequestOptions};
use crate::context::Context;
use crate::json;
use std::collections::HashSet;

/// The longest id of a tool call that the API accepts.
const LONGEST_CALL_ID: usize = 64;
const LONGEST_TOOL_NAME: usize = 64;

impl Context {
    /// Returns the `instructions`, `input` and `tools` of a request to OpenAI's Responses API.
    ///
    /// The context is paired [strictly](super::Pairing::Strict). Reasoning is sent back once if its
    /// signature is a reasoning item of the API, or the encrypted content of one, and a part of the
    /// answer follows it; otherwise it is left out and reported.
    ///
    /// ```
    /// use treering::{Message, Session};
    /// use treering::provider::RequestOptions;
    /// let session = Session::in_memory("/project");
    /// session.append(Message::user("hello"))?;
    /// let request = session.context()?.to_openai_responses(&RequestOptions::new());
    /// let input = r#"{"input":[{"role":"user","content":[{"type":"input_text","text":"hello"}]}]}"#;
    /// assert_eq!(request.json, input);
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn to_openai_responses(&self, options: &RequestOptions) -> ProviderRequest {
        let llm = self.strict(options);
        let mut turns = Turns::read(&llm, options, |_| true);
        keep_call_ids(&mut turns);
        let mut seen = HashSet::new();
        turns.retain(|speaker, part| match (speaker, part) {
            (_, ContentPart::Thinking { signature, .. }) => match signature.as_deref() {
                Some(item) if is_reasoning_item(item) && is_first(item, &mut seen) => Ok(()),
                Some(content) if is_encrypted_reasoning(content) => Ok(()),
                _ => Err(Refused::Thinking),
            },
            (speaker, part) => refuse_misplaced(speaker, part),
        });
        turns.drop_trailing_thinking();
        keep_message_ids(&mut turns);
        turns.rename_calls(LONGEST_CALL_ID);
        turns.rename_tools(LONGEST_TOOL_NAME, &options.tools);
        let items: Vec<String> = turns.turns.iter().flat_map(items).collect();
        let mut out = "{".to_owned();
        if let Some(system) = options.system.as_deref().filter(|system| !system.trim().is_empty()) {
            member(&mut out, "instructions", system);
            out.push(',');
        }
        out += &format!("\"input\":[{}]", items.join(","));
        if !options.tools.is_empty() {
            let tools: Vec<String> = options.tools.iter().map(tool).collect();
            out += &format!(",\"tools\":[{}]", tools.join(","));
        }
        ProviderRequest { json: out + "}", repairs: turns.repairs }
    }
}

/// Reduces ids of the form `call_…|fc_…`, in which agents store the ids of both the call and its
/// item, to the id of the call. This is the id that the API assigned, so the change is not
/// reported.
fn keep_call_ids(turns: &mut Turns<'_>) {
    let call_id = |id: &mut std::borrow::Cow<'_, str>| {
        if let Some((call, _)) = id.split_once('|')
            && !call.is_empty()
        {
            *id = call.to_owned().into();
        }
    };
    for turn in &mut turns.turns {
        if let Speaker::Tool { call, .. } = &mut turn.speaker {
            call_id(call);
        }
        for part in &mut turn.parts {
            if let ContentPart::Call { id, .. } = part {
                call_id(id);
            }
        }
    }
}

/// Removes the ids of texts, except those that follow a reasoning item in the same message: the API
/// refuses an id whose reasoning item is missing, and one that occurs twice. The phase of a text stays.
fn keep_message_ids(turns: &mut Turns<'_>) {
    let mut seen = HashSet::new();
    for turn in &mut turns.turns {
        let mut has_reasoning = false;
        for part in &mut turn.parts {
            match part {
                ContentPart::Thinking { .. } => has_reasoning = true,
                ContentPart::Text { signature, .. } => {
                    let id = signature.as_deref().and_then(message_id);
                    if !has_reasoning || id.is_some_and(|id| !seen.insert(id)) {
                        let phase = signature.as_deref().and_then(phase);
                        *signature = phase.map(|phase| format!("{{\"phase\":\"{phase}\"}}").into());
                    }
                }
                _ => {}
            }
        }
    }
}

/// Returns whether no reasoning item with the same id was seen before.
fn is_first(item: &str, seen: &mut HashSet<String>) -> bool {
    let id = json::get(item.as_bytes(), "id").and_then(json::string);
    id.is_none_or(|id| seen.insert(id.into_owned()))
}

fn is_reasoning_item(signature: &str) -> bool {
    let bytes = signature.as_bytes();
    let [kind, id, summary] = json::get_all(bytes, ["type", "id", "summary"]);
    json::skip_value(bytes, 0) == Some(bytes.len())
        && kind == Some(b"\"reasoning\"")
        && id.is_none_or(|id| id.starts_with(b"\"") && id.len() > 2)
        && summary.is_some_and(|summary| summary.starts_with(b"["))
}

/// Returns the items of one message.
fn items(turn: &Turn<'_>) -> Vec<String> {
    match &turn.speaker {
        Speaker::System => vec![input("developer", &turn.parts)],
        Speaker::User => vec![input("user", &turn.parts)],
        Speaker::Assistant => turn.parts.iter().filter_map(output).collect(),
        Speaker::Tool { call, .. } => {
            let mut out = "{\"type\":\"function_call_output\"".to_owned();
            member(&mut out, "call_id", call);
            let has_image = turn.parts.iter().any(|part| matches!(part, ContentPart::Image { .. }));
            let content = if has_image { input_content(&turn.parts) } else { quoted(&turn.text()) };
            vec![out + ",\"output\":" + &content + "}"]
        }
    }
}

fn input(role: &str, parts: &[ContentPart<'_>]) -> String {
    format!("{{\"role\":\"{role}\",\"content\":{}}}", input_content(parts))
}

fn input_content(parts: &[ContentPart<'_>]) -> String {
    let parts: Vec<String> = parts
        .iter()
        .filter_map(|part| match part {
            ContentPart::Text { text, .. } => {
                Some(format!("{{\"type\":\"input_text\",\"text\":{}}}", quoted(text)))
            }
            ContentPart::Image { data, mime_type } => Some(format!(
                "{{\"type\":\"input_image\",\"detail\":\"auto\",\"image_url\":{}}}",
                quoted(&format!("data:{mime_type};base64,{data}"))
            )),
            ContentPart::Thinking { .. } | ContentPart::Call { .. } => None,
        })
        .collect();
    format!("[{}]", parts.join(","))
}

/// Returns the item for a part of an answer.
fn output(part: &ContentPart<'_>) -> Option<String> {
    match part {
        ContentPart::Text { text, signature } => {
            let mut out = "{\"type\":\"message\",\"role\":\"assistant\"".to_owned();
            if let Some(id) = signature.as_deref().and_then(message_id) {
                member(&mut out, "id", &id);
                out += ",\"status\":\"completed\"";
            }
            if let Some(phase) = signature.as_deref().and_then(phase) {
                member(&mut out, "phase", phase);
            }
            out += &format!(
                ",\"content\":[{{\"type\":\"output_text\",\"text\":{},\"annotations\":[]}}]}}",
                quoted(text)
            );
            Some(out)
        }
        ContentPart::Thinking { text, signature, .. } => match signature.as_deref() {
            Some(content) if is_encrypted_reasoning(content) => Some(reasoning(text, content)),
            item => item.map(|item| json::to_unicode(item.as_bytes()).into_owned()),
        },
        ContentPart::Call { id, name, arguments, namespace } => {
            let mut out = "{\"type\":\"function_call\"".to_owned();
            member(&mut out, "call_id", id);
            member(&mut out, "name", name);
            member(&mut out, "arguments", arguments);
            // The API refuses a call of a tool in a namespace without it.
            if let Some(namespace) = namespace {
                member(&mut out, "namespace", namespace);
            }
            Some(out + "}")
        }
        ContentPart::Image { .. } => None,
    }
}

/// Returns a reasoning item with this encrypted content.
fn reasoning(summary: &str, content: &str) -> String {
    let mut out = "{\"type\":\"reasoning\"".to_owned();
    let summary = match summary {
        "" => String::new(),
        summary => format!("{{\"type\":\"summary_text\",\"text\":{}}}", quoted(summary)),
    };
    out += &format!(",\"summary\":[{summary}]");
    member(&mut out, "encrypted_content", content);
    out + "}"
}

/// Returns the phase of the answer that a text belongs to. A model that loses it may take a comment
/// for the final answer.
fn phase(signature: &str) -> Option<&'static str> {
    match json::get(signature.as_bytes(), "phase")? {
        b"\"commentary\"" => Some("commentary"),
        b"\"final_answer\"" => Some("final_answer"),
        _ => None,
    }
}

/// Returns the id that the API assigned to a text: agents store it unchanged, or in a small object.
fn message_id(signature: &str) -> Option<String> {
    let id = match json::get(signature.as_bytes(), "id").and_then(json::string) {
        Some(id) => id.into_owned(),
        None => signature.to_owned(),
    };
    (id.starts_with("msg_") && id.len() <= 64).then_some(id)
}

fn tool(tool: &super::Tool) -> String {
    let mut out = "{\"type\":\"function\"".to_owned();
    member(&mut out, "name", &tool.name);
    member(&mut out, "description", &tool.description);
    // By default, the API makes optional arguments required.
    format!("{out},\"parameters\":{},\"strict\":false}}", tool.parameters)
}
