//! Draws the session picker. It changes nothing and draws only the visible part.

use super::action::PickerAction;
use super::columns::{Columns, GAP};
use super::session_table::ListedSession;
use super::state::{PickerMode, PickerState, Scope};
use crate::draw::{DrawContext, LineCursor};
use crate::page::PageView;
use crate::split::SplitAreas;
use crate::theme::Tone;
use ratatui::Frame;
use ratatui::layout::Rect;
use treering_display::columns::{columns, fit};
use treering_display::line::one_line;
use treering_display::text::safe_line;

/// The columns of the marks of the cursor and of the open session.
const MARKS: usize = 3;
/// The largest number of columns of a name in a question.
const MAX_NAME: usize = 30;

/// Draws the session picker over the whole screen.
pub fn draw(state: &PickerState, frame: &mut Frame<'_>) {
    let areas = state.areas();
    DrawContext::draw(frame, state.theme, |draw| {
        let mut view = PickerView { state, draw };
        view.head(areas.split.head);
        match state.mode {
            PickerMode::Help(top) => {
                view.draw.keys(areas.split.body(), &state.bindings.list(), top);
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

struct PickerView<'a, 'b> {
    state: &'a PickerState,
    draw: &'a mut DrawContext<'b>,
}

impl PickerView<'_, '_> {
    fn put(&mut self, cursor: &mut LineCursor, tone: Tone, text: &str) {
        self.draw.put(cursor, tone, text);
    }

    /// Draws the title bar. The query comes first, because a narrow screen cuts the rest.
    fn head(&mut self, area: Rect) {
        let state = self.state;
        let mut cursor = LineCursor::new(area, area.y);
        if !state.search.is_empty() {
            const TITLE: &str = "search: ";
            let (before, _) = state.search.input.halves();
            let typed = columns(TITLE) + columns(&safe_line(before)) + 1;
            cursor.first = typed.saturating_sub(usize::from(area.width));
            self.put(&mut cursor, Tone::Dim, TITLE);
            self.draw.input(&mut cursor, &state.search.input);
            self.put(&mut cursor, Tone::Plain, "  ");
        }
        self.put(&mut cursor, Tone::Title, state.sort.name());
        let scope = match state.scope {
            Scope::Project => "this project",
            Scope::All => "all projects",
        };
        let named = if state.named_only { ", named" } else { "" };
        self.put(&mut cursor, Tone::Title, &format!("  {scope}{named}"));
        let count = format!("  {} of {}", state.rows.len(), state.count());
        self.put(&mut cursor, Tone::Dim, &count);
        if state.is_searching {
            self.put(&mut cursor, Tone::Dim, "  searching …");
        }
        if let Some(progress) = state.reading {
            let left = progress.total.saturating_sub(progress.done);
            self.put(&mut cursor, Tone::Dim, &format!("  reading, {left} to go"));
        }
        self.draw.title_bar(area);
    }

    fn foot(&mut self, area: Rect) {
        let state = self.state;
        let mut cursor = LineCursor::new(area, area.y);
        match &state.mode {
            PickerMode::Delete(path) => {
                let place = state.sessions.place(path).and_then(|place| state.sessions.get(place));
                let title = place
                    .map(|session| fit(&title(session).0, MAX_NAME).into_owned())
                    .unwrap_or_default();
                let fate = match state.start.has_trash {
                    true => format!("“{title}” goes to the trash"),
                    false => format!("“{title}” is deleted permanently: there is no trash"),
                };
                self.put(&mut cursor, Tone::Failure, "Delete? y yes, other keys no");
                self.put(&mut cursor, Tone::Plain, &format!(" · {fate}"));
            }
            PickerMode::Rename(..) => self.put(&mut cursor, Tone::Dim, "Enter save · Esc cancel"),
            PickerMode::Help(_) => {
                self.put(&mut cursor, Tone::Dim, "↑↓ scroll · any other key closes")
            }
            PickerMode::Browse => match (&state.notice, &state.search.error_text) {
                (Some(notice), _) => self.put(&mut cursor, notice.tone, &notice.text),
                (None, Some(error_text)) => self.put(&mut cursor, Tone::Failure, error_text),
                (None, None) => {
                    let keys = self.keys();
                    self.put(&mut cursor, Tone::Dim, &keys);
                }
            },
        }
    }

    /// Returns the most important keys for the selected session.
    fn keys(&self) -> String {
        let state = self.state;
        let is_readable =
            |session: &ListedSession| session.info.agent.is_writable() && !session.is_archived();
        let is_read_only = state.selected_session().is_some_and(|session| !is_readable(session));
        let mut keys = vec![(PickerAction::Help, "keys")];
        match is_read_only {
            true => keys
                .extend([(PickerAction::Open, "look"), (PickerAction::Copy, "continue in a copy")]),
            false => keys.push((PickerAction::Open, "open")),
        }
        keys.extend([
            (PickerAction::Preview, "preview"),
            (PickerAction::Sort, "sort"),
            (PickerAction::Scope, "scope"),
        ]);
        let name = |(action, what): (PickerAction, &str)| {
            state.bindings.key(action).map(|key| format!("{key} {what}"))
        };
        let mut parts: Vec<String> = keys.into_iter().filter_map(name).collect();
        parts.push("type to search".to_owned());
        parts.extend(name((PickerAction::Back, "close")));
        parts.join(" · ")
    }

    fn headings(&mut self, area: Rect) {
        if area.is_empty() {
            return;
        }
        let columns = Columns::of(area.width, MARKS);
        let mut cursor = LineCursor::new(area, area.y);
        cursor.column = MARKS;
        self.put(&mut cursor, Tone::Dim, "session");
        let mut at = MARKS + columns.title + GAP;
        for (column, heading, width) in columns.others {
            let blanks = if column.is_number() { width.saturating_sub(heading.len()) } else { 0 };
            cursor.column = at + blanks;
            self.put(&mut cursor, Tone::Dim, heading);
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

    /// Draws the reason for an empty list, and what to do.
    fn nothing(&mut self, area: Rect) {
        let state = self.state;
        let key = |action: PickerAction| {
            state.bindings.key(action).map(|key| key.to_string()).unwrap_or_default()
        };
        let lines = match () {
            () if state.is_bare() => vec![
                "No sessions on this machine yet.".to_owned(),
                format!("{}  look around in a small demo session", key(PickerAction::Open)),
                format!("{}  start a new session", key(PickerAction::New)),
            ],
            () if state.reading.is_some() && state.search.query.is_none() => {
                vec!["reading …".to_owned()]
            }
            () if state.is_searching => vec!["searching …".to_owned()],
            () if state.search.query.is_some() || state.named_only => {
                let does = if state.search.query.is_some() { "searches" } else { "lists" };
                let all = format!("{}  {does} all {}", key(PickerAction::Scope), state.count());
                let is_part = state.scope == Scope::Project;
                ["No session matches.".to_owned()]
                    .into_iter()
                    .chain(is_part.then_some(all))
                    .collect()
            }
            () => vec![
                "No sessions of this project yet.".to_owned(),
                format!("{}  lists all {}", key(PickerAction::Scope), state.count()),
                format!("{}  starts one", key(PickerAction::New)),
            ],
        };
        for (y, line) in (area.y..area.bottom()).zip(lines) {
            let mut cursor = LineCursor::new(area, y);
            cursor.column = MARKS;
            self.put(&mut cursor, Tone::Plain, &line);
        }
    }

    fn row(&mut self, area: Rect, y: u16, at: usize, columns: &Columns) {
        let state = self.state;
        let Some(row) = state.rows.get(at) else { return };
        let Some(session) = state.sessions.get(row.session) else { return };
        let is_selected = at == state.row;
        let mut cursor = LineCursor::new(area, y);
        self.put(&mut cursor, Tone::Cursor, if is_selected { "›" } else { " " });
        self.put(
            &mut cursor,
            Tone::Active,
            if state.is_open(&session.info.path) { "•" } else { " " },
        );
        let gutter = state.rows.gutter(at, columns.title / 9);
        let margin = (MARKS as u16).min(area.width);
        let width = (columns.title as u16).min(area.width - margin);
        let cell = Rect { x: area.x + margin, width, ..area };
        self.title(cell, y, &gutter, session, is_selected);
        let mut next = MARKS + columns.title + GAP;
        let home = state.start.home.as_deref();
        for (column, _, width) in &columns.others {
            let text = column.cell(&session.info, state.now, home, *width);
            let free = width.saturating_sub(treering_display::columns::columns(&text));
            cursor.column = next + if column.is_number() { free } else { 0 };
            self.put(&mut cursor, Tone::Dim, &text);
            next += width + GAP;
        }
        if is_selected {
            self.draw.select(Rect { y, height: 1, ..area });
        }
    }

    fn title(
        &mut self,
        cell: Rect,
        y: u16,
        gutter: &str,
        session: &ListedSession,
        is_selected: bool,
    ) {
        let mut cursor = LineCursor::new(cell, y);
        self.put(&mut cursor, Tone::Dim, gutter);
        if let PickerMode::Rename(path, input) = &self.state.mode
            && *path == session.info.path
        {
            let (before, _) = input.halves();
            let typed = cursor.column + columns(&safe_line(before)) + 1;
            cursor.first = typed.saturating_sub(usize::from(cell.width));
            return self.draw.input(&mut cursor, input);
        }
        if session.is_archived() {
            self.put(&mut cursor, Tone::Dim, "(archived) ");
        }
        let (text, is_name) = title(session);
        let tone = match (is_selected, is_name) {
            (true, _) => Tone::Cursor,
            (false, true) => Tone::Label,
            (false, false) => Tone::Plain,
        };
        let left = usize::from(cell.width).saturating_sub(cursor.column);
        let hit = self.state.hits.get(&session.info.path);
        // The title leaves room for the line that matches.
        let room = if hit.is_some() { left.div_ceil(2) } else { left };
        self.put(&mut cursor, tone, &fit(&text, room));
        const BETWEEN: &str = " · ";
        let left = usize::from(cell.width).saturating_sub(cursor.column + columns(BETWEEN));
        // The line that matches follows, or the first message after a name, if there is room.
        let more = match hit {
            Some(snippet) => snippet.clone(),
            None if is_name => one_line(&session.info.first_message, MAX_TITLE),
            None => String::new(),
        };
        if left > 8 && !more.is_empty() {
            self.put(&mut cursor, Tone::Dim, BETWEEN);
            self.put(&mut cursor, Tone::Dim, &fit(&more, left));
        }
    }

    fn preview(&mut self, areas: SplitAreas) {
        let page = areas.page();
        areas.draw_edges(self.draw, "session");
        let preview = &self.state.preview;
        if preview.page.is_none() && preview.asked.is_some() && !page.is_empty() {
            self.put(&mut LineCursor::new(page, page.y), Tone::Dim, "reading …");
        }
        let rows = preview.page.as_ref().map_or(&[][..], PageView::rows);
        for (y, row) in (page.y..page.bottom()).zip(rows) {
            self.draw.line(&mut LineCursor::new(page, y), row);
        }
    }
}

/// The largest number of characters of a title.
const MAX_TITLE: usize = 1000;

/// Returns the title of a session, safe to show, and whether it is the session's name.
fn title(session: &ListedSession) -> (String, bool) {
    let info = &session.info;
    match one_line(info.title(), MAX_TITLE) {
        text if text.is_empty() => ("(no messages yet)".to_owned(), false),
        text => (text, info.title() != info.first_message),
    }
}
