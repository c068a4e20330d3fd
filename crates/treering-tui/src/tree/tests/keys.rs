//! Tests of keys: a state, the keys that are pressed, and the state after them.

use super::super::{PreviewContent, TreeEffect, TreeEvent, TreeMode, TreeState, update};
use super::{known, sample};
use crate::page::{Page, PageView};
use crate::testing::press;
use crate::{MouseEvent, TerminalEvent};
use treering_display::tree::Outline;

/// The ids of the rows, the selected one in brackets.
fn shown(state: &TreeState) -> String {
    let outline = state.outline();
    let selected = state.selected();
    let ids = state.rows().all().iter().map(|row| outline.id(row.node));
    let ids = ids.map(|id| if selected == Some(id) { format!("[{id}]") } else { id.to_owned() });
    ids.collect::<Vec<_>>().join(" ")
}

#[test]
fn keys_move_fold_filter_and_search() {
    for (keys, after) in [
        // The leaf is a label entry, which is not seen: the cursor is on the entry above it.
        ("", "a b c e f g [h]"),
        ("Up", "a b c e f [g] h"),
        ("Down", "[a] b c e f g h"),
        ("Home", "[a] b c e f g h"),
        ("Home Up", "a b c e f g [h]"),
        ("Home Down Down", "a b [c] e f g h"),
        ("PgUp", "[a] b c e f g h"),
        ("Home PgDn", "a b c e f g [h]"),
        ("←", "[a] b c e f g h"),
        ("Home →", "a b c e f g [h]"),
        // From one message of the user to the next, and not past the last.
        ("Home Shift+↓", "a b [c] e f g h"),
        ("Home Ctrl+↓ Ctrl+↓", "a b c e f [g] h"),
        ("Home Ctrl+↓ Ctrl+↓ Ctrl+↓", "a b c e f [g] h"),
        ("Shift+↑ Shift+↑", "a b [c] e f g h"),
        ("Home Ctrl+↑", "[a] b c e f g h"),
        // To where the segment begins, and along the line to where it forks next.
        ("Ctrl+←", "a b c e f [g] h"),
        ("Ctrl+← Ctrl+←", "[a] b c e f g h"),
        ("Home Ctrl+→", "a b c e f [g] h"),
        ("Home Ctrl+→ Alt+→", "a b c e f g [h]"),
        ("Home Ctrl+→ Alt+→ Ctrl+→", "a b c e f g [h]"),
        // Side branches are folded and unfolded.
        ("Home Down Down Ctrl+←", "a b [c] g h"),
        ("Home Down Down Ctrl+← Alt+→", "a b [c] e f g h"),
        ("Home Down Down Ctrl+← Ctrl+←", "[a] b c g h"),
        // Filters, and back: what was chosen is chosen still.
        ("Ctrl+U", "a c [g]"),
        ("Ctrl+U Ctrl+D", "a b c e f g [h]"),
        ("Ctrl+T", "a b c f g [h]"),
        ("Ctrl+L", "[c]"),
        ("Ctrl+A", "a b c e f g h [i]"),
        ("Ctrl+O", "a b c f g [h]"),
        ("Shift+Ctrl+O", "a b c e f g h [i]"),
        ("Ctrl+O Ctrl+O Alt+O", "a b c f g [h]"),
        // The key of the current filter switches back to the default one.
        ("Ctrl+U Ctrl+U", "a b c e f g [h]"),
        ("Ctrl+L Ctrl+L", "a b c e f g [h]"),
        ("Ctrl+D", "a b c e f g [h]"),
        // Words are found in preview lines, roles and labels, in any case.
        ("answer", "b f [h]"),
        ("answer Space user", ""),
        ("ANSWER Space leF", "[f]"),
        ("user", "a c [g]"),
        ("todo", "[c]"),
        ("todo Space lef", "[c]"),
        ("main.rs", "[e]"),
        ("zzz", ""),
        ("zzz Backspace Backspace Backspace", "a b c e f g [h]"),
        ("answer Esc", "a b c e f g [h]"),
        // Folded entries are found, and are folded again afterwards.
        ("Home Down Down Ctrl+← answer", "[b] f h"),
        ("Home Down Down Ctrl+← answer Esc", "a b [c] g h"),
    ] {
        let (state, _) = press(known(&sample()), keys);
        assert_eq!(shown(&state), after, "{keys:?}");
    }
}

#[test]
fn keys_have_effects() {
    let go = |id: &str| vec![TreeEffect::Navigate(id.to_owned())];
    for (keys, effects) in [
        ("Enter", go("h")),
        ("Up Enter", go("g")),
        ("Shift+Enter", vec![]),
        ("Shift+Enter Enter", vec![TreeEffect::NavigateWithSummary("h".into(), None)]),
        (
            "Alt+Enter bugs Enter",
            vec![TreeEffect::NavigateWithSummary("h".into(), Some("bugs".into()))],
        ),
        ("Alt+Enter bugs Esc", vec![]),
        ("Ctrl+G", vec![TreeEffect::MoveLeaf("h".into())]),
        ("Alt+F", vec![TreeEffect::Fork("h".into())]),
        ("Alt+C", vec![TreeEffect::Clone]),
        ("Alt+P", vec![TreeEffect::CherryPick(vec!["h".into()])]),
        ("Space Up Space Alt+P", vec![TreeEffect::CherryPick(vec!["h".into(), "g".into()])]),
        ("Space Space Alt+P", vec![TreeEffect::CherryPick(vec!["h".into()])]),
        ("Alt+M tests Enter", vec![TreeEffect::Merge("h".into(), Some("tests".into()))]),
        ("Alt+D", vec![]),
        ("Space Alt+D", vec![]),
        ("Space Up Alt+D", vec![TreeEffect::Diff("h".into(), "g".into(), 80)]),
        ("Space Up Up Space End Alt+D", vec![TreeEffect::Diff("h".into(), "f".into(), 80)]),
        ("Alt+K", vec![TreeEffect::PlanCompaction]),
        ("Alt+E Enter", vec![TreeEffect::Export("h".into(), "h.html".into())]),
        ("Alt+E Ctrl+U Enter", vec![]),
        ("Alt+E Ctrl+U x.md Enter", vec![TreeEffect::Export("h".into(), "x.md".into())]),
        ("Enter Esc", vec![TreeEffect::Cancel]),
        ("Enter Enter", vec![]),
        ("Ctrl+X", vec![TreeEffect::Copy("h".into())]),
        ("Alt+Z", vec![TreeEffect::Undo]),
        ("Esc", vec![TreeEffect::Close]),
        ("Ctrl+C", vec![TreeEffect::Cancel, TreeEffect::Close]),
        ("Shift+L Ctrl+C", vec![TreeEffect::Cancel, TreeEffect::Close]),
        ("ab", vec![TreeEffect::Search("ab".into())]),
        ("ab Esc", vec![TreeEffect::Search("".into())]),
        ("ab Esc Esc", vec![TreeEffect::Close]),
        ("zzz Enter", vec![]),
        ("?", vec![]),
        ("? Esc", vec![]),
        ("Shift+L neu Enter", vec![TreeEffect::Label("h".into(), Some("neu".into()))]),
        ("Shift+L neu Esc", vec![]),
        ("Shift+L Enter", vec![]),
        ("Home Down Down Shift+L Enter", vec![]),
        ("Home Down Down Shift+L Ctrl+U Enter", vec![TreeEffect::Label("c".into(), None)]),
        (
            "Home Down Down Shift+L Space 2 Enter",
            vec![TreeEffect::Label("c".into(), Some("Todo 2".into()))],
        ),
        ("Tab", vec![TreeEffect::Preview("h".into(), PreviewContent::Entry)]),
        ("Tab Up", vec![TreeEffect::Preview("g".into(), PreviewContent::Entry)]),
        ("Tab Tab", vec![TreeEffect::Preview("h".into(), PreviewContent::Context)]),
        ("Tab Tab Tab", vec![]),
        ("Tab Alt+↓", vec![]),
    ] {
        assert_eq!(press(known(&sample()), keys).1, effects, "{keys:?}");
    }
}

#[test]
fn printable_keys_belong_to_a_text_that_was_started() {
    // The first character may be a command; from the second one on all of them are text.
    for (keys, search) in [
        ("upload Space Later", "upload Later"),
        ("see Space The Space LT?", "see The LT?"),
        ("a Space Space ?", "a  ?"),
    ] {
        let (state, effects) = press(known(&sample()), keys);
        assert_eq!(state.search(), search, "{keys}");
        assert_eq!(*state.mode(), TreeMode::Browse, "{keys}");
        assert_eq!(effects, [TreeEffect::Search(search.to_owned())], "{keys}");
        assert!(state.marked.is_empty() && !state.label_times, "{keys}");
    }
    // A printable key that is configured to close the screen closes no text, either.
    for (keys, expected) in [
        ("a q", vec![TreeEffect::Search("aq".into())]),
        ("Shift+L q Enter", vec![TreeEffect::Label("h".into(), Some("q".into()))]),
        ("Alt+M q Enter", vec![TreeEffect::Merge("h".into(), Some("q".into()))]),
        ("q", vec![TreeEffect::Cancel, TreeEffect::Close]),
    ] {
        let mut state = known(&sample());
        state.bindings.rebind("close", &["q".to_owned()]).unwrap();
        assert_eq!(press(state, keys).1, expected, "{keys}");
    }
}

#[test]
fn a_wide_screen_has_a_preview_until_it_is_switched_off() {
    let wide = |state: TreeState| update(state, TreeEvent::from(TerminalEvent::Resize(120, 40)));
    let preview = vec![TreeEffect::Preview("h".into(), PreviewContent::Entry)];
    let (state, effects) = wide(known(&sample()));
    assert_eq!((state.shown(), effects), (PreviewContent::Entry, preview));
    let (state, _) = press(state, "Tab Tab");
    assert_eq!(state.shown(), PreviewContent::Nothing);
    let (state, effects) = wide(state);
    assert_eq!((state.shown(), effects), (PreviewContent::Nothing, vec![]));
    let (state, _) = update(known(&sample()), TreeEvent::from(TerminalEvent::Resize(119, 40)));
    assert_eq!(state.shown(), PreviewContent::Nothing);
}

#[test]
fn a_file_that_changed_under_the_session_is_read_again() {
    let (_, effects) = update(known(&sample()), TreeEvent::FileLost("cut off".into()));
    assert_eq!(effects, [TreeEffect::Reopen("cut off".into())]);
}

#[test]
fn a_signal_stops_any_operation() {
    let (state, _) = press(known(&sample()), "Shift+L x");
    assert_eq!(update(state, TreeEvent::from(TerminalEvent::Stop)).1, [TreeEffect::Stop]);
}

#[test]
fn only_the_page_that_is_waited_for_is_shown() {
    let (state, _) = press(known(&sample()), "Tab");
    let page = |id: &str| TreeEvent::Page(id.into(), PreviewContent::Entry, Page::of_failure(id));
    let (state, _) = update(state, page("g"));
    assert_eq!(state.preview.page, None);
    let (state, _) = update(state, page("h"));
    let shown = state.preview.page.as_ref().map(PageView::page);
    assert_eq!(shown, Some(&Page::of_failure("h")));
    let (state, _) = press(state, "Up");
    assert_eq!(state.preview.page, None);
}

#[test]
fn a_preview_scrolls_by_rows_and_not_past_its_end() {
    let words = "word ".repeat(100);
    let (state, _) = press(known(&sample()), "Tab");
    let (state, _) = update(state, TreeEvent::from(TerminalEvent::Resize(40, 24)));
    let page = TreeEvent::Page("h".into(), PreviewContent::Entry, Page::of_markdown(&words));
    let (state, _) = update(state, page);
    let top = |state: &TreeState| state.preview.page.as_ref().map(PageView::top);
    let (state, _) = press(state, "Alt+↓ Alt+↓");
    assert_eq!(top(&state), Some(2));
    // Eight words on a row: thirteen rows, ten of which are seen.
    let (state, _) = press(state, "Alt+↓ Alt+↓ Alt+↓");
    assert_eq!(top(&state), Some(3));
    let (state, _) = update(state, TreeEvent::from(TerminalEvent::Resize(80, 24)));
    assert_eq!(top(&state), Some(0));
}

#[test]
fn a_session_that_grows_keeps_cursor_folds_search_and_label() {
    let session = sample();
    let (state, _) = press(known(&session), "Home Down Down Ctrl+←");
    assert_eq!(shown(&state), "a b [c] g h");
    session.append(treering::Message::user("more")).unwrap();
    session.branch_in_memory("a").unwrap();
    session.append(treering::Message::user("new").into_entry().with_id("n")).unwrap();
    let (state, effects) = update(state, TreeEvent::Tree(Outline::of(&session)));
    assert_eq!(effects, [TreeEffect::Read]);
    let more = session.tree().children("i").unwrap().remove(0);
    // The new branch is the active one; what is known and what is folded stays.
    assert_eq!(shown(&state), format!("a b [c] g h {more} n"));
    assert!(state.is_known(state.cursor));
    // Results for the old tree refer to other entries.
    let (state, _) = update(state, TreeEvent::Found(0, String::new(), vec![(0, String::new())]));
    let (state, effects) = press(state, "Shift+L x");
    assert_eq!(effects, []);
    let (state, _) = update(state, TreeEvent::Tree(Outline::of(&session)));
    assert!(matches!(&state.mode, TreeMode::Label { input, .. } if input.text() == "Todox"));
}

#[test]
fn content_that_is_found_later_joins_what_is_found_at_once() {
    let (state, _) = press(known(&sample()), "main");
    assert_eq!(shown(&state), "[e]");
    let (state, _) = update(state, TreeEvent::Found(0, "other".into(), vec![(0, String::new())]));
    assert_eq!(shown(&state), "[e]");
    let (state, _) = update(state, TreeEvent::Found(0, "main".into(), vec![(0, "fn main".into())]));
    assert_eq!(shown(&state), "[a] e");
    let (state, _) = press(state, ".");
    assert_eq!(shown(&state), "[e]");
}

#[test]
fn the_mouse_selects_and_scrolls() {
    let (state, _) = update(
        known(&sample()),
        TreeEvent::Terminal(TerminalEvent::Mouse(MouseEvent::Click(5, 2))),
    );
    assert_eq!(shown(&state), "a [b] c e f g h");
    let (state, _) =
        update(state, TreeEvent::Terminal(TerminalEvent::Mouse(MouseEvent::WheelDown(5, 2))));
    assert_eq!(shown(&state), "a b c e [f] g h");
    let (state, _) =
        update(state, TreeEvent::Terminal(TerminalEvent::Mouse(MouseEvent::Click(5, 23))));
    assert_eq!(shown(&state), "a b c e [f] g h");
}

#[test]
fn the_cursor_is_always_on_the_screen() {
    let bytes = treering_testkit::generate::small(7, 200);
    let mut state = known(&super::session(&bytes));
    let keys = ["Ctrl+A", "End", "Up", "PgUp", "PgUp", "Ctrl+D", "Home", "PgDn", "Down", "Ctrl+←"];
    for (at, key) in keys.iter().cycle().take(300).enumerate() {
        let height = [10, 3, 24, 2, 0][at % 5];
        (state, _) = update(state, TreeEvent::Terminal(TerminalEvent::Resize(40, height)));
        (state, _) = press(state, key);
        let tree = usize::from(state.areas().list.height).max(1);
        let Some(row) = state.cursor_row() else { continue };
        assert!((state.top..state.top + tree).contains(&row), "{at} {key}");
    }
}
