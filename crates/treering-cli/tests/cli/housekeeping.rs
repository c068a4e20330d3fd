//! Tests of removing, archiving, moving and cleaning up: no session is lost.

use crate::support::{Ran, TestDir, entry, header, story, user};
use serde_json::{Value, json};
use std::fs::File;
use std::time::{Duration, SystemTime};

/// Runs the program at noon.
fn run(test_dir: &TestDir, args: &[&str]) -> Ran {
    let output =
        test_dir.command(args).env("TREERING_NOW", "2026-01-05T12:00:00Z").output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The output without the name of the scratch directory.
fn shown(test_dir: &TestDir, text: &str) -> String {
    let real = test_dir.path().canonicalize().unwrap();
    text.replace(real.to_str().unwrap(), "HERE").replace(test_dir.path().to_str().unwrap(), "HERE")
}

/// A file that was not written to for years.
fn old(test_dir: &TestDir, name: &str, text: &str) {
    test_dir.write(name, text.as_bytes());
    let file = File::options().append(true).open(test_dir.file(name)).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)).unwrap();
}

const TRASH: &str = "home/.local/share/Trash";

#[cfg(target_os = "linux")]
#[test]
fn what_is_removed_can_come_back() {
    let test_dir = TestDir::with_story();
    let before = test_dir.read("s.jsonl");
    let ran = run(&test_dir, &["rm", "s.jsonl"]).ok();
    assert_eq!(
        shown(&test_dir, &ran),
        "s.jsonl: in the trash: HERE/home/.local/share/Trash/files/s.jsonl\n"
    );
    assert_eq!(test_dir.read(&format!("{TRASH}/files/s.jsonl")), before);
    let info = test_dir.read(&format!("{TRASH}/info/s.jsonl.trashinfo"));
    insta::assert_snapshot!(shown(&test_dir, &info), @r"
    [Trash Info]
    Path=HERE/s.jsonl
    DeletionDate=2026-01-05T12:00:00
    ");
    test_dir.write("s.jsonl", before.as_bytes());
    let again = run(&test_dir, &["rm", "s.jsonl", "--json"]).json();
    let trash = test_dir.file(&format!("{TRASH}/files/s.jsonl.2"));
    assert_eq!(again, [json!({"path": "s.jsonl", "trash": trash})]);
    assert!(!test_dir.file("s.jsonl").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn sessions_come_back_from_the_trash() {
    let test_dir = TestDir::with_story();
    let before = test_dir.read("s.jsonl");
    assert_eq!(run(&test_dir, &["restore"]).stderr, "note: no session is in the trash\n");
    run(&test_dir, &["rm", "s.jsonl"]).ok();
    test_dir.write("two.jsonl", before.replace("demo-1", "demo-2").as_bytes());
    run(&test_dir, &["name", "two.jsonl", "second"]).ok();
    run(&test_dir, &["rm", "two.jsonl"]).ok();
    // The trash has files of others, too.
    test_dir.write(&format!("{TRASH}/files/letter.txt"), b"dear");
    test_dir.write(&format!("{TRASH}/files/broken.jsonl"), b"no session");

    let listed = run(&test_dir, &["restore", "--json"]).json();
    let mut ids: Vec<&str> = listed.iter().map(|one| one["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["demo-1", "demo-2"]);
    let list = run(&test_dir, &["restore"]).ok();
    assert!(list.starts_with("DELETED") && list.contains("second"), "{list}");

    let back = run(&test_dir, &["restore", "demo-1"]).ok();
    assert_eq!(shown(&test_dir, &back), "restored: HERE/s.jsonl\n");
    assert_eq!(test_dir.read("s.jsonl"), before);
    // Nothing is replaced, and what is not restored stays in the trash.
    test_dir.write("two.jsonl", b"something else");
    let error = run(&test_dir, &["restore", "second"]).failed();
    assert!(error.contains("cannot restore") && error.contains("--to PATH"), "{error}");
    assert_eq!(test_dir.read("two.jsonl"), "something else");
    let elsewhere = test_dir.file("elsewhere.jsonl");
    let back =
        run(&test_dir, &["restore", "--last", "--json", "--to", elsewhere.to_str().unwrap()]);
    assert_eq!(back.json()[0]["path"], json!(elsewhere));
    assert!(test_dir.read("elsewhere.jsonl").contains("demo-2"));
    assert_eq!(run(&test_dir, &["restore", "--json"]).ok(), "");
    assert!(run(&test_dir, &["restore", "demo-1"]).failed().contains("demo-1"));
}

#[test]
fn by_force_it_is_gone_for_good() {
    let test_dir = TestDir::with_story();
    assert_eq!(run(&test_dir, &["rm", "s.jsonl", "--force"]).ok(), "s.jsonl: deleted\n");
    assert!(!test_dir.file("s.jsonl").exists() && !test_dir.file(TRASH).exists());
}

#[test]
fn what_is_written_to_stays() {
    let test_dir = TestDir::with_story();
    test_dir.write("t.jsonl", test_dir.read("s.jsonl").as_bytes());
    // Without a pretended time: it was written to just now.
    for args in [&["rm", "s.jsonl"][..], &["archive", "s.jsonl"]] {
        let error = test_dir.run(args).failed();
        insta::allow_duplicates! {
            insta::assert_snapshot!(error, @r"
            error: s.jsonl: it was written to a moment ago
            hint: stop the program that writes to it, and try again in 10 seconds
            ");
        }
    }
    let file = File::open(test_dir.file("s.jsonl")).unwrap();
    file.lock().unwrap();
    for args in [&["rm", "t.jsonl", "s.jsonl", "--force"][..], &["archive", "s.jsonl"]] {
        let error = run(&test_dir, args).failed();
        insta::allow_duplicates! {
            insta::assert_snapshot!(error, @r"
            error: s.jsonl: another process is writing to it
            hint: try again when it is done
            ");
        }
    }
    assert!(test_dir.file("s.jsonl").exists());
    assert!(test_dir.file("t.jsonl").exists(), "all or none");
}

#[test]
fn only_sessions_are_removed() {
    let test_dir = TestDir::empty();
    test_dir.write("notes.txt", b"dear diary\n");
    let error = run(&test_dir, &["rm", "notes.txt", "--force"]).failed();
    assert!(error.starts_with("error: notes.txt: not a session"), "{error}");
    assert!(test_dir.file("notes.txt").exists());
    std::fs::create_dir(test_dir.file("dir")).unwrap();
    assert_eq!(
        run(&test_dir, &["rm", "dir", "--force"]).failed(),
        "error: dir: it is a directory, not a regular file\n"
    );
}

#[test]
fn without_a_trash_the_way_out_is_named() {
    let test_dir = TestDir::with_story();
    test_dir.write("home/.local", b"in the way");
    let error = run(&test_dir, &["rm", "s.jsonl"]).failed();
    assert!(error.starts_with("error: cannot move s.jsonl to the trash: "), "{error}");
    assert!(error.ends_with("hint: `treering rm --force` deletes permanently\n"), "{error}");
    assert!(test_dir.file("s.jsonl").exists());
}

#[test]
fn an_archived_session_is_read_as_before_and_comes_back() {
    let test_dir = TestDir::empty();
    let more = (0..200).map(|at| user(&format!("n{at}"), Some("b4"), 8, &"word ".repeat(50)));
    let lines: Vec<String> = [header()].into_iter().chain(story()).chain(more).collect();
    old(&test_dir, "s.jsonl", &format!("{}\n", lines.join("\n")));
    let before = (test_dir.read("s.jsonl"), test_dir.run(&["log", "s.jsonl"]).ok());
    let ran = run(&test_dir, &["archive", "s.jsonl"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stdout.starts_with("s.jsonl.zst: 82 KB → 2.0 KB\n"), "{}", ran.stdout);
    assert_eq!(
        ran.stderr,
        "note: pi cannot find it until you run `treering unarchive s.jsonl.zst`\n"
    );
    assert!(!test_dir.file("s.jsonl").exists());
    let modified = |name: &str| test_dir.file(name).metadata().unwrap().modified().unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    assert_eq!(modified("s.jsonl.zst"), time);
    assert!(test_dir.file("s.jsonl.zst").metadata().unwrap().len() < before.0.len() as u64 / 5);
    assert_eq!(test_dir.run(&["log", "s.jsonl.zst"]).ok(), before.1);
    assert!(test_dir.run(&["ls", "."]).ok().contains("What is here?"));
    let error = test_dir.run(&["append", "s.jsonl.zst", "--user", "x"]).failed();
    assert!(
        error.contains("hint: an archived session is read-only: `treering unarchive s.jsonl.zst`"),
        "{error}"
    );
    let back = run(&test_dir, &["unarchive", "s.jsonl.zst", "--json"]).json();
    assert_eq!((&back[0]["output"], &back[0]["to"]), (&json!("s.jsonl"), &json!(before.0.len())));
    assert_eq!(test_dir.read("s.jsonl"), before.0);
    assert_eq!(modified("s.jsonl"), time);
    assert_eq!(std::fs::read_dir(test_dir.path()).unwrap().count(), 1, "nothing else is left");
}

#[test]
fn what_cannot_be_archived_says_why() {
    let test_dir = TestDir::with_story();
    test_dir.write("s.jsonl.zst", b"something else");
    insta::assert_snapshot!(run(&test_dir, &["archive", "s.jsonl"]).failed(), @r"
    error: s.jsonl.zst: it already exists
    hint: nothing was changed; move one of the two away
    ");
    insta::assert_snapshot!(run(&test_dir, &["archive", "s.jsonl.zst"]).failed(), @r"
    error: s.jsonl.zst: it is already archived
    hint: `treering unarchive s.jsonl.zst` decompresses it
    ");
    insta::assert_snapshot!(run(&test_dir, &["unarchive", "s.jsonl"]).failed(), @r"
    error: s.jsonl: it is not archived
    hint: an archived session ends in .jsonl.zst
    ");
    std::fs::remove_file(test_dir.file("s.jsonl")).unwrap();
    let error = run(&test_dir, &["unarchive", "s.jsonl.zst"]).failed();
    assert!(error.ends_with("; nothing was changed\n"), "{error}");
    assert_eq!(test_dir.read("s.jsonl.zst"), "something else");
    assert!(!test_dir.file("s.jsonl").exists());
}

/// A directory with everything that can go, and things that look like it.
fn cluttered() -> TestDir {
    let test_dir = TestDir::empty();
    let dir = "home/.pi/agent/sessions";
    let usual = format!("{dir}/--project--");
    let text = format!("{}\n{}\n", header(), user("a1", None, 1, "hello"));
    old(&test_dir, &format!("{usual}/kept.jsonl"), &text);
    old(&test_dir, &format!("{dir}/--a--/copy.jsonl"), &text);
    old(&test_dir, &format!("{usual}/kept.jsonl.77-0.tmp"), "half");
    old(&test_dir, &format!("{usual}/theirs.jsonl.tmp"), "not ours");
    old(&test_dir, &format!("{usual}/blank.jsonl"), "");
    let other = |id: &str| header().replace("demo-1", id);
    let model = entry("model_change", "m1", None, 1, json!({"provider": "a", "modelId": "b"}));
    old(&test_dir, &format!("{usual}/empty.jsonl"), &format!("{}\n{model}\n", other("e1")));
    let name = entry("session_info", "n1", None, 1, json!({"name": "To do"}));
    old(&test_dir, &format!("{usual}/named.jsonl"), &format!("{}\n{name}\n", other("e2")));
    old(
        &test_dir,
        &format!("{usual}/damaged.jsonl"),
        &format!("{}\n{{\"type\":\"mess\n", other("e3")),
    );
    test_dir.write(&format!("{usual}/fresh.jsonl"), format!("{}\n", other("e4")).as_bytes());
    // Of the same id and size, but not the same.
    old(&test_dir, &format!("{dir}/--a--/nearly.jsonl"), &text.replace("hello", "hallo"));
    test_dir
}

#[cfg(target_os = "linux")]
#[test]
fn gc_removes_copies_and_empty_or_unfinished_files() {
    let test_dir = cluttered();
    let ran = run(&test_dir, &["gc"]);
    assert_eq!(ran.code, 0);
    let listed = shown(&test_dir, &ran.stdout).replace("HERE/home/.pi/agent/sessions", "…");
    insta::assert_snapshot!(listed, @r"
    …/--a--/copy.jsonl (255 B, the same as …/--project--/kept.jsonl)
    …/--project--/blank.jsonl (0 B, empty)
    …/--project--/empty.jsonl (215 B, empty)
    …/--project--/kept.jsonl.77-0.tmp (4 B, unfinished)
    ");
    insta::assert_snapshot!(ran.stderr, @r"
    note: 4 files, 474 B
    hint: `treering gc --yes` moves them to the trash
    ");
    assert!(!test_dir.file(TRASH).exists(), "without --yes nothing happens");
    let done = run(&test_dir, &["gc", "--yes", "--json"]).json();
    let reasons: Vec<&Value> = done.iter().map(|item| &item["reason"]).collect();
    assert_eq!(reasons, ["duplicate", "empty", "empty", "unfinished"]);
    for item in &done {
        assert!(!std::path::Path::new(item["path"].as_str().unwrap()).exists(), "{item}");
        assert!(std::path::Path::new(item["trash"].as_str().unwrap()).exists(), "{item}");
    }
    let ran = run(&test_dir, &["gc", "--yes"]);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", "note: nothing to clean up\n"));
    let left = std::fs::read_dir(test_dir.file("home/.pi/agent/sessions/--project--")).unwrap();
    assert_eq!(left.count(), 5);
}

#[cfg(target_os = "linux")]
#[test]
fn a_session_goes_to_another_project() {
    let test_dir = TestDir::empty();
    let root = "home/.pi/agent/sessions";
    let odd = header().replace("\"cwd\"", "\"mine\":1.50,\"cwd\"");
    let text = format!("{odd}\n{}\n", story().join("\n"));
    old(&test_dir, &format!("{root}/--project--/s.jsonl"), &text);
    std::fs::create_dir(test_dir.file("new")).unwrap();
    let ran = run(&test_dir, &["move", "demo-1", "new"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let real = test_dir.path().canonicalize().unwrap();
    let real = real.to_str().unwrap();
    let dir = format!("--{}-new--", real.trim_start_matches('/').replace('/', "-"));
    let target = format!("{root}/{dir}/s.jsonl");
    assert_eq!(shown(&test_dir, &ran.stdout), format!("HERE/{target}: now belongs to HERE/new\n"));
    assert_eq!(
        shown(&test_dir, &ran.stderr),
        "note: the old file is HERE/home/.local/share/Trash/files/s.jsonl\n"
    );
    assert_eq!(test_dir.read(&target), text.replace("/project\"}", &format!("{real}/new\"}}")));
    assert_eq!(test_dir.read(&format!("{TRASH}/files/s.jsonl")), text);
    assert!(!test_dir.file(&format!("{root}/--project--/s.jsonl")).exists());
    let error = run(&test_dir, &["move", "demo-1", "new"]).failed();
    assert_eq!(
        shown(&test_dir, &error),
        format!("error: HERE/{target} already belongs to HERE/new\n")
    );
}

#[test]
fn a_session_kept_elsewhere_stays_there() {
    let test_dir = TestDir::with_story();
    let before = test_dir.read("s.jsonl");
    let moved = run(&test_dir, &["move", "s.jsonl", "/not/there", "--missing", "--json"]).json();
    assert_eq!(moved[0]["cwd"], "/not/there");
    assert!(moved[0]["kept"].as_str().unwrap().ends_with("s.jsonl.bak"), "{moved:?}");
    assert_eq!(test_dir.read("s.jsonl"), before.replace("/project", "/not/there"));
    assert_eq!(test_dir.read("s.jsonl.bak"), before);
}

#[test]
fn what_cannot_be_moved_says_why() {
    let test_dir = TestDir::with_story();
    let error = run(&test_dir, &["move", "s.jsonl", "nowhere"]).failed();
    assert!(error.starts_with("error: nowhere: "), "{error}");
    assert!(error.contains("hint: `--missing`"), "{error}");
    assert_eq!(
        run(&test_dir, &["move", "s.jsonl", "s.jsonl"]).failed(),
        "error: s.jsonl: not a directory\n"
    );
    let claude = r#"{"parentUuid":null,"isSidechain":false,"cwd":"/p","sessionId":"5e55","type":"user","message":{"role":"user","content":"Look."},"uuid":"u1","timestamp":"2026-01-05T09:41:00.000Z"}"#;
    test_dir.write("c.jsonl", format!("{claude}\n").as_bytes());
    let error = run(&test_dir, &["move", "c.jsonl", "."]).failed();
    assert!(error.starts_with("error: the directory in which claude-code keeps sessions of that project is not known\nhint: `treering fork "), "{error}");
}

#[test]
fn rename_is_another_word_for_name() {
    let test_dir = TestDir::with_story();
    test_dir.run(&["rename", "s.jsonl", "Tea time"]).ok();
    assert_eq!(test_dir.run(&["name", "s.jsonl"]).ok(), "Tea time\n");
}

#[cfg(unix)]
#[test]
fn a_link_is_not_taken_for_the_file() {
    let test_dir = TestDir::with_story();
    std::os::unix::fs::symlink("s.jsonl", test_dir.file("link.jsonl")).unwrap();
    for command in ["rm", "archive"] {
        let error = run(&test_dir, &[command, "link.jsonl"]).failed();
        insta::allow_duplicates! {
            insta::assert_snapshot!(error, @r"
            error: link.jsonl: it is a link
            hint: name the file itself: s.jsonl
            ");
        }
    }
    assert!(test_dir.file("s.jsonl").exists() && test_dir.file("link.jsonl").exists());
}

/// The target of a link is relative to the directory of the link, not to the current one.
#[cfg(unix)]
#[test]
fn advice_about_a_link_names_a_file_that_exists() {
    let test_dir = TestDir::with_story();
    std::fs::create_dir(test_dir.file("d")).unwrap();
    std::os::unix::fs::symlink("../s.jsonl", test_dir.file("d/link.jsonl")).unwrap();
    let error = run(&test_dir, &["rm", "d/link.jsonl"]).failed();
    insta::assert_snapshot!(error, @r"
    error: d/link.jsonl: it is a link
    hint: name the file itself: d/../s.jsonl
    ");
    assert!(test_dir.file("d/../s.jsonl").exists());

    std::os::unix::fs::symlink("nowhere.jsonl", test_dir.file("broken.jsonl")).unwrap();
    let error = run(&test_dir, &["rm", "broken.jsonl"]).failed();
    insta::assert_snapshot!(error, @r"
    error: broken.jsonl: No such file or directory (os error 2)
    hint: it is a symbolic link to a file that does not exist
    ");
    let error = run(&test_dir, &["append", "broken.jsonl", "--user", "x"]).failed();
    insta::assert_snapshot!(error, @r"
    error: cannot open broken.jsonl: No such file or directory (os error 2)
    hint: it is a symbolic link to a file that does not exist
    ");
}
