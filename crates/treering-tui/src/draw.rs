//! Draws on a screen: text that is cut at its line's end, grounds, a line of input.
//!
//! Text must be safe to show before it is drawn; see [`text`](crate::text).

use crate::input::TextInput;
use crate::page::StyledLine;
use crate::text::{columns, graphemes, safe_line};
use crate::theme::{Theme, Tone};
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier, Style};

/// A frame that is being drawn.
#[derive(Debug)]
pub struct DrawContext<'a> {
    theme: Theme,
    buffer: &'a mut Buffer,
    /// The screen may have become smaller than a state knows.
    screen: Rect,
    /// The position of the input cursor.
    cursor: Option<Position>,
}

/// A place in a line, part of which is looked at.
#[derive(Debug, Clone, Copy)]
pub struct LineCursor {
    line: Rect,
    /// The first column of the text that is looked at.
    pub first: usize,
    /// The next column of the text.
    pub column: usize,
    /// Whether an ellipsis stands in the last column where the text does not fit.
    marks_cut: bool,
}

impl LineCursor {
    /// At the beginning of the line `y` of an area.
    pub fn new(area: Rect, y: u16) -> Self {
        LineCursor { line: Rect { y, height: 1, ..area }, first: 0, column: 0, marks_cut: false }
    }

    /// The same, with an ellipsis in the last column where the text does not fit.
    pub fn marking_cuts(self) -> Self {
        LineCursor { marks_cut: true, ..self }
    }

    /// The last `width` columns of the line, for something that is always seen.
    pub fn at_end(area: Rect, y: u16, width: u16) -> Self {
        let width = width.min(area.width);
        LineCursor::new(Rect { x: area.right() - width, width, ..area }, y)
    }

    /// Returns where on the screen so many columns from here on stand, if all of them are looked
    /// at.
    fn place(&self, width: usize) -> Option<Position> {
        let offset = self.column.checked_sub(self.first)?;
        let fits = offset + width <= usize::from(self.line.width);
        let x = self.line.x.checked_add(u16::try_from(offset).ok()?)?;
        fits.then_some(Position { x, y: self.line.y })
    }

    fn ends_before(&self, column: usize) -> bool {
        column > self.first + usize::from(self.line.width)
    }
}

impl<'a> DrawContext<'a> {
    /// Draws a frame. The terminal's cursor is shown at the input, if there is one.
    pub fn draw(frame: &mut Frame<'_>, theme: Theme, paint: impl FnOnce(&mut DrawContext<'_>)) {
        let screen = frame.area();
        let mut draw = DrawContext { theme, buffer: frame.buffer_mut(), screen, cursor: None };
        paint(&mut draw);
        if let Some(cursor) = draw.cursor {
            frame.set_cursor_position(cursor);
        }
    }

    /// Writes text and moves the cursor behind it.
    pub fn put(&mut self, cursor: &mut LineCursor, tone: Tone, text: &str) {
        let style = self.theme.style(tone);
        for (cluster, width) in graphemes(text) {
            if cursor.ends_before(cursor.column + width) {
                cursor.column += width;
                if cursor.marks_cut {
                    self.mark_cut(cursor.line);
                }
                return;
            }
            let place = cursor.place(width).filter(|place| self.screen.contains(*place));
            if let Some(cell) = place.and_then(|place| self.buffer.cell_mut(place)) {
                cell.set_symbol(cluster).set_style(style);
            }
            cursor.column += width;
        }
    }

    /// Puts an ellipsis in the last column of a line.
    fn mark_cut(&mut self, line: Rect) {
        let last = line.right().checked_sub(1).filter(|_| line.width > 0);
        let Some(last) = last.filter(|x| self.screen.contains((*x, line.y).into())) else { return };
        // The second half of a wide character cannot be written over alone.
        if let Some(before) = last.checked_sub(1).filter(|x| *x >= line.x)
            && let Some(cell) = self.buffer.cell_mut((before, line.y))
            && columns(cell.symbol()) > 1
        {
            cell.set_symbol(" ");
        }
        if let Some(cell) = self.buffer.cell_mut((last, line.y)) {
            cell.set_symbol("…");
        }
    }

    /// Gives a part of the screen a ground that lies below whatever was drawn there.
    pub fn ground(&mut self, area: Rect, ground: Style) {
        for position in area.intersection(self.screen).positions() {
            if let Some(cell) = self.buffer.cell_mut(position) {
                // What is faint on the usual ground cannot be read on another.
                if cell.fg == Color::DarkGray {
                    cell.fg = Color::Reset;
                }
                cell.set_style(ground.remove_modifier(Modifier::DIM));
            }
        }
    }

    /// Makes whatever was drawn in a part of the screen faint.
    pub fn fade(&mut self, area: Rect) {
        for position in area.intersection(self.screen).positions() {
            if let Some(cell) = self.buffer.cell_mut(position)
                && cell.fg != Color::DarkGray
            {
                cell.modifier.insert(Modifier::DIM);
            }
        }
    }

    /// The look of the row that is selected.
    pub fn select(&mut self, row: Rect) {
        self.ground(row, self.theme.selection());
    }

    /// The look of a title bar.
    pub fn title_bar(&mut self, row: Rect) {
        self.ground(row, self.theme.title_bar());
    }

    /// A line of a page.
    pub fn line(&mut self, cursor: &mut LineCursor, line: &StyledLine) {
        for span in &line.spans {
            self.put(cursor, span.tone, &span.text);
        }
    }

    /// Puts the terminal's cursor where the cursor is.
    pub fn type_here(&mut self, cursor: &LineCursor) {
        self.cursor = cursor.place(1).filter(|place| self.screen.contains(*place));
    }

    /// Draws a line of input.
    pub fn input(&mut self, cursor: &mut LineCursor, input: &TextInput) {
        let (before, after) = input.halves();
        self.put(cursor, Tone::Plain, &safe_line(before));
        self.type_here(cursor);
        self.put(cursor, Tone::Plain, &safe_line(after));
    }

    /// The keys of a screen, from one of them on: the keys, and beside them what they do.
    pub fn keys(&mut self, area: Rect, list: &[(String, &str)], top: usize) {
        let widest = list.iter().map(|(keys, _)| columns(keys)).max().unwrap_or(0);
        for (y, (keys, about)) in (area.y..area.bottom()).zip(list.iter().skip(top)) {
            let mut cursor = LineCursor::new(area, y).marking_cuts();
            self.put(&mut cursor, Tone::Label, keys);
            cursor.column = widest + 2;
            self.put(&mut cursor, Tone::Plain, about);
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
