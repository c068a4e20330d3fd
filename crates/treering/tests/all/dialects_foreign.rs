//! Claude Code and Codex, whose sessions are read and never written to.

use crate::support::{join, open, sources};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use treering::entry::MessageView;
use treering::merge::{Repeated, Selection};
use treering::provider::Pairing;
use treering::{Dialect, Error, Message, Position, Session};
use treering_testkit::model;

/// Returns a record of Claude Code's.
fn record(kind: &str, uuid: &str, parent: Option<&str>, more: Value) -> String {
    let mut record = json!({"parentUuid": parent, "isSidechain": false, "cwd": "/p", "sessionId": "s",
        "type": kind, "uuid": uuid, "timestamp": "2026-01-05T09:00:20.226Z"});
    record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    record.to_string()
}

fn asked(uuid: &str, parent: Option<&str>) -> String {
    record("user", uuid, parent, json!({"message": {"role": "user", "content": uuid}}))
}

/// One block of an answer.
fn block(uuid: &str, parent: &str, id: &str, block: Value) -> String {
    let message = json!({"id": id, "type": "message", "role": "assistant", "model": "m",
        "content": [block], "usage": {"input_tokens": 5, "output_tokens": 7}});
    record("assistant", uuid, Some(parent), json!({"message": message}))
}

fn answered(uuid: &str, parent: &str) -> String {
    block(uuid, parent, &format!("msg-{uuid}"), json!({"type": "text", "text": uuid}))
}

fn call(uuid: &str, parent: &str, id: &str, tool: &str) -> String {
    block(
        uuid,
        parent,
        id,
        json!({"type": "tool_use", "id": tool, "name": "Read", "input": {"f": tool}}),
    )
}

fn result(uuid: &str, parent: &str, tool: &str) -> String {
    let content = json!([{"type": "tool_result", "tool_use_id": tool, "content": tool}]);
    record("user", uuid, Some(parent), json!({"message": {"role": "user", "content": content}}))
}

fn lines(lines: &[String]) -> String {
    lines.join("\n") + "\n"
}

fn leaf(session: &Session) -> String {
    session.leaf().map(|leaf| leaf.to_string()).unwrap_or_default()
}

#[test]
fn a_message_in_parts_is_picked_as_one() {
    let source = open(lines(&[
        asked("u1", None),
        block("a1", "u1", "m1", json!({"type": "text", "text": "Let me see."})),
        call("a2", "a1", "m1", "t1"),
        call("a3", "a2", "m1", "t2"),
        result("r1", "a2", "t1"),
        result("r2", "a3", "t2"),
        answered("a5", "r2"),
    ]));
    let session = Session::in_memory("/p");
    session.append(Message::user("hi")).unwrap();
    let plan =
        |id: &str| session.plan_pick(&source, &Selection::entry(id), Repeated::Skipped).unwrap();
    for any in ["a1", "a2", "a3", "r1", "r2"] {
        assert_eq!(join(plan(any).entries), "a1 r1 r2", "{any}");
    }
    let copies = session.apply_pick(&plan("r1")).unwrap();
    let whole = session.entry(copies[0].as_str()).unwrap();
    assert_eq!(whole.message().unwrap().blocks().len(), 3);
    assert_eq!(whole.copied_from().unwrap().entry, "a1");
    assert!(session.context().unwrap().to_llm(Pairing::Strict).repairs.is_empty());
    assert!(plan("a2").is_empty(), "it is there");
    let error = source.cherry_pick(&Selection::entry("u1")).unwrap_err();
    assert!(matches!(error, Error::ReadOnlyDialect(Dialect::ClaudeCode)), "{error}");
}

#[test]
fn parallel_calls_are_one_answer_and_no_branches() {
    let session = open(lines(&[
        asked("u1", None),
        block("a1", "u1", "m1", json!({"type": "text", "text": "Let me see."})),
        call("a2", "a1", "m1", "t1"),
        call("a3", "a2", "m1", "t2"),
        call("a4", "a3", "m1", "t3"),
        result("r1", "a2", "t1"),
        result("r2", "a3", "t2"),
        result("r3", "a4", "t3"),
        answered("a5", "r3"),
    ]));
    let tree = session.tree();
    assert_eq!((join(tree.branch_points()), join(tree.leaves())), (String::new(), "a5".to_owned()));
    assert_eq!(tree.path("a5").unwrap().len(), 9, "everything is on the path");
    let context = session.context().unwrap();
    let texts: Vec<Value> =
        context.messages.iter().map(|message| model::value(&message.json).unwrap()).collect();
    let roles: Vec<&str> = texts.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "toolResult", "toolResult", "toolResult", "assistant"]);
    let calls: Vec<&Value> =
        texts[1]["content"].as_array().unwrap().iter().map(|block| &block["id"]).collect();
    assert_eq!(calls, [&Value::Null, &"t1".into(), &"t2".into(), &"t3".into()]);
    let mut results: Vec<&str> =
        texts[2..5].iter().map(|message| message["toolCallId"].as_str().unwrap()).collect();
    results.sort_unstable();
    assert_eq!(results, ["t1", "t2", "t3"]);
}

#[test]
fn a_repeated_question_is_a_branch() {
    let session = open(lines(&[
        asked("u1", None),
        answered("a1", "u1"),
        asked("u2", Some("a1")),
        answered("a2", "u2"),
        asked("u3", Some("a1")),
    ]));
    let tree = session.tree();
    assert_eq!((join(tree.branch_points()), join(tree.leaves())), ("a1".into(), "a2 u3".into()));
    assert_eq!(leaf(&session), "u3");
}

#[test]
fn a_compact_boundary_cuts_the_context() {
    let boundary = record(
        "system",
        "b1",
        None,
        json!({"subtype": "compact_boundary",
        "logicalParentUuid": "a1", "content": "Conversation compacted"}),
    );
    let summary = record(
        "user",
        "u2",
        Some("b1"),
        json!({"isCompactSummary": true,
        "message": {"role": "user", "content": "What was said before."}}),
    );
    let session = open(lines(&[
        asked("u1", None),
        answered("a1", "u1"),
        boundary,
        summary,
        answered("a2", "u2"),
    ]));
    assert_eq!(leaf(&session), "a2");
    let context = session.context().unwrap();
    assert_eq!(sources(&context), "u2 a2");
    let summary = model::value(&context.messages[0].json).unwrap();
    assert_eq!(
        (&summary["role"], &summary["summary"]),
        (&"compactionSummary".into(), &"What was said before.".into())
    );
    assert_eq!(sources(&session.context_at("a1").unwrap()), "u1 a1");
}

#[test]
fn a_later_duplicate_counts() {
    let again = asked("u1", None).replace("\"content\":\"u1\"", "\"content\":\"changed\"");
    let session = open(lines(&[asked("u1", None), answered("a1", "u1"), again]));
    assert_eq!((session.tree().len(), session.tree().shadowed()), (2, 1));
    let context = session.context_at("a1").unwrap();
    assert_eq!(MessageView::new(&context.messages[0].json).text(), "changed");
    assert!(
        session.findings().unwrap().iter().any(|finding| finding.code().starts_with("duplicate"))
    );
}

#[test]
fn the_users_title_counts_before_the_programs() {
    let summary = json!({"type": "summary", "summary": "Summed up", "leafUuid": "a1"}).to_string();
    let lost = json!({"type": "summary", "summary": "Elsewhere", "leafUuid": "zz"}).to_string();
    let ai = json!({"type": "ai-title", "aiTitle": "By a model", "sessionId": "s"}).to_string();
    let custom =
        json!({"type": "custom-title", "customTitle": "Mine", "sessionId": "s"}).to_string();
    let talk = lines(&[asked("u1", None), answered("a1", "u1")]);
    for (side, expected) in [
        (vec![], None),
        (vec![&lost], None),
        (vec![&summary, &lost], Some("Summed up")),
        (vec![&ai, &summary], Some("By a model")),
        (vec![&custom, &ai, &summary], Some("Mine")),
    ] {
        let side: Vec<String> = side.into_iter().cloned().collect();
        let session = open(format!("{talk}{}", lines(&side)));
        assert_eq!(session.name().as_deref(), expected, "{side:?}");
        assert_eq!((session.tree().len(), leaf(&session)), (2, "a1".to_owned()));
    }
}

#[test]
fn the_active_leaf_is_the_last_message() {
    let note = record("system", "n1", Some("a1"), json!({"subtype": "turn_duration"}));
    let side = record(
        "user",
        "x1",
        None,
        json!({"isSidechain": true, "message": {"role": "user", "content": "x"}}),
    );
    let meta = record(
        "user",
        "x2",
        Some("a1"),
        json!({"isMeta": true, "message": {"role": "user", "content": "x"}}),
    );
    let team = record(
        "user",
        "x3",
        Some("a1"),
        json!({"teamName": "t", "message": {"role": "user", "content": "x"}}),
    );
    let talk = [asked("u1", None), answered("a1", "u1")];
    for (more, expected) in [
        (vec![note], "a1"),
        (vec![side.clone()], "a1"),
        (vec![meta, asked("u2", Some("a1"))], "u2"),
        (vec![team, asked("u2", Some("a1")), side], "u2"),
    ] {
        let session = open(lines(&[&talk[..], &more].concat()));
        assert_eq!(leaf(&session), expected, "{more:?}");
    }
}

/// Returns a session with a subagent's file beside it.
fn with_subagent(dir: &Path) -> (PathBuf, PathBuf) {
    let (main, agent) = (dir.join("s.jsonl"), dir.join("s/subagents/agent-1.jsonl"));
    std::fs::create_dir_all(agent.parent().unwrap()).unwrap();
    std::fs::write(&main, lines(&[asked("u1", None), answered("a1", "u1")])).unwrap();
    std::fs::write(&agent, lines(&[sidechain("x1", None)])).unwrap();
    (main, agent)
}

fn sidechain(uuid: &str, parent: Option<&str>) -> String {
    let message = json!({"role": "user", "content": uuid});
    record("user", uuid, parent, json!({"isSidechain": true, "agentId": "1", "message": message}))
}

fn append(path: &Path, line: &str) {
    let before = std::fs::read_to_string(path).unwrap();
    std::fs::write(path, format!("{before}{line}\n")).unwrap();
}

#[test]
fn subagents_are_part_of_the_tree_and_never_of_the_conversation() {
    let dir = tempfile::tempdir().unwrap();
    let (main, agent) = with_subagent(dir.path());
    let session = Session::open(&main).unwrap();
    let flagged = |session: &Session| {
        let tree = session.tree();
        join(tree.walk().filter(|item| item.sidechain).map(|item| item.id.to_owned()))
    };
    assert_eq!((session.tree().len(), flagged(&session)), (3, "x1".to_owned()));
    assert_eq!(leaf(&session), "a1");
    assert_eq!(sources(&session.context().unwrap()), "u1 a1");
    append(&agent, &sidechain("x2", Some("x1")));
    append(&main, &asked("u2", Some("a1")));
    let mut new: Vec<String> =
        session.refresh().unwrap().into_iter().map(|id| id.to_string()).collect();
    new.sort_unstable();
    assert_eq!(new, ["u2", "x2"]);
    assert_eq!(join(session.tree().path("x2").unwrap()), "x1 x2");
    assert_eq!(flagged(&session), "x1 x2");
    assert_eq!(session.follow().unwrap().unwrap().as_str(), "u2");
    assert!(session.refresh().unwrap().is_empty());
}

/// Nothing that can be done to a session changes these bytes.
fn assert_read_only(path: &Path, dialect: Dialect) {
    let before = std::fs::read(path).unwrap();
    let session = Session::open(path).unwrap();
    assert_eq!(session.dialect(), dialect);
    let id = session.leaf().unwrap();
    let refused = [
        session.append(Message::user("hello")).map(drop),
        session.set_name("name").map(drop),
        session.label(id.as_str(), Some("x")).map(drop),
        session.branch(Position::Start).map(drop),
    ];
    for (at, refused) in refused.into_iter().enumerate() {
        assert!(
            matches!(refused, Err(Error::ReadOnlyDialect(d)) if d == dialect),
            "{at}: {refused:?}"
        );
    }
    assert!(session.upgrade().map_or(true, |upgrade| upgrade.is_none()));
    assert_eq!(std::fs::read(path).unwrap(), before);
}

#[test]
fn claude_codes_files_are_never_modified() {
    let dir = tempfile::tempdir().unwrap();
    let (main, agent) = with_subagent(dir.path());
    let before = std::fs::read(&agent).unwrap();
    assert_read_only(&main, Dialect::ClaudeCode);
    assert_eq!(std::fs::read(&agent).unwrap(), before);
    let files = std::fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(files, 2, "nothing appeared beside it");
}

/// Returns a record of Codex's, in its envelope.
fn codex(kind: &str, payload: Value) -> String {
    json!({"timestamp": "2026-01-05T09:00:20.226Z", "type": kind, "payload": payload}).to_string()
}

fn item(role: &str, text: &str) -> Value {
    let kind = if role == "user" { "input_text" } else { "output_text" };
    json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
}

fn meta() -> Value {
    json!({"id": "s", "timestamp": "2026-01-05T09:00:00.000Z", "cwd": "/p", "instructions": null})
}

fn texts(session: &Session) -> String {
    let context = session.context().unwrap();
    join(context.messages.iter().map(|message| MessageView::new(&message.json).text()))
}

/// The same conversation with and without an envelope.
fn rollouts() -> [String; 2] {
    let call = json!({"type": "function_call", "name": "shell", "arguments": "{\"n\":1}", "call_id": "c1"});
    let output = json!({"type": "function_call_output", "call_id": "c1", "output": "done"});
    let items = [item("user", "ask"), call, output, item("assistant", "answer")];
    let event = codex("event_msg", json!({"type": "user_message", "message": "ask"}));
    let enveloped = items.iter().map(|item| codex("response_item", item.clone()));
    let enveloped: Vec<String> =
        [codex("session_meta", meta()), event].into_iter().chain(enveloped).collect();
    let state = json!({"record_type": "state"});
    let bare = [meta(), state].into_iter().chain(items).map(|record| record.to_string());
    [lines(&enveloped), lines(&bare.collect::<Vec<_>>())]
}

#[test]
fn rollouts_are_read_with_and_without_an_envelope() {
    for text in rollouts() {
        let session = open(&text);
        assert_eq!(
            (session.dialect(), session.id().as_str(), session.cwd().as_str()),
            (Dialect::Codex, "s", "/p")
        );
        assert_eq!(texts(&session), "ask  done answer", "the event says nothing new: {text}");
        let tree = session.tree();
        assert_eq!((tree.leaves().len(), tree.branch_points().len()), (1, 0));
        let context = session.context().unwrap();
        let call = model::value(&context.messages[1].json).unwrap();
        assert_eq!(call["content"][0]["arguments"], json!({"n": 1}));
        assert_eq!(model::value(&context.messages[2].json).unwrap()["toolCallId"], "c1");
        assert!(session.all_findings().unwrap().is_empty(), "{:?}", session.all_findings());
    }
}

#[test]
fn a_rollback_makes_a_branch() {
    let turn = |ask: &str, answer: &str| {
        [
            codex("response_item", item("user", ask)),
            codex("response_item", item("assistant", answer)),
        ]
    };
    let back = codex("event_msg", json!({"type": "thread_rolled_back", "num_turns": 1}));
    let start = [codex("session_meta", meta())];
    let all =
        [&start[..], &turn("one", "1"), &turn("two", "2"), &[back], &turn("three", "3")].concat();
    let session = open(lines(&all));
    assert_eq!(texts(&session), "one 1 three 3");
    let tree = session.tree();
    assert_eq!((tree.leaves().len(), tree.branch_points().len()), (2, 1));
    let left = session.context_at(tree.leaves()[0].as_str()).unwrap();
    assert_eq!(sources(&left).split(' ').count(), 4);
}

#[test]
fn a_packed_rollout_is_the_same_session() {
    let dir = tempfile::tempdir().unwrap();
    let [text, _] = rollouts();
    let (plain, packed) = (dir.path().join("a.jsonl"), dir.path().join("a.jsonl.zst"));
    std::fs::write(&plain, &text).unwrap();
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    std::fs::write(&packed, ruzstd::encoding::compress_to_vec(text.as_bytes(), level)).unwrap();
    let (ours, theirs) = (Session::open(&plain).unwrap(), Session::open(&packed).unwrap());
    assert_eq!(theirs.context().unwrap(), ours.context().unwrap());
    assert_eq!(treering::active_context(&packed).unwrap(), ours.context().unwrap());
    assert_eq!(treering::catalog::info(&packed).unwrap().agent, Dialect::Codex);
    assert_read_only(&plain, Dialect::Codex);
    assert_read_only(&packed, Dialect::Codex);
}

/// Reading puts results beside the conversation into it: one that was navigated away from must not
/// come back that way.
#[test]
fn a_result_that_was_left_does_not_come_back_in_an_export() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("pi.jsonl"), dir.path().join("claude.jsonl"));
    let session = Session::create_at(&from, "/p", Default::default()).unwrap();
    let message = |json: Value| {
        treering::Message::from_json(json.to_string().as_bytes()).unwrap().into_entry()
    };
    session.append(Message::user("ask")).unwrap();
    let call = json!({"type": "toolCall", "id": "t1", "name": "bash", "arguments": {}});
    let call = session.append(message(json!({"role": "assistant", "content": [call]}))).unwrap();
    let result = json!({"role": "toolResult", "toolCallId": "t1", "toolName": "bash", "content": [{"type": "text", "text": "left"}], "isError": false});
    session.append(message(result)).unwrap();
    session.branch(call.as_str()).unwrap();
    session.append(Message::user("never mind")).unwrap();
    let losses =
        treering::convert::convert(&from, &to, Dialect::ClaudeCode, &Default::default()).unwrap();
    let is_result = |(kind, outcome, _): &(&str, treering::convert::Outcome, usize)| {
        *kind == "message (toolResult)" && matches!(outcome, treering::convert::Outcome::LeftOut(_))
    };
    assert!(losses.outcomes.items().iter().any(is_result), "{losses:?}");
    assert_eq!(texts(&Session::open(&to).unwrap()), "ask  never mind");
}
