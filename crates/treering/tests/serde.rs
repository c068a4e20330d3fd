//! Messages and ids with the feature `serde`: `cargo test -p treering --features serde --test serde`.

use serde_json::{Value, json};
use treering::entry::{AssistantMessage, StopReason, TokenUsage, ToolResultMessage};
use treering::{EntryId, Message, Session, SessionId};

#[test]
fn a_message_is_serialized_as_the_object_that_it_is() {
    let answer = AssistantMessage::new("openai-completions", "acme", "m1")
        .with_text("Yes.")
        .with_usage(TokenUsage::new(3, 0))
        .with_timestamp(7);
    let value = serde_json::to_value(&answer).unwrap();
    assert_eq!(value, serde_json::from_slice::<Value>(answer.clone().build().as_json()).unwrap());
    assert_eq!((&value["role"], &value["usage"]["input"]), (&json!("assistant"), &json!(3)));
    let result = ToolResultMessage::new("c", "t").with_text("ok").build();
    assert_eq!(serde_json::to_value(&result).unwrap()["toolCallId"], "c");
}

#[test]
fn a_message_comes_from_a_value() {
    let value = json!({ "role": "user", "content": [{ "type": "text", "text": "hello\n" }] });
    let message: Message = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(message.view().text(), "hello\n");
    assert_eq!(serde_json::to_value(&message).unwrap(), value);
    let session = Session::in_memory("/project");
    session.append(message).unwrap();
    for wrong in [json!([]), json!({ "content": "no role" }), json!(null)] {
        assert!(serde_json::from_value::<Message>(wrong).is_err());
    }
}

#[test]
fn half_a_surrogate_pair_is_replaced() {
    let message = Message::from_json(br#"{"role":"user","content":"a\ud83d"}"#).unwrap();
    assert_eq!(serde_json::to_value(&message).unwrap()["content"], "a\u{fffd}");
}

#[test]
fn ids_and_stop_reasons_are_strings() {
    let id = EntryId::from("880a7217");
    assert_eq!(serde_json::to_value(&id).unwrap(), "880a7217");
    assert_eq!(serde_json::from_value::<EntryId>(json!("880a7217")).unwrap(), id);
    let session = SessionId::new("nightly").unwrap();
    assert_eq!(serde_json::to_value(&session).unwrap(), "nightly");
    assert_eq!(serde_json::from_value::<SessionId>(json!("nightly")).unwrap(), session);
    assert!(serde_json::from_value::<SessionId>(json!("../up")).is_err());
    assert_eq!(serde_json::to_value(StopReason::ToolUse).unwrap(), "toolUse");
    assert_eq!(
        serde_json::from_value::<StopReason>(json!("aborted")).unwrap(),
        StopReason::Aborted
    );
}
