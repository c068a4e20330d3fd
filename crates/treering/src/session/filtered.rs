//! A session read through a filter, and copied as a whole.

use super::publish::write_whole;
use super::state::{Backing, OpenedSession, State};
use super::{Creation, Durability, Session};
use crate::dialect;
use crate::error::{Error, Result};
use crate::header::Header;
use crate::id::SessionId;
use crate::load::Loaded;
use crate::log::{Journal, LineFilter, filtered, scan};
use crate::tree::Tree;
use std::path::Path;
use std::sync::Arc;

impl Session {
    /// Opens a session as it reads after `filter`: every line of its log passes it. The result is a
    /// snapshot that is only read, in no file that has a name; it can be forked
    /// ([`ForkOptions::dir`](crate::ForkOptions) says where to), converted
    /// ([`convert_session`](crate::convert::convert_session)) and copied ([`copy_to`](Session::copy_to)) like
    /// any other. Its forks do not name the file that they come from.
    ///
    /// A filter may change what entries say, not what they are: a result whose tree is another one is
    /// an error.
    pub fn open_filtered(path: impl AsRef<Path>, filter: &dyn LineFilter) -> Result<Session> {
        let path = path.as_ref();
        let source = OpenedSession::at(path)?;
        let journal = filtered(&*source.journal, filter, dialect::refitted)
            .map_err(Error::io(path, "read"))?;
        let journal: Arc<dyn Journal> = Arc::new(journal);
        let loaded = Loaded::read(&*journal).map_err(|error| error.at(Some(path)))?.at(path);
        if source.loaded.dialect != loaded.dialect {
            return Err(Error::Unfaithful(format!("it reads as {}", loaded.dialect)));
        }
        if let Some(what) = difference(&source.loaded.tree, &loaded.tree) {
            return Err(Error::Unfaithful(what));
        }
        let header = Header::new(&SessionId::generate(), path.parent().unwrap_or(path), None);
        let state = State::with_header(Backing::memory(), journal, loaded, header)?;
        Ok(Session::new(state, Creation::default(), Durability::None))
    }

    /// Writes the session's whole log to the new file `target`, byte for byte.
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

/// Describes a difference between two trees in more than what ids are spelled like: a filter may replace
/// an id, if it replaces every reference to it alike.
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
        (!is_same).then(|| format!("entry {} is another one", after.id_text(b)))
    })
}
