//! Puts every tool result right after its call.

use super::{ContextRepair, LlmContext};
use crate::context::ContextMessage;
use crate::entry::WrappedText;
use crate::entry::{Block, MessageView, Role};
use crate::json;
use std::collections::{HashMap, HashSet};

const NO_RESULT: &str = "No result provided";

/// Moves every result to its call, adds the missing ones, and drops those without a call.
pub(super) fn pair(llm: LlmContext) -> LlmContext {
    let LlmContext { messages, repairs } = llm;
    let mut results = results_by_call(&messages);
    let callers = callers(&messages);
    let mut out = LlmContext { messages: Vec::with_capacity(messages.len()), repairs };
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
            // Copies repeat the ids of calls: results below a later call with the same id belong to
            // that call.
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
                        out.repairs.push(ContextRepair::ResultMoved { entry, call });
                    }
                    used.insert(place);
                    out.messages.push(messages[place].clone());
                }
                None => {
                    let json = made_up(&call, &name, message);
                    out.messages.push(ContextMessage { entry: entry.clone(), json });
                    out.repairs.push(ContextRepair::ResultAdded { entry, call });
                }
            }
        }
    }
    for (at, message) in messages.iter().enumerate() {
        if roles[at] == Role::ToolResult && !used.contains(&at) {
            let call = call_of(message).unwrap_or_default();
            let entry = message.entry.clone();
            out.repairs.push(ContextRepair::ResultDropped { entry, call });
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

/// Returns the indices of the messages that make each call, in order.
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

/// Returns the id and name of every tool call in an assistant message.
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
    json.extend_from_slice(&WrappedText::new(NO_RESULT).block());
    json.extend_from_slice(b",\"isError\":true,\"timestamp\":");
    let timestamp = MessageView::new(&message.json).get("timestamp").unwrap_or(b"0");
    json.extend_from_slice(timestamp);
    json.push(b'}');
    json
}
