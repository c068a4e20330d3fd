//! Random work on a session of every dialect, and the same work on a session of treering's own:
//! both
//! are the same tree, before and after opening the file again, and after converting there and back.

use crate::support::join;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use tempfile::TempDir;
use treering::convert::{ConvertOptions, convert};
use treering::provider::Pairing;
use treering::session::Creation;
use treering::{
    Context, CreateOptions, Dialect, EntryId, Kind, Message, NewEntry, Position, Session,
};
use treering_testkit::model;
use treering_testkit::rng::Rng;

const FOREIGN: [Dialect; 5] =
    [Dialect::Uuid, Dialect::Omp, Dialect::Chimera, Dialect::Operator, Dialect::Tau];

/// Texts in which something usually goes wrong.
const TEXTS: [&str; 6] = [
    "plain",
    "Grüße, 日本 😀",
    "a \"quote\" and a \\",
    "two\nlines\u{2028}",
    "</script> & \u{7f}",
    "",
];

/// Values that no library may print again.
const VALUES: [&str; 6] = [
    "1e400",
    "12345678901234567890",
    "-0.0",
    r#""\ud800 alone""#,
    r#"{"b":[],"a":null}"#,
    "[1.50]",
];

/// One operation on a session.
#[derive(Debug, Clone)]
enum Step {
    Append(NewEntry),
    Branch(String),
    Reset,
    Summary(Option<String>, String, EntryId, i64),
    Reopen,
}

/// Makes steps, and remembers the entries they made.
struct Steps {
    rng: Rng,
    ids: Vec<String>,
    time: i64,
    call: Option<String>,
    /// Whether names may be cleared: Tau never forgets one.
    forgets_names: bool,
}

impl Steps {
    fn new(seed: u64, dialect: Dialect) -> Self {
        let forgets_names = dialect != Dialect::Tau;
        Steps {
            rng: Rng::new(seed),
            ids: Vec::new(),
            time: 1_767_603_600_000,
            call: None,
            forgets_names,
        }
    }

    fn id(&mut self) -> EntryId {
        let id = format!("{:08x}", self.rng.next() as u32);
        self.ids.push(id.clone());
        EntryId::from(id.as_str())
    }

    fn some(&mut self) -> EntryId {
        EntryId::from(self.rng.pick(&self.ids).as_str())
    }

    fn text(&mut self) -> String {
        (*self.rng.pick(&TEXTS)).to_owned()
    }

    fn next(&mut self) -> Step {
        self.time += 1 + self.rng.below(90_000) as i64;
        if self.ids.len() < 2 {
            // The first messages, which distinguish some dialects.
            return Step::Append(self.entry(self.ids.len()));
        }
        match self.rng.below(20) {
            0 | 1 => Step::Branch(self.some().to_string()),
            2 if self.rng.chance(0.3) => Step::Reset,
            3 => {
                let target = (!self.rng.chance(0.1)).then(|| self.some().to_string());
                let (text, time) = (self.text(), self.time);
                Step::Summary(target, text, self.id(), time)
            }
            4 => Step::Reopen,
            _ => {
                let which = self.rng.index(13);
                Step::Append(self.entry(which))
            }
        }
    }

    fn entry(&mut self, which: usize) -> NewEntry {
        let (text, value) = (self.text(), *self.rng.pick(&VALUES));
        let quoted = serde_json::to_string(&text).unwrap();
        let time = self.time;
        let message = |json: String| Message::from_json(json.as_bytes()).unwrap().into_entry();
        let entry = match which {
            0 => message(format!(r#"{{"role":"user","content":{quoted},"timestamp":{time}}}"#)),
            1 => message(self.assistant(&format!(r#"[{{"type":"text","text":{quoted}}}]"#))),
            2 => {
                let call = format!("call-{}", self.ids.len());
                let content = format!(
                    r#"[{{"type":"thinking","thinking":"hm","thinkingSignature":"s"}},{{"type":"toolCall","id":"{call}","name":"bash","arguments":{{"command":{quoted},"n":{value}}}}}]"#
                );
                self.call = Some(call);
                message(self.assistant(&content))
            }
            3 => {
                let call = self.call.take().unwrap_or_else(|| "gone".into());
                message(format!(
                    r#"{{"role":"toolResult","toolCallId":"{call}","toolName":"bash","content":[{{"type":"text","text":{quoted}}}],"details":{{"v":{value}}},"isError":false,"timestamp":{time}}}"#
                ))
            }
            4 => message(format!(
                r#"{{"role":"bashExecution","command":"ls","output":{quoted},"exitCode":0,"cancelled":false,"truncated":false,"timestamp":{time}}}"#
            )),
            5 => NewEntry::custom("todo", Some(value.as_bytes())).unwrap(),
            6 => NewEntry::custom_message("note", quoted.as_bytes(), self.rng.chance(0.5)).unwrap(),
            7 => NewEntry::model_change("acme", self.rng.pick::<&str>(&["oak/1", "elm"])),
            8 => NewEntry::thinking_level_change(self.rng.pick::<&str>(&["off", "high"])),
            9 => {
                let kept = self.rng.chance(0.8).then(|| self.some());
                NewEntry::compaction(&text, kept.as_ref(), 1234)
            }
            10 => {
                let target = self.some();
                NewEntry::label(&target, (!text.is_empty()).then_some(&text))
            }
            11 => {
                let name = if text.is_empty() && !self.forgets_names { "kept" } else { &text };
                NewEntry::session_info(name)
            }
            _ => {
                let json = format!(r#"{{"type":"my_own","v":{value},"text":{quoted}}}"#);
                NewEntry::from_json(json.as_bytes()).unwrap()
            }
        };
        let id = self.id();
        entry.with_id(id).with_timestamp(time)
    }

    fn assistant(&self, content: &str) -> String {
        let time = self.time;
        format!(
            r#"{{"role":"assistant","content":{content},"api":"a","provider":"acme","model":"oak","usage":{{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":3,"cost":{{"input":0.5,"output":0,"cacheRead":0,"cacheWrite":0,"total":0.5}}}},"stopReason":"stop","timestamp":{time}}}"#
        )
    }
}

/// A session in a file.
struct Worked {
    session: Session,
    path: std::path::PathBuf,
}

impl Worked {
    fn new(dir: &TempDir, name: &str, dialect: Dialect) -> Self {
        let path = dir.path().join(name);
        let options = CreateOptions::new().dialect(dialect).creation(Creation::AtOnce);
        Worked { session: Session::create_at(&path, "/project", options).unwrap(), path }
    }

    fn apply(&mut self, step: &Step) {
        match step {
            Step::Append(entry) => drop(self.session.append(entry.clone()).unwrap()),
            Step::Branch(id) => drop(self.session.branch(id).unwrap()),
            Step::Reset => drop(self.session.branch(Position::Start).unwrap()),
            Step::Summary(target, text, id, time) => {
                let extend = |entry: NewEntry| Ok(entry.with_id(id.clone()).with_timestamp(*time));
                self.session.branch_with_summary(target.as_deref(), text, extend).unwrap();
            }
            Step::Reopen => self.session = Session::open(&self.path).unwrap(),
        }
    }
}

fn messages(context: &Context) -> Vec<(String, Value)> {
    let one = |message: &treering::context::ContextMessage| {
        (message.entry.to_string(), model::value(&message.json).unwrap())
    };
    context.messages.iter().map(one).collect()
}

fn assert_same_context(ours: &Session, theirs: &Session, leaf: Option<&str>, what: &str) {
    let (ours, theirs) = (ours.context_at(leaf).unwrap(), theirs.context_at(leaf).unwrap());
    let expected = messages(&ours);
    let mut found = messages(&theirs);
    for ((_, ours), (_, theirs)) in expected.iter().zip(&mut found) {
        if ours["timestamp"].is_null() && theirs.get("timestamp").is_some() {
            // Its time is unknown: in other dialects it has the time of the entry before it.
            theirs["timestamp"] = Value::Null;
        }
    }
    assert_eq!(found, expected, "{what}: messages at {leaf:?}");
    assert_eq!(theirs.thinking_level, ours.thinking_level, "{what}: thinking at {leaf:?}");
    assert_eq!(theirs.model, ours.model, "{what}: model at {leaf:?}");
}

/// Returns the name by Operator's rule: what the nearest entry on the path says.
fn name_on_path(session: &Session) -> Option<String> {
    let path = session.path_to(Position::Leaf).unwrap().collect::<Result<Vec<_>, _>>().unwrap();
    let named = path.iter().rev().find(|entry| entry.kind() == Kind::SessionInfo)?;
    named.text("name").map(|name| name.into_owned()).filter(|name| !name.is_empty())
}

/// Both are the same tree as far as the entries `known` go: headers that are nodes and leaf
/// entries,
/// whose ids are random, aside.
fn assert_same(ours: &Session, theirs: &Session, known: &BTreeSet<&str>, what: &str) {
    let own = |id: &EntryId| known.contains(id.as_str());
    // The name that Operator needs on the path to see it stays where it was given: at the leaf.
    let place = |session: &Session, id: EntryId| {
        let entry = session.entry(id.as_str()).unwrap();
        match entry.kind() == Kind::SessionInfo && !own(&id) {
            true => entry.parent().cloned(),
            false => Some(id),
        }
    };
    let leaf = |session: &Session| place(session, session.leaf()?).filter(own);
    assert_eq!(leaf(theirs), leaf(ours), "{what}: the leaf");
    let name = if theirs.dialect() == Dialect::Operator { name_on_path(ours) } else { ours.name() };
    assert_eq!(theirs.name(), name, "{what}: the name");
    let labels = |session: &Session| -> Vec<(String, String, Option<i64>)> {
        let tree = session.tree();
        let all = tree.labels().into_iter();
        all.map(|(id, text, time)| (id.to_string(), text.to_owned(), time)).collect()
    };
    assert_eq!(labels(theirs), labels(ours), "{what}: labels");
    let path = |session: &Session, id: &str| {
        let path = session.tree().path(id).unwrap();
        join(path.into_iter().filter(|id| known.contains(id.as_str())))
    };
    for id in known {
        assert_eq!(path(theirs, id), path(ours, id), "{what}: path to {id}");
    }
    let ends = |session: &Session| -> BTreeSet<String> {
        let ends =
            session.tree().conversation().leaves().into_iter().filter_map(|id| place(session, id));
        ends.filter(own).map(|id| id.to_string()).collect()
    };
    let mut found = ends(theirs);
    if !ends(ours).contains(&leaf(ours).map(|id| id.to_string()).unwrap_or_default()) {
        found.retain(|id| leaf(ours).is_none_or(|leaf| leaf.as_str() != id));
    }
    assert_eq!(found, ends(ours), "{what}: ends of branches");
    for id in ends(ours).iter().take(6) {
        assert_same_context(ours, theirs, Some(id), what);
    }
    for id in known.iter().step_by(5) {
        assert_same_context(ours, theirs, Some(id), what);
    }
    assert_same_context(ours, theirs, None, what);
    assert_eq!(
        messages(&theirs.context().unwrap()),
        messages(&ours.context().unwrap()),
        "{what}: the context"
    );
}

/// Every line is an object with the members that place a record in this dialect.
fn assert_lines(path: &Path, dialect: Dialect) {
    let (id, parent, always) = match dialect {
        Dialect::Uuid => ("uuid", "parentUuid", true),
        Dialect::Chimera => ("id", "parent_id", true),
        Dialect::Operator | Dialect::Tau => ("id", "parent_id", false),
        _ => ("id", "parentId", true),
    };
    let bytes = std::fs::read(path).unwrap();
    let lines = bytes.strip_suffix(b"\n").expect("the last line ends").split(|&byte| byte == b'\n');
    let headers = if dialect == Dialect::Omp { 2 } else { 1 };
    let header_is_root = matches!(dialect, Dialect::Uuid | Dialect::Chimera);
    let mut roots = 0;
    for line in lines.skip(headers) {
        let shown = String::from_utf8_lossy(line);
        let value = model::value(line).unwrap_or_else(|| panic!("{dialect}: {shown}"));
        assert!(value[id].is_string() && value["type"].is_string(), "{dialect}: {shown}");
        assert!(value.get(parent).is_some() || !always, "{dialect}: {shown}");
        assert_ne!(value.get(parent).filter(|_| !always), Some(&Value::Null), "{dialect}: {shown}");
        // Before the first entry is before the header as well.
        let is_root = value.get(parent).is_none_or(Value::is_null) && value["type"] != "leaf";
        roots += u32::from(is_root);
        if dialect == Dialect::Operator || dialect == Dialect::Tau {
            assert!(value["timestamp"].is_number(), "{dialect}: {shown}");
        }
    }
    assert_eq!(roots > 0, !header_is_root, "{dialect}: roots hang on a header that is a node");
}

#[test]
fn the_same_work_makes_the_same_tree_in_every_dialect() {
    for dialect in FOREIGN.into_iter().chain([Dialect::Pi]) {
        for seed in 0..4 {
            let dir = tempfile::tempdir().unwrap();
            let mut ours = Worked::new(&dir, "ours.jsonl", Dialect::Pi);
            let mut theirs = Worked::new(&dir, "theirs.jsonl", dialect);
            let mut steps = Steps::new(seed, dialect);
            for number in 0..60 {
                let step = steps.next();
                ours.apply(&step);
                theirs.apply(&step);
                if number % 20 == 7 {
                    let known = steps.ids.iter().map(String::as_str).collect();
                    let what = format!("{dialect} {seed}, step {number}");
                    assert_same(&ours.session, &theirs.session, &known, &what);
                }
            }
            let known = steps.ids.iter().map(String::as_str).collect();
            let what = format!("{dialect} {seed}");
            assert_same(&ours.session, &theirs.session, &known, &what);
            assert_lines(&theirs.path, dialect);
            let (ours, theirs) =
                (Session::open(&ours.path).unwrap(), Session::open(&theirs.path).unwrap());
            assert_eq!(theirs.dialect(), dialect, "{seed}");
            assert_same(&ours, &theirs, &known, &format!("{what}, opened again"));
            assert!(theirs.findings().unwrap().is_empty(), "{what}: {:?}", theirs.findings());
        }
    }
}

/// Returns a session of treering's own, and the ids of its entries.
fn random_pi(dir: &TempDir, seed: u64, dialect: Dialect) -> (Worked, Vec<String>) {
    let mut worked = Worked::new(dir, "pi.jsonl", Dialect::Pi);
    let mut steps = Steps::new(seed, dialect);
    (0..50).for_each(|_| worked.apply(&steps.next()));
    worked.apply(&Step::Reopen);
    (worked, steps.ids)
}

#[test]
fn there_and_back_again_nothing_has_changed() {
    for dialect in FOREIGN {
        for seed in 100..104 {
            let dir = tempfile::tempdir().unwrap();
            let (there, back) = (dir.path().join("there.jsonl"), dir.path().join("back.jsonl"));
            let (start, ids) = random_pi(&dir, seed, dialect);
            let options = ConvertOptions::default();
            let what = format!("{dialect} {seed}");
            let losses = convert(&start.path, &there, dialect, &options)
                .unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(losses.outcomes.left_out(), 0, "{what}: {losses:?}");
            assert!(losses.verified > 0);
            assert_eq!(Session::open(&there).unwrap().dialect(), dialect);
            convert(&there, &back, Dialect::Pi, &options)
                .unwrap_or_else(|error| panic!("{what}, back: {error}"));
            let known = ids.iter().map(String::as_str).collect();
            let back = Session::open(&back).unwrap();
            assert_same(&start.session, &back, &known, &what);
            assert_eq!(
                (back.id(), back.cwd()),
                (start.session.id(), start.session.cwd()),
                "{what}"
            );
        }
    }
}

/// Whole files with everything in them, references to nothing included.
#[test]
fn generated_sessions_come_back_with_the_same_contexts() {
    for dialect in FOREIGN {
        for seed in 1..4 {
            let dir = tempfile::tempdir().unwrap();
            let at = |name: &str| dir.path().join(name);
            std::fs::write(at("pi"), treering_testkit::generate::small(seed, 60)).unwrap();
            let options = ConvertOptions::default();
            let what = format!("{dialect} {seed}");
            convert(at("pi"), at("there"), dialect, &options)
                .unwrap_or_else(|error| panic!("{what}: {error}"));
            convert(at("there"), at("back"), Dialect::Pi, &options)
                .unwrap_or_else(|error| panic!("{what}, back: {error}"));
            let (ours, back) =
                (Session::open(at("pi")).unwrap(), Session::open(at("back")).unwrap());
            let is_no_move = |id: &EntryId| ours.tree().kind(id.as_str()).unwrap() != Kind::Leaf;
            for leaf in ours.tree().conversation().leaves().iter().filter(|id| is_no_move(id)) {
                assert_same_context(&ours, &back, Some(leaf.as_str()), &what);
            }
            if ours.leaf().is_some_and(|leaf| is_no_move(&leaf)) && dialect != Dialect::Operator {
                assert_eq!(back.leaf(), ours.leaf(), "{what}");
            }
        }
    }
}

/// Returns the roles and texts that a provider gets. Empty texts do not count, and texts of the
/// user in several messages is one.
fn texts(context: &Context) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for message in context.to_llm(Pairing::Raw).messages {
        let view = treering::entry::MessageView::new(&message.json);
        let calls = view.blocks().into_iter().filter_map(|block| match block {
            treering::entry::Block::ToolCall { id, name, .. } => Some(format!("→{id} {name}")),
            treering::entry::Block::Text { text, .. } if !text.is_empty() => {
                Some(text.into_owned())
            }
            _ => None,
        });
        let text = calls.collect::<Vec<_>>().join("|");
        let role = view.role_name().into_owned();
        match all.last_mut().filter(|(before, _)| *before == role && role == "user") {
            Some((_, before)) if text.is_empty() || before.is_empty() => before.push_str(&text),
            Some((_, before)) => *before = format!("{before}|{text}"),
            None => all.push((role, text)),
        }
    }
    all
}

#[test]
fn claude_code_gets_the_same_conversation() {
    for seed in 200..206 {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("claude.jsonl");
        let (start, _) = random_pi(&dir, seed, Dialect::ClaudeCode);
        convert(&start.path, &target, Dialect::ClaudeCode, &ConvertOptions::default())
            .unwrap_or_else(|error| panic!("{seed}: {error}"));
        let result = Session::open(&target).unwrap();
        assert_eq!(result.dialect(), Dialect::ClaudeCode);
        let (ours, theirs) = (start.session.context().unwrap(), result.context().unwrap());
        assert_eq!(texts(&theirs), texts(&ours), "{seed}");
        assert_eq!(result.name(), start.session.name(), "{seed}");
    }
}
