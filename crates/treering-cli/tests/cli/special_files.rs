//! Files that are no regular files, and files that pretend to be smaller than they are.

use crate::support::{Ran, TestDir, header, story, user};
use std::io::Read;
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

/// Runs the program, which must end by itself: a test that waits for it must fail, not hang.
#[track_caller]
fn run(test_dir: &TestDir, args: &[&str]) -> Ran {
    let mut command = test_dir.command(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let (done, ended) = mpsc::channel();
    std::thread::spawn(move || {
        let (mut out, mut err) = (String::new(), String::new());
        stdout.read_to_string(&mut out).unwrap();
        stderr.read_to_string(&mut err).unwrap();
        let _ = done.send((out, err));
    });
    let ended = ended.recv_timeout(Duration::from_secs(300));
    if ended.is_err() {
        child.kill().unwrap();
    }
    let code = child.wait().unwrap().code();
    let (stdout, stderr) = ended.expect("it ends by itself");
    Ran { code: code.unwrap(), stdout, stderr }
}

/// A directory with a session, a named pipe that only reading could open, and a link to a device
/// that
/// never ends.
fn test_dir() -> TestDir {
    let test_dir = TestDir::with_story();
    std::fs::create_dir(test_dir.file("d")).unwrap();
    test_dir.write("d/s.jsonl", test_dir.read("s.jsonl").as_bytes());
    for name in ["p.jsonl", "p.jsonl.zst", "d/p.jsonl"] {
        let mut mkfifo = std::process::Command::new("mkfifo");
        assert!(mkfifo.args(["-m", "444"]).arg(test_dir.file(name)).status().unwrap().success());
    }
    for name in ["z.jsonl", "z.jsonl.zst", "d/z.jsonl"] {
        std::os::unix::fs::symlink("/dev/zero", test_dir.file(name)).unwrap();
    }
    test_dir
}

#[test]
fn no_command_waits_for_a_pipe_or_reads_a_device() {
    let test_dir = test_dir();
    for file in ["p.jsonl", "z.jsonl"] {
        let packed = format!("{file}.zst");
        for args in [
            &["rm", file, "--force"][..],
            &["rm", file],
            &["archive", file],
            &["unarchive", &packed],
            &["move", file, "."],
            &["search", "kettle", "-d", file],
            &["context", file],
            &["log", file],
            &["tree", file],
            &["stats", file],
            &["doctor", file],
            &["export", file],
            &["redact", file],
            &["convert", file, "--to", "omp"],
            &["append", file, "--user", "x"],
            &["migrate", file],
            &["tail", file],
            &["name", file, "x"],
            &["fork", file],
            &["cherry-pick", "s.jsonl", "a1", "--from", file],
        ] {
            let ran = run(&test_dir, args);
            assert_ne!(ran.code, 0, "{args:?}: {}", ran.stdout);
            let named = ["regular file", "it is a link", "device", "unexpected argument"];
            assert!(named.iter().any(|name| ran.stderr.contains(name)), "{args:?}: {}", ran.stderr);
        }
    }
}

#[test]
fn what_is_no_file_does_not_hide_the_sessions_beside_it() {
    let test_dir = test_dir();
    for args in [&["ls", "d"][..], &["search", "kettle", "d"], &["stats", "d/s.jsonl"]] {
        let ran = run(&test_dir, args);
        assert_ne!(ran.code, 2, "{args:?}: {}", ran.stderr);
    }
    assert!(run(&test_dir, &["ls", "d", "--json"]).stdout.contains("s.jsonl"));
}

/// A frame of `blocks` blocks of 128 KiB, after a session with one message.
fn bomb(blocks: usize) -> Vec<u8> {
    let session = format!("{}\n{}\n", header(), user("a1", None, 1, "kettle"));
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let mut bytes = ruzstd::encoding::compress_to_vec(session.as_bytes(), level);
    bytes.extend([0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x38]);
    for at in 0..blocks {
        let header = u32::from(at + 1 == blocks) | 1 << 1 | (128 << 10) << 3;
        bytes.extend(&header.to_le_bytes()[..3]);
        bytes.push(b'\n');
    }
    bytes
}

#[test]
fn an_archive_that_is_a_bomb_is_listed_and_not_unpacked() {
    let test_dir = TestDir::empty();
    // An archive of 64 KB that contains 2 GB.
    test_dir.write("b.jsonl.zst", bomb(16_000));
    let listed = run(&test_dir, &["ls", ".", "--json"]).json();
    assert_eq!(
        (&listed[0]["firstMessage"], &listed[0]["partial"]),
        (&"kettle".into(), &true.into())
    );
    let shown = run(&test_dir, &["ls", "."]).ok();
    assert!(shown.contains("1+"), "{shown}");

    let refused = run(&test_dir, &["unarchive", "b.jsonl.zst"]).failed();
    insta::assert_snapshot!(refused, @r"
    error: b.jsonl.zst: the file is compressed (zstd) and its content is larger than 1000 times its size; nothing was changed
    hint: if you trust the file, `treering unarchive --max-size 20G b.jsonl.zst` decompresses it
    ");
    let refused = run(&test_dir, &["log", "b.jsonl.zst"]).failed();
    insta::assert_snapshot!(refused, @r"
    error: cannot read b.jsonl.zst: the file is compressed (zstd) and its content is larger than 1000 times its size
    hint: if you trust the file, `treering unarchive --max-size 20G b.jsonl.zst` decompresses it
    ");
    let mut names: Vec<_> =
        test_dir.path().read_dir().unwrap().map(|e| e.unwrap().file_name()).collect();
    names.retain(|name| name != "home");
    assert_eq!(names, ["b.jsonl.zst"], "nothing is left behind");
}

#[test]
fn a_limit_that_is_set_by_hand_is_kept() {
    let test_dir = TestDir::empty();
    // 100 MB: within the first 64 MiB no ratio is wrong, beyond that it is.
    test_dir.write("b.jsonl.zst", bomb(800));
    run(&test_dir, &["unarchive", "b.jsonl.zst"]).failed();
    let small = run(&test_dir, &["unarchive", "b.jsonl.zst", "--max-size", "99M"]).failed();
    assert!(small.contains("larger than 103809024 bytes"), "{small}");
    run(&test_dir, &["unarchive", "b.jsonl.zst", "--max-size", "101M"]).ok();
    assert!(test_dir.file("b.jsonl").metadata().unwrap().len() > 100 << 20);
}

#[test]
fn an_archive_within_the_limits_is_listed_as_a_whole() {
    let test_dir = TestDir::empty();
    let lines: Vec<String> = [header()].into_iter().chain(story()).collect();
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let text = lines.join("\n") + "\n";
    test_dir.write("a.jsonl", text.as_bytes());
    test_dir.write("b.jsonl.zst", ruzstd::encoding::compress_to_vec(text.as_bytes(), level));
    let listed = run(&test_dir, &["ls", ".", "--json"]).json();
    assert_eq!(listed.len(), 2);
    assert!(listed.iter().all(|session| session.get("partial").is_none()));
    for key in ["messageCount", "entryCount", "branchCount", "tokens", "cost", "size", "modified"] {
        assert_eq!(listed[0][key], listed[1][key], "{key}");
    }
}

#[test]
fn an_output_that_cannot_be_written_does_not_hide_what_was_done() {
    let test_dir = TestDir::with_story();
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let run = |args: &[&str]| {
        let output = test_dir.command(args).stdout(full()).stdin(Stdio::null()).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let before = test_dir.read("s.jsonl").lines().count();
    let (code, error) = run(&["append", "s.jsonl", "--user", "written"]);
    assert_eq!((code, test_dir.read("s.jsonl").lines().count()), (1, before + 1));
    let last: serde_json::Value =
        serde_json::from_str(test_dir.read("s.jsonl").lines().last().unwrap()).unwrap();
    let id = last["id"].as_str().unwrap();
    assert!(
        error
            .starts_with(&format!("error: entry {id} was written, but its id cannot be printed: ")),
        "{error}"
    );
    assert!(error.contains("do not append it again; see `treering log s.jsonl`"), "{error}");
    let (code, error) = run(&["goto", "s.jsonl", "a1"]);
    assert_eq!(code, 1);
    assert!(error.contains("files may have been changed already"), "{error}");
    let (code, error) = run(&["log", "s.jsonl"]);
    assert_eq!(code, 1);
    assert!(!error.contains("changed"), "{error}");
}
