//! Tests of the words that completions offer, and of the scripts in the shells that are installed.

use crate::support::{TestDir, header, story};
use std::process::Command;

/// Returns the candidates for the last of some words, as the script for bash gets them.
fn offered(test_dir: &TestDir, words: &[&str]) -> Vec<String> {
    offered_by(test_dir.command(&[]).env("TREERING_SESSIONS", test_dir.file("sessions")), words)
}

/// Returns the same by a program in an environment of its own.
fn offered_by(program: &mut Command, words: &[&str]) -> Vec<String> {
    let args: Vec<&str> = ["--", "treering"].into_iter().chain(words.iter().copied()).collect();
    let command = program.args(args).env("TREERING_COMPLETE", "bash");
    let output = command.env("_CLAP_COMPLETE_INDEX", words.len().to_string()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let words = String::from_utf8(output.stdout).unwrap();
    // Options and directories are offered besides.
    let is_value = |word: &&str| !word.starts_with('-') && !word.ends_with('/');
    words.lines().filter(is_value).map(str::to_owned).collect()
}

/// Two sessions: one without a name, one with.
fn test_dir() -> TestDir {
    let test_dir = TestDir::empty();
    std::fs::create_dir(test_dir.file("sessions")).unwrap();
    let all: String = [header()].iter().chain(&story()).map(|line| format!("{line}\n")).collect();
    test_dir.write("sessions/one.jsonl", all.as_bytes());
    let other = all.replace("demo-1", "other-2").replace("\"id\":\"a1\"", "\"id\":\"zz\"");
    test_dir.write("sessions/two.jsonl", other.as_bytes());
    let named = test_dir.run(&["name", "sessions/two.jsonl", "parser-fix"]);
    assert_eq!(named.code, 0, "{}", named.stderr);
    test_dir
}

#[test]
fn sessions_are_offered_by_what_names_them() {
    let test_dir = test_dir();
    assert_eq!(offered(&test_dir, &["show", "dem"]), ["demo-1"]);
    let mut all = offered(&test_dir, &["tree", ""]);
    all.sort();
    assert_eq!(all, ["demo-1", "other-2", "parser-fix"]);
    assert_eq!(offered(&test_dir, &["archive", "pars"]), ["parser-fix"]);
    assert_eq!(offered(&test_dir, &["stats", "@all"]), ["@all", "@all/2"]);
    assert_eq!(offered(&test_dir, &["log", "nothing"]), [""; 0]);
    assert_eq!(offered(&test_dir, &["log", "sessions/o"]), ["sessions/one.jsonl"]);
    // Everything that is offered names its session.
    for word in offered(&test_dir, &["log", ""]) {
        let mut command = test_dir.command(&["log", &word]);
        let output = command.env("TREERING_SESSIONS", test_dir.file("sessions")).output().unwrap();
        assert!(output.status.success(), "{word}");
    }
}

#[test]
fn entries_labels_and_agents_are_offered() {
    let test_dir = test_dir();
    let ids = offered(&test_dir, &["show", "sessions/one.jsonl", ""]);
    let log = test_dir.run(&["log", "sessions/one.jsonl", "--json"]).ok();
    assert!(!ids.is_empty());
    for id in &ids {
        assert_eq!(test_dir.run(&["show", "sessions/one.jsonl", id]).code, 0, "{id}");
    }
    let first: serde_json::Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    let first = first["id"].as_str().unwrap();
    assert!(ids.iter().any(|id| id == first));
    assert_eq!(offered(&test_dir, &["goto", "demo", first]), [first], "of a session by its id");
    let range = offered(&test_dir, &["cherry-pick", "demo", &format!("{first}..{first}")]);
    assert_eq!(range, [format!("{first}..{first}")]);
    assert_eq!(test_dir.run(&["label", "sessions/one.jsonl", first, "try-2"]).code, 0);
    assert_eq!(offered(&test_dir, &["label", "demo", first, "try"]), ["try-2"]);
    assert_eq!(offered(&test_dir, &["convert", "demo", "--to", "cl"]), ["claude-code"]);
    let targets = ["pi", "uuid", "omp", "chimera", "operator", "tau", "claude-code"];
    assert_eq!(offered(&test_dir, &["convert", "demo", "--to", ""]), targets);
    for agent in targets {
        let converted =
            test_dir.run(&["convert", "sessions/one.jsonl", "--to", agent, "--dry-run"]);
        assert_eq!(converted.code, 0, "{agent}: {}", converted.stderr);
    }
    // Where an agent finds its sessions is known only if no other directories are named.
    let successors = |word: &str| {
        let mut program = test_dir.command(&[]);
        offered_by(program.env_remove("TREERING_SESSIONS"), &["resume", "--in", word])
    };
    assert_eq!(successors("c"), ["chimera", "claude-code"]);
    assert_eq!(successors("o"), ["omp"], "not those that cannot go on");
    assert_eq!(offered(&test_dir, &["search", "agent:co"]), ["agent:codex", "agent:copilot"]);
    assert_eq!(offered(&test_dir, &["ls", "--agent", "om"]), ["omp"]);
    assert_eq!(offered(&test_dir, &["cherry"]), ["cherry-pick"]);
}

#[test]
fn names_that_fill_the_screen_are_not_offered() {
    let test_dir = test_dir();
    let named = test_dir.run(&["name", "sessions/two.jsonl", &"x".repeat(61)]);
    assert_eq!(named.code, 0, "{}", named.stderr);
    let mut all = offered(&test_dir, &["tree", ""]);
    all.sort();
    assert_eq!(all, ["demo-1", "other-2"]);
}

#[test]
fn sessions_in_the_trash_are_offered_to_be_restored() {
    let test_dir = test_dir();
    assert_eq!(offered(&test_dir, &["restore", ""]), [""; 0]);
    // A session that was written to a moment ago is not deleted.
    let file =
        std::fs::File::options().write(true).open(test_dir.file("sessions/two.jsonl")).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    test_dir.run(&["rm", "sessions/two.jsonl"]).ok();
    let mut all = offered(&test_dir, &["restore", ""]);
    all.sort();
    assert_eq!(all, ["other-2", "parser-fix"]);
    test_dir.run(&["restore", "parser-fix"]).ok();
    assert!(test_dir.file("sessions/two.jsonl").exists());
}

#[test]
fn every_shell_gets_a_script() {
    let test_dir = TestDir::empty();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = test_dir.run(&["completions", shell]).ok();
        assert!(script.contains("TREERING_COMPLETE"), "{shell}: {script}");
    }
    assert_eq!(test_dir.run(&["completions", "tcsh"]).code, 2);
}

/// Runs a script in a shell that finds the program; `None` if the shell is not installed.
#[cfg(unix)]
fn in_shell(test_dir: &TestDir, shell: &str, script: &str) -> Option<String> {
    if Command::new(shell).arg("--version").output().is_err() {
        eprintln!("SKIPPED: {shell} is not installed");
        return None;
    }
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_treering")).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(
        std::iter::once(program.to_owned()).chain(std::env::split_paths(&path)),
    );
    let env: Vec<_> = test_dir
        .command(&[])
        .get_envs()
        .map(|(k, v)| (k.to_owned(), v.map(ToOwned::to_owned)))
        .collect();
    let mut command = Command::new(shell);
    for (name, value) in env {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env("PATH", path.unwrap()).env("TREERING_SESSIONS", test_dir.file("sessions"));
    let output = command.current_dir(test_dir.path()).args(["-c", script]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{shell}");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[cfg(unix)]
#[test]
fn the_shells_that_are_installed_complete() {
    let test_dir = test_dir();
    // The words as bash breaks them, the one at the cursor last.
    let cases = [
        ("treering tree par", "treering tree par", "parser-fix"),
        ("treering  tree  ", "treering tree ''", "demo-1 other-2 parser-fix"),
        ("treering ls --agent=cl", "treering ls --agent = cl", "claude-code"),
        ("treering ls --agent=", "treering ls --agent =", "pi"),
        ("treering search agent:cl", "treering search agent : cl", "claude-code"),
        ("treering search tea agent:", "treering search tea agent :", "pi"),
        ("treering search word:", "treering search word :", ""),
        ("treering cherry", "treering cherry", "cherry-pick"),
    ];
    for (line, words, expected) in cases {
        let bash = format!(
            "source <(treering completions bash)\n\
             COMP_LINE='{line}' COMP_WORDS=({words}) COMP_TYPE=9\n\
             COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n\
             _treering_complete treering \"${{COMP_WORDS[COMP_CWORD]#[:=]}}\" x\n\
             printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let Some(shown) = in_shell(&test_dir, "bash", &bash) else { break };
        let is_value = |word: &&str| !word.starts_with('-') && !word.ends_with('/');
        let mut shown: Vec<&str> = shown.lines().filter(is_value).collect();
        if expected == "pi" {
            // All agents; the first one is enough.
            shown.truncate(1);
        }
        shown.sort_unstable();
        assert_eq!(shown.join(" ").trim(), expected, "{line}");
    }
    let fish = "treering completions fish | source; complete -C 'treering tree par'";
    if let Some(shown) = in_shell(&test_dir, "fish", fish) {
        assert!(shown.starts_with("parser-fix\t"), "{shown}");
    }
    let zsh = "autoload -U compinit; compinit -D; source <(treering completions zsh); \
        whence -w _clap_dynamic_completer_treering";
    if let Some(shown) = in_shell(&test_dir, "zsh", zsh) {
        assert!(shown.contains("function"), "{shown}");
    }
}
