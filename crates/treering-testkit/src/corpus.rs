//! Finds sample sessions of agents, which are not part of the repository.

use std::path::PathBuf;
use std::sync::Arc;
use treering::storage::Journal;
use treering::{CreateOptions, Session};

/// Returns the session files of the corpus beside the project, or at `TREERING_CORPUS`, in order. Where there
/// is none, prints `SKIPPED`.
#[allow(clippy::print_stdout, reason = "a test that is skipped says so")]
pub fn files() -> Vec<PathBuf> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus");
    let root = std::env::var("TREERING_CORPUS").unwrap_or_else(|_| default.to_owned());
    let (mut files, mut directories) = (Vec::new(), vec![PathBuf::from(&root)]);
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            match path.extension().and_then(|extension| extension.to_str()) {
                _ if path.is_dir() => directories.push(path),
                Some("jsonl") => files.push(path),
                _ => {}
            }
        }
    }
    if files.is_empty() {
        println!("SKIPPED: no corpus at {root} (TREERING_CORPUS names one)");
    }
    files.sort();
    files
}

/// Returns everything that the session in a journal shows, its contexts included, or its error.
pub fn shown(journal: Arc<dyn Journal>) -> String {
    let session = Session::in_journal(journal, "/", CreateOptions::new());
    let shown = session.and_then(|session| {
        let mut text = format!("{} {:?} {:?}\n", session.dialect(), session.leaf(), session.name());
        for item in session.tree().walk() {
            text.push_str(&format!("{item:?}\n"));
        }
        text.push_str(&format!("{:?}\n", session.context()?));
        for leaf in session.tree().leaves() {
            text.push_str(&format!("{:?}\n", session.context_at(&leaf)?));
        }
        Ok(text)
    });
    shown.unwrap_or_else(|error| format!("error: {error}"))
}
