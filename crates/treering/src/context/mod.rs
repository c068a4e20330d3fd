//! Builds the context that the model sees from a path.
//!
//! Three steps: *select* the entries that count (the latest compaction, the entries that it keeps,
//! and the entries after it), *edit* them as the branch's context edits say, *project* each to
//! messages. Stored messages are copied byte for byte; only messages that the rules synthesize are
//! new JSON. No step reads an entry that does not count, so the cost depends on the size of the
//! context, not of the session.

mod entries;
mod project;
mod select;
mod selected;
pub(crate) mod tail;
mod tail_context;

pub use entries::ContextEntries;
pub(crate) use project::{contributes, edited, joined};
pub(crate) use select::ModelCache;
pub(crate) use selected::{EditAt, Selected};
pub(crate) use tail_context::TailProjection;
pub use tail_context::{TailContext, TailSetting};

use crate::entry::{Kind, MessageView, Role};
use crate::error::{Error, Result};
use crate::id::EntryId;
use crate::json;
use crate::log::Checkpoint;
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::{Node, Row};
use project::{Edit, edits, message_of, project};
use select::{SelectedRows, each_setting, level, select, settings};
use std::collections::{HashMap, HashSet, VecDeque};

/// The thinking level of a path that sets none.
pub(crate) const NO_THINKING: &str = "off";

/// Returns the thinking level and the model in effect at a row.
pub(crate) fn settings_at(view: &Snapshot, row: Row) -> Result<(String, Option<Model>)> {
    match settings(view, &mut Bodies::few(), row, None)? {
        Ok(settings) => Ok(settings),
        // Only a view of a part of a log can be incomplete.
        Err(_) => Err(Error::Storage(std::io::ErrorKind::UnexpectedEof.into())),
    }
}

/// Returns the thinking level that was set on the path to a row, if any.
pub(crate) fn level_at(view: &Snapshot, row: Row) -> Result<Option<String>> {
    level(view, &mut Bodies::few(), row)
}

impl Snapshot {
    /// Returns the context at a row; `None` is before the first entry.
    pub(crate) fn projection(self, leaf: Option<Row>) -> Result<Projection> {
        match Projection::plan(self, leaf, None)? {
            Some(projection) => Ok(projection),
            // Only a view of a part of a log can be incomplete.
            None => Err(Error::Storage(std::io::ErrorKind::UnexpectedEof.into())),
        }
    }
}

/// The context at a leaf: the messages and settings that the model sees.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Context {
    /// The messages, oldest first.
    pub messages: Vec<ContextMessage>,
    /// The thinking level in effect; `off` if none was ever set.
    pub thinking_level: String,
    /// The model in effect, if any was named.
    pub model: Option<Model>,
}

/// A message of a context, and the entry it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContextMessage {
    /// The entry that contributed it.
    pub entry: EntryId,
    /// The message's JSON. This is not a `String`, because a session may hold lone surrogates,
    /// which a `String` cannot.
    pub json: Vec<u8>,
}

impl ContextMessage {
    /// Returns the message with this JSON, contributed by `entry`.
    pub fn new(entry: impl Into<EntryId>, json: impl Into<Vec<u8>>) -> Self {
        ContextMessage { entry: entry.into(), json: json.into() }
    }

    /// Returns a typed view of the message.
    ///
    /// ```
    /// use treering::{Message, Session};
    /// let session = Session::in_memory("/project");
    /// session.append(Message::user("hello"))?;
    /// assert_eq!(session.context()?.messages[0].view().text(), "hello");
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn view(&self) -> MessageView<'_> {
        MessageView::new(&self.json)
    }
}

/// A model, as the session names it. A field that the session leaves out is `None`.
///
/// ```
/// use treering::context::Model;
/// let model = Model::new("anthropic", "claude-opus-4-5");
/// assert_eq!(model.model_id.as_deref(), Some("claude-opus-4-5"));
/// assert_eq!(Model::default().provider, None);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Model {
    /// The provider that serves it.
    pub provider: Option<String>,
    /// The id of the model.
    pub model_id: Option<String>,
}

impl Model {
    /// Returns the model with this id at this provider.
    pub fn new(provider: impl Into<String>, model_id: impl Into<String>) -> Self {
        Model { provider: Some(provider.into()), model_id: Some(model_id.into()) }
    }

    /// Returns a model whose provider or id the session may leave out.
    pub fn from_parts(provider: Option<String>, model_id: Option<String>) -> Self {
        Model { provider, model_id }
    }
}

impl Context {
    /// Reads all messages of a projection.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read.
    pub fn collect(projection: Projection) -> Result<Self> {
        let (thinking_level, model) = (projection.thinking_level.clone(), projection.model.clone());
        let messages = projection.collect::<Result<_>>()?;
        Ok(Context { messages, thinking_level, model })
    }

    /// Returns the context as one JSON object: `{"messages":[…],"thinkingLevel":…,"model":…}`.
    pub fn to_json(&self) -> Vec<u8> {
        let size: usize = self.messages.iter().map(|message| message.json.len() + 1).sum();
        let mut out = Vec::with_capacity(size + 128);
        out.extend_from_slice(JSON_START);
        for (at, message) in self.messages.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            out.extend_from_slice(&message.json);
        }
        out.extend_from_slice(&json_end(&self.thinking_level, self.model.as_ref()));
        out
    }
}

const JSON_START: &[u8] = b"{\"messages\":[";

fn json_end(thinking_level: &str, model: Option<&Model>) -> Vec<u8> {
    let mut out = b"],\"thinkingLevel\":".to_vec();
    json::write_string(&mut out, thinking_level);
    out.extend_from_slice(b",\"model\":");
    match model {
        Some(model) => out.extend_from_slice(&model.to_json()),
        None => out.extend_from_slice(b"null"),
    }
    out.push(b'}');
    out
}

impl Model {
    /// Returns `provider/model`, as settings name it; `None` if either is unknown.
    pub fn full_name(&self) -> Option<String> {
        Some(format!("{}/{}", self.provider.as_deref()?, self.model_id.as_deref()?))
    }

    /// Returns `{"provider":…,"modelId":…}`, without the fields that are not known.
    pub fn to_json(&self) -> Vec<u8> {
        let mut out = b"{}".to_vec();
        for (key, value) in [("provider", &self.provider), ("modelId", &self.model_id)] {
            if let Some(value) = value {
                out = json::with_member(&out, key, &json::quoted(value));
            }
        }
        out
    }
}

/// A context that is read message by message: an iterator over its messages, oldest first, each
/// with the entry it came from. Only one message at a time is in memory, however large the context
/// is, except that a log of up to 8 MiB in which every entry counts may be held in memory as a whole.
///
/// ```
/// use treering::{Message, Session};
/// let session = Session::in_memory("/project");
/// let id = session.append(Message::user("hello"))?;
/// for message in session.projection()? {
///     assert_eq!(message?.entry, id);
/// }
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Projection {
    /// The thinking level in effect; `off` if none was ever set.
    pub thinking_level: String,
    /// The model in effect, if any was named.
    pub model: Option<Model>,
    view: Snapshot,
    selection: SelectedRows,
    edits: HashMap<String, Edit>,
    bodies: Bodies,
    /// The number of selected entries that were projected.
    done: usize,
    /// Rows of later selected entries that are already part of a message that was returned.
    joined: HashSet<Row>,
    /// Messages of the last projected entry that were not returned yet.
    ready: VecDeque<ContextMessage>,
    edited: Vec<EditAt>,
}

/// The context edits among some entries.
pub(crate) struct Edits(HashMap<String, Edit>);

impl Edits {
    pub(crate) fn of_rows(view: &Snapshot, bodies: &mut Bodies, rows: &[Row]) -> Result<Self> {
        Ok(Edits(edits(view, bodies, rows)?.0))
    }

    /// Returns the messages that an entry contributes. Compactions contribute their summary, and
    /// edits cannot remove summaries.
    pub(crate) fn project(
        &self,
        view: &Snapshot,
        bodies: &mut Bodies,
        row: Row,
    ) -> Result<Vec<ContextMessage>> {
        let mut out = VecDeque::new();
        let kind = view.tree().node(row).kind();
        let is_summary = kind == Kind::Compaction;
        match kind {
            Kind::Compaction | Kind::BranchSummary => {
                project(view, bodies, row, is_summary, &HashMap::new(), &mut out)?;
            }
            _ => project(view, bodies, row, is_summary, &self.0, &mut out)?,
        }
        Ok(out.into())
    }
}

impl Projection {
    /// Leaves images that are stored outside the session file as references, which saves reading
    /// them.
    #[must_use]
    pub fn without_images(self) -> Self {
        Projection { bodies: self.bodies.referencing(), ..self }
    }

    /// Supplies messages that were built while the log was read, by row.
    fn with_made(self, made: Vec<Option<Vec<u8>>>) -> Self {
        Projection { bodies: self.bodies.with_made(made), ..self }
    }

    /// Selects the entries and settings that count at `leaf` (`None`: before the first entry).
    /// Returns `None` if the view is only a part of a log and the result depends on the rest,
    /// unless the checkpoint supplies it.
    pub(crate) fn plan(
        view: Snapshot,
        leaf: Option<Row>,
        checkpoint: Option<&Checkpoint>,
    ) -> Result<Option<Self>> {
        let mut bodies = Bodies::default();
        let Some(leaf) = leaf else { return Projection::at_start(view).map(Some) };
        let Ok(selection) = select(&view, &mut bodies, leaf)? else { return Ok(None) };
        let Ok(settings) = settings(&view, &mut bodies, leaf, checkpoint)? else { return Ok(None) };
        Projection::of(view, bodies, selection, settings).map(Some)
    }

    /// Selects the same for a part of a log. The part must determine the entries that count, but may leave settings
    /// unknown.
    pub(crate) fn plan_tail(view: Snapshot, leaf: Option<Row>) -> Result<Option<TailProjection>> {
        let mut bodies = Bodies::default();
        let Some(leaf) = leaf else {
            let projection = Projection::at_start(view)?;
            return Ok(Some(TailProjection { projection, knows_level: true, knows_model: true }));
        };
        let Ok(selection) = select(&view, &mut bodies, leaf)? else { return Ok(None) };
        let (level, model) = each_setting(&view, &mut bodies, leaf, None)?;
        let (knows_level, knows_model) = (level.is_ok(), model.is_ok());
        let settings = (level.unwrap_or_default(), model.unwrap_or_default());
        let projection = Projection::of(view, bodies, selection, settings)?;
        Ok(Some(TailProjection { projection, knows_level, knows_model }))
    }

    /// Returns the context before the first entry.
    fn at_start(view: Snapshot) -> Result<Self> {
        let settings = (NO_THINKING.to_owned(), None);
        Projection::of(view, Bodies::default(), SelectedRows::default(), settings)
    }

    fn of(
        view: Snapshot,
        mut bodies: Bodies,
        selection: SelectedRows,
        (thinking_level, model): (String, Option<Model>),
    ) -> Result<Self> {
        let (edits, edited) = edits(&view, &mut bodies, &selection.rows)?;
        Ok(Projection {
            thinking_level,
            model,
            view,
            selection,
            edits,
            bodies: bodies.inlining(),
            done: 0,
            joined: HashSet::new(),
            ready: VecDeque::new(),
            edited,
        })
    }

    /// Returns the ids of the entries that count, in the order of the context, including those that
    /// contribute no message. All other entries of the path were compacted away.
    ///
    /// ```
    /// use treering::{Message, Session};
    /// let session = Session::in_memory("/project");
    /// let question = session.append(Message::user("hello"))?;
    /// let label = session.label(&question, Some("start"))?;
    /// assert_eq!(session.projection()?.selected().collect::<Vec<_>>(), [question, label]);
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn selected(&self) -> impl Iterator<Item = EntryId> + '_ {
        self.selection.rows.iter().map(|&row| self.view.tree().id(row))
    }

    /// Leaves out all but the last `count` of the [selected](Self::selected) entries, without
    /// reading the others, to show the end of a long conversation. A message that an agent wrote in
    /// pieces may then begin in the middle.
    ///
    /// ```
    /// use treering::{Message, Session};
    /// let session = Session::in_memory("/project");
    /// session.append(Message::user("hello"))?;
    /// let last = session.append(Message::user("still there?"))?;
    /// let mut end = session.projection()?.only_last(1);
    /// assert_eq!(end.next().transpose()?.map(|message| message.entry), Some(last));
    /// assert!(end.next().is_none());
    /// # Ok::<(), treering::Error>(())
    /// ```
    #[must_use]
    pub fn only_last(mut self, count: usize) -> Self {
        self.done = self.done.max(self.selection.rows.len().saturating_sub(count));
        self
    }

    /// Returns whether a context edit removes or replaces the contribution of an entry.
    pub fn is_edited(&self, id: impl AsRef<str>) -> bool {
        self.edits.contains_key(id.as_ref())
    }

    /// Returns the JSON around a projection's messages in [`Context::to_json`]: the part before
    /// them and the part after them. The caller separates the messages with commas.
    pub fn json_frame(&self) -> (&'static [u8], Vec<u8>) {
        (JSON_START, json_end(&self.thinking_level, self.model.as_ref()))
    }
}

impl Projection {
    /// Adds the rows that continue the message that was just projected. An agent that writes a
    /// message in pieces has several records for it, and results of the message's tool calls may be
    /// between them.
    fn join_continuations(&mut self) -> Result<()> {
        let Projection { view, bodies, edits, ready, selection, done, joined: joined_rows, .. } =
            self;
        let (tree, start) = (view.tree(), *done);
        let role = |row: Row| tree.node(row).role();
        if ready.is_empty() || role(selection.rows[start - 1]) != Some(Role::Assistant) {
            return Ok(());
        }
        let mut at = start;
        while let Some(&row) = selection.rows.get(at) {
            let is_part = tree.node(row).has(Node::CONTINUED);
            if contributes(tree, row) && !is_part && role(row) != Some(Role::ToolResult) {
                break;
            }
            if is_part {
                let mut parts = VecDeque::new();
                project(view, bodies, row, false, edits, &mut parts)?;
                if let (Some(whole), Some(part)) = (ready.back_mut(), parts.pop_front()) {
                    whole.json = joined(&whole.json, &part.json);
                }
                joined_rows.insert(row);
            }
            at += 1;
        }
        Ok(())
    }
}

impl Iterator for Projection {
    type Item = Result<ContextMessage>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() {
            if self.done == self.selection.rows.len() {
                return None;
            }
            if let Err(error) = self.step() {
                return Some(Err(error));
            }
        }
        self.ready.pop_front().map(Ok)
    }
}

impl Projection {
    /// Projects the next selected entry, if there is one.
    fn step(&mut self) -> Result<()> {
        let Some(&row) = self.selection.rows.get(self.done) else { return Ok(()) };
        let is_summary = self.selection.compacted && self.done == 0;
        self.done += 1;
        if self.joined.remove(&row) {
            return Ok(());
        }
        let Projection { view, bodies, edits, ready, .. } = self;
        project(view, bodies, row, is_summary, edits, ready)?;
        self.join_continuations()
    }
}
