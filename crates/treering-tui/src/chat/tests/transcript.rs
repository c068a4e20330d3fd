//! Tests of scrolling against all lines of the transcript, and of how few lines of a long
//! conversation are laid out.

use super::{empty, prepare, with_path};
use crate::TerminalEvent;
use crate::chat::{ChatEvent, ChatState, StreamChunk, StreamKind, update};
use crate::page::StyledLine;
use crate::testing::press;
use treering::{Message, Session};

fn session(messages: usize) -> Session {
    let session = Session::in_memory("/project");
    let entries: Vec<_> = (0..messages)
        .map(|at| match at % 2 {
            0 => Message::user(format!("question {at}\n{}", "more\n".repeat(at % 7))),
            _ => Message::assistant("acme", "m1", format!("answer {at}")),
        })
        .map(treering::NewEntry::from)
        .collect();
    session.append_all(&entries).unwrap();
    session
}

fn sized(state: ChatState, width: u16, height: u16) -> ChatState {
    update(state, ChatEvent::from(TerminalEvent::Resize(width, height))).0
}

fn lines(state: &ChatState, height: usize) -> Vec<String> {
    state.transcript.visible(height).into_iter().map(StyledLine::text).collect()
}

#[test]
fn a_long_conversation_opens_with_its_last_screenful() {
    let session = session(20_000);
    let state = with_path(sized(empty(), 80, 24), &session);
    let (state, made) = prepare(state, &session);
    assert!(made <= 32, "{made} blocks for one screen");
    let shown = lines(&state, 21);
    assert_eq!(shown.len(), 21);
    assert_eq!(shown[19], "  answer 19999");
    let (state, _) = press(state, "Ctrl+Home");
    let (state, made) = prepare(state, &session);
    assert!(made <= 32, "{made}");
    assert_eq!(lines(&state, 2)[1], "  question 0");
    let (state, _) = press(state, "PgDn PgDn PgDn PgUp PgUp PgUp");
    let (state, _) = prepare(state, &session);
    assert_eq!(lines(&state, 2)[1], "  question 0");
}

#[test]
fn every_line_can_be_reached_from_both_ends() {
    let session = session(40);
    let (tall, _) = prepare(with_path(sized(empty(), 40, 2000), &session), &session);
    let all = lines(&tall, 2000);
    let height = usize::from(sized(empty(), 40, 10).areas().transcript.height);
    let (mut state, _) = prepare(with_path(sized(empty(), 40, 10), &session), &session);
    for top in (0..=all.len() - height).rev() {
        assert_eq!(lines(&state, height), all[top..top + height], "up {top}");
        (state, _) = prepare(press(state, "Shift+↑").0, &session);
    }
    for top in 0..=all.len() - height {
        assert_eq!(lines(&state, height), all[top..top + height], "down {top}");
        (state, _) = prepare(press(state, "Shift+↓").0, &session);
    }
    assert!(state.transcript.is_at_end());
}

#[test]
fn new_lines_are_followed_unless_the_user_has_scrolled_up() {
    let session = session(40);
    let state = with_path(sized(empty(), 40, 10), &session);
    let (state, _) = update(
        state,
        ChatEvent::TaskStarted("answering".into(), Some((StreamKind::Answer, "● m1".into()))),
    );
    let text = |number: usize| ChatEvent::Chunk(StreamChunk::Text(format!("line {number}\n\n")));
    let (state, _) = prepare(update(state, text(1)).0, &session);
    assert!(lines(&state, 7).iter().any(|line| line.contains("line 1")));
    let (state, _) = prepare(press(state, "PgUp PgUp").0, &session);
    let before = lines(&state, 7);
    let (state, _) = prepare(update(state, text(2)).0, &session);
    assert_eq!(lines(&state, 7), before);
    let (state, _) = prepare(press(state, "Ctrl+End").0, &session);
    assert!(lines(&state, 7).iter().any(|line| line.contains("line 2")));
}

#[test]
fn another_branch_is_shown_at_the_same_entry_if_it_has_it() {
    let session = session(60);
    let state = with_path(sized(empty(), 40, 10), &session);
    let (state, _) = prepare(press(state, "Ctrl+Home PgDn").0, &session);
    let before = lines(&state, 7);
    session.append(Message::user("one more")).unwrap();
    let (state, _) = prepare(with_path(state, &session), &session);
    assert_eq!(lines(&state, 7), before);
    // A branch on which it is not is shown at its end.
    let root = session.tree().roots().remove(0);
    session.branch(root.as_str()).unwrap();
    session.append(Message::user("elsewhere")).unwrap();
    let (state, _) = prepare(with_path(state, &session), &session);
    assert!(state.transcript.is_at_end());
    assert!(lines(&state, 7).iter().any(|line| line.contains("elsewhere")));
}
