//! Aborts, and messages that the caller appends, at every moment of a turn.

use crate::support::model::{Reply, ScriptedModel};
use crate::support::scripted::{Play, Scripted};
use crate::support::talk::{Home, counted, lines};
use crate::turn::{SCHEMA, assert_paired, echo, messages, prompt};
use std::sync::Arc;
use std::time::Duration;
use treering::compaction::CompactionSettings;
use treering::{Message, Session};
use treering_agent::{
    AgentSession, AgentSettings, BeforeCompact, CancellationToken, Compact, CompactOverride,
    Decision, Event, FnTool, HookFuture, Hooks, ModelError, NavigateOptions, Navigation, Replaced,
    Shutdown, ToolOutput, TreeMove, TurnEnd, TurnSettings,
};
use treering_testkit::faulty::{AppendFault, Faulty};
use treering_testkit::rng::Rng;

fn too_long() -> ModelError {
    ModelError::Http { status: 400, message: "prompt is too long".into() }
}

fn lost() -> Reply {
    Reply::Fail(ModelError::Connection("reset".into()))
}

fn compacting(agent: AgentSession, summarizer: Arc<Scripted>) -> AgentSession {
    let compaction = CompactionSettings::new().reserve_tokens(1000).keep_recent_tokens(1);
    agent.with_settings(AgentSettings::new().compaction(compaction)).with_summarizer(summarizer)
}

#[tokio::test]
async fn an_abort_before_the_turn_asks_no_model() {
    let agent = AgentSession::new(Session::in_memory("/project")).with_tool(echo());
    let model = ScriptedModel::plays([Reply::Text("Too late.")]);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let turn = agent.prompt(&model, "Begin.", None, &cancel).await.unwrap();
    assert_eq!((turn.end, model.requests().len()), (TurnEnd::Aborted, 0));
}

#[tokio::test]
async fn an_abort_while_an_overflow_is_compacted_aborts_the_turn() {
    let (home, session) = Home::new();
    let summarizer = Scripted::plays([Play::Hang]);
    let agent = compacting(AgentSession::new(session), Arc::clone(&summarizer));
    let model =
        ScriptedModel::plays([Reply::Text("Old."), Reply::Fail(too_long()), Reply::Text("Never.")]);
    prompt(&agent, &model).await;
    let aborts = async {
        summarizer.arrived().await;
        agent.abort();
    };
    let (turn, ()) = tokio::join!(prompt(&agent, &model), aborts);
    assert_eq!(turn.end, TurnEnd::Aborted);
    assert_eq!(messages(&agent).last().unwrap()["stopReason"], "aborted");
    assert_eq!(home.reopened().leaf(), Some(turn.answer));
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test]
async fn an_abort_while_rounds_are_compacted_aborts_the_turn() {
    let summarizer = Scripted::plays([Play::Hang]);
    let agent = AgentSession::new(Session::in_memory("/project")).with_tool(echo());
    let agent = compacting(agent, Arc::clone(&summarizer));
    let model = ScriptedModel::plays([
        Reply::CallsAt(9500, vec![("a", "echo", "{}")]),
        Reply::Text("Never."),
    ]);
    let aborts = async {
        summarizer.arrived().await;
        agent.abort();
    };
    let (turn, ()) = tokio::join!(prompt(&agent, &model), aborts);
    assert_eq!((turn.end, model.requests().len()), (TurnEnd::Aborted, 1));
    assert_paired(&agent);
}

#[tokio::test]
async fn an_abort_in_the_pause_before_a_retry_asks_no_model() {
    let turn = TurnSettings::new().retries(3).retry_pause(Duration::from_secs(3600));
    let agent = AgentSession::new(Session::in_memory("/project"))
        .with_settings(AgentSettings::new().turn(turn));
    let model = ScriptedModel::plays([lost(), Reply::Text("Never.")]);
    let mut events = agent.subscribe();
    let aborts = async {
        while !matches!(events.recv().await.unwrap(), Event::AnswerRewound(_)) {}
        agent.abort();
    };
    let (turn, ()) = tokio::join!(prompt(&agent, &model), aborts);
    assert_eq!((turn.end, model.requests().len()), (TurnEnd::Aborted, 1));
}

/// The caller appends a message while an answer arrives that then fails.
#[tokio::test]
async fn a_message_appended_during_a_failed_answer_stays() {
    let (home, session) = Home::new();
    let turn = TurnSettings::new().retries(1).retry_pause(Duration::ZERO);
    let agent =
        AgentSession::new(session).with_tool(echo()).with_settings(AgentSettings::new().turn(turn));
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let model = ScriptedModel::plays([
        Reply::Calls(vec![("a", "echo", "{}")]),
        Reply::FailAfter(Arc::clone(&gate), ModelError::Connection("reset".into())),
        Reply::Text("Both."),
    ]);
    let steers = async {
        model.arrived.acquire_many(2).await.unwrap().forget();
        agent.session().append(Message::user("And this, please.")).unwrap();
        gate.add_permits(1);
    };
    let (turn, ()) = tokio::join!(prompt(&agent, &model), steers);
    assert_eq!(turn.end, TurnEnd::Complete);
    let context = lines(&home.reopened().context().unwrap());
    assert_eq!(
        context,
        [
            "user: Begin.",
            "assistant: ",
            "toolResult: {}",
            "user: And this, please.",
            "assistant: Both."
        ]
    );
    assert_eq!(model.requests()[2], context[..4]);
}

/// The caller appends a message while the provider refuses the context as too long.
#[tokio::test]
async fn a_message_appended_during_an_overflow_does_not_prevent_the_compaction() {
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let agent = AgentSession::new(Session::in_memory("/project")).with_tool(echo());
    let agent = compacting(agent, Scripted::plays([]));
    let model = ScriptedModel::plays([
        Reply::Text("Old."),
        Reply::FailAfter(Arc::clone(&gate), too_long()),
        Reply::Text("Both."),
    ]);
    prompt(&agent, &model).await;
    let steers = async {
        model.arrived.acquire_many(2).await.unwrap().forget();
        agent.session().append(Message::user("And this, please.")).unwrap();
        gate.add_permits(1);
    };
    let (turn, ()) = tokio::join!(prompt(&agent, &model), steers);
    assert_eq!(turn.end, TurnEnd::Complete, "{:?}", messages(&agent));
    assert_eq!(model.requests()[2].last().unwrap(), "user: And this, please.");
}

#[tokio::test]
async fn an_overflow_after_a_compaction_fails_even_with_retries() {
    let (home, session) = Home::new();
    let agent = compacting(AgentSession::new(session), Scripted::plays([]));
    let mut settings = AgentSettings::clone(&agent.settings());
    settings.turn = TurnSettings::new().retries(3).retry_pause(Duration::ZERO);
    agent.set_settings(settings);
    let model = ScriptedModel::plays([
        Reply::Text("Old."),
        Reply::Fail(too_long()),
        lost(),
        Reply::Fail(too_long()),
    ]);
    prompt(&agent, &model).await;
    let turn = prompt(&agent, &model).await;
    assert_eq!(turn.end, TurnEnd::Failed(too_long()));
    assert_eq!(home.reopened().leaf(), Some(turn.answer));
}

/// A handler that never returns from reports.
struct Hangs(tokio::sync::Semaphore);

impl Hangs {
    fn hang(&self) -> HookFuture<'_, ()> {
        self.0.add_permits(1);
        Box::pin(std::future::pending())
    }
}

impl Hooks for Hangs {
    fn session_compact<'a>(&'a self, _event: &'a Compact) -> HookFuture<'a, ()> {
        self.hang()
    }

    fn session_tree<'a>(&'a self, _event: &'a TreeMove) -> HookFuture<'a, ()> {
        self.hang()
    }

    fn session_shutdown<'a>(&'a self, _event: &'a Shutdown) -> HookFuture<'a, ()> {
        self.hang()
    }
}

#[tokio::test]
async fn an_abort_ends_the_wait_for_a_handler_that_never_returns() {
    let (home, session) = Home::new();
    let agent = compacting(AgentSession::new(session), Scripted::plays([]));
    let hangs = Arc::new(Hangs(tokio::sync::Semaphore::new(0)));
    let model =
        ScriptedModel::plays([Reply::Text("Old."), Reply::Fail(too_long()), Reply::Text("Never.")]);
    let first = prompt(&agent, &model).await;
    agent.add_hooks("hangs", Arc::clone(&hangs) as Arc<dyn Hooks>);
    let aborts = async || {
        hangs.0.acquire().await.unwrap().forget();
        agent.abort();
    };
    let mut events = agent.subscribe();
    let (turn, ()) = tokio::join!(prompt(&agent, &model), aborts());
    assert_eq!((turn.end, model.requests().len()), (TurnEnd::Aborted, 2));
    let is_failure = |event: &Event| {
        matches!(event, Event::HookFailed { event: "session_compact", panicked: false, .. })
    };
    assert!(std::iter::from_fn(|| events.try_recv().ok()).any(|event| is_failure(&event)));
    assert_eq!(home.reopened().leaf(), Some(turn.answer));
    // What has happened when the handlers are called is not undone.
    let (moved, ()) =
        tokio::join!(agent.navigate(&first.answer, NavigateOptions::exact()), aborts());
    assert!(matches!(moved, Ok(Navigation::Moved(_))), "{moved:?}");
    assert_eq!(home.reopened().leaf(), Some(first.answer));
    let never = CancellationToken::new();
    let (replaced, ()) = tokio::join!(agent.new_session(&never), aborts());
    assert!(matches!(replaced, Ok(Replaced::Done)), "{replaced:?}");
    assert!(agent.session().tree().is_empty());
    assert_eq!(agent.running(), None);
}

/// Cancels the token after this many events, or when a tool starts that never ends.
async fn cancel_after(agent: &AgentSession, count: u64, cancel: &CancellationToken) {
    let mut events = agent.subscribe();
    for _ in 0..count {
        match events.recv().await.unwrap() {
            Event::ToolStart(started) if started.tool == "hangs" => break,
            _ => {}
        }
    }
    cancel.cancel();
    std::future::pending().await
}

/// A handler that fails in one way or another.
struct Fails;

impl Hooks for Fails {
    fn session_before_compact<'a>(
        &'a self,
        _event: &'a BeforeCompact,
        _abort: &'a CancellationToken,
    ) -> HookFuture<'a, Decision<CompactOverride>> {
        Box::pin(async { Err("out of order".into()) })
    }

    fn session_compact<'a>(&'a self, _event: &'a Compact) -> HookFuture<'a, ()> {
        panic!("the handler panics")
    }
}

fn random_reply(rng: &mut Rng) -> Reply {
    let tools = ["echo", "panics", "hangs", "unknown"];
    let ids = ["a", "a", "b", ""];
    let arguments = ["{}", "{\"n\":1}", "[", "5", ""];
    match rng.below(10) {
        0 | 1 => Reply::Text("Done."),
        2 => lost(),
        3 => Reply::Fail(ModelError::Length),
        4 => Reply::Fail(too_long()),
        at => {
            let calls = (0..rng.range(1, 4))
                .map(|_| (ids[rng.index(4)], tools[rng.index(4)], arguments[rng.index(5)]));
            Reply::CallsAt(if at == 5 { 9500 } else { 100 }, calls.collect())
        }
    }
}

/// Turns that are aborted anywhere leave a session that is sound, in memory and in the file.
#[tokio::test]
async fn aborts_anywhere_leave_a_sound_session() {
    for seed in 0..20 {
        let mut rng = Rng::new(seed);
        let (home, session) = Home::new();
        let hangs = FnTool::new("hangs", "", SCHEMA, |_, _| {
            std::future::pending::<Result<ToolOutput, treering_agent::ToolError>>()
        });
        let panics = FnTool::new("panics", "", SCHEMA, |_, _| async { panic!("oh") });
        let panics = if rng.chance(0.5) { panics.parallel() } else { panics };
        let agent = AgentSession::new(session).with_tool(echo().parallel()).with_tool(panics);
        let agent = compacting(agent.with_tool(hangs), Scripted::plays([]));
        let mut settings = AgentSettings::clone(&agent.settings());
        settings.turn = TurnSettings::new().retries(2).retry_pause(Duration::ZERO).max_rounds(4);
        agent.set_settings(settings);
        for turn in 0..4 {
            if turn == 1 {
                agent.add_hooks("late", Arc::new(Fails));
            }
            let replies: Vec<Reply> = (0..40).map(|_| random_reply(&mut rng)).collect();
            let model = ScriptedModel::plays(replies);
            let cancel = CancellationToken::new();
            let count = rng.below(16);
            let report = tokio::select! {
                biased;
                () = cancel_after(&agent, count, &cancel) => unreachable!(),
                report = agent.prompt(&model, "Begin.", None, &cancel) => report,
            };
            assert_eq!(agent.running(), None, "{seed}");
            assert_paired(&agent);
            let reopened = home.reopened();
            assert_eq!(reopened.leaf(), agent.session().leaf(), "{seed}");
            assert_eq!(reopened.findings().unwrap(), [], "{seed}");
            let Ok(report) = report else {
                // Aborted in the compaction before the turn: nothing was written.
                assert!(cancel.is_cancelled(), "{seed}");
                continue;
            };
            let end = messages(&agent);
            let answer = end.iter().rev().find(|message| message["role"] == "assistant").unwrap();
            let reason = answer["stopReason"].as_str().unwrap();
            let expected = match report.end {
                TurnEnd::Complete => "stop",
                TurnEnd::Length => "length",
                TurnEnd::Aborted => "aborted",
                TurnEnd::Failed(_) => "error",
                _ => "toolUse",
            };
            assert_eq!(reason, expected, "{seed}");
        }
    }
}

/// A turn ends with an error if one of its entries cannot be written; the next turn continues from
/// what was recorded.
#[tokio::test]
async fn a_turn_that_cannot_be_written_fails_and_the_next_one_continues() {
    for fault in [AppendFault::Nothing, AppendFault::Short(20), AppendFault::Everything] {
        // The question, the answer, two results, and the last answer.
        for works in 0..5 {
            let (journal, session) = counted();
            session.append(Message::user("Hello.")).unwrap();
            let agent = AgentSession::new(session).with_tool(echo());
            let calls = || Reply::Calls(vec![("a", "echo", "{}"), ("b", "echo", "{}")]);
            let model = ScriptedModel::plays([calls(), Reply::Text("Done.")]);
            let before = std::iter::repeat_n(AppendFault::Works, works);
            journal.script_appends(before.chain([fault]));
            let failed = agent.prompt(&model, "Begin.", None, &CancellationToken::new()).await;
            assert!(failed.is_err(), "{fault:?} {works}: {failed:?}");
            assert_eq!(agent.running(), None);
            let model = ScriptedModel::plays([calls(), Reply::Text("Done.")]);
            let turn = prompt(&agent, &model).await;
            assert_eq!((&*turn.text, turn.end), ("Done.", TurnEnd::Complete));
            let copy = Faulty::holding(&journal.contents());
            let again = Session::in_journal(copy, "/project", Default::default()).unwrap();
            assert_eq!(again.context().unwrap(), agent.context().unwrap(), "{fault:?} {works}");
            assert_eq!(again.leaf(), Some(turn.answer));
        }
    }
}
