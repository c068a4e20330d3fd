//! Everything there is to know about what is on the screen.

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

/// What the status line says about the session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Status {
    /// The session's name, or what stands for it.
    pub name: String,
    /// The model that answers, if there is one.
    pub model: Option<String>,
    /// How much it thinks.
    pub thinking: String,
    /// How large the context is, if that is known.
    pub tokens: Option<u64>,
    /// How large it may become.
    pub window: u64,
    /// What the branch cost so far.
    pub cost: String,
    /// Why the session cannot be written to, if that is so.
    pub read_only: Option<String>,
}

/// The action of two presses of Esc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DoubleEscape {
    /// Show the tree.
    #[default]
    Tree,
    /// List the user's messages to fork from.
    Fork,
    /// Nothing.
    Nothing,
}

/// The widest that a conversation is laid out: longer lines are hard to read.
const MAX_TEXT: usize = 100;

/// What is going on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChatTask {
    pub what: String,
    pub seconds: u64,
    /// How many characters have come.
    pub characters: usize,
    pub is_stopping: bool,
    /// Why nothing comes at the moment: a request that failed is sent again.
    pub retry: Option<String>,
}

/// What is just streaming.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StreamingText {
    pub arrival: StreamKind,
    pub heading: String,
    pub text: String,
    /// The model's thoughts before the text.
    pub thinking: String,
    /// Whether its lines are those of an older text.
    pub is_stale: bool,
}

/// A page that lies over the transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChatOverlay {
    pub title: String,
    pub page: Page,
    /// As wide as the screen.
    pub lines: Vec<StyledLine>,
    pub top: usize,
}

/// The chat.
#[derive(Debug, Clone)]
pub struct ChatState {
    pub(crate) size: (u16, u16),
    pub(crate) theme: Theme,
    pub(crate) bindings: Bindings<ChatAction>,
    pub(crate) editor: Editor,
    pub(crate) history: InputHistory,
    pub(crate) drafts: Drafts,
    /// The text that the last key deleted as a whole.
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
    /// What a second press of the same key does.
    pub(crate) armed: Option<ChatAction>,
    pub(crate) double_escape: DoubleEscape,
    /// How to get a model, for those who have none.
    pub(crate) no_model: String,
}

impl ChatState {
    /// A chat in which nothing was said yet. `draft` is in the editor; `no_model` is what somebody
    /// reads who says something while there is no model.
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

    /// With these colours and keys.
    #[must_use]
    pub fn with_looks(self, theme: Theme, bindings: Bindings<ChatAction>) -> Self {
        ChatState { theme, bindings, ..self }
    }

    /// With something else for two presses of Esc.
    #[must_use]
    pub fn with_double_escape(self, double_escape: DoubleEscape) -> Self {
        ChatState { double_escape, ..self }
    }

    /// Continues with what was left unsent, in place of the text in the editor.
    #[must_use]
    pub fn with_unsent(mut self, unsent: UnsentText) -> Self {
        self.editor.set(&unsent.text);
        self.drafts = unsent.drafts;
        if !self.drafts.texts().is_empty() {
            let way_back = super::update::way_back(&self);
            self.notice = Some(Notice::new(format!("unsent text was put aside{way_back}")));
        }
        self
    }

    /// Returns everything that was written and not sent.
    pub fn unsent(&self) -> UnsentText {
        let mut unsent = UnsentText { text: self.draft(), drafts: self.drafts.clone() };
        match self.history.draft() {
            // An earlier message that was only looked at is no draft.
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

    /// How wide blocks are, and how much of them is shown.
    pub fn block_shape(&self) -> (usize, Folding) {
        (usize::from(self.size.0).min(MAX_TEXT), self.folding)
    }

    /// The entries whose blocks are needed to draw the screen.
    pub fn wanted(&self) -> &[EntryId] {
        self.transcript.wanted()
    }

    /// Lays out what is seen, as far as it is known. To be called before drawing.
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
        let title = crate::text::safe_line(title);
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

    /// Returns what the word at the cursor may become.
    pub(crate) fn hints(&self) -> Option<Completion> {
        let (before, _) = self.editor.halves();
        self.completion.clone().or_else(|| complete(before, &self.names))
    }

    pub(crate) fn editor_width(&self) -> usize {
        usize::from(self.size.0.saturating_sub(super::areas::MARK))
    }
}
