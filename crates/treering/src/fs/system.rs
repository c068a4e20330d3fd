//! The operating system's files.

use super::open::{Links, open_regular};
use super::{Access, File, FileId, FileKind, FileSystem, Metadata};
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

#[derive(Debug)]
pub(super) struct System;

impl FileSystem for System {
    fn open(&self, path: &Path, access: Access) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true);
        match access {
            Access::Read => {}
            Access::Append => drop(options.append(true)),
            Access::Write => drop(options.write(true)),
            Access::CreateNew => {
                options.append(true).create_new(true);
                #[cfg(unix)]
                std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
                return options.open(path).map(File::from);
            }
        }
        open_regular(path, &mut options, Links::Followed).map(File::from)
    }

    fn metadata(&self, path: &Path, follow: bool) -> io::Result<Metadata> {
        let found = if follow { std::fs::metadata(path) } else { std::fs::symlink_metadata(path) };
        Ok(metadata(&found?))
    }

    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        std::fs::canonicalize(path)
    }

    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::hard_link(from, to)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        std::fs::File::open(path)?.sync_all()
    }

    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, duration: Duration) {
        std::thread::sleep(duration);
    }
}

#[cfg(unix)]
pub(super) fn metadata(metadata: &std::fs::Metadata) -> Metadata {
    use std::os::unix::fs::MetadataExt;
    Metadata {
        kind: kind(metadata),
        len: metadata.len(),
        id: FileId { device: metadata.dev(), number: metadata.ino() },
        links: metadata.nlink(),
        mode: metadata.mode() & 0o7777,
        owner: Some((metadata.uid(), metadata.gid())),
        modified: time(metadata.mtime(), metadata.mtime_nsec()),
        changed: time(metadata.ctime(), metadata.ctime_nsec()),
    }
}

/// Returns the length and the number of names of a file, and leaves its times alone.
#[cfg(target_os = "linux")]
pub(super) fn len_and_links(file: &std::fs::File) -> io::Result<(u64, u64)> {
    use rustix::fs::{AtFlags, StatxFlags, statx};
    let wanted = StatxFlags::SIZE | StatxFlags::NLINK;
    match statx(file, c"", AtFlags::EMPTY_PATH, wanted) {
        Ok(found) if found.stx_mask & wanted.bits() == wanted.bits() => {
            Ok((found.stx_size, u64::from(found.stx_nlink)))
        }
        // Kernels before 4.11 and some sandboxes do not have the call.
        _ => file.metadata().map(|found| metadata(&found)).map(|found| (found.len, found.links)),
    }
}

/// Returns the length and the number of names of a file.
#[cfg(not(target_os = "linux"))]
pub(super) fn len_and_links(file: &std::fs::File) -> io::Result<(u64, u64)> {
    file.metadata().map(|found| metadata(&found)).map(|found| (found.len, found.links))
}

#[cfg(unix)]
fn time(seconds: i64, nanos: i64) -> SystemTime {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let whole = match seconds >= 0 {
        true => SystemTime::UNIX_EPOCH.checked_add(whole),
        false => SystemTime::UNIX_EPOCH.checked_sub(whole),
    };
    let nanos = Duration::from_nanos(u64::try_from(nanos).unwrap_or_default());
    whole.and_then(|time| time.checked_add(nanos)).unwrap_or(SystemTime::UNIX_EPOCH)
}

#[cfg(not(unix))]
pub(super) fn metadata(metadata: &std::fs::Metadata) -> Metadata {
    let created = metadata.created().ok();
    let since = created.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    let number = since.map_or(0, |since| since.as_nanos() as u64);
    Metadata {
        kind: kind(metadata),
        len: metadata.len(),
        id: FileId { device: 0, number },
        links: 1,
        mode: if metadata.permissions().readonly() { 0o400 } else { 0o600 },
        owner: None,
        modified: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
        changed: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
    }
}

fn kind(metadata: &std::fs::Metadata) -> FileKind {
    match metadata.file_type() {
        kind if kind.is_file() => FileKind::File,
        kind if kind.is_dir() => FileKind::Directory,
        _ => FileKind::Other,
    }
}

#[cfg(unix)]
pub(super) fn set_owner(file: &std::fs::File, (user, group): (u32, u32)) -> io::Result<()> {
    std::os::unix::fs::fchown(file, Some(user), Some(group))
}

#[cfg(not(unix))]
pub(super) fn set_owner(_: &std::fs::File, _: (u32, u32)) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
pub(super) fn set_mode(file: &std::fs::File, mode: u32) -> io::Result<()> {
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode))
}

#[cfg(not(unix))]
pub(super) fn set_mode(file: &std::fs::File, mode: u32) -> io::Result<()> {
    let mut permissions = file.metadata()?.permissions();
    permissions.set_readonly(mode & 0o222 == 0);
    file.set_permissions(permissions)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn length_and_links_are_those_of_the_metadata() {
        let directory = tempfile::tempdir().unwrap();
        let (path, link) = (directory.path().join("a"), directory.path().join("b"));
        std::fs::write(&path, "1234567").unwrap();
        let file = std::fs::File::open(&path).unwrap();
        let both = |file: &std::fs::File| {
            let found = metadata(&file.metadata().unwrap());
            let extent = len_and_links(file).unwrap();
            assert_eq!(extent, (found.len, found.links));
            extent
        };
        assert_eq!(both(&file), (7, 1));
        std::fs::hard_link(&path, &link).unwrap();
        assert_eq!(both(&file), (7, 2));
        std::fs::remove_file(&link).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(both(&file), (7, 0));
    }
}
