//! Tests of actions that handlers request while an operation runs.

use crate::compact::{keep_a_turn, talk};
use crate::navigate::{exact_with_summary, given};
use crate::support::handlers::{names, seen};
use crate::support::scripted::Scripted;
use crate::support::talk::{Home, append, json_of, lines, user};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use treering::Session;
use treering_agent::{
    AgentSession, CancellationToken, Compact, Event, ForkPosition, HookFuture, Hooks,
    NavigateOptions, SessionActions, ShellContext, Start, TreeMove,
};

/// Asks to go to an entry whenever one of these things happens.
struct Asks {
    actions: SessionActions,
    to: String,
    options: NavigateOptions,
    /// Number of times that a move is answered with another one.
    moves: AtomicUsize,
}

impl Asks {
    fn asks(&self) -> HookFuture<'_, ()> {
        self.actions.navigate(&self.to, self.options.clone());
        Box::pin(async { Ok(()) })
    }
}

impl Hooks for Asks {
    fn session_start<'a>(&'a self, _event: &'a Start) -> HookFuture<'a, ()> {
        self.asks()
    }

    fn session_compact<'a>(&'a self, _event: &'a Compact) -> HookFuture<'a, ()> {
        self.asks()
    }

    fn session_tree<'a>(&'a self, _event: &'a TreeMove) -> HookFuture<'a, ()> {
        let left = self.moves.load(Ordering::SeqCst);
        if left > 0 {
            self.moves.store(left - 1, Ordering::SeqCst);
            return self.asks();
        }
        Box::pin(async { Ok(()) })
    }
}

fn asking(agent: AgentSession, to: &str, options: NavigateOptions, moves: usize) -> AgentSession {
    let (actions, to) = (agent.actions(), to.to_owned());
    agent.with_hooks("asks", Arc::new(Asks { actions, to, options, moves: moves.into() }))
}

#[tokio::test]
async fn a_handler_branches_in_place_with_a_summary_after_a_compaction() {
    for options in [given("Given."), exact_with_summary(None)] {
        let (home, session) = Home::new();
        let ids = talk(&session, 1..=3);
        let agent = AgentSession::new(session).with_summarizer(Scripted::plays([]));
        let agent = asking(agent, ids[1].as_str(), options.clone(), 0);
        let mut events = agent.subscribe();
        agent.compact(keep_a_turn()).await.unwrap();
        let leaf = agent.session().leaf().unwrap();
        let entry = agent.session().entry(leaf.as_str()).unwrap();
        let json = json_of(&entry);
        assert_eq!((entry.parent(), &json["type"]), (Some(&ids[1]), &"branch_summary".into()));
        let text = if options.summarize { "Summary 2" } else { "Given." };
        assert!(json["summary"].as_str().unwrap().contains(text), "{json}");
        assert_eq!(home.reopened().leaf(), Some(leaf));
        let event_names = names(&mut events);
        let at = |name: &str| event_names.iter().position(|event_name| *event_name == name);
        assert!(at("session_compact").is_some() && at("session_compact") < at("session_tree"));
        assert_eq!(agent.running(), None);
    }
}

#[tokio::test]
async fn an_action_follows_every_kind_of_operation() {
    let agent = AgentSession::new(Session::in_memory("/project"));
    let first = append(&agent, user("first"));
    append(&agent, user("second"));
    let agent = asking(agent, first.as_str(), NavigateOptions::exact(), 0);
    agent.start().await;
    assert_eq!(agent.session().leaf(), Some(first.clone()));
    let third = append(&agent, user("third"));
    agent.fork(third.as_str(), ForkPosition::At, &CancellationToken::new()).await.unwrap();
    assert_eq!(agent.session().leaf(), Some(first));
    assert_eq!(lines(&agent.context().unwrap()), ["user: first"]);
}

#[tokio::test]
async fn an_action_that_had_to_wait_for_a_command_follows_it() {
    let directory = tempfile::tempdir().unwrap();
    let agent = AgentSession::new(Session::in_memory(directory.path()));
    let first = append(&agent, user("first"));
    append(&agent, user("second"));
    agent.actions().navigate(&first, NavigateOptions::exact());
    let cancel = CancellationToken::new();
    agent.run_shell("echo done", ShellContext::Included, None, &cancel).await.unwrap();
    assert_eq!(agent.session().leaf(), Some(first));
}

#[tokio::test]
async fn an_action_that_fails_is_reported() {
    let agent = AgentSession::new(Session::in_memory("/project"));
    append(&agent, user("first"));
    let agent = asking(agent, "nowhere", NavigateOptions::exact(), 0);
    let mut events = agent.subscribe();
    agent.start().await;
    let Some(Event::HookFailed { hook, event, error, panicked }) = seen(&mut events).pop() else {
        panic!("no report")
    };
    assert_eq!((&*hook, event, panicked), ("actions", "navigate", false));
    assert!(error.contains("nowhere"), "{error}");
}

#[tokio::test]
async fn handlers_that_answer_every_move_with_another_do_not_hold_up_the_session() {
    let agent = AgentSession::new(Session::in_memory("/project"));
    let first = append(&agent, user("first"));
    append(&agent, user("second"));
    let options = given("Again.");
    let agent = asking(agent, first.as_str(), options, usize::MAX);
    agent.start().await;
    assert_eq!(agent.session().tree().len(), 2 + 16);
    assert_eq!(agent.running(), None);
}
