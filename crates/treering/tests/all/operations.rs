//! Tests of random sequences of operations: after each, the session has the expected state; at the
//! end it equals the model's reading of its bytes.

use crate::support::{Leaf, assert_agrees, cases, open, outline, written};
use proptest::prelude::*;
use proptest::sample::Index;
use std::path::PathBuf;
use std::sync::Arc;
use treering::storage::MemoryJournal;
use treering::{CreateOptions, EntryId, ForkOptions, Message, NewEntry, Position, Session};

#[derive(Debug, Clone)]
enum Op {
    Append(What),
    Batch(Vec<What>),
    Branch(Index),
    ResetLeaf,
    BranchWithSummary(Option<Index>, String),
    Label(Index, Option<String>),
    Name(String),
    BranchInMemory(Option<Index>),
    Reopen,
    Fork(Index),
}

#[derive(Debug, Clone)]
enum What {
    User(String),
    Assistant(String),
    ToolResult,
    System,
    Custom,
    CustomMessage(String),
    Compaction(Option<Index>),
    ContextEdit(Index, Option<String>),
    Model(String),
    Thinking(String),
    Unknown,
}

fn what() -> impl Strategy<Value = What> {
    let text = || "[a-z\"\\\\é\u{2028}\n]{0,12}";
    prop_oneof![
        4 => text().prop_map(What::User),
        4 => text().prop_map(What::Assistant),
        1 => Just(What::ToolResult),
        1 => Just(What::System),
        1 => Just(What::Custom),
        1 => text().prop_map(What::CustomMessage),
        2 => any::<Option<Index>>().prop_map(What::Compaction),
        2 => (any::<Index>(), prop::option::of(text())).prop_map(|(i, c)| What::ContextEdit(i, c)),
        1 => text().prop_map(What::Model),
        1 => text().prop_map(What::Thinking),
        1 => Just(What::Unknown),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        12 => what().prop_map(Op::Append),
        2 => prop::collection::vec(what(), 1..4).prop_map(Op::Batch),
        3 => any::<Index>().prop_map(Op::Branch),
        1 => Just(Op::ResetLeaf),
        2 => (any::<Option<Index>>(), "[a-z]{0,6}").prop_map(|(i, s)| Op::BranchWithSummary(i, s)),
        2 => (any::<Index>(), prop::option::of("[a-z]{0,4}")).prop_map(|(i, l)| Op::Label(i, l)),
        1 => "[a-z ]{0,5}".prop_map(Op::Name),
        2 => any::<Option<Index>>().prop_map(Op::BranchInMemory),
        1 => Just(Op::Reopen),
        1 => any::<Index>().prop_map(Op::Fork),
    ]
}

/// The storage of the session under test.
enum Home {
    Journal(Arc<MemoryJournal>),
    File(PathBuf),
    Nowhere,
}

impl Home {
    fn open(&self) -> Option<Session> {
        match self {
            Home::Journal(journal) => {
                let journal = Arc::clone(journal);
                Some(Session::in_journal(journal, "/project", CreateOptions::new()).unwrap())
            }
            Home::File(path) => path.exists().then(|| Session::open(path).unwrap()),
            Home::Nowhere => None,
        }
    }

    fn bytes(&self, session: &Session) -> Vec<u8> {
        match self {
            Home::Journal(journal) if !journal.contents().is_empty() => journal.contents(),
            Home::File(path) if path.exists() => std::fs::read(path).unwrap(),
            _ => written(session),
        }
    }
}

struct Bench {
    home: Home,
    session: Session,
    /// The leaf that the rules of navigation demand.
    leaf: Option<EntryId>,
    ids: Vec<EntryId>,
}

impl Bench {
    fn new(home: Home, session: Session) -> Self {
        Bench { home, session, leaf: None, ids: Vec::new() }
    }

    fn id(&self, index: Index) -> Option<EntryId> {
        (!self.ids.is_empty()).then(|| index.get(&self.ids).clone())
    }

    fn new_entry(&self, what: &What) -> NewEntry {
        match what {
            What::User(text) => Message::user(text).into_entry(),
            What::Assistant(text) => Message::assistant("acme", text, text).into_entry(),
            What::ToolResult => {
                Message::from_json(br#"{"role":"toolResult","toolCallId":"c","content":null}"#)
                    .unwrap()
                    .into_entry()
            }
            What::System => {
                Message::from_json(br#"{"role":"system","content":"rules"}"#).unwrap().into_entry()
            }
            What::Custom => NewEntry::custom("notes", Some(b"{\"parentId\":\"decoy\"}")).unwrap(),
            What::CustomMessage(text) => {
                let json = serde_json::json!({
                    "type": "custom_message", "customType": "n", "content": text, "display": true
                });
                NewEntry::from_json(json.to_string().as_bytes()).unwrap()
            }
            What::Compaction(first) => {
                let first = first.and_then(|index| self.id(index));
                NewEntry::compaction("summary", first.as_ref(), 10)
            }
            What::ContextEdit(target, content) => {
                // An edit of an entry that does not exist is refused.
                let Some(target) = self.id(*target) else {
                    return NewEntry::thinking_level_change("low");
                };
                let replacement =
                    content.as_ref().map(|content| serde_json::json!({"content": content}));
                let json = serde_json::json!({
                    "type": "context_edit", "targetId": target.as_str(), "replacement": replacement
                });
                NewEntry::from_json(json.to_string().as_bytes()).unwrap()
            }
            What::Model(text) => NewEntry::model_change("acme", text),
            What::Thinking(text) => NewEntry::thinking_level_change(text),
            What::Unknown => {
                NewEntry::from_json(br#"{"type":"my_own","x":[1, {"y": null}]}"#).unwrap()
            }
        }
    }

    /// Entries were appended: each is the child of the one before it.
    fn appended(&mut self, ids: Vec<EntryId>) {
        for id in ids {
            let entry = self.session.entry(id.as_str()).unwrap();
            assert_eq!(entry.parent(), self.leaf.as_ref(), "an append goes under the leaf");
            self.leaf = Some(id.clone());
            self.ids.push(id);
        }
    }

    /// A leaf entry may have been written: it can be a target like any other.
    fn moved(&mut self, to: Option<EntryId>) {
        self.leaf = to;
        self.ids = self.session.tree().ids().collect();
    }

    fn run(&mut self, op: &Op) {
        match op {
            Op::Append(what) => {
                let id = self.session.append(self.new_entry(what)).unwrap();
                self.appended(vec![id]);
            }
            Op::Batch(all) => {
                let entries: Vec<NewEntry> = all.iter().map(|what| self.new_entry(what)).collect();
                let ids = self.session.append_all(&entries).unwrap();
                assert_eq!(ids.len(), entries.len());
                self.appended(ids);
            }
            Op::Branch(index) => {
                let Some(id) = self.id(*index) else { return };
                assert_eq!(self.session.branch(&id).unwrap().as_ref(), Some(&id));
                self.moved(Some(id));
            }
            Op::ResetLeaf => {
                self.session.branch(Position::Start).unwrap();
                self.moved(None);
            }
            Op::BranchWithSummary(index, summary) => {
                let target = index.and_then(|index| self.id(index));
                let left = self.leaf.clone();
                let name = target.as_ref().map(EntryId::as_str);
                let id = self.session.branch_with_summary(name, summary, Ok).unwrap();
                self.leaf = target;
                self.appended(vec![id.clone()]);
                let entry = self.session.entry(id.as_str()).unwrap();
                let from = left.map_or("root".to_owned(), |id| id.to_string());
                assert_eq!(entry.text("fromId").unwrap(), from);
            }
            Op::Label(index, text) => {
                let Some(target) = self.id(*index) else { return };
                let id = self.session.label(target.as_str(), text.as_deref()).unwrap();
                self.appended(vec![id]);
                let text = text.as_deref().filter(|text| !text.is_empty());
                assert_eq!(self.session.tree().label(target.as_str()), text);
            }
            Op::Name(name) => {
                let id = self.session.set_name(name).unwrap();
                self.appended(vec![id]);
                let name = name.trim();
                assert_eq!(self.session.name(), (!name.is_empty()).then(|| name.to_owned()));
            }
            Op::BranchInMemory(index) => {
                let target = index.and_then(|index| self.id(index));
                self.session.branch_in_memory(target.as_ref().map(EntryId::as_str)).unwrap();
                self.moved(target);
            }
            Op::Reopen => self.reopen(),
            Op::Fork(index) => self.fork(*index),
        }
        assert_eq!(self.session.leaf(), self.leaf, "the leaf after {op:?}");
    }

    fn reopen(&mut self) {
        let Some(again) = self.home.open() else { return };
        assert_agrees(&again, &self.home.bytes(&again), Leaf::OfTheFile);
        assert_eq!(outline(&again), outline(&self.session), "a restart changes nothing");
        let leaf = again.leaf();
        self.session = again;
        self.moved(leaf);
    }

    fn fork(&self, index: Index) {
        let Some(leaf) = self.id(index) else { return };
        let fork = self.session.fork(leaf.as_str(), ForkOptions::default()).unwrap();
        let bytes = match fork.path().filter(|path| path.exists()) {
            Some(path) => std::fs::read(path).unwrap(),
            None => written(&fork),
        };
        assert_agrees(&fork, &bytes, Leaf::OfTheFile);
        let before = self.session.context_at(leaf.as_str()).unwrap();
        assert_eq!(fork.context().unwrap(), before, "a fork sees what its source saw");
        let (tree, forked) = (self.session.tree(), fork.tree());
        let kept = tree.path(leaf.as_str()).unwrap();
        let kept: Vec<EntryId> = kept
            .into_iter()
            .filter(|id| tree.kind(id.as_str()).unwrap() != treering::Kind::Label)
            .collect();
        let expected: Vec<_> = kept.iter().map(|id| tree.label(id.as_str())).collect();
        let labels: Vec<_> = kept.iter().map(|id| forked.label(id.as_str())).collect();
        assert_eq!(labels, expected, "labels on the path stay");
        if let Some(last) = kept.last() {
            assert_eq!(forked.path(last.as_str()).unwrap(), kept, "the path without labels");
        }
    }

    fn finish(mut self) {
        let bytes = self.home.bytes(&self.session);
        assert_agrees(&self.session, &bytes, Leaf::OfItsOwn);
        assert_agrees(&open(&bytes), &bytes, Leaf::OfTheFile);
        self.reopen();
    }
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn a_session_in_a_journal_does_what_the_rules_say(ops in prop::collection::vec(op(), 1..40)) {
        let journal = Arc::new(MemoryJournal::default());
        let home = Home::Journal(journal);
        let session = home.open().unwrap();
        let mut bench = Bench::new(home, session);
        ops.iter().for_each(|op| bench.run(op));
        bench.finish();
    }

    #[test]
    fn a_session_in_a_file_does_what_the_rules_say(ops in prop::collection::vec(op(), 1..40)) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.jsonl");
        let session = Session::create_at(&path, "/project", CreateOptions::new()).unwrap();
        let mut bench = Bench::new(Home::File(path), session);
        ops.iter().for_each(|op| bench.run(op));
        bench.finish();
    }

    #[test]
    fn a_session_in_memory_does_what_the_rules_say(ops in prop::collection::vec(op(), 1..40)) {
        let mut bench = Bench::new(Home::Nowhere, Session::in_memory("/project"));
        ops.iter().for_each(|op| bench.run(op));
        bench.finish();
    }
}

#[test]
fn a_custom_message_has_a_string_or_blocks() {
    for content in ["\"note\"", " [{\"type\":\"text\",\"text\":\"note\"}] "] {
        let session = Session::in_memory("/project");
        session.append(NewEntry::custom_message("x", content.as_bytes(), true).unwrap()).unwrap();
        assert_eq!(session.context().unwrap().messages.len(), 1);
    }
    for content in ["7", "null", "{}", "[", ""] {
        assert!(NewEntry::custom_message("x", content.as_bytes(), true).is_err(), "{content}");
    }
}
