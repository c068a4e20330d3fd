//! Collects the usage events of a session in one pass over the bodies that may have some. User
//! messages and tool results are not read.

use super::Purpose;
use super::event::{EventHasher, EventName, EventSource, Identity};
use super::names::{NO_NAME, Names};
use super::read::{self, Usage};
use crate::dialect::{self, RequestMetadata};
use crate::entry::{Kind, MessageView, Role};
use crate::error::Result;
use crate::json;
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::{Node, Row};
use std::collections::HashMap;

/// One request to a model, as an entry records it.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordedRequest {
    pub row: Row,
    pub name: EventName,
    pub usage: Usage,
    pub purpose: Purpose,
    /// The number of the model's name; [`NO_NAME`] if it is not known.
    pub model: u32,
}

/// The usage that the body of a row records.
#[derive(Debug, Default)]
pub(super) struct RecordedUsage {
    pub usage: Option<(Usage, EventName, Purpose)>,
    /// The model that the body names.
    pub model: Option<String>,
    /// The names of the called tools, one for each call.
    pub tools: Vec<String>,
}

/// Reads rows of a session, preferably in file order.
#[derive(Debug)]
pub(super) struct UsageReader<'a> {
    view: &'a Snapshot,
    namer: &'a EventHasher,
    bodies: Bodies,
}

impl<'a> UsageReader<'a> {
    pub(super) fn new(view: &'a Snapshot, namer: &'a EventHasher) -> Self {
        UsageReader { view, namer, bodies: Bodies::default() }
    }

    /// Creates a reader for rows that are far apart, which reads little more than those rows.
    pub(super) fn of_few(view: &'a Snapshot, namer: &'a EventHasher) -> Self {
        UsageReader { view, namer, bodies: Bodies::few() }
    }

    /// Returns the properties of a row that copies of it keep.
    pub(super) fn place(&self, row: Row) -> EventSource<'a> {
        let tree = self.view.tree();
        let node = tree.node(row);
        let is_derived = node.has(Node::DERIVED);
        EventSource { id: tree.id_bytes(row), is_derived, time: node.time() }
    }

    /// Returns the name of the event of a row.
    pub(super) fn name(&self, row: Row, identity: Identity<'_>, usage: &Usage) -> EventName {
        self.namer.event(identity, usage, self.place(row))
    }

    /// Reads the usage of a row. Rows that cannot record any are not read.
    pub(super) fn read(&mut self, row: Row) -> Result<RecordedUsage> {
        self.read_with(row, Tools::Named)
    }

    /// Reads the usage of a row without the tools, which is faster where records need not be
    /// decoded.
    pub(super) fn read_usage(&mut self, row: Row) -> Result<RecordedUsage> {
        self.read_with(row, Tools::LeftOut)
    }

    fn read_with(&mut self, row: Row, tools: Tools) -> Result<RecordedUsage> {
        let node = self.view.tree().node(row);
        let place = self.place(row);
        let is_answer = node.role() == Some(Role::Assistant);
        let kind = node.kind();
        match kind {
            Kind::Message if is_answer => {}
            Kind::Compaction | Kind::BranchSummary | Kind::Usage | Kind::ModelChange => {}
            _ => return Ok(RecordedUsage::default()),
        }
        let metadata = match self.view.facts().is_native(kind) {
            true => RequestMetadata::default(),
            false => match self.bodies.record(self.view, row)? {
                Some(record) => self.view.codec().request_metadata(record),
                None => return Ok(RecordedUsage::default()),
            },
        };
        if let (Kind::Message, Tools::LeftOut, Some(counts)) = (kind, tools, &metadata.answer) {
            let usage = read::of_counts(counts.tokens, metadata.price);
            let usage = usage.map(|usage| with_metadata(usage, &metadata));
            let identity = match &metadata.response {
                Some(response) => Identity::Response(response),
                None => Identity::Entry,
            };
            let named =
                |usage: Usage| (usage, self.namer.event(identity, &usage, place), Purpose::Answer);
            let model = counts.model.clone().map(|model| fast(model, &metadata));
            return Ok(RecordedUsage { usage: usage.map(named), model, tools: Vec::new() });
        }
        let Some(body) = self.bodies.whole(self.view, row)? else {
            return Ok(RecordedUsage::default());
        };
        let recorded = match kind {
            Kind::Message => answer(&body, &metadata),
            Kind::ModelChange => {
                UnnamedUsage { model: model(&body, "modelId"), ..UnnamedUsage::default() }
            }
            Kind::Usage => count(&body, &metadata),
            Kind::Compaction => summary(&body, Purpose::Compaction, &metadata),
            _ => summary(&body, Purpose::BranchSummary, &metadata),
        };
        let named = |usage: Usage| {
            (usage, self.namer.event(recorded.identity, &usage, place), recorded.purpose)
        };
        Ok(RecordedUsage {
            usage: recorded.usage.map(named),
            model: recorded.model,
            tools: recorded.tools,
        })
    }
}

/// Whether the names of called tools are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tools {
    Named,
    LeftOut,
}

/// Adds the facts about a request that only its record has.
fn with_metadata(usage: Usage, metadata: &RequestMetadata) -> Usage {
    Usage { cache_write_1h: metadata.hour_cache_write.min(usage.cache_write), ..usage }
}

/// Returns the name of a model with the mode of a request, because the price depends on the mode.
fn fast(model: String, metadata: &RequestMetadata) -> String {
    if metadata.is_fast { model + "-fast" } else { model }
}

/// Returns the usage of some rows of a session, each event counted once.
pub(crate) fn of_rows(view: &Snapshot, rows: &[Row]) -> Result<Usage> {
    let namer = EventHasher::default();
    let mut surveyor = UsageReader::new(view, &namer);
    let mut events: HashMap<u128, Usage, foldhash::fast::RandomState> = HashMap::default();
    for &row in rows {
        if let Some((usage, name, _)) = surveyor.read_usage(row)?.usage {
            let known = events.entry(name.hash).or_insert(usage);
            *known = known.same_event(usage);
        }
    }
    Ok(events.into_values().sum())
}

/// The content of a body before its event has a name.
#[derive(Debug)]
struct UnnamedUsage<'a> {
    usage: Option<Usage>,
    identity: Identity<'a>,
    purpose: Purpose,
    model: Option<String>,
    tools: Vec<String>,
}

impl Default for UnnamedUsage<'_> {
    fn default() -> Self {
        let (identity, purpose) = (Identity::Entry, Purpose::Other);
        UnnamedUsage { usage: None, identity, purpose, model: None, tools: Vec::new() }
    }
}

fn answer<'a>(entry: &'a [u8], metadata: &'a RequestMetadata) -> UnnamedUsage<'a> {
    let [message, copied] = json::get_all(entry, ["message", "copiedFrom"]);
    let message = message.unwrap_or_default();
    let keys = ["usage", "responseId", "content"];
    let [usage, response, content] = json::get_all(message, keys);
    let named = response.filter(|name| name.starts_with(b"\"") && *name != b"\"\"");
    let identity = match (&metadata.response, named) {
        (Some(response), _) => Identity::Response(response),
        (None, Some(response)) => Identity::Request(response),
        (None, None) => Identity::Entry,
    };
    let usage = usage.filter(|_| !is_copy(copied));
    UnnamedUsage {
        usage: usage
            .and_then(|usage| read::usage(usage, metadata.price))
            .map(|usage| with_metadata(usage, metadata)),
        identity,
        purpose: Purpose::Answer,
        model: model(message, "model").map(|model| fast(model, metadata)),
        tools: content.map(calls).unwrap_or_default(),
    }
}

/// Returns whether an entry is a copy, according to its `copiedFrom`.
fn is_copy(copied: Option<&[u8]>) -> bool {
    copied.is_some_and(|copied| copied.starts_with(b"{"))
}

/// Returns the names of the tools that some content calls.
fn calls(content: &[u8]) -> Vec<String> {
    if memchr::memmem::find(content, b"toolCall").is_none() {
        return Vec::new();
    }
    let name = |block: &[u8]| {
        let [kind, name] = json::get_all(block, ["type", "name"]).map(|found| json::string(found?));
        (kind? == "toolCall").then(|| name.unwrap_or_default().into_owned())
    };
    json::elements(content).into_iter().filter_map(name).collect()
}

fn summary<'a>(entry: &'a [u8], purpose: Purpose, metadata: &RequestMetadata) -> UnnamedUsage<'a> {
    let [usage, copied] = json::get_all(entry, ["usage", "copiedFrom"]);
    let usage = usage.filter(|_| !is_copy(copied));
    let usage = usage.and_then(|usage| read::usage(usage, metadata.price));
    UnnamedUsage { usage, purpose, model: model(entry, "model"), ..UnnamedUsage::default() }
}

/// Returns the usage of an entry that only counts tokens. If it has a running total, it counts
/// answers.
fn count<'a>(entry: &'a [u8], metadata: &RequestMetadata) -> UnnamedUsage<'a> {
    let facts = summary(entry, Purpose::Other, metadata);
    match json::get(entry, "details").and_then(dialect::running_total) {
        Some(total) => {
            UnnamedUsage { identity: Identity::Total(total), purpose: Purpose::Answer, ..facts }
        }
        None => facts,
    }
}

/// Returns the model that an object names: `provider/model`, or the part of it that is there.
fn model(object: &[u8], key: &str) -> Option<String> {
    let view = MessageView::new(object);
    let text = |key| view.field(key).filter(|text| !text.is_empty());
    match (text("provider"), text(key)) {
        (Some(provider), Some(model)) => Some(format!("{provider}/{model}")),
        (None, Some(model)) => Some(model.into_owned()),
        _ => None,
    }
}

/// Returns the usage that one entry records.
pub(super) fn of_entry(view: &Snapshot, id: &str) -> Result<Option<Usage>> {
    let row = view.tree().find_row(id)?;
    let namer = EventHasher::default();
    let recorded = UsageReader::new(view, &namer).read(row)?;
    Ok(recorded.usage.map(|(usage, ..)| usage))
}

/// The model in effect at each row, which is the nearest model at or above it.
#[derive(Debug)]
pub(super) struct ModelNames(Vec<u32>);

impl ModelNames {
    pub(super) fn new(view: &Snapshot) -> Self {
        ModelNames(vec![NO_NAME; view.tree().row_count()])
    }

    pub(super) fn names(&mut self, row: Row, model: &str, names: &mut Names) {
        if let Some(slot) = self.0.get_mut(row.index()) {
            *slot = names.number(model);
        }
    }

    pub(super) fn at(&self, row: Row) -> u32 {
        self.0.get(row.index()).copied().unwrap_or(NO_NAME)
    }

    /// Passes names on from parents to children. Parents must come before their children.
    pub(super) fn inherit(&mut self, view: &Snapshot, rows: impl Iterator<Item = Row>) {
        for row in rows {
            let above = self.at(view.tree().node(row).parent);
            if let Some(slot) = self.0.get_mut(row.index()).filter(|slot| **slot == NO_NAME) {
                *slot = above;
            }
        }
    }
}
