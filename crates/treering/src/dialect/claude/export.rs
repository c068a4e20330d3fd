//! Writes a session in Claude Code's format.
//!
//! The active branch comes last: Claude Code resumes at the branch end whose last message is last
//! in the file. If there are messages below the active leaf, a note becomes a child of the leaf, so
//! that the leaf is an end as well. A compaction is written as a boundary without a parent, its
//! summary, and copies of the entries that it keeps, because Claude Code itself keeps none.

use super::decode::{list, object};
use super::stray::{self, StrayCandidate};
use crate::dialect::export::{ExportEntry, ExportSource, ExportedRecords, Outcome, ReportOutcome};
use crate::dialect::{embed, uuid_of};
use crate::entry::{Kind, MessageView, NewEntry, Role, for_provider};
use crate::error::{Error, Result};
use crate::json;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::Write;

/// Writes a session, and reports the outcome of its entries.
pub(super) fn export(
    source: &dyn ExportSource,
    out: &mut dyn Write,
    report: &mut ReportOutcome<'_>,
) -> Result<ExportedRecords> {
    let (tree, leaf) = (source.tree(), source.leaf());
    let active: HashSet<String> = leaf
        .into_iter()
        .flat_map(|leaf| tree.ancestors(leaf))
        .map(|row| tree.id_text(row).to_owned())
        .collect();
    // The format has no context edits: the messages are written as the edits on the active path
    // left them.
    let edited = source.edited()?;
    let (places, continued) = (HashMap::new(), HashSet::new());
    let mut export = Exporter { source, out, edited, places, continued };
    let (mut seen, mut left_out) = (Vec::new(), HashSet::new());
    source.each(&mut |item| {
        export.place(&item)?;
        seen.push(export.stray_candidate(item, &active));
        Ok(())
    })?;
    let strays = stray::results(&seen);
    if let Some(name) = source.name() {
        export.title(name)?;
    }
    // The other branches are written first, then the active path.
    for is_active in [false, true] {
        source.each(&mut |item| {
            if strays.contains(&item.id) {
                if is_active {
                    report(&item.name(), Outcome::LeftOut(STRAY));
                    left_out.insert(item.base().to_owned());
                }
            } else if active.contains(item.base()) == is_active {
                let outcome = export.item(&item)?;
                report(&item.name(), outcome);
            }
            Ok(())
        })?;
    }
    let leaf = leaf.and_then(|row| source.end(row)).and_then(|id| export.tail(&id));
    if let Some(leaf) = leaf.filter(|leaf| export.continued.contains(leaf)) {
        export.note(&leaf)?;
    }
    let tail = |id: &String| Some((id.clone(), export.tail(id)?));
    Ok(ExportedRecords { tails: export.places.keys().filter_map(tail).collect(), left_out })
}

const STRAY: &str = "Claude Code would read it as a part of the active branch";

/// The record that an entry became.
#[derive(Debug)]
enum ExportedAs {
    /// The entry is not in the result: its children get its parent.
    Nowhere { parent: Option<String> },
    /// The children of the entry get this record as their parent.
    At(String),
}

struct Exporter<'a> {
    source: &'a dyn ExportSource,
    out: &'a mut dyn Write,
    /// The messages that edits on the active path changed, in their current form.
    edited: HashMap<String, Option<Vec<u8>>>,
    places: HashMap<String, ExportedAs>,
    /// Records that have a message below them.
    continued: HashSet<String>,
}

impl Exporter<'_> {
    /// Decides which record an entry becomes.
    fn place(&mut self, item: &ExportEntry) -> Result<()> {
        let place = match item.entry.kind() {
            Kind::Compaction if item.is_reset => ExportedAs::At(uuid_of(&item.id)),
            Kind::Compaction => match self.kept(item)?.len() {
                0 => ExportedAs::At(uuid_of(&format!("{} summary", item.id))),
                kept => ExportedAs::At(uuid_of(&format!("{} copy {kept}", item.id))),
            },
            _ if self.message_for(item).is_some() => ExportedAs::At(uuid_of(&item.id)),
            _ => ExportedAs::Nowhere { parent: item.parent.clone() },
        };
        self.places.insert(item.id.clone(), place);
        Ok(())
    }

    /// Returns the facts that decide whether an entry would be read as part of the active path.
    fn stray_candidate(&self, item: ExportEntry, active: &HashSet<String>) -> StrayCandidate {
        let message = self.message_for(&item);
        let role = message.as_deref().map(|message| MessageView::new(message).role());
        StrayCandidate {
            is_active: active.contains(item.base()),
            is_message: message.is_some(),
            is_result: role == Some(Role::ToolResult),
            is_boundary: item.entry.kind() == Kind::Compaction,
            id: item.id,
            parent: item.parent,
        }
    }

    /// Returns the message that the model gets for an entry, as the edits on the active path left
    /// it.
    fn message_for(&self, item: &ExportEntry) -> Option<Vec<u8>> {
        match self.edited.get(&item.id) {
            Some(edited) => edited.clone(),
            None => message_of(&item.entry),
        }
    }

    /// Returns the record that becomes the parent of an entry's children.
    fn tail(&self, id: &str) -> Option<String> {
        let mut at = id.to_owned();
        for _ in 0..=self.places.len() {
            match self.places.get(&at)? {
                ExportedAs::At(uuid) => return Some(uuid.clone()),
                ExportedAs::Nowhere { parent } => at = parent.clone()?,
            }
        }
        None
    }

    /// Returns the messages that a compaction keeps, as they are sent.
    fn kept(&self, item: &ExportEntry) -> Result<Vec<Vec<u8>>> {
        let Some(row) = item.row else { return Ok(Vec::new()) };
        let mut kept = self.source.messages_before(row)?;
        kept.retain(|message| sent(message, "").is_some());
        Ok(kept)
    }

    fn item(&mut self, item: &ExportEntry) -> Result<Outcome> {
        let parent = item.parent.as_deref().and_then(|parent| self.tail(parent));
        if item.entry.kind() == Kind::Compaction {
            self.compaction(item, parent.as_deref())?;
            return Ok(Outcome::Adapted(match item.is_reset {
                true => "a boundary",
                false => "a boundary, its summary, and copies of what it keeps",
            }));
        }
        let Some(message) = self.message_for(item) else { return Ok(left_out(&item.entry)) };
        self.message(&uuid_of(&item.id), parent.as_deref(), &message, item.millis)?;
        Ok(match MessageView::new(&message).role() == item.entry.role.unwrap_or(Role::Other) {
            true => Outcome::Carried,
            false => Outcome::Adapted("written as a user message, as the model gets it"),
        })
    }

    fn compaction(&mut self, item: &ExportEntry, before: Option<&str>) -> Result<()> {
        let field = |key| embed::member(&item.entry.fields, key);
        let boundary = uuid_of(&item.id);
        let tokens = field("tokensBefore").unwrap_or(b"0");
        let about = object(&[("trigger", b"\"manual\""), ("preTokens", tokens)]);
        let before = before.map_or(b"null".to_vec(), json::quoted);
        self.record(
            "system",
            &boundary,
            None,
            item.millis,
            &[
                ("subtype", b"\"compact_boundary\""),
                ("logicalParentUuid", &before),
                ("content", b"\"Conversation compacted\""),
                ("level", b"\"info\""),
                ("compactMetadata", &about),
            ],
        )?;
        if item.is_reset {
            return Ok(()); // Nothing stands for what was before.
        }
        let mut last = uuid_of(&format!("{} summary", item.id));
        let summary = field("summary").unwrap_or(b"\"\"");
        let summary = object(&[("role", b"\"user\""), ("content", summary)]);
        let fields: [(&str, &[u8]); 2] = [("message", &summary), ("isCompactSummary", b"true")];
        self.record("user", &last, Some(&boundary), item.millis, &fields)?;
        for (at, message) in self.kept(item)?.iter().enumerate() {
            let uuid = uuid_of(&format!("{} copy {}", item.id, at + 1));
            self.message(&uuid, Some(&last), message, item.millis)?;
            last = uuid;
        }
        Ok(())
    }

    /// Writes a message that is sent to the model.
    fn message(
        &mut self,
        uuid: &str,
        parent: Option<&str>,
        message: &[u8],
        millis: i64,
    ) -> Result<()> {
        let Some((kind, message)) = sent(message, uuid) else { return Ok(()) };
        self.continued.extend(parent.map(str::to_owned));
        self.record(kind, uuid, parent, millis, &[("message", &message)])
    }

    fn title(&mut self, name: &str) -> Result<()> {
        let session = json::quoted(self.source.header().id.as_str());
        self.line(&object(&[
            ("type", b"\"custom-title\""),
            ("customTitle", &json::quoted(name)),
            ("sessionId", &session),
        ]))
    }

    /// Adds a note to a record, so that it becomes the end of a branch.
    fn note(&mut self, leaf: &str) -> Result<()> {
        let fields: [(&str, &[u8]); 3] = [
            ("subtype", b"\"informational\""),
            ("content", b"\"The conversation continues here.\""),
            ("level", b"\"info\""),
        ];
        self.record(
            "system",
            &uuid_of(&format!("{leaf} note")),
            Some(leaf),
            crate::time::now(),
            &fields,
        )
    }

    fn record(
        &mut self,
        kind: &str,
        uuid: &str,
        parent: Option<&str>,
        millis: i64,
        fields: &[(&str, &[u8])],
    ) -> Result<()> {
        let header = self.source.header();
        let parent = parent.map_or(b"null".to_vec(), json::quoted);
        let (cwd, session) = (json::quoted(&header.cwd), json::quoted(header.id.as_str()));
        let (kind, uuid) = (json::quoted(kind), json::quoted(uuid));
        let time = json::quoted(&crate::time::format(millis));
        let version = json::quoted(concat!("treering ", env!("CARGO_PKG_VERSION")));
        let mut all: Vec<(&str, &[u8])> = vec![
            ("parentUuid", &parent),
            ("isSidechain", b"false"),
            ("userType", b"\"external\""),
            ("cwd", &cwd),
            ("sessionId", &session),
            ("version", &version),
            ("gitBranch", b"\"\""),
            ("type", &kind),
        ];
        all.extend_from_slice(fields);
        all.extend([("uuid", &*uuid), ("timestamp", &*time)]);
        self.line(&object(&all))
    }

    fn line(&mut self, line: &[u8]) -> Result<()> {
        self.out.write_all(line).and_then(|()| self.out.write_all(b"\n")).map_err(Error::Storage)
    }
}

/// Returns the message that the model gets for an entry, if there is one.
fn message_of(entry: &NewEntry) -> Option<Vec<u8>> {
    let field = |key| embed::member(&entry.fields, key);
    let json = match entry.kind() {
        Kind::Message => field("message")?.to_vec(),
        Kind::CustomMessage => {
            object(&[("role", b"\"custom\""), ("content", field("content").unwrap_or(b"[]"))])
        }
        Kind::BranchSummary => {
            let summary = field("summary").filter(|summary| *summary != b"\"\"")?;
            object(&[("role", b"\"branchSummary\""), ("summary", summary)])
        }
        _ => return None,
    };
    for_provider(&json).map(Cow::into_owned).filter(|message| sent(message, "").is_some())
}

/// Returns a message in Claude Code's format, and the type of its record.
fn sent(message: &[u8], uuid: &str) -> Option<(&'static str, Vec<u8>)> {
    let view = MessageView::new(message);
    let content = view.get("content");
    Some(match view.role() {
        Role::User => {
            let content = match content {
                Some(text) if text.starts_with(b"\"") => text.to_vec(),
                content => list(&blocks(content)),
            };
            ("user", object(&[("role", b"\"user\""), ("content", &content)]))
        }
        Role::ToolResult => {
            let is_error = view.get("isError").filter(|value| *value == b"true");
            let result = object(&[
                ("tool_use_id", view.get("toolCallId").unwrap_or(b"\"\"")),
                ("type", b"\"tool_result\""),
                ("content", &list(&blocks(content))),
                ("is_error", is_error.unwrap_or(b"false")),
            ]);
            ("user", object(&[("role", b"\"user\""), ("content", &list(&[result]))]))
        }
        Role::Assistant => ("assistant", assistant(view, uuid)),
        _ => return None,
    })
}

fn assistant(view: MessageView<'_>, uuid: &str) -> Vec<u8> {
    let stop: &[u8] = match view.field("stopReason").as_deref() {
        Some("toolUse") => b"\"tool_use\"",
        Some("length") => b"\"max_tokens\"",
        _ => b"\"end_turn\"",
    };
    let usage = view.get("usage").unwrap_or(b"{}");
    let count = |key| json::get(usage, key).unwrap_or(b"0");
    let usage = object(&[
        ("input_tokens", count("input")),
        ("cache_creation_input_tokens", count("cacheWrite")),
        ("cache_read_input_tokens", count("cacheRead")),
        ("output_tokens", count("output")),
    ]);
    // Every message gets an id of its own: messages with the same id would be joined.
    let id = json::quoted(&format!("msg_{uuid}"));
    object(&[
        ("model", view.get("model").unwrap_or(b"\"unknown\"")),
        ("id", &id),
        ("type", b"\"message\""),
        ("role", b"\"assistant\""),
        ("content", &list(&blocks(view.get("content")))),
        ("stop_reason", stop),
        ("stop_sequence", b"null"),
        ("usage", &usage),
    ])
}

fn blocks(content: Option<&[u8]>) -> Vec<Vec<u8>> {
    match content {
        Some(text) if text.starts_with(b"\"") => {
            vec![object(&[("type", b"\"text\""), ("text", text)])]
        }
        Some(array) => json::elements(array).into_iter().map(block).collect(),
        None => Vec::new(),
    }
}

fn block(block: &[u8]) -> Vec<u8> {
    let get = |key| json::get(block, key);
    let or_empty = |key| get(key).unwrap_or(b"\"\"");
    match get("type") {
        Some(b"\"toolCall\"") => object(&[
            ("type", b"\"tool_use\""),
            ("id", or_empty("id")),
            ("name", or_empty("name")),
            ("input", get("arguments").unwrap_or(b"{}")),
        ]),
        Some(b"\"thinking\"") if get("redacted") == Some(b"true") => {
            object(&[("type", b"\"redacted_thinking\""), ("data", or_empty("thinkingSignature"))])
        }
        Some(b"\"thinking\"") => object(&[
            ("type", b"\"thinking\""),
            ("thinking", or_empty("thinking")),
            ("signature", or_empty("thinkingSignature")),
        ]),
        Some(b"\"image\"") => {
            let source = object(&[
                ("type", b"\"base64\""),
                ("media_type", or_empty("mimeType")),
                ("data", or_empty("data")),
            ]);
            object(&[("type", b"\"image\""), ("source", &source)])
        }
        _ => block.to_vec(),
    }
}

fn left_out(entry: &NewEntry) -> Outcome {
    Outcome::LeftOut(match entry.kind() {
        Kind::Label => "Claude Code has no labels",
        Kind::Leaf => "the active leaf follows from the order of the file",
        Kind::ModelChange => "every message names its model",
        Kind::SessionInfo => "the name is in a separate record",
        Kind::Message => "the model is not sent it, or it is part of the system prompt",
        Kind::ContextEdit => "its edits were applied to the messages of the active path",
        _ => "Claude Code cannot represent it",
    })
}
