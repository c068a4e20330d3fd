//! Tests of help, configuration, completions, times, colors and suggestions.

use crate::support::{TestDir, header, user};
use serde_json::json;

#[test]
fn every_topic_is_explained_and_listed() {
    let test_dir = TestDir::empty();
    let list = test_dir.run(&["help"]).ok();
    let topics = "sessions search summarizers formats redaction config exit-codes";
    for topic in topics.split(' ') {
        let text = test_dir.run(&["help", topic]).ok();
        assert!(text.lines().count() > 8, "{topic}: {text}");
        assert!(text.lines().all(|line| line.chars().count() < 80), "{text}");
        let heading = text.lines().next().unwrap();
        assert!(!heading.starts_with('#'), "{heading}");
        assert!(list.contains(&format!("  {topic:<13} {heading}\n")), "{list}");
    }
    assert_eq!(test_dir.run(&["help", "addressing"]), test_dir.run(&["help", "sessions"]));
    let log = test_dir.run(&["help", "log"]).ok();
    assert!(log.contains("Usage: treering log "), "{log}");
}

#[test]
fn a_topic_that_does_not_exist_may_be_a_slip() {
    let test_dir = TestDir::empty();
    insta::assert_snapshot!(test_dir.run(&["help", "sesions"]).misused(), @r#"
    error: there is no topic and no command "sesions"
    hint: did you mean `treering help sessions`?
    "#);
    insta::assert_snapshot!(test_dir.run(&["help", "everything"]).misused(), @r#"
    error: there is no topic and no command "everything"
    hint: `treering help` lists topics and commands
    "#);
}

/// The statements of a topic about commands must be true.
#[test]
fn commands_named_in_topics_exist() {
    let test_dir = TestDir::empty();
    for topic in "sessions search summarizers formats redaction config exit-codes".split(' ') {
        let text = test_dir.run(&["help", topic]).ok();
        let commands = text.split("`treering ").chain(text.split("    treering ")).skip(1);
        for command in commands.filter(|rest| !rest.is_empty()) {
            let word = command.split([' ', '`', '\n']).next().unwrap();
            let is_text = text.starts_with(command);
            assert!(is_text || test_dir.run(&["help", word]).code == 0, "{topic}: {word:?}");
        }
    }
}

#[test]
fn mistyped_commands_and_ids_are_guessed() {
    let test_dir = TestDir::with(&[
        user("ab12cd34", None, 1, "x"),
        user("ffff0000", Some("ab12cd34"), 2, "y"),
    ]);
    let ran = test_dir.run(&["tial", "s.jsonl"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("'tail'"), "{}", ran.stderr);
    insta::assert_snapshot!(test_dir.run(&["show", "s.jsonl", "ab12cd43"]).failed(), @r#"
    error: no entry "ab12cd43"
    hint: did you mean ab12cd34?
    "#);
    insta::assert_snapshot!(test_dir.run(&["show", "s.jsonl", "abX2c"]).failed(), @r#"
    error: no entry "abX2c"
    hint: did you mean ab12cd34?
    "#);
    insta::assert_snapshot!(test_dir.run(&["show", "s.jsonl", "99999999"]).failed(), @r#"
    error: no entry "99999999"
    hint: `treering tree s.jsonl` lists the ids
    "#);
}

#[test]
fn times_are_relative_or_not() {
    let test_dir = TestDir::empty();
    let text = format!("{}\n{}\n", header(), user("a1", None, 1, "hello"));
    test_dir.write("s.jsonl", text.as_bytes());
    let ls = |args: &[&str]| {
        let mut command = test_dir.command(args);
        let output = command.env("TREERING_NOW", "2026-01-08T12:00:00Z").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    insta::assert_snapshot!(ls(&["ls", "."]), @r"
    AGE  MESSAGES   SIZE  AGENT  NAME OR FIRST MESSAGE  FILE
    3 d         1  255 B  pi     hello                  s.jsonl
    ");
    insta::assert_snapshot!(ls(&["ls", ".", "--time", "iso"]), @r"
                    USED  MESSAGES   SIZE  AGENT  NAME OR FIRST MESSAGE  FILE
    2026-01-05 09:01:00Z         1  255 B  pi     hello                  s.jsonl
    ");
    test_dir.write("home/.config/treering/config.toml", b"[ui]\ntime = \"iso\"\n");
    assert!(ls(&["ls", "."]).contains("2026-01-05 09:01:00Z"));
    assert!(ls(&["ls", ".", "--time", "relative"]).contains("3 d"));
}

#[test]
fn the_configuration_is_shown_and_begun() {
    let test_dir = TestDir::empty();
    let path = test_dir.file("home/.config/treering/config.toml");
    let path = path.to_str().unwrap();
    assert_eq!(test_dir.run(&["config", "path"]).ok(), format!("{path}\n"));
    let ran = test_dir.run(&["config"]);
    insta::assert_snapshot!(ran.stdout, @r#"
    ui.color = "auto"
    ui.time = "relative"
    ui.pager = "less -FRX"
    ui.theme = "auto"
    ui.double_escape = "tree"
    ui.keep_drafts = true
    places.only = []
    places.also = []
    compaction.enabled = true
    compaction.reserve_tokens = 16384
    compaction.keep_recent_tokens = 20000
    "#);
    let hint = "hint: `treering config init` creates it\n";
    assert_eq!(ran.stderr, format!("note: there is no {path}: these are the defaults\n{hint}"));
    assert_eq!(test_dir.run(&["config", "init"]).ok(), format!("{path}\n"));
    assert_eq!(test_dir.run(&["config"]).stdout, ran.stdout, "it changes nothing");
    let error = test_dir.run(&["config", "init"]).failed();
    assert_eq!(error, format!("error: {path} already exists\nhint: it was not changed; edit it\n"));
    let shown = test_dir.run(&["config", "show", "--json"]).json();
    assert_eq!(
        shown,
        [
            json!({"path": path, "exists": true, "ui": {"color": "auto", "time": "relative", "pager": null},
                "places": {"only": [], "also": []}})
        ]
    );
    assert_eq!(test_dir.run(&["config", "dance"]).code, 2);
}

#[test]
fn a_key_in_the_configuration_is_never_shown() {
    let test_dir = TestDir::empty();
    let text = "[summarizer]\nprovider = \"openai\"\nmodel = \"m\"\nkey = \"sk-secret\"\n";
    test_dir.write("home/.config/treering/config.toml", text.as_bytes());
    for args in [&["config"][..], &["config", "--json"]] {
        let ran = test_dir.run(args);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(!format!("{ran:?}").contains("sk-secret"));
    }
    assert!(test_dir.run(&["config"]).stdout.contains("summarizer.provider = \"openai\"\n"));
}

#[test]
fn a_configuration_that_is_wrong_is_named_and_does_not_count() {
    let test_dir = TestDir::with_story();
    test_dir.write("home/.config/treering/config.toml", b"[ui]\ntime = \"soon\"\n");
    let error = test_dir.run(&["config"]).failed();
    assert!(error.contains("config.toml, line 2: "), "{error}");
    let ran = test_dir.run(&["ls", "."]);
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.starts_with("warning: ") && ran.stderr.contains("line 2"), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1);
}

#[test]
fn configured_places_are_looked_in() {
    let test_dir = TestDir::empty();
    let text = |id: &str| {
        format!("{}\n{}\n", header().replace("demo-1", id), user("a1", None, 1, "hello"))
    };
    test_dir.write("home/mine/s.jsonl", text("mine-1").as_bytes());
    test_dir.write("home/.pi/agent/sessions/--x--/s.jsonl", text("pi-1").as_bytes());
    let ids = || -> Vec<String> {
        let found = test_dir.run(&["ls", "--all", "--json"]).json();
        let mut ids: Vec<_> =
            found.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(), ["pi-1"]);
    test_dir.write("home/.config/treering/config.toml", b"[places]\nalso = [\"~/mine\"]\n");
    assert_eq!(ids(), ["mine-1", "pi-1"]);
    test_dir.write("home/.config/treering/config.toml", b"[places]\nonly = [\"~/mine\"]\n");
    assert_eq!(ids(), ["mine-1"]);
    let mut command = test_dir.command(&["ls", "--all", "--json"]);
    let output = command.env("TREERING_SESSIONS", test_dir.file("nowhere")).output().unwrap();
    assert_eq!(output.stdout, b"", "the environment comes first");
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let test_dir = TestDir::empty();
    let page = test_dir.run(&["man"]).ok();
    assert!(page.contains(".TH treering 1"), "{page}");
    let written = test_dir.run(&["man", "pages"]).ok();
    assert!(written.lines().any(|line| line == "pages/treering-cherry-pick.1"), "{written}");
    let page = test_dir.read("pages/treering-tail.1");
    assert!(page.contains(".TH treering-tail 1"), "{page}");
    assert!(page.contains("until"), "{page}");
    test_dir.write("file", b"");
    let error = test_dir.run(&["man", "file"]).failed();
    assert!(error.starts_with("error: cannot create file: "), "{error}");
}

#[test]
fn colors_follow_the_option() {
    let test_dir = TestDir::with_story();
    let log = |variables: &[(&str, &str)]| {
        let mut command = test_dir.command(&["log", "s.jsonl"]);
        let output = command.envs(variables.iter().copied()).output().unwrap();
        String::from_utf8(output.stdout).unwrap().contains('\u{1b}')
    };
    assert!(!log(&[]));
    assert!(log(&[("CLICOLOR_FORCE", "1")]));
    assert!(!log(&[("CLICOLOR_FORCE", "0")]));
    assert!(!log(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(log(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "")]));
}

#[test]
fn in_a_pipe_there_is_no_pager() {
    let test_dir = TestDir::with_story();
    let mut command = test_dir.command(&["log", "s.jsonl"]);
    let output = command.env("TREERING_PAGER", "false").output().unwrap();
    assert!(output.status.success() && output.stdout.len() > 100);
    let mut command = test_dir.command(&["log", "s.jsonl", "--no-pager"]);
    assert!(command.output().unwrap().status.success());
}

#[test]
fn every_page_that_a_manual_page_names_is_written() {
    let test_dir = TestDir::empty();
    test_dir.run(&["man", "pages"]).ok();
    let mut named = 0;
    for page in test_dir.file("pages").read_dir().unwrap() {
        let text = std::fs::read_to_string(page.unwrap().path()).unwrap().replace('\\', "");
        for rest in text.split("treering-").skip(1) {
            let Some((name, _)) =
                rest.split_once("(1)").filter(|(name, _)| !name.contains([' ', '\n']))
            else {
                continue;
            };
            named += 1;
            assert!(
                test_dir.file(&format!("pages/treering-{name}.1")).exists(),
                "treering-{name}(1)"
            );
        }
    }
    assert!(named > 30, "{named}");
}
