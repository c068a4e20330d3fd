use crate::support::TestDir;

#[test]
fn without_arguments_there_is_help() {
    let help = TestDir::empty().run(&[]).ok();
    assert!(help.contains("\nUsage: treering [OPTIONS] [COMMAND]\n"), "{help}");
    assert!(help.contains("treering demo"), "{help}");
}

#[test]
fn every_command_is_in_the_help_and_has_its_own() {
    let test_dir = TestDir::empty();
    let help = test_dir.run(&["--help"]).ok();
    let commands = "context log tree branches show stats append goto pop label name fork cherry-pick merge diff edit-context compact ls tail watch rm archive unarchive move gc doctor migrate demo config completions man help";
    for command in commands.split(' ') {
        assert!(help.contains(&format!("\n  {command} ")), "{command}: {help}");
        let own = test_dir.run(&[command, "--help"]).ok();
        assert!(own.contains(&format!("Usage: treering {command} ")), "{own}");
        assert!(!own.starts_with("Usage"), "{command} has no description: {own}");
        assert!(!own.contains("--quiet"), "{own}");
    }
}

#[test]
fn there_is_a_version() {
    let version = format!("treering {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(TestDir::empty().run(&["--version"]).ok(), version);
}

#[test]
fn what_makes_no_sense_is_usage() {
    let test_dir = TestDir::with_story();
    let wrong: [&[&str]; 12] = [
        &["dance"],
        &["context"],
        &["context", "s.jsonl", "--strict"],
        &["context", "s.jsonl", "--bogus"],
        &["tree", "s.jsonl", "--json", "--all"],
        &["show", "s.jsonl"],
        &["goto", "s.jsonl"],
        &["append", "s.jsonl"],
        &["append", "s.jsonl", "--user", "x", "--stdin"],
        &["append", "s.jsonl", "--user", "x", "--durability", "maybe"],
        &["append", "s.jsonl", "--assistant", "x", "--model", "noslash"],
        &["append", "s.jsonl", "--user", "x", "--model", "a/b"],
    ];
    let before = test_dir.read("s.jsonl");
    for args in wrong {
        let ran = test_dir.run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?}");
        assert!(ran.stderr.starts_with("error: "), "{args:?}: {}", ran.stderr);
    }
    assert_eq!(test_dir.read("s.jsonl"), before);
}

#[test]
fn a_file_may_have_any_name() {
    let test_dir = TestDir::empty();
    let name = "it's a file.jsonl";
    test_dir.run(&["append", name, "--user", "x"]).ok();
    let error = test_dir.run(&["show", name, "zz"]).failed();
    assert!(error.contains(r"`treering tree 'it'\''s a file.jsonl'`"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_written_can_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let test_dir = TestDir::with_story();
    let mode = |mode| std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(test_dir.file("s.jsonl"), mode(0o400)).unwrap();
    test_dir.run(&["tree", "s.jsonl"]).ok();
    // The superuser may write the file regardless of its mode.
    let may_write = std::fs::OpenOptions::new().append(true).open(test_dir.file("s.jsonl")).is_ok();
    let ran = test_dir.run(&["append", "s.jsonl", "--user", "x"]);
    assert_eq!(ran.code, if may_write { 0 } else { 1 }, "{}", ran.stderr);
}
