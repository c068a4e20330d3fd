//! Reads entries of a snapshot, by id or in order.

use crate::entry::Entry;
use crate::error::Result;
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::Row;

/// An iterator over the entries of a session, or of a path in it, which reads each of them on
/// demand.
///
/// ```
/// use treering::{Message, Session};
/// let session = Session::in_memory("/project");
/// session.append(Message::user("hello"))?;
/// for entry in session.entries() {
///     assert_eq!(entry?.message().unwrap().text(), "hello");
/// }
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug)]
pub struct Entries {
    view: Snapshot,
    bodies: Bodies,
    rows: std::vec::IntoIter<Row>,
}

impl Entries {
    pub(super) fn new(view: Snapshot, rows: Vec<Row>) -> Self {
        Entries { view, bodies: Bodies::default(), rows: rows.into_iter() }
    }
}

impl Iterator for Entries {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.rows.next()?;
        Some(self.bodies.entry(&self.view, row))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rows.size_hint()
    }
}

/// Reads entries from a snapshot of a session. A clone reads from the same snapshot.
///
/// ```
/// let session = treering::Session::in_memory("/project");
/// let id = session.append(treering::Message::user("hello"))?;
/// let mut reader = session.reader();
/// assert_eq!(reader.entry(&id)?.id(), &id);
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Reader {
    view: Snapshot,
    bodies: Bodies,
    /// The row after the last one that was read.
    next: Row,
}

impl Reader {
    pub(super) fn new(view: Snapshot) -> Self {
        Reader { view, bodies: Bodies::default(), next: Row::FIRST }
    }

    /// Reads entries with images that are stored outside the session file (blobs of omp) instead of
    /// references to them. If the image is missing, or is not the one that the reference names, the
    /// reference stays.
    #[must_use]
    pub fn with_images(self) -> Self {
        Reader { bodies: self.bodies.inlining(), ..self }
    }

    /// Reads an entry.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::UnknownEntry`](crate::Error::UnknownEntry) if there is no entry with
    /// exactly this id.
    pub fn entry(&mut self, id: impl AsRef<str>) -> Result<Entry> {
        let row = self.view.tree().find_row_at(self.next, id.as_ref())?;
        self.next = row.next();
        self.bodies.entry(&self.view, row)
    }
}
