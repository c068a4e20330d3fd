//! The state of the chat. It is plain data: it reads and writes nothing.

use super::action::ChatAction;
use super::block::{self, Folding, StreamKind};
use super::completion::{Completion, CompletionSources, complete};
use super::drafts::{Drafts, UnsentText};
use super::editor::Editor;
use super::input_history::InputHistory;
use super::message_selector::MessageSelector;
use super::transcript::Transcript;
use crate::Notice;
use crate::keys::Bindings;
use crate::page::{Page, StyledLine};
use crate::theme::Theme;
use treering::EntryId;

/// The content of the status line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Status {
    /// The name of the session, or the beginning of its id.
    pub name: String,
    /// The model, if one is configured.
    pub model: Option<String>,
    /// The thinking level.
    pub thinking: String,
    /// The size of the context in tokens, if it is known.
    pub tokens: Option<u64>,
    /// The size of the context window in tokens.
    pub window: u64,
    /// The cost of the branch.
    pub cost: String,
    /// The reason why the session is read-only, if it is.
    pub read_only: Option<String>,
}

/// The action when Esc is pressed twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DoubleEscape {
    /// Show the tree.
    #[default]
    Tree,
    /// List the user's messages to fork from.
    Fork,
    /// Do nothing.
    Nothing,
}

/// The largest width of the conversation. Longer lines are hard to read.
const MAX_TEXT: usize = 100;

/// The running task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChatTask {
    pub what: String,
    pub seconds: u64,
    /// The number of characters received.
    pub characters: usize,
    pub is_stopping: bool,
    /// The reason for a retry of the request.
    pub retry: Option<String>,
}

/// A text that is streaming.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StreamingText {
    pub arrival: StreamKind,
    pub heading: String,
    pub text: String,
    /// The thinking before the text.
    pub thinking: String,
    /// Whether the rendered lines are out of date.
    pub is_stale: bool,
}

/// A page over the transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChatOverlay {
    pub title: String,
    pub page: Page,
    /// The lines, wrapped to the width of the screen.
    pub lines: Vec<StyledLine>,
    pub top: usize,
}

/// The state of the chat.
#[derive(Debug, Clone)]
pub struct ChatState {
    pub(crate) size: (u16, u16),
    pub(crate) theme: Theme,
    pub(crate) bindings: Bindings<ChatAction>,
    pub(crate) editor: Editor,
    pub(crate) history: InputHistory,
    pub(crate) drafts: Drafts,
    /// The text that the last key deleted.
    pub(crate) cleared: Option<String>,
    pub(crate) transcript: Transcript,
    pub(crate) streaming: Option<StreamingText>,
    pub(crate) folding: Folding,
    pub(crate) overlay: Option<ChatOverlay>,
    pub(crate) selector: Option<MessageSelector>,
    pub(crate) notice: Option<Notice>,
    pub(crate) work: Option<ChatTask>,
    pub(crate) status: Status,
    pub(crate) names: CompletionSources,
    pub(crate) completion: Option<Completion>,
    /// The action that a second press of the same key confirms.
    pub(crate) armed: Option<ChatAction>,
    pub(crate) double_escape: DoubleEscape,
    /// The instructions for configuring a model.
    pub(crate) no_model: String,
}

impl ChatState {
    /// Creates an empty chat with `draft` in the editor. `no_model` is shown when a message is sent
    /// without a configured model.
    pub fn new(draft: &str, no_model: &str) -> Self {
        let mut editor = Editor::default();
        editor.set(draft);
        ChatState {
            size: (80, 24),
            theme: Theme::default(),
            bindings: Bindings::default(),
            editor,
            history: InputHistory::default(),
            drafts: Drafts::default(),
            cleared: None,
            transcript: Transcript::default(),
            streaming: None,
            folding: Folding::default(),
            overlay: None,
            selector: None,
            notice: None,
            work: None,
            status: Status::default(),
            names: CompletionSources::default(),
            completion: None,
            armed: None,
            double_escape: DoubleEscape::default(),
            no_model: no_model.to_owned(),
        }
    }

    /// Sets the colors and the keys.
    #[must_use]
    pub fn with_theme(self, theme: Theme, bindings: Bindings<ChatAction>) -> Self {
        ChatState { theme, bindings, ..self }
    }

    /// Sets the action when Esc is pressed twice.
    #[must_use]
    pub fn with_double_escape(self, double_escape: DoubleEscape) -> Self {
        ChatState { double_escape, ..self }
    }

    /// Restores unsent text, which replaces the text in the editor.
    #[must_use]
    pub fn with_unsent(mut self, unsent: UnsentText) -> Self {
        self.editor.set(&unsent.text);
        self.drafts = unsent.drafts;
        if !self.drafts.texts().is_empty() {
            let way_back = super::update::way_back(&self);
            self.notice = Some(Notice::new(format!("unsent text was saved as a draft{way_back}")));
        }
        self
    }

    /// Returns all unsent text.
    pub fn unsent(&self) -> UnsentText {
        let mut unsent = UnsentText { text: self.draft(), drafts: self.drafts.clone() };
        match self.history.draft() {
            // An earlier message that was not changed is not a draft.
            Some(draft) if !self.history.is_edited(&unsent.text) => {
                draft.clone_into(&mut unsent.text)
            }
            Some(draft) => unsent.drafts.put_aside(draft),
            None => {}
        }
        if let Some(cleared) = &self.cleared {
            unsent.drafts.put_aside(cleared);
        }
        unsent
    }

    /// Returns the text in the editor.
    pub fn draft(&self) -> String {
        self.editor.content()
    }

    /// Returns the width of blocks, and whether they are folded.
    pub fn block_shape(&self) -> (usize, Folding) {
        (usize::from(self.size.0).min(MAX_TEXT), self.folding)
    }

    /// Returns the entries whose blocks are needed to draw the screen.
    pub fn wanted(&self) -> &[EntryId] {
        self.transcript.wanted()
    }

    /// Lays out the visible part of the transcript as far as its blocks are known. It must be
    /// called before drawing.
    pub fn settle(&mut self) {
        let (width, folding) = self.block_shape();
        match &mut self.streaming {
            Some(streaming) if streaming.is_stale => {
                streaming.is_stale = false;
                let lines = block::streaming(streaming, folding, width);
                self.transcript.set_streaming(lines);
            }
            None if self.transcript.has_streaming() => self.transcript.set_streaming(Vec::new()),
            _ => {}
        }
        self.transcript.settle(usize::from(self.areas().transcript.height));
    }

    pub(crate) fn show_overlay(&mut self, title: &str, page: Page) {
        let lines = page.wrapped(usize::from(self.size.0).min(MAX_TEXT)).lines;
        let title = treering_display::text::safe_line(title);
        self.overlay = Some(ChatOverlay { title, page, lines, top: 0 });
    }

    pub(crate) fn resize(&mut self, width: u16, height: u16) {
        if width != self.size.0 {
            self.transcript.forget();
            if let Some(streaming) = &mut self.streaming {
                streaming.is_stale = true;
            }
            if let Some(overlay) = &mut self.overlay {
                overlay.lines = overlay.page.wrapped(usize::from(width).min(MAX_TEXT)).lines;
                overlay.top = overlay.top.min(overlay.lines.len().saturating_sub(1));
            }
        }
        self.size = (width, height);
        self.editor.lay_out(self.editor_width());
    }

    /// Returns the completions of the word at the cursor.
    pub(crate) fn hints(&self) -> Option<Completion> {
        let (before, _) = self.editor.halves();
        self.completion.clone().or_else(|| complete(before, &self.names))
    }

    pub(crate) fn editor_width(&self) -> usize {
        usize::from(self.size.0.saturating_sub(super::areas::MARK))
    }
}
