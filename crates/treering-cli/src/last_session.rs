//! The last session of each directory, for `treering -c`.
//!
//! A file of lines `directory<TAB>session`, the latest last, in `treering/last` of `XDG_STATE_HOME` or
//! of `.local/state` in the home directory. Losing it costs nothing else: no error is shown if it
//! cannot be read or written.

use crate::directories;
use std::io::Write;
use std::path::{Path, PathBuf};
use treering::internal::fs::NewFile;

/// The maximum number of directories that are kept.
const MAX_DIRECTORIES: usize = 500;

/// The size above which the file is ignored; 500 lines with the longest paths are smaller.
const MAX_SIZE: u64 = 8 * 1024 * 1024;

/// Returns the last session of a directory, if it still exists.
pub(crate) fn of(dir: &Path) -> Option<PathBuf> {
    let text = read(&file()?)?;
    let dir = line_part(dir)?;
    let lines = text.lines().rev().filter_map(|line| line.split_once('\t'));
    let session = lines.filter(|(known, _)| *known == dir).map(|(_, session)| session).next()?;
    Some(PathBuf::from(session))
        .filter(|session| session.is_file() || treering::dialect::is_stored(session))
}

/// Records the last session of a directory.
pub(crate) fn remember(dir: &Path, session: &Path) {
    let absolute = std::path::absolute(session).unwrap_or_else(|_| session.to_owned());
    let (Some(file), Some(dir), Some(session)) = (file(), line_part(dir), line_part(&absolute))
    else {
        return;
    };
    let old = read(&file).unwrap_or_default();
    // Losing the file costs nothing else.
    let _ = write(&file, &with(&old, dir, session));
}

fn read(file: &Path) -> Option<String> {
    treering::internal::fs::read_text(file, MAX_SIZE).ok()
}

/// Returns the lines with a new last line.
fn with(old: &str, dir: &str, session: &str) -> String {
    let is_other = |line: &&str| line.split_once('\t').is_some_and(|(known, _)| known != dir);
    let others: Vec<&str> = old.lines().filter(is_other).collect();
    let kept = others.get(others.len().saturating_sub(MAX_DIRECTORIES - 1)..).unwrap_or_default();
    let mut text: String = kept.iter().map(|line| format!("{line}\n")).collect();
    text.push_str(&format!("{dir}\t{session}\n"));
    text
}

/// Writes the file so that it appears complete or not at all, because other processes may read it
/// at any time.
fn write(file: &Path, text: &str) -> std::io::Result<()> {
    let mut new = NewFile::beside(file)?;
    new.write_all(text.as_bytes())?;
    new.publish_replacing_unsynced().map(drop)
}

fn file() -> Option<PathBuf> {
    Some(directories::state()?.join("last"))
}

/// Returns a path as part of a line; `None` for a path that cannot be part of one.
fn line_part(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| !text.contains(['\t', '\n', '\r']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_is_last_and_each_directory_is_there_once() {
        let old = "/a\t/s/1\n/b\t/s/2\nnonsense\n";
        assert_eq!(with(old, "/a", "/s/3"), "/b\t/s/2\n/a\t/s/3\n");
        let many: String = (0..MAX_DIRECTORIES + 9).map(|at| format!("/{at}\t/s\n")).collect();
        let text = with(&many, "/x", "/s");
        assert_eq!(text.lines().count(), MAX_DIRECTORIES);
        assert!(text.ends_with("/x\t/s\n") && text.starts_with("/10\t"));
    }

    #[test]
    fn an_odd_path_is_not_remembered() {
        assert_eq!(line_part(Path::new("/a\nb")), None);
        assert_eq!(line_part(Path::new("/a b")), Some("/a b"));
    }
}
