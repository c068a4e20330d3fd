//! A model that is talked to: what it is shown of a session, and how it answers.

use crate::support::server::Server;
use crate::support::talk::{call, result, user};
use crate::support::wire::{answer, whole};
use crate::support::{Api, BOTH, chat_model, still};
use serde_json::{Value, json};
use treering::{NewEntry, Session};
use treering_agent::{CancellationToken, ChatRequest, Side};

fn conversation() -> Session {
    let session = Session::in_memory("/project");
    for message in [
        json!({ "role": "system", "content": "Be brief." }),
        json!({ "role": "user", "content": [
            { "type": "text", "text": "What is this?" },
            { "type": "image", "mimeType": "image/png", "data": "AAAA" } ] }),
    ] {
        session.append(NewEntry::message(message.to_string().as_bytes()).unwrap()).unwrap();
    }
    session.append_all(&[call("c1", "read", "a.rs"), result("c1", "fn a"), user("So?")]).unwrap();
    session
}

#[test]
fn sides_take_turns_and_tools_are_shown_as_text() {
    let request = ChatRequest::of(&conversation().context().unwrap());
    assert_eq!(request.system, "Be brief.");
    let said: Vec<(Side, &str)> =
        request.turns.iter().map(|turn| (turn.side, turn.text.as_str())).collect();
    assert_eq!(
        said,
        [
            (Side::User, "What is this?"),
            (Side::Assistant, r#"[Called read with {"path":"a.rs"}]"#),
            (Side::User, "[Result of t]\nfn a\n\nSo?"),
        ]
    );
    assert_eq!(request.turns[0].images, [("image/png".to_owned(), "AAAA".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn both_servers_get_the_conversation_in_their_shape() {
    let _still = still();
    for api in BOTH {
        let server = Server::start(vec![answer(&whole(api, &["A function."]))]).await;
        let model = chat_model(api, &server.url());
        let request = ChatRequest::of(&conversation().context().unwrap());
        let said = model.answer(request, &CancellationToken::new()).await.unwrap();
        assert_eq!((&*said.text, &*said.model), ("A function.", "real-model"));
        let requests = server.requests();
        let body: Value =
            serde_json::from_str(requests[0].split_once("\r\n\r\n").unwrap().1).unwrap();
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
