//! Tests of keys: a state, the keys, and the expected state.

use super::empty;
use crate::chat::{
    ChatCommand, ChatEffect, ChatEvent, ChatState, DoubleEscape, ExitReason, Status, StreamChunk,
    StreamKind, update,
};
use crate::page::Page;
use crate::testing::press;
use crate::theme::Tone;
use crate::{MouseEvent, Notice, TerminalEvent};

/// The text with the cursor in it.
fn written(state: &ChatState) -> String {
    let (before, after) = state.editor.halves();
    format!("{before}|{after}").replace('\n', "↵")
}

#[test]
fn keys_write() {
    for (keys, after) in [
        ("hello", "hello|"),
        ("one Space two Ctrl+W", "one |"),
        ("one Space two Alt+← x", "one x|two"),
        ("ab Shift+Enter cd", "ab↵cd|"),
        ("ab Alt+Enter cd", "ab↵cd|"),
        ("ab Ctrl+J cd Ctrl+A", "ab↵|cd"),
        ("ab \\ Enter cd", "ab↵cd|"),
        ("ab Ctrl+J cd ↑ Ctrl+E x", "abx|↵cd"),
        ("ab Ctrl+J cd Ctrl+U Ctrl+Y Ctrl+Y", "ab↵cdcd|"),
        ("abc ← ← Ctrl+K Ctrl+Y", "abc|"),
        ("abc ← Ctrl+D", "ab|"),
        ("abc Home Delete →", "b|c"),
        ("abc Ctrl+C", "|"),
        ("abc Ctrl+C Ctrl+Y", "abc|"),
        ("abc Esc", "abc|"),
        ("/bra Tab", "/branch|"),
        ("/bra Tab Tab Tab", "/branch-here|"),
        ("/bra Tab ↓ ↓ ↑", "/branch|"),
        ("/bra Tab ↑", "/branches|"),
        ("/q Tab", "/quit |"),
        ("/thinking Space me Tab", "/thinking medium |"),
        ("x Tab", "x|"),
        // Both the sent message and the unfinished text can be restored.
        ("one Enter two ↑", "one|"),
        ("one Enter two ↑ ↓", "two|"),
        ("/nonsense Enter", "/nonsense|"),
        // Text that gives way to another is a draft.
        ("one Ctrl+S", "|"),
        ("one Ctrl+S Ctrl+S", "one|"),
        ("one Ctrl+S two Ctrl+S", "one|"),
        ("one Ctrl+S two Ctrl+S Ctrl+S", "two|"),
        ("Ctrl+S", "|"),
        ("one Enter two ↑ Enter Ctrl+S", "two|"),
        ("one Enter two ↑ x ↓ Ctrl+S", "onex|"),
        ("one Enter two Enter three ↑ x ↑ Ctrl+S Ctrl+S", "twox|"),
        ("one Enter two ↑ Ctrl+S", "two|"),
        ("one Enter two ↑ x Ctrl+S", "two|"),
        ("one Enter two ↑ x Ctrl+S Ctrl+S", "onex|"),
        ("one Enter two ↑ Ctrl+C Ctrl+S", "two|"),
        ("one Ctrl+C two Ctrl+W ↑", "one|"),
    ] {
        let (state, _) = press(empty(), keys);
        assert_eq!(written(&state), after, "{keys:?}");
    }
}

#[test]
fn keys_have_effects() {
    let leave = |left| vec![ChatEffect::Exit(left)];
    let shell = |in_context| vec![ChatEffect::Shell { command: "ls".to_owned(), in_context }];
    for (keys, effects) in [
        ("Enter", vec![]),
        ("Space Enter", vec![]),
        ("hi Enter", vec![ChatEffect::Send("hi".into())]),
        ("hi Ctrl+J you Enter", vec![ChatEffect::Send("hi\nyou".into())]),
        ("!ls Enter", shell(true)),
        ("!!ls Enter", shell(false)),
        ("/pop Enter", vec![ChatEffect::Run(ChatCommand::Pop(None))]),
        ("/tree Enter", leave(ExitReason::Tree)),
        ("/branch Enter", vec![ChatEffect::Run(ChatCommand::Branch(None))]),
        ("/fork Enter", vec![ChatEffect::Run(ChatCommand::Fork(None))]),
        ("/resume Enter", leave(ExitReason::Resume)),
        ("/quit Enter", leave(ExitReason::Quit)),
        ("/help Enter", vec![]),
        ("/nonsense Enter", vec![]),
        ("Esc", vec![]),
        ("Esc Esc", leave(ExitReason::Tree)),
        ("Esc x Esc", vec![]),
        ("draft Esc Esc", leave(ExitReason::Tree)),
        ("/help Enter Esc", vec![]),
        ("/help Enter Esc Esc", vec![]),
        ("/help Enter Esc Esc Esc", leave(ExitReason::Tree)),
        ("Ctrl+C", vec![]),
        ("Ctrl+C Ctrl+C", leave(ExitReason::Quit)),
        ("draft Ctrl+C Ctrl+C", leave(ExitReason::Quit)),
        ("Ctrl+C x Ctrl+C", vec![]),
        ("Ctrl+D", leave(ExitReason::Quit)),
        ("x Ctrl+D", vec![]),
        ("Delete", vec![]),
    ] {
        assert_eq!(press(empty(), keys).1, effects, "{keys:?}");
    }
}

#[test]
fn a_running_operation_allows_writing_scrolling_and_stopping() {
    let (busy, _) = update(
        empty(),
        ChatEvent::TaskStarted("answering".into(), Some((StreamKind::Answer, "● m1".into()))),
    );
    for (keys, effects) in [
        ("Esc", vec![ChatEffect::Abort]),
        ("Esc Esc", vec![ChatEffect::Abort]),
        ("hi Enter", vec![]),
        ("!ls Enter", vec![]),
        ("/pop Enter", vec![]),
        ("/tree Enter", vec![]),
        ("/cost Enter", vec![ChatEffect::Run(ChatCommand::Cost)]),
        ("Ctrl+C Ctrl+C", vec![ChatEffect::Exit(ExitReason::Quit)]),
    ] {
        assert_eq!(press(busy.clone(), keys).1, effects, "{keys:?}");
    }
    let (state, _) = press(busy, "hi Enter");
    assert_eq!(state.draft(), "hi");
    assert!(state.notice.is_some_and(|notice| notice.tone == Tone::Failure));
}

#[test]
fn without_a_model_what_was_written_stays_and_the_way_to_one_is_shown() {
    let (state, _) = update(empty(), ChatEvent::Status(Status::default()));
    let (state, effects) = press(state, "hello Enter");
    assert_eq!((effects, state.draft()), (vec![], "hello".to_owned()));
    assert!(state.overlay.is_some());
    // Everything else works.
    let (state, _) = press(state, "Esc Ctrl+C");
    assert_eq!(press(state, "!ls Enter").1.len(), 1);
}

#[test]
fn what_is_pasted_keeps_its_lines() {
    let paste = |text: &str| ChatEvent::from(TerminalEvent::Paste(text.to_owned()));
    let (state, effects) = update(empty(), paste("a\r\nb\u{1b}[2J\rc\n"));
    assert_eq!((written(&state).as_str(), effects), ("a↵b[2J↵c↵|", vec![]));
    // A long text stands as a marker and is sent as a whole.
    let long = "0123456789\n".repeat(100_000);
    let (state, _) = update(state, paste(&long));
    assert_eq!(written(&state), "a↵b[2J↵c↵[paste #1: 100000 lines]|");
    let (sent, effects) = press(state.clone(), "Space tail Enter");
    let whole = format!("a\nb[2J\nc\n{long} tail");
    assert!(effects == [ChatEffect::Send(whole.clone())]);
    // It comes back with ↑, and it is a draft like any other text.
    assert!(press(sent, "↑").0.draft() == whole);
    let (aside, _) = press(state.clone(), "Ctrl+S");
    assert!(aside.draft().is_empty() && press(aside, "Ctrl+S").0.draft() == state.draft());
    // A text that is too long is refused, and the editor is unchanged.
    let (full, _) = update(state.clone(), paste(&"x".repeat(16 << 20)));
    assert!(full.draft() == state.draft());
    assert!(full.notice.is_some_and(|notice| notice.tone == Tone::Failure));
}

#[test]
fn a_setting_chooses_what_two_escapes_do() {
    let (fork, none) = (DoubleEscape::Fork, DoubleEscape::Nothing);
    let (state, effects) = press(empty().with_double_escape(fork), "Esc Esc");
    assert_eq!(effects, [ChatEffect::Run(ChatCommand::Branch(None))]);
    assert!(state.notice.is_none());
    let (state, effects) = press(empty().with_double_escape(none), "draft Esc Esc Esc");
    assert_eq!((effects, state.draft()), (vec![], "draft".to_owned()));
}

#[test]
fn a_message_to_fork_from_is_chosen_from_a_list() {
    let messages: Vec<_> = ["a", "b", "c"].map(|id| (id.into(), format!("message {id}"))).into();
    let (state, _) = press(empty(), "draft");
    let (state, _) = update(state, ChatEvent::Select(messages));
    for (keys, chosen) in
        [("Enter", "c"), ("↑ Enter", "b"), ("↑ ↑ ↑ ↓ Enter", "b"), ("Home Enter", "a")]
    {
        let (after, effects) = press(state.clone(), keys);
        assert_eq!(
            effects,
            [ChatEffect::Run(ChatCommand::Branch(Some(chosen.into())))],
            "{keys:?}"
        );
        assert_eq!((after.selector, after.editor), (None, state.editor.clone()), "{keys:?}");
    }
    // Other keys do nothing; Esc closes the list and nothing else.
    let (after, effects) = press(state.clone(), "x Backspace Esc");
    assert_eq!((effects, after.draft()), (vec![], "draft".to_owned()));
    assert!(after.selector.is_none() && after.armed.is_none());
    let (none, _) = update(empty(), ChatEvent::Select(Vec::new()));
    assert!(none.selector.is_none() && none.notice.is_some());
}

#[test]
fn a_second_enter_continues_a_read_only_session_in_a_copy() {
    let read_only = Some("Codex sessions are never changed".to_owned());
    let status = Status { read_only, ..empty().status };
    let (state, _) = update(empty(), ChatEvent::Status(status));
    let (asked, effects) = press(state.clone(), "hi Enter");
    assert_eq!((effects, asked.draft()), (vec![], "hi".to_owned()));
    let offer = "Codex sessions are never changed; press Enter again to continue in a copy";
    assert_eq!(asked.notice, Some(Notice::new(offer)));
    assert_eq!(press(asked.clone(), "Enter").1, [ChatEffect::Send("hi".into())]);
    // Any other key takes the offer back.
    assert_eq!(press(asked, "Esc Enter").1, []);
    assert_eq!(press(state.clone(), "!ls Enter").1, []);
    // Looking needs no copy.
    assert_eq!(press(state, "/cost Enter").1, [ChatEffect::Run(ChatCommand::Cost)]);
}

#[test]
fn thoughts_are_folded_and_a_retry_is_named() {
    let began =
        ChatEvent::TaskStarted("answering".into(), Some((StreamKind::Answer, "● m1".into())));
    let (state, _) = update(empty(), began);
    let arrived = |state, piece| update(state, ChatEvent::Chunk(piece)).0;
    let seen = |state: &ChatState| {
        let mut state = state.clone();
        state.settle();
        crate::testing::seen(&state, 80, 24)
    };
    let state = arrived(state, StreamChunk::Thinking("First this.\nThen that".into()));
    assert!(seen(&state).contains("thinking, 2 lines: Then that"), "{}", seen(&state));
    let state = arrived(state, StreamChunk::Text("The answer.".into()));
    assert!(seen(&state).contains("thinking, 2 lines: First this."), "{}", seen(&state));
    let (open, _) = press(state.clone(), "Ctrl+O");
    assert!(seen(&open).contains("  Then that\n  The answer."), "{}", seen(&open));
    let (state, _) = update(state, ChatEvent::Retrying("retrying in 4 s (2/5): 429".into()));
    let state = arrived(state, StreamChunk::Restart);
    assert!(seen(&state).contains("── retrying in 4 s (2/5): 429 · "), "{}", seen(&state));
    assert!(!seen(&state).contains("First this."));
    let state = arrived(state, StreamChunk::Text("Again.".into()));
    assert!(!seen(&state).contains("retrying"), "{}", seen(&state));
}

#[test]
fn a_text_to_edit_does_not_drive_out_what_is_being_written() {
    let (state, _) = press(empty(), "half");
    let (state, _) = update(state, ChatEvent::Edit("other".into()));
    assert_eq!(state.draft(), "other");
    assert_eq!(
        state.notice,
        Some(Notice::new("your text was saved as a draft; Ctrl+S restores it"))
    );
    assert_eq!(press(state, "Ctrl+S").0.draft(), "half");
    let (state, _) = update(empty(), ChatEvent::SendFailed("said".into(), "no".into()));
    assert_eq!(state.draft(), "said");
    assert_eq!(state.notice, Some(Notice::failure("no")));
}

#[test]
fn text_that_was_not_sent_is_handed_over_however_the_chat_is_left() {
    let unsent = |state: &ChatState| {
        let unsent = state.unsent();
        let drafts = unsent.drafts.texts().iter().map(|draft| format!(" +{draft}"));
        unsent.text.clone() + &drafts.collect::<String>()
    };
    for (keys, left) in [
        ("draft Esc Esc", "draft"),
        ("draft Ctrl+C Ctrl+C", " +draft"),
        ("draft Ctrl+C x Ctrl+C Ctrl+C", " +x"),
        ("draft Ctrl+S Ctrl+D", " +draft"),
        ("one Enter draft ↑ Esc Esc", "draft"),
        ("one Enter draft ↑ x Esc Esc", "onex +draft"),
        ("one Enter", ""),
        ("one Ctrl+S two Ctrl+S Enter", " +two"),
    ] {
        let (state, _) = press(empty(), keys);
        assert_eq!(unsent(&state), left, "{keys:?}");
        // And it is taken up again.
        let again = empty().with_unsent(state.unsent());
        assert_eq!(unsent(&again), left, "{keys:?}");
        assert_eq!(again.notice.is_some(), left.contains('+'), "{keys:?}");
    }
}

#[test]
fn another_session_does_not_drive_out_what_was_being_written() {
    let (state, _) = press(empty(), "one Enter half ↑");
    let (state, _) = update(state, ChatEvent::History(vec!["other".into()]));
    assert_eq!(press(state, "Ctrl+S").0.draft(), "half");
}

#[test]
fn what_arrives_is_counted_and_can_begin_again() {
    let (state, _) = update(
        empty(),
        ChatEvent::TaskStarted("answering".into(), Some((StreamKind::Answer, "● m1".into()))),
    );
    let arrived = |state, piece| update(state, ChatEvent::Chunk(piece)).0;
    let state = arrived(state, StreamChunk::Text("hé".into()));
    let state = arrived(state, StreamChunk::Unseen(3));
    assert_eq!(state.work.as_ref().unwrap().characters, 5);
    let state = arrived(state, StreamChunk::Restart);
    assert_eq!(state.streaming.as_ref().unwrap().text, "");
    let (state, _) = update(state, ChatEvent::TaskFinished(None));
    assert!(state.work.is_none() && state.streaming.is_none());
    // Chunks of a finished task are ignored.
    assert!(arrived(state, StreamChunk::Text("x".into())).streaming.is_none());
}

#[test]
fn a_list_is_scrolled_while_nothing_is_written() {
    let lines = (0..100).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
    let overlay = ChatEvent::Overlay("numbers".into(), Page::of_failure(&lines));
    let (state, _) = update(empty(), overlay);
    let top = |state: &ChatState| state.overlay.as_ref().unwrap().top;
    let (state, _) = press(state, "↓ ↓ PgDn");
    assert!(top(&state) > 2);
    let (state, _) = press(state, "Ctrl+End");
    let last = top(&state);
    let (state, _) = press(state, "PgDn ↓");
    assert_eq!(top(&state), last);
    let (state, _) =
        update(state, ChatEvent::from(TerminalEvent::Mouse(MouseEvent::WheelUp(1, 1))));
    assert_eq!(top(&state), last - 3);
    let (state, _) = press(state, "Ctrl+Home ab Ctrl+J ↑");
    assert_eq!((top(&state), written(&state).as_str()), (0, "|ab↵"));
    let (state, _) = update(state, ChatEvent::from(TerminalEvent::Resize(10, 5)));
    assert!(press(state, "Esc").0.overlay.is_none());
}

#[test]
fn a_signal_stops_any_operation() {
    let (state, _) = update(empty(), ChatEvent::TaskStarted("answering".into(), None));
    assert_eq!(
        update(state, ChatEvent::from(TerminalEvent::Stop)).1,
        [ChatEffect::Exit(ExitReason::Stopped)]
    );
}

#[test]
fn printable_keys_are_text_while_the_editor_has_the_focus() {
    let mut state = empty();
    state.bindings.rebind("send", &["x".to_owned()]).unwrap();
    let (state, effects) = press(state, "x x");
    assert_eq!((state.draft().as_str(), effects), ("xx", vec![]));
    // A list of messages takes no text, so there the key is a command.
    let messages = vec![("a".into(), "one".to_owned())];
    let (state, _) = update(state, ChatEvent::Select(messages));
    let (_, effects) = press(state, "x");
    assert_eq!(effects, [ChatEffect::Run(ChatCommand::Branch(Some("a".to_owned())))]);
}
