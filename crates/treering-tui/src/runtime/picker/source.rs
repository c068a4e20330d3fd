//! The source of the sessions that the picker shows.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use treering::catalog::SessionInfo;
use treering::context::Projection;
use treering::store::Store;
use treering::{OpenOptions, Result, Session, SessionId};
use treering_index::SessionIndex;

/// The source of the sessions that the picker shows.
#[derive(Debug, Clone)]
pub enum PickerSource {
    /// This machine: all agents' session files.
    Machine(SessionIndex),
    /// A store. In the picker, the ids of its sessions are used instead of paths.
    Store(Arc<dyn Store>),
}

impl PickerSource {
    /// Returns the home directory, which is abbreviated in paths.
    pub(super) fn home(&self) -> Option<&Path> {
        match self {
            PickerSource::Machine(index) => index.places().home(),
            PickerSource::Store(_) => None,
        }
    }

    /// Opens a session.
    pub(super) fn open(&self, path: &Path) -> Result<Session> {
        match self {
            PickerSource::Machine(_) => Session::open(path),
            PickerSource::Store(store) => {
                Session::open_in(store, &id_of(path)?, OpenOptions::default())
            }
        }
    }

    /// Returns the description of a session.
    pub(super) fn info(&self, path: &Path) -> Result<SessionInfo> {
        match self {
            PickerSource::Machine(_) => SessionIndex::info(path),
            PickerSource::Store(_) => Ok(keyed(self.open(path)?.info()?)),
        }
    }

    /// Returns the context at the leaf of a session, read from its end.
    pub(super) fn active_projection(&self, path: &Path) -> Result<Projection> {
        match self {
            PickerSource::Machine(_) => treering::active_projection(path),
            PickerSource::Store(store) => {
                treering::active_projection_of(store.open(&id_of(path)?)?)
            }
        }
    }
}

/// Returns the id that is used as a path.
pub fn id_of(path: &Path) -> Result<SessionId> {
    Ok(SessionId::new(&path.to_string_lossy())?)
}

/// Returns the information about a session of a store, with its id as its path.
pub(super) fn keyed(mut info: SessionInfo) -> SessionInfo {
    info.path = PathBuf::from(info.id.as_str());
    info
}
