//! Tests of compactions: the request, the entry that is written, and when nothing is written.

use crate::support::handlers::{Extension, names, seen};
use crate::support::scripted::{Play, Scripted};
use crate::support::talk::{
    Home, answer, answer_of_size, append, call, counted, json_of, lines, result, user,
};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use treering::compaction::{CompactionSettings, ModelSettings};
use treering::{EntryId, Message, Session};
use treering_agent::{
    AgentError, AgentSession, AgentSettings, CancellationToken, CompactOptions, CompactReason,
    Compacted, Compaction, Event, ModelError, Operation, Waiting,
};

/// About a hundred tokens that begin with `text`.
pub(crate) fn long(text: &str) -> String {
    format!("{text} {}", ".".repeat(400 - text.len() - 1))
}

/// `turns` turns of about two hundred tokens each: `q1 a1 q2 a2 …`.
pub(crate) fn talk(session: &Session, turns: std::ops::RangeInclusive<usize>) -> Vec<EntryId> {
    let texts = turns.flat_map(|n| {
        [user(&long(&format!("question {n}"))), answer(&long(&format!("answer {n}")))]
    });
    texts.map(|entry| session.append(entry).unwrap()).collect()
}

/// Keeps the last turn of [`talk`].
pub(crate) fn keep_a_turn() -> CompactOptions {
    CompactOptions::new().keep_recent_tokens(150)
}

pub(crate) fn done(compaction: Result<Compaction, AgentError>) -> Compacted {
    match compaction {
        Ok(Compaction::Done(compacted)) => *compacted,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_manual_compaction_writes_one_entry() {
    let (journal, session) = counted();
    let ids = talk(&session, 1..=3);
    let summarizer = Scripted::plays([Play::Cost("What was said.", 70)]);
    let agent = AgentSession::new(session).with_summarizer(summarizer.clone());
    let mut events = agent.subscribe();
    let appends = journal.counts().appends;
    let options = keep_a_turn().instructions("the tests");
    let compacted = done(agent.compact(options).await);
    assert_eq!(journal.counts().appends, appends + 1);

    let raw = json_of(&compacted.entry);
    assert_eq!(raw["type"], "compaction");
    assert_eq!(
        (&raw["parentId"], &raw["firstKeptEntryId"]),
        (&json!(*ids[5].as_str()), &json!(*ids[4].as_str()))
    );
    assert_eq!((&raw["summary"], &raw["tokensBefore"]), (&json!("What was said."), &json!(600)));
    assert_eq!(raw["details"], json!({ "readFiles": [], "modifiedFiles": [] }));
    assert_eq!(
        (raw["usage"]["input"].as_u64(), raw["usage"]["totalTokens"].as_u64()),
        (Some(70), Some(80))
    );
    assert_eq!((raw.get("fromHook"), raw.get("systemMessage")), (None, None));
    assert_eq!((compacted.first_kept, compacted.tokens_before), (ids[4].clone(), 600));
    assert_eq!(compacted.tokens_after, 204);
    assert_eq!(compacted.usage.unwrap().total(), 80);
    assert_eq!(agent.session().leaf().as_ref(), Some(compacted.entry.id()));
    let kept = [long("question 3"), long("answer 3")];
    let expected = [
        "compactionSummary: What was said.".to_owned(),
        format!("user: {}", kept[0]),
        format!("assistant: {}", kept[1]),
    ];
    assert_eq!(lines(&agent.context().unwrap()), expected);

    let [request] = &summarizer.requests()[..] else { panic!("one request") };
    assert!(request.user.ends_with("\n\nAdditional focus: the tests"));
    assert_eq!((request.instructions.as_deref(), &request.previous), (Some("the tests"), &None));
    assert!(request.user.contains("answer 2") && !request.user.contains("question 3"));
    assert_eq!((request.messages.len(), request.streams), (4, true));
    match &seen(&mut events)[..] {
        [
            Event::SessionBeforeCompact(before),
            Event::SessionCompacting(compacting),
            Event::SessionCompact(after),
        ] => {
            assert_eq!(before.custom_instructions.as_deref(), Some("the tests"));
            assert_eq!(
                (before.reason, compacting.reason),
                (CompactReason::Manual, CompactReason::Manual)
            );
            assert_eq!(before.prepared.first_kept, ids[4]);
            assert_eq!(compacting.prepared.messages_to_summarize.len(), 4);
            assert_eq!(after.entry.id(), compacted.entry.id());
            assert!(!after.from_extension);
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_context_past_the_threshold_is_compacted() {
    let big = ModelSettings::new().reserve_tokens(10);
    let compaction =
        CompactionSettings::new().reserve_tokens(100).keep_recent_tokens(50).model("acme/big", big);
    let settings = AgentSettings::new()
        .compaction(compaction)
        .context_window(1000)
        .context_window_of("acme/big", 2000);
    // A model's own window and reserve count; the size at the boundary is not past it.
    let cases = [("m1", 900, false), ("m1", 901, true), ("big", 1990, false), ("big", 1991, true)];
    for (model, tokens, is_due) in cases {
        for enabled in [true, false] {
            let mut settings = settings.clone();
            settings.compaction.enabled = enabled;
            let session = Session::in_memory("/p");
            talk(&session, 1..=1);
            let kept = session.append(user(&long("kept"))).unwrap();
            session.append(answer_of_size(model, tokens)).unwrap();
            let agent = AgentSession::new(session)
                .with_summarizer(Scripted::plays([]))
                .with_settings(settings);
            let mut events = agent.subscribe();
            let checked = agent.compact_if_needed(&CancellationToken::new()).await.unwrap();
            assert_eq!(checked.is_some(), is_due && enabled, "{model} {tokens} {enabled}");
            if let Some(compaction) = checked {
                assert_eq!(done(Ok(compaction)).first_kept, kept);
                let Event::SessionCompact(compacted) = seen(&mut events).pop().unwrap() else {
                    panic!()
                };
                assert_eq!(compacted.reason, CompactReason::Threshold);
                // A context that a summary cannot make smaller is not compacted again.
                let again = agent.compact_if_needed(&CancellationToken::new()).await.unwrap();
                assert!(again.is_none());
            }
            assert_eq!(names(&mut events), Vec::<&str>::new());
        }
    }
}

#[tokio::test]
async fn nothing_to_compact() {
    let session = Session::in_memory("/p");
    let summarizer = Scripted::plays([]);
    let agent = AgentSession::new(session).with_summarizer(summarizer.clone());
    let mut events = agent.subscribe();
    assert!(matches!(agent.compact(keep_a_turn()).await, Ok(Compaction::TooSmall)), "empty");
    talk(&agent.session(), 1..=1);
    assert!(matches!(agent.compact(CompactOptions::default()).await, Ok(Compaction::TooSmall)));
    assert_eq!(names(&mut events), Vec::<&str>::new());
    talk(&agent.session(), 2..=2);
    done(agent.compact(keep_a_turn()).await);
    let mut events = agent.subscribe();
    assert!(matches!(agent.compact(keep_a_turn()).await, Ok(Compaction::AlreadyCompacted)));
    assert_eq!((names(&mut events).len(), summarizer.requests().len()), (0, 1));
    // Past the threshold, but with nothing to gain.
    let settings = AgentSettings::new().context_window(1);
    agent.set_settings(settings);
    assert!(agent.compact_if_needed(&CancellationToken::new()).await.unwrap().is_none());
}

fn every_error() -> Vec<ModelError> {
    let limit = Duration::from_secs(3);
    vec![
        ModelError::Timeout { waiting: Waiting::More, limit },
        ModelError::Http { status: 500, message: "oops".into() },
        ModelError::Http { status: 400, message: "no such model".into() },
        ModelError::Connection("reset".into()),
        ModelError::Server { kind: "overloaded".into(), message: "later".into() },
        ModelError::Protocol("not JSON".into()),
        ModelError::Length,
        ModelError::Empty,
        ModelError::ToolCall,
        ModelError::Refused("safety".into()),
        ModelError::Command("exited with 1".into()),
        ModelError::NotConfigured,
    ]
}

#[tokio::test]
async fn a_failed_compaction_writes_nothing_and_is_reported() {
    let (home, session) = Home::new();
    let ids = talk(&session, 1..=3);
    let summarizer = Scripted::plays([]);
    let agent = AgentSession::new(session).with_summarizer(summarizer.clone());
    let bytes = home.bytes();
    for expected in every_error() {
        summarizer.play(Play::Fail(expected.clone()));
        let mut events = agent.subscribe();
        match agent.compact(keep_a_turn()).await {
            Err(AgentError::Model(error)) => assert_eq!(error, expected),
            other => panic!("{other:?}"),
        }
        let events = seen(&mut events);
        let event_names: Vec<&str> = events.iter().map(Event::name).collect();
        assert_eq!(
            event_names,
            ["session_before_compact", "session_compacting", "session_compact_failed"]
        );
        let Some(Event::SessionCompactFailed(failed)) = events.last() else { panic!() };
        assert_eq!((&failed.error, failed.aborted), (&expected.to_string(), false));
        assert_eq!((home.bytes(), agent.session().leaf()), (bytes.clone(), ids.last().cloned()));
        assert_eq!(agent.running(), None);
    }
    assert_eq!(summarizer.requests().len(), every_error().len(), "one request for each error");
    for nothing in ["", " \n"] {
        summarizer.play(Play::Say(nothing));
        let empty = agent.compact(keep_a_turn()).await;
        assert!(matches!(empty, Err(AgentError::Model(ModelError::Empty))));
    }

    agent.set_summarizer(None);
    let mut events = agent.subscribe();
    let result = agent.compact(keep_a_turn()).await;
    assert!(matches!(result, Err(AgentError::Model(ModelError::NotConfigured))));
    assert_eq!(names(&mut events), ["session_before_compact", "session_compact_failed"]);
    assert_eq!(home.bytes(), bytes);
}

#[tokio::test]
async fn an_aborted_compaction_writes_nothing_and_is_reported() {
    for at_the_handlers in [true, false] {
        for by_token in [true, false] {
            for play in [Play::Wait("late"), Play::Hang, Play::Fail(ModelError::Canceled)] {
                let is_reported = matches!(play, Play::Fail(_));
                let (home, session) = Home::new();
                talk(&session, 1..=3);
                let summarizer = Scripted::plays([play]);
                let extension = match at_the_handlers {
                    true => Extension::hanging(),
                    false => Arc::default(),
                };
                let agent = AgentSession::new(session)
                    .with_summarizer(summarizer.clone())
                    .with_hooks("e", extension.clone());
                let (bytes, mut events) = (home.bytes(), agent.subscribe());
                let options = keep_a_turn();
                let cancel = options.cancel.clone();
                let stop = async {
                    match at_the_handlers {
                        true => extension.entered().await,
                        false => summarizer.arrived().await,
                    }
                    match by_token {
                        _ if is_reported && !at_the_handlers => {}
                        true => cancel.cancel(),
                        false => assert_eq!(agent.abort(), Some(Operation::Compaction)),
                    }
                };
                let (compaction, ()) = tokio::join!(agent.compact(options), stop);
                assert!(matches!(compaction, Ok(Compaction::Aborted)), "{compaction:?}");
                let Some(Event::SessionCompactFailed(failed)) = seen(&mut events).pop() else {
                    panic!()
                };
                assert!(failed.aborted);
                assert_eq!((home.bytes(), agent.running()), (bytes, None));
            }
        }
    }
}

#[tokio::test]
async fn dropping_the_future_writes_nothing() {
    let (home, session) = Home::new();
    talk(&session, 1..=3);
    let summarizer = Scripted::plays([Play::Wait("late")]);
    let agent = AgentSession::new(session).with_summarizer(summarizer.clone());
    let bytes = home.bytes();
    {
        let work = agent.compact(keep_a_turn());
        tokio::select! {
            done = work => panic!("{done:?}"),
            () = summarizer.arrived() => {}
        }
    }
    summarizer.go();
    assert_eq!((home.bytes(), agent.running()), (bytes, None));
    done(agent.compact(keep_a_turn()).await);
}

#[tokio::test]
async fn a_split_turn_is_summarized_in_a_separate_request() {
    for with_history in [true, false] {
        let session = Session::in_memory("/p");
        if with_history {
            talk(&session, 1..=1);
        }
        session.append(user(&long("request"))).unwrap();
        session.append(call("t1", "write", "b.rs")).unwrap();
        session.append(result("t1", "written")).unwrap();
        let rest = session.append(answer(&long("rest"))).unwrap();
        let summarizer = Scripted::plays(match with_history {
            true => vec![Play::Cost("H", 70), Play::Cost("P", 30)],
            false => vec![Play::Cost("P", 30)],
        });
        let agent = AgentSession::new(session).with_summarizer(summarizer.clone());
        let options = CompactOptions::new().keep_recent_tokens(50);
        let compacted = done(agent.compact(options).await);
        assert_eq!(compacted.first_kept, rest);
        let raw = json_of(&compacted.entry);
        let history = if with_history { "H" } else { "No prior history." };
        let files = "\n\n<modified-files>\nb.rs\n</modified-files>";
        let text = format!("{history}\n\n---\n\n**Turn Context (split turn):**\n\nP{files}");
        assert_eq!(raw["summary"], text);
        assert_eq!(raw["details"]["modifiedFiles"], json!(["b.rs"]));
        let (input, output) = if with_history { (100, 20) } else { (30, 10) };
        assert_eq!(
            (&raw["usage"]["input"], &raw["usage"]["output"]),
            (&json!(input), &json!(output))
        );
        let requests = summarizer.requests();
        assert_eq!(requests.len(), 1 + usize::from(with_history));
        let prefix = requests.last().unwrap();
        assert!(prefix.user.contains("beginning of a turn") && prefix.user.contains("request"));
        assert!(!prefix.user.contains("question 1") && !prefix.user.contains("rest ."));
        assert_eq!(
            requests.iter().filter(|request| request.streams).count(),
            1,
            "one text to look at"
        );
    }
    // Either failing is a failure.
    for plays in [
        [Play::Say("H"), Play::Fail(ModelError::Length)],
        [Play::Fail(ModelError::Length), Play::Hang],
    ] {
        let (home, session) = Home::new();
        talk(&session, 1..=1);
        session.append(user(&long("request"))).unwrap();
        session.append(answer(&long("rest"))).unwrap();
        let bytes = home.bytes();
        let agent = AgentSession::new(session).with_summarizer(Scripted::plays(plays));
        let options = CompactOptions::new().keep_recent_tokens(50);
        let failed = agent.compact(options).await;
        assert!(matches!(failed, Err(AgentError::Model(ModelError::Length))), "{failed:?}");
        assert_eq!(home.bytes(), bytes);
    }
}

#[tokio::test]
async fn a_second_compaction_continues_the_first() {
    let session = Session::in_memory("/p");
    let summarizer = Scripted::plays([]);
    let agent = AgentSession::new(session).with_summarizer(summarizer.clone());
    let turn = |n: usize, tool: &str, path: &str| {
        append(&agent, user(&long(&format!("question {n}"))));
        append(&agent, call(&format!("t{n}"), tool, path));
        append(&agent, result(&format!("t{n}"), "ok"));
        append(&agent, answer(&long(&format!("answer {n}"))))
    };
    turn(1, "read", "a.rs");
    turn(2, "edit", "b.rs");
    let first = done(agent.compact(keep_a_turn()).await);
    let text =
        |compacted: &Compacted| json_of(&compacted.entry)["summary"].as_str().unwrap().to_owned();
    assert_eq!(text(&first), "Summary 1\n\n<read-files>\na.rs\n</read-files>");
    turn(3, "read", "c.rs");
    let second = done(agent.compact(keep_a_turn()).await);
    // The messages that the first one kept are summarized now, and its summary is handed on.
    let request = &summarizer.requests()[1];
    assert_eq!(request.previous.as_deref(), Some(&*text(&first)));
    assert!(request.user.contains("<previous-summary>\nSummary 1"));
    assert!(request.user.contains("question 2") && !request.user.contains("question 1"));
    assert!(request.messages.iter().all(|message| !message.contains("compactionSummary")));
    let details = json!({ "readFiles": ["a.rs"], "modifiedFiles": ["b.rs"] });
    assert_eq!(json_of(&second.entry)["details"], details);
    turn(4, "write", "a.rs");
    let third = done(agent.compact(keep_a_turn()).await);
    let details = json!({ "readFiles": ["a.rs", "c.rs"], "modifiedFiles": ["b.rs"] });
    assert_eq!(json_of(&third.entry)["details"], details);
    assert_eq!(lines(&agent.context().unwrap()).len(), 5, "the summary and the last turn");
}

#[tokio::test]
async fn the_prompt_is_carried() {
    let session = Session::in_memory("/p");
    let system = br#"{"role":"system","content":"Rules.","timestamp":7}"#;
    session.append(Message::from_json(system).unwrap()).unwrap();
    talk(&session, 1..=3);
    let agent = AgentSession::new(session).with_summarizer(Scripted::plays([]));
    let compacted = done(agent.compact(keep_a_turn()).await);
    let raw = json_of(&compacted.entry);
    assert_eq!(raw["systemMessage"]["content"], "Rules.");
    assert_eq!(raw["systemMessage"]["timestamp"].as_i64(), compacted.entry.time());
    let lines = lines(&agent.context().unwrap());
    assert_eq!(lines[..2], ["system: Rules.", "compactionSummary: Summary 1"]);
}
