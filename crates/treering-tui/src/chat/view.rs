//! Draws the chat. It changes nothing and draws only the visible part.

use super::action::ChatAction;
use super::areas::MARK;
use super::completion::Completion;
use super::message_selector::MessageSelector;
use super::state::{ChatState, ChatTask, DoubleEscape};
use crate::draw::{DrawContext, LineCursor};
use crate::theme::Tone;
use ratatui::Frame;
use ratatui::layout::Rect;
use treering_display::columns::{columns, fit};
use treering_display::number::tokens;
use treering_display::text::safe_line;

/// Draws the chat over the whole screen.
pub fn draw(state: &ChatState, frame: &mut Frame<'_>) {
    let areas = state.areas();
    DrawContext::draw(frame, state.theme, |draw| {
        let mut view = ChatView { state, draw };
        match (&state.selector, &state.overlay) {
            (Some(selector), _) => view.selector(areas.transcript, selector),
            (None, Some(_)) => view.overlay(areas.transcript),
            (None, None) => view.transcript(areas.transcript),
        }
        view.status(areas.status);
        view.editor(areas.editor);
        view.foot(areas.foot);
    });
}

struct ChatView<'a, 'b> {
    state: &'a ChatState,
    draw: &'a mut DrawContext<'b>,
}

impl ChatView<'_, '_> {
    fn transcript(&mut self, area: Rect) {
        let lines = self.state.transcript.visible(usize::from(area.height));
        if lines.is_empty() && self.state.transcript.entries().is_empty() && area.height > 0 {
            let send = self.key(ChatAction::Send);
            let welcome = format!(
                "No messages yet. Type a message and press {send}; /help lists the commands."
            );
            self.draw.put(&mut LineCursor::new(area, area.y), Tone::Dim, &welcome);
        }
        for (y, line) in (area.y..area.bottom()).zip(lines) {
            self.draw.line(&mut LineCursor::new(area, y), line);
        }
    }

    fn selector(&mut self, area: Rect, selector: &MessageSelector) {
        if area.height == 0 {
            return;
        }
        let mut cursor = LineCursor::new(area, area.y);
        self.draw.put(&mut cursor, Tone::Title, "── fork before a message ");
        let hint = format!("{} of {} ", selector.at + 1, selector.rows.len());
        self.draw.put(&mut cursor, Tone::Dim, &hint);
        self.draw.put(&mut cursor, Tone::Dim, &"─".repeat(usize::from(area.width)));
        let top = selector.top(usize::from(area.height) - 1);
        let rows = selector.rows.iter().enumerate().skip(top);
        for (y, (at, (_, text))) in (area.y + 1..area.bottom()).zip(rows) {
            let mut cursor = LineCursor::new(area, y);
            let is_chosen = at == selector.at;
            self.draw.put(&mut cursor, Tone::Cursor, if is_chosen { "› " } else { "  " });
            let tone = if is_chosen { Tone::Cursor } else { Tone::Plain };
            let room = usize::from(area.width).saturating_sub(cursor.column);
            self.draw.put(&mut cursor, tone, &fit(text, room));
        }
    }

    fn overlay(&mut self, area: Rect) {
        let Some(overlay) = &self.state.overlay else { return };
        if area.height == 0 {
            return;
        }
        let mut cursor = LineCursor::new(area, area.y);
        self.draw.put(&mut cursor, Tone::Title, &format!("── {} ", overlay.title));
        let shown = usize::from(area.height) - 1;
        let close = self.key(ChatAction::Back);
        let hint = match overlay.lines.len() > shown {
            true => {
                let last = (overlay.top + shown).min(overlay.lines.len());
                format!(
                    "{}–{last} of {} · {} {} · {close} closes ",
                    overlay.top + 1,
                    overlay.lines.len(),
                    self.key(ChatAction::PageUp),
                    self.key(ChatAction::PageDown)
                )
            }
            false => format!("{close} closes "),
        };
        self.draw.put(&mut cursor, Tone::Dim, &hint);
        self.draw.put(&mut cursor, Tone::Dim, &"─".repeat(usize::from(area.width)));
        for (y, line) in (area.y + 1..area.bottom()).zip(overlay.lines.iter().skip(overlay.top)) {
            self.draw.line(&mut LineCursor::new(area, y), line);
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
        let mut cursor = LineCursor::new(area, area.y);
        self.draw.put(&mut cursor, Tone::Dim, "──");
        for (tone, text) in parts.iter().filter(|(_, text)| !text.is_empty()) {
            let between = if cursor.column > 2 { " · " } else { " " };
            self.draw.put(&mut cursor, Tone::Dim, between);
            self.draw.put(&mut cursor, *tone, text);
        }
        self.draw.put(&mut cursor, Tone::Dim, " ");
        self.draw.put(&mut cursor, Tone::Dim, &"─".repeat(usize::from(area.width)));
    }

    /// Returns the number of drafts and the key for them.
    fn drafts(&self) -> Option<String> {
        let count = match self.state.drafts.texts().len() {
            0 => return None,
            1 => "1 draft".to_owned(),
            count => format!("{count} drafts"),
        };
        let key = self.state.bindings.key(ChatAction::Draft);
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
                self.draw.put(&mut LineCursor::new(area, y), Tone::User, sign);
            }
            let mut cursor = LineCursor::new(inner, y);
            self.draw.put(&mut cursor, Tone::Plain, &safe_line(editor.row(*text)));
            if at == row {
                let mut cursor = LineCursor::new(inner, y);
                self.draw.put(&mut cursor, Tone::Plain, &safe_line(before));
                self.draw.set_cursor(&cursor);
            }
        }
    }

    fn foot(&mut self, area: Rect) {
        if area.height == 0 {
            return;
        }
        let mut cursor = LineCursor::new(area, area.y);
        let state = self.state;
        if let Some(notice) = &state.notice {
            self.draw.put(&mut cursor, notice.tone, &notice.text);
            return;
        }
        if state.selector.is_some() {
            let key = |action| self.key(action);
            let keys = format!(
                "{} fork · {} {} choose · {} close",
                key(ChatAction::Send),
                key(ChatAction::Up),
                key(ChatAction::Down),
                key(ChatAction::Back)
            );
            self.draw.put(&mut cursor, Tone::Dim, &keys);
            return;
        }
        match state.hints() {
            Some(hints) => self.hints(area, &hints),
            None => self.draw.put(&mut cursor, Tone::Dim, &self.keys()),
        }
    }

    fn key(&self, action: ChatAction) -> String {
        let key = self.state.bindings.key(action);
        key.map_or("(no key)".to_owned(), |key| key.to_string())
    }

    /// Returns the most important keys.
    fn keys(&self) -> String {
        let key = |action| self.key(action);
        let state = self.state;
        if state.work.is_some() {
            let (up, down) = (key(ChatAction::PageUp), key(ChatAction::PageDown));
            return format!("{} stop · {up} {down} scroll · /help", key(ChatAction::Back));
        }
        let back = key(ChatAction::Back);
        let twice = match state.double_escape {
            DoubleEscape::Tree => format!(" · {back} {back} tree"),
            DoubleEscape::Fork => format!(" · {back} {back} fork"),
            DoubleEscape::Nothing => String::new(),
        };
        // Every terminal distinguishes Alt+Enter from Enter; not every one distinguishes
        // Shift+Enter.
        let newline = state.bindings.keys(ChatAction::Newline);
        let newline = newline.iter().find(|key| !key.shift).or(newline.first());
        let newline = newline.map_or(String::new(), |key| format!(" · {key} new line"));
        format!("{} send{twice} · /help{newline}", key(ChatAction::Send))
    }

    /// Draws the completions, one per line with its description.
    fn hints(&mut self, area: Rect, hints: &Completion) {
        let chosen = hints.at.or((hints.candidates.len() == 1).then_some(0));
        let height = usize::from(area.height).max(1);
        let last_top = hints.candidates.len().saturating_sub(height);
        let top = chosen.map_or(0, |at| at.saturating_sub(height / 2)).min(last_top);
        let names = hints.candidates.iter().map(|(name, _)| columns(&safe_line(name)));
        let width = names.max().unwrap_or(0).min(usize::from(area.width) / 3);
        let rows = hints.candidates.iter().enumerate().skip(top);
        for (y, (at, (name, about))) in (area.y..area.bottom()).zip(rows) {
            let mut cursor = LineCursor::new(area, y);
            let tone = if chosen == Some(at) { Tone::Cursor } else { Tone::Plain };
            self.draw.put(&mut cursor, tone, &fit(&safe_line(name), width));
            cursor.column = width + 2;
            let is_last = y + 1 == area.bottom();
            let more = match hints.candidates.len().saturating_sub(at + 1) {
                0 => String::new(),
                _ if !is_last => String::new(),
                more => format!("  (+{more}: {})", self.key(ChatAction::Complete)),
            };
            let room = usize::from(area.width).saturating_sub(cursor.column + columns(&more));
            self.draw.put(&mut cursor, Tone::Dim, &fit(&safe_line(about), room));
            self.draw.put(&mut cursor, Tone::Dim, &more);
        }
    }
}

fn describe(work: &ChatTask) -> String {
    let ChatTask { what, seconds, characters, is_stopping, .. } = work;
    let what = if *is_stopping { format!("stopping: {what}") } else { what.clone() };
    let what = safe_line(&what);
    match characters {
        0 => format!("{what} {seconds} s"),
        _ => format!("{what} {seconds} s, {characters} characters"),
    }
}
