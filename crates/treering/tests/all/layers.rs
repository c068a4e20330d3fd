//! The modules of the library form layers: a module uses only modules that are listed before it, and no
//! module but `dialect` names an agent.
//!
//! The test reads the sources. It knows paths that begin with `crate::`, also in groups and through the
//! re-exports of the root, and paths that leave their module through `super::`. Code for tests does not
//! count.

use std::collections::{HashMap, HashSet};
use std::path::Path;

/// The layers, lowest first. A layer may use the layers before it, and within a layer a module may use
/// the modules before it. ARCHITECTURE.md shows the same list.
const LAYERS: [(&str, &[&str]); 8] = [
    ("base", &["json", "fs", "time", "id", "serde_ids"]),
    ("vocabulary", &["dialect::name", "error", "findings", "position"]),
    ("records", &["entry", "header"]),
    ("storage", &["log", "tree"]),
    ("reading", &["dialect", "load", "snapshot", "context", "llm"]),
    ("session", &["migrate", "session"]),
    (
        "operations",
        &[
            "compaction",
            "usage",
            "title",
            "branch_summary",
            "context_edit",
            "merge",
            "diff",
            "convert",
            "doctor",
            "fork",
        ],
    ),
    ("directories", &["catalog", "store"]),
];

/// Words that name an agent.
const AGENTS: [&str; 12] = [
    "pi", "omp", "chimera", "operator", "tau", "claude", "codex", "qwen", "gemini", "copilot",
    "goose", "opencode",
];

/// The module that may name agents.
const AGENTS_IN: &str = "dialect";

#[test]
fn modules_use_only_lower_layers() {
    let problems = upward_uses(&sources());
    assert!(problems.is_empty(), "modules that look up:\n{}", problems.join("\n"));
}

#[test]
fn only_dialects_name_agents() {
    let problems = named_agents(&sources());
    assert!(problems.is_empty(), "agents named outside of dialect/:\n{}", problems.join("\n"));
}

/// The picture in ARCHITECTURE.md, which is not part of the package.
#[test]
fn the_documented_layers_are_these() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md");
    let Ok(text) = std::fs::read_to_string(path) else { return };
    for (layer, modules) in LAYERS {
        let line = format!("{layer:<12} {}", modules.join("  "));
        assert!(text.lines().any(|other| other == line), "ARCHITECTURE.md lacks the line\n{line}");
    }
}

/// A source file: its path below `src`, with slashes, and its text.
type Source = (String, String);

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut found, mut directories) = (Vec::new(), vec![root.clone()]);
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
                found.push((name, std::fs::read_to_string(path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// The module that a file is, as a path below the crate.
fn module_of(file: &str) -> Vec<String> {
    let stem = file.strip_suffix(".rs").unwrap();
    let stem = stem.strip_suffix("/mod").unwrap_or(stem);
    match stem {
        "lib" => Vec::new(),
        stem => stem.split('/').map(str::to_owned).collect(),
    }
}

/// The files that are part of the library: those of tests are not.
fn library(sources: &[Source]) -> Vec<(String, String)> {
    let mut test_modules = HashSet::new();
    let mut files = Vec::new();
    for (file, text) in sources {
        let (code, tests) = without_tests(&without_comments(text, Strings::Kept));
        let module = module_of(file);
        test_modules.extend(tests.into_iter().map(|name| [&*module, &[name]].concat()));
        files.push((file.clone(), code));
    }
    files.retain(|(file, _)| {
        let module = module_of(file);
        (0..=module.len()).all(|len| !test_modules.contains(&module[..len]))
    });
    files
}

/// Returns every use of a module that is not in a lower layer, as `file:line: what`.
fn upward_uses(sources: &[Source]) -> Vec<String> {
    let order: Vec<&str> = LAYERS.iter().flat_map(|(_, modules)| modules.iter().copied()).collect();
    let files = library(sources);
    let mut problems = Vec::new();
    let modules: HashSet<String> = files
        .iter()
        .filter_map(|(file, _)| module_of(file).into_iter().next())
        .filter(|module| module != "bin")
        .collect();
    for module in &modules {
        if !order.contains(&module.as_str()) {
            problems.push(format!("{module} is in no layer: add it to LAYERS"));
        }
    }
    for module in &order {
        if !modules.contains(module.split("::").next().unwrap()) {
            problems.push(format!("there is no module {module}: remove it from LAYERS"));
        }
    }
    let root = files.iter().find(|(file, _)| file == "lib.rs").map_or("", |(_, code)| code);
    let aliases = reexports(root);
    for (file, code) in files.iter().filter(|(file, _)| file != "lib.rs") {
        let code = without_comments(code, Strings::Blank);
        let own = module_of(file);
        let rank = |path: &[String]| {
            let names = (1..=path.len().min(2)).rev().map(|len| path[..len].join("::"));
            names.into_iter().find_map(|name| order.iter().position(|module| *module == name))
        };
        let Some(own_rank) = rank(&own) else { continue };
        for (at, path) in used_paths(&code, &own) {
            let line = code[..at].matches('\n').count() + 1;
            let shown = format!("{file}:{line}: crate::{}", path.join("::"));
            let target = match path.first().and_then(|name| aliases.get(name)) {
                Some(module) if !modules.contains(&path[0]) => vec![module.clone()],
                _ => path,
            };
            match rank(&target) {
                Some(rank) if rank <= own_rank => {}
                Some(_) => problems.push(shown),
                // In an inline module, `super` is the module of the file.
                None if code[at..].starts_with("super::") => {}
                None => problems.push(format!("{shown} (not a module of a layer)")),
            }
        }
    }
    problems.sort();
    problems
}

/// Returns every agent that is named in code outside of the dialects, as `file:line: word`.
fn named_agents(sources: &[Source]) -> Vec<String> {
    let mut problems = Vec::new();
    for (file, code) in library(sources) {
        if module_of(&file).first().is_some_and(|module| module == AGENTS_IN) {
            continue;
        }
        for (number, line) in code.lines().enumerate() {
            let variant = line
                .match_indices("Dialect::")
                .map(|(at, found)| &line[at + found.len()..])
                .any(|rest| {
                    rest.starts_with(|c: char| c.is_ascii_uppercase()) && !rest.starts_with("ALL")
                });
            let agent = words(line).into_iter().find(|word| AGENTS.contains(&word.as_str()));
            if let Some(what) = agent.or(variant.then(|| "a variant of Dialect".to_owned())) {
                problems.push(format!("{file}:{}: {what}", number + 1));
            }
        }
    }
    problems
}

/// The words of a line in small letters; identifiers in camel case and snake case are several.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in line.chars() {
        if !c.is_ascii_alphanumeric() || c.is_ascii_uppercase() && !before.is_ascii_uppercase() {
            words.push(String::new());
        }
        if c.is_ascii_alphanumeric() {
            words.last_mut().unwrap().push(c.to_ascii_lowercase());
        }
        before = c;
    }
    words
}

/// The names that the root gives to items of modules, and the modules that it only renames.
fn reexports(root: &str) -> HashMap<String, String> {
    let mut aliases = HashMap::new();
    for (at, _) in root.match_indices("pub use ") {
        let (depth, rest) = (depth_at(root, at), &root[at + "pub use ".len()..]);
        let tree = &rest[..rest.find(';').unwrap()];
        let inline = enclosing_module(root, at);
        for path in flattened(tree) {
            let path: Vec<&str> = path.split("::").filter(|name| *name != "crate").collect();
            let (Some(module), Some(name)) = (path.first(), path.last()) else { continue };
            let name = if depth == 0 { name } else { inline };
            aliases.insert((*name).to_owned(), (*module).to_owned());
        }
    }
    aliases
}

fn depth_at(code: &str, at: usize) -> usize {
    code[..at].matches('{').count() - code[..at].matches('}').count()
}

/// The name of the inline module of the root that an offset is in.
fn enclosing_module(code: &str, at: usize) -> &str {
    let starts = code[..at].match_indices("pub mod ").map(|(start, _)| start);
    let start = starts.filter(|&start| depth_at(code, start) == 0).last().unwrap_or(0);
    code[start..].trim_start_matches("pub mod ").split([' ', ';']).next().unwrap()
}

/// The paths in the code that lead out of their module, with where they begin, as paths below the crate.
fn used_paths(code: &str, own: &[String]) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back().unwrap_or(' ');
            if before.is_alphanumeric() || before == '_' || before == ':' || before == '$' {
                continue; // A part of another path.
            }
            for path in flattened(tree_at(&code[at..])) {
                let mut names: Vec<String> = path.split("::").map(str::to_owned).collect();
                let mut base = own.to_vec();
                while names.first().is_some_and(|name| name == "super") {
                    base.pop();
                    names.remove(0);
                }
                if names.first().is_some_and(|name| name == "crate") {
                    base.clear();
                    names.remove(0);
                }
                let path = [base, names].concat();
                if !path.is_empty() {
                    found.push((at, path));
                }
            }
        }
    }
    found
}

/// The path that the code begins with, and the group it may end in.
fn tree_at(code: &str) -> &str {
    let mut depth = 0;
    for (at, c) in code.char_indices() {
        match c {
            '{' if depth > 0 || code[..at].ends_with("::") => depth += 1,
            '}' if depth == 1 => return &code[..=at],
            '}' if depth > 0 => depth -= 1,
            _ if depth > 0 || c.is_alphanumeric() || c == '_' || c == ':' => {}
            _ => return code[..at].trim_end_matches(':'),
        }
    }
    code
}

/// The single paths of a path with nested groups.
fn flattened(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((prefix, group)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default().trim();
        return if path.is_empty() { Vec::new() } else { vec![path.to_owned()] };
    };
    let group = group.trim_end().strip_suffix('}').unwrap_or(group);
    let (mut items, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(&group[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    items.push(&group[start..]);
    let joined = |path: String| match path.as_str() {
        "self" => prefix.trim_end_matches(':').to_owned(),
        path => format!("{prefix}{path}"),
    };
    items.into_iter().flat_map(flattened).map(joined).collect()
}

/// The treatment of string literals.
#[derive(Clone, Copy, PartialEq)]
enum Strings {
    Kept,
    Blank,
}

/// The code with blanks for comments, and for the content of strings and characters if so wanted. Lines
/// keep their numbers.
fn without_comments(text: &str, strings: Strings) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let blank =
        |piece: &str| piece.chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect::<String>();
    while !rest.is_empty() {
        let before = out.chars().next_back().unwrap_or(' ');
        let is_word = before.is_alphanumeric() || before == '_';
        let (piece, is_comment) = if rest.starts_with("//") {
            (&rest[..rest.find('\n').unwrap_or(rest.len())], true)
        } else if rest.starts_with("/*") {
            (&rest[..rest.find("*/").map_or(rest.len(), |end| end + 2)], true)
        } else if let Some(len) = string_len(rest).filter(|_| !is_word || rest.starts_with('"')) {
            (&rest[..len], false)
        } else {
            let len = rest.chars().next().map_or(0, char::len_utf8);
            out.push_str(&rest[..len]);
            rest = &rest[len..];
            continue;
        };
        match is_comment || strings == Strings::Blank {
            true => out.push_str(&blank(piece)),
            false => out.push_str(piece),
        }
        rest = &rest[piece.len()..];
    }
    out
}

/// The length of the string or character literal that the code begins with.
fn string_len(code: &str) -> Option<usize> {
    let body = code.trim_start_matches(['b', 'r', 'c']);
    let prefix = code.len() - body.len();
    if prefix > 2 {
        return None;
    }
    let hashes = body.len() - body.trim_start_matches('#').len();
    if code[..prefix].contains('r') && body[hashes..].starts_with('"') {
        let end = format!("\"{}", "#".repeat(hashes));
        let start = prefix + hashes + 1;
        return Some(start + code[start..].find(&end)? + end.len());
    }
    let quote = body.chars().next().filter(|c| *c == '"' || *c == '\'')?;
    if quote == '\'' {
        // A lifetime has no closing quote after its first character.
        let mut chars = body[1..].chars();
        let first = chars.next()?;
        if first != '\\' && chars.next() != Some('\'') {
            return None;
        }
    }
    let mut escaped = false;
    for (at, c) in body.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return Some(prefix + at + 1),
            _ => {}
        }
    }
    None
}

/// The code without items for tests, and the names of the modules for tests that are in other files.
/// Comments must be gone.
fn without_tests(code: &str) -> (String, Vec<String>) {
    let (mut out, mut modules) = (code.to_owned(), Vec::new());
    for attribute in ["#[cfg(test)]", "#[cfg(doctest)]"] {
        while let Some(start) = out.find(attribute) {
            let after = start + attribute.len();
            let skeleton = without_comments(&out[after..], Strings::Blank);
            let end = after + item_len(&skeleton);
            let item = skeleton[..end - after].trim();
            if let Some(name) = item.strip_suffix(';').and_then(|item| item.split("mod ").nth(1)) {
                modules.push(name.trim().to_owned());
            }
            let blank: String =
                out[start..end].chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
            out.replace_range(start..end, &blank);
        }
    }
    (out, modules)
}

/// The length of the item that the code begins with: up to its semicolon or its closing brace.
fn item_len(code: &str) -> usize {
    let mut depth = 0;
    for (at, c) in code.char_indices() {
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' if depth == 1 => return at + 1,
            '}' | ')' | ']' => depth -= 1,
            ';' | ',' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

/// A library of all modules, with some code in them.
fn planted(code: &[(&str, &str)]) -> Vec<Source> {
    let modules = LAYERS.iter().flat_map(|(_, modules)| modules.iter());
    let mut files: Vec<Source> = modules
        .map(|module| match module.split_once("::") {
            Some((module, inner)) => (format!("{module}/{inner}.rs"), String::new()),
            None => (format!("{module}/mod.rs"), String::new()),
        })
        .collect();
    let root = "mod tree;\npub use catalog::{Catalog, Listing as List};\n\
        pub mod provider { pub use crate::llm::Request; }\n";
    files.push(("lib.rs".into(), root.into()));
    for (file, text) in code {
        files.retain(|(other, _)| other != file);
        files.push(((*file).into(), (*text).into()));
    }
    files
}

#[test]
fn a_use_of_an_upper_layer_is_found() {
    assert_eq!(upward_uses(&planted(&[])), Vec::<String>::new());
    for (code, expected) in [
        ("use crate::load::Loaded;", vec!["tree/mod.rs:1: crate::load::Loaded"]),
        (
            "\nuse crate::{\n    json::{self, Members},\n    session::{Session, state::State},\n};",
            vec![
                "tree/mod.rs:2: crate::session::Session",
                "tree/mod.rs:2: crate::session::state::State",
            ],
        ),
        (
            "fn a() { crate::context::plan(&crate::json::x()) }",
            vec!["tree/mod.rs:1: crate::context::plan"],
        ),
        ("use crate::Catalog;", vec!["tree/mod.rs:1: crate::Catalog"]),
        ("use crate::provider::Request;", vec!["tree/mod.rs:1: crate::provider::Request"]),
        ("use super::dialect;", vec!["tree/mod.rs:1: crate::dialect"]),
        (
            "use crate::active_context;",
            vec!["tree/mod.rs:1: crate::active_context (not a module of a layer)"],
        ),
        ("use crate::dialect::name::Dialect;", vec![]),
        ("use crate::tree::Tree; use crate::error;", vec![]),
        ("// use crate::load;\n/// [`crate::load`]\nconst A: &str = \"crate::load\";", vec![]),
        (
            "#[cfg(test)]\nmod tests {\n    use crate::load;\n}\n#[cfg(test)]\nuse crate::load;",
            vec![],
        ),
        ("#[cfg(test)]\nmod tests {}\nuse crate::load;", vec!["tree/mod.rs:3: crate::load"]),
    ] {
        assert_eq!(upward_uses(&planted(&[("tree/mod.rs", code)])), expected, "{code}");
    }
    let below =
        [("tree/walk.rs", "use super::super::load;"), ("dialect/name.rs", "use crate::tree;")];
    let expected = ["dialect/name.rs:1: crate::tree", "tree/walk.rs:1: crate::load"];
    assert_eq!(upward_uses(&planted(&below)), expected);
    let tests =
        [("tree/mod.rs", "#[cfg(test)]\nmod tests;"), ("tree/tests.rs", "use crate::load;")];
    assert_eq!(upward_uses(&planted(&tests)), Vec::<String>::new());
}

#[test]
fn a_module_without_a_layer_is_found() {
    let problems = upward_uses(&planted(&[("extra.rs", "use crate::tree;")]));
    assert_eq!(problems, ["extra is in no layer: add it to LAYERS"]);
}

#[test]
fn an_agent_outside_of_the_dialects_is_found() {
    assert_eq!(named_agents(&planted(&[])), Vec::<String>::new());
    for (code, expected) in [
        ("let a = Dialect::Uuid;", vec!["load/mod.rs:1: a variant of Dialect"]),
        ("let a = Dialect::default(); Dialect::ALL", vec![]),
        ("\nlet a = \"oh-my-pi\";", vec!["load/mod.rs:2: pi"]),
        ("use crate::dialect::omp::title;", vec!["load/mod.rs:1: omp"]),
        ("fn a(b: ClaudeCode) {}", vec!["load/mod.rs:1: claude"]),
        ("// As Codex does.\nfn picks_pictures() {}", vec![]),
        ("#[cfg(test)]\nmod tests { const A: &str = \"pi\"; }", vec![]),
    ] {
        assert_eq!(named_agents(&planted(&[("load/mod.rs", code)])), expected, "{code}");
    }
    assert_eq!(named_agents(&planted(&[("dialect/mod.rs", "mod omp;")])), Vec::<String>::new());
}
