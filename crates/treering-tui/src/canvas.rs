//! Draws on a screen: text that is cut at its line's end, a line of input.
//!
//! Text must be safe to show before it is drawn; see [`text`](crate::text).

use crate::input::Input;
use crate::page::Line;
use crate::text::{columns, graphemes, safe_line};
use crate::theme::{Theme, Tone};
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

/// A frame that is being drawn.
#[derive(Debug)]
pub struct Canvas<'a> {
    theme: Theme,
    buffer: &'a mut Buffer,
    /// The screen may have become smaller than a state knows.
    screen: Rect,
    /// The position of the input cursor.
    cursor: Option<Position>,
}

/// A place in a line, part of which is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Pen {
    line: Rect,
    /// The first column of the text that is looked at.
    pub first: usize,
    /// The next column of the text.
    pub column: usize,
}

impl Pen {
    /// At the beginning of the line `y` of an area.
    pub fn new(area: Rect, y: u16) -> Self {
        Pen { line: Rect { y, height: 1, ..area }, first: 0, column: 0 }
    }

    /// Returns where on the screen so many columns from here on stand, if all of them are looked
    /// at.
    fn place(&self, width: usize) -> Option<Position> {
        let offset = self.column.checked_sub(self.first)?;
        let fits = offset + width <= usize::from(self.line.width);
        let x = self.line.x.checked_add(u16::try_from(offset).ok()?)?;
        fits.then_some(Position { x, y: self.line.y })
    }

    fn is_past_the_end(&self) -> bool {
        self.column >= self.first + usize::from(self.line.width)
    }
}

impl<'a> Canvas<'a> {
    /// Draws a frame. The terminal's cursor is shown at the input, if there is one.
    pub fn draw(frame: &mut Frame<'_>, theme: Theme, paint: impl FnOnce(&mut Canvas<'_>)) {
        let screen = frame.area();
        let mut canvas = Canvas { theme, buffer: frame.buffer_mut(), screen, cursor: None };
        paint(&mut canvas);
        if let Some(cursor) = canvas.cursor {
            frame.set_cursor_position(cursor);
        }
    }

    /// Writes text and moves the pen behind it.
    pub fn put(&mut self, pen: &mut Pen, tone: Tone, text: &str) {
        let style = self.theme.style(tone);
        for (cluster, width) in graphemes(text) {
            if pen.is_past_the_end() {
                return;
            }
            let place = pen.place(width).filter(|place| self.screen.contains(*place));
            if let Some(cell) = place.and_then(|place| self.buffer.cell_mut(place)) {
                cell.set_symbol(cluster).set_style(style);
            }
            pen.column += width;
        }
    }

    /// A line of a page.
    pub fn line(&mut self, pen: &mut Pen, line: &Line) {
        for span in &line.spans {
            self.put(pen, span.tone, &span.text);
        }
    }

    /// Puts the terminal's cursor where the pen is.
    pub fn type_here(&mut self, pen: &Pen) {
        self.cursor = pen.place(1).filter(|place| self.screen.contains(*place));
    }

    /// Draws a line of input.
    pub fn input(&mut self, pen: &mut Pen, input: &Input) {
        let (before, after) = input.halves();
        self.put(pen, Tone::Plain, &safe_line(before));
        self.type_here(pen);
        self.put(pen, Tone::Plain, &safe_line(after));
    }

    /// The keys of a screen, from one of them on: the keys, and beside them what they do.
    pub fn keys(&mut self, area: Rect, list: &[(String, &str)], top: usize) {
        let widest = list.iter().map(|(keys, _)| columns(keys)).max().unwrap_or(0);
        for (y, (keys, about)) in (area.y..area.bottom()).zip(list.iter().skip(top)) {
            let mut pen = Pen::new(area, y);
            self.put(&mut pen, Tone::Label, keys);
            pen.column = widest + 2;
            self.put(&mut pen, Tone::Plain, about);
        }
    }

    /// Empties an area, for something that lies over what was drawn.
    pub fn clear(&mut self, area: Rect) {
        let area = area.intersection(self.screen);
        for position in area.positions() {
            if let Some(cell) = self.buffer.cell_mut(position) {
                cell.reset();
            }
        }
    }
}
