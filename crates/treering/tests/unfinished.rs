//! Tests of removing the unfinished files of a process, in a separate binary, because the list of
//! these files is global to the process.

#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

use std::io::Write;
use treering::internal::fs::{NewFile, remove_unfinished};

#[test]
fn unfinished_files_are_removed_and_no_others() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    NewFile::beside(&at("finished")).unwrap().publish().unwrap();
    let mut replacing = NewFile::beside(&at("replaced")).unwrap();
    replacing.write_all(b"new").unwrap();
    replacing.publish_replacing().unwrap();
    let unfinished = NewFile::beside(&at("unfinished")).unwrap();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 3);
    drop(remove_unfinished());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
    let error = unfinished.publish().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    assert!(at("finished").exists() && at("replaced").exists());
}
