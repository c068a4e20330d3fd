//! Tests of the operations that replace the active session (new, resume, fork), and of names and
//! labels.

use crate::navigate::{Forest, forest};
use crate::support::handlers::{Extension, names, seen};
use crate::support::talk::{Home, append, lines, user};
use std::path::PathBuf;
use std::sync::Arc;
use treering::session::{Creation, Durability, NewSession};
use treering::store::{ListQuery, MemoryStore, Store};
use treering::{CreateOptions, Dialect, Error, Message, Session, SessionId};
use treering_agent::{
    AgentError, AgentSession, AgentSettings, CancellationToken, Decision, Event, Extractive,
    ForkPosition, Forked, Operation, Replaced, StartReason, SwitchReason,
};

fn none() -> CancellationToken {
    CancellationToken::new()
}

fn forked(done: Result<Forked, AgentError>) -> (Option<PathBuf>, Option<String>) {
    match done {
        Ok(Forked::Done { file, editor_text }) => (file, editor_text),
        other => panic!("{other:?}"),
    }
}

const SWITCHED: [&str; 4] =
    ["session_before_switch", "session_shutdown", "session_switch", "session_start"];
const FORKED: [&str; 4] =
    ["session_before_fork", "session_shutdown", "session_fork", "session_start"];

#[tokio::test]
async fn a_new_session_beside_the_old_one() {
    let (home, session) = Home::new();
    forest(&session);
    let (old, bytes) = (session.id(), home.bytes());
    let agent = AgentSession::new(session);
    let mut events = agent.subscribe();
    assert!(matches!(agent.new_session(&none()).await, Ok(Replaced::Done)));
    let new = agent.session();
    assert_ne!(new.id(), old);
    assert_eq!(
        (new.cwd(), new.leaf(), new.header().parent_session),
        ("/project".into(), None, None)
    );
    assert_eq!(new.path().unwrap().parent(), home.path.parent());
    assert_eq!((home.files(), home.bytes()), (1, bytes.clone()), "no message, no file");
    append(&agent, user("hello"));
    assert_eq!((home.files(), home.bytes()), (2, bytes));

    match &seen(&mut events)[..] {
        [
            Event::SessionBeforeSwitch(before),
            Event::SessionShutdown(shutdown),
            Event::SessionSwitch(switch),
            Event::SessionStart(start),
        ] => {
            assert_eq!((before.reason, &before.target), (SwitchReason::New, &None));
            assert_eq!(shutdown.session, old);
            assert_eq!((switch.reason, &switch.session), (SwitchReason::New, &new.id()));
            assert_eq!(switch.previous.as_ref(), Some(&home.path));
            assert_eq!((start.reason, &start.session), (StartReason::New, &new.id()));
            assert_eq!(start.file, new.path());
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn options_go_from_session_to_session() {
    let dir = tempfile::tempdir().unwrap();
    for durability in [Durability::Each, Durability::BATCHED, Durability::None] {
        for creation in [Creation::AtOnce, Creation::FirstAssistantMessage] {
            let path = dir.path().join(format!("{durability:?}-{creation:?}.jsonl"));
            let options = CreateOptions::new().durability(durability).creation(creation);
            let session = Session::create_at(&path, "/project", options).unwrap();
            let Forest { u1, u2, .. } = forest(&session);
            let agent = AgentSession::new(session);
            let check = |what: &str| {
                let options = agent.session().create_options();
                assert_eq!(
                    (options.durability, options.creation),
                    (durability, creation),
                    "{what}"
                );
                let path = agent.session().path().unwrap();
                assert_eq!(path.parent(), Some(dir.path()), "{what}");
            };
            forked(agent.fork(u2.as_str(), ForkPosition::At, &none()).await);
            check("fork");
            forked(agent.clone_session(&none()).await);
            check("clone");
            forked(agent.fork(u1.as_str(), ForkPosition::Before, &none()).await);
            check("fork before the first message");
            append(&agent, user("hello"));
            check("a first message");
            assert!(matches!(agent.new_session(&none()).await, Ok(Replaced::Done)));
            check("new session");
            assert!(matches!(agent.resume(&path, &none()).await, Ok(Replaced::Done)));
            check("resume");
            append(&agent, user("more"));
        }
    }
}

#[tokio::test]
async fn sessions_keep_their_dialect_and_their_system_prompt() {
    let dir = tempfile::tempdir().unwrap();
    let new = NewSession::new().dialect(Dialect::Chimera).system_prompt("Be brief.");
    let options = CreateOptions::new().session(new.clone());
    let path = dir.path().join("session.jsonl");
    for session in [
        Session::in_memory_with("/project", new).unwrap(),
        Session::create_at(path, "/project", options).unwrap(),
    ] {
        let agent = AgentSession::new(session);
        let question = append(&agent, user("hello"));
        let check = |what: &str| {
            let session = agent.session();
            assert_eq!(session.dialect(), Dialect::Chimera, "{what}");
            let prompt = session.header().get("system_prompt").map(<[u8]>::to_vec);
            assert_eq!(prompt.as_deref(), Some(&b"\"Be brief.\""[..]), "{what}");
        };
        forked(agent.fork(&question, ForkPosition::At, &none()).await);
        check("fork");
        forked(agent.clone_session(&none()).await);
        check("clone");
        forked(agent.fork(&question, ForkPosition::Before, &none()).await);
        check("fork before the first message");
        assert!(matches!(agent.new_session(&none()).await, Ok(Replaced::Done)));
        check("new session");
        append(&agent, user("hello"));
        check("a first message");
    }
}

#[tokio::test]
async fn resuming_from_disk() {
    let (home, session) = Home::new();
    let Forest { a3, .. } = forest(&session);
    let (other_home, other) = Home::new();
    other.append(user("the other")).unwrap();
    let agent = AgentSession::new(other);
    let mut events = agent.subscribe();
    assert!(matches!(agent.resume(&home.path, &none()).await, Ok(Replaced::Done)));
    assert_eq!((agent.session().id(), agent.session().leaf()), (session.id(), Some(a3)));
    let events = seen(&mut events);
    assert_eq!(events.iter().map(Event::name).collect::<Vec<_>>(), SWITCHED);
    let [
        Event::SessionBeforeSwitch(before),
        _,
        Event::SessionSwitch(switch),
        Event::SessionStart(start),
    ] = &events[..]
    else {
        panic!()
    };
    assert_eq!((before.reason, before.target.as_ref()), (SwitchReason::Resume, Some(&home.path)));
    assert_eq!(switch.previous.as_ref(), Some(&other_home.path));
    assert_eq!((start.reason, start.file.as_ref()), (StartReason::Resume, Some(&home.path)));
}

#[tokio::test]
async fn what_cannot_be_opened_replaces_nothing() {
    let (home, session) = Home::new();
    forest(&session);
    let id = session.id();
    let agent = AgentSession::new(session);
    let garbage = home.dir.path().join("garbage.jsonl");
    std::fs::write(&garbage, "no session\n").unwrap();
    for file in [home.dir.path().join("missing.jsonl"), garbage] {
        let mut events = agent.subscribe();
        let failed = agent.resume(&file, &none()).await;
        assert!(matches!(failed, Err(AgentError::Session(_))), "{failed:?}");
        assert_eq!(names(&mut events), ["session_before_switch"], "no session has ended");
        assert_eq!((agent.session().id(), agent.running()), (id.clone(), None));
    }
    append(&agent, user("still here"));
}

#[tokio::test]
async fn forks_before_at_and_of_everything() {
    let (home, session) = Home::new();
    let Forest { u1, a1, u2, c2, a4, .. } = forest(&session);
    session.label(a1.as_str(), Some("kept")).unwrap();
    session.branch(a4.as_str()).unwrap();
    drop(session);
    let bytes = home.bytes();
    // (entry, position, texts of the fork, text for the editor)
    let one = ["user: first", "assistant: one"];
    let two = [&one[..], &["user: second", "assistant: "]].concat();
    let cases = [
        (&u2, ForkPosition::Before, one.to_vec(), Some("second")),
        (&u2, ForkPosition::At, two[..3].to_vec(), None),
        (&c2, ForkPosition::At, two.clone(), None),
        (&u1, ForkPosition::Before, vec![], Some("first")),
        (&u1, ForkPosition::At, one[..1].to_vec(), None),
    ];
    for (entry, position, expected, text) in cases {
        let agent = AgentSession::new(home.reopened());
        let old = agent.session().id();
        let mut events = agent.subscribe();
        let (file, editor) = forked(agent.fork(entry.as_str(), position, &none()).await);
        let new = agent.session();
        assert_eq!((new.path(), editor.as_deref()), (file.clone(), text));
        assert_ne!((new.id(), file.as_ref()), (old.clone(), Some(&home.path)));
        let parent = new.header().parent_session;
        assert_eq!(parent.as_deref(), home.path.to_str(), "{entry} {position:?}");
        assert_eq!(lines(&new.context().unwrap()), expected);
        assert_eq!(new.cwd(), "/project");
        assert_eq!(home.bytes(), bytes);
        let events = seen(&mut events);
        assert_eq!(events.iter().map(Event::name).collect::<Vec<_>>(), FORKED);
        let [
            Event::SessionBeforeFork(before),
            Event::SessionShutdown(shutdown),
            Event::SessionFork(fork),
            Event::SessionStart(start),
        ] = &events[..]
        else {
            panic!()
        };
        assert_eq!((&before.entry, before.position), (entry, position));
        assert_eq!((&shutdown.session, &fork.session), (&old, &new.id()));
        assert_eq!((fork.previous.as_ref(), start.reason), (Some(&home.path), StartReason::Fork));
        // Messages in the fork stay in the fork.
        append(&agent, user("more"));
        let again = Session::open(file.unwrap()).unwrap();
        assert_eq!((again.id(), again.header().parent_session), (new.id(), parent));
        assert_eq!(again.context().unwrap(), new.context().unwrap());
        let keeps_label = new.tree().contains(a1.as_str());
        assert_eq!(new.tree().label(a1.as_str()), keeps_label.then_some("kept"));
    }
    let agent = AgentSession::new(home.reopened());
    let mut events = agent.subscribe();
    let wrong = agent.fork(a1.as_str(), ForkPosition::Before, &none()).await;
    assert!(matches!(wrong, Err(AgentError::NotAUserMessage(id)) if id == a1));
    let unknown = agent.fork("nowhere", ForkPosition::At, &none()).await;
    assert!(matches!(unknown, Err(AgentError::Session(Error::UnknownEntry(_)))));
    assert_eq!(names(&mut events), Vec::<&str>::new());

    let before = agent.context().unwrap();
    let (file, editor) = forked(agent.clone_session(&none()).await);
    assert_eq!((file.is_some(), editor), (true, None));
    let texts = lines(&agent.context().unwrap());
    assert_eq!(texts, lines(&before));
    assert_eq!(names(&mut events), FORKED);
}

#[tokio::test]
async fn in_memory_everything_stays_in_memory() {
    let session = Session::in_memory("/p");
    let forest = forest(&session);
    let agent = AgentSession::new(session);
    let id = agent.session().id();
    let (file, editor) =
        forked(agent.fork(forest.u2.as_str(), ForkPosition::Before, &none()).await);
    assert_eq!((file, editor.as_deref()), (None, Some("second")));
    assert_eq!((agent.session().path(), agent.context().unwrap().messages.len()), (None, 2));
    assert_ne!(agent.session().id(), id);
    let (file, _) = forked(agent.fork(forest.u1.as_str(), ForkPosition::Before, &none()).await);
    assert_eq!((file, agent.session().leaf()), (None, None));
    let empty = agent.clone_session(&none()).await;
    assert!(matches!(empty, Err(AgentError::Session(Error::UnknownEntry(_)))));
    assert!(matches!(agent.new_session(&none()).await, Ok(Replaced::Done)));
    assert_eq!((agent.session().path(), agent.session().cwd()), (None, "/p".into()));
}

#[tokio::test]
async fn handlers_can_refuse_and_users_can_abort() {
    let refusing =
        Extension { switch: Decision::Cancel, fork: Decision::Cancel, ..Default::default() };
    let (home, session) = Home::new();
    let forest = forest(&session);
    let id = session.id();
    let agent = AgentSession::new(session).with_hooks("ext", Arc::new(refusing));
    let mut events = agent.subscribe();
    let new = agent.new_session(&none()).await;
    assert!(matches!(new, Ok(Replaced::Canceled { hook }) if &*hook == "ext"));
    let resumed = agent.resume(&home.path, &none()).await;
    assert!(matches!(resumed, Ok(Replaced::Canceled { .. })));
    let fork = agent.fork(forest.a1.as_str(), ForkPosition::At, &none()).await;
    assert!(matches!(fork, Ok(Forked::Canceled { hook }) if &*hook == "ext"));
    let expected = ["session_before_switch", "session_before_switch", "session_before_fork"];
    assert_eq!(names(&mut events), expected);
    assert_eq!((agent.session().id(), home.files()), (id.clone(), 1));

    let agent = AgentSession::new(home.reopened());
    let given_up = none();
    given_up.cancel();
    assert!(matches!(agent.new_session(&given_up).await, Ok(Replaced::Aborted)));
    assert!(matches!(agent.clone_session(&given_up).await, Ok(Forked::Aborted)));
    assert_eq!((agent.session().id(), home.files(), agent.running()), (id, 1, None));
}

#[tokio::test]
async fn start_and_shutdown_are_reported() {
    let agent = AgentSession::new(Session::in_memory("/p"));
    let mut events = agent.subscribe();
    agent.start().await;
    agent.shutdown().await;
    match &seen(&mut events)[..] {
        [Event::SessionStart(start), Event::SessionShutdown(shutdown)] => {
            assert_eq!((start.reason, &start.session), (StartReason::Startup, &shutdown.session));
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn names_and_labels() {
    let session = Session::in_memory("/p");
    let forest = forest(&session);
    let agent = AgentSession::new(session);
    let mut events = agent.subscribe();
    agent.set_name("  The\nparser ").await.unwrap();
    agent.set_name("").await.unwrap();
    let names: Vec<Option<String>> = seen(&mut events)
        .into_iter()
        .map(|event| match event {
            Event::SessionInfoChanged(changed) => changed.name.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(names, [Some("The parser".into()), None]);

    agent.label(forest.a1.as_str(), Some("good")).unwrap();
    assert_eq!(agent.session().tree().label(forest.a1.as_str()), Some("good"));
    agent.label(&forest.a1, None).unwrap();
    assert_eq!(agent.session().tree().label(forest.a1.as_str()), None);
    // The beginning of an id names no entry.
    for unknown in ["nowhere", &forest.a1.as_str()[..7]] {
        let refused = agent.label(unknown, Some("x"));
        assert!(matches!(refused, Err(AgentError::Session(Error::UnknownEntry(_)))));
    }
    // Neither has to wait.
    let _turn = agent.begin_turn().unwrap();
    agent.label(forest.a1.as_str(), Some("good")).unwrap();
    agent.set_name("x").await.unwrap();
    assert_eq!(agent.running(), Some(Operation::Turn));
}

#[tokio::test]
async fn forks_of_files_that_are_never_written_go_below_the_agents_own_root() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("claude.jsonl");
    let record = r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","cwd":"/project","timestamp":"2026-01-05T09:00:01.000Z","message":{"role":"user","content":"hello"}}"#;
    std::fs::write(&file, format!("{record}\n")).unwrap();
    let files = || std::fs::read_dir(dir.path()).unwrap().count();
    let agent = AgentSession::new(Session::open(&file).unwrap());
    for refused in [
        agent.fork("u1", ForkPosition::At, &none()).await.err(),
        agent.fork("u1", ForkPosition::Before, &none()).await.err(),
        agent.clone_session(&none()).await.err(),
        agent.new_session(&none()).await.err(),
    ] {
        let is_expected =
            matches!(refused, Some(AgentError::Session(Error::NoForkDirectory { .. })));
        assert!(is_expected, "{refused:?}");
    }
    assert_eq!(files(), 1, "nothing beside it");
    let root = dir.path().join("own");
    let own = treering::Catalog::new(&root).dir_for("/project");
    let settings = AgentSettings::new().sessions_root(root);
    for position in [ForkPosition::At, ForkPosition::Before] {
        let agent = AgentSession::new(Session::open(&file).unwrap());
        let agent = agent.with_settings(settings.clone());
        let (path, _) = forked(agent.fork("u1", position, &none()).await);
        assert_eq!(path.unwrap().parent(), Some(&*own), "{position:?}");
        append(&agent, user("more"));
        assert_eq!(agent.session().dialect(), treering::Dialect::Pi);
    }
    let agent = AgentSession::new(Session::open(&file).unwrap()).with_settings(settings);
    let (path, _) = forked(agent.clone_session(&none()).await);
    assert_eq!(path.unwrap().parent(), Some(&*own));
    assert_eq!(agent.context().unwrap().messages.len(), 1);
    assert_eq!(files(), 2, "the session and the agent's own root");
}

/// Compaction, forks and new sessions of an agent whose sessions are in a store.
#[tokio::test]
async fn an_agent_in_a_store() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let session = Session::create_in(&store, "/project", CreateOptions::new()).unwrap();
    let first = session.id();
    let question = session.append(Message::user("one")).unwrap();
    session.append(Message::assistant("acme", "m", "two")).unwrap();
    let agent = AgentSession::new(session)
        .with_summarizer(Arc::new(Extractive::default()))
        .with_store(Arc::clone(&store));
    forked(agent.fork(&question, ForkPosition::At, &none()).await);
    let fork = agent.session();
    assert_eq!(fork.context().unwrap().messages.len(), 1);
    assert_eq!(fork.header().parent_session.as_deref(), Some(first.as_str()));
    forked(agent.fork(&question, ForkPosition::Before, &none()).await);
    let parent = agent.session().header().parent_session;
    assert_eq!(parent.as_deref(), Some(fork.id().as_str()));
    assert!(matches!(agent.new_session(&none()).await, Ok(Replaced::Done)));
    append(&agent, user("anew"));
    assert_eq!(store.list(&ListQuery::new()).unwrap().sessions.len(), 3);
    assert!(matches!(agent.resume_stored(&first, &none()).await, Ok(Replaced::Done)));
    assert_eq!(agent.session().context().unwrap().messages.len(), 2);
    let unknown = SessionId::new("unknown").unwrap();
    let failed = agent.resume_stored(&unknown, &none()).await;
    assert!(matches!(failed, Err(AgentError::Session(Error::UnknownSession(_)))), "{failed:?}");
    assert_eq!(agent.session().id(), first, "the session stays");
}
