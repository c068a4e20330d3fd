//! Test support: a directory with sessions, and searches in it.

use serde_json::{Value, json};
use std::ops::{ControlFlow, Deref};
use std::path::PathBuf;
use treering_search::{Case, Found, Options, Query, SessionHits, search};

pub(crate) struct TestDir {
    test_dir: treering_testkit::test_dir::TestDir,
}

impl Deref for TestDir {
    type Target = treering_testkit::test_dir::TestDir;

    fn deref(&self) -> &Self::Target {
        &self.test_dir
    }
}

impl TestDir {
    pub(crate) fn empty() -> Self {
        TestDir { test_dir: Default::default() }
    }

    /// With a session of a header and these lines, `s.jsonl`.
    pub(crate) fn with(lines: &[String]) -> Self {
        let test_dir = TestDir::empty();
        test_dir.write("s.jsonl", session(lines));
        test_dir
    }

    /// Returns the hits in `s.jsonl`: entry, state, and the line with its matches in brackets.
    pub(crate) fn hits(&self, query: &str) -> Vec<String> {
        let found = sessions([self.file("s.jsonl")], query);
        found.iter().flat_map(|session| &session.hits).map(shown).collect()
    }

    /// Returns the ids of the entries found in `s.jsonl`.
    pub(crate) fn ids(&self, query: &str) -> String {
        let found = sessions([self.file("s.jsonl")], query);
        let hits = found.iter().flat_map(|session| &session.hits);
        let ids: Vec<&str> =
            hits.map(|hit| hit.entry.as_ref().map_or("(name)", |id| id.as_str())).collect();
        ids.join(" ")
    }
}

pub(crate) fn shown(hit: &treering_search::Hit) -> String {
    let line: String = hit
        .snippet
        .pieces()
        .map(|(text, found)| if found { format!("[{text}]") } else { text.to_owned() })
        .collect();
    let leaf = match &hit.state {
        treering_search::BranchState::Abandoned(leaf) => format!("({leaf})"),
        _ => String::new(),
    };
    format!("{} {}{leaf} {}: {line}", hit.short, hit.state.name(), hit.part.name())
}

pub(crate) fn run(
    files: impl IntoIterator<Item = PathBuf>,
    query: &str,
    options: &Options,
) -> (Vec<Found>, treering_search::Summary) {
    let query = Query::parse(query, Case::Ignored).unwrap();
    let mut all = Vec::new();
    let summary = search(files, &query, options, &Default::default(), |found| {
        if !matches!(found, Found::Searched(_)) {
            all.push(found);
        }
        ControlFlow::Continue(())
    });
    (all, summary)
}

/// Returns the sessions found, of files that must all be readable.
pub(crate) fn sessions(files: impl IntoIterator<Item = PathBuf>, query: &str) -> Vec<SessionHits> {
    let found = run(files, query, &Options::default()).0;
    found
        .into_iter()
        .map(|found| match found {
            Found::Session(session) => *session,
            other => panic!("{other:?}"),
        })
        .collect()
}

pub(crate) fn header() -> &'static str {
    r#"{"type":"session","version":3,"id":"demo-1","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/home/me/web"}"#
}

pub(crate) fn session(lines: &[String]) -> String {
    format!("{}\n{}\n", header(), lines.join("\n"))
}

pub(crate) fn entry(kind: &str, id: &str, parent: Option<&str>, mut more: Value) -> String {
    let common = json!({"type": kind, "id": id, "parentId": parent, "timestamp": "2026-01-05T09:01:00.000Z"});
    more.as_object_mut().unwrap().extend(common.as_object().unwrap().clone());
    more.to_string()
}

pub(crate) fn message(id: &str, parent: Option<&str>, message: Value) -> String {
    entry("message", id, parent, json!({"message": message}))
}

pub(crate) fn user(id: &str, parent: Option<&str>, text: &str) -> String {
    message(id, parent, json!({"role": "user", "content": text}))
}

pub(crate) fn assistant(id: &str, parent: &str, content: Value) -> String {
    message(
        id,
        Some(parent),
        json!({"role": "assistant", "content": content, "provider": "acme", "model": "m"}),
    )
}

pub(crate) fn call(id: &str, name: &str, arguments: Value) -> Value {
    json!({"type": "toolCall", "id": id, "name": name, "arguments": arguments})
}
