//! From a context to what a provider accepts: user, assistant, tool result and system messages.
//!
//! The wrapper texts are shared with other agents; a model has been told about them. They must not
//! change by a byte.

use crate::context::{Context, ContextMessage};
use crate::entry::{Block, MessageView, Role, number};
use crate::id::EntryId;
use crate::json;
use std::collections::{HashMap, HashSet};

const COMPACTION_BEFORE: &str = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n";
const COMPACTION_AFTER: &str = "\n</summary>";
const BRANCH_BEFORE: &str =
    "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n";
const BRANCH_AFTER: &str = "</summary>";
const NO_RESULT: &str = "No result provided";

/// Whether tool calls and results must pair up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Pairing {
    /// As the context has them.
    #[default]
    Raw,
    /// Every call is followed by its result and every result follows its call, as providers demand.
    /// What is missing is made up, what is left over is dropped; the raw context stays as it is.
    Strict,
}

/// What strict pairing had to do. Each names the entry concerned and the tool call's id.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are named after what they hold")]
pub enum PairingRepair {
    /// A call had no result: an error result was made up.
    ResultMadeUp { entry: EntryId, call: String },
    /// A result stood elsewhere than after its call: it was moved there.
    ResultMoved { entry: EntryId, call: String },
    /// A result had no call, or was the second one: it was dropped.
    ResultDropped { entry: EntryId, call: String },
}

/// The messages for a provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LlmContext {
    /// The messages, each with the entry it came from.
    pub messages: Vec<ContextMessage>,
    /// What strict pairing changed; empty if nothing, or not asked for.
    pub repairs: Vec<PairingRepair>,
}

impl Context {
    /// The context as a provider takes it.
    ///
    /// ```
    /// use treering::{NewEntry, Pairing, Session};
    /// let session = Session::in_memory("/project");
    /// session.append(NewEntry::message(
    ///     br#"{"role":"bashExecution","command":"true","output":"","exitCode":0}"#,
    /// )?)?;
    /// let llm = session.context()?.to_llm(Pairing::Strict);
    /// assert!(llm.messages[0].json.starts_with(br#"{"role":"user""#));
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn to_llm(&self, pairing: Pairing) -> LlmContext {
        let messages: Vec<ContextMessage> =
            self.messages.iter().filter_map(ContextMessage::to_llm).collect();
        match pairing {
            Pairing::Raw => LlmContext { messages, repairs: Vec::new() },
            Pairing::Strict => pair(messages),
        }
    }
}

impl ContextMessage {
    /// The message as a provider takes it; nothing if it is not for one.
    pub fn to_llm(&self) -> Option<ContextMessage> {
        let view = MessageView::new(&self.json);
        let summary = || inside(view.get("summary"));
        let content = match view.role() {
            Role::System | Role::User | Role::Assistant | Role::ToolResult => {
                return Some(self.clone());
            }
            Role::BashExecution if is_true(view.get("excludeFromContext")) => return None,
            Role::BashExecution => bash_text(view).block(),
            Role::CompactionSummary => {
                Text::new(COMPACTION_BEFORE).raw(summary()).text(COMPACTION_AFTER).block()
            }
            Role::BranchSummary => {
                Text::new(BRANCH_BEFORE).raw(summary()).text(BRANCH_AFTER).block()
            }
            Role::Custom => match view.get("content") {
                Some(literal) if literal.starts_with(b"\"") => {
                    Text::default().raw(inside(Some(literal))).block()
                }
                Some(blocks) => blocks.to_vec(),
                None => b"[]".to_vec(),
            },
            Role::Other => return None,
        };
        let mut json = [b"{\"role\":\"user\",\"content\":", &*content].concat();
        if let Some(timestamp) = view.get("timestamp") {
            json.extend_from_slice(b",\"timestamp\":");
            json.extend_from_slice(timestamp);
        }
        json.push(b'}');
        Some(ContextMessage { entry: self.entry.clone(), json })
    }
}

/// A text under construction, as the inside of a JSON string: pieces of the session go in as they
/// are, so that not even half a surrogate pair changes.
#[derive(Default)]
struct Text(Vec<u8>);

impl Text {
    fn new(text: &str) -> Self {
        Text::default().text(text)
    }

    fn text(self, text: &str) -> Self {
        let literal = json::quoted(text);
        self.raw(json::inside(&literal).unwrap_or_default())
    }

    fn raw(mut self, inside: &[u8]) -> Self {
        self.0.extend_from_slice(inside);
        self
    }

    /// As the content of a message: one text block.
    fn block(&self) -> Vec<u8> {
        [b"[{\"type\":\"text\",\"text\":\"", &*self.0, b"\"}]"].concat()
    }
}

/// The inside of a string literal; nothing if there is none.
fn inside(literal: Option<&[u8]>) -> &[u8] {
    literal.and_then(json::inside).unwrap_or_default()
}

/// JavaScript's idea of a set flag.
fn is_true(value: Option<&[u8]>) -> bool {
    value.is_some_and(|value| !matches!(value, b"false" | b"null" | b"0" | b"\"\""))
}

fn bash_text(view: MessageView<'_>) -> Text {
    let field = |key: &str| inside(view.get(key));
    let mut text = Text::new("Ran `").raw(field("command")).text("`\n");
    text = match field("output") {
        b"" => text.text("(no output)"),
        output => text.text("```\n").raw(output).text("\n```"),
    };
    let exit_code = view.get("exitCode").filter(|code| *code != b"null");
    if is_true(view.get("cancelled")) {
        text = text.text("\n\n(command cancelled)");
    } else if let Some(code) = exit_code.filter(|code| number(code) != Some(0.0)) {
        let code = json::inside(code).unwrap_or(code);
        text = text.text("\n\nCommand exited with code ").raw(code);
    }
    match field("fullOutputPath") {
        path if !path.is_empty() && is_true(view.get("truncated")) => {
            text.text("\n\n[Output truncated. Full output: ").raw(path).text("]")
        }
        _ => text,
    }
}

/// Puts every result right after its call.
fn pair(messages: Vec<ContextMessage>) -> LlmContext {
    let mut results = results_by_call(&messages);
    let callers = callers(&messages);
    let mut out = LlmContext::default();
    let mut used: HashSet<usize> = HashSet::new();
    let roles: Vec<Role> = messages.iter().map(|m| MessageView::new(&m.json).role()).collect();
    for (at, message) in messages.iter().enumerate() {
        if roles[at] == Role::ToolResult {
            continue;
        }
        out.messages.push(message.clone());
        if roles[at] != Role::Assistant {
            continue;
        }
        let run = roles[at + 1..].iter().take_while(|role| **role == Role::ToolResult).count();
        for (call, name) in calls(message) {
            // Below another call of the same name, as copies have it, results are that call's.
            let again = callers.get(&call).and_then(|callers| {
                callers.get(callers.partition_point(|caller| *caller <= at)).copied()
            });
            let end = again.unwrap_or(messages.len());
            let places = results.get_mut(&call);
            let place = places.and_then(|places| {
                let next = places.iter().position(|place| *place > at && *place < end)?;
                Some(places.remove(next))
            });
            let entry = message.entry.clone();
            match place {
                Some(place) => {
                    if place > at + run {
                        let entry = messages[place].entry.clone();
                        out.repairs.push(PairingRepair::ResultMoved { entry, call });
                    }
                    used.insert(place);
                    out.messages.push(messages[place].clone());
                }
                None => {
                    let json = made_up(&call, &name, message);
                    out.messages.push(ContextMessage { entry: entry.clone(), json });
                    out.repairs.push(PairingRepair::ResultMadeUp { entry, call });
                }
            }
        }
    }
    for (at, message) in messages.iter().enumerate() {
        if roles[at] == Role::ToolResult && !used.contains(&at) {
            let call = call_of(message).unwrap_or_default();
            let entry = message.entry.clone();
            out.repairs.push(PairingRepair::ResultDropped { entry, call });
        }
    }
    out
}

fn call_of(result: &ContextMessage) -> Option<String> {
    MessageView::new(&result.json).field("toolCallId").map(|id| id.into_owned())
}

fn results_by_call(messages: &[ContextMessage]) -> HashMap<String, Vec<usize>> {
    let mut results: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, message) in messages.iter().enumerate() {
        if MessageView::new(&message.json).role() == Role::ToolResult
            && let Some(call) = call_of(message)
        {
            results.entry(call).or_default().push(at);
        }
    }
    results
}

/// Where every call is made, in order.
fn callers(messages: &[ContextMessage]) -> HashMap<String, Vec<usize>> {
    let mut callers: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, message) in messages.iter().enumerate() {
        if MessageView::new(&message.json).role() == Role::Assistant {
            for (call, _) in calls(message) {
                callers.entry(call).or_default().push(at);
            }
        }
    }
    callers
}

/// The id and name of every tool call in an assistant message.
fn calls(message: &ContextMessage) -> Vec<(String, String)> {
    let blocks = MessageView::new(&message.json).blocks();
    let call = |block: Block<'_>| match block {
        Block::ToolCall { id, name, .. } => Some((id.into_owned(), name.into_owned())),
        _ => None,
    };
    blocks.into_iter().filter_map(call).collect()
}

fn made_up(call: &str, name: &str, message: &ContextMessage) -> Vec<u8> {
    let mut json = b"{\"role\":\"toolResult\",\"toolCallId\":".to_vec();
    json::write_string(&mut json, call);
    json.extend_from_slice(b",\"toolName\":");
    json::write_string(&mut json, name);
    json.extend_from_slice(b",\"content\":");
    json.extend_from_slice(&Text::new(NO_RESULT).block());
    json.extend_from_slice(b",\"isError\":true,\"timestamp\":");
    let timestamp = MessageView::new(&message.json).get("timestamp").unwrap_or(b"0");
    json.extend_from_slice(timestamp);
    json.push(b'}');
    json
}
