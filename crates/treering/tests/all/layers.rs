//! The modules of the library form layers: a module uses only modules that are listed before it.
//!
//! The test reads the sources. It knows paths that begin with `crate`, `$crate`, `super` or `self`, also in
//! groups, in attributes and through the re-exports of the root, and uses of methods and constants that a
//! higher module adds to a type of a lower one. A trait is implemented where the trait or the type is defined,
//! because no path shows the use of such an implementation. Comments and code for tests do not count. A method
//! with the name of a method of a lower layer is not seen; `.ci/layers.py` asks the compiler about those.

use crate::source_text::{
    Source, Strings, item_len, library, module_of, sources, without_comments,
};
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
    let ranked: Vec<(String, usize, String)> = files
        .iter()
        .filter_map(|(file, code)| {
            let rank = rank(&module_of(file))?;
            Some((file.clone(), rank, without_comments(code, Strings::Blank)))
        })
        .collect();
    let defined = definitions(&ranked);
    let methods = methods(&ranked, &defined);
    let line = |code: &str, at: usize| code[..at].matches('\n').count() + 1;
    for (file, code) in files.iter().filter(|(file, _)| file != "lib.rs") {
        let own = module_of(file);
        let Some(own_rank) = rank(&own) else { continue };
        for (at, path) in used_paths(code, &own) {
            let shown = format!("{file}:{}: crate::{}", line(code, at), path.join("::"));
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
    }
    for (file, own, code) in &ranked {
        for (at, name) in members(code) {
            if methods.get(name).is_some_and(|lowest| lowest > own) {
                problems.push(format!("{file}:{}: {name} of a higher layer", line(code, at)));
            }
        }
        if IMPLEMENTING.contains(&order[*own]) {
            continue;
        }
        for (at, head) in stray_implementations(code, *own, &defined) {
            problems.push(format!("{file}:{}: impl {head} of other modules", line(code, at)));
        }
    }
    for (file, code) in &files {
        let code = without_comments(code, Strings::Blank);
        for text in HIDING {
            let found = code.match_indices(text).map(|(at, _)| line(&code, at));
            problems.extend(found.map(|line| format!("{file}:{line}: {text} hides what is used")));
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

/// Texts that bring code of another module into a module without a path to it.
const HIDING: [&str; 4] = ["include!", "#[path", "#[macro_use]", "extern crate self"];

/// Names of methods of the standard library, whose uses say nothing about layers.
const STANDARD: [&str; 1] = ["find"];

/// The names of the types and traits that each module of a layer defines, by its rank.
fn definitions(files: &[(String, usize, String)]) -> HashSet<(usize, &str)> {
    let mut defined = HashSet::new();
    for (_, rank, code) in files {
        for kind in ["struct ", "enum ", "trait ", "type "] {
            let names = code.match_indices(kind).map(|(at, _)| word_at(&code[at + kind.len()..]));
            defined.extend(names.map(|name| (*rank, name)));
        }
    }
    defined
}

/// The lowest rank of the modules that define each method or constant, for the names of those that some
/// module adds to a type of another module.
fn methods<'a>(
    files: &'a [(String, usize, String)],
    defined: &HashSet<(usize, &str)>,
) -> HashMap<&'a str, usize> {
    let (mut lowest, mut added) = (HashMap::new(), HashSet::new());
    for (_, own, code) in files {
        for name in items(code) {
            let known = lowest.entry(name).or_insert(*own);
            *known = (*own).min(*known);
        }
        for (_, head, body) in impls(code) {
            let path = head.split(['<', ' ']).next().unwrap_or_default();
            let name = path.rsplit("::").next().unwrap_or_default();
            if !head.contains(" for ") && !defined.contains(&(*own, name)) {
                added.extend(items(body));
            }
        }
    }
    lowest.retain(|name, _| added.contains(name) && !STANDARD.contains(name));
    lowest
}

/// The names of the functions and constants that the code defines, in any order.
fn items(code: &str) -> impl Iterator<Item = &str> {
    let after = |kind: &'static str| code.split(kind).skip(1).map(word_at);
    after("fn ").chain(after("const ").filter(|name| *name != "fn"))
}

/// The modules that may implement a trait of another crate for types of lower modules.
const IMPLEMENTING: [&str; 1] = ["serde_ids"];

/// The implementations of traits in code that defines neither the trait nor the type, with where they are.
fn stray_implementations<'a>(
    code: &'a str,
    own: usize,
    defined: &HashSet<(usize, &str)>,
) -> Vec<(usize, &'a str)> {
    let mut found = impls(code);
    found.retain(|(_, head, _)| {
        let words = || head.split(|c| !is_word(c));
        head.contains(" for ")
            && !words().any(|word| defined.contains(&(own, word)))
            && words().any(|word| (0..own).any(|lower| defined.contains(&(lower, word))))
    });
    found.into_iter().map(|(at, head, _)| (at, head)).collect()
}

/// The blocks that implement methods or a trait: where each begins, the text between its parameters and its
/// body, and its body. The code has no strings.
fn impls(code: &str) -> Vec<(usize, &str, &str)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("impl") {
        let (before, rest) = (code[..at].trim_end(), &code[at + "impl".len()..]);
        let before = before.strip_suffix("unsafe").unwrap_or(before).trim_end();
        let is_item = before.is_empty() || before.ends_with(['{', '}', ';', ']']);
        if !is_item || !rest.starts_with([' ', '<', '\n']) {
            continue; // A type, or a part of a name.
        }
        let (mut depth, mut last) = (0, ' ');
        let start = rest.find(|c| {
            depth += i32::from(c == '<') - i32::from(c == '>' && last != '-');
            last = c;
            depth == 0 && !"> \n".contains(c)
        });
        let Some(start) = start else { continue };
        let Some((head, _)) = rest[start..].split_once('{') else { continue };
        let body = &rest[start + head.len()..];
        let body = &body[..item_len(body)];
        found.push((at, head.split(" where").next().unwrap_or_default().trim(), body));
    }
    found
}

/// The names after a dot or a type, with where they are.
fn members(code: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices(['.', ':']) {
        let name = word_at(&code[at + 1..]);
        if !name.is_empty() {
            found.push((at + 1, name));
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
            Some((module, inner)) => (format!("{module}/{inner}.rs"), "pub enum E {}".into()),
            None => (format!("{module}/mod.rs"), String::new()),
        })
        .collect();
    let root = "mod tree;\npub use catalog::{Catalog, Listing as List};\n\
        pub mod provider { pub use crate::llm::Request; }\n\
        pub mod storage {\n    pub use crate::log::Journal;\n    pub fn open() {}\n}\n";
    files.push(("lib.rs".into(), root.into()));
    // A higher module may add methods to a type, but only higher modules may call them.
    let added = "\nimpl B {\n    pub fn upgrade(&self) {}\n    pub fn len(&self) {}\n    \
            pub const LIMIT: u8 = 1;\n    pub const fn fixed() {}\n}\n\
        struct C;\nimpl C {\n    fn own(&self) {}\n}\n\
        impl<T: Fn() -> u8> super::D<T> {\n    fn grow(&self) {}\n}\n\
        mod inner {\n    impl<T> D<T> {\n        fn nested(&self) {}\n    }\n}\n";
    files.push(("migrate/methods.rs".into(), added.into()));
    files.push(("json/text.rs".into(), "pub struct B;\npub struct D<T>(T);\nfn len() {}\n".into()));
    // The names of the dialects are a module of their own.
    files.push(("dialect/codec.rs".into(), "impl E {\n    fn codec(self) {}\n}\n".into()));
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
            vec!["tree/mod.rs:1: upgrade of a higher layer"],
        ),
        ("fn a(b: &B) { B::upgrade(b) }", vec!["tree/mod.rs:1: upgrade of a higher layer"]),
        ("fn a(b: &B) { b.upgrade::<u8>() }", vec!["tree/mod.rs:1: upgrade of a higher layer"]),
        (
            "fn a(b: Option<&B>) { b.map(B::upgrade) }",
            vec!["tree/mod.rs:1: upgrade of a higher layer"],
        ),
        ("fn a() -> u8 { B::LIMIT }", vec!["tree/mod.rs:1: LIMIT of a higher layer"]),
        ("fn a() { B::fixed() }", vec!["tree/mod.rs:1: fixed of a higher layer"]),
        ("include!(\"../load/a.rs\");", vec!["tree/mod.rs:1: include! hides what is used"]),
        ("#[path = \"../load/a.rs\"]\nmod a;", vec!["tree/mod.rs:1: #[path hides what is used"]),
        ("#[macro_use]\nmod a;", vec!["tree/mod.rs:1: #[macro_use] hides what is used"]),
        (
            "extern crate self as root;\nuse root::load;",
            vec!["tree/mod.rs:1: extern crate self hides what is used"],
        ),
        ("const A: &str = include_str!(\"a.txt\");", vec![]),
        ("fn a(b: &D<u8>) { b.grow() }", vec!["tree/mod.rs:1: grow of a higher layer"]),
        ("fn a(b: &D<u8>) { b.nested() }", vec!["tree/mod.rs:1: nested of a higher layer"]),
        ("fn a(dialect: E) { dialect.codec() }", vec!["tree/mod.rs:1: codec of a higher layer"]),
        ("fn a(session: &B) { session.len(); session.own() }", vec![]),
        (
            "impl<'a> From<&'a B> for Vec<u8> {}",
            vec!["tree/mod.rs:1: impl From<&'a B> for Vec<u8> of other modules"],
        ),
        ("struct A;\nimpl From<A> for B {}\nimpl A where B: Copy {}", vec![]),
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
