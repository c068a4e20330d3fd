//! Exports a whole session in the format of an agent whose files are never appended to.

use super::embed;
use crate::entry::{Kind, NewEntry};
use crate::error::Result;
use crate::header::Header;
use crate::json;
use crate::tree::{Row, Tree};
use std::collections::{HashMap, HashSet};
use std::io::Write;

/// The outcome of a conversion for one kind of entry.
///
/// ```
/// use treering::convert::{ConvertOptions, Outcome};
/// use treering::{Dialect, Message, Session};
/// let session = Session::in_memory("/project");
/// session.append(Message::user("hello"))?;
/// let plan = session.plan_conversion(Dialect::Tau, &ConvertOptions::new())?;
/// assert!(plan.outcomes().items().iter().all(|(_, outcome, _)| *outcome == Outcome::Carried));
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The target agent sees the whole entry.
    Carried,
    /// The target agent sees the entry in another form, or only a part of it. The text says how.
    Adapted(&'static str),
    /// The entry is not in the result. The text says why.
    LeftOut(&'static str),
}

/// An entry to be written, in treering's format.
pub(crate) struct ExportEntry {
    /// The row that the entry comes from; `None` for further messages of the previous row.
    pub row: Option<Row>,
    pub id: String,
    pub parent: Option<String>,
    pub entry: NewEntry,
    /// The time in Unix milliseconds.
    pub millis: i64,
    /// Whether the entry removes everything above it from the context, without a summary.
    pub is_reset: bool,
}

impl ExportEntry {
    /// Returns the id of the row that the entry comes from.
    pub(crate) fn base(&self) -> &str {
        let extra = self.id.rsplit_once('.').filter(|_| self.row.is_none());
        extra.map_or(&self.id, |(base, _)| base)
    }

    /// Returns the name of the entry in reports.
    pub(crate) fn name(&self) -> String {
        name_of(&self.entry)
    }
}

/// Returns the name of an entry in reports: its type and role.
pub(crate) fn name_of(entry: &NewEntry) -> String {
    let message = embed::member(&entry.fields, "message");
    let role = message.and_then(|message| json::get(message, "role"));
    match role.and_then(json::string).filter(|_| entry.kind() == Kind::Message) {
        Some(role) => format!("message ({role})"),
        None => entry.type_name.clone().into_owned(),
    }
}

/// The session that is exported.
pub(crate) trait ExportSource {
    fn header(&self) -> &Header;

    fn tree(&self) -> &Tree;

    /// Returns the session's name.
    fn name(&self) -> Option<&str>;

    /// Returns the row of the active leaf.
    fn leaf(&self) -> Option<Row>;

    /// Returns the id of the last entry that a row, or the nearest written row above it, is written
    /// as.
    fn end(&self, row: Row) -> Option<String>;

    /// Calls `each` for every entry to be written, in file order.
    fn each(&self, each: &mut dyn FnMut(ExportEntry) -> Result<()>) -> Result<()>;

    /// Returns the messages that context edits on the active path change, by entry: the message for
    /// a provider, or `None` if an edit removed it.
    fn edited(&self) -> Result<HashMap<String, Option<Vec<u8>>>>;

    /// Returns the messages of the context at a row for a provider, without that of the row itself.
    fn messages_before(&self, row: Row) -> Result<Vec<Vec<u8>>>;
}

/// Receives the outcome for an entry of this name.
pub(crate) type ReportOutcome<'a> = dyn FnMut(&str, Outcome) + 'a;

/// The records that the entries of a session became.
#[derive(Debug, Default)]
pub(crate) struct ExportedRecords {
    /// The record that is the parent of each entry's children, by the entry's id.
    pub tails: HashMap<String, String>,
    /// The ids of rows with messages that are not in the result.
    pub left_out: HashSet<String>,
}

/// Writes a session, and returns the records that its entries became.
pub(crate) type ExportFn =
    fn(&dyn ExportSource, &mut dyn Write, &mut ReportOutcome<'_>) -> Result<ExportedRecords>;
