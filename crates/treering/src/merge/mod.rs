//! Copies the work of one branch to another: single entries (`pick`), or all of it (`merge`).
//!
//! In a tree that is only appended to, this requires copies. A copy is a new entry with the
//! original's bytes and a member `copiedFrom` that names the original. A merge also leaves a
//! record, so that a later merge copies only new entries: in the `details` of the summary that was
//! written, or in an entry of its own after the copies. Nothing here asks a model; the caller
//! supplies the summary. `pairs` keeps tool calls and results together, `known` finds the entries
//! that a branch has.

mod copy;
mod known;
mod pairs;
mod pick;
mod plan;
mod target;

pub use crate::branch_summary::MERGE_SUMMARY_PREAMBLE;
pub use copy::Repeated;
pub(crate) use copy::same;
pub use pick::{PickPlan, Selection};
pub use plan::{Merge, MergePlan, MergeSummary, Merged};

use crate::entry::{Entry, Kind};
use crate::id::EntryId;
use crate::json;
use std::borrow::Cow;

/// The member that marks an entry as a copy.
const COPIED_FROM: &str = "copiedFrom";
/// The type of the entry that records a merge by copies.
const MERGE_TYPE: &str = "treering.merge";

/// The original of a copy: the first entry in the chain of copies.
///
/// ```
/// use treering::merge::Selection;
/// use treering::{Message, Session};
/// let (from, to) = (Session::in_memory("/project"), Session::in_memory("/project"));
/// let id = from.append(Message::user("Mind the gap."))?;
/// let copies = to.cherry_pick_from(&from, &Selection::from(&id))?;
/// assert_eq!(to.entry(&copies[0])?.copied_from().unwrap().entry, id);
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Origin {
    /// The id of the original entry.
    pub entry: EntryId,
    /// The id of the original's session, if it is another one.
    pub session: Option<String>,
}

impl Origin {
    fn here(entry: &str) -> Self {
        Origin { entry: entry.into(), session: None }
    }

    /// Reads the origin that an entry of session `own` records.
    fn read(body: &[u8], own: &str) -> Option<Self> {
        // Most entries are not copies, and a search for the word is faster than reading the entry.
        memchr::memmem::find(body, COPIED_FROM.as_bytes())?;
        let from = json::get(body, COPIED_FROM)?;
        let text = |key| json::get(from, key).and_then(json::string).map(Cow::into_owned);
        let session = text("session").filter(|session| session != own);
        Some(Origin { entry: text("entry")?.into(), session })
    }

    fn to_json(&self) -> Vec<u8> {
        let object = json::with_member(b"{}", "entry", &json::quoted(self.entry.as_str()));
        match &self.session {
            Some(session) => json::with_member(&object, "session", &json::quoted(session)),
            None => object,
        }
    }
}

/// Returns the last entry of the branch that was merged at this entry.
fn merged_from(kind: Kind, body: &[u8]) -> Option<Cow<'_, str>> {
    let record = match kind {
        Kind::BranchSummary => json::get(json::get(body, "details")?, "merge")?,
        Kind::Custom => {
            memchr::memmem::find(body, MERGE_TYPE.as_bytes())?;
            let is_merge = json::string(json::get(body, "customType")?)? == MERGE_TYPE;
            json::get(body, "data").filter(|_| is_merge)?
        }
        _ => return None,
    };
    json::string(json::get(record, "from")?)
}

/// The source of entries.
impl Entry {
    /// Returns the original, if this entry is a copy. Its session is `None` if it is the entry's
    /// own.
    pub fn copied_from(&self) -> Option<Origin> {
        if self.is_damaged() { None } else { Origin::read(self.raw(), "") }
    }

    /// Returns the last entry of the branch that was merged into this one, if this entry records one.
    pub fn merged_from(&self) -> Option<Cow<'_, str>> {
        if self.is_damaged() { None } else { merged_from(self.kind(), self.raw()) }
    }
}
