//! Keys: what was, what is pressed, what is then.

use super::super::{Effect, Event, Mode, State, update};
use super::{NOW, knowing, sample, session, shown, start};
use crate::page::{Line, Page, Reader};
use crate::testing::press;
use crate::theme::Tone;
use crate::{Happening, Mouse};
use std::path::PathBuf;
use treering::catalog::{Progress, SessionInfo};

#[test]
fn keys_move_sort_filter_and_search() {
    for (keys, after) in [
        // A thread stands where its newest member stands; `c` is five minutes old, `d` thirty.
        ("", "[a] .b ..c .e d f"),
        ("Down", "a .[b] ..c .e d f"),
        ("Up", "a .b ..c .e d [f]"),
        ("Up Down", "[a] .b ..c .e d f"),
        ("End", "a .b ..c .e d [f]"),
        ("End Home", "[a] .b ..c .e d f"),
        ("PgDn", "a .b ..c .e d [f]"),
        ("PgDn PgUp", "[a] .b ..c .e d f"),
        // Until the user chooses, the first is selected; after that, the chosen one.
        ("Ctrl+S", "[c] d e b a f"),
        ("Down Ctrl+S", "c d e [b] a f"),
        ("Down Ctrl+S Ctrl+S Ctrl+S", "a .[b] ..c .e d f"),
        ("Ctrl+N", "[e] b"),
        ("Ctrl+N Ctrl+S", "[e] b"),
        ("Ctrl+A", "[a] .b ..c .e f"),
        ("Ctrl+A Ctrl+A", "[a] .b ..c .e d f"),
        // A session above it that is not listed does not count: the next one does.
        ("blue", "[c]"),
        ("water", "[a] .e"),
        ("kettle", "[b] .c"),
        ("re:^(Boil|Try)", "[a] .c"),
        // Words in any order and case; all must occur.
        ("KETTLE Space which", "[b]"),
        ("kettle Space zzz", ""),
        ("\"best Space one", "[b]"),
        ("codex", "[d]"),
        ("coffee", "[d]"),
        ("/s/f", "[f]"),
        // A name says more than a first message, and newer before older among equals.
        ("water Ctrl+S Ctrl+S", "[e] a"),
        ("e Ctrl+S Ctrl+S", "[b] e c d a f"),
        // A question mark is a character once something is typed.
        ("re:colou?r", ""),
        ("re:kettles?", "[b] .c"),
        // A bad pattern does not count.
        ("blue Space re:(", "[c]"),
        ("blue Esc", "[a] .b ..c .e d f"),
        ("Down blue", "[c]"),
        ("Down blue Esc", "a .[b] ..c .e d f"),
        ("blue Ctrl+U water", "[a] .e"),
    ] {
        let (state, _) = press(knowing(sample()), keys);
        assert_eq!(shown(&state), after, "{keys:?}");
    }
}

#[test]
fn keys_have_effects() {
    let b = || PathBuf::from("/s/b");
    for (keys, effects) in [
        ("Enter", vec![Effect::Open("/s/a".into())]),
        ("Down Enter", vec![Effect::Open(b())]),
        ("zzz Enter", vec![]),
        ("Alt+N", vec![Effect::New]),
        ("Esc", vec![Effect::Close]),
        ("x Esc", vec![]),
        ("x Esc Esc", vec![Effect::Close]),
        ("Ctrl+C", vec![Effect::Close]),
        ("Ctrl+D Ctrl+C", vec![Effect::Close]),
        ("Ctrl+R Ctrl+C", vec![Effect::Close]),
        ("Down Ctrl+D", vec![]),
        ("Down Ctrl+D y", vec![Effect::Delete(b())]),
        ("Down Delete Shift+Y", vec![Effect::Delete(b())]),
        ("Down Ctrl+D n", vec![]),
        ("Down Ctrl+D Enter", vec![]),
        ("Down Ctrl+D Esc y", vec![]),
        // The session that is open stays where it is.
        ("Down Down Down Ctrl+D y", vec![]),
        ("Down Down Down Ctrl+B", vec![]),
        ("Down Ctrl+B", vec![Effect::Archive(b())]),
        ("Down Ctrl+E", vec![Effect::Export(b())]),
        ("Down Ctrl+X", vec![Effect::CopyPath(b())]),
        ("Down Ctrl+R 2 Enter", vec![Effect::Rename(b(), "Kettle2".into())]),
        ("Down Ctrl+R Ctrl+U Enter", vec![Effect::Rename(b(), String::new())]),
        ("Down Ctrl+R Enter", vec![]),
        ("Down Ctrl+R x Esc", vec![]),
        ("Ctrl+R new Enter", vec![Effect::Rename("/s/a".into(), "new".into())]),
        ("Tab", vec![Effect::Preview("/s/a".into())]),
        ("Tab Down", vec![Effect::Preview(b())]),
        ("Tab blue", vec![Effect::Preview("/s/c".into())]),
        ("Tab Tab", vec![]),
        ("Tab Alt+↓", vec![]),
        ("?", vec![]),
        ("? Esc", vec![]),
    ] {
        let mut all = press(knowing(sample()), keys).1;
        // Typing asks for the preview at the first letter.
        if keys == "Tab blue" {
            assert_eq!(all, []);
            all = press(knowing(sample()), "Tab b l").1;
        }
        assert_eq!(all, effects, "{keys:?}");
    }
}

#[test]
fn what_cannot_be_done_is_said() {
    for (keys, said) in [
        ("Down Down Down Ctrl+D", "this session is open: it cannot be deleted from here"),
        ("Down Down Down Ctrl+B", "this session is open: it cannot be archived from here"),
        ("Ctrl+D n", "nothing was deleted"),
        ("Ctrl+B", "archiving …"),
    ] {
        let (state, _) = press(knowing(sample()), keys);
        assert_eq!(state.notice.map(|notice| notice.text).as_deref(), Some(said), "{keys}");
    }
    let (state, _) = press(knowing(sample()), "re:(");
    assert_eq!(
        state.search.complaint.as_deref(),
        Some("bad pattern: unclosed group (at character 4)")
    );
}

#[test]
fn with_no_session_at_all_the_demo_is_offered() {
    let reading = State::new(start());
    assert_eq!(press(reading, "Enter").1, []);
    assert_eq!(press(knowing(Vec::new()), "Enter").1, [Effect::Demo]);
    assert_eq!(press(knowing(sample()), "zzz Enter").1, []);
}

#[test]
fn what_is_chosen_stays_chosen_while_others_arrive() {
    let mut sessions = sample();
    let late = sessions.split_off(3);
    let (state, _) = update(State::new(start()), Event::Found(sessions, None));
    assert_eq!(shown(&state), "[a] .b ..c");
    let progress = Some(Progress { done: 4, total: 9 });
    let newest = session("n", 1, "newest");
    let (untouched, _) = update(state.clone(), Event::Found(vec![newest.clone()], progress));
    assert_eq!(shown(&untouched), "[n] a .b ..c");
    let (state, _) = press(state, "Down");
    let (state, _) = update(state, Event::Found(vec![newest], progress));
    assert_eq!(shown(&state), "n a .[b] ..c");
    let (state, _) = update(state, Event::Found(late, None));
    assert_eq!(shown(&state), "n a .[b] ..c .e d f");
}

#[test]
fn what_is_gone_leaves_its_place_to_the_next() {
    let (state, _) = press(knowing(sample()), "Down");
    let (state, _) = update(state, Event::Gone(vec!["/s/b".into()]));
    // Its fork stands by itself.
    assert_eq!(shown(&state), "c [d] a .e f");
    let (state, _) = press(state, "End");
    let (state, _) = update(state, Event::Gone(vec!["/s/f".into(), "/s/zzz".into()]));
    assert_eq!(shown(&state), "c d a .[e]");
    let gone = ["a", "c", "d", "e"].map(|id| PathBuf::from(format!("/s/{id}")));
    let (state, _) = update(state, Event::Gone(gone.into()));
    assert_eq!(shown(&state), "");
    assert!(state.is_bare());
}

#[test]
fn a_session_with_another_file_stays_chosen_and_keeps_its_place() {
    let mut sessions = sample();
    sessions.iter_mut().for_each(|one| one.path = format!("{}.jsonl", one.path.display()).into());
    sessions[1].parent_session = Some("/s/a.jsonl".into());
    let (state, _) = press(knowing(sessions.clone()), "Tab");
    let packed = SessionInfo { path: "/s/a.jsonl.zst".into(), ..sessions[0].clone() };
    let (state, effects) = update(state, Event::Moved("/s/a.jsonl".into(), Box::new(packed)));
    assert_eq!(shown(&state), "[a.jsonl.zst] .b.jsonl ..c.jsonl .e.jsonl d.jsonl f.jsonl");
    assert_eq!(effects, [Effect::Preview("/s/a.jsonl.zst".into())]);
    assert_eq!(press(state, "Ctrl+B").1, [Effect::Unarchive("/s/a.jsonl.zst".into())]);
}

#[test]
fn only_the_page_that_is_waited_for_is_shown_and_it_ends_where_it_ends() {
    let lines = |count: usize| Page { lines: vec![Line::new(Tone::Plain, "line"); count] };
    let (state, _) = press(knowing(sample()), "Tab");
    let (state, _) = update(state, Event::Page("/s/b".into(), lines(3)));
    assert_eq!(state.preview.page, None);
    let (state, _) = update(state, Event::Page("/s/a".into(), lines(30)));
    let (state, _) = press(state, &"Alt+↓ ".repeat(50));
    let height = usize::from(state.areas().split.page().height);
    let top = |state: &State| state.preview.page.as_ref().map(Reader::top);
    assert_eq!(top(&state), Some(30 - height));
    let (state, _) = press(state, "Alt+↑");
    assert_eq!(top(&state), Some(29 - height));
    // More of the same: read on.
    let (state, _) = update(state, Event::Page("/s/a".into(), lines(40)));
    assert_eq!(top(&state), Some(29 - height));
    // Different now: read again.
    let changed = SessionInfo { message_count: 1, ..sample()[0].clone() };
    let (state, effects) = update(state, Event::Found(vec![changed], None));
    assert_eq!(effects, [Effect::Preview("/s/a".into())]);
    let (state, _) = press(state, "Down");
    assert_eq!(state.preview.page, None);
}

#[test]
fn the_mouse_selects_opens_and_scrolls() {
    let mouse = |state, mouse| update(state, Event::Happened(Happening::Mouse(mouse)));
    // Above the list are the head and the headings.
    let (state, effects) = mouse(knowing(sample()), Mouse::Click(5, 3));
    assert_eq!((shown(&state).as_str(), effects), ("a .[b] ..c .e d f", vec![]));
    let (state, effects) = mouse(state, Mouse::Click(70, 3));
    assert_eq!(effects, [Effect::Open("/s/b".into())]);
    let (state, _) = mouse(state, Mouse::WheelDown(5, 2));
    assert_eq!(shown(&state), "a .b ..c .e [d] f");
    let (state, effects) = mouse(state, Mouse::Click(5, 20));
    assert_eq!((shown(&state).as_str(), effects), ("a .b ..c .e [d] f", vec![]));
    let (state, _) = press(state, "Ctrl+D");
    let (state, effects) = mouse(state, Mouse::Click(5, 2));
    assert_eq!((state.mode, effects), (Mode::Delete("/s/d".into()), vec![]));
}

#[test]
fn a_question_about_a_session_that_is_gone_is_not_asked_any_more() {
    let (state, _) = press(knowing(sample()), "Down Ctrl+D");
    let (state, _) = update(state, Event::Gone(vec!["/s/b".into()]));
    assert_eq!(state.mode, Mode::Browse);
    assert_eq!(press(state, "y").1, []);
}

#[test]
fn pasted_text_is_searched_for_and_signals_stop() {
    let (state, _) = update(knowing(sample()), Event::from(Happening::Paste("blue\n".into())));
    assert_eq!(shown(&state), "[c]");
    let (state, _) = press(state, "Ctrl+R");
    assert_eq!(update(state.clone(), Event::from(Happening::Stop)).1, [Effect::Stop]);
    let (state, _) = update(state, Event::from(Happening::Paste("a\u{1b}b".into())));
    assert!(matches!(state.mode, Mode::Rename(_, input) if input.text() == "ab"));
}

#[test]
fn time_goes_on() {
    let (state, _) = update(knowing(sample()), Event::Now(NOW + 1));
    assert_eq!(state.now, NOW + 1);
}

#[test]
fn the_cursor_is_always_on_the_screen() {
    let sessions = (0..200).map(|at| session(&format!("{at}"), at, "x")).collect();
    let mut state = knowing(sessions);
    let keys = ["End", "Up", "PgUp", "PgUp", "Tab", "Home", "PgDn", "Down", "Ctrl+S", "Tab"];
    for (at, key) in keys.iter().cycle().take(300).enumerate() {
        let size = [(40, 10), (80, 3), (120, 24), (60, 2), (0, 0)][at % 5];
        (state, _) = update(state, Event::Happened(Happening::Resize(size.0, size.1)));
        (state, _) = press(state, key);
        let list = usize::from(state.areas().list.height).max(1);
        assert!((state.top..state.top + list).contains(&state.row), "{at} {key}");
    }
}
