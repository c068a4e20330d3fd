use crate::support::{TestDir, run, session, sessions, user};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};
use treering_search::{Case, Found, Options, Query, Sort, search};

/// Sessions `0.jsonl` to `N.jsonl`, each written to a day before the one before it; number N says `word`
/// N + 1 times.
fn aged(count: usize) -> (TestDir, Vec<PathBuf>) {
    let test_dir = TestDir::empty();
    let mut files = Vec::new();
    for at in 0..count {
        let lines: Vec<String> =
            (0..=at).map(|line| user(&format!("e{line}"), None, "a word")).collect();
        let path = test_dir.write(&format!("{at}.jsonl"), session(&lines));
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000 - 86_400 * at as u64);
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(time).unwrap();
        files.push(path);
    }
    (test_dir, files)
}

fn names(found: &[Found]) -> Vec<String> {
    let name = |found: &Found| match found {
        Found::Session(session) => {
            session.info.path.file_stem().unwrap().to_str().unwrap().to_owned()
        }
        Found::Unreadable(path, _) => format!("!{}", path.file_name().unwrap().to_str().unwrap()),
        other => panic!("{other:?}"),
    };
    found.iter().map(name).collect()
}

#[test]
fn the_newest_or_the_most_relevant_comes_first() {
    let (_place, mut files) = aged(5);
    files.reverse();
    let (found, summary) = run(files.clone(), "word", &Options::default());
    assert_eq!(names(&found), ["0", "1", "2", "3", "4"]);
    assert_eq!((summary.files, summary.sessions, summary.hits), (5, 5, 15));
    let relevance = Options::new().sort(Sort::Relevance);
    let (found, _) = run(files, "word", &relevance);
    assert_eq!(names(&found), ["4", "3", "2", "1", "0"]);
}

#[test]
fn limits_hold_for_sessions_and_for_all() {
    let (_place, files) = aged(5);
    let some = Options::new().hits_per_session(2).max_hits(4);
    let (found, _) = run(files.clone(), "word", &some);
    let counts: Vec<(usize, usize)> = found
        .iter()
        .map(|found| match found {
            Found::Session(session) => (session.hits.len(), session.total),
            _ => (0, 0),
        })
        .collect();
    assert_eq!(counts, [(1, 1), (2, 2), (1, 3)]);
    let first = Options::new().hits_per_session(1).counts_all(false);
    let (_, summary) = run(files, "word", &first);
    assert_eq!((summary.sessions, summary.hits), (5, 5));
}

#[test]
fn a_canceled_search_ends() {
    let (_place, files) = aged(5);
    let query = Query::parse("word", Case::Ignored).unwrap();
    let mut seen = 0;
    search(files.clone(), &query, &Options::default(), &AtomicBool::new(false), |_| {
        seen += 1;
        ControlFlow::Break(())
    });
    assert_eq!(seen, 1);
    let cancel = AtomicBool::new(false);
    let one = Options::new().threads(1);
    cancel.store(true, Ordering::Relaxed);
    let summary = search(files, &query, &one, &cancel, |_| ControlFlow::Continue(()));
    assert_eq!(summary.files, 0);
}

#[test]
fn a_search_tells_how_far_it_is() {
    let (_place, files) = aged(5);
    let query = Query::parse("absent", Case::Ignored).unwrap();
    let mut steps = Vec::new();
    search(files, &query, &Options::default(), &AtomicBool::new(false), |found| {
        if let Found::Searched(progress) = found {
            steps.push((progress.done, progress.total));
        }
        ControlFlow::Continue(())
    });
    assert_eq!(steps, [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]);
}

#[test]
fn files_that_cannot_be_read_are_reported_and_nothing_more() {
    let (test_dir, mut files) = aged(1);
    files.push(test_dir.write("none.jsonl", "a word that is no session\n"));
    files.push(test_dir.write("silent.jsonl", "no session, and nothing is searched for in it\n"));
    files.push(test_dir.write("bad.jsonl.zst", [0x28, 0xB5, 0x2F, 0xFD, 1, 2, 3]));
    files.push(test_dir.write("empty.jsonl", ""));
    files.push(test_dir.file("gone.jsonl"));
    let (found, summary) = run(files, "word", &Options::default());
    let mut names = names(&found);
    names.sort();
    assert_eq!(names, ["!bad.jsonl.zst", "!gone.jsonl", "!none.jsonl", "0"]);
    assert_eq!((summary.unreadable, summary.sessions, summary.files), (3, 1, 6));
}

#[test]
fn packed_sessions_are_searched() {
    let test_dir = TestDir::empty();
    let text = session(&[user("a1", None, "a rare word")]);
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let packed = ruzstd::encoding::compress_to_vec(text.as_bytes(), level);
    let path = test_dir.write("s.jsonl.zst", packed);
    assert_eq!(sessions([path.clone()], "rare").len(), 1);
    assert_eq!(sessions([path], "absent").len(), 0);
}

#[test]
fn a_large_file_is_shared_among_threads_and_nothing_is_lost_between_them() {
    let test_dir = TestDir::empty();
    // 33 MiB of blank lines, and the word where four parts meet and at the end.
    let size: usize = 33 << 20;
    let part = (size / 4 / (256 * 1024) + 1) * 256 * 1024;
    let path = test_dir.file("s.jsonl");
    let blank = [&[b' '; 4095][..], b"\n"].concat();
    for at in [part - 3, 2 * part, 3 * part - 6, size - 8] {
        let mut bytes = session(&[user("a1", None, "x")]).into_bytes();
        bytes.extend(blank.iter().cycle().take(size - bytes.len()));
        let line = format!("\n{}\n", user("a2", Some("a1"), "NEEDLE"));
        let start = at - line.find("NEEDLE").unwrap();
        let end = (start + line.len()).max(size);
        bytes.resize(end, b' ');
        bytes[start..start + line.len()].copy_from_slice(line.as_bytes());
        std::fs::write(&path, &bytes).unwrap();
        // With sixteen, the last part begins after the end.
        for threads in [4, 16] {
            let options = Options::new().threads(threads);
            let (found, summary) = run([path.clone()], "needle", &options);
            assert_eq!((found.len(), summary.unreadable), (1, 0), "{at} {threads}");
        }
    }
}
