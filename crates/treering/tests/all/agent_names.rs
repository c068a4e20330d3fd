//! Tests that no code outside of the dialects names an agent, in any crate of the workspace, or a member
//! that only some agents' records have: those are in the facts of the dialects. Comments, help texts and
//! tests may name them.

use crate::source_text::{Source, files, library, module_of, sources};
use std::path::Path;
use treering::internal::members;

/// Words that name an agent.
const AGENTS: [&str; 12] = [
    "pi", "omp", "chimera", "operator", "tau", "claude", "codex", "qwen", "gemini", "copilot",
    "goose", "opencode",
];

/// The names that no other word contains.
const UNMISTAKABLE: [&str; 7] =
    ["chimera", "claude", "codex", "qwen", "gemini", "copilot", "opencode"];

/// Names of members of agents' records that are also names in treering's own format, in the requests of
/// model providers, or in protocols.
const SHARED: [&str; 11] = [
    "id",
    "parentId",
    "firstKeptEntryId",
    "args",
    "call_id",
    "message_id",
    "requestId",
    "session",
    "header",
    "session_id",
    "thinking_level",
];

/// The module that may name agents.
const AGENTS_IN: &str = "dialect";

/// Code outside of the library that may name agents: the crate and the file, a text of the line, and the
/// reason.
const EXCEPTIONS: [(&str, &str, &str); 7] = [
    ("treering-agent/src/summarizer/anthropic.rs", "const MODEL:", "the name of a model"),
    ("treering-display/src/languages.json", "operator", "a keyword of C++"),
    ("treering-mcp/src/tools.rs", "Sessions of this agent:", "a text for models"),
    ("treering-mcp/src/tools.rs", "Search all messages", "a text for models"),
    ("treering-mcp/src/protocol.rs", "const INSTRUCTIONS:", "a text for models"),
    ("treering-cli/src/interface.rs", "model = ", "the name of a model"),
    ("treering-server/src/api.rs", "\"pi\"", "an example in the documentation of the API"),
];

#[test]
fn only_dialects_name_agents() {
    let problems = named_agents(&sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")));
    assert!(problems.is_empty(), "agents named outside of dialect/:\n{}", problems.join("\n"));
}

/// The other crates are not part of the package.
#[test]
fn no_other_crate_names_an_agent() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut problems = Vec::new();
    for entry in std::fs::read_dir(&crates).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let root = crates.join(&name).join("src");
        if !name.starts_with("treering-") || name == "treering-testkit" || !root.is_dir() {
            continue;
        }
        // Pages and scripts are code as well.
        let files = files(&root, &["rs", "js", "ts", "html", "css", "svg", "json", "bash"]);
        for problem in named_agents(&files) {
            let (file, line) = problem.split_once(':').unwrap();
            let number: usize = line.split(':').next().unwrap().parse().unwrap();
            let (_, text) = files.iter().find(|(other, _)| other == file).unwrap();
            let line = text.lines().nth(number - 1).unwrap();
            let file = format!("{name}/src/{file}");
            if !EXCEPTIONS.iter().any(|(at, text, _)| *at == file && line.contains(text)) {
                problems.push(format!("{name}/src/{problem}"));
            }
        }
    }
    assert!(problems.is_empty(), "agents named outside of dialect/:\n{}", problems.join("\n"));
}

/// Returns every agent that is named in code outside of the dialects, as `file:line: word`.
fn named_agents(sources: &[Source]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut members = [members::structural(), members::data(), members::headers()].concat();
    members.retain(|name| !SHARED.contains(name));
    for (file, code) in library(sources) {
        if module_of(&file).first().is_some_and(|module| module == AGENTS_IN) {
            continue;
        }
        for (number, line) in code.lines().enumerate() {
            let variant = line
                .match_indices("Dialect::")
                .map(|(at, found)| &line[at + found.len()..])
                .any(|rest| {
                    // A constant has no small letters.
                    rest.starts_with(|c: char| c.is_ascii_uppercase())
                        && rest[1..].starts_with(|c: char| c.is_ascii_lowercase())
                });
            let joined = line.to_ascii_lowercase().replace(['_', '-'], "");
            let hidden = UNMISTAKABLE.iter().find(|name| joined.contains(**name));
            let mut agents = words(line).into_iter().filter(|word| AGENTS.contains(&word.as_str()));
            let agent = agents.next().or(hidden.map(|&name| name.to_owned()));
            let member = line.split(['"', '\\']).find(|text| members.contains(text));
            let what = agent
                .or(variant.then(|| "a variant of Dialect".to_owned()))
                .or(member.map(|name| format!("{name} of an agent's records")));
            if let Some(what) = what {
                problems.push(format!("{file}:{}: {what}", number + 1));
            }
        }
    }
    problems
}

/// The words of a line in small letters; identifiers in camel case and snake case are several.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let (mut before, mut chars) = (' ', line.chars().peekable());
    while let Some(c) = chars.next() {
        // In `PIAgent`, the second word begins with the last capital.
        let is_last = chars.peek().is_some_and(char::is_ascii_lowercase);
        let begins = c.is_ascii_uppercase() && (is_last || !before.is_ascii_uppercase());
        if !c.is_ascii_alphanumeric() || begins {
            words.push(String::new());
        }
        if c.is_ascii_alphanumeric() {
            words.last_mut().unwrap().push(c.to_ascii_lowercase());
        }
        before = c;
    }
    words
}

#[test]
fn an_agent_outside_of_the_dialects_is_found() {
    let found = |file: &str, code: &str| {
        let files: Vec<Source> = vec![("lib.rs".into(), String::new()), (file.into(), code.into())];
        named_agents(&files)
    };
    for (code, expected) in [
        ("let a = Dialect::Uuid;", vec!["load/mod.rs:1: a variant of Dialect"]),
        ("let a = Dialect::default(); Dialect::ALL; Dialect::NAMES", vec![]),
        ("\nlet a = \"oh-my-pi\";", vec!["load/mod.rs:2: pi"]),
        ("use crate::dialect::omp::title;", vec!["load/mod.rs:1: omp"]),
        ("fn a(b: ClaudeCode) {}", vec!["load/mod.rs:1: claude"]),
        ("fn a(b: OpenCode) {}", vec!["load/mod.rs:1: opencode"]),
        ("let open_code = 1;", vec!["load/mod.rs:1: opencode"]),
        ("let isgemini = 1;", vec!["load/mod.rs:1: gemini"]),
        ("struct PIAgent;", vec!["load/mod.rs:1: pi"]),
        ("let a = \"PI_CONFIG_DIR\";", vec!["load/mod.rs:1: pi"]),
        (
            "json::get(a, \"toolUseResult\")",
            vec!["load/mod.rs:1: toolUseResult of an agent's records"],
        ),
        ("b\"{\\\"parentUuid\\\":null}\"", vec!["load/mod.rs:1: parentUuid of an agent's records"]),
        ("json::get(a, \"call_id\"); let session_meta = 1;", vec![]),
        ("// As Codex does.\nfn picks_pictures() {}", vec![]),
        ("#[cfg(test)]\nmod tests { const A: &str = \"pi\"; }", vec![]),
    ] {
        assert_eq!(found("load/mod.rs", code), expected, "{code}");
    }
    assert_eq!(found("dialect/mod.rs", "mod omp;"), Vec::<String>::new());
}
