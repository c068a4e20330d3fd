//! Options that have no effect are refused or reported, and wrong values are named.

use crate::support::TestDir;

/// Command lines with an option that has no effect, and a part of the error.
const WITHOUT_EFFECT: [(&[&str], &str); 24] = [
    (&["gc", "--store", "."], "does not use a store"),
    (&["restore", "--store", "."], "does not use a store"),
    (&["mcp", "--store", "."], "does not use a store"),
    (&["config", "--store", "."], "does not use a store"),
    (&["resume", "--store", "."], "does not use a store"),
    (&["-c", "--store", "."], "a session of this machine, not of a store"),
    (&["ls", "--dir", ".", "--store", "."], "--store and a directory exclude each other"),
    (&["ls", ".", "--store", "."], "--store and a directory exclude each other"),
    (&["usage", "--dir", ".", "--store", "."], "--store and a directory exclude each other"),
    (&["search", "x", "-d", ".", "--store", "."], "--store and a directory exclude each other"),
    (&["watch", "--dir", ".", "--store", "."], "--store and a directory exclude each other"),
    (&["push", "s.jsonl", "--store", ".", "--token-file", "t"], "--token-file is for a server"),
    (&["sync", "--store", ".", "--until-idle", "0"], "--until-idle needs --watch"),
    (&["restore", "--to", "."], "--to needs a session"),
    (&["config", "path", "--json"], "--json is for `treering config show`"),
    (&["config", "init", "--json"], "--json is for `treering config show`"),
    (&["export", "s.jsonl", "--thinking", "-o", "x.html"], "are for Markdown"),
    (&["export", "s.jsonl", "--full", "-f", "json"], "are for Markdown"),
    (&["search", "x", "-d", ".", "--files", "--per-session", "3"], "cannot be used with"),
    (&["usage", "weekly", "--statusline", "-d", "."], "cannot be used with"),
    (&["usage", "--statusline", "--since", "3d", "-d", "."], "cannot be used with"),
    (&["context", "s.jsonl", "--view", "agent", "--strict"], "cannot be used with"),
    (&["context", "s.jsonl", "--provider", "anthropic", "--strict"], "cannot be used with"),
    (&["stats", "s.jsonl", "s2.jsonl", "--branch", "a1"], "applies to a single session"),
];

#[test]
fn an_option_without_effect_is_refused() {
    let test_dir = TestDir::with_story();
    test_dir.write("s2.jsonl", test_dir.read("s.jsonl").as_bytes());
    for (args, expected) in WITHOUT_EFFECT {
        let error = test_dir.run(args).misused();
        assert!(error.contains(expected), "{args:?}: {error}");
    }
    assert!(!test_dir.file("x.html").exists());
}

#[test]
fn an_option_in_the_environment_does_not_count_as_given() {
    let test_dir = TestDir::with_story();
    let with_store = |args: &[&str]| {
        let mut command = test_dir.command(args);
        command.env("TREERING_STORE", test_dir.file("nowhere")).output().unwrap()
    };
    for args in [&["gc"][..], &["restore"], &["ls", "."], &["search", "brief", "-d", "."]] {
        assert!(with_store(args).status.success(), "{args:?}");
    }
    assert!(!with_store(&["ls"]).status.success());
    assert_eq!(test_dir.run(&["gc", "--store", "local"]).code, 0);
}

/// Command lines with a wrong value, and a part of the error.
const WRONG_VALUES: [(&[&str], &str); 25] = [
    (&["ls", "--store", ""], "a value is required for '--store <URL>'"),
    (&["ls", ".", "--limit", "0"], "expected a number of at least 1"),
    (&["ls", ".", "--limit", "-1"], "invalid value '-1' for '--limit <N>': expected a number"),
    (&["search", "x", "-d", ".", "--limit", "0"], "expected a number of at least 1"),
    (&["tail", "s.jsonl", "-n", "-1"], "invalid value '-1'"),
    (&["tail", "s.jsonl", "--until-idle", "-1"], "expected a number of seconds"),
    (&["compact", "s.jsonl", "--keep-recent", "-5"], "invalid value '-5'"),
    (&["goto", "s.jsonl", "a1", "--label", ""], "a label cannot be empty"),
    (&["label", "s.jsonl", "a1", " "], "a label cannot be empty"),
    (&["chat", "-p", "x", "--provider", "extractive"], "choose anthropic or openai"),
    (&["fork", "s.jsonl", "--redact-pattern", "x="], "the pattern \"x\" has no expression"),
    (&["convert", "s.jsonl", "--to", "omp", "-o", "-"], "cannot be written to standard output"),
    (&["redact", "s.jsonl", "-o", "-"], "cannot be written to standard output"),
    (&["doctor", "s.jsonl", "--repair", "-o", "-"], "cannot be written to standard output"),
    (&["serve", "--listen", "nonsense"], "cannot listen on nonsense:"),
    (&["serve", "--listen", ""], "a value is required"),
    (&["serve", "--listen", "127.0.0.1:0", "--host", ""], "expected a name such as"),
    (&["serve", "--listen", "127.0.0.1:0", "--host", "http://x/"], "expected a name such as"),
    (&["fork", "s.jsonl", "--in-store", "--store", "."], "and s.jsonl is a file"),
    (&["token", "create", "--scope", "read", "--expires", "2027-01-31"], "a time from now on"),
    (&["token", "create", "--scope", "read", "--expires", "0d"], "a time from now on"),
    (&["token", "create", "--scope", "read", "--name", ""], "a value is required"),
    (&["usage", "-d", ".", "--since", "2026-02-01", "--until", "2026-01-01"], "is later than"),
    (&["usage", "-d", ".", "--model", ""], "a value is required"),
    (&["s.jsonl"], "\"s.jsonl\" is a file, not a command\nhint: `treering open s.jsonl` shows"),
];

#[test]
fn a_wrong_value_is_named() {
    let test_dir = TestDir::with_story();
    for (args, expected) in WRONG_VALUES {
        let error = test_dir.run(args).misused();
        assert!(error.contains(expected), "{args:?}: {error}");
    }
    assert!(!test_dir.file("-").exists());
    assert!(!test_dir.file("home/.local/state/treering/token").exists(), "a wrong address");
}

#[test]
fn a_store_that_is_a_file_is_not_one_that_is_missing() {
    let test_dir = TestDir::with_story();
    let error = test_dir.run(&["ls", "--store", "s.jsonl"]).failed();
    let expected = "error: s.jsonl is not a directory\nhint: a store is a directory, https://HOST";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn a_session_that_is_named_twice_is_meant_once() {
    let test_dir = TestDir::with_story();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    let file = std::fs::File::options().write(true).open(test_dir.file("s.jsonl")).unwrap();
    file.set_modified(old).unwrap();
    drop(file);
    let once = test_dir.run(&["stats", "s.jsonl", "--json"]).ok();
    assert_eq!(test_dir.run(&["stats", "s.jsonl", "./s.jsonl", "--json"]).ok(), once);
    assert_eq!(test_dir.run(&["archive", "s.jsonl", "./s.jsonl"]).code, 0);
    let twice = ["unarchive", "s.jsonl.zst", "s.jsonl.zst"];
    assert_eq!(test_dir.run(&twice).ok().lines().count(), 1);
    file_settles(&test_dir);
    assert_eq!(test_dir.run(&["rm", "-y", "s.jsonl", "./s.jsonl"]).ok().lines().count(), 1);
}

/// Makes the modification time of the session so old that it counts as unused.
fn file_settles(test_dir: &TestDir) {
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    let file = std::fs::File::options().write(true).open(test_dir.file("s.jsonl")).unwrap();
    file.set_modified(old).unwrap();
}

#[test]
fn a_file_with_the_name_of_an_unknown_session_is_reported() {
    let test_dir = TestDir::with_story();
    let ran = test_dir.run(&["append", "0c8f", "--user", "x"]);
    let note = "note: no session is named 0c8f: it was created as a file\n";
    assert_eq!((ran.code, &*ran.stderr), (0, note));
    test_dir.run(&["append", "0c8f", "--user", "x"]).ok();
    test_dir.run(&["append", "./0c8f", "--user", "x"]).ok();
    test_dir.run(&["append", "new.jsonl", "--user", "x"]).ok();
}

#[test]
fn an_unknown_entry_is_reported_with_its_session() {
    let test_dir = TestDir::with_story();
    test_dir.write("other.jsonl", test_dir.read("s.jsonl").as_bytes());
    for args in [
        &["diff", "s.jsonl", "a1", "zz", "--with", "other.jsonl"][..],
        &["cherry-pick", "s.jsonl", "zz", "--from", "other.jsonl"],
    ] {
        let error = test_dir.run(args).failed();
        let expected = "error: no entry \"zz\"\nhint: `treering tree other.jsonl` lists the ids\n";
        assert_eq!(error, expected, "{args:?}");
    }
    let error = test_dir.run(&["append", "new.jsonl", "--user", "x", "--parent", "zz"]).failed();
    assert!(error.starts_with("error: no entry \"zz\": there is no new.jsonl yet\n"), "{error}");
}

#[test]
fn a_summary_of_nothing_is_reported() {
    let test_dir = TestDir::with_story();
    for args in [
        &["goto", "s.jsonl", "b4", "--summarize", "--summarizer", "extractive"][..],
        &["pop", "s.jsonl", "b4", "--summarizer", "extractive"],
    ] {
        let ran = test_dir.run(args);
        let note = "note: no branch was abandoned: there is nothing to summarize\n";
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "b4\n", note));
    }
}

#[test]
fn output_for_programs_has_no_remarks() {
    let test_dir = TestDir::with_story();
    let ran = test_dir.run(&["merge", "s.jsonl", "a1", "--full"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert!(ran.stderr.starts_with("note: nothing to merge: "), "{}", ran.stderr);
    let ran = test_dir.run(&["compact", "s.jsonl", "--summarizer", "extractive"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert!(ran.stderr.starts_with("note: nothing to compact: "), "{}", ran.stderr);
}

#[test]
fn a_search_says_why_it_searched_nothing() {
    let test_dir = TestDir::with_story();
    let notice = |args: &[&str]| {
        let ran = test_dir.run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{args:?}");
        ran.stderr
    };
    let filtered = notice(&["search", "brief since:2100-01-01", "-d", "."]);
    assert_eq!(filtered, "note: no session passes the filters of the query\n");
    std::fs::create_dir(test_dir.file("store")).unwrap();
    let empty = notice(&["search", "brief", "--store", "store"]);
    assert!(empty.contains("`treering ls --all --store "), "{empty}");
    test_dir.write("notes.jsonl", b"Buy milk.\n");
    let no_session = notice(&["search", "brief", "-d", "notes.jsonl"]);
    assert!(no_session.starts_with("error: notes.jsonl: not a session"), "{no_session}");
}

#[test]
fn a_directory_that_is_watched_may_be_missing_but_not_a_file() {
    let test_dir = TestDir::with_story();
    let ran = test_dir.run(&["watch", "--dir", "later", "--until-idle", "0"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.starts_with("note: later does not exist yet\n"), "{}", ran.stderr);
    let error = test_dir.run(&["watch", "--dir", "s.jsonl", "--until-idle", "0"]).failed();
    assert!(error.starts_with("error: cannot read s.jsonl: "), "{error}");
}

#[test]
fn an_archive_is_described_without_the_words_of_the_decoder() {
    let test_dir = TestDir::with_story();
    test_dir.write("x.jsonl.zst", b"not compressed\n");
    let error = test_dir.run(&["unarchive", "x.jsonl.zst"]).failed();
    let expected = "error: x.jsonl.zst: the file is compressed (zstd) and damaged: \
                    it contains data in another format; nothing was changed\n";
    assert_eq!(error, expected);
    let error = test_dir.run(&["move", "x.jsonl.zst", "."]).failed();
    let expected = "error: x.jsonl.zst: an archived session cannot be moved\n\
                    hint: `treering unarchive x.jsonl.zst` decompresses it\n";
    assert_eq!(error, expected);
}

#[test]
fn a_session_of_a_store_is_pulled_from_that_store() {
    let test_dir = TestDir::with_story();
    std::fs::create_dir(test_dir.file("store")).unwrap();
    test_dir.run(&["push", "s.jsonl", "--store", "store"]).ok();
    let error = test_dir.run(&["doctor", "demo-1", "--store", "store"]).failed();
    let hint = "hint: `treering pull demo-1 --store store` copies it to a file\n";
    assert!(error.ends_with(hint), "{error}");
    test_dir.run(&["pull", "demo-1", "--store", "store"]).ok();
}

#[test]
fn wrong_key_bindings_are_wrong_configuration() {
    let test_dir = TestDir::with_story();
    test_dir.write("home/.config/treering/config.toml", b"[keys.tree]\nfly = 'F'\n");
    let error = test_dir.run(&["config"]).failed();
    assert!(error.starts_with("error: configuration, [keys.tree] fly: "), "{error}");
}

#[test]
fn files_that_are_no_sessions_are_counted_in_words() {
    let test_dir = TestDir::empty();
    for number in 0..6 {
        test_dir.write(&format!("{number}.jsonl"), b"Buy milk.\n");
    }
    let ran = test_dir.run(&["ls", "."]);
    let last = ran.stderr.lines().last().unwrap();
    assert_eq!(last, "warning: … and 1 more file that is not a session");
}
