//! Screens of the tree selector at several sizes.

use super::super::{PreviewContent, TreeEvent, update};
use super::{known, line, message, sample, session};
use crate::page::Page;
use crate::testing::{press, resized as screen};
use crate::theme::Theme;
use crate::time_zone::DisplayZone;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Modifier;

#[test]
fn the_tree() {
    insta::assert_snapshot!(screen(known(&sample()), 80, 24), @r"
     start here                                                  7/7 · pi · default
      • user: start here
      • assistant: answer one
      ├⊟ [Todo] user: left
      │  [read: src/main.rs]
      │  assistant: Left answer
      • user: right
    › • assistant: right answer ↓ leaf (hidden)















    ? keys · Enter go · Tab preview · type to search · Esc close
    ");
}

#[test]
fn a_small_screen() {
    insta::assert_snapshot!(screen(press(known(&sample()), "Home Down Down Shift+L").0, 40, 10), @r"
     start here          3/7 · pi · default
      • user: start here
      • assistant: answer one
    › ├⊟ [Todo] user: left
      │  [read: src/main.rs]
      │  assistant: Left answer
      • user: right
      • assistant: right an… ↓ leaf (hidden)

    Enter save · Esc cancel
    ");
}

#[test]
fn a_wide_screen_with_a_preview() {
    let sample = sample();
    let state = press(known(&sample), "Shift+T Tab Tab").0;
    let page = Page::of_context(&sample.context_at("h").unwrap());
    let (state, _) = update(state, TreeEvent::Page("h".into(), PreviewContent::Context, page));
    insta::assert_snapshot!(screen(state, 120, 40), @r"
     start here                                                                                          7/7 · pi · default
      • user: start here                                         │ ── context from here ────────────────────────────────────
      • assistant: answer one                                    │ 4 messages, about 11 tokens
      ├⊟ [Todo] 2026-01-05 09:08 UTC user: left                  │
      │  [read: src/main.rs]                                     │ user · a
      │  assistant: Left answer                                  │ ▕██      ▏ 27 % · about 3 tokens
      • user: right                                              │ start here
    › • assistant: right answer ↓ leaf (hidden)                  │
                                                                 │ assistant · b
                                                                 │ ▕██      ▏ 27 % · about 3 tokens
                                                                 │ answer one
                                                                 │
                                                                 │ user · g
                                                                 │ ▕█       ▏ 18 % · about 2 tokens
                                                                 │ right
                                                                 │
                                                                 │ assistant · h
                                                                 │ ▕██      ▏ 27 % · about 3 tokens
                                                                 │ right answer
                                                                 │
                                                                 │
                                                                 │
                                                                 │
                                                                 │
                                                                 │
                                                                 │
                                                                 │
                                                                 │
                                                                 │
                                                                 │
                                                                 │
                                                                 │
                                                                 │
                                                                 │
                                                                 │
                                                                 │
                                                                 │
                                                                 │
                                                                 │
    ? keys · Enter go · Tab preview · type to search · Esc close
    ");
}

#[test]
fn the_selected_row_is_found_in_every_theme() {
    for theme in [Theme::Dark, Theme::Light, Theme::Plain] {
        let mut state = known(&sample());
        state.theme = theme;
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| super::super::draw(&state, frame)).unwrap();
        let buffer = terminal.backend().buffer();
        let has_ground = |x: u16, y: u16| {
            let style = buffer[(x, y)].style();
            match theme {
                Theme::Plain => style.add_modifier.contains(Modifier::REVERSED),
                _ => style.bg == theme.selection().bg,
            }
        };
        for y in 1..23 {
            assert!((0..80).all(|x| has_ground(x, y) == (y == 7)), "{theme:?}, line {y}");
        }
        // Entries outside of the active path are faint; tool results are faint everywhere.
        let is_faint = |x: u16, y: u16| buffer[(x, y)].modifier.contains(Modifier::DIM);
        assert!(!is_faint(12, 2) && is_faint(15, 3) && is_faint(15, 5), "{theme:?}");
    }
}

#[test]
fn only_the_leaf_is_called_the_leaf() {
    let marks = |keys: &str| {
        let seen = screen(press(known(&sample()), keys).0, 80, 24);
        let marked = |line: &&str| line.contains(" ← ") || line.contains(" ↓ ");
        let lines: Vec<_> =
            seen.lines().filter(marked).map(|line| line.trim().to_owned()).collect();
        lines
    };
    assert_eq!(marks("Ctrl+A"), ["› • label: [Todo] on c ← leaf"]);
    assert_eq!(marks(""), ["› • assistant: right answer ↓ leaf (hidden)"]);
    assert_eq!(marks("Ctrl+U"), ["› • user: right ↓ leaf (hidden)"]);
    assert_eq!(marks("Ctrl+L"), [] as [&str; 0]);
}

#[test]
fn a_row_that_does_not_fit_is_marked() {
    let rows = |width| {
        let seen = screen(known(&sample()), width, 10);
        seen.lines().skip(1).take(7).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(rows(24)[1], "  • assistant: answer o…");
    assert_eq!(rows(26)[1], "  • assistant: answer one");
    // However long the text, the leaf is marked.
    assert!(rows(34)[6].ends_with("↓ leaf (hidden)"), "{:?}", rows(34)[6]);
}

#[test]
fn label_times_are_in_the_zone_of_the_reader() {
    let mut state = press(known(&sample()), "Shift+T").0;
    assert!(screen(state.clone(), 80, 24).contains("[Todo] 2026-01-05 09:08 UTC user: left"));
    state.zone = DisplayZone::fixed(-10);
    assert!(screen(state, 80, 24).contains("[Todo] 2026-01-04 23:08 user: left"));
}

#[test]
fn keys_are_listed() {
    insta::assert_snapshot!(screen(press(known(&sample()), "?").0, 80, 24), @r"
     start here                                                  7/7 · pi · default
    ↑                      to the previous entry (wraps around)
    ↓                      to the next entry (wraps around)
    PgUp ←                 a page up
    PgDn →                 a page down
    Shift+↑ Ctrl+↑         to the user's message before this
    Shift+↓ Ctrl+↓         to the user's next message
    Home                   to the first entry
    End                    to the last entry
    Ctrl+← Alt+←           fold a branch, or go to where this one begins
    Ctrl+→ Alt+→           unfold, or go to where it branches next
    Enter                  continue from here; a user message goes into the editor
    Shift+Enter Alt+Enter  navigate here and summarize the abandoned branch
    Ctrl+G                 move the leaf to this entry and stay in the tree
    Alt+Z                  undo the last move of the leaf
    Shift+L                edit the label; an empty one is cleared
    Shift+T                show when labels were set
    Space                  mark or unmark an entry
    Alt+D                  compare two marked entries, or a marked one with this
    Alt+F                  fork the path to here into a new session
    Alt+R                  resume from here in the session's agent
    Alt+C                  clone the active branch into a new session
    Alt+P                  cherry-pick this entry, or the marked ones, to the leaf
    ↑↓ scroll · any other key closes
    ");
}

#[test]
fn hostile_text_is_harmless_and_aligned() {
    let mut log = String::from(
        "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-01-05T09:00:00.000Z\",\"cwd\":\"/p\"}\n",
    );
    let texts = [
        r#""\u001b[2J\u0007red\u001b]0;title\u0007""#,
        r#""\u202egnp.exe\u2066 \u200bzero\u200dwidth""#,
        r#""日本語 wide 👍🏽 e\u0301 combined""#,
        r#""a\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301 tower""#,
    ];
    let mut parent = "";
    for (minute, (id, text)) in ["a", "b", "c", "d"].iter().zip(texts).enumerate() {
        log.push_str(&line(id, parent, minute, &message("user", text)));
        parent = id;
    }
    log.push_str(&line(
        "l",
        "d",
        9,
        r#""type":"label","targetId":"c","label":"\u001b[31m\n\u202e日""#,
    ));
    insta::assert_snapshot!(screen(known(&session(log.as_bytes())), 80, 8), @r"
     \x1b[2J\x07red\x1b]0;title\x07                              4/4 · pi · default
      • user: \x1b[2J\x07red\x1b]0;title\x07
      • user: \u{202e}gnp.exe\u{2066} \u{200b}zero\u{200d}width
      • [\x1b[31m\n\u{202e}日] user: 日本語 wide 👍🏽 é combined
    › • user: a tower ↓ leaf (hidden)


    ? keys · Enter go · Tab preview · type to search · Esc close
    ");
}

#[test]
fn no_screen_is_too_small() {
    for (width, height) in [(1, 1), (2, 2), (3, 3), (5, 40), (200, 1), (40, 10)] {
        for keys in ["Tab", "Tab Tab", "?", "Shift+L", "x", "Shift+→"] {
            screen(press(known(&sample()), keys).0, width, height);
        }
    }
}
