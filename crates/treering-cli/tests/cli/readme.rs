//! Tests that the README's examples work as typed, one after the other in an empty directory.

#![cfg(unix)]

use crate::support::TestDir;
use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

/// A command of an example, and the output that is shown for it.
#[derive(Debug)]
struct Step {
    command: String,
    shown: Vec<String>,
}

/// The steps of all `console` blocks.
fn steps(readme: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for line in readme.lines() {
        match (inside, line) {
            (false, "```console") => inside = true,
            (true, "```") => inside = false,
            (true, line) => match line.strip_prefix("$ ") {
                Some(command) => {
                    steps.push(Step { command: command.to_owned(), shown: Vec::new() });
                }
                None => steps.last_mut().expect("a command").shown.push(line.to_owned()),
            },
            _ => {}
        }
    }
    steps
}

fn is_id(word: &str) -> bool {
    word.len() == 8 && word.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// A line word by word, with what differs from run to run replaced.
fn words(line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_unit = |word: Option<&&str>| {
        word.is_some_and(|unit| matches!(unit.trim_end_matches(')'), "B" | "KB"))
    };
    let normal = |(at, word): (usize, &&str)| {
        let shape: String =
            word.chars().map(|c| if c.is_ascii_hexdigit() { '0' } else { c }).collect();
        match &*shape {
            "0000-00-00" | "00:00:00Z" => "TIME".to_owned(),
            "00000000-0000-0000-0000-000000000000" => "ID".to_owned(),
            _ if is_unit(words.get(at + 1)) => "SIZE".to_owned(),
            _ => (*word).to_owned(),
        }
    };
    words.iter().enumerate().map(normal).collect()
}

/// The ids of entries in the README and in this run.
#[derive(Debug, Default)]
struct Ids(HashMap<String, String>);

impl Ids {
    fn learn(&mut self, shown: &[String], printed: &[String]) {
        for (shown, printed) in shown.iter().zip(printed) {
            if is_id(shown) && is_id(printed) {
                self.0.entry(shown.clone()).or_insert_with(|| printed.clone());
            }
        }
    }

    /// The line with this run's ids.
    fn translate(&self, line: &str) -> String {
        let translated = |word| self.0.get(word).map_or(word, String::as_str);
        line.split(' ').map(translated).collect::<Vec<_>>().join(" ")
    }
}

/// Returns the name of the variable that a line sets to the output of a command.
fn variable(line: &str) -> Option<&str> {
    line.split_once("=$(").map(|(name, _)| name)
}

/// Runs a line in a shell that finds the program, with the environment of a test and the variables
/// that earlier lines have set.
fn run(test_dir: &TestDir, line: &str, variables: &mut HashMap<String, String>) -> (i32, String) {
    let program = Path::new(env!("CARGO_BIN_EXE_treering")).parent().unwrap();
    let mut paths = vec![program.to_owned()];
    paths.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let mut shell = Command::new("sh");
    let name = variable(line);
    let script = name.map_or(line.to_owned(), |name| format!("{line}; printf %s ${name}"));
    shell.args(["-c", &script]).current_dir(test_dir.path()).envs(&*variables);
    for (name, value) in test_dir.command(&[]).get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let output = shell.env("PATH", std::env::join_paths(paths).unwrap()).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(stderr.is_empty() || !output.status.success(), "{line}: {stderr}");
    if let Some(name) = name {
        assert!(is_id(&stdout), "{line}: {stdout}");
        variables.insert(name.to_owned(), stdout.clone());
    }
    (output.status.code().unwrap(), stdout)
}

#[test]
fn every_example_of_the_readme_works_as_it_is_typed() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let steps = steps(&std::fs::read_to_string(readme).unwrap());
    assert!(steps.len() > 15, "{steps:?}");
    let (test_dir, mut ids, mut variables) = (TestDir::empty(), Ids::default(), HashMap::new());
    for Step { command, shown } in &steps {
        let (code, printed) = run(&test_dir, command, &mut variables);
        // `doctor` fails if it finds a problem, and a search if it finds nothing.
        let may_fail =
            ["treering doctor", "treering search"].iter().any(|c| command.starts_with(c));
        assert!(code == 0 || (may_fail && code == 1), "{command}: exit code {code}\n{printed}");
        if shown.is_empty() {
            continue;
        }
        let printed: Vec<&str> = printed.lines().collect();
        for (shown, printed) in shown.iter().zip(&printed) {
            ids.learn(&words(shown), &words(printed));
            let (shown, printed) = (words(&ids.translate(shown)), words(printed));
            assert_eq!(shown, printed, "{command}");
        }
        assert_eq!(shown.len(), printed.len(), "{command}:\n{}", printed.join("\n"));
    }
}

/// Returns the command lines with `treering` in the blocks of a document, without comments.
fn command_lines(document: &str) -> Vec<String> {
    let mut inside = false;
    let mut lines = Vec::new();
    for line in document.lines() {
        if line.starts_with("```") {
            inside = !inside;
            continue;
        }
        let command = match (inside, line.strip_prefix("    ")) {
            (true, _) => line.strip_prefix("$ ").unwrap_or(line),
            // The topics of `treering help` have no blocks, and describe a command after it.
            (false, Some(command)) => command.split("  ").next().unwrap_or_default(),
            (false, None) => continue,
        };
        let command = command.split(" #").next().unwrap_or_default().trim();
        if command == "treering" || command.starts_with("treering ") {
            lines.push(command.to_owned());
        }
    }
    lines
}

#[test]
fn every_command_line_of_the_documents_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut documents = vec![root.join("../../README.md")];
    for dir in ["../../docs", "src/help"] {
        let files = std::fs::read_dir(root.join(dir)).unwrap().map(|file| file.unwrap().path());
        documents.extend(files.filter(|file| file.extension().is_some_and(|ext| ext == "md")));
    }
    let test_dir = TestDir::empty();
    let mut variables: HashMap<String, String> =
        [("question", "0c"), ("red", "91")].map(|(name, id)| (name.into(), id.into())).into();
    let mut number = 0;
    for document in documents {
        for line in command_lines(&std::fs::read_to_string(&document).unwrap()) {
            number += 1;
            // An option that does not exist is an error, even if help is asked for after it.
            let (code, _) = run(&test_dir, &format!("{line} --help"), &mut variables);
            assert_eq!(code, 0, "{}: {line}", document.display());
        }
    }
    assert!(number > 40, "{number}");
}

#[test]
fn the_interactive_examples_of_the_readme_need_only_a_terminal_or_a_model() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let (_, tour) = readme.split_once("\n## A tour\n").unwrap();
    let (tour, _) = tour.split_once("\n## Agents\n").unwrap();
    let blocks = tour.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let test_dir = TestDir::empty();
    test_dir.run(&["demo", "--dir", "."]).ok();
    let mut number = 0;
    for line in blocks.flat_map(str::lines) {
        number += 1;
        let words = line.split(" #").next().unwrap().replace("\"Name a color.\"", "Name");
        let args: Vec<&str> = words.split_whitespace().skip(1).collect();
        let ran = test_dir.run(&args);
        let reasons = ["the interface needs a terminal", "no model is configured", "no session to"];
        let is_expected = ran.code == 0 || reasons.iter().any(|why| ran.stderr.contains(why));
        assert!(is_expected, "{line}: {}", ran.stderr);
    }
    assert_eq!(number, 4, "the examples at a terminal");
}
