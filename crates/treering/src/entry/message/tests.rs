//! Tests that a message reads back as the builder was given it, with the fields that pi requires.

use super::*;
use crate::entry::Block;
use proptest::prelude::*;

/// A block to build.
#[derive(Debug, Clone)]
enum Part {
    Text(String),
    Thinking(String, Option<String>),
    Redacted(String),
    Call(String, String, String),
}

fn part() -> impl Strategy<Value = Part> {
    let text = || any::<String>();
    let signature = proptest::option::of("[a-zA-Z0-9+/]{1,20}");
    let arguments = prop_oneof![
        Just("{}".to_owned()),
        text().prop_map(|text| serde_json::json!({ "path": text, "n": [1, null] }).to_string()),
    ];
    prop_oneof![
        text().prop_map(Part::Text),
        (text(), signature).prop_map(|(text, signature)| Part::Thinking(text, signature)),
        "[a-z]{1,9}".prop_map(Part::Redacted),
        (text(), text(), arguments)
            .prop_map(|(id, name, arguments)| Part::Call(id, name, arguments)),
    ]
}

fn usage() -> impl Strategy<Value = TokenUsage> {
    let tokens = || 0..1_u64 << 40;
    let amount = || 0.0..100.0_f64;
    let cost = (amount(), amount(), amount(), amount(), amount()).prop_map(
        |(input, output, cache_read, cache_write, total)| TokenCost {
            input,
            output,
            cache_read,
            cache_write,
            total,
        },
    );
    (tokens(), tokens(), tokens(), tokens(), proptest::option::of(cost)).prop_map(
        |(input, output, cache_read, cache_write, cost)| TokenUsage {
            input,
            output,
            cache_read,
            cache_write,
            cost,
        },
    )
}

/// Returns the message as another reader sees it.
fn read(message: &Message) -> serde_json::Value {
    serde_json::from_slice(message.as_json()).unwrap()
}

proptest! {
    #[test]
    fn an_answer_reads_back_as_it_was_built(
        (api, provider, model) in any::<(String, String, String)>(),
        parts in proptest::collection::vec(part(), 0..6),
        usage in usage(),
        error in proptest::option::of(any::<String>()),
        time in any::<i32>(),
    ) {
        let mut answer = AssistantMessage::new(&api, &provider, &model)
            .with_usage(usage)
            .with_timestamp(time.into());
        for part in &parts {
            answer = match part {
                Part::Text(text) => answer.with_text(text),
                Part::Thinking(text, signature) => answer.with_thinking(text, signature.as_deref()),
                Part::Redacted(data) => answer.with_redacted_thinking(data),
                Part::Call(id, name, arguments) => {
                    answer.with_tool_call(id, name, arguments).unwrap()
                }
            };
        }
        if let Some(error) = &error {
            answer = answer.failed(error);
        }
        let message = answer.build();
        let view = message.view().as_assistant().unwrap();
        prop_assert_eq!((view.api(), view.provider()), (api.into(), provider.into()));
        prop_assert_eq!(view.model(), model);
        prop_assert_eq!(view.usage(), Some(usage));
        prop_assert_eq!(view.error_message().map(|text| text.into_owned()), error.clone());
        prop_assert_eq!(message.view().timestamp(), Some(time.into()));
        let has_calls = parts.iter().any(|part| matches!(part, Part::Call(..)));
        prop_assert_eq!(view.stop_reason(), Some(match (&error, has_calls) {
            (Some(_), _) => StopReason::Error,
            (None, true) => StopReason::ToolUse,
            (None, false) => StopReason::Stop,
        }));
        let blocks = view.blocks();
        prop_assert_eq!(blocks.len(), parts.len());
        for (block, part) in blocks.iter().zip(&parts) {
            match (block, part) {
                (Block::Text { text, .. }, Part::Text(expected)) => prop_assert_eq!(text, expected),
                (
                    Block::Thinking { text, signature, is_redacted: false },
                    Part::Thinking(expected, expected_signature),
                ) => {
                    prop_assert_eq!(text, expected);
                    prop_assert_eq!(signature.as_deref(), expected_signature.as_deref());
                }
                (
                    Block::Thinking { signature, is_redacted: true, .. },
                    Part::Redacted(data),
                ) => prop_assert_eq!(signature.as_deref(), Some(&**data)),
                (Block::ToolCall { id, name, arguments, .. }, Part::Call(i, n, expected)) => {
                    prop_assert_eq!((&**id, &**name), (&**i, &**n));
                    prop_assert_eq!(*arguments, Some(expected.as_bytes()));
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
        // pi adds these up without asking whether they are there.
        let json = read(&message);
        for key in ["api", "provider", "model", "stopReason"] {
            prop_assert!(json[key].is_string(), "{}", json);
        }
        prop_assert!(json["timestamp"].is_number() && json["content"].is_array());
        for key in ["input", "output", "cacheRead", "cacheWrite", "totalTokens"] {
            prop_assert!(json["usage"][key].is_u64(), "{}", json);
        }
        for key in ["input", "output", "cacheRead", "cacheWrite", "total"] {
            prop_assert!(json["usage"]["cost"][key].is_number(), "{}", json);
        }
        // Written as a line, it is one.
        prop_assert!(!message.as_json().contains(&b'\n'));
    }

    #[test]
    fn other_messages_read_back_as_they_were_built(
        (call, tool, text) in any::<(String, String, String)>(),
        (is_error, details) in any::<(bool, Option<String>)>(),
        code in proptest::option::of(any::<i32>()),
        flags in any::<(bool, bool, bool)>(),
    ) {
        let mut result =
            ToolResultMessage::new(&call, &tool).with_text(&text).with_error(is_error);
        let details = details.map(|text| serde_json::json!({ "text": text }).to_string());
        if let Some(details) = &details {
            result = result.with_details(details).unwrap();
        }
        let message = result.build();
        let view = message.view().as_tool_result().unwrap();
        prop_assert_eq!((view.tool_call_id(), view.tool_name()), (call.into(), tool.into()));
        prop_assert_eq!(view.is_error(), is_error);
        prop_assert_eq!(view.details(), details.as_deref().map(str::as_bytes));
        prop_assert_eq!(message.view().text(), text.clone());

        let mut run = BashExecutionMessage::new(&text, &text)
            .with_canceled(flags.0)
            .with_truncated(flags.1)
            .with_excluded(flags.2);
        if let Some(code) = code {
            run = run.with_exit_code(code).with_full_output_path(&text);
        }
        let message = run.build();
        let view = message.view().as_bash_execution().unwrap();
        prop_assert_eq!((view.command(), view.output()), (text.clone().into(), text.clone().into()));
        prop_assert_eq!(view.exit_code(), code);
        prop_assert_eq!((view.is_canceled(), view.is_truncated(), view.is_excluded()), flags);
        prop_assert_eq!(view.full_output_path().is_some(), code.is_some());

        let message = UserMessage::new().with_text(&text).with_image("image/png", &text).build();
        let blocks = message.view().blocks();
        let [Block::Text { text: first, .. }, Block::Image { data, mime_type }] = &*blocks else {
            panic!("{blocks:?}")
        };
        prop_assert_eq!((&**first, &**data, &**mime_type), (&*text, &*text, "image/png"));
        prop_assert_eq!(SystemMessage::new(&text).build().view().text(), text);
    }
}

#[test]
fn json_that_is_no_message_is_refused() {
    for json in ["[]", "{\"content\":1}", "{\"role\":1}", "{\"role\":\"user\"", ""] {
        assert!(Message::from_json(json).is_err(), "{json}");
    }
    let answer = || AssistantMessage::new("a", "p", "m");
    for arguments in ["[]", "null", "{", "{}{}"] {
        assert!(answer().with_tool_call("1", "t", arguments).is_err(), "{arguments}");
    }
    assert!(answer().with_block("{\"text\":1}").is_err());
    assert!(ToolResultMessage::new("1", "t").with_details("{").is_err());
}

#[test]
fn half_a_surrogate_pair_leaves_a_message_usable() {
    let json = br#"{"role":"assistant","content":[{"type":"text","text":"a\ud83d"},{"type":"toolCall","id":"1","name":"t","arguments":{"p":"\udc00"}}],"stopReason":"stop"}"#;
    let message = Message::from_json(json).unwrap();
    assert_eq!(message.as_json(), json);
    let view = message.view().as_assistant().unwrap();
    assert!(matches!(&view.blocks()[0], Block::Text { text, .. } if text == "a\u{fffd}"));
    assert_eq!(view.stop_reason(), Some(StopReason::Stop));
}
