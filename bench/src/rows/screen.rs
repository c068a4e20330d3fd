//! Rows about the tree selector: the time to its first picture, and the time for a key.

use crate::Bench;
use crate::measure::{Stat, ms};
use crate::table::{self, Row};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::ops::ControlFlow;
use std::path::Path;
use treering::{CreateOptions, Message, NewEntry, Session};
use treering_display::tree::Outline;
use treering_tui::TerminalEvent;
use treering_tui::keys::Key;
use treering_tui::tree::{TreeEvent, TreeState, draw, load_visible_previews, read_all, update};

const ENTRIES: u64 = 100_000;
const SIZE: (u16, u16) = (120, 40);

/// Keys of every kind: moving, folding, filtering, and searching a character at a time.
const KEYS: &str = "Down Down Up PgDn PgUp End Home Ctrl+Right Ctrl+Left Ctrl+Right Ctrl+U Ctrl+T Ctrl+L \
                    Ctrl+A Ctrl+O Ctrl+D a n s w e r Space 9 9 Backspace Esc Shift+Right Shift+Left Tab Down \
                    Up Tab Tab q u e Esc ? Esc";

pub(crate) fn rows(bench: &Bench) -> Vec<Row> {
    let dir = bench.data.scratch();
    let path = dir.path().join("tree.jsonl");
    write(&path);
    let (mut first, mut keys) = (Vec::new(), Vec::new());
    for _ in 0..bench.rounds(5) {
        let mut terminal = Terminal::new(TestBackend::new(SIZE.0, SIZE.1)).unwrap();
        let mut shown = None;
        first.push(ms(|| {
            let session = Session::open(&path).unwrap();
            let state = TreeState::new(Outline::of(&session));
            let (state, _) = update(state, TerminalEvent::Resize(SIZE.0, SIZE.1).into());
            let state = load_visible_previews(&session, state);
            terminal.draw(|frame| draw(&state, frame)).unwrap();
            shown = Some((session, state));
        }));
        let (session, state) = shown.unwrap();
        press_all(&session, state, &mut terminal, &mut keys);
    }
    keys.sort_by(f64::total_cmp);
    let slowest = keys[(keys.len() * 99).div_ceil(100) - 1];
    let (first, key) = (Stat::of(&first), Stat::of(&keys));
    let entries = table::thousands(ENTRIES as usize);
    vec![
        Row::new(format!("tree selector, {entries} entries: open, read, first picture"))
            .ours(table::time(first))
            .bar("≤ 300 ms", first.median <= 300.0),
        Row::new(format!(
            "the same: update and draw of one key, 99 of 100 (median {})",
            table::time(key)
        ))
        .ours(table::time(Stat::of(&[slowest])))
        .bar("≤ 16 ms", slowest <= 16.0),
    ]
}

/// All of it is known, as it is a moment after the first picture.
fn press_all(
    session: &Session,
    state: TreeState,
    terminal: &mut Terminal<TestBackend>,
    times: &mut Vec<f64>,
) {
    let mut preview_lines = Vec::new();
    read_all(session, state.outline(), |batch| {
        preview_lines.extend(batch);
        ControlFlow::Continue(())
    });
    let (mut state, _) = update(state, TreeEvent::PreviewLines(0, preview_lines));
    for name in KEYS.split_whitespace() {
        let key: Key = name.parse().unwrap();
        let mut after = None;
        times.push(ms(|| {
            let state =
                load_visible_previews(session, update(state, TreeEvent::Terminal(key.into())).0);
            terminal.draw(|frame| draw(&state, frame)).unwrap();
            after = Some(state);
        }));
        state = after.unwrap();
    }
}

/// Two sides take turns; every hundredth turn begins a new branch.
fn write(path: &Path) {
    let session = Session::create_at(path, "/project", CreateOptions::new()).unwrap();
    let mut number = 0;
    while number < ENTRIES {
        let turn = |number: u64| {
            let question = format!("question {number} {}", "word ".repeat(20));
            let answer = format!("answer {number} {}", "word ".repeat(60));
            [Message::user(&question), Message::assistant("acme", "oak", &answer)]
                .map(NewEntry::from)
        };
        let some: Vec<NewEntry> = (number..number + 100).step_by(2).flat_map(turn).collect();
        let written = session.append_all(&some).unwrap();
        // In memory: the file's own leaf is its last entry anyway.
        session.branch_in_memory(written[written.len() / 2].as_str()).unwrap();
        number += 100;
    }
}
