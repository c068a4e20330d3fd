//! Tests of the editor against a simple implementation, and with arbitrary input.

use crate::chat::Editor;
use proptest::prelude::*;

/// An operation of an editor.
#[derive(Debug, Clone)]
enum Do {
    Insert(String),
    Backspace,
    Delete,
    Left,
    Right,
    WordLeft,
    WordRight,
    Home,
    End,
    KillBefore,
    KillAfter,
    KillWord,
    Yank,
    Clear,
    Up,
    Down,
    Width(usize),
}

fn simple_text() -> impl Strategy<Value = String> {
    // No characters that join with their neighbors: the simple editor knows nothing of that.
    proptest::collection::vec(
        prop_oneof![Just('a'), Just('é'), Just('日'), Just(' '), Just('\n')],
        0..6,
    )
    .prop_map(|characters| characters.into_iter().collect())
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,8}",
        Just("e\u{301}\u{301}".to_owned()),
        Just("👍🏽👨\u{200d}👩\u{200d}👧🇩🇪".to_owned()),
        Just("\u{1b}[2J\t\r\n\u{202e}".to_owned()),
        Just("\u{301}".to_owned()),
    ]
}

fn what(text: impl Strategy<Value = String> + 'static) -> impl Strategy<Value = Do> {
    prop_oneof![
        4 => text.prop_map(Do::Insert),
        1 => Just(Do::Backspace),
        1 => Just(Do::Delete),
        1 => Just(Do::Left),
        1 => Just(Do::Right),
        1 => Just(Do::WordLeft),
        1 => Just(Do::WordRight),
        1 => Just(Do::Home),
        1 => Just(Do::End),
        1 => Just(Do::KillBefore),
        1 => Just(Do::KillAfter),
        1 => Just(Do::KillWord),
        1 => Just(Do::Yank),
        1 => Just(Do::Clear),
        1 => Just(Do::Up),
        1 => Just(Do::Down),
        1 => (0usize..9).prop_map(Do::Width),
    ]
}

fn apply(editor: &mut Editor, what: &Do) {
    match what {
        Do::Insert(text) => {
            editor.insert(text);
        }
        Do::Backspace => editor.backspace(),
        Do::Delete => editor.delete_next(),
        Do::Left => editor.left(),
        Do::Right => editor.right(),
        Do::WordLeft => editor.word_left(),
        Do::WordRight => editor.word_right(),
        Do::Home => editor.home(),
        Do::End => editor.end(),
        Do::KillBefore => editor.kill_before(),
        Do::KillAfter => editor.kill_after(),
        Do::KillWord => editor.kill_word(),
        Do::Yank => editor.yank(),
        Do::Clear => {
            editor.clear();
        }
        Do::Up => {
            editor.up();
        }
        Do::Down => {
            editor.down();
        }
        Do::Width(width) => editor.lay_out(*width),
    }
}

/// A list of characters and a place in it. Rows are not its business.
#[derive(Debug, Default)]
struct Simple {
    text: Vec<char>,
    cursor: usize,
    killed: Vec<char>,
}

impl Simple {
    fn apply(&mut self, what: &Do) {
        let (cursor, end) = (self.cursor, self.text.len());
        let line_start = (0..cursor).rev().find(|at| self.text[*at] == '\n').map_or(0, |at| at + 1);
        let line_end = (cursor..end).find(|at| self.text[*at] == '\n').unwrap_or(end);
        let mut word_start = cursor;
        while word_start > 0 && self.text[word_start - 1].is_whitespace() {
            word_start -= 1;
        }
        while word_start > 0 && !self.text[word_start - 1].is_whitespace() {
            word_start -= 1;
        }
        let mut word_end = cursor;
        while word_end < end && self.text[word_end].is_whitespace() {
            word_end += 1;
        }
        while word_end < end && !self.text[word_end].is_whitespace() {
            word_end += 1;
        }
        match what {
            Do::Insert(text) => self.insert(text.chars().collect()),
            Do::Backspace => drop(self.remove(cursor.saturating_sub(1), cursor)),
            Do::Delete => drop(self.remove(cursor, (cursor + 1).min(end))),
            Do::Left => self.cursor = cursor.saturating_sub(1),
            Do::Right => self.cursor = (cursor + 1).min(end),
            Do::WordLeft => self.cursor = word_start,
            Do::WordRight => self.cursor = word_end,
            Do::Home => self.cursor = line_start,
            Do::End => self.cursor = line_end,
            Do::KillBefore if line_start == cursor => self.kill(cursor.saturating_sub(1), cursor),
            Do::KillBefore => self.kill(line_start, cursor),
            Do::KillAfter if line_end == cursor => self.kill(cursor, (cursor + 1).min(end)),
            Do::KillAfter => self.kill(cursor, line_end),
            Do::KillWord => self.kill(word_start, cursor),
            Do::Yank => self.insert(self.killed.clone()),
            Do::Clear => {
                self.killed = std::mem::take(&mut self.text);
                self.cursor = 0;
            }
            Do::Up | Do::Down | Do::Width(_) => {}
        }
    }

    fn insert(&mut self, text: Vec<char>) {
        let count = text.len();
        self.text.splice(self.cursor..self.cursor, text);
        self.cursor += count;
    }

    fn remove(&mut self, from: usize, to: usize) -> Vec<char> {
        self.cursor = from;
        self.text.drain(from..to).collect()
    }

    fn kill(&mut self, from: usize, to: usize) {
        if from < to {
            self.killed = self.remove(from, to);
        }
    }
}

proptest! {
    #[test]
    fn the_editor_does_what_a_simple_one_does(
        steps in proptest::collection::vec(what(simple_text()), 0..40),
    ) {
        let (mut editor, mut simple) = (Editor::default(), Simple::default());
        for step in steps.iter().filter(|step| !matches!(step, Do::Up | Do::Down)) {
            apply(&mut editor, step);
            simple.apply(step);
            let before: String = simple.text[..simple.cursor].iter().collect();
            let after: String = simple.text[simple.cursor..].iter().collect();
            prop_assert_eq!(editor.halves(), (&*before, &*after), "{:?}", step);
        }
    }

    #[test]
    fn rows_are_the_text_whatever_it_is(
        steps in proptest::collection::vec(what(any_text()), 0..40),
    ) {
        use treering_display::columns::columns;
        use treering_display::text::safe_line;
        let mut editor = Editor::default();
        let mut width = 80;
        for step in &steps {
            apply(&mut editor, step);
            if let Do::Width(wide) = step {
                width = (*wide).max(2);
            }
            let rows: Vec<&str> = editor.rows().iter().map(|row| editor.row(*row)).collect();
            let text: String = rows.concat();
            prop_assert_eq!(text, editor.text().replace('\n', ""));
            let (row, before) = editor.place();
            prop_assert!(rows[row].starts_with(before));
            for row in rows {
                // One character may be wider than the screen.
                let clusters = unicode_segmentation::UnicodeSegmentation::graphemes(row, true);
                prop_assert!(columns(&safe_line(row)) <= width || clusters.count() == 1);
            }
        }
    }
}

#[test]
fn up_and_down_keep_their_column() {
    let mut editor = Editor::default();
    editor.lay_out(6);
    editor.set("abcdefgh\nx\n日本語日本語");
    let place = |editor: &Editor| {
        let (row, before) = editor.place();
        (row, before.to_owned())
    };
    assert_eq!(place(&editor), (5, String::new()));
    editor.left();
    assert_eq!(place(&editor), (4, "日本".into()));
    for (row, before) in [(3, "日本"), (2, "x"), (1, "gh"), (0, "abcd")] {
        assert!(editor.up());
        assert_eq!(place(&editor), (row, before.to_owned()));
    }
    assert!(!editor.up());
    for row in 1..5 {
        assert!(editor.down());
        assert_eq!(place(&editor).0, row);
    }
    assert_eq!(place(&editor), (4, "日本".into()));
}

#[test]
fn a_flood_is_not_taken() {
    let mut editor = Editor::default();
    editor.insert("kept");
    let flood = "é\r\n".repeat(6_000_000);
    assert!(!editor.insert(&flood) && !editor.paste(&flood));
    assert_eq!(editor.content(), "kept");
}

#[test]
fn a_long_paste_is_shown_as_a_marker_and_is_one_character() {
    let long = "line\n".repeat(300_000);
    let mut editor = Editor::default();
    editor.insert("ab");
    editor.left();
    assert!(editor.paste(&long));
    assert_eq!(editor.text(), "a[paste #1: 300000 lines]b");
    assert_eq!(editor.content(), format!("a{long}b"));
    editor.left();
    assert_eq!(editor.halves().0, "a");
    editor.word_right();
    assert_eq!(editor.halves().1, "b");
    editor.word_left();
    assert_eq!(editor.halves().0, "a");
    editor.right();
    editor.backspace();
    assert_eq!(editor.text(), "ab");
    editor.paste(&long);
    editor.kill_before();
    editor.yank();
    assert_eq!(editor.content(), format!("a{long}b"));
    // A deleted marker still stands for its text after another text was in the editor.
    editor.kill_before();
    editor.set("");
    editor.yank();
    assert_eq!(editor.content(), format!("a{long}"));
    assert_eq!(editor.clear(), format!("a{long}"));
    // A long text is put back as a marker, too; a short one as it is.
    editor.set(&long);
    assert!(editor.text().starts_with("[paste #"), "{}", editor.text());
    assert_eq!(editor.content(), long);
    assert!(editor.paste("x\ny"));
    assert_eq!(editor.content(), format!("{long}x\ny"));
}
