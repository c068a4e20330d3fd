//! Publishing: a site of all sessions, and a redacted copy sent to a command.

use crate::support::{Ran, TestDir, header, story};

const SECRET: &str = "ghp_0A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r";

/// Two sessions of two projects, one with a secret.
fn test_dir() -> TestDir {
    let test_dir = TestDir::empty();
    std::fs::create_dir(test_dir.file("sessions")).unwrap();
    let all: String = [header()].iter().chain(&story()).map(|line| format!("{line}\n")).collect();
    test_dir.write("sessions/one.jsonl", all.as_bytes());
    let question = format!(
        r#"{{"type":"message","id":"q1","parentId":null,"timestamp":"2026-01-05T09:00:01.000Z","message":{{"role":"user","content":"use {SECRET} please","timestamp":1767603601000}}}}"#
    );
    let other = format!(
        "{}\n{question}\n",
        header().replace("demo-1", "demo-2").replace("/project", "/other")
    );
    test_dir.write("sessions/two.jsonl", other.as_bytes());
    test_dir
}

fn run(test_dir: &TestDir, args: &[&str]) -> Ran {
    let output = test_dir
        .command(args)
        .env("TREERING_SESSIONS", test_dir.file("sessions"))
        .output()
        .unwrap();
    Ran {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn a_site_is_written_once_filtered_and_redacted() {
    let test_dir = test_dir();
    let written = run(&test_dir, &["export", "--site", "site"]).ok();
    assert_eq!(written, "site/index.html: 2 pages written, 0 unchanged, 0 removed\n");
    let written = run(&test_dir, &["export", "--site", "site"]).ok();
    assert_eq!(written, "site/index.html: 0 pages written, 2 unchanged, 0 removed\n");
    assert!(test_dir.read("site/index.html").contains(SECRET));

    let written = run(&test_dir, &["export", "--site", "site", "--redact"]).ok();
    assert_eq!(written, "site/index.html: 2 pages written, 0 unchanged, 0 removed\n");
    let mut rest = vec![test_dir.file("site")];
    while let Some(dir) = rest.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                rest.push(path);
                continue;
            }
            let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).to_lowercase();
            assert!(!text.contains(&SECRET.to_lowercase()), "{}", path.display());
        }
    }
    let written =
        run(&test_dir, &["export", "--site", "site", "--redact", "--project", "other"]).ok();
    assert_eq!(written, "site/index.html: 0 pages written, 1 unchanged, 1 removed\n");

    // The sessions of a store.
    let written = run(&test_dir, &["export", "--site", "other", "--store", "sessions"]).ok();
    assert_eq!(written, "other/index.html: 2 pages written, 0 unchanged, 0 removed\n");

    test_dir.write("mine/letter.txt", b"dear");
    let error = run(&test_dir, &["export", "--site", "mine"]).failed();
    assert!(error.contains("is not a site of treering"), "{error}");
    assert_eq!(run(&test_dir, &["export"]).code, 2, "a session or a site");
    let error = run(&test_dir, &["export", "demo-1", "--since", "7d"]).misused();
    assert!(error.contains("choose the sessions of a site"), "{error}");
    let error = run(&test_dir, &["export", "--site", "site", "--project", "none"]).failed();
    assert!(error.contains("nothing was written"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_redacted_copy_is_sent_to_the_configured_command() {
    let test_dir = test_dir();
    let config = "[share]\ncommand = [\"sh\", \"-c\", \"cat \\\"$0\\\" > sent; echo \\\"$1\\\" > title\", \"{file}\", \"{title}\"]\n";
    test_dir.write("home/.config/treering/config.toml", config.as_bytes());
    let refused = run(&test_dir, &["share", "demo-2"]).failed();
    assert!(
        refused.contains("only a terminal can ask") && !test_dir.file("sent").exists(),
        "{refused}"
    );
    let printed = run(&test_dir, &["share", "demo-2", "--print"]).ok();
    assert!(printed.contains("[REDACTED:") && !printed.contains(SECRET), "{printed}");
    assert!(!test_dir.file("sent").exists());
    let ran = run(&test_dir, &["share", "demo-2", "--yes"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("redacted: 1 ") && ran.stderr.contains("command: sh -c "),
        "{}",
        ran.stderr
    );
    assert_eq!(test_dir.read("sent"), printed);
    assert!(test_dir.read("title").contains("[REDACTED:"));

    test_dir.write(
        "home/.config/treering/config.toml",
        b"[share]\ncommand = [\"no-such-program-at-all\"]\n",
    );
    let error = run(&test_dir, &["share", "demo-2", "--yes"]);
    assert!(error.code == 1 && error.stderr.contains("nothing was sent"), "{}", error.stderr);
}
