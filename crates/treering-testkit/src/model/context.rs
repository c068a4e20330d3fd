//! Contexts of the reference model.

use super::Model;
use serde_json::{Map, Value, json};

/// A context.
#[derive(Debug, Clone, PartialEq)]
pub struct Context {
    /// The messages, oldest first.
    pub messages: Vec<Message>,
    /// The thinking level.
    pub thinking_level: String,
    /// Provider and model, if any was named.
    pub model: Option<(Option<String>, Option<String>)>,
}

/// A message and the entry it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The entry.
    pub entry: String,
    /// The message.
    pub value: Value,
}

impl Model {
    /// Returns the context at an entry; `None` is before the first.
    pub fn context(&self, leaf: Option<&str>) -> Context {
        let rows = leaf.and_then(|id| self.position(id)).map(|at| self.rows_to(at));
        let rows = rows.unwrap_or_default();
        // A damaged entry contributes nothing; it only connects the path.
        let path: Vec<(usize, &Value)> =
            rows.iter().filter_map(|&at| Some((at, self.entries[at].value.as_ref()?))).collect();
        Context {
            messages: self.messages(&path),
            thinking_level: self.thinking_level(&path),
            model: self.model(&path),
        }
    }

    fn kind(&self, at: usize) -> &str {
        &self.entries[at].kind
    }

    fn thinking_level(&self, path: &[(usize, &Value)]) -> String {
        let mut level = "off".to_owned();
        for (at, value) in path {
            if self.kind(*at) == "thinking_level_change"
                && let Some(text) = value["thinkingLevel"].as_str()
            {
                level = text.to_owned();
            }
        }
        level
    }

    fn model(&self, path: &[(usize, &Value)]) -> Option<(Option<String>, Option<String>)> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let mut model = None;
        for (at, value) in path {
            let message = &value["message"];
            if self.kind(*at) == "model_change" {
                model = Some((text(&value["provider"]), text(&value["modelId"])));
            } else if self.kind(*at) == "message" && message["role"] == "assistant" {
                model = Some((text(&message["provider"]), text(&message["model"])));
            }
        }
        model
    }

    /// Returns the entries that count: all, or the latest compaction, what it keeps, and what came
    /// after.
    fn selected<'a>(&self, path: &[(usize, &'a Value)]) -> Vec<(usize, &'a Value)> {
        let Some(latest) = path.iter().rposition(|(at, _)| self.kind(*at) == "compaction") else {
            return path.to_vec();
        };
        let compaction = path[latest];
        let first_kept = &compaction.1["firstKeptEntryId"];
        let first_kept = match first_kept {
            Value::Null => None,
            Value::String(id) => Some(id.clone()),
            other => Some(other.to_string()),
        };
        let is_first = |at: usize| Some(&self.entries[at].id) == first_kept.as_ref();
        // The boundary is searched for on the whole path: it may be a damaged entry.
        let whole = self.rows_to(compaction.0);
        let boundary = whole[..whole.len() - 1].iter().position(|&at| is_first(at));
        let kept = boundary.map(|from| &whole[from..whole.len() - 1]).unwrap_or_default();
        let mut selected = vec![compaction];
        for &(at, value) in &path[..latest] {
            let is_system = value["message"]["role"] == "system" && self.kind(at) == "message";
            if kept.contains(&at) && !is_system {
                selected.push((at, value));
            }
        }
        selected.extend_from_slice(&path[latest + 1..]);
        selected
    }

    fn messages(&self, path: &[(usize, &Value)]) -> Vec<Message> {
        let selected = self.selected(path);
        let compacted = path.iter().any(|(at, _)| self.kind(*at) == "compaction");
        let mut messages = Vec::new();
        for (place, (at, value)) in selected.iter().enumerate() {
            let id = &self.entries[*at].id;
            let edit = selected.iter().rev().find_map(|(edit, by)| {
                let replacement = by.get("replacement")?;
                let usable = replacement.is_null() || replacement.get("content").is_some();
                let mine = self.kind(*edit) == "context_edit" && by["targetId"] == id.as_str();
                (mine && usable).then_some(replacement)
            });
            for message in self.contribution(*at, value, compacted && place == 0) {
                let value = match edit {
                    Some(Value::Null) => continue,
                    Some(replacement) => edited(message, &replacement["content"]),
                    None => message,
                };
                messages.push(Message { entry: id.clone(), value });
            }
        }
        messages
    }

    /// Returns the messages of one entry, before edits.
    fn contribution(&self, at: usize, value: &Value, is_summary: bool) -> Vec<Value> {
        let time = json!(self.entries[at].time);
        match self.kind(at) {
            "message" => {
                let Some(message) = value["message"].as_object() else { return Vec::new() };
                vec![with_content(message.clone())]
            }
            "custom_message" => {
                let mut value = value.clone();
                if value["content"].is_null() {
                    value["content"] = json!([]);
                }
                vec![made("custom", &value, &["customType", "content", "display", "details"], time)]
            }
            "branch_summary" if value.get("summary").is_some_and(|summary| *summary != "") => {
                vec![made("branchSummary", value, &["summary", "fromId"], time)]
            }
            "compaction" if is_summary => {
                let system = value.get("systemMessage").filter(|system| system.is_object());
                let summary = made("compactionSummary", value, &["summary", "tokensBefore"], time);
                system.cloned().into_iter().chain([summary]).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Replaces missing content by the empty content of its role.
fn with_content(mut message: Map<String, Value>) -> Value {
    if message.get("content").is_none_or(Value::is_null) {
        let empty = match message.get("role").and_then(Value::as_str) {
            Some("system") => Some(json!("")),
            Some("user" | "assistant" | "toolResult") => Some(json!([])),
            _ => None,
        };
        if let Some(empty) = empty {
            message.insert("content".into(), empty);
        }
    }
    Value::Object(message)
}

/// Returns a message made of an entry's fields.
fn made(role: &str, entry: &Value, keys: &[&str], time: Value) -> Value {
    let mut message = Map::from_iter([("role".to_owned(), json!(role))]);
    for key in keys {
        if let Some(value) = entry.get(key) {
            message.insert((*key).to_owned(), value.clone());
        }
    }
    message.insert("timestamp".into(), time);
    Value::Object(message)
}

/// Returns a message with its content replaced, if its role has content that can be.
fn edited(mut message: Value, content: &Value) -> Value {
    match message["role"].as_str() {
        Some("assistant" | "toolResult") if content.is_string() => {
            message["content"] = json!([{"type": "text", "text": content}]);
        }
        Some("user" | "custom" | "assistant" | "toolResult") => {
            message["content"] = content.clone()
        }
        _ => {}
    }
    message
}
