//! Finds problems in the content of complete entries.

use super::tools::Tools;
use crate::dialect::blobs::{self, BlobError};
use crate::entry::{Kind, MessageView, Role};
use crate::error::Result;
use crate::findings::Problem;
use crate::json;
use crate::load::{Loaded, MAX_FINDINGS};
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::{Node, Row};
use std::collections::HashMap;

/// Entries larger than this are reported as large.
const LARGE: u64 = 1 << 20;
/// The maximum number of large entries that are reported.
const MAX_LARGE: usize = 5;

/// Problems, and the offset of the line each is on.
pub(super) type LocatedProblems = Vec<(u64, Problem)>;

/// Reads every entry that is not known to be damaged.
pub(super) fn examine(view: &Snapshot, loaded: &Loaded, found: &mut LocatedProblems) -> Result<()> {
    let tree = view.tree();
    let mut bodies = Bodies::default();
    let mut look =
        EntryCheck { loaded, found, tools: Tools::default(), unknown: UnknownTypes::default() };
    let mut more = Vec::new();
    for row in tree.live() {
        let node = *tree.node(row);
        more.clear();
        let Some(body) = bodies.all(view, row, &mut more)? else { continue };
        let start = json::skip_space(&body, 0);
        if body.get(start) != Some(&b'{') || json::skip_value(&body, start).is_none() {
            continue; // The survey has it.
        }
        // The records of a list need not be in the order of their times.
        let is_list = loaded.facts().is_chain() || loaded.facts().updates_records;
        if node.time().is_none() && !is_list && !is_header_node(loaded, &node) {
            look.find(row, Problem::InvalidTime(tree.id(row)));
        }
        if !loaded.blobs.is_empty() {
            for (name, error) in blobs::problems(&body, &loaded.blobs) {
                let entry = tree.id(row);
                look.find(
                    row,
                    match error {
                        BlobError::Missing => Problem::MissingBlob { entry, name },
                        error => Problem::BadBlob { entry, name, reason: error.to_string() },
                    },
                );
            }
        }
        look.at(row, &body, &more);
    }
    let EntryCheck { tools, unknown, .. } = look;
    found.extend(unknown.problems());
    tools.examine(view, found)?;
    large(view, found);
    Ok(())
}

/// Returns whether this is a known type of record.
pub(super) fn is_known(loaded: &Loaded, type_name: &str) -> bool {
    Kind::of(type_name) != Kind::Other || loaded.facts().own_types.contains(&type_name)
}

/// Returns whether a node is the header, which need not have what entries have.
fn is_header_node(loaded: &Loaded, node: &Node) -> bool {
    node.offset == loaded.header_span.start && !loaded.header_span.is_empty()
}

struct EntryCheck<'a> {
    loaded: &'a Loaded,
    found: &'a mut LocatedProblems,
    tools: Tools,
    unknown: UnknownTypes,
}

impl EntryCheck<'_> {
    fn find(&mut self, row: Row, problem: Problem) {
        if self.found.len() < MAX_FINDINGS {
            self.found.push((self.loaded.tree.node(row).offset, problem));
        }
    }

    fn at(&mut self, row: Row, body: &[u8], more: &[Vec<u8>]) {
        let tree = &self.loaded.tree;
        let node = tree.node(row);
        let id = || tree.id(row);
        match node.kind() {
            Kind::Message => match json::get(body, "message").filter(|raw| raw.starts_with(b"{")) {
                None => self.find(row, Problem::NoMessage(id())),
                Some(message) => self.message(row, message, more),
            },
            Kind::Other => {
                let name = json::get(body, "type").and_then(json::string).unwrap_or_default();
                let is_header = is_header_node(self.loaded, node);
                if !is_header && !is_known(self.loaded, &name) {
                    self.unknown.add(&name, node.offset);
                }
            }
            Kind::ContextEdit => {
                let target = json::get(body, "targetId").and_then(json::string);
                if target.is_some_and(|target| !tree.contains(&target)) {
                    self.find(row, Problem::MissingTarget(id()));
                }
            }
            // Other agents omit this field on purpose.
            Kind::Compaction
                if self.loaded.facts().is_own_format
                    && json::get(body, "firstKeptEntryId").is_none()
                    && json::get(body, "firstKeptEntryIndex").is_none() =>
            {
                self.find(row, Problem::MissingFirstKept(id()));
            }
            _ => {}
        }
    }

    fn message(&mut self, row: Row, message: &[u8], more: &[Vec<u8>]) {
        let view = MessageView::new(message);
        let has_content = view.get("content").is_some_and(|content| content != b"null");
        let speaks = matches!(view.role(), Role::User | Role::Assistant | Role::ToolResult);
        if speaks && !has_content {
            self.find(row, Problem::NoContent(self.loaded.tree.id(row)));
        }
        if view.role() == Role::Other {
            let role = view.field("role").unwrap_or_default();
            if !self.loaded.facts().own_roles.contains(&&*role) {
                let offset = self.loaded.tree.node(row).offset;
                self.unknown.add(&format!("message of {role}"), offset);
            }
        }
        self.tools.take(row, message);
        for message in more {
            self.tools.take(row, message);
        }
    }
}

/// Counts the occurrences of each unknown type, with the first line. The number of types is
/// bounded.
#[derive(Debug, Default)]
pub(super) struct UnknownTypes(HashMap<String, (u64, u64)>);

impl UnknownTypes {
    pub(super) fn add(&mut self, name: &str, offset: u64) {
        const MAX_NAME: usize = 100;
        let name: String = name.chars().take(MAX_NAME).collect();
        if let Some((_, count)) = self.0.get_mut(&name) {
            *count += 1;
        } else if self.0.len() < MAX_FINDINGS {
            self.0.insert(name, (offset, 1));
        }
    }

    pub(super) fn problems(self) -> impl Iterator<Item = (u64, Problem)> {
        let problem = |(name, (offset, count))| (offset, Problem::UnknownType { name, count });
        self.0.into_iter().map(problem)
    }
}

/// Reports the largest entries, if any is large.
fn large(view: &Snapshot, found: &mut LocatedProblems) {
    let tree = view.tree();
    let mut largest: Vec<(u64, Row)> = Vec::new();
    for row in tree.live() {
        let len = tree.node(row).len;
        if len > LARGE {
            largest.push((len, row));
            largest.sort_unstable_by(|a, b| b.cmp(a));
            largest.truncate(MAX_LARGE);
        }
    }
    for (size, row) in largest {
        found.push((tree.node(row).offset, Problem::Large { entry: tree.id(row), size }));
    }
}
