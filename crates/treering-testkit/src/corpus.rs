//! Sample sessions of agents, which are no part of the repository.

use std::path::PathBuf;

/// Returns the session files of the corpus beside the project, or at `TREERING_CORPUS`, in order. Where there
/// is none, says so with the word `SKIPPED`.
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
