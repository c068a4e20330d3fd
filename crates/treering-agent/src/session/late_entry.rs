//! Writes entries that were created while an operation waited for a model or a command.
//!
//! Such an entry belongs to the branch it was created for, whatever has happened since. It never
//! decides which branch is active: a leaf that is still on that branch moves to the new entry, and
//! a leaf that was moved to another branch meanwhile, by this process or by another one, stays
//! there. This holds for the file's leaf and for the session's own leaf separately.

use treering::session::LeafMoves;
use treering::{EntryId, Error, Kind, NewEntry, Session, Tree};

/// The maximum number of attempts to append while others write.
const ATTEMPTS: usize = 64;

/// The kind of a late entry, which decides after which newer entries it may be appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LateEntryKind {
    /// A compaction, which keeps all newer entries in the context. After another compaction it
    /// would undo that one.
    Compaction,
    /// An answer, the record of a command, a merge, a label or a name. It is appended after all
    /// entries that this session added to the branch. If another process continued the conversation
    /// there, that stays a separate branch; but labels, names and the like do not separate the
    /// entry from its branch.
    Reply,
}

/// A late entry that was written.
#[derive(Debug)]
pub(super) struct AttachedEntry {
    pub(super) id: EntryId,
    /// Whether the entry is the file's active leaf.
    pub(super) is_active: bool,
}

impl LateEntryKind {
    /// Appends `entry` to the branch that ended at `made_for` when the operation began.
    ///
    /// Fails with [`Error::LeafMoved`] if other processes move the file's leaf before every attempt.
    pub(super) fn attach(
        self,
        session: &Session,
        made_for: Option<&EntryId>,
        entry: &NewEntry,
    ) -> Result<AttachedEntry, Error> {
        let mut found = None;
        for _ in 0..ATTEMPTS {
            session.refresh()?;
            let tree = session.tree();
            // A damaged last entry is not the leaf, which only the attempt to append shows.
            let newest = found.take().unwrap_or_else(|| tree.file_leaf());
            let own = session.leaf();
            let has_own = continues(&tree, made_for, own.as_ref(), |kind| self.own_ends(kind))?;
            let mut place = if has_own { own.as_ref() } else { made_for };
            if continues(&tree, place, newest.as_ref(), |kind| self.others_end(kind))? {
                place = newest.as_ref();
            }
            let is_active = place == newest.as_ref();
            let mut moves = LeafMoves::none(newest.as_ref());
            if is_active {
                moves = moves.moving_file_leaf();
            }
            if has_own {
                moves = moves.moving_session_leaf_at(own.as_ref());
            }
            let entries = [entry.clone().with_parent(place.cloned())];
            match session.append_to_branch(&entries, &moves) {
                Err(Error::LeafMoved { actual, .. }) => found = Some(actual),
                Ok(ids) => {
                    let id = ids.into_iter().next();
                    let id = id.ok_or_else(|| Error::InvalidEntry("nothing to append".into()))?;
                    return Ok(AttachedEntry { id, is_active });
                }
                Err(error) => return Err(error),
            }
        }
        Err(Error::LeafMoved { expected: made_for.cloned(), actual: found.flatten() })
    }

    /// Returns whether an entry of this session ends the branch.
    fn own_ends(self, kind: Kind) -> bool {
        self == LateEntryKind::Compaction && kind == Kind::Compaction
    }

    /// Returns whether an entry of another process ends the branch.
    fn others_end(self, kind: Kind) -> bool {
        match self {
            LateEntryKind::Compaction => kind == Kind::Compaction,
            LateEntryKind::Reply => matches!(
                kind,
                Kind::Message
                    | Kind::CustomMessage
                    | Kind::BranchSummary
                    | Kind::Compaction
                    | Kind::Reset
            ),
        }
    }
}

/// Returns whether `leaf` is `from` or below it, with no entry in between that ends the branch.
fn continues(
    tree: &Tree,
    from: Option<&EntryId>,
    leaf: Option<&EntryId>,
    ends: impl Fn(Kind) -> bool,
) -> Result<bool, Error> {
    let (Some(from), Some(leaf)) = (from, leaf) else { return Ok(from == leaf) };
    let path = tree.path(leaf)?;
    let Some(at) = path.iter().position(|id| id == from) else { return Ok(false) };
    Ok(!path[at + 1..].iter().any(|id| tree.kind(id).is_ok_and(&ends)))
}
