//! Dependencies between the crates of the workspace go one way, as the table in ARCHITECTURE.md says. Those
//! of tests may go the other way, but never in a cycle, which no registry would accept.

use crate::source_text::{Strings, files, without_comments};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// For each crate the other crates of the workspace that it uses, the library left out.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// Neither the other crates nor the document are part of the package.
#[test]
fn dependencies_between_crates_are_those_of_the_documented_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let Ok(text) = std::fs::read_to_string(root.join("ARCHITECTURE.md")) else { return };
    let mut manifests = Vec::new();
    for entry in std::fs::read_dir(root.join("crates")).unwrap() {
        let manifest = entry.unwrap().path().join("Cargo.toml");
        manifests.extend(std::fs::read_to_string(manifest));
    }
    let manifests: Vec<&str> = manifests.iter().map(String::as_str).collect();
    assert_eq!(problems(&text, &manifests), Vec::<String>::new());
}

/// A dependency that no source names is compiled for nothing.
#[test]
fn every_dependency_is_used() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut unused = Vec::new();
    for entry in std::fs::read_dir(crates).unwrap() {
        let root = entry.unwrap().path();
        let Ok(manifest) = std::fs::read_to_string(root.join("Cargo.toml")) else { continue };
        let read = |directory: &str| match root.join(directory) {
            directory if directory.is_dir() => files(&directory, &["rs"]),
            _ => Vec::new(),
        };
        let library: String =
            read("src").iter().map(|(_, text)| without_comments(text, Strings::Kept)).collect();
        // Examples in comments are tests.
        let tests = ["src", "tests", "examples", "benches"].into_iter().flat_map(read);
        let tests: String = tests.map(|(_, text)| text).collect();
        for (section, name) in named_dependencies(&manifest) {
            let code = if section.ends_with("dev-dependencies") { &tests } else { &library };
            let name = name.replace('-', "_");
            if !code.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name) {
                unused.push(format!("{}: {name}", root.file_name().unwrap().display()));
            }
        }
    }
    assert!(unused.is_empty(), "dependencies without a use:\n{}", unused.join("\n"));
}

/// The dependencies of a manifest, with the section that each is in.
fn named_dependencies(manifest: &str) -> Vec<(&str, &str)> {
    let (mut found, mut section) = (Vec::new(), "");
    for line in manifest.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']');
        } else if section.ends_with("dependencies")
            && let Some((key, _)) = line.split_once('=')
        {
            found.push((section, key.trim().split('.').next().unwrap()));
        }
    }
    found
}

/// Returns what the table and the manifests do not agree on.
fn problems(text: &str, manifests: &[&str]) -> Vec<String> {
    let (order, table) = documented(text);
    let mut problems = Vec::new();
    let mut known = BTreeSet::new();
    for manifest in manifests {
        let (name, mut uses) = dependencies(manifest, is_for_dependencies);
        if name != "treering" && !uses.remove("treering") {
            problems.push(format!("{name} does not use treering"));
        }
        match table.get(&name) {
            None => problems.push(format!("{name} is not in the table of ARCHITECTURE.md")),
            Some(expected) if *expected != uses => {
                problems
                    .push(format!("{name} uses {uses:?}, and ARCHITECTURE.md says {expected:?}"));
            }
            Some(_) => {}
        }
        let place = |name: &str| order.iter().position(|other| other == name);
        for other in uses.iter().filter(|other| place(other) >= place(&name)) {
            problems.push(format!("{name} uses {other}, which is not before it in the table"));
        }
        known.insert(name);
    }
    let cycle = unpublishable(manifests);
    if !cycle.is_empty() {
        problems.push(format!("none of these can be published first: {}", cycle.join(", ")));
    }
    let missing = order.iter().filter(|name| !known.contains(*name));
    problems
        .extend(missing.map(|name| format!("there is no crate {name}: remove it from the table")));
    problems
}

/// The rows of the table: the names of the crates in order, and what each of them uses.
fn documented(text: &str) -> (Vec<String>, Uses) {
    let (mut order, mut table): (Vec<String>, Uses) = Default::default();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `treering"));
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [name, _, uses, _] = cells[..] else { continue };
        let name = format!("treering{}", name.trim_end_matches('`'));
        let uses = match uses {
            "all of the above" => {
                order.iter().filter(|name| *name != "treering").cloned().collect()
            }
            uses => {
                let names = uses.split(',').map(|name| name.trim().trim_matches('`'));
                names
                    .filter(|name| !name.is_empty())
                    .map(|name| format!("treering{name}"))
                    .collect()
            }
        };
        order.push(name.clone());
        table.insert(name, uses);
    }
    (order, table)
}

/// The crates that cannot be published in any order, because they use one another. Here the dependencies of
/// tests count as well: a registry checks them, except for crates that are not published.
fn unpublishable(manifests: &[&str]) -> Vec<String> {
    let published = |manifest: &&&str| !manifest.lines().any(|line| line == "publish = false");
    let mut left: Uses = manifests
        .iter()
        .filter(published)
        .map(|manifest| dependencies(manifest, |section| section.ends_with("dependencies")))
        .collect();
    loop {
        let names: BTreeSet<String> = left.keys().cloned().collect();
        left.retain(|_, uses| uses.iter().any(|other| names.contains(other)));
        if left.len() == names.len() {
            return names.into_iter().collect();
        }
    }
}

/// The name of a crate, and the crates of the workspace that it uses in sections of some kinds.
fn dependencies(manifest: &str, is_wanted: fn(&str) -> bool) -> (String, BTreeSet<String>) {
    let (mut name, mut uses, mut section) = (String::new(), BTreeSet::new(), "");
    for line in manifest.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']');
            // `[dependencies.NAME]` is a section for one of them.
            if let Some((above, other)) = section.rsplit_once('.')
                && is_wanted(above)
            {
                uses.insert(other.to_owned());
            }
        } else if let Some((key, value)) = line.split_once('=') {
            let key = key.trim().split('.').next().unwrap();
            if section == "package" && key == "name" {
                name = value.trim().trim_matches('"').to_owned();
            } else if key == "package"
                && section.rsplit_once('.').is_some_and(|(above, _)| is_wanted(above))
            {
                uses.insert(value.trim().trim_matches('"').to_owned());
            } else if is_wanted(section) {
                uses.insert(key.to_owned());
                // A dependency may have another name here.
                uses.extend(value.split('"').skip(1).step_by(2).map(str::to_owned));
            }
        }
    }
    uses.retain(|other| other == "treering" || other.starts_with("treering-"));
    (name, uses)
}

fn is_for_dependencies(section: &str) -> bool {
    let kind = section.rsplit('.').next().unwrap();
    kind == "dependencies" || kind == "build-dependencies"
}

#[test]
fn a_dependency_that_the_table_lacks_is_found() {
    let text = "| crate | contains | also uses |\n|---|---|---|\n| `treering` | the library | |\n\
        | `treering-a` | a | |\n| `treering-b` | b | `-a` |\n| `treering-c` | c | all of the above |\n";
    let library = "[package]\nname = \"treering\"\n";
    let of = |name: &str, rest: &str| {
        format!(
            "[package]\nname = \"treering-{name}\"\n[dependencies]\ntreering.workspace = true\n{rest}"
        )
    };
    let (a, b) = (of("a", ""), of("b", "treering-a = { path = \"../a\" }\n"));
    let c = of("c", "treering-a.workspace = true\n[target.'cfg(unix)'.dependencies.treering-b]\n");
    assert_eq!(problems(text, &[library, &a, &b, &c]), Vec::<String>::new());

    let up = of("a", "[build-dependencies]\ntreering-b.workspace = true\n");
    let found = problems(text, &[library, &up, &b, &c]);
    assert_eq!(found[1], "treering-a uses treering-b, which is not before it in the table");
    assert_eq!(found.len(), 3, "{found:?}");

    for renamed in [
        "[build-dependencies]\nother = { path = \"../b\", package = \"treering-b\" }\n",
        "[target.'cfg(unix)'.dependencies.other]\npackage = \"treering-b\"\n",
    ] {
        let found = problems(text, &[library, &of("a", renamed), &b, &c]);
        assert_eq!(found.len(), 3, "{renamed}: {found:?}");
    }

    // The tests of a crate may use crates above it, but not in a cycle, except for unpublished crates.
    let tests = |name: &str, other: &str| {
        of(name, &format!("[dev-dependencies]\ntreering-{other}.workspace = true\n"))
    };
    let (above, unpublished) = (tests("a", "d"), of("d", "treering-a = { path = \"../a\" }\n"));
    let found = problems(text, &[library, &tests("a", "b"), &b, &c]);
    assert_eq!(found, ["none of these can be published first: treering-a, treering-b, treering-c"]);
    let d = unpublished.replace("[dependencies]", "publish = false\n[dependencies]");
    assert_eq!(unpublishable(&[library, &above, &unpublished]), ["treering-a", "treering-d"]);
    assert_eq!(unpublishable(&[library, &above, &d]), Vec::<String>::new());

    let extra = of("d", "");
    let found = problems(text, &[library, &a, &b, &extra]);
    let expected = [
        "treering-d is not in the table of ARCHITECTURE.md",
        "there is no crate treering-c: remove it from the table",
    ];
    assert_eq!(found, expected);
}
