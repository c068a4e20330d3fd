//! Plans compactions without a model: when to compact, where to cut, what to summarize, and how to
//! ask for the summary.
//!
//! Everything here is decided from the projected context of one leaf: `outline` reads only the
//! entries that are asked for, `estimate` measures them, `cut` finds where to cut, and `plan` holds
//! the decision. `prepare` collects what a summarizer needs, with the `files` that tool calls
//! touched and the combined `system` prompt; `text` writes the requests. Nothing is written to the
//! session until [`Session::apply_compaction`]; the caller asks a summarizer before that.

mod cut;
mod estimate;
mod files;
mod outline;
mod plan;
mod prepare;
mod system;
mod text;

pub use estimate::{ContextTokens, estimate_tokens};
pub use files::{FileLists, FileOps};
pub use plan::{CompactionPlan, Preparation};
pub use prepare::Prepared;
pub use text::{
    SUMMARIZER_ROLE, branch_request, conversation_text, prefix_request, summary_request,
};

use crate::context::{ContextMessage, Model};
use crate::entry::{Kind, NewEntry, Role};
use crate::error::{Error, Result};
use crate::id::EntryId;
use crate::position::Position;
use crate::session::Session;
use outline::Outline;
use std::collections::BTreeMap;

/// Settings that say when to compact and how much to keep.
///
/// ```
/// let settings = treering::compaction::CompactionSettings::default();
/// assert!(settings.should_compact(190_000, 200_000));
/// assert!(!settings.should_compact(150_000, 200_000));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactionSettings {
    /// Whether a session is compacted automatically when its context gets too large.
    pub enabled: bool,
    /// The part of the model's window that must stay free, in tokens.
    pub reserve_tokens: u64,
    /// The approximate size of the newest part of the context that stays unchanged, in tokens.
    pub keep_recent_tokens: u64,
    /// Settings for single models, by `provider/model`.
    pub overrides: BTreeMap<String, ModelSettings>,
}

impl CompactionSettings {
    /// Returns the defaults.
    pub fn new() -> Self {
        CompactionSettings::default()
    }

    /// Sets whether a session is compacted automatically when its context gets too large.
    #[must_use]
    pub fn enabled(self, enabled: bool) -> Self {
        CompactionSettings { enabled, ..self }
    }

    /// Sets the part of the model's window that must stay free, in tokens.
    #[must_use]
    pub fn reserve_tokens(self, reserve_tokens: u64) -> Self {
        CompactionSettings { reserve_tokens, ..self }
    }

    /// Sets the approximate size of the newest part of the context that stays unchanged, in tokens.
    #[must_use]
    pub fn keep_recent_tokens(self, keep_recent_tokens: u64) -> Self {
        CompactionSettings { keep_recent_tokens, ..self }
    }

    /// Sets the settings of one model, named `provider/model`.
    #[must_use]
    pub fn model(mut self, name: impl Into<String>, settings: ModelSettings) -> Self {
        self.overrides.insert(name.into(), settings);
        self
    }
}

/// The settings of one model. `None` keeps the general setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ModelSettings {
    /// Overrides [`CompactionSettings::reserve_tokens`].
    pub reserve_tokens: Option<u64>,
    /// Overrides [`CompactionSettings::keep_recent_tokens`].
    pub keep_recent_tokens: Option<u64>,
}

impl ModelSettings {
    /// Returns the defaults.
    pub fn new() -> Self {
        ModelSettings::default()
    }

    /// Sets the part of this model's window that must stay free, in tokens.
    #[must_use]
    pub fn reserve_tokens(self, reserve_tokens: u64) -> Self {
        ModelSettings { reserve_tokens: Some(reserve_tokens), ..self }
    }

    /// Sets the approximate size of the newest part of the context that stays unchanged, in tokens.
    #[must_use]
    pub fn keep_recent_tokens(self, keep_recent_tokens: u64) -> Self {
        ModelSettings { keep_recent_tokens: Some(keep_recent_tokens), ..self }
    }
}

impl Default for CompactionSettings {
    fn default() -> Self {
        CompactionSettings {
            enabled: true,
            reserve_tokens: 16_384,
            keep_recent_tokens: 20_000,
            overrides: BTreeMap::new(),
        }
    }
}

impl CompactionSettings {
    /// Returns whether a context of this size is too large for a model with this window.
    pub fn should_compact(&self, context_tokens: u64, context_window: u64) -> bool {
        self.enabled && context_tokens.saturating_add(self.reserve_tokens) > context_window
    }

    /// Returns the settings for a model, with its overrides applied.
    pub fn of_model(&self, model: Option<&Model>) -> CompactionSettings {
        let own = model.and_then(Model::full_name).and_then(|name| self.overrides.get(&name));
        let own = own.copied().unwrap_or_default();
        CompactionSettings {
            reserve_tokens: own.reserve_tokens.unwrap_or(self.reserve_tokens),
            keep_recent_tokens: own.keep_recent_tokens.unwrap_or(self.keep_recent_tokens),
            ..self.clone()
        }
    }
}

/// The origin of a summary.
///
/// ```
/// use treering::branch_summary::AbandonedBranch;
/// use treering::compaction::SummarySource;
/// use treering::{Message, Position, Session};
/// let session = Session::in_memory("/project");
/// let tried = session.append(Message::user("Try it with a loop."))?;
/// let left: AbandonedBranch = session.abandoned_entries(&tried, Position::Start)?;
/// let source = SummarySource::Extension { details: None };
/// let summary = left.entry(Some(&tried), "A loop was tried.", source)?;
/// session.append(summary)?;
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum SummarySource<'a> {
    /// A summarizer wrote the summary of the messages in the plan.
    #[default]
    Summarizer,
    /// An extension supplied the summary, with or without details.
    Extension {
        /// The details of the extension, as a JSON value.
        details: Option<&'a [u8]>,
    },
}

impl SummarySource<'_> {
    /// Adds the fields that mark the summary of an extension to its entry.
    pub(crate) fn mark(self, entry: NewEntry) -> Result<NewEntry> {
        match self {
            SummarySource::Summarizer => Ok(entry),
            SummarySource::Extension { details: None } => entry.with("fromHook", b"true"),
            SummarySource::Extension { details: Some(details) } => {
                entry.with("details", details)?.with("fromHook", b"true")
            }
        }
    }
}

/// Planning compactions.
impl Session {
    /// Plans a compaction at the leaf, or returns why there is nothing to compact. If the settings
    /// have overrides for the model in effect, these apply. Nothing is written, and only the newest
    /// messages are read, as many as the decision needs. [`CompactionPlan::read`] reads the others.
    ///
    /// ```
    /// use treering::{Message, Session};
    /// use treering::compaction::{Preparation, CompactionSettings};
    /// let session = Session::in_memory("/project");
    /// session.append(Message::user(&"long ago ".repeat(20_000)))?;
    /// session.append(Message::assistant("acme", "m", "Yes."))?;
    /// let recent = session.append(Message::user(&"just now ".repeat(20_000)))?;
    /// match session.plan_compaction(&CompactionSettings::default())? {
    ///     Preparation::Ready(plan) => assert_eq!(plan.first_kept, recent),
    ///     why_not => panic!("{why_not:?}"),
    /// }
    /// # Ok::<(), treering::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read.
    pub fn plan_compaction(&self, settings: &CompactionSettings) -> Result<Preparation> {
        self.plan_compaction_at(Position::Leaf, settings)
    }

    /// Plans a compaction at a position, as [`plan_compaction`](Session::plan_compaction) does at
    /// the leaf.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`] if the session does not have
    /// the entry, and if the file cannot be read.
    pub fn plan_compaction_at(
        &self,
        position: impl Into<Position>,
        settings: &CompactionSettings,
    ) -> Result<Preparation> {
        let (view, leaf) = self.view_at(&position.into())?;
        let Some(leaf) = leaf else { return Ok(Preparation::TooSmall) };
        let id = view.tree().id(leaf);
        plan::plan(id, view.projection(Some(leaf))?, settings)
    }

    /// Appends a planned compaction to the leaf that it was planned for. `entry` is the one that
    /// [`Prepared::entry`] returns, perhaps with the [usage](NewEntry::with_usage) of its summary.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::LeafMoved`] if that is no longer the active leaf of the file, with
    /// [`Error::InvalidEntry`] if `entry` is not a compaction, and as
    /// [`append`](Session::append) does.
    ///
    /// ```
    /// use treering::compaction::{CompactionSettings, SummarySource};
    /// use treering::{Message, Session};
    /// let session = Session::in_memory("/project");
    /// session.append(Message::user("Name a color."))?;
    /// session.append(Message::user("Another one."))?;
    /// let settings = CompactionSettings::new().keep_recent_tokens(1);
    /// if let Some(plan) = session.plan_compaction(&settings)?.ready() {
    ///     let plan = plan.read()?;
    ///     let entry = plan.entry("The user asked for colors.", SummarySource::Summarizer)?;
    ///     session.apply_compaction(&plan, entry)?;
    /// }
    /// let context = session.context()?;
    /// let summary = context.messages[0].view().field("summary");
    /// assert_eq!(summary.as_deref(), Some("The user asked for colors."));
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn apply_compaction(&self, plan: &Prepared, entry: NewEntry) -> Result<EntryId> {
        if entry.kind() != Kind::Compaction {
            let why = "it is not a compaction: append the entry that the plan returns";
            return Err(Error::InvalidEntry(why.to_owned()));
        }
        let mut ids = self.append_expecting(&plan.leaf, &[entry])?;
        ids.pop().ok_or_else(|| Error::InvalidEntry("nothing to append".into()))
    }

    /// Returns the size of the context at the leaf: the provider's last count, plus estimates for
    /// the messages after it.
    ///
    /// ```
    /// use treering::{Message, Session};
    /// let session = Session::in_memory("/project");
    /// session.append(Message::user("hello"))?;
    /// assert_eq!(session.context_tokens()?.tokens, 2);
    /// # Ok::<(), treering::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read.
    pub fn context_tokens(&self) -> Result<ContextTokens> {
        self.context_tokens_at(Position::Leaf)
    }

    /// Returns the size of the context at a position, as
    /// [`context_tokens`](Session::context_tokens) does at the leaf.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`] if the session does not have
    /// the entry, and if the file cannot be read.
    pub fn context_tokens_at(&self, position: impl Into<Position>) -> Result<ContextTokens> {
        estimate::context_tokens(&mut Outline::new(self.projection_at(position)?)?)
    }

    /// Returns the system messages in the context at a position, combined into one: texts are
    /// joined, sections patched, tools added and removed. A compaction stores the result as its
    /// `systemMessage`.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`] if the session does not have
    /// the entry, and if the file cannot be read.
    pub fn system_message_at(&self, position: impl Into<Position>) -> Result<Option<Vec<u8>>> {
        let mut messages = Vec::new();
        let add = |_, role, message: ContextMessage| {
            if role == Role::System {
                messages.push(message.json);
            }
        };
        Outline::new(self.projection_at(position)?)?.read(|_| false, add)?;
        Ok(system::current(&messages))
    }
}
