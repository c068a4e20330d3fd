//! Screens of the chat at several sizes.

use super::{empty, prepare, with_path};
use crate::chat::{ChatEvent, ChatState, CompletionSources, StreamChunk, StreamKind, update};
use crate::testing::{press, seen};
use crate::{Notice, TerminalEvent};
use treering::{Message, NewEntry, Session};

/// The screen as text, without blanks at the ends of lines.
fn screen(state: ChatState, session: &Session, width: u16, height: u16) -> String {
    let (state, _) = update(state, ChatEvent::from(TerminalEvent::Resize(width, height)));
    let (state, _) = prepare(state, session);
    seen(&state, width, height)
}

fn message(json: &str) -> NewEntry {
    Message::from_json(json.as_bytes()).unwrap().into_entry()
}

/// Every kind of block in a transcript.
fn story() -> Session {
    let session = Session::in_memory("/project");
    let question = Message::user("What is in this directory?").into_entry().with_id("aaaaaaaa");
    session
        .append_all(&[
            NewEntry::branch_summary(None, "Tried the other way: no luck."),
            question,
            message(
                r#"{"role":"assistant","model":"m1","stopReason":"toolUse","content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"Let me see."},{"type":"toolCall","id":"t1","name":"bash","arguments":{"command":"ls -l"}}]}"#,
            ),
            message(
                r#"{"role":"toolResult","toolCallId":"t1","toolName":"bash","isError":false,"content":[{"type":"text","text":"1\n2\n3\n4\n5\n6\n7\n8"}]}"#,
            ),
            message(
                r#"{"role":"bashExecution","command":"make test","output":"not ok","exitCode":2,"cancelled":false,"truncated":false,"excludeFromContext":true}"#,
            ),
            NewEntry::compaction("They looked around.", None, 12_345),
            NewEntry::model_change("acme", "m2"),
            Message::user("Go on.").into_entry(),
            message(
                r#"{"role":"assistant","model":"m2","stopReason":"aborted","content":[{"type":"text","text":"Once upon a"}]}"#,
            ),
        ])
        .unwrap();
    session.label("aaaaaaaa", Some("start")).unwrap();
    session
}

#[test]
fn a_conversation() {
    let session = story();
    let state = with_path(empty(), &session);
    insta::assert_snapshot!(screen(state, &session, 80, 40), @r"
    ── summary of another branch
      Tried the other way: no luck.

    › you  [start]
      What is in this directory?

    ● m1
      thinking: Hm.
      Let me see.
      → bash

    · [bash]
      1
      2
      3
      4
      5
      6
      … 2 more lines

    $ make test   (not in context)
      not ok
      (exit code 2)

    ── compaction of about 12.3k tokens
      They looked around.

    model: acme/m2

    › you
      Go on.

    ● m2
      Once upon a
      (aborted)


    ── demo · acme/m1 · 1.2k/10k 12 % · $0.02 ──────────────────────────────────────
    ›
    Enter send · Esc Esc tree · /help · Alt+Enter new line
    ");
}

#[test]
fn an_answer_that_arrives() {
    let session = story();
    let state = with_path(empty(), &session);
    let (state, _) = update(
        state,
        ChatEvent::TaskStarted("answering".into(), Some((StreamKind::Answer, "● m2".into()))),
    );
    let (state, _) = update(state, ChatEvent::Chunk(StreamChunk::Text("First one, then".into())));
    let (state, _) = update(state, ChatEvent::Elapsed(12));
    insta::assert_snapshot!(screen(state, &session, 80, 24), @r"
      … 2 more lines

    $ make test   (not in context)
      not ok
      (exit code 2)

    ── compaction of about 12.3k tokens
      They looked around.

    model: acme/m2

    › you
      Go on.

    ● m2
      Once upon a
      (aborted)

    ● m2
      First one, then

    ── answering 12 s, 15 characters · demo · acme/m1 · 1.2k/10k 12 % · $0.02 ──────
    ›
    Esc stop · PgUp PgDn scroll · /help
    ");
}

#[test]
fn a_small_screen() {
    let session = story();
    let (state, _) = press(with_path(empty(), &session), "one Ctrl+J two");
    insta::assert_snapshot!(screen(state, &session, 40, 10), @r"
      Go on.

    ● m2
      Once upon a
      (aborted)

    ── demo · acme/m1 · 1.2k/10k 12 % · $0.0
    › one
      two
    Enter send · Esc Esc tree · /help · Alt+
    ");
}

#[test]
fn what_is_written_grows_to_a_third_of_the_screen() {
    let session = story();
    let (state, _) = press(with_path(empty(), &session), "a Ctrl+J b Ctrl+J c Ctrl+J d Ctrl+J e");
    insta::assert_snapshot!(screen(state, &session, 40, 10), @r"

    ● m2
      Once upon a
      (aborted)

    ── demo · acme/m1 · 1.2k/10k 12 % · $0.0
    … c
      d
      e
    Enter send · Esc Esc tree · /help · Alt+
    ");
}

#[test]
fn a_list_over_a_wide_screen() {
    let session = story();
    let (state, _) = press(with_path(empty(), &session), "/help Enter");
    insta::assert_snapshot!(screen(state, &session, 120, 40), @r"
    ── commands and keys 1–36 of 63 · PgUp PgDn · Esc closes ───────────────────────────────────────────────────────────────
    Text is sent to the model.
    !COMMAND                 run a shell command; the model sees it with the next message
    !!COMMAND                run a shell command without showing it to the model

    Commands
    /tree                    navigate the session tree
    /branch [ENTRY]          fork before a message into a new session
    /branch-here ENTRY [SUMMARY | --summarize [FOCUS]]
                             continue from an entry in this session
    /branches                list branches with numbers
    /switch ENTRY            switch to another branch
    /pop [ENTRY]             undo your last message, with a summary
    /fork [ENTRY]            fork at an entry into a new session
    /clone                   copy this branch into a new session
    /compact [FOCUS]         replace older context with a summary
    /label [ENTRY] TEXT      label an entry (default: the last); - removes it
    /name [TEXT]             show or set the session name
    /export-branch [ENTRY] [FILE]
                             export an entry and all below it to a file
    /cherry-pick ENTRY[..ENTRY]
                             copy entries to this branch
    /merge ENTRY [--full | FOCUS]
                             merge another branch into this one
    /resume                  open another session
    /new                     start a new session
    /model [NAME]            show or change the model
    /thinking [LEVEL]        show or set the thinking level
    /context                 show the context of the model
    /cost                    show tokens and cost
    /help                    show commands and keys
    /quit                    quit the program
    ENTRY is an entry id or its unique prefix, a label, or a branch number from /branches.

    Keys
    Enter                    send the message; after a backslash: a new line
    Shift+Enter Alt+Enter Ctrl+J
    ── demo · acme/m1 · 1.2k/10k 12 % · $0.02 ──────────────────────────────────────────────────────────────────────────────
    ›
    Enter send · Esc Esc tree · /help · Alt+Enter new line
    ");
}

#[test]
fn commands_are_offered() {
    let session = story();
    let names = CompletionSources {
        places: vec![("1".into(), "a branch".into())],
        ..CompletionSources::default()
    };
    let (state, _) = update(with_path(empty(), &session), ChatEvent::Completions(names));
    let foot = |keys: &str, rows: usize| {
        let text = screen(press(state.clone(), keys).0, &session, 80, 12);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len() - rows..].join("\n")
    };
    insta::assert_snapshot!(foot("/br", 4), @r"
    › /br
    /branch       fork before a message into a new session
    /branch-here  continue from an entry in this session
    /branches     list branches with numbers
    ");
    insta::assert_snapshot!(foot("/", 3), @r"
    /branch         fork before a message into a new session
    /branch-here    continue from an entry in this session
    /branches       list branches with numbers  (+18: Tab)
    ");
    insta::assert_snapshot!(foot("/q", 2), @r"
    › /q
    /quit  quit the program
    ");
    insta::assert_snapshot!(foot("/switch Space", 1), @r"1  a branch");
    insta::assert_snapshot!(foot("/nonsense Enter", 1), @r"unknown command /nonsense; see /help, or put a space first to send it");
}

#[test]
fn hostile_text_is_harmless() {
    let session = Session::in_memory("/project");
    let nasty = "\u{1b}[2J\u{7}red\u{1b}]0;t\u{7} \u{202e}gnp \u{200b}x 日本語 👍🏽";
    let json = serde_free(nasty);
    let command =
        format!(r#"{{"role":"bashExecution","command":{json},"output":{json},"exitCode":0}}"#);
    let answer = format!(
        r#"{{"role":"assistant","model":{json},"stopReason":"error","errorMessage":{json},"content":[{{"type":"text","text":{json}}}]}}"#
    );
    let entries =
        [Message::user(nasty).into_entry().with_id("a"), message(&command), message(&answer)];
    session.append_all(&entries).unwrap();
    session.label("a", Some(nasty)).unwrap();
    let state = with_path(empty(), &session);
    let (state, _) = update(state, ChatEvent::from(TerminalEvent::Paste(nasty.into())));
    let (state, _) = update(state, ChatEvent::Notice(Notice::failure(nasty)));
    let text = screen(state, &session, 80, 24);
    let acts = |c: &char| c.is_control() && *c != '\n' || "\u{202e}\u{200b}".contains(*c);
    assert_eq!(text.chars().find(acts), None, "{text}");
    assert!(text.contains("› you  [\\x1b[2J"), "{text}");
}

/// A JSON string, every character escaped.
fn serde_free(text: &str) -> String {
    let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
    format!("\"{escaped}\"")
}

#[test]
fn no_screen_is_too_small() {
    let session = story();
    for (width, height) in [(0, 0), (1, 1), (2, 2), (3, 3), (5, 40), (200, 1), (40, 10)] {
        for keys in ["x", "/help Enter", "a Ctrl+J b", "PgUp", "Ctrl+Home", "/br Tab", "Ctrl+O"] {
            let (state, _) = press(with_path(empty(), &session), keys);
            screen(state, &session, width, height);
        }
    }
}
