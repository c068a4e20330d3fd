//! Writes the entries of a conversion, and moves the leaf of the result to where the source's was.

use super::Extent;
use super::plan::{OmitReason, Placement, extra_id, with_references};
use super::report::Outcomes;
use super::verify::{Verification, Verified};
use crate::context::ModelCache;
use crate::dialect::export::{ExportEntry, ExportSource, ExportedRecords, Outcome, name_of};
use crate::dialect::facts::{LeafParent, NameRule, ResetForm};
use crate::dialect::{self, Dialect, NewHeader, Stamp, embed};
use crate::entry::{Kind, NewEntry, Role};
use crate::error::{Error, Result};
use crate::header::Header;
use crate::id::EntryId;
use crate::json;
use crate::position::Position;
use crate::session::Session;
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::{Row, Tree};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::io::Write;

/// A conversion: the entries to write, and the dialect to write them in.
#[derive(Debug)]
pub(crate) struct Conversion<'a> {
    source: &'a Session,
    view: Snapshot,
    plan: Placement,
    /// The row that becomes the active leaf.
    leaf: Option<Row>,
    header: Header,
    dialect: Dialect,
    /// The records that the entries became, once they are written, if the target writes whole sessions.
    records: RefCell<Option<ExportedRecords>>,
}

impl<'a> Conversion<'a> {
    /// Plans the conversion of an extent of `source`, whose leaf is `leaf`, to `dialect`.
    pub(crate) fn new(
        source: &'a Session,
        extent: Extent,
        leaf: Option<&EntryId>,
        header: Header,
        dialect: Dialect,
    ) -> Result<Self> {
        let (view, header_row) = source.view_and_header();
        let tree = view.tree();
        let leaf = leaf.map(|leaf| tree.find_row(leaf.as_str())).transpose()?;
        let rows = match (extent, leaf) {
            (Extent::Path, Some(leaf)) => tree.path_rows(leaf),
            (Extent::Path, None) => Vec::new(),
            (Extent::Whole, _) => tree.live().collect(),
        };
        let plan = Placement::new(&view, rows, header_row, leaf, dialect)?;
        let records = RefCell::default();
        Ok(Conversion { source, view, plan, leaf, header, dialect, records })
    }

    /// Returns the dialects of the source and of the result.
    pub(super) fn dialects(&self) -> (Dialect, Dialect) {
        (self.source.dialect(), self.dialect)
    }

    /// Writes the entries, and returns the outcome for each kind.
    pub(crate) fn write(&self, mut out: &mut dyn Write) -> Result<Outcomes> {
        let mut report = Outcomes::default();
        let Conversion { view, plan, header, .. } = self;
        let models = RefCell::default();
        let writer = Writer { view, plan, header, dialect: self.dialect, models };
        writer.report_dropped(&mut report);
        match self.dialect.facts().export {
            Some(export) => {
                let (name, leaf) = (self.source.name(), self.leaf);
                let exported = Exported { writer: &writer, name, leaf };
                let records =
                    export(&exported, out, &mut |name, outcome| report.note(name, outcome))?;
                *self.records.borrow_mut() = Some(records);
            }
            None => writer.entries(&mut out, &mut report)?,
        }
        Ok(report)
    }

    /// Sets the name and the leaf of the written session, and compares it with the source. `open`
    /// opens it.
    pub(crate) fn finish(&self, open: &dyn Fn() -> Result<Session>) -> Result<Verified> {
        let tree = self.view.tree();
        if self.dialect.facts().export.is_none() {
            let leaf = self.leaf.and_then(|row| self.plan.stand_in(tree, row));
            finish_session(open, &self.labels()?, self.source.name(), leaf.as_deref())?;
        }
        let Conversion { source, view, plan, leaf, dialect, .. } = self;
        let proof = Verification { source, plan, view, leaf: *leaf, dialect: *dialect };
        proof.contexts(&open()?, self.records.borrow().as_ref())
    }
}

impl Conversion<'_> {
    /// Returns the labels of converted entries whose label entry itself is not converted, with the
    /// times at which they were set.
    fn labels(&self) -> Result<Vec<NewEntry>> {
        let (tree, rows) = (self.view.tree(), self.plan.rows());
        let converted: HashSet<Row> = rows.iter().copied().collect();
        let label = |&row: &Row| tree.label_literal(row).map(|(text, label)| (label, row, text));
        let mut set: Vec<_> = rows.iter().filter_map(label).collect();
        set.retain(|(label, _, _)| !converted.contains(label));
        set.sort_unstable();
        let entry = |(label, row, text): (Row, Row, &[u8])| {
            let target = EntryId::from(self.plan.reference(tree, tree.id_text(row)));
            let entry = NewEntry::label(&target, None).raw("label", text);
            Ok(tree.node(label).time().map_or(entry.clone(), |time| entry.with_timestamp(time)))
        };
        set.into_iter().map(entry).collect()
    }
}

/// Sets the labels, the name and the leaf of the result, where they do not follow from the entries.
fn finish_session(
    open: &dyn Fn() -> Result<Session>,
    labels: &[NewEntry],
    name: Option<String>,
    leaf: Option<&str>,
) -> Result<()> {
    let session = open()?;
    session.append_all(labels)?;
    let go = |session: &Session| match leaf {
        Some(leaf) if session.leaf().is_none_or(|now| now.as_str() != leaf) => {
            session.branch(leaf).map(drop)
        }
        None if session.leaf().is_some() => session.branch(Position::Start).map(drop),
        _ => Ok(()),
    };
    go(&session)?;
    if open()?.name() != name {
        session.set_name(name.as_deref().unwrap_or_default())?;
        // If the name is taken from the path, the entry with the name has to stay on it.
        if session.dialect().facts().name_rule != NameRule::OnPath {
            go(&session)?;
        }
    }
    session.sync()
}

/// The state that is needed to write any entry.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    pub(super) view: &'a Snapshot,
    pub(super) plan: &'a Placement,
    pub(super) header: &'a Header,
    pub(super) dialect: Dialect,
    models: RefCell<ModelCache>,
}

/// A conversion whose target writes whole sessions.
struct Exported<'a> {
    writer: &'a Writer<'a>,
    name: Option<String>,
    leaf: Option<Row>,
}

impl ExportSource for Exported<'_> {
    fn header(&self) -> &Header {
        self.writer.header
    }

    fn tree(&self) -> &Tree {
        self.writer.view.tree()
    }

    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn leaf(&self) -> Option<Row> {
        self.leaf
    }

    fn end(&self, row: Row) -> Option<String> {
        self.writer.plan.stand_in(self.tree(), row)
    }

    fn each(&self, each: &mut dyn FnMut(ExportEntry) -> Result<()>) -> Result<()> {
        self.writer.each(each)
    }

    fn edited(&self) -> Result<HashMap<String, Option<Vec<u8>>>> {
        let (view, tree) = (self.writer.view, self.tree());
        let path = self.leaf.map(|leaf| tree.path_rows(leaf)).unwrap_or_default();
        let mut edited = HashMap::new();
        let mut bodies = Bodies::with_images();
        for &row in path.iter().filter(|&&row| tree.node(row).kind() == Kind::ContextEdit) {
            let body = bodies.whole(view, row)?;
            let target = body.as_deref().and_then(|body| json::get(body, "targetId"));
            edited.extend(target.and_then(json::string).map(|target| (target.into_owned(), None)));
        }
        if !edited.is_empty() {
            for message in view.clone().projection(self.leaf)? {
                let message = message?;
                if let Some(slot) = edited.get_mut(message.entry.as_str()) {
                    *slot = message.to_llm().map(|message| message.json);
                }
            }
        }
        Ok(edited)
    }

    fn messages_before(&self, row: Row) -> Result<Vec<Vec<u8>>> {
        let view = self.writer.view;
        let mut messages = Vec::new();
        for message in view.clone().projection(Some(row))? {
            let message = message?;
            if message.entry.as_str() != view.tree().id_text(row) {
                messages.extend(message.to_llm().map(|message| message.json));
            }
        }
        Ok(messages)
    }
}

impl Writer<'_> {
    fn created(&self) -> i64 {
        self.header.created().unwrap_or_else(crate::time::now)
    }

    fn entries(&self, out: &mut impl Write, report: &mut Outcomes) -> Result<()> {
        let codec = self.dialect.codec();
        let created = self.created();
        let parent_session = self.header.parent_session.as_deref();
        let about = NewHeader {
            id: self.header.id.as_str(),
            cwd: &self.header.cwd,
            parent_session,
            created,
        };
        let start = self.dialect.first_lines(&about)?;
        out.write_all(&start).map_err(Error::Storage)?;
        let root = root_of(&start, self.dialect);
        // The leaf at this point of the source, as it was when the source was written.
        let mut left: Option<String> = None;
        self.each(&mut |item| {
            let ExportEntry { row, id, parent, entry, millis, .. } = item;
            let kind = entry.kind();
            let target = self.target_of(&entry);
            let parent = match kind {
                Kind::Leaf if codec.facts().leaf_parent == LeafParent::PreviousLeaf => left.clone(),
                Kind::Leaf => target.clone(),
                _ => parent,
            };
            let parent = parent.or_else(|| root.clone());
            let stamp = Stamp { id: &id, parent: parent.as_deref(), millis, left: left.as_deref() };
            let line = codec.encode(&entry, &stamp).ok_or(Error::ReadOnlyDialect(self.dialect))?;
            if let Some(row) = row {
                report.note(&name_of(&entry), self.outcome(row, &entry, &line));
            }
            out.write_all(&line).and_then(|()| out.write_all(b"\n")).map_err(Error::Storage)?;
            left = if kind == Kind::Leaf { target } else { Some(id) };
            Ok(())
        })
    }

    /// Reports the rows that no entry is written for.
    fn report_dropped(&self, report: &mut Outcomes) {
        for &row in &self.plan.rows {
            match self.plan.dropped(row) {
                Some(OmitReason::Summarized) => {
                    let why = "the summary that follows it became a compaction that keeps nothing";
                    report.note("reset", Outcome::Adapted(why));
                }
                Some(OmitReason::Damaged) => {
                    report.note("damaged entry", Outcome::LeftOut("it cannot be read"));
                }
                Some(OmitReason::Header | OmitReason::Joined(_)) | None => {}
            }
        }
    }

    /// Calls `write` for every entry to be written, in file order. The additional entries of a row
    /// have no row.
    pub(crate) fn each(&self, write: &mut dyn FnMut(ExportEntry) -> Result<()>) -> Result<()> {
        let (tree, plan) = (self.view.tree(), self.plan);
        let mut bodies = Bodies::with_images();
        let mut millis = self.created();
        for &row in &plan.rows {
            millis = tree.node(row).time().unwrap_or(millis);
            if plan.dropped(row).is_some() {
                continue;
            }
            let Some((entry, more)) = self.entry(&mut bodies, row)? else { continue };
            let (id, parent) = (tree.id_text(row).to_owned(), tree.node(row).parent);
            let settings = plan.root_settings(row);
            let parent = plan.stand_in(tree, parent).filter(|_| settings.is_none());
            let entry = with_references(plan, tree, entry);
            let (row, is_reset) = (Some(row), tree.node(row).kind() == Kind::Reset);
            write(ExportEntry { row, id: id.clone(), parent, entry, millis, is_reset })?;
            let messages = more
                .into_iter()
                .map(|message| embed::native("message", [b",\"message\":", &*message].concat()));
            let settings = settings.unwrap_or_default().iter().cloned();
            for (at, entry) in messages.chain(settings).enumerate() {
                let parent = Some(if at == 0 { id.clone() } else { extra_id(&id, at) });
                let id = extra_id(&id, at + 1);
                write(ExportEntry { row: None, id, parent, entry, millis, is_reset: false })?;
            }
        }
        Ok(())
    }

    /// Returns a row's entry, with all pieces of its message, and the additional messages.
    fn entry(&self, bodies: &mut Bodies, row: Row) -> Result<Option<(NewEntry, Vec<Vec<u8>>)>> {
        let node = self.view.tree().node(row);
        let mut more = Vec::new();
        let Some(body) = bodies.all(self.view, row, &mut more)? else { return Ok(None) };
        let mut entry = embed::entry_of(&body);
        if entry.role == Some(Role::Assistant) && self.dialect.facts().is_native(Kind::Message) {
            entry = self.named(entry, row)?;
        }
        for &part in self.plan.parts(row) {
            let Some(body) = bodies.any(self.view, part)? else { continue };
            let message = json::get(&body, "message").unwrap_or(b"{}");
            let whole = embed::member(&entry.fields, "message").unwrap_or(b"{}");
            let joined = crate::context::joined(whole, message);
            entry = embed::native("message", [b",\"message\":", &*joined].concat());
        }
        if self.plan.is_summary(row) {
            let message = embed::member(&entry.fields, "message").unwrap_or(b"{}");
            return Ok(Some((compaction_of(message, &self.view.tree().id(row)), more)));
        }
        Ok(Some((dialect::adapted(self.dialect, node.kind(), entry), more)))
    }

    /// Returns an answer that names its model. Some agents only record changes of the model; for
    /// others, an answer without a model has none.
    fn named(&self, entry: NewEntry, row: Row) -> Result<NewEntry> {
        let Some(message) = embed::member(&entry.fields, "message") else { return Ok(entry) };
        if json::get(message, "provider").is_some() || json::get(message, "model").is_some() {
            return Ok(entry);
        }
        let model = self.models.borrow_mut().at(self.view, row)?;
        let mut message = message.to_vec();
        let named = model
            .iter()
            .flat_map(|model| [("provider", &model.provider), ("model", &model.model_id)]);
        for (key, value) in named {
            if let Some(value) = value {
                message = json::with_member(&message, key, &json::quoted(value));
            }
        }
        Ok(embed::native("message", [b",\"message\":", &*message].concat()))
    }

    /// Returns the target of a label or leaf entry.
    fn target_of(&self, entry: &NewEntry) -> Option<String> {
        entry.target().map(|target| target.to_string())
    }

    fn outcome(&self, row: Row, entry: &NewEntry, line: &[u8]) -> Outcome {
        let kind = self.view.tree().node(row).kind();
        if kind == Kind::Reset && self.dialect.facts().reset != ResetForm::Entry {
            return Outcome::Adapted("its descendants become a separate tree");
        }
        if self.plan.is_summary(row) {
            return Outcome::Adapted("the summary became a compaction that keeps nothing");
        }
        if kind == Kind::Other && entry.kind() == Kind::Custom {
            return Outcome::Adapted(
                "the agent has no entries of this kind; it is kept as a custom one",
            );
        }
        if !self.plan.parts(row).is_empty() {
            return Outcome::Adapted("several records became one message");
        }
        if !self.dialect.facts().is_own_format && json::get(line, "treering").is_some() {
            return match entry.kind() {
                Kind::Message | Kind::CustomMessage | Kind::BranchSummary => Outcome::Adapted(
                    "the agent sees its text; the rest is kept where only treering reads it",
                ),
                _ => Outcome::Adapted(
                    "the agent has no entries of this kind; it is kept for treering",
                ),
            };
        }
        Outcome::Carried
    }
}

/// Returns a compaction that keeps nothing, with the summary of a message.
fn compaction_of(message: &[u8], own: &EntryId) -> NewEntry {
    let tokens = json::get(message, "tokensBefore").unwrap_or(b"0");
    let summary = json::get(message, "summary").unwrap_or(b"\"\"");
    NewEntry::compaction_of(summary, Some(own), tokens)
}

/// Returns the header's id, if new roots have the header as their parent.
fn root_of(start: &[u8], dialect: Dialect) -> Option<String> {
    let facts = dialect.facts();
    let id = json::get(start, facts.keys.id).filter(|_| facts.roots_below_header);
    id.and_then(json::string).map(|id| id.into_owned())
}
