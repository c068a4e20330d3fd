//! Shared code of the tests: lines, sessions over bytes, and the comparison with the model.

use proptest::test_runner::Config;
use std::path::Path;
use std::sync::Arc;
use treering::context::ContextEntries;
use treering::session::SessionTail;
use treering::storage::MemoryJournal;
use treering::{Context, CreateOptions, Kind, OpenOptions, Position, Session};
use treering_testkit::model::{self, Model};
use treering_testkit::rng::Rng;

pub(crate) const HEADER: &str = r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/project"}"#;

/// Returns an entry's line, without newline. All have the same time.
pub(crate) fn entry(kind: &str, id: &str, parent: Option<&str>, more: &str) -> String {
    let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
    let time = "2026-01-05T09:00:20.226Z";
    format!(r#"{{"type":"{kind}","id":"{id}","parentId":{parent},"timestamp":"{time}"{more}}}"#)
}

/// Returns a user message that says its own id.
pub(crate) fn user(id: &str, parent: Option<&str>) -> String {
    entry("message", id, parent, &format!(r#","message":{{"role":"user","content":"{id}"}}"#))
}

/// Returns an assistant message that says its own id.
pub(crate) fn assistant(id: &str, parent: Option<&str>) -> String {
    let message = r#","message":{"role":"assistant","content":[{"type":"text","text":"ID"}],"provider":"acme","model":"oak"}"#;
    entry("message", id, parent, &message.replace("ID", id))
}

pub(crate) fn label(id: &str, parent: Option<&str>, target: &str, text: &str) -> String {
    entry("label", id, parent, &format!(r#","targetId":"{target}","label":"{text}""#))
}

pub(crate) fn leaf(id: &str, target: Option<&str>) -> String {
    let quoted = target.map_or("null".to_owned(), |target| format!("\"{target}\""));
    entry("leaf", id, target, &format!(r#","targetId":{quoted}"#))
}

pub(crate) fn compaction(id: &str, parent: Option<&str>, first_kept: &str) -> String {
    let more = r#","summary":"what was","tokensBefore":1234,"firstKeptEntryId":"ID""#;
    entry("compaction", id, parent, &more.replace("ID", first_kept))
}

/// Returns a file of a header and these lines.
pub(crate) fn file(lines: &[String]) -> String {
    let mut text = format!("{HEADER}\n");
    for line in lines {
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// Returns a session over bytes in memory.
pub(crate) fn open(bytes: impl AsRef<[u8]>) -> Session {
    try_open(bytes).unwrap()
}

pub(crate) fn try_open(bytes: impl AsRef<[u8]>) -> treering::Result<Session> {
    let journal = Arc::new(MemoryJournal::new(bytes.as_ref().to_vec()));
    Session::in_journal(journal, "/project", CreateOptions::new())
}

/// Returns the ids of a path, joined by spaces.
pub(crate) fn path(session: &Session, id: &str) -> String {
    join(session.tree().path(id).unwrap())
}

pub(crate) fn join<T: std::fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(" ")
}

/// Returns the entries that contribute to a context, joined by spaces.
pub(crate) fn sources(context: &Context) -> String {
    join(context.messages.iter().map(|message| &message.entry))
}

/// The entry is on a line of its own, so that every reader of JSON lines finds it.
pub(crate) fn assert_own_line(bytes: &[u8], id: &str) {
    let mut lines = bytes.split(|&byte| byte == b'\n');
    let is_it = |line: &[u8]| {
        let value: Option<serde_json::Value> = serde_json::from_slice(line).ok();
        value.is_some_and(|value| value["id"] == id)
    };
    assert!(lines.any(is_it), "{id} does not stand on a line of its own");
    assert_eq!(bytes.last(), Some(&b'\n'), "the last line is terminated");
}

/// Returns the lines of the session's file.
pub(crate) fn written(session: &Session) -> Vec<u8> {
    let mut bytes = session.header().raw().to_vec();
    bytes.push(b'\n');
    for entry in session.entries() {
        bytes.extend_from_slice(entry.unwrap().raw());
        bytes.push(b'\n');
    }
    bytes
}

/// Returns the configuration of a property that is tried with `count` cases, or with as many as PROPTEST_CASES says.
pub(crate) fn cases(count: u32) -> Config {
    let mut config = Config { failure_persistence: None, ..Config::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = count;
    }
    config
}

/// The leaf that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaf {
    /// The session was just opened: its leaf is the file's.
    OfTheFile,
    /// The session has moved its leaf since.
    OfItsOwn,
}

/// Asserts that the session equals the model of the same bytes.
pub(crate) fn assert_agrees(session: &Session, bytes: &[u8], leaf: Leaf) {
    let mut model = Model::read(bytes).expect("the model takes it for a session");
    adopt_ids(session, &mut model);
    let agreement = Agreement { session, model: &model };
    agreement.about_the_tree();
    agreement.about_entries();
    agreement.about_relations();
    agreement.about_contexts();
    if leaf == Leaf::OfTheFile {
        assert_eq!(session.leaf().map(|id| id.to_string()), model.leaf(), "the leaf");
    }
}

/// Asserts that both have the same entries; where the file has no id, the library's is used.
fn adopt_ids(session: &Session, model: &mut Model) {
    let ours: Vec<String> = session.tree().ids().map(|id| id.to_string()).collect();
    let theirs = model.ids();
    assert_eq!(ours.len(), theirs.len(), "entries: {ours:?} for {theirs:?}");
    for (ours, theirs) in ours.iter().zip(&theirs) {
        if model.entry(theirs).is_some_and(|entry| entry.derived) {
            let is_hex = ours.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(is_hex && ours.len() == 8, "derived id {ours} for {theirs}");
        }
    }
    model.adopt_derived(&ours);
    assert_eq!(ours, model.ids(), "ids in file order");
}

struct Agreement<'a> {
    session: &'a Session,
    model: &'a Model,
}

impl Agreement<'_> {
    fn about_the_tree(&self) {
        let tree = self.session.tree();
        let walk: Vec<_> = tree
            .walk()
            .map(|item| {
                let label = item.label.map(|text| (text.to_owned(), item.label_time));
                let parent = item.parent.map(|id| id.to_string());
                (item.id.to_string(), parent, item.depth, item.kind, label, item.children)
            })
            .collect();
        let expected: Vec<_> = self
            .model
            .walk()
            .into_iter()
            .map(|item| {
                let kind = Kind::of(&item.kind);
                (item.id, item.parent, item.depth, kind, item.label, item.children)
            })
            .collect();
        assert_eq!(walk, expected, "the walk");
        assert_eq!(tree.len(), expected.len());
        let strings = |ids: Vec<treering::EntryId>| -> Vec<String> {
            ids.into_iter().map(|id| id.to_string()).collect()
        };
        assert_eq!(strings(tree.leaves()), self.model.leaves(), "leaves");
        assert_eq!(strings(tree.branch_points()), self.model.branch_points(), "branches");
        let conversation = tree.conversation();
        assert_eq!(strings(conversation.leaves()), self.model.conversation_leaves(), "ends");
        assert_eq!(
            strings(conversation.branch_points()),
            self.model.conversation_branch_points(),
            "forks"
        );
        assert_eq!(tree.name().map(str::to_owned), self.model.name(), "the name");
        let labels: Vec<_> = tree
            .labels()
            .into_iter()
            .map(|(id, text, time)| (id.to_string(), text.to_owned(), time))
            .collect();
        assert_eq!(labels, self.model.labels(), "labels");
    }

    fn about_entries(&self) {
        for entry in self.session.entries() {
            let entry = entry.unwrap();
            let theirs = self.model.entry(entry.id().as_str()).unwrap();
            assert_eq!(entry.is_damaged(), theirs.value.is_none(), "damage of {}", theirs.id);
            assert_eq!(entry.time(), theirs.time, "time of {}", theirs.id);
            if let (Some(value), false) = (&theirs.value, theirs.derived) {
                assert_eq!(
                    model::value(entry.raw()).as_ref(),
                    Some(value),
                    "bytes of {}",
                    theirs.id
                );
            }
        }
    }

    /// Returns a few of the model's ids, spread over the file.
    fn some(&self, count: usize) -> Vec<String> {
        let ids = self.model.ids();
        let step = (ids.len() / count).max(1);
        ids.into_iter().rev().step_by(step).collect()
    }

    fn about_relations(&self) {
        let tree = self.session.tree();
        let ids = self.some(24);
        let mut rng = Rng::new(ids.len() as u64);
        for id in &ids {
            let strings = |ids: treering::Result<Vec<treering::EntryId>>| -> Vec<String> {
                ids.unwrap().into_iter().map(|id| id.to_string()).collect()
            };
            assert_eq!(strings(tree.path(id)), self.model.path(id), "path to {id}");
            assert_eq!(strings(tree.children(id)), self.model.children(id), "under {id}");
            let other = rng.pick(&ids);
            let shared = tree.common_ancestor(id, other).unwrap().map(|id| id.to_string());
            assert_eq!(
                shared,
                self.model.common_ancestor(id, other),
                "what {id} and {other} share"
            );
            let left = strings(self.session.abandoned_entries(id, other).map(|left| left.entries));
            assert_eq!(
                left,
                self.model.abandoned(Some(id), Some(other)),
                "left from {id} to {other}"
            );
            let left = strings(
                self.session.abandoned_entries(id, Position::Start).map(|left| left.entries),
            );
            assert_eq!(left, self.model.abandoned(Some(id), None));
        }
    }

    fn about_contexts(&self) {
        let mut leaves = self.model.leaves();
        leaves.reverse();
        leaves.truncate(8);
        leaves.extend(self.some(8));
        for id in leaves {
            let ours = self.session.context_at(&id).unwrap();
            self.same_context(&ours, Some(&id));
        }
        self.same_context(&self.session.context_at(Position::Start).unwrap(), None);
        let here = self.session.leaf().map(|id| id.to_string());
        self.same_context(&self.session.context().unwrap(), here.as_deref());
    }

    fn same_context(&self, ours: &Context, leaf: Option<&str>) {
        let theirs = self.model.context(leaf);
        let messages: Vec<_> = ours
            .messages
            .iter()
            .map(|message| (message.entry.to_string(), model::value(&message.json).unwrap()))
            .collect();
        let expected: Vec<_> =
            theirs.messages.into_iter().map(|message| (message.entry, message.value)).collect();
        assert_eq!(messages, expected, "messages at {leaf:?}");
        assert_eq!(ours.thinking_level, theirs.thinking_level, "thinking level at {leaf:?}");
        let model = ours.model.clone().map(|model| (model.provider, model.model_id));
        assert_eq!(model, theirs.model, "model at {leaf:?}");
    }
}

/// Asserts that both readers have the same content.
pub(crate) fn assert_tail_agrees(file: &Path) {
    let session = Session::open(file).unwrap();
    let whole = session.context().unwrap();
    assert_eq!(treering::active_context(file).unwrap(), whole, "read from the end, and as a whole");
    let Some(tail) = SessionTail::open(file, OpenOptions::new()).unwrap() else { return };
    assert_eq!(tail.leaf(), session.leaf());
    assert_eq!(tail.last_entry(), session.tree().ids().next_back());
    assert_eq!(tail.header().raw(), session.header().raw());
    for at in [tail.leaf(), tail.last_entry()].into_iter().flatten() {
        let whole = session.context_entries_at(&at).unwrap();
        let Some(part) = tail.context_entries(&at).unwrap() else { continue };
        let raw = |context: &ContextEntries| {
            context.entries.iter().map(|entry| entry.raw().to_vec()).collect::<Vec<_>>()
        };
        assert_eq!(raw(&part), raw(&whole), "entries of the context at {at}");
        assert_eq!(part.moves, whole.moves, "moves of the leaf at {at}");
        assert_eq!(part.model, whole.model, "model at {at}");
        if part.thinking_level.is_some() {
            assert_eq!(part.thinking_level, whole.thinking_level, "thinking level at {at}");
        }
    }
    assert_eq!((tail.dialect(), tail.log_length()), (session.dialect(), session.log_length()));
    let part = tail.context().unwrap().expect("the end tells the context");
    assert_eq!(part.messages, whole.messages, "messages at the leaf");
    if let Some(level) = part.thinking_level.known() {
        assert_eq!(level, whole.thinking_level, "thinking level at the leaf");
    }
    if let Some(model) = part.model.known() {
        assert_eq!(model, whole.model, "model at the leaf");
    }
    let completed = tail.whole().unwrap();
    assert_eq!(completed.leaf(), session.leaf());
    assert_eq!(outline(&completed), outline(&session));
}

/// Returns the whole tree, in a form that can be compared with another's.
pub(crate) fn outline(session: &Session) -> Vec<String> {
    session.tree().walk().map(|item| format!("{item:?}")).collect()
}

/// Returns an assistant message that calls a tool under each of these ids.
pub(crate) fn calls(id: &str, parent: Option<&str>, calls: &[&str]) -> String {
    let call = |call: &&str| {
        format!(
            r#"{{"type":"toolCall","id":"{call}","name":"read","arguments":{{"path":"{call}.txt"}}}}"#
        )
    };
    let blocks = calls.iter().map(call).collect::<Vec<_>>().join(",");
    let usage = r#""usage":{"input":1,"output":1,"totalTokens":2,"cost":{"total":0.5}}"#;
    let message = format!(r#"{{"role":"assistant","content":[{blocks}],{usage}}}"#);
    entry("message", id, parent, &format!(r#","message":{message}"#))
}

/// Returns the result of a call.
pub(crate) fn result(id: &str, parent: Option<&str>, call: &str) -> String {
    let message = r#"{"role":"toolResult","toolCallId":"CALL","toolName":"read","content":[{"type":"text","text":"ID"}],"isError":false}"#;
    let message = message.replace("CALL", call).replace("ID", id);
    entry("message", id, parent, &format!(r#","message":{message}"#))
}

/// Returns the selection that a text like `a` or `a..d` means.
pub(crate) fn selection(text: &str) -> treering::merge::Selection {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    treering::merge::Selection::range(from, to)
}
