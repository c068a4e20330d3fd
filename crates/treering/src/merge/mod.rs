//! Bringing the work of one branch to another: single entries (`pick`), or all of it (`merge`).
//!
//! A tree that is only ever appended to has one way to do that: copies. A copy is a new entry with the
//! original's bytes and a member `copiedFrom` that says where it was first said. A merge also leaves a
//! record, so that a later one brings only what is new: in the `details` of the summary that was
//! written, or in an entry of its own after the copies. Nothing here asks a model; a summary is the
//! caller's. `pairs` keeps tool calls and results together, `known` tells what a branch has.

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

/// The member that makes an entry a copy.
const COPIED_FROM: &str = "copiedFrom";
/// The type of the entry that records a merge by copies.
const MERGE_TYPE: &str = "treering.merge";

/// The first entry in the chain of copies.
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
    /// The original entry.
    pub entry: EntryId,
    /// Its session, if that is another one.
    pub session: Option<String>,
}

impl Origin {
    fn here(entry: &str) -> Self {
        Origin { entry: entry.into(), session: None }
    }

    /// Reads the origin that an entry of session `own` records.
    fn read(body: &[u8], own: &str) -> Option<Self> {
        // Most entries are no copies, and looking for the word is quicker than reading.
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

/// Returns the leaf that was merged where this entry stands.
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
    /// Returns the original, if this entry is a copy of another. The session is left out where it
    /// is the entry's own.
    pub fn copied_from(&self) -> Option<Origin> {
        if self.is_damaged() { None } else { Origin::read(self.raw(), "") }
    }

    /// Returns the end of the branch that was merged into this one here, if this entry records a
    /// merge.
    pub fn merged_from(&self) -> Option<Cow<'_, str>> {
        if self.is_damaged() { None } else { merged_from(self.kind(), self.raw()) }
    }
}
