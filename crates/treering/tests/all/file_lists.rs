//! The lists of files in ARCHITECTURE.md are true: what they name exists, and every source file is in a list,
//! or in a directory that is listed as a whole.

use crate::source_text::{files, library};
use std::collections::BTreeSet;
use std::path::Path;

/// The lists, and the paths of all files of the repository that they may name.
struct Repository<'a> {
    text: &'a str,
    files: BTreeSet<String>,
}

/// Files that a list may name.
const EXTENSIONS: [&str; 13] =
    ["rs", "js", "mjs", "ts", "py", "pyi", "toml", "json", "md", "sh", "bash", "css", "sql"];

/// The directories whose sources are all listed.
const LISTED: [&str; 2] = ["crates", "bindings"];

/// Neither the document nor the other crates are part of the package.
#[test]
fn the_documented_files_are_those_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let Ok(text) = std::fs::read_to_string(root.join("ARCHITECTURE.md")) else { return };
    let (mut all, mut sources) = (BTreeSet::new(), Vec::new());
    for top in LISTED {
        for entry in std::fs::read_dir(root.join(top)).unwrap() {
            let entry = entry.unwrap();
            let of = format!("{top}/{}", entry.file_name().to_str().unwrap());
            for below in ["src", "lib", "python", "backend", "scripts", "migrations", "examples"] {
                let directory = entry.path().join(below);
                if directory.is_dir() {
                    let found = files(&directory, &EXTENSIONS).into_iter();
                    all.extend(found.map(|(file, _)| format!("{of}/{below}/{file}")));
                }
            }
            if entry.path().join("src").is_dir() {
                let of_library = library(&files(&entry.path().join("src"), &["rs"]));
                sources.extend(of_library.into_iter().map(|(file, _)| format!("{of}/src/{file}")));
            }
            for script in ["check.sh", "peers.py"] {
                if entry.path().join(script).is_file() {
                    all.insert(format!("{of}/{script}"));
                }
            }
        }
    }
    let repository = Repository { text: &text, files: all };
    assert_eq!(problems(&repository, &sources), Vec::<String>::new());
}

/// Returns the listed paths that do not exist, and the sources that no list covers.
fn problems(repository: &Repository<'_>, sources: &[String]) -> Vec<String> {
    let (listed, mut problems) = listed(repository);
    for file in sources {
        let (directory, name) = file.rsplit_once('/').unwrap();
        let is_known =
            ["lib.rs", "main.rs", "mod.rs"].contains(&name) || name.ends_with("_tests.rs");
        if !is_known && !is_covered(&listed, file, directory) {
            problems.push(format!("{file} is in no list"));
        }
    }
    problems
}

/// Returns whether a file is listed, or is in a directory that is listed without its files.
fn is_covered(listed: &BTreeSet<String>, file: &str, directory: &str) -> bool {
    if listed.contains(file) {
        return true;
    }
    let start = format!("{directory}/");
    let has_files = listed.range(start.clone()..).take_while(|path| path.starts_with(&start));
    if has_files.into_iter().any(|path| !path[start.len()..].contains('/')) {
        return false;
    }
    listed.contains(directory)
        || directory.rsplit_once('/').is_some_and(|(above, _)| is_covered(listed, file, above))
}

/// The paths that the lists name, and problems with the names.
fn listed(repository: &Repository<'_>) -> (BTreeSet<String>, Vec<String>) {
    let (mut listed, mut problems) = (BTreeSet::new(), Vec::new());
    // The directory that a list is about, and those around a line of it, with their indentation.
    let (mut base, mut is_list, mut around) = (String::new(), false, Vec::<(usize, String)>::new());
    for (number, line) in repository.text.lines().enumerate() {
        if let Some(title) = line.strip_prefix("## ").or(line.strip_prefix("### ")) {
            base = match title {
                "Bindings" => "bindings".to_owned(),
                title if title.starts_with("crates/") => title.to_owned(),
                _ => String::new(),
            };
        }
        if line.starts_with("```") {
            (is_list, around) = (!is_list && !base.is_empty(), Vec::new());
            continue;
        }
        if !is_list || line.trim() == format!("{base}/") {
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let is_prose = indent >= PROSE;
        if !is_prose {
            around.retain(|(other, _)| *other < indent);
        }
        let above = around.last().map_or(&base, |(_, directory)| directory).clone();
        let mut names = line.split_whitespace();
        let mut opened = None;
        if !is_prose {
            let is_name = |word: &&str| word.ends_with('/') || has_extension(word);
            // The first words are names, and the description may begin with the name of a file below.
            for name in names.by_ref().take_while(is_name) {
                let path = format!("{above}/{}", name.trim_end_matches('/'));
                let below = format!("{path}/");
                if repository.files.contains(&path)
                    || repository.files.iter().any(|file| file.starts_with(&below))
                {
                    opened = opened.or(name.ends_with('/').then(|| path.clone()));
                    listed.insert(path);
                } else if !opened.as_ref().is_some_and(|directory: &String| {
                    repository.files.contains(&format!("{directory}/{name}"))
                }) {
                    problems.push(format!("line {}: there is no {path}", number + 1));
                }
            }
        }
        if let Some(directory) = opened {
            around.push((indent, directory));
        }
        for word in names {
            let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
            let is_there = |file: &String| {
                file.starts_with(&format!("{base}/")) && file.ends_with(&format!("/{word}"))
            };
            if has_extension(word) && !repository.files.iter().any(is_there) {
                problems.push(format!("line {}: there is no {word} in {base}", number + 1));
            }
        }
    }
    (listed, problems)
}

/// The column from which a line continues the description above it.
const PROSE: usize = 22;

fn has_extension(word: &str) -> bool {
    word.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && EXTENSIONS.contains(&end))
}

#[test]
fn a_list_that_is_not_true_is_found() {
    let text = "## Files\n\n### crates/a\n\n```\nsrc/\n  b.rs  c.rs            Two files\n  d/                    \
        e.rs is one of them\n  f/                    Files, each listed\n    g.rs                  One\n                          \
        h.rs is beside it\n```\n";
    let files = ["b.rs", "c.rs", "d/e.rs", "d/i.rs", "f/mod.rs", "f/g.rs", "f/h.rs", "lib.rs"];
    let found = |text: &str, names: &[&str]| {
        let sources: Vec<String> =
            names.iter().map(|name| format!("crates/a/src/{name}")).collect();
        let files = sources.iter().cloned().collect();
        problems(&Repository { text, files }, &sources)
    };
    assert_eq!(found(text, &files), ["crates/a/src/f/h.rs is in no list"]);
    let renamed = text.replace("c.rs", "j.rs").replace("h.rs", "k.rs");
    let expected = [
        "line 7: there is no crates/a/src/j.rs",
        "line 11: there is no k.rs in crates/a",
        "crates/a/src/c.rs is in no list",
        "crates/a/src/f/h.rs is in no list",
    ];
    assert_eq!(found(&renamed, &files), expected);
}
