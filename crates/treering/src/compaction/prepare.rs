//! A compaction ready to be summarized: the plan, with everything a summarizer needs.

use super::files::FileOps;
use super::plan::CompactionPlan;
use super::{CompactionSettings, SummarySource, estimate, system};
use crate::context::ContextMessage;
use crate::entry::{NewEntry, Role};
use crate::error::Result;
use crate::id::EntryId;
use crate::json;
use crate::snapshot::Bodies;
use crate::time;

/// A compaction that needs only its summary.
///
/// ```
/// use treering::compaction::{CompactionSettings, SummarySource};
/// use treering::{Message, Session};
/// let session = Session::in_memory("/project");
/// for text in ["What is a monad?", "And a functor?"] {
///     session.append(Message::user(text))?;
///     session.append(Message::assistant("acme", "m", "It depends."))?;
/// }
/// let settings = CompactionSettings::new().keep_recent_tokens(1);
/// let prepared = session.plan_compaction(&settings)?.ready().unwrap().read()?;
/// let entry = prepared.entry("Two questions were asked.", SummarySource::Summarizer)?;
/// session.apply_compaction(&prepared, entry)?;
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Prepared {
    /// The leaf, below which the compaction is appended.
    pub leaf: EntryId,
    /// The first entry that stays in the context unchanged.
    pub first_kept: EntryId,
    /// The messages that the summary will replace, without the beginning of a split turn.
    pub messages_to_summarize: Vec<ContextMessage>,
    /// The beginning of a split turn, which gets a summary of its own. The rest of the turn is
    /// kept.
    pub turn_prefix: Vec<ContextMessage>,
    /// Whether the cut splits a turn.
    pub is_split_turn: bool,
    /// The size of the context before the compaction.
    pub tokens_before: u64,
    /// The estimated size of the kept part.
    pub tokens_kept: u64,
    /// The summary of the compaction before this one.
    pub previous_summary: Option<String>,
    /// The files that were read and changed, including those of the previous summary.
    pub file_ops: FileOps,
    /// The system messages of the context, combined into one, which the compaction stores. Its
    /// timestamp should be that of the compaction.
    pub system_message: Option<Vec<u8>>,
    /// The settings that the plan was made with.
    pub settings: CompactionSettings,
}

impl CompactionPlan {
    /// Reads the messages to summarize. This takes time in proportion to their size; the session
    /// can be used meanwhile.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read.
    pub fn read(mut self) -> Result<Prepared> {
        let counted = estimate::counted(&mut self.outline)?;
        let mut file_ops = FileOps::default();
        let previous_summary = self.previous_summary(&mut file_ops)?;
        let (mut history, mut prefix, mut system) = (Vec::new(), Vec::new(), Vec::new());
        let mut others: u64 = 0;
        let (turn, end) = (self.history.end, self.prefix.end);
        let summarized = self.history.start..end;
        let take = |at, role, message: ContextMessage| {
            if role == Role::System {
                system.push(message.json);
                return;
            }
            if counted.is_none() {
                others = others.saturating_add(estimate::estimate_tokens(&message.json));
            }
            if !summarized.contains(&at) {
                return;
            }
            match role {
                Role::Assistant => file_ops.take_answer(&message.json),
                Role::ToolResult => file_ops.take_result(&message.json),
                _ => {}
            }
            if at < turn { &mut history } else { &mut prefix }.push(message);
        };
        self.outline.read(|at| counted.is_none() || summarized.contains(&at), take)?;
        let system_message = system::current(&system);
        let size =
            counted.unwrap_or_else(|| estimate::estimated(others, system_message.as_deref()));
        Ok(Prepared {
            leaf: self.leaf,
            first_kept: self.first_kept,
            messages_to_summarize: history,
            turn_prefix: prefix,
            is_split_turn: self.is_split_turn,
            tokens_before: size.tokens,
            tokens_kept: self.tokens_kept,
            previous_summary,
            file_ops,
            system_message,
            settings: self.settings,
        })
    }

    /// Returns the summary of the compaction before this one, and the files it lists.
    fn previous_summary(&self, files: &mut FileOps) -> Result<Option<String>> {
        let Some(row) = self.previous else { return Ok(None) };
        let mut bodies = Bodies::default();
        let Some(body) = bodies.whole(self.outline.view(), row)? else { return Ok(None) };
        files.carry_on(&body);
        let summary = json::get(&body, "summary").and_then(json::string);
        Ok(summary.map(|summary| summary.into_owned()))
    }
}

impl Prepared {
    /// Returns the compaction as an entry with this summary, the files as `details`, and the
    /// combined system message.
    pub fn entry(&self, summary: &str, source: SummarySource<'_>) -> Result<NewEntry> {
        let now = time::now();
        let entry = NewEntry::compaction(summary, Some(&self.first_kept), self.tokens_before)
            .with_timestamp(now);
        let mut entry = match source {
            SummarySource::Summarizer => entry.with("details", &self.file_ops.lists().to_json())?,
            SummarySource::Extension { .. } => source.mark(entry)?,
        };
        if let Some(message) = &self.system_message {
            let message = json::without(message, &["timestamp"]);
            let message = json::with_member(&message, "timestamp", now.to_string().as_bytes());
            entry = entry.raw("systemMessage", &message);
        }
        Ok(entry)
    }

    /// Estimates how many tokens the new summary replaces: the summarized messages and the previous
    /// summary. The compaction frees them less the size of the new summary. What else a provider
    /// counts, such as its own instructions and the definitions of tools, stays.
    pub fn saving(&self) -> u64 {
        let summarized = self.messages_to_summarize.iter().chain(&self.turn_prefix);
        let messages: u64 =
            summarized.map(|message| estimate::estimate_tokens(&message.json)).sum();
        let previous = self.previous_summary.as_deref().map_or(0, estimate::text_tokens);
        (messages + previous).min(self.tokens_before)
    }
}
