//! Builds requests to Anthropic's Messages API.

use super::request::{
    ContentPart, Refused, Speaker, Turn, Turns, is_encrypted_reasoning, member, quoted,
    refuse_misplaced,
};
use super::{CacheControl, ContextRepair, ProviderRequest, RequestOptions};
use crate::context::Context;

/// The longest id of a tool call that the API accepts.
const LONGEST_CALL_ID: usize = 64;
const LONGEST_TOOL_NAME: usize = 128;
const BREAKPOINT: &str = ",\"cache_control\":{\"type\":\"ephemeral\"}";
const OPENING: &str = "(The conversation begins with an answer.)";
const CUT_OFF: &str = "(The answer was cut off here.)";
const ERROR_IMAGES: &str = "(Images of failed tool calls follow.)";
const ONLY_IMAGES: &str = "(The images of this result follow.)";
const NO_OUTPUT: &str = "(no output)";

impl Context {
    /// Returns the `system`, `messages` and `tools` of a request to Anthropic's Messages API.
    ///
    /// The context is paired [strictly](super::Pairing::Strict). All results of one answer's calls
    /// are in the user message after it; consecutive messages of the same role are joined; thinking
    /// is sent back with its signature, or left out and reported if it has none of this API. A request
    /// that ends with an answer asks the API to continue it, which newer models refuse.
    ///
    /// ```
    /// use treering::{Message, Session};
    /// use treering::provider::RequestOptions;
    /// let session = Session::in_memory("/project");
    /// session.append(Message::user("hello"))?;
    /// let request = session.context()?.to_anthropic(&RequestOptions::new().with_system("Be brief."));
    /// assert!(request.json.contains(r#""messages":[{"role":"user""#));
    /// assert!(request.repairs.is_empty());
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn to_anthropic(&self, options: &RequestOptions) -> ProviderRequest {
        let llm = self.strict(options);
        let mut turns = Turns::read(&llm, options, may_sign);
        turns.retain(|speaker, part| match (speaker, part) {
            (_, ContentPart::Thinking { signature, .. })
                if !signature.as_deref().is_some_and(is_signature) =>
            {
                Err(Refused::Thinking)
            }
            (speaker, part) => refuse_misplaced(speaker, part),
        });
        turns.drop_trailing_thinking();
        trim_end(&mut turns);
        turns.rename_calls(LONGEST_CALL_ID);
        turns.rename_tools(LONGEST_TOOL_NAME, &options.tools);
        let Turns { turns, mut repairs } = turns;
        let mut request = Request::new(options);
        for turn in &turns {
            request.turn(turn, &mut repairs);
        }
        ProviderRequest { json: request.finish(options), repairs }
    }
}

/// Returns whether thinking that came through `api` may have a signature of this API: other servers
/// offer its models, too.
fn may_sign(api: &str) -> bool {
    let others = ["azure-openai", "google", "mistral", "openai"];
    !others.iter().any(|other| api.starts_with(other))
}

/// Returns whether the API may have signed a thought so. Agents store something else in the same place
/// for other APIs: the reasoning item or a list of items, its encrypted part, or the name of the field
/// that the text came in.
fn is_signature(signature: &str) -> bool {
    !signature.starts_with('{')
        && !signature.starts_with("[{")
        && !is_encrypted_reasoning(signature)
        && !matches!(signature, "reasoning" | "reasoning_content" | "reasoning_text")
}

/// Removes and reports the white space at the end of an answer that the context ends with.
fn trim_end(turns: &mut Turns<'_>) {
    let Some(Turn { entry, speaker: Speaker::Assistant, parts, .. }) = turns.turns.last_mut()
    else {
        return;
    };
    if let Some(ContentPart::Text { text, .. }) = parts.last_mut()
        && text.ends_with(char::is_whitespace)
    {
        *text = text.trim_end().to_owned().into();
        turns.repairs.push(ContextRepair::TrailingSpaceDropped { entry: entry.clone() });
    }
}

/// A request under construction.
struct Request {
    system: Vec<String>,
    messages: Vec<Message>,
    /// Whether the last turn was an answer that failed or was aborted.
    is_cut_off: bool,
}

/// Consecutive turns of the same role.
struct Message {
    role: &'static str,
    blocks: Vec<String>,
    /// Images of failed tool results, which the API accepts only after all results.
    late: Vec<String>,
}

impl Request {
    fn new(options: &RequestOptions) -> Self {
        let system = options.system.as_deref().filter(|system| !system.trim().is_empty());
        let system = system.map(text_block).into_iter().collect();
        Request { system, messages: Vec::new(), is_cut_off: false }
    }

    fn turn(&mut self, turn: &Turn<'_>, repairs: &mut Vec<ContextRepair>) {
        let role = match &turn.speaker {
            Speaker::System if self.messages.is_empty() => {
                self.system.push(text_block(&turn.text()));
                return;
            }
            // A later instruction keeps its position, because it would have another meaning at the
            // start.
            Speaker::System | Speaker::User | Speaker::Tool { .. } => "user",
            Speaker::Assistant => "assistant",
        };
        // An answer with thinking must begin with it, so it cannot be joined to a part of another.
        let added = match role {
            "assistant" if self.messages.is_empty() => Some(OPENING),
            "assistant" if self.is_cut_off && turn.has_thinking() => Some(CUT_OFF),
            _ => None,
        };
        if let Some(added) = added {
            repairs.push(ContextRepair::UserMessageAdded { entry: turn.entry.clone() });
            self.message("user").blocks.push(text_block(added));
        }
        self.is_cut_off = turn.is_cut_off;
        let message = self.message(role);
        match &turn.speaker {
            Speaker::Tool { call, is_error } => {
                let (result, late) = tool_result(call, *is_error, &turn.parts);
                message.blocks.push(result);
                message.late.extend(late);
            }
            _ => {
                message.flush();
                message.blocks.extend(turn.parts.iter().map(block));
            }
        }
    }

    /// Returns the last message, or a new one if the role changes.
    fn message(&mut self, role: &'static str) -> &mut Message {
        if self.messages.last().is_none_or(|message| message.role != role) {
            self.messages.push(Message { role, blocks: Vec::new(), late: Vec::new() });
        }
        let last = self.messages.len() - 1;
        &mut self.messages[last]
    }

    fn finish(mut self, options: &RequestOptions) -> String {
        self.messages.iter_mut().for_each(Message::flush);
        let mut tools: Vec<String> = options
            .tools
            .iter()
            .map(|tool| {
                let mut out = "{".to_owned();
                member(&mut out, "name", &tool.name);
                member(&mut out, "description", &tool.description);
                out + ",\"input_schema\":" + &tool.parameters + "}"
            })
            .collect();
        if options.cache == CacheControl::Ephemeral {
            let user = self.messages.iter_mut().rev().find(|message| message.role == "user");
            let user = user.and_then(|message| message.blocks.last_mut());
            for block in [tools.last_mut(), self.system.last_mut(), user].into_iter().flatten() {
                block.insert_str(block.len() - 1, BREAKPOINT);
            }
        }
        let messages: Vec<String> = self
            .messages
            .iter()
            .map(|Message { role, blocks, .. }| {
                format!("{{\"role\":\"{role}\",\"content\":[{}]}}", blocks.join(","))
            })
            .collect();
        let mut out = "{".to_owned();
        if !self.system.is_empty() {
            out += &format!("\"system\":[{}],", self.system.join(","));
        }
        out += &format!("\"messages\":[{}]", messages.join(","));
        if !tools.is_empty() {
            out += &format!(",\"tools\":[{}]", tools.join(","));
        }
        out + "}"
    }
}

impl Message {
    fn flush(&mut self) {
        if !self.late.is_empty() {
            self.blocks.push(text_block(ERROR_IMAGES));
            self.blocks.append(&mut self.late);
        }
    }
}

fn text_block(text: &str) -> String {
    format!("{{\"type\":\"text\",\"text\":{}}}", quoted(text))
}

fn block(part: &ContentPart<'_>) -> String {
    match part {
        ContentPart::Text { text, .. } => text_block(text),
        ContentPart::Image { data, mime_type } => format!(
            "{{\"type\":\"image\",\"source\":{{\"type\":\"base64\",\"media_type\":{},\"data\":{}}}}}",
            quoted(mime_type),
            quoted(data)
        ),
        ContentPart::Thinking { signature, is_redacted: true, .. } => {
            let data = signature.as_deref().unwrap_or_default();
            format!("{{\"type\":\"redacted_thinking\",\"data\":{}}}", quoted(data))
        }
        ContentPart::Thinking { text, signature, .. } => format!(
            "{{\"type\":\"thinking\",\"thinking\":{},\"signature\":{}}}",
            quoted(text),
            quoted(signature.as_deref().unwrap_or_default())
        ),
        ContentPart::Call { id, name, arguments, .. } => format!(
            "{{\"type\":\"tool_use\",\"id\":{},\"name\":{},\"input\":{arguments}}}",
            quoted(id),
            quoted(name)
        ),
    }
}

/// Returns the block of a tool's result, and the images that must follow all results.
fn tool_result(call: &str, is_error: bool, parts: &[ContentPart<'_>]) -> (String, Vec<String>) {
    let is_image = |part: &&ContentPart<'_>| matches!(part, ContentPart::Image { .. });
    let (late, inside): (Vec<_>, Vec<_>) =
        parts.iter().partition(|part| is_error && is_image(part));
    let mut content: Vec<String> = inside.into_iter().map(block).collect();
    // The API refuses an error without a text.
    if is_error && content.is_empty() {
        content.push(text_block(if late.is_empty() { NO_OUTPUT } else { ONLY_IMAGES }));
    }
    let mut out = "{\"type\":\"tool_result\"".to_owned();
    member(&mut out, "tool_use_id", call);
    if !content.is_empty() {
        out += &format!(",\"content\":[{}]", content.join(","));
    }
    if is_error {
        out += ",\"is_error\":true";
    }
    (out + "}", late.into_iter().map(block).collect())
}
