//! Draws a state. Changes nothing, and draws nothing but what is on the screen.

use super::action::Action;
use super::areas::MARK;
use super::complete::Completion;
use super::selector::Selector;
use super::state::{DoubleEscape, State, Work};
use crate::amount::tokens;
use crate::canvas::{Canvas, Pen};
use crate::text::{columns, fit, safe_line};
use crate::theme::Tone;
use ratatui::Frame;
use ratatui::layout::Rect;

/// Draws the chat over the whole screen.
pub fn draw(state: &State, frame: &mut Frame<'_>) {
    let areas = state.areas();
    Canvas::draw(frame, state.theme, |canvas| {
        let mut view = View { state, canvas };
        match (&state.selector, &state.sheet) {
            (Some(selector), _) => view.selector(areas.transcript, selector),
            (None, Some(_)) => view.sheet(areas.transcript),
            (None, None) => view.transcript(areas.transcript),
        }
        view.status(areas.status);
        view.editor(areas.editor);
        view.foot(areas.foot);
    });
}

struct View<'a, 'b> {
    state: &'a State,
    canvas: &'a mut Canvas<'b>,
}

impl View<'_, '_> {
    fn transcript(&mut self, area: Rect) {
        let lines = self.state.transcript.visible(usize::from(area.height));
        if lines.is_empty() && self.state.transcript.entries().is_empty() && area.height > 0 {
            let send = self.key(Action::Send);
            let welcome =
                format!("Nothing was said yet. Write, and {send} sends it; /help lists the rest.");
            self.canvas.put(&mut Pen::new(area, area.y), Tone::Dim, &welcome);
        }
        for (y, line) in (area.y..area.bottom()).zip(lines) {
            self.canvas.line(&mut Pen::new(area, y), line);
        }
    }

    fn selector(&mut self, area: Rect, selector: &Selector) {
        if area.height == 0 {
            return;
        }
        let mut pen = Pen::new(area, area.y);
        self.canvas.put(&mut pen, Tone::Title, "── fork before a message ");
        let hint = format!("{} of {} ", selector.at + 1, selector.rows.len());
        self.canvas.put(&mut pen, Tone::Dim, &hint);
        self.canvas.put(&mut pen, Tone::Dim, &"─".repeat(usize::from(area.width)));
        let top = selector.top(usize::from(area.height) - 1);
        let rows = selector.rows.iter().enumerate().skip(top);
        for (y, (at, (_, text))) in (area.y + 1..area.bottom()).zip(rows) {
            let mut pen = Pen::new(area, y);
            let is_chosen = at == selector.at;
            self.canvas.put(&mut pen, Tone::Cursor, if is_chosen { "› " } else { "  " });
            let tone = if is_chosen { Tone::Cursor } else { Tone::Plain };
            let room = usize::from(area.width).saturating_sub(pen.column);
            self.canvas.put(&mut pen, tone, &fit(text, room));
        }
    }

    fn sheet(&mut self, area: Rect) {
        let Some(sheet) = &self.state.sheet else { return };
        if area.height == 0 {
            return;
        }
        let mut pen = Pen::new(area, area.y);
        self.canvas.put(&mut pen, Tone::Title, &format!("── {} ", sheet.title));
        let shown = usize::from(area.height) - 1;
        let close = self.key(Action::Back);
        let hint = match sheet.lines.len() > shown {
            true => {
                let last = (sheet.top + shown).min(sheet.lines.len());
                format!(
                    "{}–{last} of {} · {} {} · {close} closes ",
                    sheet.top + 1,
                    sheet.lines.len(),
                    self.key(Action::PageUp),
                    self.key(Action::PageDown)
                )
            }
            false => format!("{close} closes "),
        };
        self.canvas.put(&mut pen, Tone::Dim, &hint);
        self.canvas.put(&mut pen, Tone::Dim, &"─".repeat(usize::from(area.width)));
        for (y, line) in (area.y + 1..area.bottom()).zip(sheet.lines.iter().skip(sheet.top)) {
            self.canvas.line(&mut Pen::new(area, y), line);
        }
    }

    fn status(&mut self, area: Rect) {
        if area.height == 0 {
            return;
        }
        let status = &self.state.status;
        let mut parts = Vec::new();
        if let Some(work) = &self.state.work {
            match &work.retry {
                Some(retry) if !work.is_stopping => parts.push((Tone::Failure, retry.clone())),
                _ => parts.push((Tone::Active, describe(work))),
            }
        }
        if !self.state.transcript.is_at_end() {
            parts.push((Tone::Active, "↓ more below".to_owned()));
        }
        if let Some(drafts) = self.drafts() {
            parts.push((Tone::Label, drafts));
        }
        parts.push((Tone::Title, safe_line(&status.name)));
        if status.read_only.is_some() {
            parts.push((Tone::Failure, "read-only".to_owned()));
        }
        let model = status.model.as_deref().unwrap_or("no model");
        parts.push((Tone::Plain, safe_line(model)));
        if let Some(used) = status.tokens.filter(|_| status.window > 0) {
            let percent = used.saturating_mul(100) / status.window;
            let text = format!("{}/{} {percent} %", tokens(used), tokens(status.window));
            parts.push((if percent >= 80 { Tone::Failure } else { Tone::Plain }, text));
        }
        parts.push((Tone::Plain, safe_line(&status.cost)));
        if !matches!(status.thinking.as_str(), "" | "off") {
            parts.push((Tone::Plain, format!("thinking {}", safe_line(&status.thinking))));
        }
        let mut pen = Pen::new(area, area.y);
        self.canvas.put(&mut pen, Tone::Dim, "──");
        for (tone, text) in parts.iter().filter(|(_, text)| !text.is_empty()) {
            let between = if pen.column > 2 { " · " } else { " " };
            self.canvas.put(&mut pen, Tone::Dim, between);
            self.canvas.put(&mut pen, *tone, text);
        }
        self.canvas.put(&mut pen, Tone::Dim, " ");
        self.canvas.put(&mut pen, Tone::Dim, &"─".repeat(usize::from(area.width)));
    }

    /// How many drafts were put aside, and the key for them.
    fn drafts(&self) -> Option<String> {
        let count = match self.state.drafts.texts().len() {
            0 => return None,
            1 => "1 draft".to_owned(),
            count => format!("{count} drafts"),
        };
        let key = self.state.bindings.key(Action::Draft);
        Some(key.map_or(count.clone(), |key| format!("{count}: {key}")))
    }

    fn editor(&mut self, area: Rect) {
        let editor = &self.state.editor;
        let (row, before) = editor.place();
        let shown = usize::from(area.height);
        let top = (row + 1).saturating_sub(shown);
        let mark = MARK.min(area.width);
        let inner = Rect { x: area.x + mark, width: area.width - mark, ..area };
        for (y, (at, text)) in
            (area.y..area.bottom()).zip(editor.rows().iter().enumerate().skip(top))
        {
            let is_first_shown = at == top;
            let sign = if at == 0 { "›" } else { "…" };
            if is_first_shown {
                self.canvas.put(&mut Pen::new(area, y), Tone::User, sign);
            }
            let mut pen = Pen::new(inner, y);
            self.canvas.put(&mut pen, Tone::Plain, &safe_line(editor.row(*text)));
            if at == row {
                let mut pen = Pen::new(inner, y);
                self.canvas.put(&mut pen, Tone::Plain, &safe_line(before));
                self.canvas.type_here(&pen);
            }
        }
    }

    fn foot(&mut self, area: Rect) {
        if area.height == 0 {
            return;
        }
        let mut pen = Pen::new(area, area.y);
        let state = self.state;
        if let Some(notice) = &state.notice {
            self.canvas.put(&mut pen, notice.tone, &notice.text);
            return;
        }
        if state.selector.is_some() {
            let key = |action| self.key(action);
            let keys = format!(
                "{} fork · {} {} choose · {} close",
                key(Action::Send),
                key(Action::Up),
                key(Action::Down),
                key(Action::Back)
            );
            self.canvas.put(&mut pen, Tone::Dim, &keys);
            return;
        }
        match state.hints() {
            Some(hints) => self.hints(area, &hints),
            None => self.canvas.put(&mut pen, Tone::Dim, &self.keys()),
        }
    }

    fn key(&self, action: Action) -> String {
        let key = self.state.bindings.key(action);
        key.map_or("(no key)".to_owned(), |key| key.to_string())
    }

    /// The most important keys.
    fn keys(&self) -> String {
        let key = |action| self.key(action);
        let state = self.state;
        if state.work.is_some() {
            let (up, down) = (key(Action::PageUp), key(Action::PageDown));
            return format!("{} stop · {up} {down} scroll · /help", key(Action::Back));
        }
        let back = key(Action::Back);
        let twice = match state.double_escape {
            DoubleEscape::Tree => format!(" · {back} {back} tree"),
            DoubleEscape::Fork => format!(" · {back} {back} fork"),
            DoubleEscape::Nothing => String::new(),
        };
        // Terminals tell Alt+Enter from Enter; not all tell Shift+Enter.
        let newline = state.bindings.keys(Action::Newline);
        let newline = newline.iter().find(|key| !key.shift).or(newline.first());
        let newline = newline.map_or(String::new(), |key| format!(" · {key} new line"));
        format!("{} send{twice} · /help{newline}", key(Action::Send))
    }

    /// What the word at the cursor may become, a line each, with what it is.
    fn hints(&mut self, area: Rect, hints: &Completion) {
        let chosen = hints.at.or((hints.candidates.len() == 1).then_some(0));
        let height = usize::from(area.height).max(1);
        let last_top = hints.candidates.len().saturating_sub(height);
        let top = chosen.map_or(0, |at| at.saturating_sub(height / 2)).min(last_top);
        let names = hints.candidates.iter().map(|(name, _)| columns(&safe_line(name)));
        let width = names.max().unwrap_or(0).min(usize::from(area.width) / 3);
        let rows = hints.candidates.iter().enumerate().skip(top);
        for (y, (at, (name, about))) in (area.y..area.bottom()).zip(rows) {
            let mut pen = Pen::new(area, y);
            let tone = if chosen == Some(at) { Tone::Cursor } else { Tone::Plain };
            self.canvas.put(&mut pen, tone, &fit(&safe_line(name), width));
            pen.column = width + 2;
            let is_last = y + 1 == area.bottom();
            let more = match hints.candidates.len().saturating_sub(at + 1) {
                0 => String::new(),
                _ if !is_last => String::new(),
                more => format!("  (+{more}: {})", self.key(Action::Complete)),
            };
            let room = usize::from(area.width).saturating_sub(pen.column + columns(&more));
            self.canvas.put(&mut pen, Tone::Dim, &fit(&safe_line(about), room));
            self.canvas.put(&mut pen, Tone::Dim, &more);
        }
    }
}

fn describe(work: &Work) -> String {
    let Work { what, seconds, characters, is_stopping, .. } = work;
    let what = if *is_stopping { format!("stopping: {what}") } else { what.clone() };
    let what = safe_line(&what);
    match characters {
        0 => format!("{what} {seconds} s"),
        _ => format!("{what} {seconds} s, {characters} characters"),
    }
}
