//! Open files.

use super::Metadata;
use std::fs::TryLockError;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::time::SystemTime;

/// An open file.
///
/// Reads, writes and seeks like [`std::fs::File`]; `&File` does so as well.
#[derive(Debug)]
pub struct File(Handles);

#[derive(Debug)]
enum Handles {
    System(std::fs::File),
    Other(Box<dyn Handle>),
}

/// An open file of a [`FileSystem`](super::FileSystem) other than the operating system's. The operations
/// are those of [`std::fs::File`].
#[allow(missing_docs, reason = "named as in the standard library")]
pub trait Handle: std::fmt::Debug + Send + Sync {
    fn read(&self, buffer: &mut [u8]) -> io::Result<usize>;
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
    fn write(&self, bytes: &[u8]) -> io::Result<usize>;
    fn seek(&self, to: SeekFrom) -> io::Result<u64>;
    fn metadata(&self) -> io::Result<Metadata>;
    fn set_len(&self, len: u64) -> io::Result<()>;
    fn set_mode(&self, mode: u32) -> io::Result<()>;
    fn set_owner(&self, owner: (u32, u32)) -> io::Result<()>;
    fn set_modified(&self, time: SystemTime) -> io::Result<()>;
    fn sync_all(&self) -> io::Result<()>;
    fn sync_data(&self) -> io::Result<()>;
    fn try_lock(&self) -> Result<(), TryLockError>;
    fn unlock(&self) -> io::Result<()>;
}

impl From<std::fs::File> for File {
    fn from(file: std::fs::File) -> Self {
        File(Handles::System(file))
    }
}

impl From<Box<dyn Handle>> for File {
    fn from(handle: Box<dyn Handle>) -> Self {
        File(Handles::Other(handle))
    }
}

impl File {
    /// Returns whether this is a file of the operating system.
    pub(super) fn is_system(&self) -> bool {
        matches!(self.0, Handles::System(_))
    }

    /// Reads at `offset` without moving the cursor. Continues after an interruption by a signal.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = match &self.0 {
                Handles::System(file) => system_read_at(file, offset, buffer),
                Handles::Other(handle) => handle.read_at(offset, buffer),
            };
            match read {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }

    /// Returns the metadata.
    pub fn metadata(&self) -> io::Result<Metadata> {
        match &self.0 {
            Handles::System(file) => Ok(super::system::metadata(&file.metadata()?)),
            Handles::Other(handle) => handle.metadata(),
        }
    }

    /// Returns the length.
    pub fn size(&self) -> io::Result<u64> {
        Ok(self.len_and_links()?.0)
    }

    /// Returns the length and the number of names, without the times.
    ///
    /// Linux gives a file whose times were asked for a new and exact time at the next write, which takes longer than
    /// the rest of a small write (since 6.13, on ext4, XFS, Btrfs and tmpfs). So an append must not ask for them.
    pub(crate) fn len_and_links(&self) -> io::Result<(u64, u64)> {
        match &self.0 {
            Handles::System(file) => super::system::len_and_links(file),
            Handles::Other(handle) => handle.metadata().map(|found| (found.len, found.links)),
        }
    }

    /// Truncates the file, or extends it with zeros.
    pub fn set_len(&self, len: u64) -> io::Result<()> {
        match &self.0 {
            Handles::System(file) => file.set_len(len),
            Handles::Other(handle) => handle.set_len(len),
        }
    }

    /// Sets the owner, the permissions and the time of the file to those of another. Fails if this
    /// process may not set the owner.
    pub fn set_attributes(&self, of: &Metadata) -> io::Result<()> {
        let own = self.metadata()?;
        // Changing the owner may clear permission bits, so the permissions come second.
        if let Some(owner) = of.owner.filter(|_| own.owner != of.owner) {
            match &self.0 {
                Handles::System(file) => super::system::set_owner(file, owner),
                Handles::Other(handle) => handle.set_owner(owner),
            }
            .map_err(|error| {
                io::Error::new(error.kind(), format!("its owner cannot be kept: {error}"))
            })?;
        }
        self.set_mode(of.mode)?;
        self.set_modified(of.modified)
    }

    /// Sets the permission bits.
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        match &self.0 {
            Handles::System(file) => super::system::set_mode(file, mode),
            Handles::Other(handle) => handle.set_mode(mode),
        }
    }

    /// Sets the time of the last write.
    pub fn set_modified(&self, time: SystemTime) -> io::Result<()> {
        match &self.0 {
            Handles::System(file) => file.set_modified(time),
            Handles::Other(handle) => handle.set_modified(time),
        }
    }

    /// Makes content and metadata survive a power failure.
    pub fn sync_all(&self) -> io::Result<()> {
        match &self.0 {
            Handles::System(file) => file.sync_all(),
            Handles::Other(handle) => handle.sync_all(),
        }
    }

    /// Makes the content survive a power failure.
    pub fn sync_data(&self) -> io::Result<()> {
        match &self.0 {
            Handles::System(file) => file.sync_data(),
            Handles::Other(handle) => handle.sync_data(),
        }
    }

    /// Takes the advisory lock of the file, if no other open file has it.
    pub fn try_lock(&self) -> Result<(), TryLockError> {
        match &self.0 {
            Handles::System(file) => file.try_lock(),
            Handles::Other(handle) => handle.try_lock(),
        }
    }

    /// Releases the lock. Closing the file does so, too.
    pub fn unlock(&self) -> io::Result<()> {
        match &self.0 {
            Handles::System(file) => file.unlock(),
            Handles::Other(handle) => handle.unlock(),
        }
    }
}

#[cfg(unix)]
fn system_read_at(file: &std::fs::File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn system_read_at(file: &std::fs::File, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

impl Read for &File {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &self.0 {
            Handles::System(file) => (&mut &*file).read(buffer),
            Handles::Other(handle) => handle.read(buffer),
        }
    }
}

impl Write for &File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &self.0 {
            Handles::System(file) => (&mut &*file).write(bytes),
            Handles::Other(handle) => handle.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for &File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &self.0 {
            Handles::System(file) => (&mut &*file).seek(to),
            Handles::Other(handle) => handle.seek(to),
        }
    }
}

impl Read for File {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buffer)
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        (&*self).seek(to)
    }
}
