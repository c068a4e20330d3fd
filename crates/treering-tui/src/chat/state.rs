//! Everything there is to know about what is on the screen.

use super::action::Action;
use super::block::{self, Arrival, Folding};
use super::complete::{Completion, Names, complete};
use super::drafts::{Drafts, Unsent};
use super::editor::Editor;
use super::history::History;
use super::selector::Selector;
use super::transcript::Transcript;
use crate::Notice;
use crate::keys::Bindings;
use crate::page::{Line, Page};
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
pub(crate) struct Work {
    pub what: String,
    pub seconds: u64,
    /// How many characters have come.
    pub characters: usize,
    pub is_stopping: bool,
    /// Why nothing comes at the moment: a request that failed is sent again.
    pub retry: Option<String>,
}

/// What is just arriving.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arriving {
    pub arrival: Arrival,
    pub heading: String,
    pub text: String,
    /// The model's thoughts before the text.
    pub thinking: String,
    /// Whether its lines are those of an older text.
    pub is_stale: bool,
}

/// A page that lies over the transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sheet {
    pub title: String,
    pub page: Page,
    /// As wide as the screen.
    pub lines: Vec<Line>,
    pub top: usize,
}

/// The chat.
#[derive(Debug, Clone)]
pub struct State {
    pub(crate) size: (u16, u16),
    pub(crate) theme: Theme,
    pub(crate) bindings: Bindings<Action>,
    pub(crate) editor: Editor,
    pub(crate) history: History,
    pub(crate) drafts: Drafts,
    /// The text that the last key deleted as a whole.
    pub(crate) cleared: Option<String>,
    pub(crate) transcript: Transcript,
    pub(crate) arriving: Option<Arriving>,
    pub(crate) folding: Folding,
    pub(crate) sheet: Option<Sheet>,
    pub(crate) selector: Option<Selector>,
    pub(crate) notice: Option<Notice>,
    pub(crate) work: Option<Work>,
    pub(crate) status: Status,
    pub(crate) names: Names,
    pub(crate) completion: Option<Completion>,
    /// What a second press of the same key does.
    pub(crate) armed: Option<Action>,
    pub(crate) double_escape: DoubleEscape,
    /// How to get a model, for those who have none.
    pub(crate) no_model: String,
}

impl State {
    /// A chat in which nothing was said yet. `draft` is in the editor; `no_model` is what somebody
    /// reads who says something while there is no model.
    pub fn new(draft: &str, no_model: &str) -> Self {
        let mut editor = Editor::default();
        editor.set(draft);
        State {
            size: (80, 24),
            theme: Theme::default(),
            bindings: Bindings::default(),
            editor,
            history: History::default(),
            drafts: Drafts::default(),
            cleared: None,
            transcript: Transcript::default(),
            arriving: None,
            folding: Folding::default(),
            sheet: None,
            selector: None,
            notice: None,
            work: None,
            status: Status::default(),
            names: Names::default(),
            completion: None,
            armed: None,
            double_escape: DoubleEscape::default(),
            no_model: no_model.to_owned(),
        }
    }

    /// With these colours and keys.
    #[must_use]
    pub fn with_looks(self, theme: Theme, bindings: Bindings<Action>) -> Self {
        State { theme, bindings, ..self }
    }

    /// With something else for two presses of Esc.
    #[must_use]
    pub fn with_double_escape(self, double_escape: DoubleEscape) -> Self {
        State { double_escape, ..self }
    }

    /// Continues with what was left unsent, in place of the text in the editor.
    #[must_use]
    pub fn with_unsent(mut self, unsent: Unsent) -> Self {
        self.editor.set(&unsent.text);
        self.drafts = unsent.drafts;
        if !self.drafts.texts().is_empty() {
            let way_back = super::update::way_back(&self);
            self.notice = Some(Notice::new(format!("unsent text was put aside{way_back}")));
        }
        self
    }

    /// Returns everything that was written and not sent.
    pub fn unsent(&self) -> Unsent {
        let mut unsent = Unsent { text: self.draft(), drafts: self.drafts.clone() };
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
        match &mut self.arriving {
            Some(arriving) if arriving.is_stale => {
                arriving.is_stale = false;
                let lines = block::arriving(arriving, folding, width);
                self.transcript.set_arriving(lines);
            }
            None if self.transcript.has_arriving() => self.transcript.set_arriving(Vec::new()),
            _ => {}
        }
        self.transcript.settle(usize::from(self.areas().transcript.height));
    }

    pub(crate) fn show_sheet(&mut self, title: &str, page: Page) {
        let lines = page.wrapped(usize::from(self.size.0).min(MAX_TEXT)).lines;
        let title = crate::text::safe_line(title);
        self.sheet = Some(Sheet { title, page, lines, top: 0 });
    }

    pub(crate) fn resize(&mut self, width: u16, height: u16) {
        if width != self.size.0 {
            self.transcript.forget();
            if let Some(arriving) = &mut self.arriving {
                arriving.is_stale = true;
            }
            if let Some(sheet) = &mut self.sheet {
                sheet.lines = sheet.page.wrapped(usize::from(width).min(MAX_TEXT)).lines;
                sheet.top = sheet.top.min(sheet.lines.len().saturating_sub(1));
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
