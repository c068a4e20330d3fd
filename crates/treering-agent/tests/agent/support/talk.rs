//! Sessions with conversations, in files and in journals that count appends.

use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;
use treering::entry::MessageView;
use treering::{Context, Entry, EntryId, Message, NewEntry, Session};
use treering_agent::AgentSession;
use treering_testkit::faulty::Faulty;

pub(crate) fn user(text: &str) -> NewEntry {
    Message::user(text).into_entry()
}

pub(crate) fn answer(text: &str) -> NewEntry {
    Message::assistant("acme", "m1", text).into_entry()
}

/// Returns an answer that calls one tool.
pub(crate) fn call(id: &str, tool: &str, path: &str) -> NewEntry {
    let message = json!({
        "role": "assistant", "provider": "acme", "model": "m1", "stopReason": "toolUse",
        "content": [{ "type": "toolCall", "id": id, "name": tool, "arguments": { "path": path } }],
    });
    Message::from_json(message.to_string().as_bytes()).unwrap().into_entry()
}

pub(crate) fn result(id: &str, text: &str) -> NewEntry {
    let message = json!({
        "role": "toolResult", "toolCallId": id, "toolName": "t", "isError": false,
        "content": [{ "type": "text", "text": text }],
    });
    Message::from_json(message.to_string().as_bytes()).unwrap().into_entry()
}

/// Returns an answer with the size of the context that the provider reported.
pub(crate) fn answer_of_size(model: &str, tokens: u64) -> NewEntry {
    let message = json!({
        "role": "assistant", "provider": "acme", "model": model, "stopReason": "stop",
        "content": [{ "type": "text", "text": "" }],
        "usage": { "input": tokens, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": tokens },
    });
    Message::from_json(message.to_string().as_bytes()).unwrap().into_entry()
}

/// A session in a file, in a temporary directory.
pub(crate) struct Home {
    pub(crate) dir: TempDir,
    pub(crate) path: PathBuf,
}

impl Home {
    pub(crate) fn new() -> (Home, Session) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("session.jsonl");
        let session = Session::create_at(&path, "/project", Default::default()).unwrap();
        (Home { dir, path }, session)
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        std::fs::read(&self.path).unwrap()
    }

    pub(crate) fn reopened(&self) -> Session {
        Session::open(&self.path).unwrap()
    }

    /// Returns how many files there are.
    pub(crate) fn files(&self) -> usize {
        std::fs::read_dir(self.dir.path()).unwrap().count()
    }
}

/// Returns a session whose appends are counted.
pub(crate) fn counted() -> (Arc<Faulty>, Session) {
    let journal = Faulty::in_memory();
    let session = Session::in_journal(journal.clone(), "/project", Default::default()).unwrap();
    (journal, session)
}

pub(crate) fn append(agent: &AgentSession, entry: NewEntry) -> EntryId {
    agent.session().append(entry).unwrap()
}

pub(crate) fn json_of(entry: &Entry) -> Value {
    serde_json::from_slice(entry.raw()).unwrap()
}

/// Returns the texts of a context, a role before each.
pub(crate) fn lines(context: &Context) -> Vec<String> {
    let line = |json: &[u8]| {
        let view = MessageView::new(json);
        let text = match view.field("summary") {
            Some(summary) => summary.into_owned(),
            None => view.text(),
        };
        format!("{}: {text}", view.role_name())
    };
    context.messages.iter().map(|message| line(&message.json)).collect()
}
