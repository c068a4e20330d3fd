use super::*;
use proptest::prelude::*;

fn conversation(messages: &[&str]) -> Conversation {
    let messages = messages.iter().map(|message| message.as_bytes().to_vec()).collect();
    Conversation { messages, ..Default::default() }
}

#[test]
fn the_sections_quote_the_messages() {
    let mut conversation = conversation(&[
        r#"{"role":"user","content":"Fix the parser.\nNever touch the lexer."}"#,
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"secret"},{"type":"text","text":"I decided to rewrite it."},{"type":"toolCall","id":"1","name":"read","arguments":{"path":"b.rs"}},{"type":"toolCall","id":"2","name":"edit","arguments":{"path":"a.rs"}},{"type":"toolCall","id":"3","name":"read","arguments":{"path":"a.rs"}},{"type":"toolCall","id":"4","name":"read","arguments":{"path":7}}]}"#,
        r#"{"role":"toolResult","toolCallId":"1","toolName":"read","isError":true,"content":[{"type":"text","text":"no such file"}]}"#,
        r#"{"role":"bashExecution","command":"make","output":"long\nlinker failed","exitCode":2}"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"The parser works. Next, add tests."}],"stopReason":"stop"}"#,
        r#"{"role":"user","content":[{"type":"text","text":"Add tests"}]}"#,
    ]);
    conversation.previous_summary = Some("## Goal\nOld goal".into());
    conversation.instructions = Some("the tests".into());
    let expected = "\
## Goal
- Fix the parser. Never touch the lexer.
- Add tests

## Constraints & Preferences
- Never touch the lexer.

## Progress
### Done
- The parser works. Next, add tests.

### In Progress
- Add tests

### Blocked
- read: no such file
- `make` exited with 2: long linker failed

## Key Decisions
- I decided to rewrite it.

## Next Steps
- The parser works. Next, add tests.

## Critical Context
- Asked to focus on: the tests
- Last state: The parser works. Next, add tests.
- Tools used: edit ×1, read ×3

Earlier summary:
> ## Goal
> Old goal";
    assert_eq!(Extractive::default().extract(&conversation), expected);
}

#[test]
fn nothing_to_quote_is_nothing() {
    assert_eq!(Extractive::default().extract(&conversation(&[])), "");
    let odd =
        conversation(&["", "[]", "{\"role\":5}", "{\"role\":\"user\",\"content\":\" \"}", "{"]);
    assert_eq!(Extractive::default().extract(&odd), "");
}

#[test]
fn the_first_request_outlives_the_newer_ones() {
    let messages: Vec<String> =
        (0..100).map(|n| format!(r#"{{"role":"user","content":"request {n}"}}"#)).collect();
    let messages: Vec<&str> = messages.iter().map(String::as_str).collect();
    let text = Extractive::default().extract(&conversation(&messages));
    assert!(
        text.starts_with("## Goal\n- request 0\n- (88 earlier left out)\n- request 88\n"),
        "{text}"
    );
}

#[test]
fn the_size_has_a_bound() {
    let long = "never decided next step word ".repeat(20_000);
    let lines = "must decide: decided todo\n".repeat(20_000);
    let user = serde_json::json!({ "role": "user", "content": [{ "type": "text", "text": long }] });
    let mut messages = Vec::new();
    for n in 0..2000 {
        let call = serde_json::json!({ "type": "toolCall", "id": "x", "name": "read",
            "arguments": { "path": format!("{n}{}", "p".repeat(900)) } });
        messages.push(serde_json::json!({ "role": "assistant", "content": [call] }).to_string());
    }
    messages.push(user.to_string());
    messages.push(serde_json::json!({ "role": "assistant", "content": lines }).to_string());
    let messages: Vec<&str> = messages.iter().map(String::as_str).collect();
    let mut conversation = conversation(&messages);
    conversation.previous_summary = Some("x\n".repeat(1_000_000));
    let text = Extractive::default().extract(&conversation);
    assert!(text.len() < 200_000, "{}", text.len());
}

#[test]
fn quotes_end_at_words_and_characters() {
    assert_eq!(quote(" a \n b ", 10), "a b");
    assert_eq!(quote("one two three", 8), "one two…");
    assert_eq!(quote("ééééé", 3), "ééé…");
    assert_eq!(quote_end("one two", 3), "two");
    assert_eq!(quote_end("é", 3), "é");
}

proptest! {
    #[test]
    fn any_bytes_give_some_text_and_always_the_same(
        messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..8),
    ) {
        let conversation = Conversation { messages, ..Default::default() };
        let extractive = Extractive { max_items: 2, max_quote: 5 };
        prop_assert_eq!(extractive.extract(&conversation), extractive.extract(&conversation));
    }
}

#[test]
fn preambles_of_earlier_summaries_are_not_quoted() {
    let preamble = treering::branch_summary::BRANCH_SUMMARY_PREAMBLE;
    let message =
        |role: &str, text: String| serde_json::json!({ "role": role, "summary": text }).to_string();
    let branch = message("branchSummary", format!("{preamble}The cache was tried."));
    let merge = treering::merge::MERGE_SUMMARY_PREAMBLE;
    let merge = message("compactionSummary", format!("{merge}The parser was merged."));
    let mut conversation = conversation(&[&branch, &merge]);
    conversation.previous_summary = Some(format!("{preamble}The first attempt."));
    let text = Extractive::default().extract(&conversation);
    assert!(text.contains("- The cache was tried.\n- The parser was merged.\n"), "{text}");
    assert!(text.contains("> The first attempt."), "{text}");
    assert!(!text.contains("explored a different"), "{text}");
}
