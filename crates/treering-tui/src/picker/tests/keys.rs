//! Tests of keys: a state, the keys that are pressed, and the state after them.

use super::super::{PickerEffect, PickerEvent, PickerMode, PickerState, update};
use super::{NOW, knowing, sample, session, shown, start};
use crate::page::{Page, PageView, StyledLine};
use crate::testing::press;
use crate::theme::Tone;
use crate::{MouseEvent, TerminalEvent};
use std::path::PathBuf;
use treering::catalog::Progress;

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
        // An invalid pattern does not count.
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
        ("Enter", vec![PickerEffect::Open("/s/a".into())]),
        ("Down Enter", vec![PickerEffect::Open(b())]),
        ("zzz Enter", vec![]),
        ("Alt+N", vec![PickerEffect::New]),
        ("Down Alt+R", vec![PickerEffect::Resume(b())]),
        ("Esc", vec![PickerEffect::Close]),
        ("x Esc", vec![]),
        ("x Esc Esc", vec![PickerEffect::Close]),
        ("Ctrl+C", vec![PickerEffect::Close]),
        ("Ctrl+D Ctrl+C", vec![PickerEffect::Close]),
        ("Ctrl+R Ctrl+C", vec![PickerEffect::Close]),
        ("Down Ctrl+D", vec![]),
        ("Down Ctrl+D y", vec![PickerEffect::Delete(b())]),
        ("Down Delete Shift+Y", vec![PickerEffect::Delete(b())]),
        ("Down Ctrl+D n", vec![]),
        ("Down Ctrl+D Enter", vec![]),
        ("Down Ctrl+D Esc y", vec![]),
        // The session that is open stays where it is.
        ("Down Down Down Ctrl+D y", vec![]),
        ("Down Down Down Ctrl+B", vec![]),
        ("Down Ctrl+B", vec![PickerEffect::Archive(b())]),
        ("Down Ctrl+E", vec![PickerEffect::Export(b())]),
        ("Down Ctrl+X", vec![PickerEffect::CopyPath(b())]),
        ("Down Ctrl+R 2 Enter", vec![PickerEffect::Rename(b(), "Kettle2".into())]),
        ("Down Ctrl+R Ctrl+U Enter", vec![PickerEffect::Rename(b(), String::new())]),
        ("Down Ctrl+R Enter", vec![]),
        ("Down Ctrl+R x Esc", vec![]),
        ("Ctrl+R new Enter", vec![PickerEffect::Rename("/s/a".into(), "new".into())]),
        ("Tab", vec![PickerEffect::Preview("/s/a".into())]),
        ("Tab Down", vec![PickerEffect::Preview(b())]),
        ("Tab blue", vec![PickerEffect::Preview("/s/c".into())]),
        ("Tab Tab", vec![]),
        ("Tab Alt+↓", vec![]),
        ("?", vec![]),
        ("? Esc", vec![]),
    ] {
        let pressed = |keys: &str| {
            let mut effects = press(knowing(sample()), keys).1;
            // Every change of the query is searched for.
            effects.retain(|effect| !matches!(effect, PickerEffect::Search(..)));
            effects
        };
        let mut all = pressed(keys);
        // Typing asks for the preview at the first letter.
        if keys == "Tab blue" {
            assert_eq!(all, []);
            all = pressed("Tab b l");
        }
        assert_eq!(all, effects, "{keys:?}");
    }
}

#[test]
fn impossible_actions_are_refused_with_a_message() {
    for (keys, notice) in [
        ("Down Down Down Ctrl+D", "this session is open and cannot be deleted here"),
        ("Down Down Down Ctrl+B", "this session is open and cannot be archived here"),
        ("Ctrl+D n", "nothing was deleted"),
        ("Ctrl+B", "archiving …"),
    ] {
        let (state, _) = press(knowing(sample()), keys);
        assert_eq!(state.notice.map(|notice| notice.text).as_deref(), Some(notice), "{keys}");
    }
    let (state, _) = press(knowing(sample()), "re:(");
    assert_eq!(
        state.search.error_text.as_deref(),
        Some("invalid pattern: unclosed group (at character 4)")
    );
}

#[test]
fn with_no_session_at_all_the_demo_is_offered() {
    let reading = PickerState::new(start());
    assert_eq!(press(reading, "Enter").1, []);
    assert_eq!(press(knowing(Vec::new()), "Enter").1, [PickerEffect::Demo]);
    assert_eq!(press(knowing(sample()), "zzz Enter").1, []);
}

#[test]
fn what_is_chosen_stays_chosen_while_others_arrive() {
    let mut sessions = sample();
    let late = sessions.split_off(3);
    let (state, _) = update(PickerState::new(start()), PickerEvent::Found(sessions, None));
    assert_eq!(shown(&state), "[a] .b ..c");
    let progress = Some(Progress::new(4, 9));
    let newest = session("n", 1, "newest");
    let (untouched, _) = update(state.clone(), PickerEvent::Found(vec![newest.clone()], progress));
    assert_eq!(shown(&untouched), "[n] a .b ..c");
    let (state, _) = press(state, "Down");
    let (state, _) = update(state, PickerEvent::Found(vec![newest], progress));
    assert_eq!(shown(&state), "n a .[b] ..c");
    let (state, _) = update(state, PickerEvent::Found(late, None));
    assert_eq!(shown(&state), "n a .[b] ..c .e d f");
}

#[test]
fn what_is_gone_leaves_its_place_to_the_next() {
    let (state, _) = press(knowing(sample()), "Down");
    let (state, _) = update(state, PickerEvent::Gone(vec!["/s/b".into()]));
    // Its fork stands by itself.
    assert_eq!(shown(&state), "c [d] a .e f");
    let (state, _) = press(state, "End");
    let (state, _) = update(state, PickerEvent::Gone(vec!["/s/f".into(), "/s/zzz".into()]));
    assert_eq!(shown(&state), "c d a .[e]");
    let gone = ["a", "c", "d", "e"].map(|id| PathBuf::from(format!("/s/{id}")));
    let (state, _) = update(state, PickerEvent::Gone(gone.into()));
    assert_eq!(shown(&state), "");
    assert!(state.is_bare());
}

#[test]
fn a_session_with_another_file_stays_chosen_and_keeps_its_place() {
    let mut sessions = sample();
    sessions.iter_mut().for_each(|one| one.path = format!("{}.jsonl", one.path.display()).into());
    sessions[1].parent_session = Some("/s/a.jsonl".into());
    let (state, _) = press(knowing(sessions.clone()), "Tab");
    let mut packed = sessions[0].clone();
    packed.path = "/s/a.jsonl.zst".into();
    let (state, effects) = update(state, PickerEvent::Moved("/s/a.jsonl".into(), Box::new(packed)));
    assert_eq!(shown(&state), "[a.jsonl.zst] .b.jsonl ..c.jsonl .e.jsonl d.jsonl f.jsonl");
    assert_eq!(effects, [PickerEffect::Preview("/s/a.jsonl.zst".into())]);
    assert_eq!(press(state, "Ctrl+B").1, [PickerEffect::Unarchive("/s/a.jsonl.zst".into())]);
}

#[test]
fn only_the_page_that_is_waited_for_is_shown_and_it_ends_where_it_ends() {
    let lines = |count: usize| Page { lines: vec![StyledLine::new(Tone::Plain, "line"); count] };
    let (state, _) = press(knowing(sample()), "Tab");
    let (state, _) = update(state, PickerEvent::Page("/s/b".into(), lines(3)));
    assert_eq!(state.preview.page, None);
    let (state, _) = update(state, PickerEvent::Page("/s/a".into(), lines(30)));
    let (state, _) = press(state, &"Alt+↓ ".repeat(50));
    let height = usize::from(state.areas().split.page().height);
    let top = |state: &PickerState| state.preview.page.as_ref().map(PageView::top);
    assert_eq!(top(&state), Some(30 - height));
    let (state, _) = press(state, "Alt+↑");
    assert_eq!(top(&state), Some(29 - height));
    // More of the same: read on.
    let (state, _) = update(state, PickerEvent::Page("/s/a".into(), lines(40)));
    assert_eq!(top(&state), Some(29 - height));
    // Different now: read again.
    let mut changed = sample()[0].clone();
    changed.message_count = 1;
    let (state, effects) = update(state, PickerEvent::Found(vec![changed], None));
    assert_eq!(effects, [PickerEffect::Preview("/s/a".into())]);
    let (state, _) = press(state, "Down");
    assert_eq!(state.preview.page, None);
}

#[test]
fn the_mouse_selects_opens_and_scrolls() {
    let mouse = |state, mouse| update(state, PickerEvent::Terminal(TerminalEvent::Mouse(mouse)));
    // Above the list are the head and the headings.
    let (state, effects) = mouse(knowing(sample()), MouseEvent::Click(5, 3));
    assert_eq!((shown(&state).as_str(), effects), ("a .[b] ..c .e d f", vec![]));
    let (state, effects) = mouse(state, MouseEvent::Click(70, 3));
    assert_eq!(effects, [PickerEffect::Open("/s/b".into())]);
    let (state, _) = mouse(state, MouseEvent::WheelDown(5, 2));
    assert_eq!(shown(&state), "a .b ..c .e [d] f");
    let (state, effects) = mouse(state, MouseEvent::Click(5, 20));
    assert_eq!((shown(&state).as_str(), effects), ("a .b ..c .e [d] f", vec![]));
    let (state, _) = press(state, "Ctrl+D");
    let (state, effects) = mouse(state, MouseEvent::Click(5, 2));
    assert_eq!((state.mode, effects), (PickerMode::Delete("/s/d".into()), vec![]));
}

#[test]
fn a_question_about_a_removed_session_is_closed() {
    let (state, _) = press(knowing(sample()), "Down Ctrl+D");
    let (state, _) = update(state, PickerEvent::Gone(vec!["/s/b".into()]));
    assert_eq!(state.mode, PickerMode::Browse);
    let (state, effects) = press(state, "y");
    assert_eq!(state.query(), "y");
    assert!(matches!(&effects[..], [PickerEffect::Search(query, _)] if query == "y"));
}

#[test]
fn contents_are_searched_and_what_is_found_is_listed() {
    let (state, effects) = press(knowing(sample()), "steam");
    let [PickerEffect::Search(query, files)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!((query.as_str(), files.len(), shown(&state)), ("steam", 6, String::new()));
    let hits = |query: &str, path: &str| {
        PickerEvent::Hits(query.into(), vec![(path.into(), "under steam".into())])
    };
    // An answer to an earlier query does not count.
    let (state, _) = update(state, hits("stea", "/s/f"));
    assert_eq!(shown(&state), "");
    let (state, _) = update(state, hits("steam", "/s/d"));
    assert_eq!(shown(&state), "[d]");
    let (state, _) = update(state, PickerEvent::Searched("steam".into()));
    assert!(!state.is_searching);
    // An empty query ends the search; what only a list tells needs none.
    let (state, effects) = press(state, "Ctrl+U");
    assert_eq!((shown(&state).as_str(), &effects[..]), ("[a] .b ..c .e d f", &[][..]));
    assert_eq!(press(state, "agent:codex").1, []);
}

#[test]
fn recent_queries_come_back() {
    let mut options = start();
    options.recent_queries = vec!["water".into(), "blue".into()];
    let (state, _) = update(PickerState::new(options), PickerEvent::Found(sample(), None));
    for (keys, query) in [
        ("Ctrl+P", "blue"),
        ("Ctrl+P Ctrl+Up", "water"),
        ("Ctrl+P Ctrl+P Ctrl+P", "water"),
        ("Ctrl+P Ctrl+P Ctrl+Down", "blue"),
        ("Ctrl+P Ctrl+Down", ""),
        ("Ctrl+Down", ""),
    ] {
        assert_eq!(press(state.clone(), keys).0.query(), query, "{keys}");
    }
}

#[test]
fn pasted_text_is_searched_for_and_signals_stop() {
    let (state, _) =
        update(knowing(sample()), PickerEvent::from(TerminalEvent::Paste("blue\n".into())));
    assert_eq!(shown(&state), "[c]");
    let (state, _) = press(state, "Ctrl+R");
    assert_eq!(
        update(state.clone(), PickerEvent::from(TerminalEvent::Stop)).1,
        [PickerEffect::Stop]
    );
    let (state, _) = update(state, PickerEvent::from(TerminalEvent::Paste("a\u{1b}b".into())));
    assert!(matches!(state.mode, PickerMode::Rename(_, input) if input.text() == "ab"));
}

#[test]
fn ages_change_as_time_passes() {
    let (state, _) = update(knowing(sample()), PickerEvent::Now(NOW + 1));
    assert_eq!(state.now, NOW + 1);
}

#[test]
fn the_cursor_is_always_on_the_screen() {
    let sessions = (0..200).map(|at| session(&format!("{at}"), at, "x")).collect();
    let mut state = knowing(sessions);
    let keys = ["End", "Up", "PgUp", "PgUp", "Tab", "Home", "PgDn", "Down", "Ctrl+S", "Tab"];
    for (at, key) in keys.iter().cycle().take(300).enumerate() {
        let size = [(40, 10), (80, 3), (120, 24), (60, 2), (0, 0)][at % 5];
        (state, _) = update(state, PickerEvent::Terminal(TerminalEvent::Resize(size.0, size.1)));
        (state, _) = press(state, key);
        let list = usize::from(state.areas().list.height).max(1);
        assert!((state.top..state.top + list).contains(&state.row), "{at} {key}");
    }
}

#[test]
fn a_picker_that_is_shown_again_is_as_it_was_left() {
    let mut options = start();
    options.scope = crate::picker::Scope::Project;
    let fresh = || {
        let (state, _) =
            update(PickerState::new(options.clone()), PickerEvent::Found(sample(), None));
        state
    };
    for keys in ["", "Ctrl+A", "Ctrl+A e Ctrl+S Down Down", "Ctrl+N", "water Down"] {
        let (left, _) = press(fresh(), keys);
        let view = left.view();
        let mut again = PickerState::new(options.clone());
        again.restore(&view);
        let pasted = PickerEvent::Terminal(TerminalEvent::Paste(view.query.clone()));
        let (again, _) = update(again, pasted);
        let (again, _) = update(again, PickerEvent::Found(sample(), None));
        assert_eq!(shown(&again), shown(&left), "{keys}");
        assert_eq!(again.view(), view, "{keys}");
    }
}
