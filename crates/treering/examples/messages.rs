//! Writes a session with an entry of every builder.
//!
//! ```sh
//! cargo run -p treering --example messages -- messages.jsonl
//! ```
//!
//! `conformance/` lets pi read the file.

use treering::entry::{
    AssistantMessage, BashExecutionMessage, CustomMessage, StopReason, SystemMessage, TokenCost,
    TokenUsage, ToolResultMessage, UserMessage,
};
use treering::{Error, Message, NewEntry, Session};

/// A picture of one pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn main() -> Result<(), Error> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "messages.jsonl".to_owned());
    let session = Session::create_at(path, "/project", Default::default())?;
    let answer = || AssistantMessage::new("anthropic-messages", "anthropic", "claude-sonnet-4-5");
    let priced = TokenUsage::new(1000, 100).cost(TokenCost::new(0.003, 0.0015));
    let unpriced = TokenUsage::new(20, 7).cache_read(300);

    session.append(NewEntry::model_change("anthropic", "claude-sonnet-4-5"))?;
    session.append(NewEntry::thinking_level_change("high"))?;
    session.append(SystemMessage::new("Be brief."))?;
    let first = session
        .append(UserMessage::new().with_text("What is this?").with_image("image/png", PIXEL))?;
    session.append(
        answer()
            .with_thinking("A picture; let me measure it.", Some("c2lnbmVk"))
            .with_redacted_thinking("c2VjcmV0")
            .with_text("Let me look.")
            .with_tool_call("call_1", "measure", r#"{"path":"pixel.png","exact":true}"#)?
            .with_usage(priced)
            .with_response_id("msg_1"),
    )?;
    session.append(
        ToolResultMessage::new("call_1", "measure")
            .with_text("1 × 1")
            .with_image("image/png", PIXEL)
            .with_details(r#"{"width":1,"height":1}"#)?,
    )?;
    let pixel = session.append(answer().with_text("One pixel.").with_usage(unpriced))?;
    session.append(Message::assistant("acme", "model-1", "An answer that cost nothing."))?;
    session.append(answer().with_text("It is").with_stop_reason(StopReason::Length))?;
    session.append(answer().failed("the server answered 529: overloaded"))?;
    session.append(answer().with_text("I was say").aborted())?;
    session.append(
        BashExecutionMessage::new("make test", "2 tests failed\n")
            .with_exit_code(2)
            .with_truncated(true)
            .with_full_output_path("/tmp/make.log"),
    )?;
    session
        .append(BashExecutionMessage::new("sleep 9", "").with_canceled(true).with_excluded(true))?;
    session.append(
        CustomMessage::new("todo")
            .with_text("Two items are open.")
            .with_details(r#"{"open":2}"#)?,
    )?;
    session.append(CustomMessage::new("hidden").with_text("Not shown.").with_display(false))?;
    session.append(NewEntry::custom("state", Some(br#"{"n":1}"#))?)?;
    session.append(NewEntry::label(&pixel, Some("measured")))?;
    session.append(NewEntry::session_info("Every kind of message"))?;
    session.append(NewEntry::usage("cache_warm", "anthropic", "m", &unpriced.to_json())?)?;
    let left = session.leaf();
    session.append(
        NewEntry::branch_summary(left.as_ref(), "The pixel was measured.")
            .with_details(r#"{"readFiles":["pixel.png"],"modifiedFiles":[]}"#)?
            .with_usage(unpriced)
            .with_parent(&pixel),
    )?;
    session.append(Message::user("Go on."))?;
    session.append(answer().with_text("Done.").with_usage(priced))?;
    session.append(
        NewEntry::compaction("A picture was measured.", Some(&first), 1420)
            .with_usage(unpriced)
            .from_hook(),
    )?;
    session.append(Message::user("Thanks."))?;
    Ok(())
}
