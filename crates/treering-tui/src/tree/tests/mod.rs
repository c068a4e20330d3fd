//! The tree selector as a whole: keys in tables, layouts against the definition, screens.

mod keys;
mod screens;

use super::{TreeEvent, TreeState, read_all, update};
use std::ops::ControlFlow;
use std::sync::Arc;
use treering::storage::MemoryJournal;
use treering::{CreateOptions, Session};
use treering_display::preview_line::PreviewLine;
use treering_display::tree::Outline;

pub(super) fn session(bytes: &[u8]) -> Session {
    let journal = Arc::new(MemoryJournal::new(bytes.to_vec()));
    Session::in_journal(journal, "/project", CreateOptions::new()).unwrap()
}

/// Returns a line of a session: an entry of the minute `minute`, with more fields.
fn line(id: &str, parent: &str, minute: usize, fields: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(
        "{{\"id\":\"{id}\",\"parentId\":{parent},\
         \"timestamp\":\"2026-01-05T09:{minute:02}:00.000Z\",{fields}}}\n"
    )
}

fn message(role: &str, content: &str) -> String {
    format!(r#""type":"message","message":{{"role":"{role}","content":{content}}}"#)
}

fn answer(text: &str) -> String {
    message("assistant", &format!(r#"[{{"type":"text","text":"{text}"}}]"#))
}

/// Two branches: on the left a tool is called, on the right is the leaf.
pub(super) fn sample() -> Session {
    let call =
        r#"[{"type":"toolCall","id":"t1","name":"read","arguments":{"path":"src/main.rs"}}]"#;
    let result = r#""type":"message","message":{"role":"toolResult","toolCallId":"t1","toolName":"read","content":[{"type":"text","text":"fn main"}],"isError":false}"#;
    let mut log = String::from(
        "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\
         \"timestamp\":\"2026-01-05T09:00:00.000Z\",\"cwd\":\"/project\"}\n",
    );
    let lines = [
        ("a", "", message("user", r#""start here""#)),
        ("b", "a", answer("answer one")),
        ("c", "b", message("user", r#""left""#)),
        ("d", "c", message("assistant", call)),
        ("e", "d", result.to_owned()),
        ("f", "e", answer("Left answer")),
        ("g", "b", message("user", r#""right""#)),
        ("h", "g", answer("right answer")),
        ("i", "h", r#""type":"label","targetId":"c","label":"Todo""#.to_owned()),
    ];
    for (minute, (id, parent, fields)) in lines.iter().enumerate() {
        log.push_str(&line(id, parent, minute, fields));
    }
    session(log.as_bytes())
}

/// Returns a state in which everything is known.
pub(super) fn known(session: &Session) -> TreeState {
    let outline = Outline::of(session);
    let mut preview_lines: Vec<(u32, PreviewLine)> = Vec::new();
    read_all(session, &outline, |batch| {
        preview_lines.extend(batch);
        ControlFlow::Continue(())
    });
    update(TreeState::new(outline), TreeEvent::PreviewLines(0, preview_lines)).0
}
