//! The modules of the library form layers: a module uses only modules that are listed before it.
//!
//! The test reads the sources. It knows paths that begin with `crate`, `$crate`, `super` or `self`, also in
//! groups, in attributes and through the re-exports of the root, and calls of methods that a higher module
//! adds to a type of a lower one. Comments and code for tests do not count.

use crate::source_text::{Source, Strings, library, module_of, sources, without_comments};
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

#[test]
fn modules_use_only_lower_layers() {
    let problems = upward_uses(&sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")));
    assert!(problems.is_empty(), "modules that look up:\n{}", problems.join("\n"));
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
    let rank = |path: &[String]| {
        let names = (1..=path.len().min(2)).rev().map(|len| path[..len].join("::"));
        names.into_iter().find_map(|name| order.iter().position(|module| *module == name))
    };
    let methods = methods(&files, rank);
    for (file, code) in files.iter().filter(|(file, _)| file != "lib.rs") {
        let own = module_of(file);
        let Some(own_rank) = rank(&own) else { continue };
        let line = |at: usize| code[..at].matches('\n').count() + 1;
        for (at, path) in used_paths(code, &own) {
            let shown = format!("{file}:{}: crate::{}", line(at), path.join("::"));
            let alias = (1..=path.len()).rev().find_map(|len| aliases.get(&path[..len].join("::")));
            let target = match alias {
                Some(module) if !modules.contains(&path[0]) => vec![module.clone()],
                _ => path,
            };
            match rank(&target) {
                Some(rank) if rank <= own_rank => {}
                Some(_) => problems.push(shown),
                None => problems.push(format!("{shown} (not a module of a layer)")),
            }
        }
        for (at, name) in called(code) {
            if methods.get(name).is_some_and(|&lowest| lowest > own_rank) {
                problems.push(format!("{file}:{}: {name}() of a higher layer", line(at)));
            }
        }
    }
    problems.sort();
    problems
}

/// The names that the root gives to items of modules, with the modules. Names in an inline module of the
/// root are paths.
fn reexports(root: &str) -> HashMap<String, String> {
    let (mut aliases, modules) = (HashMap::new(), inline_modules(root));
    for (at, _) in root.match_indices("pub use ") {
        let rest = &root[at + "pub use ".len()..];
        let inline = names_around(&modules, at);
        for path in flattened(&rest[..rest.find(';').unwrap()]) {
            let (path, alias) = path.split_once(" as ").unwrap_or((&path, ""));
            let names: Vec<&str> = path.split("::").filter(|name| *name != "crate").collect();
            let (Some(module), Some(name)) = (names.first(), names.last()) else { continue };
            let name = if alias.is_empty() { name } else { alias };
            let mut new = inline.clone();
            new.extend((name != "*").then(|| name.to_owned()));
            aliases.insert(new.join("::"), (*module).to_owned());
        }
    }
    aliases
}

/// The inline modules of a file: where each begins and ends, and its name, the outermost first.
fn inline_modules(code: &str) -> Vec<(usize, usize, String)> {
    let (mut open, mut found) = (Vec::new(), Vec::new());
    for (brace, _) in code.match_indices(['{', '}']) {
        if code[brace..].starts_with('{') {
            let before = code[..brace].trim_end();
            let start = before.rfind(|c| !is_word(c)).map_or(0, |start| start + 1);
            let is_module = before[..start].trim_end().ends_with("mod");
            open.push(is_module.then(|| (brace, &before[start..])));
        } else if let Some(Some((start, name))) = open.pop() {
            found.push((start, brace, name.to_owned()));
        }
    }
    found.sort();
    found
}

/// The names of the inline modules that an offset is in, the outermost first.
fn names_around(modules: &[(usize, usize, String)], at: usize) -> Vec<String> {
    let around = modules.iter().filter(|(start, end, _)| (*start..*end).contains(&at));
    around.map(|(_, _, name)| name.clone()).collect()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The paths in the code that lead out of their module, with where they begin, as paths below the crate.
/// Strings count in attributes only.
fn used_paths(code: &str, own: &[String]) -> Vec<(usize, Vec<String>)> {
    let blank = without_comments(code, Strings::Blank);
    let (mut found, modules) = (Vec::new(), inline_modules(&blank));
    for start in ["crate", "super", "self"] {
        for (at, _) in code.match_indices(start) {
            let is_code = blank[at..].starts_with(start);
            if !is_code && !is_in_attribute(&blank, at) {
                continue;
            }
            let before = code[..at].chars().next_back().unwrap_or(' ');
            let after = &code[at + start.len()..];
            // The module itself, such as in `use crate as root`, gives a name to all modules.
            let is_renamed = start != "self" && after.trim_start().starts_with("as ");
            if is_word(before) || before == ':' || !(after.starts_with("::") || is_renamed) {
                continue; // A part of another path, or another word.
            }
            let base = [own, &names_around(&modules, at)].concat();
            let text = if is_code { &blank } else { code };
            for path in flattened(tree_at(&text[at..])) {
                let path = path.split(" as ").next().unwrap_or_default();
                let (mut base, mut names) = (base.clone(), path.split("::").peekable());
                while let Some(name) =
                    names.next_if(|name| ["crate", "super", "self"].contains(name))
                {
                    match name {
                        "crate" => base.clear(),
                        "super" => drop(base.pop()),
                        _ => {}
                    }
                }
                base.extend(names.map(str::to_owned));
                if base.is_empty() {
                    base.push("*".to_owned());
                }
                found.push((at, base));
            }
        }
    }
    found
}

/// Returns whether an offset is in an attribute. The code has no strings.
fn is_in_attribute(code: &str, at: usize) -> bool {
    let start = code[..at].rfind("#[");
    start.is_some_and(|start| {
        let open = code[start..at].matches('[').count();
        open > code[start..at].matches(']').count()
    })
}

/// Names of methods of the standard library, whose calls say nothing about layers.
const STANDARD: [&str; 1] = ["find"];

/// The lowest rank of the modules that define each method, for the names of methods that some module adds
/// to a type of another module.
fn methods(files: &[Source], rank: impl Fn(&[String]) -> Option<usize>) -> HashMap<String, usize> {
    let (mut lowest, mut added) = (HashMap::new(), HashSet::new());
    let texts: Vec<(Vec<String>, String)> = files
        .iter()
        .map(|(file, code)| (module_of(file), without_comments(code, Strings::Blank)))
        .collect();
    let mut defined = HashSet::new();
    for (own, code) in &texts {
        for kind in ["struct ", "enum ", "trait ", "type "] {
            let names = code.match_indices(kind).map(|(at, _)| word_at(&code[at + kind.len()..]));
            defined.extend(names.map(|name| (own.first(), name)));
        }
    }
    for (own, code) in &texts {
        let Some(own_rank) = rank(own) else { continue };
        for (at, _) in code.match_indices("fn ") {
            let name = word_at(&code[at + "fn ".len()..]);
            let known: &mut usize = lowest.entry(name.to_owned()).or_insert(own_rank);
            *known = own_rank.min(*known);
        }
        for (at, _) in code.match_indices("\nimpl ") {
            let block = &code[at + "\nimpl ".len()..];
            let (head, body) = block.split_once('{').unwrap_or((block, ""));
            let name = word_at(head);
            if head.contains(" for ") || defined.contains(&(own.first(), name)) {
                continue;
            }
            let body = &body[..body.find("\n}").unwrap_or(body.len())];
            let names = body.split("fn ").skip(1).map(word_at);
            added.extend(names.map(str::to_owned));
        }
    }
    lowest.retain(|name, _| added.contains(name) && !STANDARD.contains(&name.as_str()));
    lowest
}

/// The names after a dot or a type that are called, with where they are.
fn called(code: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (open, _) in code.match_indices('(') {
        let start = code[..open].rfind(|c| !is_word(c)).map_or(0, |start| start + 1);
        let before = code[..start].chars().next_back();
        if start < open && matches!(before, Some('.' | ':')) {
            found.push((start, &code[start..open]));
        }
    }
    found
}

fn word_at(code: &str) -> &str {
    &code[..code.find(|c| !is_word(c)).unwrap_or(code.len())]
}

/// The path that the code begins with, and the group it may end in.
fn tree_at(code: &str) -> &str {
    let mut depth = 0;
    for (at, c) in code.char_indices() {
        match c {
            '{' if depth > 0 || code[..at].ends_with("::") => depth += 1,
            '}' if depth == 1 => return &code[..=at],
            '}' if depth > 0 => depth -= 1,
            _ if depth > 0 || is_word(c) || c == ':' => {}
            '*' if code[..at].ends_with("::") => return &code[..=at],
            _ => return code[..at].trim_end_matches(':'),
        }
    }
    code
}

/// The single paths of a path with nested groups.
fn flattened(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some((prefix, group)) = tree.split_once('{') else {
        return if tree.is_empty() { Vec::new() } else { vec![tree.to_owned()] };
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
        pub mod provider { pub use crate::llm::Request; }\n\
        pub mod storage {\n    pub use crate::log::Journal;\n    pub fn open() {}\n}\n";
    files.push(("lib.rs".into(), root.into()));
    // A higher module may add methods to a type, but only higher modules may call them.
    let added = "\nimpl B {\n    pub fn upgrade(&self) {}\n    pub fn len(&self) {}\n}\n\
        struct C;\nimpl C {\n    fn own(&self) {}\n}\n";
    files.push(("migrate/methods.rs".into(), added.into()));
    files.push(("json/text.rs".into(), "pub struct B;\nfn len() {}\n".into()));
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
        ("use super::Catalog;", vec!["tree/mod.rs:1: crate::Catalog"]),
        ("use crate::List;", vec!["tree/mod.rs:1: crate::List"]),
        ("use crate::storage::Journal;", vec![]),
        (
            "fn a() { crate::storage::open() }",
            vec!["tree/mod.rs:1: crate::storage::open (not a module of a layer)"],
        ),
        ("use crate::*;", vec!["tree/mod.rs:1: crate::* (not a module of a layer)"]),
        ("use crate as root;", vec!["tree/mod.rs:1: crate::* (not a module of a layer)"]),
        ("use crate::load as below;", vec!["tree/mod.rs:1: crate::load"]),
        ("use self::super::load;", vec!["tree/mod.rs:1: crate::load"]),
        ("type A = Vec<crate::load::Loaded>;", vec!["tree/mod.rs:1: crate::load::Loaded"]),
        ("macro_rules! a { () => { $crate::load::b() } }", vec!["tree/mod.rs:1: crate::load::b"]),
        ("#[serde(with = \"crate::load\")]\nstruct A;", vec!["tree/mod.rs:1: crate::load"]),
        (
            "mod a {\n    use super::Tree;\n    use super::super::load;\n}",
            vec!["tree/mod.rs:3: crate::load"],
        ),
        (
            "fn a(session: &B) { session.upgrade(1) }",
            vec!["tree/mod.rs:1: upgrade() of a higher layer"],
        ),
        ("fn a(b: &B) { B::upgrade(b) }", vec!["tree/mod.rs:1: upgrade() of a higher layer"]),
        ("fn a(session: &B) { session.len(); session.own() }", vec![]),
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
