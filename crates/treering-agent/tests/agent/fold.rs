//! Tests of conversations that do not fit into the summarizer's window, and of the usage of their
//! summaries.

use crate::compact::{done, keep_a_turn, talk};
use crate::navigate::{moved, summarize};
use crate::support::scripted::{Play, ReceivedRequest, Scripted};
use crate::support::talk::{Home, answer, json_of, user};
use treering::Session;
use treering_agent::{AgentError, AgentSession, ModelError};

fn tokens(text: &str) -> u64 {
    text.encode_utf16().count().div_ceil(4) as u64
}

/// Returns the text between the tags of a request.
fn conversation(request: &ReceivedRequest) -> &str {
    let (_, rest) = request.user.split_once("<conversation>\n").unwrap();
    rest.rsplit_once("\n</conversation>").unwrap().0
}

fn too_long() -> ModelError {
    ModelError::Http { status: 400, message: "prompt is too long: 9 > 8".into() }
}

/// Every turn up to `turns` is in one of the requests, once.
fn all_are_there(requests: &[ReceivedRequest], turns: usize) {
    let together: String = requests.iter().map(conversation).collect();
    for n in 1..=turns {
        for text in [format!("question {n} "), format!("answer {n} ")] {
            assert_eq!(together.matches(&text).count(), 1, "{text}");
        }
    }
    let messages: usize = requests.iter().map(|request| request.messages.len()).sum();
    assert_eq!(messages, turns * 2);
}

#[tokio::test]
async fn parts_and_the_summary_so_far() {
    for window in [2_500, 4_000, 8_000] {
        let session = Session::in_memory("/p");
        talk(&session, 1..=40);
        // Each answer is as long as it may be: half of the window is reserved for it.
        let long = "s".repeat(window as usize / 4 * 4 / 8);
        let long: &'static str = Box::leak(long.into_boxed_str());
        let summarizer = Scripted::with_window(window, (0..100).map(|_| Play::Cost(long, 5)));
        let agent = AgentSession::new(session).with_summarizer(summarizer.clone());
        let compacted = done(agent.compact(keep_a_turn()).await);
        let requests = summarizer.requests();
        assert!(requests.len() > 1, "{window}");
        all_are_there(&requests, 39);
        for (at, request) in requests.iter().enumerate() {
            let previous = (at > 0).then_some(long);
            assert_eq!(request.previous.as_deref(), previous);
            assert_eq!(request.user.contains("<previous-summary>"), at > 0);
            let size = tokens(&request.user) + tokens(&request.system);
            assert!(size + window / 2 <= window + 16, "{size} of {window} in request {at}");
        }
        let raw = json_of(&compacted.entry);
        assert_eq!(raw["summary"], long);
        assert_eq!(raw["usage"]["input"], 5 * requests.len());
        assert_eq!(compacted.usage.unwrap().output, 10 * requests.len() as u64);
    }
}

#[tokio::test]
async fn a_conversation_that_fits_is_one_request() {
    let session = Session::in_memory("/p");
    talk(&session, 1..=4);
    let summarizer = Scripted::with_window(200_000, []);
    let agent = AgentSession::new(session).with_summarizer(summarizer.clone());
    done(agent.compact(keep_a_turn()).await);
    assert_eq!(summarizer.requests().len(), 1);
    all_are_there(&summarizer.requests(), 3);
}

#[tokio::test]
async fn a_previous_summary_begins_the_chain() {
    let session = Session::in_memory("/p");
    talk(&session, 1..=2);
    let summarizer = Scripted::with_window(2_500, []);
    let agent = AgentSession::new(session).with_summarizer(summarizer.clone());
    done(agent.compact(keep_a_turn()).await);
    talk(&agent.session(), 3..=20);
    done(agent.compact(keep_a_turn()).await);
    let requests = &summarizer.requests()[1..];
    assert!(requests.len() > 1);
    for (at, request) in requests.iter().enumerate() {
        assert_eq!(request.previous, Some(format!("Summary {}", at + 1)));
    }
}

#[tokio::test]
async fn a_message_longer_than_the_window_is_cut_into_pieces() {
    let session = Session::in_memory("/p");
    let words: String = (0..4000).map(|n| format!("wörd{n} ")).collect();
    session.append(user(&words)).unwrap();
    session.append(answer("short")).unwrap();
    talk(&session, 1..=1);
    let summarizer = Scripted::with_window(2_500, []);
    let agent = AgentSession::new(session).with_summarizer(summarizer.clone());
    done(agent.compact(keep_a_turn()).await);
    let requests = summarizer.requests();
    let together: String = requests.iter().map(conversation).collect();
    assert!(together.starts_with(&format!("[User]: {words}")));
    assert!(together.ends_with("[Assistant]: short"));
    assert!(requests.iter().all(|request| !request.messages.is_empty()));
    assert!(requests.iter().all(|request| tokens(&request.user) <= 1_250), "half of the window");
}

#[tokio::test]
async fn a_server_that_finds_it_too_long_gets_less() {
    for status in [400, 413] {
        let session = Session::in_memory("/p");
        talk(&session, 1..=20);
        let summarizer = Scripted::with_rule(None, move |user| {
            let error = ModelError::Http { status, message: "Prompt is TOO LONG".into() };
            (tokens(user) > 1_500).then_some(error)
        });
        let agent = AgentSession::new(session).with_summarizer(summarizer.clone());
        done(agent.compact(keep_a_turn()).await);
        let requests = summarizer.requests();
        // The attempt that worked: from the last request without a previous summary on.
        let begin = requests.iter().rposition(|request| request.previous.is_none()).unwrap();
        assert!(begin > 0);
        assert!(requests[begin..].iter().all(|request| tokens(&request.user) <= 1_500));
        all_are_there(&requests[begin..], 19);
    }
}

#[tokio::test]
async fn requests_to_a_server_that_refuses_every_length_end() {
    let (home, session) = Home::new();
    talk(&session, 1..=20);
    let bytes = home.bytes();
    let summarizer = Scripted::with_rule(None, |_| Some(too_long()));
    let agent = AgentSession::new(session).with_summarizer(summarizer.clone());
    match agent.compact(keep_a_turn()).await {
        Err(AgentError::Model(error)) => assert_eq!(error, too_long()),
        other => panic!("{other:?}"),
    }
    assert_eq!((home.bytes(), summarizer.requests().len()), (bytes, 5));
}

#[tokio::test]
async fn the_usage_of_a_lost_attempt_is_counted() {
    let session = Session::in_memory("/p");
    talk(&session, 1..=20);
    let plays = [Play::Cost("lost", 7), Play::Fail(too_long())];
    let summarizer = Scripted::with_window(3_000, plays);
    let agent = AgentSession::new(session).with_summarizer(summarizer.clone());
    let compacted = done(agent.compact(keep_a_turn()).await);
    assert_eq!(json_of(&compacted.entry)["usage"]["input"], 7);
    // The new attempt does not build on the lost one.
    assert_eq!(summarizer.requests()[2].previous, None);
}

#[tokio::test]
async fn an_empty_answer_in_the_middle_is_a_failure() {
    let (home, session) = Home::new();
    talk(&session, 1..=20);
    let bytes = home.bytes();
    let summarizer = Scripted::with_window(3_000, [Play::Say("one"), Play::Say(" ")]);
    let agent = AgentSession::new(session).with_summarizer(summarizer.clone());
    let failed = agent.compact(keep_a_turn()).await;
    assert!(matches!(failed, Err(AgentError::Model(ModelError::Empty))), "{failed:?}");
    assert_eq!(home.bytes(), bytes);
}

#[tokio::test]
async fn a_branch_is_folded_as_well() {
    let session = Session::in_memory("/p");
    let start = session.append(answer("start")).unwrap();
    talk(&session, 1..=20);
    let summarizer = Scripted::with_window(2_500, []);
    let agent = AgentSession::new(session).with_summarizer(summarizer.clone());
    let summary = moved(agent.navigate(start.as_str(), summarize()).await).summary.unwrap();
    let requests = summarizer.requests();
    assert!(requests.len() > 1);
    all_are_there(&requests, 20);
    let text = json_of(&summary)["summary"].as_str().unwrap().to_owned();
    assert!(text.ends_with(&format!("Summary {}", requests.len())));
}
