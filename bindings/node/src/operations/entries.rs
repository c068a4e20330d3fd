//! Operations that return entries, and the form in which JavaScript gets them.

use super::visible::VisibleParents;
use crate::args::Args;
use crate::outcome::{Answer, Outcome};
use treering::context::ContextEntries;
use treering::entry::Entry;
use treering::session::Entries;
use treering::{EntryId, Kind, Session};
use treering_bindings::{Data, Failure, Naming, ToData};

/// The size of the entries that are read together, unless the caller says otherwise.
const BATCH: u64 = 1 << 20;

/// Carries out an operation. Returns `None` if the operation does not belong to this module.
pub(super) fn invoke(session: &Session, operation: &str, args: &Args) -> Option<Answer> {
    Some(match operation {
        "contextEntries" => context_entries(session, args),
        "entry" => entry(session, args),
        "someEntries" => some_entries(session, args),
        "entries" => entries(session, args),
        "path" => path(session, args),
        _ => return None,
    })
}

/// The form in which a caller wants entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Form {
    /// Entries are records in the shape of the session's agent.
    is_record: bool,
    /// The records of where the leaf was moved are left out, and the answer has a list of
    /// `parents`: the entries that
    /// name such a record as their parent, each with its [parent without them](super::visible).
    hides_moves: bool,
}

impl Form {
    /// Returns the form that the arguments of a call ask for.
    pub(crate) fn of(args: &Args) -> Result<Form, Failure> {
        Ok(Form { is_record: args.flag("record")?, hides_moves: args.flag("hidesMoves")? })
    }
}

/// Returns the entries that a context is made of, whole.
fn context_entries(session: &Session, args: &Args) -> Answer {
    let context = session.context_entries_at(args.position_or_leaf("at", session)?)?;
    let tree = session.tree();
    Ok(context_json(&context, Form::of(args)?, VisibleParents::of_tree(&tree)))
}

/// Returns the same of a session of which only the end was read.
pub(super) fn context_of_end(context: &ContextEntries, form: Form) -> Outcome {
    context_json(context, form, VisibleParents::of_part(&context.moves))
}

/// Writes the entries of a context: one string, so that one call of `JSON.parse` makes all of them.
fn context_json(context: &ContextEntries, form: Form, parents: VisibleParents<'_>) -> Outcome {
    let size: usize = context.entries.iter().map(|entry| entry.raw().len() + 1).sum();
    let mut list = List::new(form, parents, size);
    for entry in &context.entries {
        list.push(entry);
    }
    let model = context.model.as_ref().map(|model| Data::Json(model.to_json()));
    Outcome::Json(list.finish(vec![
        ("thinking_level", context.thinking_level.to_data()),
        ("model", model.to_data()),
    ]))
}

fn entry(session: &Session, args: &Args) -> Answer {
    let entry = session.entry(args.needs_text("id")?)?;
    let mut out = Vec::new();
    write_entry(&entry, args.flag("record")?, &mut out);
    Ok(Outcome::Json(out))
}

fn some_entries(session: &Session, args: &Args) -> Answer {
    let (tree, mut reader) = (session.tree(), session.reader());
    let mut list = List::new(Form::of(args)?, VisibleParents::of_tree(&tree), 0);
    for id in args.texts("ids")? {
        list.push(&reader.entry(id)?);
    }
    Ok(Outcome::Json(list.finish(Vec::new())))
}

fn entries(session: &Session, args: &Args) -> Answer {
    let entries = match args.text("after")? {
        None => session.entries(),
        Some(id) => session.entries_after(id)?,
    };
    let limit = args.number("limit")?.unwrap_or(u64::MAX);
    let size = args.number("size")?.unwrap_or(BATCH);
    Ok(Outcome::Json(batch(session, entries, limit, size, Form::of(args)?)?.json))
}

/// Returns the entries after one, of about `size` bytes.
pub(crate) fn piece_of_entries(
    session: &Session,
    after: Option<&str>,
    size: u64,
    form: Form,
) -> Result<Piece, Failure> {
    let entries = match after {
        None => session.entries(),
        Some(id) => session.entries_after(id)?,
    };
    batch(session, entries, u64::MAX, size, form)
}

fn path(session: &Session, args: &Args) -> Answer {
    let to = args.position_or_leaf("to", session)?;
    let piece = batch(session, session.path_to(to)?, u64::MAX, u64::MAX, Form::of(args)?)?;
    Ok(Outcome::Json(piece.json))
}

/// Entries as JSON, and the id of the last of them if there may be more.
pub(crate) struct Piece {
    pub(crate) json: Vec<u8>,
    pub(crate) last: Option<String>,
}

fn batch(
    session: &Session,
    entries: Entries,
    limit: u64,
    size: u64,
    form: Form,
) -> Result<Piece, Failure> {
    let tree = session.tree();
    let mut list = List::new(form, VisibleParents::of_tree(&tree), 0);
    let (mut count, mut last) = (0, None);
    let mut entries = entries.peekable();
    while let Some(entry) = entries.next() {
        let entry = entry?;
        list.push(&entry);
        count += 1;
        if (count >= limit || list.out.len() as u64 >= size) && entries.peek().is_some() {
            last = Some(entry.id().to_string());
            break;
        }
    }
    Ok(Piece { json: list.finish(vec![("last", last.to_data())]), last })
}

/// A list of entries that is being written.
struct List<'a> {
    form: Form,
    out: Vec<u8>,
    is_empty: bool,
    visible_parents: VisibleParents<'a>,
    parents: Vec<Data>,
}

impl<'a> List<'a> {
    fn new(form: Form, visible_parents: VisibleParents<'a>, size: usize) -> Self {
        let mut out = Vec::with_capacity(size + 256);
        out.extend_from_slice(br#"{"entries":["#);
        List { form, out, is_empty: true, visible_parents, parents: Vec::new() }
    }

    fn push(&mut self, entry: &Entry) {
        if self.form.hides_moves {
            if entry.kind() == Kind::Leaf {
                return;
            }
            if let Some(parent) = self.visible_parents.of(entry) {
                let parent = parent.as_ref().map(EntryId::as_str).to_data();
                self.parents.push(Data::List(vec![entry.id().as_str().to_data(), parent]));
            }
        }
        if !self.is_empty {
            self.out.push(b',');
        }
        self.is_empty = false;
        write_entry(entry, self.form.is_record, &mut self.out);
    }

    /// Returns the JSON of the list and of the facts that accompany it.
    fn finish(mut self, mut beside: Vec<(&'static str, Data)>) -> Vec<u8> {
        self.out.push(b']');
        if self.form.hides_moves {
            beside.push(("parents", Data::List(self.parents)));
        }
        if !beside.is_empty() {
            self.out.push(b',');
            self.out.extend_from_slice(&Data::Record(beside).to_json(Naming::Camel)[1..]);
        } else {
            self.out.push(b'}');
        }
        self.out
    }
}

fn write_entry(entry: &Entry, is_record: bool, out: &mut Vec<u8>) {
    if !entry.is_damaged() {
        out.extend_from_slice(if is_record { entry.record() } else { entry.raw() });
        return;
    }
    let damaged = Data::Record(vec![
        ("type", "damaged".to_data()),
        ("id", entry.id().as_str().to_data()),
        ("parent_id", entry.parent().map(EntryId::as_str).to_data()),
        ("text", String::from_utf8_lossy(entry.raw()).into_owned().to_data()),
    ]);
    out.extend_from_slice(&damaged.to_json(Naming::Camel));
}
