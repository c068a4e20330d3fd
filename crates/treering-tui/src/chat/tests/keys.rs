//! Keys: what was, what is pressed, what is then.

use super::empty;
use crate::chat::{Arrival, Command, Effect, Event, Left, Piece, State, Status, update};
use crate::page::Page;
use crate::testing::press;
use crate::theme::Tone;
use crate::{Happening, Mouse, Notice};

/// The text with the cursor in it.
fn written(state: &State) -> String {
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
        ("/q Tab", "/quit |"),
        ("/thinking Space me Tab", "/thinking medium |"),
        ("x Tab", "x|"),
        // What was sent comes back, and so does what was being written.
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
    let leave = |left| vec![Effect::Leave(left)];
    let shell = |in_context| vec![Effect::Shell { command: "ls".to_owned(), in_context }];
    for (keys, effects) in [
        ("Enter", vec![]),
        ("Space Enter", vec![]),
        ("hi Enter", vec![Effect::Say("hi".into())]),
        ("hi Ctrl+J you Enter", vec![Effect::Say("hi\nyou".into())]),
        ("!ls Enter", shell(true)),
        ("!!ls Enter", shell(false)),
        ("/pop Enter", vec![Effect::Run(Command::Pop(None))]),
        ("/tree Enter", leave(Left::Tree)),
        ("/branch Enter", leave(Left::Tree)),
        ("/resume Enter", leave(Left::Resume)),
        ("/quit Enter", leave(Left::Quit)),
        ("/help Enter", vec![]),
        ("/nonsense Enter", vec![]),
        ("Esc", vec![]),
        ("Esc Esc", leave(Left::Tree)),
        ("Esc x Esc", vec![]),
        ("draft Esc Esc", leave(Left::Tree)),
        ("/help Enter Esc", vec![]),
        ("/help Enter Esc Esc", vec![]),
        ("/help Enter Esc Esc Esc", leave(Left::Tree)),
        ("Ctrl+C", vec![]),
        ("Ctrl+C Ctrl+C", leave(Left::Quit)),
        ("draft Ctrl+C Ctrl+C", leave(Left::Quit)),
        ("Ctrl+C x Ctrl+C", vec![]),
        ("Ctrl+D", leave(Left::Quit)),
        ("x Ctrl+D", vec![]),
        ("Delete", vec![]),
    ] {
        assert_eq!(press(empty(), keys).1, effects, "{keys:?}");
    }
}

#[test]
fn while_something_goes_on_one_can_write_look_and_stop_it() {
    let (busy, _) =
        update(empty(), Event::Began("answering".into(), Some((Arrival::Answer, "● m1".into()))));
    for (keys, effects) in [
        ("Esc", vec![Effect::Abort]),
        ("Esc Esc", vec![Effect::Abort]),
        ("hi Enter", vec![]),
        ("!ls Enter", vec![]),
        ("/pop Enter", vec![]),
        ("/tree Enter", vec![]),
        ("/cost Enter", vec![Effect::Run(Command::Cost)]),
        ("Ctrl+C Ctrl+C", vec![Effect::Leave(Left::Quit)]),
    ] {
        assert_eq!(press(busy.clone(), keys).1, effects, "{keys:?}");
    }
    let (state, _) = press(busy, "hi Enter");
    assert_eq!(state.draft(), "hi");
    assert!(state.notice.is_some_and(|notice| notice.tone == Tone::Failure));
}

#[test]
fn without_a_model_what_was_written_stays_and_the_way_to_one_is_shown() {
    let (state, _) = update(empty(), Event::Status(Status::default()));
    let (state, effects) = press(state, "hello Enter");
    assert_eq!((effects, state.draft()), (vec![], "hello"));
    assert!(state.sheet.is_some());
    // Everything else works.
    let (state, _) = press(state, "Esc Ctrl+C");
    assert_eq!(press(state, "!ls Enter").1.len(), 1);
}

#[test]
fn what_is_pasted_keeps_its_lines() {
    let paste = |text: &str| Event::from(Happening::Paste(text.to_owned()));
    let (state, effects) = update(empty(), paste("a\r\nb\u{1b}[2J\rc\n"));
    assert_eq!((written(&state).as_str(), effects), ("a↵b[2J↵c↵|", vec![]));
    let (state, _) = update(state, paste(&"x".repeat(1 << 20)));
    assert!(state.notice.is_some_and(|notice| notice.tone == Tone::Failure));
}

#[test]
fn a_text_to_edit_does_not_drive_out_what_is_being_written() {
    let (state, _) = press(empty(), "half");
    let (state, _) = update(state, Event::Edit("other".into()));
    assert_eq!(state.draft(), "other");
    assert_eq!(state.notice, Some(Notice::new("your text was put aside: Ctrl+S brings it back")));
    assert_eq!(press(state, "Ctrl+S").0.draft(), "half");
    let (state, _) = update(empty(), Event::Refused("said".into(), "no".into()));
    assert_eq!(state.draft(), "said");
    assert_eq!(state.notice, Some(Notice::failure("no")));
}

#[test]
fn text_that_was_not_sent_is_handed_over_however_the_chat_is_left() {
    let unsent = |state: &State| {
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
    let (state, _) = update(state, Event::History(vec!["other".into()]));
    assert_eq!(press(state, "Ctrl+S").0.draft(), "half");
}

#[test]
fn what_arrives_is_counted_and_can_begin_again() {
    let (state, _) =
        update(empty(), Event::Began("answering".into(), Some((Arrival::Answer, "● m1".into()))));
    let arrived = |state, piece| update(state, Event::Arrived(piece)).0;
    let state = arrived(state, Piece::Text("hé".into()));
    let state = arrived(state, Piece::Unseen(3));
    assert_eq!(state.work.as_ref().unwrap().characters, 5);
    let state = arrived(state, Piece::Restart);
    assert_eq!(state.arriving.as_ref().unwrap().text, "");
    let (state, _) = update(state, Event::Ended(None));
    assert!(state.work.is_none() && state.arriving.is_none());
    // Late pieces of something that is over are nobody's.
    assert!(arrived(state, Piece::Text("x".into())).arriving.is_none());
}

#[test]
fn a_list_is_scrolled_while_nothing_is_written() {
    let lines = (0..100).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
    let sheet = Event::Sheet("numbers".into(), Page::of_failure(&lines));
    let (state, _) = update(empty(), sheet);
    let top = |state: &State| state.sheet.as_ref().unwrap().top;
    let (state, _) = press(state, "↓ ↓ PgDn");
    assert!(top(&state) > 2);
    let (state, _) = press(state, "Ctrl+End");
    let last = top(&state);
    let (state, _) = press(state, "PgDn ↓");
    assert_eq!(top(&state), last);
    let (state, _) = update(state, Event::from(Happening::Mouse(Mouse::WheelUp(1, 1))));
    assert_eq!(top(&state), last - 3);
    let (state, _) = press(state, "Ctrl+Home ab Ctrl+J ↑");
    assert_eq!((top(&state), written(&state).as_str()), (0, "|ab↵"));
    let (state, _) = update(state, Event::from(Happening::Resize(10, 5)));
    assert!(press(state, "Esc").0.sheet.is_none());
}

#[test]
fn a_signal_stops_whatever_is_going_on() {
    let (state, _) = update(empty(), Event::Began("answering".into(), None));
    assert_eq!(update(state, Event::from(Happening::Stop)).1, [Effect::Leave(Left::Stopped)]);
}
