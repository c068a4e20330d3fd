//! Tests of thinking before an answer: shown as it arrives, recorded as a separate block.

use crate::support::server::{Server, Step};
use crate::support::talk::{json_of, lines};
use crate::support::wire::{answer, begin, delta, finish, head, normal, refusal, thinking, whole};
use crate::support::{Api, BOTH, chat_model, pass, still};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use treering::Session;
use treering_agent::{AgentSession, CancellationToken, Delta, Event, OnDelta, TurnEnd, TurnReport};

/// Says something to a server that answers with these scripts; the turn, its entry's content, and
/// what arrived, thinking in brackets.
async fn say(api: Api, scripts: Vec<Vec<Step>>) -> (AgentSession, TurnReport, Value, String) {
    let server = Server::start(scripts).await;
    let model = chat_model(api, &server.url());
    let agent = AgentSession::new(Session::in_memory("/project"));
    let seen = Arc::new(Mutex::new(String::new()));
    let sees = Arc::clone(&seen);
    let on_delta: OnDelta = Box::new(move |delta| {
        let mut seen = sees.lock().unwrap();
        match delta {
            Delta::Text(text) => seen.push_str(text),
            Delta::Thinking(text) => *seen += &format!("[{text}]"),
            Delta::Restart => seen.push('!'),
            _ => {}
        }
    });
    let never = CancellationToken::new();
    let mut events = agent.subscribe();
    let pauses = async {
        while let Ok(event) = events.recv().await {
            if let Event::AutoRetry(notice) = event {
                pass(notice.wait).await;
            }
        }
    };
    let turn = tokio::select! {
        turn = agent.prompt(&*model, "Why?", Some(on_delta), &never) => turn.unwrap(),
        () = pauses => panic!("the events ended"),
    };
    let written = json_of(&agent.session().entry(turn.answer.as_str()).unwrap());
    let seen = seen.lock().unwrap().clone();
    (agent, turn, written["message"]["content"].clone(), seen)
}

#[tokio::test(start_paused = true)]
async fn thinking_is_shown_and_kept_before_the_text() {
    let _still = still();
    for (api, name, signature) in [
        (Api::Anthropic, "thinking", "c2lnbmVk"),
        (Api::OpenAi, "reasoning_content", "reasoning_content"),
        (Api::OpenAi, "reasoning", "reasoning"),
        (Api::OpenAi, "thinking", "thinking"),
    ] {
        let events = thinking(api, name, &["Let me ", "see."]) + &whole(api, &["Be", "cause."]);
        let (agent, turn, content, seen) = say(api, vec![answer(&events)]).await;
        assert_eq!((&*turn.text, &turn.end), ("Because.", &TurnEnd::Complete), "{name}");
        assert_eq!(seen, "[Let me ][see.]Because.");
        let block = json!({ "type": "thinking", "thinking": "Let me see.",
            "thinkingSignature": signature });
        assert_eq!(content, json!([block, { "type": "text", "text": "Because." }]));
        // It is not part of the answer's text, neither here nor in later requests.
        assert_eq!(lines(&agent.context().unwrap()), ["user: Why?", "assistant: Because."]);
    }
}

#[tokio::test(start_paused = true)]
async fn thinking_inside_the_text_is_separated_from_it() {
    let _still = still();
    let events = whole(Api::OpenAi, &["<thi", "nk>\nHm.", "</think>\n\nBe", "cause."]);
    let (_, turn, content, seen) = say(Api::OpenAi, vec![answer(&events)]).await;
    assert_eq!((&*turn.text, &*seen), ("Because.", "[\nHm.]Because."));
    let block = json!({ "type": "thinking", "thinking": "\nHm." });
    assert_eq!(content, json!([block, { "type": "text", "text": "Because." }]));
}

#[tokio::test(start_paused = true)]
async fn thinking_of_an_answer_that_fails_is_kept() {
    let _still = still();
    for api in BOTH {
        let name = if api == Api::Anthropic { "thinking" } else { "reasoning" };
        let events = thinking(api, name, &["Hm."])
            + &begin(api)
            + &finish(api, if api == Api::Anthropic { "max_tokens" } else { "length" });
        let (_, turn, content, _) = say(api, vec![answer(&events)]).await;
        assert_eq!((&*turn.text, &turn.end), ("", &TurnEnd::Length), "{api:?}");
        assert_eq!((&content[0]["thinking"], &content[1]), (&json!("Hm."), &Value::Null));
    }
}

#[tokio::test(start_paused = true)]
async fn thinking_before_a_lost_connection_is_void() {
    let _still = still();
    let lost = thinking(Api::OpenAi, "reasoning", &["No."]);
    let scripts = vec![
        vec![head(), Step::Chunk(lost.into())],
        answer(&(thinking(Api::OpenAi, "reasoning", &["Yes."]) + &whole(Api::OpenAi, &["Ja."]))),
    ];
    let (_, _, content, seen) = say(Api::OpenAi, scripts).await;
    assert_eq!(seen, "[No.]![Yes.]Ja.");
    assert_eq!((&content[0]["thinking"], &content[1]["text"]), (&json!("Yes."), &json!("Ja.")));
}

#[tokio::test(start_paused = true)]
async fn a_retry_is_reported_with_its_reason_and_its_pause() {
    let _still = still();
    for api in BOTH {
        let busy = refusal(529, "retry-after: 7\r\n", r#"{"error":{"message":"busy"}}"#);
        let text = delta(api, "Yes.");
        let events = begin(api) + &text + &finish(api, normal(api));
        let server = Server::start(vec![busy, answer(&events)]).await;
        let model = chat_model(api, &server.url());
        let agent = AgentSession::new(Session::in_memory("/project"));
        let mut events = agent.subscribe();
        let retried = Arc::new(Mutex::new(Vec::new()));
        let sees = Arc::clone(&retried);
        let on_delta: OnDelta = Box::new(move |delta| {
            if let Delta::Retry(notice) = delta {
                sees.lock().unwrap().push(notice.to_string());
            }
        });
        let never = CancellationToken::new();
        let turn = agent.prompt(&*model, "Well?", Some(on_delta), &never);
        let look_on = async {
            let Ok(Event::TurnStart(_)) = events.recv().await else { panic!("no turn") };
            let Ok(Event::AutoRetry(notice)) = events.recv().await else { panic!("no retry") };
            pass(notice.wait).await;
            notice
        };
        let (turn, notice) = tokio::join!(turn, look_on);
        assert_eq!(turn.unwrap().text, "Yes.");
        assert_eq!((notice.attempt, notice.attempts, notice.wait.as_secs()), (2, 5, 7));
        let text = "the server answered 529: busy; attempt 2 of 5 in 7 s";
        assert_eq!(notice.to_string(), text);
        assert_eq!(*retried.lock().unwrap(), [text]);
    }
}
