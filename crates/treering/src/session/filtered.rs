//! Reads a session through a filter, and copies whole sessions.

use super::publish::write_whole;
use super::state::{Backing, State};
use super::{Creation, Durability, Session};
use crate::dialect;
use crate::error::{Error, Result};
use crate::header::Header;
use crate::load::Loaded;
use crate::log::{Journal, LineFilter, filtered, scan};
use crate::tree::Tree;
use std::path::Path;
use std::sync::Arc;

impl Session {
    /// Opens a session through `filter`, which every line of its log passes. The result is a
    /// read-only snapshot in a file without a name. It can be forked
    /// ([`ForkOptions::dir`](crate::ForkOptions) names the directory), converted
    /// ([`convert_session`](crate::convert::convert_session)) and copied
    /// ([`copy_to`](Session::copy_to)) like any other session. Its forks do not name their source
    /// file.
    ///
    /// A filter may change the content of entries, but not the tree: a result with another tree is
    /// an error.
    pub fn open_filtered(path: impl AsRef<Path>, filter: &dyn LineFilter) -> Result<Session> {
        Session::open(path)?.filtered(filter)
    }

    /// Returns this session read through `filter`, as [`open_filtered`](Session::open_filtered)
    /// does for a file.
    ///
    /// ```
    /// use std::borrow::Cow;
    /// use treering::storage::LineFilter;
    /// use treering::{Message, Session};
    /// #[derive(Debug)]
    /// struct Discreet;
    /// impl LineFilter for Discreet {
    ///     fn line<'a>(&self, line: &'a [u8]) -> Cow<'a, [u8]> {
    ///         String::from_utf8_lossy(line).replace("Ada", "[name]").into_bytes().into()
    ///     }
    /// }
    /// let session = Session::in_memory("/project");
    /// session.append(Message::user("I am Ada."))?;
    /// let shared = session.filtered(&Discreet)?;
    /// assert_eq!(shared.info()?.first_message, "I am [name].");
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn filtered(&self, filter: &dyn LineFilter) -> Result<Session> {
        let (source, loaded, path) = {
            let state = self.state();
            (Arc::clone(&state.journal), state.loaded.clone(), state.path().map(Path::to_owned))
        };
        let failed = |error| match &path {
            Some(path) => Error::io(path, "read")(error),
            None => Error::Storage(error),
        };
        let journal = filtered(&*source, loaded.seen, filter, dialect::refitted).map_err(failed)?;
        let journal: Arc<dyn Journal> = Arc::new(journal);
        let before = loaded;
        let loaded = Loaded::read(&*journal).map_err(|error| error.at(path.as_deref()))?;
        let loaded = match &path {
            Some(path) => loaded.at(path),
            None => loaded,
        };
        if before.dialect != loaded.dialect {
            return Err(Error::Unfaithful(format!("it reads as {}", loaded.dialect)));
        }
        if let Some(what) = difference(&before.tree, &loaded.tree) {
            return Err(Error::Unfaithful(what));
        }
        let header = Header::unknown();
        let state = State::with_header(Backing::memory(), journal, loaded, header)?;
        Ok(Session::new(state, Creation::default(), Durability::None))
    }

    /// Writes the session's whole log to the new file `target`, byte for byte.
    ///
    /// # Errors
    ///
    /// Fails with [`Error::AlreadyExists`] if the target exists, and if writing fails.
    pub fn copy_to(&self, target: impl AsRef<Path>) -> Result<()> {
        let view = self.view();
        let journal = view.journal();
        write_whole(target.as_ref(), |out| {
            let (mut at, end) = (0, journal.len()?);
            let mut buffer = vec![0; 1 << 18];
            while at < end {
                let got = scan::read_full(journal, at, &mut buffer)?;
                let rest = usize::try_from(end - at).unwrap_or(usize::MAX);
                if got == 0 {
                    return Err(std::io::ErrorKind::UnexpectedEof.into());
                }
                out.write_all(buffer.get(..got.min(rest)).unwrap_or_default())?;
                at += got as u64;
            }
            Ok(())
        })
    }
}

/// Describes a difference between two trees apart from the spelling of ids: a filter may replace an
/// id if it replaces every reference to it in the same way.
fn difference(before: &Tree, after: &Tree) -> Option<String> {
    let (theirs, ours) = (before.live().count(), after.live().count());
    if theirs != ours {
        return Some(format!("there are {ours} entries instead of {theirs}"));
    }
    before.live().zip(after.live()).find_map(|(a, b)| {
        let (old, new) = (before.node(a), after.node(b));
        let is_same = a == b
            && old.parent == new.parent
            && old.kind() == new.kind()
            && old.role() == new.role();
        (!is_same).then(|| format!("entry {} differs", after.id_text(b)))
    })
}
