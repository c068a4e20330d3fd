//! Reads Rust sources as text, without a compiler: files, comments, strings, and code for tests.

use std::collections::HashSet;
use std::path::Path;

/// A source file: its path below its directory, with slashes, and its text.
pub(crate) type Source = (String, String);

/// Returns the Rust files below a directory.
pub(crate) fn sources(root: &Path) -> Vec<Source> {
    files(root, &["rs"])
}

/// Returns the files below a directory whose names end in one of these ways.
pub(crate) fn files(root: &Path, extensions: &[&str]) -> Vec<Source> {
    let (mut found, mut directories) = (Vec::new(), vec![root.to_owned()]);
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|own| extensions.iter().any(|one| own == *one)) {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
                found.push((name, std::fs::read_to_string(path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// The module that a file is, as a path below the crate.
pub(crate) fn module_of(file: &str) -> Vec<String> {
    let (stem, _) = file.rsplit_once('.').unwrap();
    let stem = stem.strip_suffix("/mod").unwrap_or(stem);
    match stem {
        "lib" => Vec::new(),
        stem => stem.split('/').map(str::to_owned).collect(),
    }
}

/// The files that are part of the library: those of tests are not.
pub(crate) fn library(sources: &[Source]) -> Vec<(String, String)> {
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

/// The treatment of string literals.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Strings {
    Kept,
    Blank,
}

/// The code with blanks for comments, and for the content of strings and characters if so wanted. Lines
/// keep their numbers.
pub(crate) fn without_comments(text: &str, strings: Strings) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let blank =
        |piece: &str| piece.chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect::<String>();
    while !rest.is_empty() {
        // Neither a comment nor a literal begins with another character.
        let plain = rest.find(['/', '"', '\'', 'b', 'r', 'c']).unwrap_or(rest.len());
        out.push_str(&rest[..plain]);
        rest = &rest[plain..];
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
pub(crate) fn item_len(code: &str) -> usize {
    let mut depth = 0;
    for (at, c) in code.char_indices() {
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' if depth == 1 => return at + 1,
            '}' | ')' | ']' if depth == 0 => return at,
            '}' | ')' | ']' => depth -= 1,
            ';' | ',' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

#[test]
fn only_items_for_tests_are_left_out() {
    for (code, left) in [
        ("#[cfg(test)]\nuse a::B;\nuse c::D;", "use c::D;"),
        ("#[cfg(test)]\nfn a() -> [u8; 2] { b }\nfn c() {}", "fn c() {}"),
        ("struct A {\n    #[cfg(test)]\n    b: C\n}\nuse d::E;", "struct A { } use d::E;"),
    ] {
        let (code, _) = without_tests(&without_comments(code, Strings::Kept));
        assert_eq!(code.split_whitespace().collect::<Vec<_>>().join(" "), left);
    }
}
