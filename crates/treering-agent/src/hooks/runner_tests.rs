use super::*;
use std::sync::Mutex;
use treering::EntryId;

type Log = Arc<Mutex<Vec<String>>>;

#[derive(Clone)]
enum Does {
    Answer(Decision<TreeOverride>),
    Fail,
    PanicWhenCalled,
    PanicWhenPolled,
    WaitForAbort,
    WaitForEver,
}

/// A handler that writes down that it was called, and then does one thing.
struct Scripted(&'static str, Does, Log);

impl Hooks for Scripted {
    fn session_before_tree<'a>(
        &'a self,
        _event: &'a BeforeTree,
        abort: &'a CancellationToken,
    ) -> HookFuture<'a, Decision<TreeOverride>> {
        self.2.lock().unwrap().push(self.0.into());
        if matches!(self.1, Does::PanicWhenCalled) {
            panic!("called {}", self.0);
        }
        Box::pin(async move {
            tokio::task::yield_now().await;
            match self.1.clone() {
                Does::Answer(decision) => return Ok(decision),
                Does::Fail => return Err("broken".into()),
                Does::WaitForAbort => abort.cancelled().await,
                Does::WaitForEver => std::future::pending().await,
                Does::PanicWhenCalled | Does::PanicWhenPolled => panic!("polled"),
            }
            self.2.lock().unwrap().push(format!("{} saw the abort", self.0));
            Ok(Decision::Pass)
        })
    }

    fn session_info_changed<'a>(&'a self, event: &'a InfoChanged) -> HookFuture<'a, ()> {
        Box::pin(async move {
            self.2.lock().unwrap().push(format!("{} {:?}", self.0, event.name));
            if matches!(self.1, Does::Fail) { Err("broken".into()) } else { Ok(()) }
        })
    }
}

fn runner(script: &[(&'static str, Does)]) -> (HookRunner, Log) {
    let (runner, log) = (HookRunner::default(), Log::default());
    for (name, does) in script {
        runner.register(*name, Arc::new(Scripted(name, does.clone(), log.clone())));
    }
    (runner, log)
}

fn before_tree() -> BeforeTree {
    BeforeTree {
        session: Arc::new(treering::Session::in_memory("/project")),
        target: EntryId::from("a1"),
        old_leaf: None,
        common_ancestor: None,
        entries_to_summarize: Vec::new(),
        user_wants_summary: true,
        custom_instructions: None,
        replace_instructions: false,
        label: None,
    }
}

fn label(text: &str) -> TreeOverride {
    TreeOverride { label: Some(text.into()), ..Default::default() }
}

fn answer(text: &str) -> Does {
    Does::Answer(Decision::Use(label(text)))
}

const PASS: Does = Does::Answer(Decision::Pass);
const CANCEL: Does = Does::Answer(Decision::Cancel);

#[tokio::test]
async fn the_last_answer_counts() {
    let (runner, log) = runner(&[("a", answer("1")), ("b", answer("2")), ("c", PASS)]);
    let outcome = runner.session_before_tree(before_tree(), &CancellationToken::new()).await;
    assert_eq!(outcome, HookOutcome::Proceed(Some(label("2"))));
    assert_eq!(*log.lock().unwrap(), ["a", "b", "c"]);
}

#[tokio::test]
async fn the_first_cancel_wins_at_once() {
    let (runner, log) = runner(&[("a", answer("1")), ("b", CANCEL), ("c", answer("3"))]);
    let outcome = runner.session_before_tree(before_tree(), &CancellationToken::new()).await;
    assert_eq!(outcome, HookOutcome::Canceled { hook: "b".into() });
    assert_eq!(*log.lock().unwrap(), ["a", "b"]);
}

#[tokio::test]
async fn failing_and_panicking_handlers_are_reported_and_passed_over() {
    let (runner, _) = runner(&[
        ("a", answer("1")),
        ("b", Does::Fail),
        ("c", Does::PanicWhenPolled),
        ("d", Does::PanicWhenCalled),
    ]);
    let mut events = runner.subscribe();
    let outcome = runner.session_before_tree(before_tree(), &CancellationToken::new()).await;
    assert_eq!(outcome, HookOutcome::Proceed(Some(label("1"))));

    assert!(matches!(events.try_recv(), Ok(Event::SessionBeforeTree(_))));
    for expected in [("b", "broken", false), ("c", "polled", true), ("d", "called d", true)] {
        let Ok(Event::HookFailed { hook, event, error, panicked }) = events.try_recv() else {
            panic!("no report of {expected:?}");
        };
        assert_eq!(event, "session_before_tree");
        assert_eq!((&*hook, error.as_str(), panicked), expected);
    }
    assert!(events.try_recv().is_err());
}

#[tokio::test]
async fn an_abort_does_not_wait_for_handlers() {
    for does in [Does::WaitForEver, Does::WaitForAbort] {
        let (runner, log) = runner(&[("a", answer("1")), ("b", does), ("c", PASS)]);
        let abort = CancellationToken::new();
        let asked = runner.session_before_tree(before_tree(), &abort);
        let cancelled = async {
            while log.lock().unwrap().len() < 2 {
                tokio::task::yield_now().await;
            }
            abort.cancel();
        };
        assert_eq!(tokio::join!(asked, cancelled).0, HookOutcome::Aborted);
        assert_eq!(log.lock().unwrap()[..2], ["a", "b"]);
        assert!(!log.lock().unwrap().contains(&"c".into()));
    }
}

#[tokio::test]
async fn an_abort_counts_even_without_handlers() {
    let abort = CancellationToken::new();
    abort.cancel();
    let outcome = HookRunner::default().session_before_tree(before_tree(), &abort).await;
    assert_eq!(outcome, HookOutcome::Aborted);
}

#[tokio::test]
async fn facts_reach_every_subscriber_in_order() {
    let (runner, log) = runner(&[("a", Does::Fail), ("b", PASS)]);
    let mut events = runner.subscribe();
    runner.session_info_changed(InfoChanged { name: Some("x".into()) }, None).await;
    assert_eq!(*log.lock().unwrap(), ["a Some(\"x\")", "b Some(\"x\")"]);
    let names: Vec<_> = std::iter::from_fn(|| events.try_recv().ok()).map(|e| e.name()).collect();
    assert_eq!(names, ["session_info_changed", "hook_failed"]);
}

#[tokio::test]
async fn a_slow_subscriber_does_not_block_the_session() {
    let runner = HookRunner::default();
    let mut events = runner.subscribe();
    for _ in 0..EVENT_BACKLOG + 5 {
        runner.session_info_changed(InfoChanged { name: None }, None).await;
    }
    assert!(matches!(events.try_recv(), Err(broadcast::error::TryRecvError::Lagged(5))));
    assert!(events.try_recv().is_ok());
}

#[tokio::test]
async fn handlers_can_be_added_after_the_first_event() {
    let (runner, log) = runner(&[("a", PASS)]);
    runner.session_info_changed(InfoChanged { name: None }, None).await;
    runner.register("b", Arc::new(Scripted("b", PASS, log.clone())));
    runner.session_info_changed(InfoChanged { name: None }, None).await;
    assert_eq!(*log.lock().unwrap(), ["a None", "a None", "b None"]);
}

#[tokio::test]
async fn streamed_text_displaces_no_event() {
    let runner = HookRunner::default();
    let (mut events, mut deltas) = (runner.subscribe(), runner.subscribe_deltas());
    runner.session_info_changed(InfoChanged { name: None }, None).await;
    let mut on_delta = runner.summary_deltas();
    for _ in 0..DELTA_BACKLOG + EVENT_BACKLOG {
        on_delta(Delta::Text("word "));
    }
    assert_eq!(events.try_recv().unwrap().name(), "session_info_changed");
    assert!(events.try_recv().is_err());
    assert!(matches!(deltas.try_recv(), Err(broadcast::error::TryRecvError::Lagged(_))));
    assert_eq!(deltas.try_recv().unwrap(), StreamDelta::SummaryText("word ".into()));
}
