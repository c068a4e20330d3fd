//! Tests that a key never changes the content of an answer, and that errors never quote a key.

use crate::support::server::Server;
use crate::support::talk::{append, json_of, user};
use crate::support::wire::{answer, begin, delta, refusal, whole};
use crate::support::{BOTH, KEY, ask, chat_model_with_key, still};
use std::sync::{Arc, Mutex};
use treering::Session;
use treering_agent::{
    AgentSession, CancellationToken, ChatRequest, Delta, ModelError, OnDelta, Summarizer,
    SummaryRequest, TurnEnd,
};

/// Keys that people set for servers that want none, and one that looks real.
const KEYS: [&str; 6] = ["test", "ollama", "1", "k", "placeholder", KEY];

#[tokio::test(start_paused = true)]
async fn an_answer_is_stored_as_the_model_wrote_it_whatever_the_key_is() {
    let _still = still();
    for api in BOTH {
        for key in KEYS {
            let text = format!("Run the tests, 1 by 1, with ollama, not with a placeholder: {key}");
            let (first, second) = text.split_at(9);
            let server = Server::start(vec![answer(&whole(api, &[first, second]))]).await;
            let model = chat_model_with_key(api, &server.url(), key);
            let agent = AgentSession::new(Session::in_memory("/project"));
            let seen = Arc::new(Mutex::new(String::new()));
            let sees = Arc::clone(&seen);
            let on_delta: OnDelta = Box::new(move |delta| {
                if let Delta::Text(text) = delta {
                    sees.lock().unwrap().push_str(text);
                }
            });
            let turn = agent
                .prompt(&*model, "What now?", Some(on_delta), &CancellationToken::new())
                .await
                .unwrap();
            assert_eq!((&*turn.text, turn.end), (&*text, TurnEnd::Complete), "{key}");
            assert_eq!(*seen.lock().unwrap(), text);
            let written = json_of(&agent.session().entry(turn.answer.as_str()).unwrap());
            assert_eq!(written["message"]["content"][0]["text"], *text);
            assert_eq!(written["message"]["stopReason"], "stop");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_summary_is_stored_as_the_model_wrote_it_whatever_the_key_is() {
    let _still = still();
    for api in BOTH {
        for key in KEYS {
            let text = format!("Ran the tests 1 by 1 with ollama: {key}");
            let server = Server::start(vec![answer(&whole(api, &[&text]))]).await;
            let model = chat_model_with_key(api, &server.url(), key);
            let agent = AgentSession::new(Session::in_memory("/project"))
                .with_summarizer(Arc::new(AsSummarizer(model)));
            let first = append(&agent, user("one"));
            append(&agent, user("two"));
            let options = treering_agent::NavigateOptions::new().summarize(true);
            agent.navigate(first.as_str(), options).await.unwrap();
            let leaf = agent.session().leaf().unwrap();
            let summary = json_of(&agent.session().entry(leaf.as_str()).unwrap());
            assert!(summary["summary"].as_str().unwrap().contains(&text), "{key}: {summary}");
        }
    }
}

/// Summarizes with a chat model behind a pointer.
#[derive(Debug)]
struct AsSummarizer(Arc<dyn treering_agent::ChatModel>);

impl Summarizer for AsSummarizer {
    fn name(&self) -> &str {
        self.0.provider()
    }

    fn context_window(&self) -> Option<u64> {
        Some(self.0.context_window())
    }

    fn summarize<'a>(
        &'a self,
        request: SummaryRequest,
        cancel: &'a CancellationToken,
    ) -> treering_agent::SummaryFuture<'a> {
        Box::pin(async move {
            let side = treering_agent::ChatSide::User;
            let turn = treering_agent::ChatTurn::new(side, request.user);
            let request = ChatRequest::new().with_turn(turn);
            let answer = self.0.answer(request, cancel).await?;
            let summary = treering_agent::Summary::new(self.0.provider(), answer.text);
            let mut summary = summary.model(answer.model);
            summary.usage = answer.usage;
            Ok(summary)
        })
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_in_the_stream_is_reported_without_the_key_it_quotes() {
    let _still = still();
    for api in BOTH {
        // Also where cutting a long message would leave half of it.
        for filler in ["", &"x".repeat(490)] {
            let error = format!(
                r#"{{"type":"error","error":{{"type":"bad {KEY}","message":"{filler} {KEY}"}}}}"#
            );
            for event in [error, format!("{filler} {KEY}")] {
                let events = format!("{}data: {event}\n\n", begin(api) + &delta(api, "Well,"));
                let (_server, job) = ask(api, vec![answer(&events)]).await;
                let error = job.fails().await;
                assert!(!error.to_string().contains("sk-very"), "{error}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_placeholder_key_does_not_garble_an_error() {
    let _still = still();
    for api in BOTH {
        for key in ["test", "ollama", "1", "e"] {
            let message = "the latest ollama model llama3.1 was not found";
            let body = format!(r#"{{"error":{{"message":"{message}"}}}}"#);
            let server = Server::start(vec![refusal(404, "", &body)]).await;
            let model = chat_model_with_key(api, &server.url(), key);
            let request = ChatRequest::default();
            let error = model.answer(request, &CancellationToken::new()).await.unwrap_err();
            let expected = ModelError::Http { status: 404, message: message.into() };
            assert_eq!(error, expected, "{key}");
        }
    }
}
