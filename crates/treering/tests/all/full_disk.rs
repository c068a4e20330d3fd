//! Tests on a disk that is really full, and on a read-only one. They need the right to mount a file
//! system.

use crate::support::{Leaf, assert_agrees, outline};
use std::path::Path;
use std::process::Command;
use treering::{CreateOptions, Error, Message, Session};

/// A file system of 64 kB, for as long as this lives.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount() -> Option<SmallDisk> {
        let directory = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64k", "treering-test"]).arg(directory.path());
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        mounted.then(|| SmallDisk(directory))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn make_read_only(&self) {
        let mut mount = Command::new("mount");
        mount.args(["-o", "remount,ro", "treering-test"]).arg(self.path());
        assert!(mount.status().unwrap().success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(self.0.path()).status();
        assert!(unmounted.is_ok_and(|status| status.success()), "the small disk stays mounted");
    }
}

fn is_full(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull)
}

#[test]
fn disk_full_for_real_and_space_freed_later() {
    let Some(disk) = SmallDisk::mount() else {
        eprintln!("SKIPPED: cannot mount a tmpfs here; a really full disk was NOT tested");
        return;
    };
    let filler = disk.path().join("filler");
    std::fs::write(&filler, vec![b'x'; 20_000]).unwrap();
    let file = disk.path().join("s.jsonl");
    let session = Session::create_at(&file, "/p", CreateOptions::new()).unwrap();
    let text = "All work and no play. ".repeat(70);
    let mut written = Vec::new();
    let error = loop {
        match session.append(Message::user(&text)) {
            Ok(id) => written.push(id),
            Err(error) => break error,
        }
        assert!(written.len() < 100, "64 kB are never full");
    };
    assert!(is_full(&error), "{error:?}");
    assert!(written.len() > 5);
    let bytes = std::fs::read(&file).unwrap();
    assert_eq!(bytes.last(), Some(&b'\n'), "no part of the line stays");
    for _ in 0..3 {
        assert!(is_full(&session.append(Message::user(&text)).unwrap_err()));
        assert_eq!(std::fs::read(&file).unwrap(), bytes);
    }
    assert_eq!(session.tree().ids().collect::<Vec<_>>(), written, "memory and file agree");
    assert_eq!(outline(&session), outline(&Session::open(&file).unwrap()));

    std::fs::remove_file(&filler).unwrap();
    written.push(session.append(Message::user(&text)).unwrap());
    let again = Session::open(&file).unwrap();
    assert_eq!(again.tree().path(written[written.len() - 1].as_str()).unwrap(), written);
    assert_eq!(again.findings().unwrap(), []);
    assert_agrees(&again, &std::fs::read(&file).unwrap(), Leaf::OfTheFile);
}

#[test]
fn a_disk_that_is_full_from_the_start_gets_no_empty_file() {
    let Some(disk) = SmallDisk::mount() else {
        eprintln!("SKIPPED: cannot mount a tmpfs here; a really full disk was NOT tested");
        return;
    };
    let filler = disk.path().join("filler");
    std::fs::write(&filler, vec![b'x'; 64 * 1024]).unwrap();
    let file = disk.path().join("s.jsonl");
    let session = Session::create_at(&file, "/p", CreateOptions::new()).unwrap();
    let error = session.append(Message::user("hello")).unwrap_err();
    assert!(is_full(&error), "{error:?}");
    let left: Vec<_> =
        std::fs::read_dir(disk.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left, ["filler"], "nothing is left behind");
    assert_eq!(session.tree().len(), 0);
    std::fs::remove_file(&filler).unwrap();
    session.append(Message::user("hello again")).unwrap();
    assert_eq!(Session::open(&file).unwrap().tree().len(), 1);
}

#[test]
fn a_read_only_file_system_can_be_read() {
    let Some(disk) = SmallDisk::mount() else {
        eprintln!("SKIPPED: cannot mount a tmpfs here; a read-only file system was NOT tested");
        return;
    };
    let file = disk.path().join("s.jsonl");
    let session = Session::create_at(&file, "/p", CreateOptions::new()).unwrap();
    session.append(Message::user("hello")).unwrap();
    drop(session);
    disk.make_read_only();
    let session = Session::open(&file).unwrap();
    assert_eq!(session.context().unwrap().messages.len(), 1);
    assert_eq!(treering::active_context(&file).unwrap(), session.context().unwrap());
    let refused = session.append(Message::user("no"));
    assert!(matches!(refused, Err(Error::Io { .. })), "{refused:?}");
    assert_eq!(session.tree().len(), 1);
}
