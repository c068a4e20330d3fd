//! Draws a state. Changes nothing, and draws nothing but what is on the screen.

use super::action::Action;
use super::cards::Card;
use super::columns::{Columns, GAP};
use super::state::{Mode, Scope, State};
use crate::canvas::{Canvas, Pen};
use crate::page::Reader;
use crate::split::Split;
use crate::text::{columns, fit, one_line, safe_line};
use crate::theme::Tone;
use ratatui::Frame;
use ratatui::layout::Rect;

/// Columns for the marks of the cursor and of the session that is open.
const MARKS: usize = 3;
/// A name in a question is cut after so many columns.
const ASKED: usize = 30;

/// Draws the session picker over the whole screen.
pub fn draw(state: &State, frame: &mut Frame<'_>) {
    let areas = state.areas();
    Canvas::draw(frame, state.theme, |canvas| {
        let mut view = View { state, canvas };
        view.head(areas.split.head);
        match state.mode {
            Mode::Help(top) => {
                view.canvas.keys(areas.split.body(), &state.bindings.list(), top);
            }
            _ => {
                view.headings(areas.headings);
                view.list(areas.list);
                view.preview(areas.split);
            }
        }
        view.foot(areas.split.foot);
    });
}

struct View<'a, 'b> {
    state: &'a State,
    canvas: &'a mut Canvas<'b>,
}

impl View<'_, '_> {
    fn put(&mut self, pen: &mut Pen, tone: Tone, text: &str) {
        self.canvas.put(pen, tone, text);
    }

    /// What is typed comes first: on a narrow screen the rest can be missed.
    fn head(&mut self, area: Rect) {
        let state = self.state;
        let mut pen = Pen::new(area, area.y);
        if !state.search.is_empty() {
            const TITLE: &str = "search: ";
            let (before, _) = state.search.input.halves();
            let cursor = columns(TITLE) + columns(&safe_line(before)) + 1;
            pen.first = cursor.saturating_sub(usize::from(area.width));
            self.put(&mut pen, Tone::Dim, TITLE);
            self.canvas.input(&mut pen, &state.search.input);
            self.put(&mut pen, Tone::Plain, "  ");
        }
        self.put(&mut pen, Tone::Title, state.sort.name());
        let scope = match state.scope {
            Scope::Project => "this project",
            Scope::All => "all projects",
        };
        let named = if state.named_only { ", named" } else { "" };
        self.put(&mut pen, Tone::Title, &format!("  {scope}{named}"));
        let count = format!("  {} of {}", state.rows.len(), state.count());
        self.put(&mut pen, Tone::Dim, &count);
        if let Some(progress) = state.reading {
            let left = progress.total.saturating_sub(progress.done);
            self.put(&mut pen, Tone::Dim, &format!("  reading, {left} to go"));
        }
        self.canvas.title_bar(area);
    }

    fn foot(&mut self, area: Rect) {
        let state = self.state;
        let mut pen = Pen::new(area, area.y);
        match &state.mode {
            Mode::Delete(path) => {
                let place = state.cards.place(path).and_then(|place| state.cards.get(place));
                let title = place.map(|card| fit(&title(card).0, ASKED)).unwrap_or_default();
                let fate = match state.start.has_trash {
                    true => format!("“{title}” goes to the trash"),
                    false => format!("“{title}” is gone for good: there is no trash"),
                };
                self.put(&mut pen, Tone::Failure, "Delete? y yes, other keys no");
                self.put(&mut pen, Tone::Plain, &format!(" · {fate}"));
            }
            Mode::Rename(..) => self.put(&mut pen, Tone::Dim, "Enter set the name · Esc leave it"),
            Mode::Help(_) => self.put(&mut pen, Tone::Dim, "↑↓ scroll · any key back"),
            Mode::Browse => match (&state.notice, &state.search.complaint) {
                (Some(notice), _) => self.put(&mut pen, notice.tone, &notice.text),
                (None, Some(complaint)) => self.put(&mut pen, Tone::Failure, complaint),
                (None, None) => {
                    let keys = self.keys();
                    self.put(&mut pen, Tone::Dim, &keys);
                }
            },
        }
    }

    /// The most important keys for the selected session.
    fn keys(&self) -> String {
        let state = self.state;
        let is_readable = |card: &Card| card.info.agent.is_writable() && !card.is_archived();
        let is_read_only = state.selected_card().is_some_and(|card| !is_readable(card));
        let mut keys = vec![(Action::Help, "keys")];
        match is_read_only {
            true => keys.extend([(Action::Open, "look"), (Action::Copy, "go on in a copy")]),
            false => keys.push((Action::Open, "open")),
        }
        keys.extend([
            (Action::Preview, "preview"),
            (Action::Sort, "sort"),
            (Action::Scope, "scope"),
        ]);
        let name = |(action, what): (Action, &str)| {
            state.bindings.key(action).map(|key| format!("{key} {what}"))
        };
        let mut parts: Vec<String> = keys.into_iter().filter_map(name).collect();
        parts.push("type to search".to_owned());
        parts.extend(name((Action::Back, "close")));
        parts.join(" · ")
    }

    fn headings(&mut self, area: Rect) {
        if area.is_empty() {
            return;
        }
        let columns = Columns::of(area.width, MARKS);
        let mut pen = Pen::new(area, area.y);
        pen.column = MARKS;
        self.put(&mut pen, Tone::Dim, "session");
        let mut at = MARKS + columns.title + GAP;
        for (column, heading, width) in columns.others {
            let blanks = if column.is_number() { width.saturating_sub(heading.len()) } else { 0 };
            pen.column = at + blanks;
            self.put(&mut pen, Tone::Dim, heading);
            at += width + GAP;
        }
    }

    fn list(&mut self, area: Rect) {
        if self.state.rows.is_empty() {
            return self.nothing(area);
        }
        let columns = Columns::of(area.width, MARKS);
        for (y, row) in (area.y..area.bottom()).zip(self.state.top..self.state.rows.len()) {
            self.row(area, y, row, &columns);
        }
    }

    /// Why there is nothing to see, and what to do about it.
    fn nothing(&mut self, area: Rect) {
        let state = self.state;
        let key = |action: Action| {
            state.bindings.key(action).map(|key| key.to_string()).unwrap_or_default()
        };
        let lines = match () {
            () if state.is_bare() => vec![
                "No sessions on this machine yet.".to_owned(),
                format!("{}  look around in a small demo session", key(Action::Open)),
                format!("{}  begin a session of your own", key(Action::New)),
            ],
            () if state.reading.is_some() && state.search.query.is_none() => {
                vec!["reading …".to_owned()]
            }
            () if state.search.query.is_some() || state.named_only => {
                vec!["No session fits.".to_owned()]
            }
            () => vec![
                "No sessions of this project yet.".to_owned(),
                format!("{}  lists all {}", key(Action::Scope), state.count()),
                format!("{}  begins one", key(Action::New)),
            ],
        };
        for (y, line) in (area.y..area.bottom()).zip(lines) {
            let mut pen = Pen::new(area, y);
            pen.column = MARKS;
            self.put(&mut pen, Tone::Plain, &line);
        }
    }

    fn row(&mut self, area: Rect, y: u16, at: usize, columns: &Columns) {
        let state = self.state;
        let Some(row) = state.rows.get(at) else { return };
        let Some(card) = state.cards.get(row.card) else { return };
        let is_selected = at == state.row;
        let mut pen = Pen::new(area, y);
        self.put(&mut pen, Tone::Cursor, if is_selected { "›" } else { " " });
        self.put(&mut pen, Tone::Active, if state.is_open(&card.info.path) { "•" } else { " " });
        let gutter = state.rows.gutter(at, columns.title / 9);
        let margin = (MARKS as u16).min(area.width);
        let width = (columns.title as u16).min(area.width - margin);
        let cell = Rect { x: area.x + margin, width, ..area };
        self.title(cell, y, &gutter, card, is_selected);
        let mut next = MARKS + columns.title + GAP;
        let home = state.start.home.as_deref();
        for (column, _, width) in &columns.others {
            let text = column.cell(&card.info, state.now, home, *width);
            let free = width.saturating_sub(crate::text::columns(&text));
            pen.column = next + if column.is_number() { free } else { 0 };
            self.put(&mut pen, Tone::Dim, &text);
            next += width + GAP;
        }
        if is_selected {
            self.canvas.select(Rect { y, height: 1, ..area });
        }
    }

    fn title(&mut self, cell: Rect, y: u16, gutter: &str, card: &Card, is_selected: bool) {
        let mut pen = Pen::new(cell, y);
        self.put(&mut pen, Tone::Dim, gutter);
        if let Mode::Rename(path, input) = &self.state.mode
            && *path == card.info.path
        {
            let (before, _) = input.halves();
            let cursor = pen.column + columns(&safe_line(before)) + 1;
            pen.first = cursor.saturating_sub(usize::from(cell.width));
            return self.canvas.input(&mut pen, input);
        }
        if card.is_archived() {
            self.put(&mut pen, Tone::Dim, "(archived) ");
        }
        let (text, is_name) = title(card);
        let tone = match (is_selected, is_name) {
            (true, _) => Tone::Cursor,
            (false, true) => Tone::Label,
            (false, false) => Tone::Plain,
        };
        let left = usize::from(cell.width).saturating_sub(pen.column);
        self.put(&mut pen, tone, &fit(&text, left));
        const BETWEEN: &str = " · ";
        let left = usize::from(cell.width).saturating_sub(pen.column + columns(BETWEEN));
        // A few words more, where a name leaves room for them.
        if is_name && left > 8 && !card.info.first_message.is_empty() {
            self.put(&mut pen, Tone::Dim, BETWEEN);
            self.put(
                &mut pen,
                Tone::Dim,
                &fit(&one_line(&card.info.first_message, MAX_TITLE), left),
            );
        }
    }

    fn preview(&mut self, areas: Split) {
        let page = areas.page();
        areas.draw_edges(self.canvas, "session");
        let preview = &self.state.preview;
        if preview.page.is_none() && preview.asked.is_some() && !page.is_empty() {
            self.put(&mut Pen::new(page, page.y), Tone::Dim, "reading …");
        }
        let rows = preview.page.as_ref().map_or(&[][..], Reader::rows);
        for (y, row) in (page.y..page.bottom()).zip(rows) {
            self.canvas.line(&mut Pen::new(page, y), row);
        }
    }
}

/// What is more than anybody reads on one line.
const MAX_TITLE: usize = 1000;

/// What a session is called, safe to show, and whether that is its name.
fn title(card: &Card) -> (String, bool) {
    let name = card
        .info
        .name
        .as_deref()
        .map(|name| one_line(name, MAX_TITLE))
        .filter(|name| !name.is_empty());
    match name {
        Some(name) => (name, true),
        None => match one_line(&card.info.first_message, MAX_TITLE) {
            text if text.is_empty() => ("(nothing said yet)".to_owned(), false),
            text => (text, false),
        },
    }
}
