//! Snapshots of the screen at several sizes.

use super::super::{PickerEvent, PickerState, update};
use super::{knowing, sample, session, start};
use crate::page::{Page, StyledLine};
use crate::testing::{press, resized as screen};
use crate::theme::Tone;
use treering::catalog::{Progress, SessionInfo};

fn after(keys: &str) -> PickerState {
    press(knowing(sample()), keys).0
}

#[test]
fn the_list() {
    insta::assert_snapshot!(screen(after("Down"), 80, 24), @r"
    threaded  all projects  6 of 6
       session                           msgs  project           agent           age
       Boil the water                     300  ~/tea             pi              5 h
    ›  ├─ Kettle · Which kettle is th…    200  ~/tea             pi              3 h
       │  └─ Try the blue kettle            5  ~/tea             pi            5 min
     • └─ Water again · Is it warm?        60  ~/tea             pi              1 h
       Grind the beans                     30  ~/coffee          codex        30 min
       (no messages yet)                 3000  ~/tea             pi              2 d















    ? keys · Enter open · Tab preview · Ctrl+S sort · Ctrl+A scope · type to search
    ");
}

#[test]
fn a_small_screen_has_names_and_ages() {
    insta::assert_snapshot!(screen(after("water"), 40, 10), @r"
    search: water  threaded  all projects  2
    ›  Boil the water                    5 h
     • └─ Water again · Is it warm?      1 h






    ? keys · Enter open · Tab preview · Ctrl
    ");
    insta::assert_snapshot!(screen(after("Ctrl+D"), 40, 10), @r"
    threaded  all projects  6 of 6
    ›  Boil the water                    5 h
       ├─ Kettle · Which kettle is…      3 h
       │  └─ Try the blue kettle       5 min
     • └─ Water again · Is it warm?      1 h
       Grind the beans                30 min
       (no messages yet)                 2 d


    Delete? y yes, other keys no · “Boil the
    ");
}

#[test]
fn a_large_screen_has_a_preview_beside() {
    let (state, _) = press(knowing(sample()), "Tab");
    let lines = ["300 messages", "", "user", "Boil the water"];
    let page = Page { lines: lines.map(|line| StyledLine::new(Tone::Plain, line)).into() };
    let (state, _) = update(state, PickerEvent::Page("/s/a".into(), page));
    insta::assert_snapshot!(screen(state.clone(), 120, 40), @r"
    threaded  all projects  6 of 6
       session                                      msgs     age │ ── session ──────────────────────────────────────────────
    ›  Boil the water                                300     5 h │ 300 messages
       ├─ Kettle · Which kettle is the best one?     200     3 h │
       │  └─ Try the blue kettle                       5   5 min │ user
     • └─ Water again · Is it warm?                   60     1 h │ Boil the water
       Grind the beans                                30  30 min │
       (no messages yet)                            3000     2 d │
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
    ? keys · Enter open · Tab preview · Ctrl+S sort · Ctrl+A scope · type to search · Esc close
    ");
    insta::assert_snapshot!(screen(state.clone(), 80, 24), @r"
    threaded  all projects  6 of 6
       session                           msgs  project           agent           age
    ›  Boil the water                     300  ~/tea             pi              5 h
       ├─ Kettle · Which kettle is th…    200  ~/tea             pi              3 h
       │  └─ Try the blue kettle            5  ~/tea             pi            5 min
     • └─ Water again · Is it warm?        60  ~/tea             pi              1 h
       Grind the beans                     30  ~/coffee          codex        30 min
       (no messages yet)                 3000  ~/tea             pi              2 d




    ── session ─────────────────────────────────────────────────────────────────────
    300 messages

    user
    Boil the water






    ? keys · Enter open · Tab preview · Ctrl+S sort · Ctrl+A scope · type to search
    ");
    insta::assert_snapshot!(screen(state, 40, 10), @r"
    threaded  all projects  6 of 6
    ── session ─────────────────────────────
    300 messages

    user
    Boil the water



    ? keys · Enter open · Tab preview · Ctrl
    ");
}

#[test]
fn a_wide_list_has_every_column() {
    let mut sessions = sample();
    sessions[3].path = "/s/d.jsonl.zst".into();
    insta::assert_snapshot!(screen(knowing(sessions), 120, 10), @r"
    threaded  all projects  6 of 6
       session                                                           msgs    size  project           agent           age
    ›  Boil the water                                                     300  300 KB  ~/tea             pi              5 h
       ├─ Kettle · Which kettle is the best one?                          200  200 KB  ~/tea             pi              3 h
       │  └─ Try the blue kettle                                            5  5.0 KB  ~/tea             pi            5 min
     • └─ Water again · Is it warm?                                        60   60 KB  ~/tea             pi              1 h
       (archived) Grind the beans                                          30   30 KB  ~/coffee          codex        30 min
       (no messages yet)                                                 3000  3.0 MB  ~/tea             pi              2 d

    ? keys · Enter open · Tab preview · Ctrl+S sort · Ctrl+A scope · type to search · Esc close
    ");
}

#[test]
fn a_name_is_edited_in_its_row() {
    insta::assert_snapshot!(screen(after("Down Ctrl+R 2"), 60, 7), @r"
    threaded  all projects  6 of 6
       session                                      msgs     age
       Boil the water                                300     5 h
    ›  ├─ Kettle2                                    200     3 h
       │  └─ Try the blue kettle                       5   5 min
     • └─ Water again · Is it warm?                   60     1 h
    Enter save · Esc cancel
    ");
}

#[test]
fn why_there_is_nothing() {
    insta::assert_snapshot!(screen(knowing(Vec::new()), 60, 6), @r"
    threaded  all projects  0 of 0
       session                                      msgs     age
       No sessions on this machine yet.
       Enter  look around in a small demo session
       Alt+N  start a new session
    ? keys · Enter open · Tab preview · Ctrl+S sort · Ctrl+A sco
    ");
    insta::assert_snapshot!(screen(after("re:(x"), 60, 6), @r"
    search: re:(x  threaded  all projects  6 of 6
       session                                      msgs     age
    ›  Boil the water                                300     5 h
       ├─ Kettle · Which kettle is the best one?     200     3 h
       │  └─ Try the blue kettle                       5   5 min
    invalid pattern: unclosed group (at character 4)
    ");
    let (searched, _) = update(after("zzz"), PickerEvent::Searched("zzz".into()));
    insta::assert_snapshot!(screen(searched, 60, 6), @r"
    search: zzz  threaded  all projects  0 of 6
       session                                      msgs     age
       No session matches.


    ? keys · Enter open · Tab preview · Ctrl+S sort · Ctrl+A sco
    ");
    let mut here = start();
    here.scope = super::super::Scope::Project;
    let (here, _) = update(PickerState::new(here), PickerEvent::Found(sample(), None));
    let (here, _) = press(update(here, PickerEvent::Complete).0, "zzz");
    let (here, _) = update(here, PickerEvent::Searched("zzz".into()));
    insta::assert_snapshot!(screen(here, 60, 6), @r"
    search: zzz  threaded  this project  0 of 6
       session                                      msgs     age
       No session matches.
       Ctrl+A  searches all 6

    ? keys · Enter open · Tab preview · Ctrl+S sort · Ctrl+A sco
    ");
    let mut elsewhere = start();
    elsewhere.scope = super::super::Scope::Project;
    elsewhere.project = treering_index::Project::new("/nowhere");
    let state = PickerState::new(elsewhere);
    let (state, _) = update(state, PickerEvent::Found(sample(), Some(Progress::new(6, 99))));
    insta::assert_snapshot!(screen(state.clone(), 60, 6), @r"
    threaded  this project  0 of 6  reading, 93 to go
       session                                      msgs     age
       reading …


    ? keys · Enter open · Tab preview · Ctrl+S sort · Ctrl+A sco
    ");
    let (state, _) = update(state, PickerEvent::Complete);
    insta::assert_snapshot!(screen(state, 60, 6), @r"
    threaded  this project  0 of 6
       session                                      msgs     age
       No sessions of this project yet.
       Ctrl+A  lists all 6
       Alt+N  starts one
    ? keys · Enter open · Tab preview · Ctrl+S sort · Ctrl+A sco
    ");
}

#[test]
fn keys_are_listed() {
    insta::assert_snapshot!(screen(after("?"), 80, 24), @r"
    threaded  all projects  6 of 6
    ↑              to the previous session (wraps around)
    ↓              to the next session (wraps around)
    PgUp           a page up
    PgDn           a page down
    Home           to the first session
    End            to the last session
    Enter          open the session
    Alt+C          continue the session in a copy
    Alt+R          resume the session in its agent
    Alt+N          start a new session
    Ctrl+S         sort: threaded, recent, relevance
    Ctrl+N         show named sessions only, or all
    Ctrl+A         show the sessions of this project, or all
    Ctrl+↑ Ctrl+P  an earlier query
    Ctrl+↓         a later query
    Ctrl+R         rename the session; an empty name clears it
    Ctrl+D Delete  move the session to the trash (asks first)
    Ctrl+B         archive or unarchive the session
    Ctrl+E         export the session as HTML
    Ctrl+X         copy the path of the session's file
    Tab            show or hide the preview
    Alt+↑          preview up
    ↑↓ scroll · any other key closes
    ");
}

#[test]
fn hostile_text_is_harmless_and_aligned() {
    let texts = [
        "\u{1b}[2J\u{7}red\u{1b}]0;title\u{7}",
        "\u{202e}gnp.exe\u{2066} \u{200b}zero\u{200d}width",
        "日本語 wide 👍🏽 e\u{301} combined 日本語 日本語 日本語 日本語",
        "a\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301} tower",
    ];
    let mut sessions: Vec<SessionInfo> =
        texts.iter().zip(1..).map(|(text, at)| session(&at.to_string(), at, text)).collect();
    sessions[1].name = Some("\u{1b}c\nname\u{202e}".into());
    sessions[2].cwd = "/h/\u{1b}[31m/日本語日本語日本語".into();
    sessions[3].id = treering::SessionId::of_file("\u{1b}");
    insta::assert_snapshot!(screen(knowing(sessions.clone()), 80, 8), @r"
    threaded  all projects  4 of 4
       session                           msgs  project           agent           age
    ›  \x1b[2J\x07red\x1b]0;title\x07       1  ~/tea             pi            1 min
       \x1bc · \u{202e}gnp.exe\u{2066…      2  ~/tea             pi            2 min
       日本語 wide 👍🏽 é combined 日本…      3  …語日本語日本語   pi            3 min
       a tower                              4  ~/tea             pi            4 min

    ? keys · Enter open · Tab preview · Ctrl+S sort · Ctrl+A scope · type to search
    ");
    let (state, _) = update(knowing(sessions), PickerEvent::Failure("\u{1b}[3J".into()));
    assert!(screen(state, 80, 8).ends_with("\n\\x1b[3J\n"));
}

#[test]
fn no_screen_is_too_small() {
    for (width, height) in [(0, 0), (1, 1), (2, 2), (3, 3), (5, 40), (200, 1), (16, 4), (50, 4)] {
        for keys in ["", "Tab", "?", "Ctrl+R longname", "Ctrl+D", "a\"long\"query", "re:("] {
            screen(after(keys), width, height);
            screen(press(knowing(Vec::new()), keys).0, width, height);
        }
    }
}
