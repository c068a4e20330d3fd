//! Tests of frames on terminals with different width tables, compared with the same frame on a new
//! terminal.

use super::*;
use proptest::prelude::*;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::UnicodeWidthChar;

/// A terminal of one width table: what is in each cell, and where the next character goes.
struct Model {
    width_of: fn(char) -> usize,
    size: (usize, usize),
    /// The content of a cell; `None` behind a wide character.
    cells: Vec<Option<String>>,
    at: (usize, usize),
}

impl Model {
    fn new(width_of: fn(char) -> usize, width: usize, height: usize) -> Self {
        let cells = vec![Some(" ".to_owned()); width * height];
        Model { width_of, size: (width, height), cells, at: (0, 0) }
    }

    fn take(&mut self, bytes: &[u8]) {
        let text = std::str::from_utf8(bytes).unwrap();
        let mut rest = text.chars();
        while let Some(character) = rest.next() {
            if character != '\x1b' {
                self.print(character);
                continue;
            }
            assert_eq!(rest.next(), Some('['));
            let mut arguments = String::new();
            let end = loop {
                match rest.next().unwrap() {
                    end @ '@'..='~' => break end,
                    other => arguments.push(other),
                }
            };
            match end {
                'H' => {
                    let (y, x) = arguments.split_once(';').unwrap();
                    self.at = (x.parse::<usize>().unwrap() - 1, y.parse::<usize>().unwrap() - 1);
                }
                'J' => self.cells.fill(Some(" ".to_owned())),
                'm' | 'h' | 'l' => {}
                other => panic!("CSI {arguments}{other}"),
            }
        }
    }

    fn print(&mut self, character: char) {
        let (width, (x, y)) = ((self.width_of)(character), self.at);
        let row = y * self.size.0;
        if width == 0 {
            // A combining mark joins the character before the cursor, wherever that begins.
            let before = (0..x).rev().map(|x| row + x).find(|at| self.cells[*at].is_some());
            if let Some(Some(cell)) = before.map(|at| &mut self.cells[at]) {
                cell.push(character);
            }
            return;
        }
        // Lines do not wrap: what does not fit is not drawn.
        if x + width > self.size.0 {
            return;
        }
        for at in row + x..row + x + width {
            self.break_wide(at, row);
        }
        self.cells[row + x] = Some(character.to_string());
        self.cells[row + x + 1..row + x + width].fill(None);
        self.at.0 = x + width;
    }

    /// A wide character that is written over is gone as a whole.
    fn break_wide(&mut self, at: usize, row: usize) {
        let start = (row..=at).rev().find(|at| self.cells[*at].is_some()).unwrap_or(row);
        let mut end = start + 1;
        while end < row + self.size.0 && self.cells[end].is_none() {
            end += 1;
        }
        if end > start + 1 {
            self.cells[start..end].fill(Some(" ".to_owned()));
        }
    }
}

/// The width tables: as the library has it, marks that take a column, joined emoji and flags that are
/// narrow or drawn one by one.
const TABLES: [fn(char) -> usize; 4] = [
    |character| character.width().unwrap_or(0),
    |character| match character {
        '\u{900}'..='\u{dff}' | '\u{e31}'..='\u{e4e}' => 1,
        _ => character.width().unwrap_or(0),
    },
    |character| match character {
        '\u{903}' | '\u{93b}' | '\u{93e}'..='\u{940}' | '\u{e33}' => 0,
        '\u{1f1e6}'..='\u{1f1ff}' => 1,
        _ => character.width().unwrap_or(0),
    },
    |character| match character {
        '\u{1f1e6}'..='\u{1f1ff}' | '\u{2600}'..='\u{27bf}' | '→' => 2,
        '\u{200d}' => 1,
        _ => character.width().unwrap_or(0),
    },
];

const TEXTS: [&str; 12] = [
    "plain text, nothing else",
    "नमस्ते दुनिया क्षि",
    "กำลัง ทำงาน น้ำ",
    "🇩🇪🇫🇷 flags 🇯🇵",
    "family 👨‍👩‍👧 heart ❤️ ok",
    "日本語 wide 한국어",
    "می‌خواهم",
    "e\u{301}a\u{308} marks",
    "→ … • │ ├─",
    "",
    "a日b👍🏽c🇩🇪d",
    "x",
];

const WIDTH: u16 = 24;

/// A frame with a text on each row, from a column on.
fn frame(rows: &[(usize, usize, bool)]) -> Buffer {
    let mut buffer = Buffer::empty(Rect::new(0, 0, WIDTH, rows.len() as u16));
    for (y, (text, start, is_bold)) in rows.iter().enumerate() {
        let mut x = *start;
        let style = if *is_bold { Style::new().bold() } else { Style::new() };
        for (cluster, width) in treering_display::columns::graphemes(TEXTS[*text]) {
            if x + width > usize::from(WIDTH) {
                break;
            }
            buffer[(x as u16, y as u16)].set_symbol(cluster).set_style(style);
            x += width;
        }
    }
    buffer
}

fn written(writer: &mut FrameWriter, frame: &Buffer) -> Vec<u8> {
    let mut out = Vec::new();
    writer.write_frame(frame, None, &mut out).unwrap();
    out
}

proptest! {
    #[test]
    fn a_frame_looks_the_same_whatever_was_there_before(
        frames in proptest::collection::vec(
            proptest::collection::vec((0..TEXTS.len(), 0..6_usize, any::<bool>()), 3..4), 1..6),
    ) {
        for table in TABLES {
            let mut model = Model::new(table, usize::from(WIDTH), 3);
            let mut writer = FrameWriter::default();
            for rows in &frames {
                let frame = frame(rows);
                model.take(&written(&mut writer, &frame));
                let mut fresh = Model::new(table, usize::from(WIDTH), 3);
                fresh.take(&written(&mut FrameWriter::default(), &frame));
                prop_assert_eq!(&model.cells, &fresh.cells);
            }
        }
    }
}

#[test]
fn a_column_is_where_it_belongs_behind_a_text_of_unsure_width() {
    for table in TABLES {
        for (at, text) in TEXTS.iter().enumerate() {
            let mut frame = frame(&[(at, 0, false)]);
            frame[(WIDTH - 1, 0)].set_symbol("|");
            let mut model = Model::new(table, usize::from(WIDTH), 1);
            model.take(&written(&mut FrameWriter::default(), &frame));
            assert_eq!(model.cells.last(), Some(&Some("|".to_owned())), "{text:?}");
        }
    }
}

#[test]
fn an_unchanged_frame_writes_no_cell_and_a_small_change_writes_little() {
    let mut writer = FrameWriter::default();
    written(&mut writer, &frame(&[(0, 0, false), (1, 0, false)]));
    let same = written(&mut writer, &frame(&[(0, 0, false), (1, 0, false)]));
    let text = String::from_utf8(same).unwrap();
    assert!(!text.contains('H') && !text.contains("2J"), "{text:?}");
    let mut changed = frame(&[(0, 0, false), (1, 0, false)]);
    changed[(3, 0)].set_symbol("X");
    let text = String::from_utf8(written(&mut writer, &changed)).unwrap();
    assert!(text.contains("\x1b[1;4HX") && !text.contains("plain"), "{text:?}");
}

#[test]
fn a_forgotten_screen_is_written_in_full() {
    let mut writer = FrameWriter::default();
    let frame = frame(&[(0, 0, false)]);
    let first = written(&mut writer, &frame);
    writer.forget();
    assert_eq!(written(&mut writer, &frame), first);
}
