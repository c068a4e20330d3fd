//! What is on the screen, at several sizes.

use super::super::{Event, Shown, update};
use super::{known, line, message, sample, session};
use crate::page::Page;
use crate::testing::{press, resized as screen};

#[test]
fn the_tree() {
    insta::assert_snapshot!(screen(known(&sample()), 80, 24), @r"
    default  7 of 9
      • ⊟ user: start here
      • assistant: answer one
      ├⊟ • user: right
    › │     • assistant: right answer ← leaf
      └⊟   [Todo] user: left
              [read: src/main.rs]
              assistant: Left answer















    ? keys · Enter go · Tab preview · type to search · Esc close
    ");
}

#[test]
fn a_small_screen() {
    insta::assert_snapshot!(screen(press(known(&sample()), "Down Shift+L").0, 40, 10), @r"
    default  7 of 9
      • ⊟ user: start here
      • assistant: answer one
      ├⊟ • user: right
      │     • assistant: right answer ← leaf
    › └⊟   [Todo] user: left
              [read: src/main.rs]
              assistant: Left answer

    Enter set the label · Esc leave it
    ");
}

#[test]
fn a_wide_screen_with_a_preview() {
    let sample = sample();
    let state = press(known(&sample), "Shift+T Tab Tab").0;
    let page = Page::of_context(&sample.context_at(Some("h")).unwrap());
    let (state, _) = update(state, Event::Page("h".into(), Shown::Context, page));
    insta::assert_snapshot!(screen(state, 120, 40), @r"
    default  7 of 9
      • ⊟ user: start here                                       │ ── context from here ────────────────────────────────────
      • assistant: answer one                                    │ 4 messages, about 11 tokens
      ├⊟ • user: right                                           │
    › │     • assistant: right answer ← leaf                     │ user · a
      └⊟   [Todo] 2026-01-05 09:08 user: left                    │ ▕██      ▏ 27 % · about 3 tokens
              [read: src/main.rs]                                │ start here
              assistant: Left answer                             │
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
fn keys_are_listed() {
    insta::assert_snapshot!(screen(press(known(&sample()), "?").0, 80, 24), @r"
    default  7 of 9
    ↑                      one up, from the first to the last
    ↓                      one down, from the last to the first
    PgUp ←                 a page up
    PgDn →                 a page down
    Home                   to the first entry
    End                    to the last entry
    Ctrl+← Alt+←           fold, or go to where the branch begins
    Ctrl+→ Alt+→           unfold, or go to where it branches next
    Enter                  go here and talk on; your own message comes back to be ed
    Shift+Enter Alt+Enter  the same, with a summary of what is left behind
    Ctrl+G                 make exactly this entry the leaf, and stay here
    Alt+Z                  go back to where the leaf was before
    Shift+L                edit the label; an empty one is cleared
    Shift+T                show when labels were set
    Space                  mark for a comparison, or no longer
    Alt+D                  compare two marked entries, or a marked one with this
    Alt+F                  a new session from the path to here
    Alt+C                  a new session with the active branch
    Alt+P                  bring a copy of this entry, or of the marked ones, to the
    Alt+M                  bring a summary of this branch to the leaf
    Alt+K                  compact the active branch, after a look at what goes
    Alt+E                  write the branch to here as a page
    ↑↓ scroll · any key back
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
    default  4 of 5
      • ⊟ user: \x1b[2J\x07red\x1b]0;title\x07
      • user: \u{202e}gnp.exe\u{2066} \u{200b}zero\u{200d}width
      • [\x1b[31m\n\u{202e}日] user: 日本語 wide 👍🏽 é combined
    › • user: a tower ← leaf


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
