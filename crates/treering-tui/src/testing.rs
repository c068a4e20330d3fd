//! Helpers for tests of screens: keys by their names, and the visible text.

use crate::keys::Key;
use crate::{Screen, TerminalEvent};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use treering_display::columns::columns;

/// Returns keys by their names; any other word is typed.
pub(crate) fn keys(text: &str) -> Vec<Key> {
    let keys = |word: &str| match word.parse() {
        Ok(key) => vec![key],
        Err(_) => word.chars().map(Key::char).collect(),
    };
    text.split_whitespace().flat_map(keys).collect()
}

/// Returns the screen after some keys, and the effects of the last one.
pub(crate) fn press<S: Screen>(mut screen: S, text: &str) -> (S, Vec<S::Effect>) {
    let mut effects = Vec::new();
    for key in keys(text) {
        (screen, effects) = screen.update(TerminalEvent::Key(key).into());
    }
    (screen, effects)
}

/// Returns the visible text, without blanks at the ends of lines.
pub(crate) fn seen<S: Screen>(screen: &S, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| screen.draw(frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    for y in 0..height {
        let mut line = String::new();
        let mut x = 0;
        while x < width {
            line.push_str(buffer[(x, y)].symbol());
            // The second cell of a wide character is skipped.
            x += columns(buffer[(x, y)].symbol()).max(1) as u16;
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Returns the visible text on a screen of another size.
pub(crate) fn resized<S: Screen>(screen: S, width: u16, height: u16) -> String {
    seen(&screen.update(TerminalEvent::Resize(width, height).into()).0, width, height)
}
