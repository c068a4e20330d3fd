//! Writes frames to a terminal whose character widths may differ from those of this program.
//!
//! Terminals disagree about the width of marks, joined emoji, flags and other characters. In a
//! frame that is written as a stream of cells, the cells after such a character are misplaced, and
//! a later frame that rewrites single cells leaves parts of the old one. Therefore every row that
//! contains, or contained, a character of uncertain width is written as a whole: its columns are
//! blanked first, and the following text is placed by its column.

use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::{Buffer, Cell};
use ratatui::crossterm::cursor::{Hide, MoveTo, Show};
use ratatui::crossterm::queue;
use ratatui::crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType as Erase, EndSynchronizedUpdate, size,
};
use ratatui::layout::{Position, Size};
use std::io::{self, Write};
use std::iter::once;
use treering_display::columns::columns;

/// The backend for which frames are laid out. It writes nothing: it stores the cursor, and the
/// [`FrameWriter`] writes the frame.
#[derive(Debug, Default)]
pub(super) struct CursorBackend {
    cursor: Position,
    is_shown: bool,
}

impl CursorBackend {
    /// Returns the position of the cursor, if it is visible.
    pub(super) fn cursor(&self) -> Option<Position> {
        self.is_shown.then_some(self.cursor)
    }
}

impl Backend for CursorBackend {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, _: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.is_shown = false;
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.is_shown = true;
        Ok(())
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(self.cursor)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.cursor = position.into();
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn clear_region(&mut self, _: ClearType) -> io::Result<()> {
        Ok(())
    }

    fn size(&self) -> io::Result<Size> {
        let (width, height) = size()?;
        Ok(Size { width, height })
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.size()?, pixels: Size::default() })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes frames, each as its difference from the one before.
#[derive(Debug, Default)]
pub(super) struct FrameWriter {
    /// The frame on the terminal; `None` if it is not known.
    last: Option<Buffer>,
}

impl FrameWriter {
    /// Forgets the last frame, so that the next one is written in full.
    pub(super) fn forget(&mut self) {
        self.last = None;
    }

    /// Appends the bytes that make the terminal show a frame, with the cursor at a position or
    /// hidden.
    pub(super) fn write_frame(
        &mut self,
        frame: &Buffer,
        cursor: Option<Position>,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        let last = self.last.take().filter(|last| last.area == frame.area);
        queue!(out, BeginSynchronizedUpdate, Hide)?;
        if last.is_none() {
            queue!(out, Clear(Erase::All))?;
        }
        let width = usize::from(frame.area.width).max(1);
        for (y, row) in (frame.area.y..).zip(frame.content.chunks(width)) {
            let from = usize::from(y - frame.area.y) * width;
            let old = last.as_ref().and_then(|last| last.content.get(from..from + width));
            match old {
                Some(old) if old == row => {}
                Some(old) if old.iter().chain(row).all(is_plain) => {
                    let changed =
                        (0..).zip(old.iter().zip(row)).filter(|(_, (old, new))| old != new);
                    let changed: Vec<_> = changed.map(|(x, (_, new))| (x, y, new)).collect();
                    draw(out, &changed)?;
                }
                _ => write_row(y, row, out)?,
            }
        }
        if let Some(cursor) = cursor {
            queue!(out, MoveTo(cursor.x, cursor.y), Show)?;
        }
        queue!(out, EndSynchronizedUpdate)?;
        self.last = Some(frame.clone());
        Ok(())
    }
}

/// Writes all of a row.
fn write_row(y: u16, row: &[Cell], out: &mut impl Write) -> io::Result<()> {
    // The blanks are written first.
    let blank = |cell: &Cell| {
        let mut blank = cell.clone();
        blank.set_symbol(" ");
        blank
    };
    let mut run: Vec<(u16, u16, &Cell)> = Vec::new();
    let mut x: u16 = 0;
    while let Some(cell) = row.get(usize::from(x)) {
        let width = u16::try_from(columns(cell.symbol())).unwrap_or(1).max(1);
        if is_sure(cell.symbol()) {
            run.push((x, y, cell));
        } else {
            draw(out, &run)?;
            run.clear();
            // Columns that the terminal leaves free are blank, in the colors of the row.
            let blank = blank(cell);
            let blanks = (x..x.saturating_add(width)).map(|x| (x, y, &blank));
            draw(out, &blanks.chain(once((x, y, cell))).collect::<Vec<_>>())?;
        }
        x = x.saturating_add(width);
    }
    draw(out, &run)
}

/// Writes cells. The first is placed by its column, the others follow it or are placed themselves.
fn draw(out: &mut impl Write, cells: &[(u16, u16, &Cell)]) -> io::Result<()> {
    if cells.is_empty() {
        return Ok(());
    }
    CrosstermBackend::new(out).draw(cells.iter().copied())
}

/// Returns whether every terminal draws the cell in one column.
fn is_plain(cell: &Cell) -> bool {
    is_sure(cell.symbol()) && columns(cell.symbol()) == 1
}

/// Returns whether all terminals agree about the width of a symbol: a single character of a script
/// without marks and joiners, punctuation, or a character that this program draws. (A terminal that
/// draws ambiguous characters wide cannot show full-screen programs.)
fn is_sure(symbol: &str) -> bool {
    let mut characters = symbol.chars();
    let (Some(one), None) = (characters.next(), characters.next()) else { return false };
    matches!(one,
        ' '..='~' | '¡'..='¬' | '®'..='˿' | 'Ͱ'..='҂' | 'Ҋ'..='ԯ' | 'א'..='ת'
        | '‐'..='‧' | '‰'..='›' | '⊞' | '⊟' | '─'..='▟'
        | 'ぁ'..='ゖ' | 'ァ'..='ヿ' | '㐀'..='䶿' | '一'..='鿿' | '가'..='힣')
}

#[cfg(test)]
#[path = "frame_writer_tests.rs"]
mod tests;
