//! Tests of navigation: the steps of `navigate`, its refusals, and the calls that use it.

use crate::support::handlers::{Extension, names, seen};
use crate::support::scripted::{Play, Scripted};
use crate::support::talk::{Home, answer, append, call, counted, json_of, lines, result, user};
use serde_json::json;
use treering::branch_summary::BRANCH_SUMMARY_PREAMBLE;
use treering::{EntryId, Error, NewEntry, Position, Session};
use treering_agent::{
    AgentError, AgentSession, CancellationToken, CompactOptions, Event, ForkPosition, ModelError,
    Moved, NavigateOptions, Navigation, Operation,
};

/// `u1 a1 u2 c2 r2 a3` and, from `a1`, `u3 a4`. The leaf is `a3`.
pub(crate) struct Forest {
    pub(crate) u1: EntryId,
    pub(crate) a1: EntryId,
    pub(crate) u2: EntryId,
    pub(crate) c2: EntryId,
    pub(crate) r2: EntryId,
    pub(crate) a3: EntryId,
    pub(crate) u3: EntryId,
    pub(crate) a4: EntryId,
}

pub(crate) fn forest(session: &Session) -> Forest {
    let add = |entry: NewEntry| session.append(entry).unwrap();
    let (u1, a1) = (add(user("first")), add(answer("one")));
    let (u2, c2) = (add(user("second")), add(call("t1", "read", "a.rs")));
    let (r2, a3) = (add(result("t1", "contents")), add(answer("two")));
    session.branch(a1.as_str()).unwrap();
    let (u3, a4) = (add(user("third")), add(answer("three")));
    session.branch(a3.as_str()).unwrap();
    Forest { u1, a1, u2, c2, r2, a3, u3, a4 }
}

/// Returns options that make the target the leaf and give a summary.
pub(crate) fn given(text: &str) -> NavigateOptions {
    NavigateOptions::exact().given_summary(text)
}

/// Returns options that make the target the leaf and ask for a summary.
pub(crate) fn exact_with_summary(instructions: Option<&str>) -> NavigateOptions {
    let mut options = NavigateOptions::exact().summarize(true);
    options.custom_instructions = instructions.map(str::to_owned);
    options
}

pub(crate) fn summarize() -> NavigateOptions {
    NavigateOptions::new().summarize(true)
}

pub(crate) fn moved(navigation: Result<Navigation, AgentError>) -> Moved {
    match navigation {
        Ok(Navigation::Moved(moved)) => *moved,
        other => panic!("{other:?}"),
    }
}

/// Tries to begin everything there is.
async fn try_all(agent: &AgentSession, forest: &Forest) -> Vec<(Operation, AgentError)> {
    let (entry, cancel) = (forest.u1.as_str(), CancellationToken::new());
    let here = agent.navigate(entry, NavigateOptions::exact()).await;
    let file = agent.session().path().unwrap();
    vec![
        (Operation::Turn, agent.begin_turn().err().unwrap()),
        (Operation::Navigation, agent.navigate(entry, summarize()).await.err().unwrap()),
        (Operation::Navigation, here.err().unwrap()),
        (Operation::Navigation, agent.pop_previous(summarize()).await.err().unwrap()),
        (
            Operation::Navigation,
            agent.navigate(entry, NavigateOptions::exact()).await.err().unwrap(),
        ),
        (Operation::Compaction, agent.compact(CompactOptions::default()).await.err().unwrap()),
        (Operation::Fork, agent.fork(entry, ForkPosition::At, &cancel).await.err().unwrap()),
        (Operation::Fork, agent.clone_session(&cancel).await.err().unwrap()),
        (Operation::Switch, agent.new_session(&cancel).await.err().unwrap()),
        (Operation::Switch, agent.resume(file, &cancel).await.err().unwrap()),
    ]
}

async fn all_refuse(agent: &AgentSession, running: Operation, forest: &Forest, home: &Home) {
    let (bytes, mut events) = (home.bytes(), agent.subscribe());
    assert_eq!(agent.running(), Some(running));
    for (wanted, error) in try_all(agent, forest).await {
        let text = error.to_string();
        assert!(
            text.contains(&wanted.to_string()) && text.contains(&running.to_string()),
            "{text}"
        );
        match error {
            AgentError::Busy { running: actual, wanted: refused } => {
                assert_eq!((actual, refused), (running, wanted));
            }
            other => panic!("{wanted} while {running}: {other:?}"),
        }
    }
    assert_eq!(names(&mut events), Vec::<&str>::new());
    assert_eq!(home.bytes(), bytes);
}

#[tokio::test]
async fn one_operation_at_a_time() {
    let (home, session) = Home::new();
    let forest = forest(&session);
    let hanging = Extension::hanging();
    let agent = AgentSession::new(session)
        .with_summarizer(Scripted::plays([]))
        .with_hooks("hanging", hanging.clone());

    let turn = agent.begin_turn().unwrap();
    all_refuse(&agent, Operation::Turn, &forest, &home).await;
    assert_eq!(agent.abort(), Some(Operation::Turn));
    assert!(turn.cancellation().is_cancelled());
    drop(turn);
    assert_eq!((agent.running(), agent.abort()), (None, None));

    let none = CancellationToken::new();
    let compacted = CompactOptions::new().keep_recent_tokens(1);
    let running =
        [Operation::Navigation, Operation::Compaction, Operation::Fork, Operation::Switch];
    for operation in running {
        let work = async {
            match operation {
                Operation::Navigation => {
                    let done = agent.navigate(forest.u1.as_str(), summarize()).await;
                    matches!(done, Ok(Navigation::Aborted))
                }
                Operation::Compaction => {
                    let done = agent.compact(compacted.clone()).await;
                    matches!(done, Ok(treering_agent::Compaction::Aborted))
                }
                Operation::Fork => {
                    let done = agent.fork(forest.a1.as_str(), ForkPosition::At, &none).await;
                    matches!(done, Ok(treering_agent::Forked::Aborted))
                }
                _ => {
                    let done = agent.new_session(&none).await;
                    matches!(done, Ok(treering_agent::Replaced::Aborted))
                }
            }
        };
        let look_on = async {
            hanging.entered().await;
            all_refuse(&agent, operation, &forest, &home).await;
            assert_eq!(agent.abort(), Some(operation));
        };
        let (aborted, ()) = tokio::join!(work, look_on);
        assert!(aborted, "{operation}");
        assert_eq!(agent.running(), None);
    }
}

#[tokio::test]
async fn what_cannot_be_done_fails_at_once() {
    let (home, session) = Home::new();
    let forest = forest(&session);
    let agent = AgentSession::new(session);
    let (bytes, mut events) = (home.bytes(), agent.subscribe());

    let there = agent.navigate(forest.a3.as_str(), summarize()).await;
    assert!(matches!(there, Ok(Navigation::AlreadyThere)), "the leaf needs no summarizer");
    let unknown = agent.navigate("nowhere", NavigateOptions::default()).await;
    assert!(matches!(unknown, Err(AgentError::Session(Error::UnknownEntry(_)))));
    for result in [
        agent.navigate(forest.u1.as_str(), summarize()).await,
        agent.pop_previous(NavigateOptions::default()).await,
        agent.navigate(forest.u1.as_str(), exact_with_summary(None)).await,
    ] {
        let error = result.unwrap_err();
        assert!(matches!(error, AgentError::Model(ModelError::NotConfigured)), "{error:?}");
    }
    assert_eq!(names(&mut events), Vec::<&str>::new());
    assert_eq!((home.bytes(), agent.session().leaf()), (bytes, Some(forest.a3.clone())));
    // A user message that is the leaf is where we are, too.
    let last = append(&agent, user("last"));
    let there = agent.navigate(last.as_str(), NavigateOptions::default()).await;
    assert!(matches!(there, Ok(Navigation::AlreadyThere)));
}

#[tokio::test]
async fn a_file_that_is_only_read_is_not_navigated() {
    let (home, session) = Home::new();
    let forest = forest(&session);
    drop(session);
    let newer =
        String::from_utf8(home.bytes()).unwrap().replacen("\"version\":3", "\"version\":9", 1);
    std::fs::write(&home.path, &newer).unwrap();
    let summarizer = Scripted::plays([]);
    let agent = AgentSession::new(home.reopened()).with_summarizer(summarizer.clone());
    let refused = agent.navigate(forest.u1.as_str(), summarize()).await;
    assert!(matches!(refused, Err(AgentError::Session(Error::ReadOnly { version: 9, .. }))));
    assert!(agent.compact(CompactOptions::default()).await.is_err());
    assert_eq!(summarizer.requests().len(), 0, "no request was sent");
    assert_eq!((home.bytes(), agent.running()), (newer.into_bytes(), None));
}

#[tokio::test]
async fn the_summary_covers_the_abandoned_branch() {
    let session = Session::in_memory("/p");
    let forest = forest(&session);
    let Forest { u1, a1, u2, c2, r2, a3, u3, a4 } = forest;
    session.branch(a4.as_str()).unwrap();
    let compaction = session.append(NewEntry::compaction("sum", Some(&u3), 9)).unwrap();
    let a5 = session.append(answer("five")).unwrap();
    session.branch(Position::Start).unwrap();
    let root = session.append(user("elsewhere")).unwrap();

    let agent = AgentSession::new(session);
    let nothing: Vec<&EntryId> = Vec::new();
    let cases = [
        (Some(&a3), &a4, Some(&a1), vec![&u2, &c2, &r2, &a3]),
        (Some(&a3), &u2, Some(&u2), vec![&c2, &r2, &a3]),
        (Some(&a3), &u1, Some(&u1), vec![&a1, &u2, &c2, &r2, &a3]),
        // Forwards, nothing is left.
        (Some(&a1), &a3, Some(&a1), nothing.clone()),
        // A compaction does not end the walk.
        (Some(&a5), &a3, Some(&a1), vec![&u3, &a4, &compaction, &a5]),
        (Some(&a5), &a1, Some(&a1), vec![&u3, &a4, &compaction, &a5]),
        // Other roots share nothing.
        (Some(&a1), &root, None, vec![&u1, &a1]),
        (None, &a1, None, nothing),
    ];
    for (from, to, ancestor, left) in cases {
        agent.session().branch_in_memory(from.map(EntryId::as_str)).unwrap();
        let mut events = agent.subscribe();
        let before = agent.session().leaf();
        moved(agent.navigate(to.as_str(), NavigateOptions::default()).await);
        match &seen(&mut events)[..] {
            [Event::SessionBeforeTree(before_tree), Event::SessionTree(after)] => {
                assert_eq!((&before_tree.target, &before_tree.old_leaf), (to, &before));
                assert_eq!(before_tree.common_ancestor.as_ref(), ancestor, "{from:?} to {to}");
                assert_eq!(before_tree.entries_to_summarize.iter().collect::<Vec<_>>(), left);
                assert_eq!((&after.old_leaf, &after.new_leaf), (&before, &agent.session().leaf()));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn where_the_leaf_goes() {
    let session = Session::in_memory("/p");
    let Forest { u1, a1, u2, c2, r2, u3, .. } = forest(&session);
    let blocks = br#"[{"type":"text","text":"from an"},{"type":"text","text":"extension"}]"#;
    let note = session.append(NewEntry::custom_message("note", blocks, true).unwrap()).unwrap();
    let state = session.append(NewEntry::custom("state", None).unwrap()).unwrap();
    let compaction = session.append(NewEntry::compaction("sum", Some(&u2), 9)).unwrap();
    let summary = session.append(NewEntry::branch_summary(Some(&a1), "sum")).unwrap();
    let label = session.label(u1.as_str(), Some("start")).unwrap();
    let a3 = session.tree().path(note.as_str()).unwrap()[5].clone();
    let end = session.append(answer("end")).unwrap();

    let agent = AgentSession::new(session);
    let cases = [
        (&u1, None, Some("first")),
        (&u2, Some(&a1), Some("second")),
        (&u3, Some(&a1), Some("third")),
        (&note, Some(&a3), Some("from an extension")),
        (&a1, Some(&a1), None),
        (&c2, Some(&c2), None),
        (&r2, Some(&r2), None),
        (&state, Some(&state), None),
        (&compaction, Some(&compaction), None),
        (&summary, Some(&summary), None),
        (&label, Some(&label), None),
    ];
    for (target, leaf, text) in cases {
        agent.session().branch(end.as_str()).unwrap();
        let moved = moved(agent.navigate(target.as_str(), NavigateOptions::default()).await);
        assert_eq!((moved.new_leaf.as_ref(), moved.editor_text.as_deref()), (leaf, text));
        assert_eq!((agent.session().leaf().as_ref(), moved.old_leaf), (leaf, Some(end.clone())));
        assert!(moved.summary.is_none() && moved.usage.is_none());
        // An exact navigation takes every entry as it is.
        agent.session().branch(end.as_str()).unwrap();
        let here = agent.navigate(target.as_str(), NavigateOptions::exact()).await;
        let Ok(Navigation::Moved(here)) = here else { panic!("{here:?}") };
        assert_eq!((here.new_leaf.as_ref(), here.editor_text), (Some(target), None));
    }
}

#[tokio::test]
async fn a_summary_comes_along_in_one_append() {
    let (journal, session) = counted();
    let forest = forest(&session);
    let summarizer = Scripted::plays([Play::Cost("It was read.", 70), Play::Say("Again.")]);
    let agent = AgentSession::new(session).with_summarizer(summarizer.clone());
    let mut events = agent.subscribe();
    let appends = journal.counts().appends;
    let options = summarize().label("tried");
    let done = moved(agent.navigate(forest.u3.as_str(), options).await);
    assert_eq!(journal.counts().appends, appends + 1, "summary and label together");

    let summary = done.summary.unwrap();
    let text =
        format!("{BRANCH_SUMMARY_PREAMBLE}It was read.\n\n<read-files>\na.rs\n</read-files>");
    let raw = json_of(&summary);
    assert_eq!(raw["type"], "branch_summary");
    assert_eq!(raw["parentId"], forest.a1.as_str(), "where the leaf went, not where it was");
    assert_eq!(raw["fromId"], forest.a3.as_str());
    assert_eq!(raw["summary"], text);
    assert_eq!(raw["details"], json!({ "readFiles": ["a.rs"], "modifiedFiles": [] }));
    assert_eq!(raw.get("fromHook"), None);
    let cost = json!({
        "input": 70, "output": 10, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 80,
        "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0, "unknown": true },
    });
    assert_eq!(raw["usage"], cost);
    assert_eq!(done.usage.unwrap().total(), 80);
    assert_eq!(done.editor_text.as_deref(), Some("third"));
    let tree = agent.session().tree();
    assert_eq!(tree.label(summary.id().as_str()), Some("tried"));
    assert_eq!(tree.label(forest.u3.as_str()), None);
    let context = agent.context().unwrap();
    assert_eq!(lines(&context)[2..], [format!("branchSummary: {text}")]);

    match &seen(&mut events)[..] {
        [Event::SessionBeforeTree(before), Event::SessionTree(after)] => {
            assert!(before.user_wants_summary);
            assert_eq!(after.summary_entry.as_ref().map(|entry| entry.id()), Some(summary.id()));
            assert_eq!(after.new_leaf, agent.session().leaf());
            assert_eq!(after.old_leaf.as_ref(), Some(&forest.a3));
            assert!(!after.from_extension);
        }
        other => panic!("{other:?}"),
    }
    let request = &summarizer.requests()[0];
    assert_eq!(request.messages.len(), 3, "a call says what was done, its result does not count");
    assert!(request.user.contains("[User]: second\n\n[Assistant tool calls]: read(path=\"a.rs\")"));
    assert!(request.streams && request.instructions.is_none() && request.previous.is_none());
    assert!(request.system.contains("summarize"));

    // From before the first entry, and to it.
    agent.session().branch(forest.a3.as_str()).unwrap();
    let again = moved(agent.navigate(forest.u1.as_str(), summarize()).await).summary.unwrap();
    assert_eq!(again.parent(), None);
    assert_eq!(agent.session().leaf().as_ref(), Some(again.id()));
}

#[tokio::test]
async fn moves_without_a_summary() {
    let (journal, session) = counted();
    let Forest { u1, a1, a3, u3, a4, .. } = forest(&session);
    let summarizer = Scripted::plays([]);
    let agent = AgentSession::new(session).with_summarizer(summarizer.clone());
    let count = || journal.counts().appends;
    let labeled = |label: &str| NavigateOptions::new().label(label);
    let before = count();
    moved(agent.navigate(a4.as_str(), labeled("there")).await);
    assert_eq!((count(), agent.session().tree().label(a4.as_str())), (before + 1, Some("there")));
    // The label of a target that is gone before is the target's.
    moved(agent.navigate(u1.as_str(), labeled("start")).await);
    assert_eq!((count(), agent.session().tree().label(u1.as_str())), (before + 2, Some("start")));
    assert_eq!(agent.context().unwrap().messages.len(), 0);
    // An empty branch is not summarized, whether it has no entries or none that speak.
    agent.session().branch(a1.as_str()).unwrap();
    moved(agent.navigate(a3.as_str(), summarize()).await);
    agent.session().label(a3.as_str(), Some("quiet")).unwrap();
    let quiet = moved(agent.navigate(a3.as_str(), summarize()).await);
    assert!(quiet.summary.is_none());
    // Where the leaf would be anyway: nothing to write.
    agent.session().branch(a1.as_str()).unwrap();
    let before = count();
    let stays = moved(agent.navigate(u3.as_str(), summarize()).await);
    assert_eq!((stays.new_leaf, stays.editor_text.as_deref()), (Some(a1), Some("third")));
    assert_eq!((count(), summarizer.requests().len()), (before, 0));
}

#[tokio::test]
async fn branches_and_the_ways_between_them() {
    let session = Session::in_memory("/p");
    let forest = forest(&session);
    let summarizer = Scripted::plays([]);
    let agent = AgentSession::new(session).with_summarizer(summarizer.clone());
    let leaves = || -> Vec<(EntryId, bool)> {
        let branches = agent.branches().unwrap();
        branches.into_iter().map(|branch| (branch.leaf, branch.is_active)).collect()
    };
    assert_eq!(leaves(), [(forest.a4.clone(), false), (forest.a3.clone(), true)]);
    agent.navigate(forest.a4.as_str(), NavigateOptions::exact()).await.unwrap();
    assert_eq!(leaves(), [(forest.a4.clone(), true), (forest.a3.clone(), false)]);
    assert_eq!(agent.session().leaf(), Some(forest.a4.clone()));

    let options = given("We tried.");
    let here = moved(agent.navigate(forest.u2.as_str(), options).await).summary.unwrap();
    let raw = json_of(&here);
    assert_eq!(
        (&raw["summary"], &raw["fromId"]),
        (&json!("We tried."), &json!(forest.a4.as_str()))
    );
    assert_eq!(raw["parentId"], forest.u2.as_str());
    assert_eq!((raw.get("fromHook"), summarizer.requests().len()), (None, 0));
    // A blank text is no summary.
    let nothing = given(" ");
    let there = moved(agent.navigate(forest.a3.as_str(), nothing).await);
    assert!(there.summary.is_none());
    assert_eq!(there.new_leaf, Some(forest.a3.clone()));

    let ask = exact_with_summary(Some("only the files"));
    let summary = moved(agent.navigate(forest.a4.as_str(), ask).await).summary.unwrap();
    assert_eq!(summary.parent(), Some(&forest.a4));
    assert!(summarizer.requests()[0].user.ends_with("Additional focus: only the files"));
    assert_eq!(summarizer.requests()[0].instructions.as_deref(), Some("only the files"));
}

#[tokio::test]
async fn pop() {
    let session = Session::in_memory("/p");
    let summarizer = Scripted::plays([]);
    let forest = forest(&session);
    let agent = AgentSession::new(session).with_summarizer(summarizer.clone());
    // To the last message of the user, whose text comes back; a summary is taken as given.
    let popped = moved(agent.pop_previous(NavigateOptions::default()).await);
    let summary = popped.summary.unwrap();
    assert_eq!(popped.editor_text.as_deref(), Some("second"));
    assert_eq!(summary.parent(), Some(&forest.a1));
    assert_eq!(json_of(&summary)["fromId"], forest.a3.as_str());
    // From there to the one before: the summary itself is left behind and handed on.
    let popped = moved(agent.pop_previous(NavigateOptions::default()).await);
    assert_eq!(
        (popped.editor_text.as_deref(), popped.summary.unwrap().parent()),
        (Some("first"), None)
    );
    assert!(summarizer.requests()[1].user.contains("Summary 1"));
    let end = agent.pop_previous(NavigateOptions::default()).await;
    assert!(matches!(end, Err(AgentError::NothingToPop)));
    // To an entry.
    agent.session().branch(forest.a3.as_str()).unwrap();
    let popped = moved(agent.pop(forest.c2.as_str(), NavigateOptions::default()).await);
    assert_eq!(popped.summary.unwrap().parent(), Some(&forest.c2));
    // A message of the user that is the leaf is not the previous one.
    agent.session().branch(forest.u2.as_str()).unwrap();
    let popped = moved(agent.pop_previous(NavigateOptions::default()).await);
    assert_eq!((popped.new_leaf.is_some(), popped.editor_text.as_deref()), (true, Some("first")));
    agent.session().branch(Position::Start).unwrap();
    let empty = agent.pop_previous(NavigateOptions::default()).await;
    assert!(matches!(empty, Err(AgentError::NothingToPop)));
}

#[tokio::test]
async fn what_another_process_wrote_can_be_gone_to() {
    let (home, session) = Home::new();
    let forest = forest(&session);
    let agent = AgentSession::new(session);
    let other = home.reopened();
    let theirs = other.append(answer("theirs")).unwrap();
    let done = moved(agent.navigate(theirs.as_str(), NavigateOptions::default()).await);
    assert_eq!((done.new_leaf, done.old_leaf), (Some(theirs), Some(forest.a3)));
}
