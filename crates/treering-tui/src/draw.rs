//! Draws on a frame: text that is cut at the end of its line, backgrounds, a line of input.
//!
//! Text must be safe to show before it is drawn; see [`treering_display::text`].

use crate::input::TextInput;
use crate::page::StyledLine;
use crate::theme::{Theme, Tone};
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use treering_display::columns::{columns, graphemes};
use treering_display::text::safe_line;

/// A frame that is being drawn, with its theme.
#[derive(Debug)]
pub struct DrawContext<'a> {
    theme: Theme,
    buffer: &'a mut Buffer,
    /// The area of the frame, which may be smaller than the state expects.
    screen: Rect,
    /// The position of the input cursor.
    cursor: Option<Position>,
}

/// A position in a line that may be scrolled horizontally.
#[derive(Debug, Clone, Copy)]
pub struct LineCursor {
    line: Rect,
    /// The first visible column of the text.
    pub first: usize,
    /// The next column of the text.
    pub column: usize,
    /// Whether a cut text ends with an ellipsis.
    marks_cut: bool,
}

impl LineCursor {
    /// Creates a cursor at the beginning of the line `y` of an area.
    pub fn new(area: Rect, y: u16) -> Self {
        LineCursor { line: Rect { y, height: 1, ..area }, first: 0, column: 0, marks_cut: false }
    }

    /// Returns the cursor with an ellipsis at the end of a cut text.
    pub fn marking_cuts(self) -> Self {
        LineCursor { marks_cut: true, ..self }
    }

    /// Creates a cursor for the last `width` columns of a line.
    pub fn at_end(area: Rect, y: u16, width: u16) -> Self {
        let width = width.min(area.width);
        LineCursor::new(Rect { x: area.right() - width, width, ..area }, y)
    }

    /// Returns the screen position of the next `width` columns, if all of them are visible.
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
        // A wide character is replaced as a whole.
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

    /// Sets the background of an area, below the text that was drawn there.
    pub fn ground(&mut self, area: Rect, ground: Style) {
        for position in area.intersection(self.screen).positions() {
            if let Some(cell) = self.buffer.cell_mut(position) {
                // Faint text cannot be read on another background.
                if cell.fg == Color::DarkGray {
                    cell.fg = Color::Reset;
                }
                cell.set_style(ground.remove_modifier(Modifier::DIM));
            }
        }
    }

    /// Dims the text of an area.
    pub fn fade(&mut self, area: Rect) {
        for position in area.intersection(self.screen).positions() {
            if let Some(cell) = self.buffer.cell_mut(position)
                && cell.fg != Color::DarkGray
            {
                cell.modifier.insert(Modifier::DIM);
            }
        }
    }

    /// Highlights the selected row.
    pub fn select(&mut self, row: Rect) {
        self.ground(row, self.theme.selection());
    }

    /// Draws the background of a title bar.
    pub fn title_bar(&mut self, row: Rect) {
        self.ground(row, self.theme.title_bar());
    }

    /// Draws a line of a page.
    pub fn line(&mut self, cursor: &mut LineCursor, line: &StyledLine) {
        for span in &line.spans {
            self.put(cursor, span.tone, &span.text);
        }
    }

    /// Shows the terminal's cursor at a position.
    pub fn set_cursor(&mut self, cursor: &LineCursor) {
        self.cursor = cursor.place(1).filter(|place| self.screen.contains(*place));
    }

    /// Draws a line of input.
    pub fn input(&mut self, cursor: &mut LineCursor, input: &TextInput) {
        let (before, after) = input.halves();
        self.put(cursor, Tone::Plain, &safe_line(before));
        self.set_cursor(cursor);
        self.put(cursor, Tone::Plain, &safe_line(after));
    }

    /// Draws a list of keys and their actions, from `top` on.
    pub fn keys(&mut self, area: Rect, list: &[(String, &str)], top: usize) {
        let widest = list.iter().map(|(keys, _)| columns(keys)).max().unwrap_or(0);
        for (y, (keys, about)) in (area.y..area.bottom()).zip(list.iter().skip(top)) {
            let mut cursor = LineCursor::new(area, y).marking_cuts();
            self.put(&mut cursor, Tone::Label, keys);
            cursor.column = widest + 2;
            self.put(&mut cursor, Tone::Plain, about);
        }
    }

    /// Clears an area before something is drawn over it.
    pub fn clear(&mut self, area: Rect) {
        let area = area.intersection(self.screen);
        for position in area.positions() {
            if let Some(cell) = self.buffer.cell_mut(position) {
                cell.reset();
            }
        }
    }
}
