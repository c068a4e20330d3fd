//! Answers and records that arrive after the leaf was moved.

use crate::support::server::Server;
use crate::support::talk::{Home, answer as assistant, append, lines, user};
use crate::support::wire::{answer, whole};
use crate::support::{Api, chat_model, still};
use std::sync::Arc;
use treering::{EntryId, Session};
use treering_agent::{AgentSession, CancellationToken, OnDelta, TurnReport};

/// A conversation in a file: a question, its answer, and another branch of one entry.
struct Scene {
    home: Home,
    agent: AgentSession,
    start: EntryId,
    other: EntryId,
}

fn scene() -> Scene {
    let (home, session) = Home::new();
    let agent = AgentSession::new(session);
    let start = append(&agent, user("start"));
    let other = append(&agent, assistant("other"));
    agent.session().branch(start.as_str()).unwrap();
    append(&agent, assistant("leaf"));
    Scene { home, agent, start, other }
}

impl Scene {
    /// Asks a question, and does `meanwhile` once the answer has begun to arrive.
    async fn say(&self, meanwhile: impl FnOnce() + Send + 'static) -> TurnReport {
        let _still = still();
        let server = Server::start(vec![answer(&whole(Api::OpenAi, &["An answer."]))]).await;
        let model = chat_model(Api::OpenAi, &server.url());
        let mut meanwhile = Some(meanwhile);
        let on_delta: OnDelta = Box::new(move |_| {
            if let Some(meanwhile) = meanwhile.take() {
                meanwhile();
            }
        });
        let cancel = CancellationToken::new();
        self.agent.prompt(&*model, "A question?", Some(on_delta), &cancel).await.unwrap()
    }

    fn others(&self) -> Session {
        self.home.reopened()
    }

    fn parent(&self, id: &EntryId) -> EntryId {
        self.agent.session().entry(id.as_str()).unwrap().parent().unwrap().clone()
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_stays_with_its_question_when_the_session_goes_elsewhere() {
    let scene = scene();
    let (session, other) = (scene.agent.session(), scene.other.clone());
    let turn = scene.say(move || drop(session.branch(other.as_str()).unwrap())).await;
    assert_eq!(scene.parent(&turn.answer), turn.question);
    assert_eq!(scene.agent.session().leaf(), Some(scene.other.clone()));
    assert_eq!(scene.others().leaf(), Some(scene.other));
    assert_eq!(lines(&scene.agent.context().unwrap()), ["user: start", "assistant: other"]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_takes_back_no_move_of_another_process() {
    let scene = scene();
    let (others, other) = (scene.others(), scene.other.clone());
    let turn = scene
        .say(move || {
            others.refresh().unwrap();
            others.branch(other.as_str()).unwrap();
        })
        .await;
    assert_eq!(scene.parent(&turn.answer), turn.question);
    assert_eq!(scene.others().leaf(), Some(scene.other.clone()), "where the other process went");
    assert_eq!(scene.agent.session().leaf(), Some(turn.answer.clone()), "where the turn is");
    // The next question makes this branch the active one again.
    let next = append(&scene.agent, user("next"));
    assert_eq!(scene.parent(&next), turn.answer);
    assert_eq!(scene.others().leaf(), Some(next));
}

#[tokio::test(start_paused = true)]
async fn a_label_of_another_process_does_not_separate_an_answer_from_its_question() {
    let scene = scene();
    let (others, start) = (scene.others(), scene.start.clone());
    let turn = scene
        .say(move || {
            others.refresh().unwrap();
            others.follow().unwrap();
            others.label(start.as_str(), Some("here")).unwrap();
        })
        .await;
    assert_eq!(scene.others().leaf(), Some(turn.answer.clone()));
    assert_eq!(scene.agent.session().leaf(), Some(turn.answer));
    let texts = ["user: start", "assistant: leaf", "user: A question?", "assistant: An answer."];
    assert_eq!(lines(&scene.others().context().unwrap()), texts);
    assert_eq!(scene.others().tree().label(scene.start.as_str()), Some("here"));
}

#[tokio::test(start_paused = true)]
async fn a_conversation_of_another_process_below_the_question_is_its_own_branch() {
    let scene = scene();
    let others = Arc::new(scene.others());
    let theirs = Arc::clone(&others);
    let turn = scene
        .say(move || {
            theirs.refresh().unwrap();
            theirs.follow().unwrap();
            theirs.append(user("theirs")).unwrap();
        })
        .await;
    assert_eq!(scene.parent(&turn.answer), turn.question);
    assert_eq!(scene.agent.session().leaf(), Some(turn.answer));
    assert_eq!(scene.others().leaf(), others.leaf());
}

#[tokio::test]
async fn a_label_and_a_name_take_back_no_move_of_another_process() {
    let scene = scene();
    let own = scene.agent.session().leaf().unwrap();
    scene.others().branch(scene.other.as_str()).unwrap();
    let label = scene.agent.label(scene.start.as_str(), Some("here")).unwrap();
    assert_eq!(scene.parent(&label), own);
    assert_eq!(scene.others().leaf(), Some(scene.other.clone()));
    scene.agent.set_name("Colors").await.unwrap();
    let others = scene.others();
    assert_eq!(others.leaf(), Some(scene.other.clone()));
    assert_eq!(others.tree().label(scene.start.as_str()), Some("here"));
    assert_eq!(others.name().as_deref(), Some("Colors"));
    // This session stays on its own branch, and its next message makes that branch active.
    let next = append(&scene.agent, user("next"));
    assert_eq!(scene.others().leaf(), Some(next));
    assert_eq!(
        lines(&scene.others().context().unwrap()),
        ["user: start", "assistant: leaf", "user: next"]
    );
}

#[cfg(unix)]
#[tokio::test]
async fn the_record_of_a_command_stays_where_the_command_was_started() {
    use treering_agent::{OnOutput, ShellContext};
    let dir = tempfile::tempdir().unwrap();
    for in_this_process in [true, false] {
        let path = dir.path().join(format!("{in_this_process}.jsonl"));
        let session = Session::create_at(&path, dir.path(), Default::default()).unwrap();
        let agent = AgentSession::new(session);
        let start = append(&agent, user("start"));
        let leaf = append(&agent, assistant("leaf"));
        let mover = match in_this_process {
            true => agent.session(),
            false => Arc::new(Session::open(&path).unwrap()),
        };
        let mut to = Some(start.clone());
        let on_output: OnOutput = Box::new(move |_| {
            if let Some(to) = to.take() {
                mover.branch(to.as_str()).unwrap();
            }
        });
        let cancel = CancellationToken::new();
        let run = agent.run_shell("echo on", ShellContext::Included, Some(on_output), &cancel);
        let run = run.await.unwrap();
        let entry = agent.session().entry(run.entry.as_str()).unwrap();
        assert_eq!(entry.parent(), Some(&leaf));
        let own = if in_this_process { &start } else { &run.entry };
        assert_eq!(agent.session().leaf().as_ref(), Some(own));
        assert_eq!(Session::open(&path).unwrap().leaf(), Some(start));
    }
}
