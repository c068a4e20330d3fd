//! Actions on session files as files: delete to the trash, compress, restore.
//!
//! A file that is being written is not touched (`quiet`, `retire`), removed files can be restored
//! (`trash`), and a compressed file is read again before the original is removed (`pack`). Nothing
//! here reads the environment or the clock.

mod pack;
mod quiet;
mod retire;
mod trash;

pub use pack::is_same;
pub use quiet::{Recent, check_idle, hold, idle};
pub use trash::{Trash, TrashedFile};

use retire::{RemovalResult, WriteStamp};
use std::io;
use std::path::{Path, PathBuf};
use treering::Dialect;
use treering::internal::fs::{self, File};
use treering::storage::UnpackLimits;

/// The refusal of an action: the file was not changed.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", path.display())]
#[non_exhaustive]
pub struct Refusal {
    /// The path of the file.
    pub path: PathBuf,
    /// The reason.
    pub reason: Reason,
}

/// The reason why an action on a file was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The path is a symbolic link to this file.
    #[error("it is a link")]
    Link(PathBuf),
    /// The file is locked.
    #[error("another process is writing to it")]
    Locked,
    /// The file was modified a moment ago, and not every agent locks the files it writes.
    #[error("it was written to a moment ago")]
    Recent,
    /// The session is already compressed.
    #[error("it is already archived")]
    Archived,
    /// The session is not compressed.
    #[error("it is not archived")]
    NotArchived,
    /// The name of the compressed file would not be that of a session.
    #[error("its name does not end in .jsonl")]
    Name,
    /// The session is not a file of its own.
    #[error("it is in a database, which only its agent changes")]
    Stored,
    /// The target already exists.
    #[error("it already exists")]
    Exists,
    /// Another program wrote to the file meanwhile, or replaced it.
    #[error("another program wrote to it in the meantime; nothing was changed")]
    Changed,
    /// Another program wrote to the file meanwhile and then created a new one with its name. The
    /// file that was written to has this name now.
    #[error("another program wrote to it and created it again in the meantime; the old file is {}", .0.display())]
    Renamed(PathBuf),
    /// The file was compressed but could not be removed. The path is that of the complete copy.
    #[error("cannot be removed: {1}")]
    Stays(PathBuf, io::Error),
    /// The file is not a session.
    #[error(transparent)]
    Session(#[from] treering::Error),
    /// The file cannot be read or moved.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Reason {
    fn of(self, path: &Path) -> Refusal {
        Refusal { path: path.to_owned(), reason: self }
    }

    /// Returns advice for the user.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Reason::Link(real) => format!("name the file itself: {}", real.display()),
            Reason::Locked => "try again when it is done".to_owned(),
            Reason::Recent => {
                "stop the program that writes to it, and try again in 10 seconds".to_owned()
            }
            Reason::NotArchived => "an archived session ends in .jsonl.zst".to_owned(),
            Reason::Name => {
                "rename it first: an archive is found only if it is named SESSION.jsonl.zst"
                    .to_owned()
            }
            Reason::Stored => {
                "delete it in the agent; `treering convert` writes it to a file".to_owned()
            }
            Reason::Exists => "nothing was changed; move one of the two away".to_owned(),
            Reason::Changed | Reason::Renamed(_) => {
                "stop the program that writes to it, and try again".to_owned()
            }
            Reason::Stays(target, _) => format!("{} is complete", target.display()),
            _ => return None,
        })
    }
}

/// Moves a session to the trash and returns its new path; without a trash it is deleted. A session
/// that is being written, or was modified a moment before `now`, is refused.
///
/// ```
/// use treering_index::housekeeping::discard;
/// # let dir = tempfile::tempdir()?;
/// let file = dir.path().join("session.jsonl");
/// let session = treering::Session::create_at(&file, "/project", Default::default())?;
/// session.append(treering::Message::user("hello"))?;
/// session.append(treering::Message::assistant("acme", "m", "hi"))?;
/// assert_eq!(discard(&file, None, i64::MAX)?, None);
/// assert!(!file.exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn discard(path: &Path, trash: Option<&Trash>, now: i64) -> Result<Option<PathBuf>, Refusal> {
    let file = hold(path, Recent::Refused, now)?;
    let refuse = |reason: Reason| reason.of(path);
    treering::catalog::info(path).map_err(|error| refuse(error.into()))?;
    match trash {
        Some(trash) => trash.take(path, now).map(Some).map_err(|error| refuse(error.into())),
        None => {
            let before = WriteStamp::of(&file).map_err(|error| refuse(error.into()))?;
            retire::remove(path, &file, before)
                .map_err(|error| refuse(error.into()))
                .and_then(|retired| changed(retired, path))
                .map(|()| None)
        }
    }
}

/// Fails for a file that another program wrote to while it was being removed.
fn changed(retired: RemovalResult, path: &Path) -> Result<(), Refusal> {
    match retired {
        RemovalResult::Gone(synced) => synced.map_err(|error| {
            let what = format!("it was removed, but this may not survive a power failure: {error}");
            Reason::Io(io::Error::new(error.kind(), what)).of(path)
        }),
        RemovalResult::Stays => Err(Reason::Changed.of(path)),
        RemovalResult::Renamed(aside) => Err(Reason::Renamed(aside).of(path)),
    }
}

/// The result of compressing or decompressing a session.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recompressed {
    /// The new path of the file.
    pub path: PathBuf,
    /// The size before, in bytes.
    pub from: u64,
    /// The size after, in bytes.
    pub to: u64,
}

/// Compresses a session: `NAME.jsonl` becomes `NAME.jsonl.zst`. Also returns its dialect, because
/// not every agent finds compressed sessions. `progress` is called with the number of bytes that
/// were read, and the number of all bytes.
pub fn archive(
    path: &Path,
    now: i64,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(Recompressed, Dialect), Refusal> {
    let name = path.as_os_str().as_encoded_bytes();
    if name.ends_with(b".zst") {
        return Err(misnamed(path, Reason::Archived));
    }
    if !name.ends_with(b".jsonl") {
        return Err(misnamed(path, Reason::Name));
    }
    let file = hold(path, Recent::Refused, now)?;
    let agent =
        treering::catalog::info(path).map_err(|error| Reason::Session(error).of(path))?.agent;
    let mut target = path.to_owned().into_os_string();
    target.push(".zst");
    let make = |file: &File, target: &Path| pack::pack(file, target, progress);
    Ok((exchange(path, &file, target.into(), make)?, agent))
}

/// Decompresses a session: `NAME.jsonl.zst` becomes `NAME.jsonl`. A session whose content exceeds
/// the limits is refused and not changed.
pub fn unarchive(
    path: &Path,
    now: i64,
    limits: UnpackLimits,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Recompressed, Refusal> {
    if path.extension().is_none_or(|extension| extension != "zst") {
        return Err(misnamed(path, Reason::NotArchived));
    }
    let file = hold(path, Recent::Accepted, now)?;
    let make = |file: &File, target: &Path| pack::unpack(file, target, limits, progress);
    exchange(path, &file, path.with_extension(""), make)
}

/// Returns the refusal of a file because of its name, unless there is no such file.
fn misnamed(path: &Path, reason: Reason) -> Refusal {
    match fs::open(path, fs::Access::Read) {
        Ok(_) => reason.of(path),
        Err(error) => Reason::Io(error).of(path),
    }
}

/// Creates one file from the other, and removes the other.
fn exchange(
    path: &Path,
    file: &File,
    target: PathBuf,
    make: impl FnOnce(&File, &Path) -> io::Result<()>,
) -> Result<Recompressed, Refusal> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => Reason::Exists.of(&target),
        kind => {
            let what = format!("{error}; nothing was changed");
            Reason::Io(io::Error::new(kind, what)).of(path)
        }
    };
    let before = WriteStamp::of(file).map_err(failed)?;
    make(file, &target).map_err(failed)?;
    // A program that takes no lock may have written meanwhile, or replaced the file.
    match retire::remove(path, file, before) {
        // If its name comes back after a power failure, there are two complete copies.
        Ok(RemovalResult::Gone(_)) => {}
        Ok(retired) => {
            fs::remove_file(&target).map_err(failed)?;
            changed(retired, path)?;
        }
        Err(error) => return Err(Reason::Stays(target, error).of(path)),
    }
    let to = fs::metadata(&target).map_or(0, |metadata| metadata.len);
    Ok(Recompressed { path: target, from: before.len, to })
}
