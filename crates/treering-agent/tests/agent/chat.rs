//! Tests of chat models: the turns that a model gets, and its answers.

use crate::support::server::Server;
use crate::support::talk::{call, result, user};
use crate::support::wire::{answer, refusal, whole};
use crate::support::{Api, BOTH, chat_model, still};
use serde_json::{Value, json};
use treering::{Message, NewEntry, Session};
use treering_agent::{CancellationToken, ChatRequest, ChatSide};

fn conversation() -> Session {
    let session = Session::in_memory("/project");
    for message in [
        json!({ "role": "system", "content": "Be brief." }),
        json!({ "role": "user", "content": [
            { "type": "text", "text": "What is this?" },
            { "type": "image", "mimeType": "image/png", "data": "AAAA" } ] }),
    ] {
        session.append(Message::from_json(message.to_string().as_bytes()).unwrap()).unwrap();
    }
    session.append_all(&[call("c1", "read", "a.rs"), result("c1", "fn a"), user("So?")]).unwrap();
    session
}

#[test]
fn sides_take_turns_and_tools_are_shown_as_text() {
    let request = ChatRequest::of(&conversation().context().unwrap());
    assert_eq!(request.system, "Be brief.");
    let sides: Vec<(ChatSide, &str)> =
        request.turns.iter().map(|turn| (turn.side, turn.text.as_str())).collect();
    assert_eq!(
        sides,
        [
            (ChatSide::User, "What is this?"),
            (ChatSide::Assistant, r#"[Called read with {"path":"a.rs"}]"#),
            (ChatSide::User, "[Result of t]\nfn a\n\nSo?"),
        ]
    );
    assert_eq!(request.turns[0].images, [("image/png".to_owned(), "AAAA".to_owned())]);
}

#[test]
fn a_conversation_that_begins_with_an_answer_gets_a_turn_of_the_user_first() {
    let session = Session::in_memory("/project");
    let question = session.append(user("Name a color.")).unwrap();
    session.append(Message::assistant("acme", "m", "Red.")).unwrap();
    session.append(user("Another!")).unwrap();
    session.drop_from_context([question]).unwrap();
    let request = ChatRequest::of(&session.context().unwrap());
    let sides: Vec<ChatSide> = request.turns.iter().map(|turn| turn.side).collect();
    assert_eq!(sides, [ChatSide::User, ChatSide::Assistant, ChatSide::User]);
    assert_eq!(request.turns[0].text, "(The conversation begins with an answer.)");
}

#[tokio::test(start_paused = true)]
async fn both_servers_get_the_conversation_in_their_shape() {
    let _still = still();
    for api in BOTH {
        let server = Server::start(vec![answer(&whole(api, &["A function."]))]).await;
        let model = chat_model(api, &server.url());
        let request = ChatRequest::of(&conversation().context().unwrap());
        let answer = model.answer(request, &CancellationToken::new()).await.unwrap();
        assert_eq!((&*answer.text, &*answer.model), ("A function.", "real-model"));
        let requests = server.requests();
        let body = body(&requests[0]);
        let messages = body["messages"].as_array().unwrap();
        let roles: Vec<&Value> = messages.iter().map(|message| &message["role"]).collect();
        let image = &messages[usize::from(api == Api::OpenAi)]["content"];
        match api {
            Api::Anthropic => {
                assert_eq!(roles, ["user", "assistant", "user"]);
                assert_eq!(body["system"], "Be brief.");
                assert_eq!(image[0]["source"]["data"], "AAAA");
            }
            Api::OpenAi => {
                assert_eq!(roles, ["system", "user", "assistant", "user"]);
                assert_eq!(image[1]["image_url"]["url"], "data:image/png;base64,AAAA");
            }
        }
    }
}

fn body(request: &str) -> Value {
    serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[tokio::test(start_paused = true)]
async fn both_servers_get_the_thinking_level() {
    let _still = still();
    for (level, effort, budget) in [
        ("minimal", "minimal", 1024),
        ("low", "low", 2048),
        ("medium", "medium", 8192),
        ("high", "high", 16_384),
        ("xhigh", "high", 32_768),
        ("off", "", 0),
        ("galactic", "", 0),
    ] {
        for api in BOTH {
            let session = conversation();
            session.append(NewEntry::thinking_level_change(level)).unwrap();
            let server = Server::start(vec![answer(&whole(api, &["Hm."]))]).await;
            let request = ChatRequest::of(&session.context().unwrap());
            let model = chat_model(api, &server.url());
            model.answer(request, &CancellationToken::new()).await.unwrap();
            let body = body(&server.requests()[0]);
            match api {
                Api::OpenAi => {
                    assert_eq!(body["reasoning_effort"].as_str().unwrap_or_default(), effort);
                    assert_eq!(body["max_tokens"], 8192);
                }
                Api::Anthropic => {
                    assert_eq!(body["thinking"]["budget_tokens"].as_u64().unwrap_or(0), budget);
                    assert_eq!(body["max_tokens"], 8192 + budget);
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_cannot_think_answers_all_the_same() {
    let _still = still();
    for (api, why) in [
        (Api::OpenAi, "Unsupported parameter: 'reasoning_effort' is not supported"),
        (Api::OpenAi, r#"\"oak\" does not support thinking"#),
        (Api::Anthropic, "thinking: extended thinking is not supported by this model"),
        (Api::Anthropic, "max_tokens: 24576 > 16384, the maximum for this model"),
    ] {
        let no = format!(r#"{{"error":{{"message":"{why}"}}}}"#);
        let scripts = vec![refusal(400, "", &no), answer(&whole(api, &["Yes."]))];
        let server = Server::start(scripts).await;
        let session = conversation();
        session.append(NewEntry::thinking_level_change("high")).unwrap();
        let request = ChatRequest::of(&session.context().unwrap());
        let model = chat_model(api, &server.url());
        let answer = model.answer(request, &CancellationToken::new()).await.unwrap();
        assert_eq!(answer.text, "Yes.");
        let second = body(&server.requests()[1]);
        assert_eq!(
            (&second["reasoning_effort"], &second["thinking"]),
            (&Value::Null, &Value::Null)
        );
        assert_eq!(second["max_tokens"], 8192, "{api:?}");
    }
}
