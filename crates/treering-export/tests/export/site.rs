//! Tests of the static site: its content, and that a second run writes only what changed.

use std::path::{Path, PathBuf};
use treering::catalog::SessionInfo;
use treering::{CreateOptions, Message, Session};
use treering_export::{Site, SiteReport};

fn session(dir: &Path, name: &str, cwd: &str, text: &str) -> PathBuf {
    let path = dir.join(format!("{name}.jsonl"));
    let session = Session::create_at(&path, cwd, CreateOptions::new()).unwrap();
    session.append(Message::user(text)).unwrap();
    session.append(Message::assistant("acme", "m", "An answer.")).unwrap();
    path
}

fn infos(paths: &[PathBuf]) -> Vec<SessionInfo> {
    paths.iter().map(|path| treering::catalog::info(path).unwrap()).collect()
}

fn write(site: &Path, variant: &str, sessions: &[SessionInfo]) -> SiteReport {
    let site = Site::open(site, variant).unwrap();
    site.write(sessions, |info| Session::open(&info.path), |_| {}).unwrap()
}

/// Every file below a directory with its content.
fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let (mut rest, mut found) = (vec![dir.to_owned()], Vec::new());
    while let Some(dir) = rest.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => rest.push(path),
                false => found.push((path.clone(), std::fs::read(&path).unwrap())),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_site_has_an_index_pages_and_a_search_and_is_kept_up_to_date() {
    let dir = tempfile::tempdir().unwrap();
    let site = dir.path().join("site");
    let mut paths = vec![
        session(dir.path(), "one", "/p/web", "Why does the <script>alert(1)</script> parser fail?"),
        session(dir.path(), "two", "/p/api", "Été: the lexer drops a token"),
    ];
    let report = write(&site, "", &infos(&paths));
    assert_eq!((report.written, report.unchanged, report.removed), (2, 0, 0));
    let index = std::fs::read_to_string(site.join("index.html")).unwrap();
    assert!(index.contains("&lt;script&gt;alert(1)") && !index.contains("<script>alert"));
    assert!(index.contains("<h2>/p/web</h2>") && index.contains("<h2>/p/api</h2>"), "{index}");
    assert_eq!(std::fs::read_dir(site.join("sessions")).unwrap().count(), 2);
    let shard = std::fs::read_to_string(site.join("search/70.61.js")).unwrap();
    assert!(shard.starts_with("found(\"70.61.js\",{\"parser\":["), "{shard}");
    assert!(site.join("search/e9.74.js").exists(), "été");

    // Nothing changed: nothing is written.
    let before = files(&site);
    let report = write(&site, "", &infos(&paths));
    assert_eq!((report.written, report.unchanged), (0, 2));
    assert_eq!(files(&site), before);

    // One grew, one is new, one is gone.
    Session::open(&paths[0]).unwrap().append(Message::user("zebra")).unwrap();
    paths.push(session(dir.path(), "three", "/p/api", "third"));
    let gone = paths.remove(1);
    let report = write(&site, "", &infos(&paths));
    assert_eq!((report.written, report.unchanged, report.removed), (2, 0, 1));
    assert!(site.join("search/7a.65.js").exists() && !site.join("search/e9.74.js").exists());
    assert!(gone.exists(), "the session itself stays");

    // A page that is damaged or missing is written again, and so are all with other options.
    let page = std::fs::read_dir(site.join("sessions")).unwrap().next().unwrap().unwrap().path();
    std::fs::write(&page, "").unwrap();
    assert_eq!(write(&site, "", &infos(&paths)).written, 1);
    assert_eq!(write(&site, "redacted", &infos(&paths)).written, 2);
}

#[test]
fn another_directory_is_not_taken_for_a_site_and_a_bad_session_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("letter.txt"), "dear").unwrap();
    let error = Site::open(dir.path(), "").unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::DirectoryNotEmpty);
    let site = dir.path().join("site");
    let paths =
        [session(dir.path(), "one", "/p", "first"), session(dir.path(), "two", "/p", "second")];
    let sessions = infos(&paths);
    std::fs::remove_file(&paths[0]).unwrap();
    let report = write(&site, "", &sessions);
    assert_eq!((report.written, report.failed.len()), (1, 1));
    let index = std::fs::read_to_string(site.join("index.html")).unwrap();
    assert!(index.contains("second") && !index.contains("first"), "{index}");
}

#[test]
fn pages_with_other_options_do_not_stay() {
    let dir = tempfile::tempdir().unwrap();
    let site = dir.path().join("site");
    let paths =
        [session(dir.path(), "one", "/p", "password"), session(dir.path(), "two", "/p", "second")];
    let sessions = infos(&paths);
    write(&site, "", &sessions);
    // Another choice of sessions and options at once: the page of the other one must go.
    let report = write(&site, "redacted", &sessions[1..]);
    assert_eq!((report.written, report.removed), (1, 1));
    let is_left = |files: &[(PathBuf, Vec<u8>)]| {
        files.iter().any(|(_, content)| String::from_utf8_lossy(content).contains("password"))
    };
    assert!(!is_left(&files(&site)));

    // A session that has become unreadable leaves no page of an earlier run either.
    write(&site, "", &sessions);
    std::fs::remove_file(&paths[0]).unwrap();
    assert_eq!(write(&site, "redacted", &sessions).failed.len(), 1);
    assert!(!is_left(&files(&site)));

    // A run that ended early: its pages are known to the next one.
    let stopped = Site::open(&site, "").unwrap();
    let stop = |_: &SessionInfo| -> treering::Result<Session> { panic!("the run ends here") };
    let grown = {
        Session::open(&paths[1]).unwrap().append(Message::user("password")).unwrap();
        infos(&paths[1..])
    };
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        stopped.write(&grown, stop, |_| {})
    }));
    assert!(ended.is_err());
    let report = write(&site, "redacted", &[]);
    assert_eq!((report.written, report.removed), (0, 1));
    assert_eq!(std::fs::read_dir(site.join("sessions")).unwrap().count(), 0);

    std::fs::write(site.join("treering-site.json"), "{").unwrap();
    let error = Site::open(&site, "").unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
}

#[test]
fn the_search_index_changes_as_little_as_the_words() {
    let dir = tempfile::tempdir().unwrap();
    let site = dir.path().join("site");
    let mut paths = vec![session(dir.path(), "two", "/p", "parser")];
    write(&site, "", &infos(&paths));
    let before = std::fs::metadata(site.join("search/70.61.js")).unwrap();
    paths.insert(0, session(dir.path(), "one", "/p", "lexer"));
    write(&site, "", &infos(&paths));
    let after = std::fs::metadata(site.join("search/70.61.js")).unwrap();
    assert_eq!(before.modified().unwrap(), after.modified().unwrap());
    let words = std::fs::read_to_string(site.join("search/6c.65.js")).unwrap();
    assert_eq!(words, "found(\"6c.65.js\",{\"lexer\":[1]})\n");
}
