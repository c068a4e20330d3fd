//! Moves the leaf before a failed answer, so that the request can be retried.

use super::Session;
use crate::entry::{Kind, MessageView, Role};
use crate::error::Result;
use crate::id::EntryId;
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::Row;

impl Session {
    /// Moves the leaf before a failed answer, so that a retry does not see it. A failed answer is
    /// an assistant message at the leaf that ended with an error or was aborted. Several of them in
    /// a row are skipped at once; labels after them do not matter. The answer stays in the tree, on
    /// a branch of its own.
    ///
    /// Returns the failed answers, oldest first. If the leaf is not a failed answer, returns none
    /// and writes nothing.
    ///
    /// # Errors
    ///
    /// Fails if the answer cannot be read, and as [`Session::append`] does.
    ///
    /// ```
    /// use treering::{Message, NewEntry, Session};
    /// let session = Session::in_memory("/project");
    /// let question = session.append(Message::user("Tea or coffee?"))?;
    /// let failed = session.append(NewEntry::from_json(
    ///     br#"{"type":"message","message":{"role":"assistant","content":[],"stopReason":"error"}}"#,
    /// )?)?;
    /// assert_eq!(session.rewind_failed()?, [failed]);
    /// assert_eq!(session.leaf(), Some(question));
    /// assert!(session.rewind_failed()?.is_empty());
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn rewind_failed(&self) -> Result<Vec<EntryId>> {
        let (view, leaf) = self.view_and_leaf()?;
        let tree = view.tree();
        let (mut bodies, mut failed, mut target) = (Bodies::few(), Vec::new(), None);
        for row in leaf.into_iter().flat_map(|leaf| tree.ancestors(leaf)) {
            if matches!(tree.node(row).kind(), Kind::Label | Kind::Leaf) {
                continue;
            }
            if !is_failed(&view, &mut bodies, row)? {
                target = Some(tree.id(row));
                break;
            }
            failed.push(tree.id(row));
        }
        if !failed.is_empty() {
            self.branch(target)?;
        }
        failed.reverse();
        Ok(failed)
    }
}

/// Returns whether an entry is an answer that failed or was aborted.
fn is_failed(view: &Snapshot, bodies: &mut Bodies, row: Row) -> Result<bool> {
    if view.tree().node(row).role() != Some(Role::Assistant) {
        return Ok(false);
    }
    let body = bodies.whole(view, row)?;
    let message = body.as_deref().and_then(|body| crate::json::get(body, "message"));
    let reason = message.and_then(|message| MessageView::new(message).field("stopReason"));
    Ok(matches!(reason.as_deref(), Some("error" | "aborted")))
}
