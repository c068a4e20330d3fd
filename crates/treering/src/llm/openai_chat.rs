//! Builds requests to OpenAI's Chat Completions API and compatible servers.

use super::request::{
    ContentPart, Refused, Speaker, Turn, Turns, member, quoted, refuse_misplaced,
};
use super::{ProviderRequest, RequestOptions};
use crate::context::Context;

/// The longest id of a tool call that the API accepts.
const LONGEST_CALL_ID: usize = 40;
const LONGEST_TOOL_NAME: usize = 64;
const TOOL_IMAGES: &str = "(Images of tool results follow.)";

impl Context {
    /// Returns the `messages` and `tools` of a request to OpenAI's Chat Completions API.
    ///
    /// The context is paired [strictly](super::Pairing::Strict). The API accepts no thinking and no
    /// images in tool results: thinking is left out and reported, the images follow the results in
    /// a user message.
    ///
    /// ```
    /// use treering::{Message, Session};
    /// use treering::provider::RequestOptions;
    /// let session = Session::in_memory("/project");
    /// session.append(Message::user("hello"))?;
    /// let request = session.context()?.to_openai_chat(&RequestOptions::new());
    /// assert_eq!(request.json, r#"{"messages":[{"role":"user","content":"hello"}]}"#);
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn to_openai_chat(&self, options: &RequestOptions) -> ProviderRequest {
        let llm = self.strict(options);
        let mut turns = Turns::read(&llm, options, |_| true);
        turns.retain(|speaker, part| match (speaker, part) {
            (_, ContentPart::Thinking { .. }) => Err(Refused::Thinking),
            (speaker, part) => refuse_misplaced(speaker, part),
        });
        turns.rename_calls(LONGEST_CALL_ID);
        turns.rename_tools(LONGEST_TOOL_NAME, &options.tools);
        let mut messages = Vec::new();
        if let Some(system) = options.system.as_deref().filter(|system| !system.trim().is_empty()) {
            messages.push(message("system", &quoted(system)));
        }
        let mut late: Vec<&ContentPart<'_>> = Vec::new();
        for turn in &turns.turns {
            let is_result = matches!(turn.speaker, Speaker::Tool { .. });
            if !is_result && !late.is_empty() {
                messages.push(images(&std::mem::take(&mut late)));
            }
            messages.push(rendered(turn));
            if is_result {
                late.extend(
                    turn.parts.iter().filter(|part| matches!(part, ContentPart::Image { .. })),
                );
            }
        }
        if !late.is_empty() {
            messages.push(images(&late));
        }
        let mut json = format!("{{\"messages\":[{}]", messages.join(","));
        if !options.tools.is_empty() {
            let tools: Vec<String> = options.tools.iter().map(tool).collect();
            json += &format!(",\"tools\":[{}]", tools.join(","));
        }
        ProviderRequest { json: json + "}", repairs: turns.repairs }
    }
}

fn message(role: &str, content: &str) -> String {
    format!("{{\"role\":\"{role}\",\"content\":{content}}}")
}

fn rendered(turn: &Turn<'_>) -> String {
    match &turn.speaker {
        Speaker::System => message("system", &quoted(&turn.text())),
        Speaker::User => message("user", &content(&turn.parts)),
        Speaker::Assistant => assistant(turn),
        Speaker::Tool { call, .. } => {
            let mut out = "{\"role\":\"tool\"".to_owned();
            member(&mut out, "tool_call_id", call);
            member(&mut out, "content", &turn.text());
            out + "}"
        }
    }
}

/// Returns the content of a user message: a string if it is a single text.
fn content(parts: &[ContentPart<'_>]) -> String {
    match parts {
        [ContentPart::Text { text, .. }] => quoted(text),
        parts => {
            let parts: Vec<String> = parts.iter().filter_map(part).collect();
            format!("[{}]", parts.join(","))
        }
    }
}

fn part(part: &ContentPart<'_>) -> Option<String> {
    match part {
        ContentPart::Text { text, .. } => {
            Some(format!("{{\"type\":\"text\",\"text\":{}}}", quoted(text)))
        }
        ContentPart::Image { data, mime_type } => Some(format!(
            "{{\"type\":\"image_url\",\"image_url\":{{\"url\":{}}}}}",
            quoted(&format!("data:{mime_type};base64,{data}"))
        )),
        ContentPart::Thinking { .. } | ContentPart::Call { .. } => None,
    }
}

fn assistant(turn: &Turn<'_>) -> String {
    let text = turn.text();
    let content = if text.is_empty() { "null".to_owned() } else { quoted(&text) };
    let calls: Vec<String> = turn
        .parts
        .iter()
        .filter_map(|part| match part {
            ContentPart::Call { id, name, arguments, .. } => Some(format!(
                "{{\"id\":{},\"type\":\"function\",\"function\":{{\"name\":{},\"arguments\":{}}}}}",
                quoted(id),
                quoted(name),
                quoted(arguments)
            )),
            _ => None,
        })
        .collect();
    let mut out = format!("{{\"role\":\"assistant\",\"content\":{content}");
    if !calls.is_empty() {
        out += &format!(",\"tool_calls\":[{}]", calls.join(","));
    }
    out + "}"
}

fn images(images: &[&ContentPart<'_>]) -> String {
    let mut parts = vec![format!("{{\"type\":\"text\",\"text\":{}}}", quoted(TOOL_IMAGES))];
    parts.extend(images.iter().copied().filter_map(part));
    message("user", &format!("[{}]", parts.join(",")))
}

fn tool(tool: &super::Tool) -> String {
    let mut out = "{".to_owned();
    member(&mut out, "name", &tool.name);
    member(&mut out, "description", &tool.description);
    format!("{{\"type\":\"function\",\"function\":{out},\"parameters\":{}}}}}", tool.parameters)
}
