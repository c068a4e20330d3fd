//! The queries of earlier searches: a file of lines, the latest last. Losing it costs nothing else, so no error
//! is shown if it cannot be read or written.

use std::io::{self, Write};
use std::path::Path;
use treering::internal::fs::{self, NewFile};

/// The number of queries that are kept.
const MAX_QUERIES: usize = 100;

/// The size above which the file is ignored.
const MAX_SIZE: u64 = 1024 * 1024;

/// The length above which a query is not kept.
const MAX_QUERY: usize = 1000;

/// Returns the recent queries.
pub(super) fn read(file: &Path) -> Vec<String> {
    let text = fs::read_text(file, MAX_SIZE).unwrap_or_default();
    let queries: Vec<String> = text.lines().map(str::to_owned).collect();
    queries.iter().skip(queries.len().saturating_sub(MAX_QUERIES)).cloned().collect()
}

/// Adds a query as the latest one.
pub(super) fn add(file: &Path, query: &str) {
    let query = query.trim();
    if query.is_empty() || query.len() > MAX_QUERY || query.contains(['\n', '\r']) {
        return;
    }
    let mut queries = read(file);
    queries.retain(|known| known != query);
    queries.push(query.to_owned());
    let kept = queries.len().saturating_sub(MAX_QUERIES);
    let lines: String = queries.iter().skip(kept).map(|query| format!("{query}\n")).collect();
    // Losing the file costs nothing else.
    let _ = write(file, &lines);
}

/// Writes the file so that it appears complete or not at all, because other processes may read it
/// at any time.
fn write(file: &Path, lines: &str) -> io::Result<()> {
    let mut new = NewFile::beside(file)?;
    new.write_all(lines.as_bytes())?;
    new.publish_replacing_unsynced().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_queries_are_kept_once_each() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("queries");
        assert!(read(&file).is_empty());
        for number in 0..MAX_QUERIES + 5 {
            add(&file, &format!(" query {number} "));
        }
        add(&file, "query 50");
        for none in ["", "  ", "a\nb"] {
            add(&file, none);
        }
        let queries = read(&file);
        assert_eq!(queries.len(), MAX_QUERIES);
        assert_eq!(queries.last().unwrap(), "query 50");
        assert_eq!(queries.iter().filter(|query| *query == "query 50").count(), 1);
        assert_eq!(queries.first().unwrap(), "query 5");
    }
}
