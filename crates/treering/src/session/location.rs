//! The names of session files and of the directories of projects.

use crate::fs;
use crate::id::SessionId;
use std::path::{Path, PathBuf};

/// Returns the directory below `root` that holds the sessions of a project.
pub(crate) fn project_directory(root: &Path, cwd: &Path) -> PathBuf {
    let cwd = fs::absolute(cwd);
    let cwd = cwd.to_string_lossy();
    let inner = cwd.strip_prefix(['/', '\\']).unwrap_or(&cwd).replace(['/', '\\', ':'], "-");
    root.join(format!("--{inner}--"))
}

/// Returns the file name of a session that was created at `timestamp`.
pub(crate) fn file_name(timestamp: &str, id: &str) -> String {
    format!("{}_{id}.jsonl", timestamp.replace([':', '.'], "-"))
}

/// Returns the id in the name of a session file, such as `2026-01-05T09-00-00-000Z_ID.jsonl`; `None`
/// if the name has another shape.
pub(crate) fn id_in_name(path: &Path) -> Option<SessionId> {
    let name = path.file_name()?.to_str()?;
    let stem = name.strip_suffix(".jsonl").or_else(|| name.strip_suffix(".jsonl.zst"))?;
    let (time, id) = stem.split_once('_')?;
    let is_time = time.len() == TIME_SHAPE.len()
        && time.bytes().zip(TIME_SHAPE.bytes()).all(|(byte, shape)| match shape {
            b'0' => byte.is_ascii_digit(),
            shape => byte == shape,
        });
    SessionId::new(id).ok().filter(|_| is_time)
}

/// The shape of the time in the name of a file.
const TIME_SHAPE: &str = "0000-00-00T00-00-00-000Z";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_in_the_name_of_a_file_is_the_one_it_was_named_after() {
        let id = |name: &str| id_in_name(Path::new(name)).map(|id| id.to_string());
        let named = file_name("2026-01-05T09:00:00.000Z", "a_b.c");
        assert_eq!(id(&named).as_deref(), Some("a_b.c"));
        assert_eq!(id(&format!("/sessions/{named}.zst")).as_deref(), Some("a_b.c"));
        for other in ["chat.jsonl", "2026-01-05_a.jsonl", "2026-01-05T09-00-00-000Z_a.json"] {
            assert_eq!(id(other), None, "{other}");
        }
    }
}
