//! The file system as a simulated process sees it.

use super::disk::{Content, Disk, Inode, Named};
use super::{Others, Pid, State, World};
use std::fs::TryLockError;
use std::io::{self, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use treering::internal::fs::{Access, File, FileId, FileKind, FileSystem, Handle, Metadata};

#[derive(Debug)]
pub(super) struct Process {
    pub(super) world: Arc<World>,
    pub(super) pid: Pid,
}

/// An open file.
#[derive(Debug)]
struct Open {
    world: Arc<World>,
    pid: Pid,
    inode: Inode,
    access: Access,
    number: u64,
    cursor: Mutex<u64>,
}

/// The error number of a failed disk.
const EIO: i32 = 5;

fn not_found() -> io::Error {
    io::ErrorKind::NotFound.into()
}

fn metadata(disk: &Disk, inode: Inode) -> Metadata {
    let Content { data, mode, owner, modified, changed, .. } = disk.content(inode);
    Metadata {
        kind: FileKind::File,
        len: data.len() as u64,
        id: FileId { device: 1, number: inode as u64 },
        links: disk.links(inode) as u64,
        mode: *mode,
        owner: Some(*owner),
        modified: *modified,
        changed: *changed,
    }
}

/// Handles are numbered so that the process of each is known.
fn number(pid: Pid, count: u64) -> u64 {
    (pid as u64) << 32 | count
}

impl Disk {
    /// Releases the locks of a process.
    pub(super) fn release(&mut self, pid: Pid) {
        for inode in 0..self.len() {
            let file = self.content_mut(inode);
            file.lock = file.lock.filter(|handle| handle >> 32 != pid as u64);
        }
    }
}

impl FileSystem for Process {
    fn open(&self, path: &Path, access: Access) -> io::Result<File> {
        let what = match access {
            Access::CreateNew => "create",
            _ => "open",
        };
        let mut state = self.world.call(self.pid, what, Others::Act)?;
        let found = state.disk.get(path);
        let inode = match (found, access) {
            (Some(_), Access::CreateNew) => return Err(io::ErrorKind::AlreadyExists.into()),
            (None, Access::CreateNew) => {
                state.check_directory(path)?;
                let now = state.clock;
                let inode = state.disk.create(b"", now);
                state.disk.rename(vec![(path.to_owned(), Some(Named::File(inode)))]);
                inode
            }
            (Some(Named::File(inode)), _) => inode,
            (Some(Named::Directory), _) => return Err(io::ErrorKind::IsADirectory.into()),
            (None, _) => return Err(not_found()),
        };
        state.handles += 1;
        let number = number(self.pid, state.handles);
        let (world, pid) = (Arc::clone(&self.world), self.pid);
        let handle = Open { world, pid, inode, access, number, cursor: Mutex::default() };
        Ok(File::from(Box::new(handle) as Box<dyn Handle>))
    }

    fn metadata(&self, path: &Path, _: bool) -> io::Result<Metadata> {
        let state = self.world.call(self.pid, "stat", Others::Act)?;
        match state.disk.get(path).ok_or_else(not_found)? {
            Named::File(inode) => Ok(metadata(&state.disk, inode)),
            Named::Directory => Ok(Metadata {
                kind: FileKind::Directory,
                len: 0,
                id: FileId { device: 2, number: 0 },
                links: 1,
                mode: 0o700,
                owner: Some((1000, 1000)),
                modified: state.clock,
                changed: state.clock,
            }),
        }
    }

    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        let state = self.world.call(self.pid, "realpath", Others::Act)?;
        state.disk.get(path).map(|_| path.to_owned()).ok_or_else(not_found)
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.world.call(self.pid, "link", Others::Act)?;
        if state.faults.no_links {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let inode = state.disk.file(from).ok_or_else(not_found)?;
        if state.disk.get(to).is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.disk.rename(vec![(to.to_owned(), Some(Named::File(inode)))]);
        state.change(inode);
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.world.call(self.pid, "rename", Others::Act)?;
        let inode = state.disk.file(from).ok_or_else(not_found)?;
        state.check_directory(to)?;
        state.disk.rename(vec![(from.to_owned(), None), (to.to_owned(), Some(Named::File(inode)))]);
        state.change(inode);
        Ok(())
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let mut state = self.world.call(self.pid, "unlink", Others::Act)?;
        let inode = state.disk.file(path).ok_or_else(not_found)?;
        state.disk.rename(vec![(path.to_owned(), None)]);
        state.change(inode);
        Ok(())
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.world.call(self.pid, "mkdir", Others::Act)?;
        if state.disk.get(path).is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.check_directory(path)?;
        state.disk.rename(vec![(path.to_owned(), Some(Named::Directory))]);
        Ok(())
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.world.call(self.pid, "sync a directory", Others::Act)?;
        let fails = state.faults.dir_syncs;
        state.check_sync(fails)?;
        state.disk.sync_dir(path);
        Ok(())
    }

    fn now(&self) -> SystemTime {
        let mut state = self.world.state();
        let jumps = state.faults.clock_jumps;
        if jumps > 0.0 && state.rng.chance(jumps) {
            let seconds = state.rng.range(0, 4_000_000_000);
            state.clock = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
                - Duration::from_secs(1_000_000_000);
        }
        state.clock
    }

    fn sleep(&self, duration: Duration) {
        self.world.pause(self.pid, duration);
    }
}

impl State {
    /// Notes that a file changed in another way than by a write.
    fn change(&mut self, inode: Inode) {
        let now = self.clock;
        self.disk.content_mut(inode).changed = now;
    }

    fn check_directory(&self, path: &Path) -> io::Result<()> {
        match path.parent().map(|parent| self.disk.get(parent)) {
            Some(Some(Named::Directory)) => Ok(()),
            _ => Err(not_found()),
        }
    }

    fn check_sync(&mut self, fails: f64) -> io::Result<()> {
        match fails > 0.0 && self.rng.chance(fails) {
            true => Err(io::Error::from_raw_os_error(EIO)),
            false => Ok(()),
        }
    }
}

impl Open {
    fn cursor(&self) -> std::sync::MutexGuard<'_, u64> {
        self.cursor.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut state = self.world.state();
        let file = state.disk.content_mut(self.inode);
        file.lock = file.lock.filter(|handle| *handle != self.number);
    }
}

fn copy_at(data: &[u8], offset: u64, buffer: &mut [u8]) -> usize {
    let start = (offset as usize).min(data.len());
    let count = buffer.len().min(data.len() - start);
    buffer[..count].copy_from_slice(&data[start..start + count]);
    count
}

impl Handle for Open {
    fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut cursor = self.cursor();
        let got = self.read_at(*cursor, buffer)?;
        *cursor += got as u64;
        Ok(got)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let state = self.world.call(self.pid, "read", Others::Act)?;
        Ok(copy_at(&state.disk.content(self.inode).data, offset, buffer))
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        if self.access == Access::Read {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let mut state = self.world.call(self.pid, "write", Others::Act)?;
        let state = &mut *state;
        let (full, short) = (state.faults.full, state.faults.short_writes);
        if full > 0.0 && state.rng.chance(full / 2.0) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let mut count = bytes.len();
        let cut =
            (full > 0.0 && state.rng.chance(full)) || (short > 0.0 && state.rng.chance(short));
        if cut && count > 1 {
            count = state.rng.range(1, count as u64) as usize;
        }
        let (now, mut cursor) = (state.clock, self.cursor());
        let file = state.disk.content_mut(self.inode);
        let start = match self.access {
            Access::Write => *cursor as usize,
            _ => file.data.len(),
        };
        let end = start + count;
        if file.data.len() < end {
            file.data.resize(end, 0);
        }
        file.data[start..end].copy_from_slice(&bytes[..count]);
        (file.modified, file.changed) = (now, now);
        *cursor = end as u64;
        Ok(count)
    }

    fn seek(&self, to: SeekFrom) -> io::Result<u64> {
        let state = self.world.call(self.pid, "seek", Others::Act)?;
        let length = state.disk.content(self.inode).data.len() as i64;
        let mut cursor = self.cursor();
        let at = match to {
            SeekFrom::Start(at) => at as i64,
            SeekFrom::End(from) => length + from,
            SeekFrom::Current(from) => *cursor as i64 + from,
        };
        *cursor = u64::try_from(at).map_err(|_| io::ErrorKind::InvalidInput)?;
        Ok(*cursor)
    }

    fn metadata(&self) -> io::Result<Metadata> {
        let state = self.world.call(self.pid, "fstat", Others::Act)?;
        Ok(metadata(&state.disk, self.inode))
    }

    /// Truncates a file. No other program acts between the check of the length and the call: they are
    /// microseconds apart, and no system can truncate a file only if it has a certain length.
    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.world.call(self.pid, "truncate", Others::Wait)?;
        let now = state.clock;
        let file = state.disk.content_mut(self.inode);
        file.data.resize(len as usize, 0);
        (file.modified, file.changed) = (now, now);
        Ok(())
    }

    fn set_mode(&self, mode: u32) -> io::Result<()> {
        let mut state = self.world.call(self.pid, "chmod", Others::Act)?;
        state.disk.content_mut(self.inode).mode = mode;
        state.change(self.inode);
        Ok(())
    }

    fn set_owner(&self, owner: (u32, u32)) -> io::Result<()> {
        let mut state = self.world.call(self.pid, "chown", Others::Act)?;
        state.disk.content_mut(self.inode).owner = owner;
        state.change(self.inode);
        Ok(())
    }

    fn set_modified(&self, time: SystemTime) -> io::Result<()> {
        let mut state = self.world.call(self.pid, "utimes", Others::Act)?;
        state.disk.content_mut(self.inode).modified = time;
        state.change(self.inode);
        Ok(())
    }

    fn sync_all(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.world.call(self.pid, "sync", Others::Act)?;
        let fails = state.faults.syncs;
        state.check_sync(fails)?;
        state.disk.sync(self.inode);
        Ok(())
    }

    fn try_lock(&self) -> Result<(), TryLockError> {
        let state = self.world.call(self.pid, "lock", Others::Act);
        let mut state = state.map_err(TryLockError::Error)?;
        let broken = state.faults.broken_locks;
        let file = state.disk.content_mut(self.inode);
        match file.lock {
            Some(handle) if handle != self.number && !broken => Err(TryLockError::WouldBlock),
            _ => {
                file.lock = Some(self.number);
                Ok(())
            }
        }
    }

    fn unlock(&self) -> io::Result<()> {
        let mut state = self.world.call(self.pid, "unlock", Others::Act)?;
        let file = state.disk.content_mut(self.inode);
        file.lock = file.lock.filter(|handle| *handle != self.number);
        Ok(())
    }
}
