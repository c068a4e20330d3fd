//! From a path to what the model sees.
//!
//! Three steps: *select* the entries that count (the latest compaction, what it keeps, what came
//! after it), *edit* them as the branch's context edits say, *project* each to messages. The raw
//! messages are copied byte for byte; only what the rules synthesise is new JSON. No step looks at
//! an entry that does not count: the cost is that of the context, not of the session.

mod selected;

pub(crate) use selected::{EditAt, Selected};

use crate::entry::{Kind, Role};
use crate::error::Result;
use crate::id::EntryId;
use crate::json::{self, End, Members};
use crate::snapshot::{Bodies, Snapshot};
use crate::tree::{NONE, Node, Tree};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};

/// What the model sees at some leaf.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Context {
    /// The messages, oldest first.
    pub messages: Vec<ContextMessage>,
    /// The thinking level in force; `off` if none was ever set.
    pub thinking_level: String,
    /// The model in force, if any was named.
    pub model: Option<Model>,
}

/// A message of a context, and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextMessage {
    /// The entry that contributed it.
    pub entry: EntryId,
    /// The message's JSON. Bytes, because a session may hold what no `String` can.
    pub json: Vec<u8>,
}

/// A model, as the session names it. A field that the session leaves out is `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// Who serves it.
    pub provider: Option<String>,
    /// Its id.
    pub model_id: Option<String>,
}

impl Context {
    /// Reads all of a projection.
    pub fn collect(projection: Projection) -> Result<Self> {
        let (thinking_level, model) = (projection.thinking_level.clone(), projection.model.clone());
        let messages = projection.collect::<Result<_>>()?;
        Ok(Context { messages, thinking_level, model })
    }

    /// The context as one JSON object: `{"messages":[…],"thinkingLevel":…,"model":…}`.
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
    /// `provider/model`, as settings name it; `None` if either is unknown.
    pub fn full_name(&self) -> Option<String> {
        Some(format!("{}/{}", self.provider.as_deref()?, self.model_id.as_deref()?))
    }

    /// `{"provider":…,"modelId":…}`, without the fields that are not known.
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

/// A context that is read message by message: an iterator over its messages, oldest first, each with
/// the entry it came from. Memory is that of one message, however large the context.
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
pub struct Projection {
    /// The thinking level in force; `off` if none was ever set.
    pub thinking_level: String,
    /// The model in force, if any was named.
    pub model: Option<Model>,
    view: Snapshot,
    selection: Selection,
    edits: HashMap<String, Edit>,
    bodies: Bodies,
    /// How many of the selected entries were projected.
    done: usize,
    /// Selected entries further on that are part of a message handed out already.
    joined: HashSet<u32>,
    /// Messages of the last one that were not handed out yet.
    ready: VecDeque<ContextMessage>,
    edited: Vec<EditAt>,
}

/// The context edits among some entries.
pub(crate) struct Edits(HashMap<String, Edit>);

impl Edits {
    pub(crate) fn among(view: &Snapshot, bodies: &mut Bodies, rows: &[u32]) -> Result<Self> {
        Ok(Edits(edits(view, bodies, rows)?.0))
    }

    /// The messages an entry contributes. Compactions contribute theirs, and summaries cannot be
    /// taken out.
    pub(crate) fn project(
        &self,
        view: &Snapshot,
        bodies: &mut Bodies,
        row: u32,
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
    /// Decides what counts at `leaf` (`None`: before the first entry). Nothing if the view is only a
    /// part of a log and the answer depends on the rest.
    pub(crate) fn plan(view: Snapshot, leaf: Option<u32>) -> Result<Option<Self>> {
        let mut bodies = Bodies::default();
        let (selection, (thinking_level, model)) = match leaf {
            None => (Selection::default(), ("off".to_owned(), None)),
            Some(leaf) => {
                let selection = select(&view, &mut bodies, leaf)?;
                let settings = settings(&view, &mut bodies, leaf)?;
                match (selection, settings) {
                    (Ok(selection), Ok(settings)) => (selection, settings),
                    _ => return Ok(None),
                }
            }
        };
        let (edits, edited) = edits(&view, &mut bodies, &selection.rows)?;
        Ok(Some(Projection {
            thinking_level,
            model,
            view,
            selection,
            edits,
            bodies,
            done: 0,
            joined: HashSet::new(),
            ready: VecDeque::new(),
            edited,
        }))
    }

    /// The entries that count, in the order of the context, also those that contribute no message.
    /// What else is on the path was compacted away.
    ///
    /// ```
    /// use treering::{Message, Session};
    /// let session = Session::in_memory("/project");
    /// let question = session.append(Message::user("hello"))?;
    /// let label = session.label(question.as_str(), Some("start"))?;
    /// assert_eq!(session.projection()?.selected().collect::<Vec<_>>(), [question, label]);
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn selected(&self) -> impl Iterator<Item = EntryId> + '_ {
        self.selection.rows.iter().map(|&row| self.view.tree().id(row))
    }

    /// Leaves out all but the last `count` of the [selected](Self::selected) entries, without reading
    /// them: for a look at the end of a long conversation. What an agent wrote piece by piece may then
    /// begin in the middle.
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

    /// Whether a context edit removes an entry or puts something in its place.
    pub fn is_edited(&self, id: &str) -> bool {
        self.edits.contains_key(id)
    }

    /// What a projection's messages are put into to make the JSON of [`Context::to_json`]: what comes
    /// before them, and what after. Between messages goes a comma.
    pub fn json_frame(&self) -> (&'static [u8], Vec<u8>) {
        (JSON_START, json_end(&self.thinking_level, self.model.as_ref()))
    }
}

impl Projection {
    /// Adds the rows that continue the message just projected: agents that write a message piece by
    /// piece have several records for it, and results of its calls may stand between them.
    fn join_continuations(&mut self) -> Result<()> {
        let Projection { view, bodies, edits, ready, selection, done, joined: joined_rows, .. } =
            self;
        let (tree, start) = (view.tree(), *done);
        let role = |row: u32| tree.node(row).role();
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

/// A message continued by another part of it: the blocks of both, and what the later part says about
/// the whole (its usage is complete).
pub(crate) fn joined(whole: &[u8], part: &[u8]) -> Vec<u8> {
    let blocks = |message| json::get(message, "content").map(json::elements).unwrap_or_default();
    let content: Vec<&[u8]> = blocks(whole).into_iter().chain(blocks(part)).collect();
    json::with_member(part, "content", &[b"[", &*content.join(&b","[..]), b"]"].concat())
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

/// The tree at hand is only the end of a log, and the answer lies further up.
struct Incomplete;

/// Either an answer, or the news that more of the log is needed.
type Known<T> = std::result::Result<T, Incomplete>;

/// The entries that count, in the order of the context.
#[derive(Debug, Default)]
struct Selection {
    rows: Vec<u32>,
    /// The first of them is a compaction that stands for what came before.
    compacted: bool,
    /// How many of them are that compaction and what it keeps.
    old: usize,
}

fn select(view: &Snapshot, bodies: &mut Bodies, leaf: u32) -> Result<Known<Selection>> {
    let tree = view.tree();
    let Some((compaction, first_kept)) = latest_compaction(view, bodies, leaf)? else {
        let rows = tree.path_rows(leaf);
        let cut = rows.first().is_some_and(|&top| view.is_cut(top));
        return Ok(if cut {
            Err(Incomplete)
        } else {
            Ok(Selection { rows, ..Selection::default() })
        });
    };
    let mut rows: Vec<u32> = tree.ancestors(leaf).take_while(|&row| row != compaction).collect();
    if tree.node(compaction).kind() == Kind::Reset {
        rows.reverse();
        return Ok(Ok(Selection { rows, ..Selection::default() }));
    }
    let after = rows.len();
    if let Some(first_kept) = first_kept.filter(|id| tree.id_text(compaction) != id.as_str()) {
        match tree.row(&first_kept) {
            None if view.is_partial() => return Ok(Err(Incomplete)),
            None => {}
            Some(first) => match kept(view, compaction, first, &mut rows) {
                Kept::All => {}
                Kept::None => rows.truncate(after),
                Kept::Unknown => return Ok(Err(Incomplete)),
            },
        }
    }
    rows.push(compaction);
    let old = rows.len() - after;
    // So far: after the compaction, then kept, then the compaction; all newest first.
    rows.reverse();
    Ok(Ok(Selection { rows, compacted: true, old }))
}

enum Kept {
    All,
    None,
    Unknown,
}

/// Collects the rows from above `compaction` up to `first`, newest first.
fn kept(view: &Snapshot, compaction: u32, first: u32, rows: &mut Vec<u32>) -> Kept {
    let tree = view.tree();
    for row in tree.ancestors(compaction).skip(1) {
        let node = tree.node(row);
        if tree.is_plain() && row < first {
            return Kept::None;
        }
        // The compaction's own system message stands for those it compacted.
        if node.role() != Some(Role::System) {
            rows.push(row);
        }
        if row == first {
            return Kept::All;
        }
        if view.is_cut(row) {
            return Kept::Unknown;
        }
    }
    Kept::None
}

/// The nearest compaction at or above `leaf` that can be read, and what it keeps from.
fn latest_compaction(
    view: &Snapshot,
    bodies: &mut Bodies,
    leaf: u32,
) -> Result<Option<(u32, Option<String>)>> {
    let mut row = view.tree().node(leaf).compaction;
    while row != NONE {
        if let Some(body) = bodies.whole(view, row)? {
            let first_kept =
                json::get(&body, "firstKeptEntryId").map(|raw| match json::string(raw) {
                    Some(id) => id.into_owned(),
                    None => String::from_utf8_lossy(raw).into_owned(),
                });
            return Ok(Some((row, first_kept)));
        }
        row = above(view, row, |node| node.compaction);
    }
    Ok(None)
}

/// What a row's parent inherited.
fn above(view: &Snapshot, row: u32, inherited: impl Fn(&Node) -> u32) -> u32 {
    match view.tree().node(row).parent {
        NONE => NONE,
        parent => inherited(view.tree().node(parent)),
    }
}

/// The latest context edit for every target, among the selected entries.
fn edits(
    view: &Snapshot,
    bodies: &mut Bodies,
    rows: &[u32],
) -> Result<(HashMap<String, Edit>, Vec<EditAt>)> {
    let (mut edits, mut edited) = (HashMap::new(), Vec::new());
    for (at, &row) in rows.iter().enumerate() {
        if view.tree().node(row).kind() != Kind::ContextEdit {
            continue;
        }
        let Some(body) = bodies.whole(view, row)? else { continue };
        let Some(target) = json::get(&body, "targetId").and_then(json::string) else { continue };
        let edit = match json::get(&body, "replacement") {
            Some(b"null") => Edit::Remove,
            Some(replacement) => match json::get(replacement, "content") {
                Some(content) => Edit::Replace(content.to_vec()),
                None => continue,
            },
            None => continue,
        };
        let (target, removes) = (target.into_owned(), matches!(edit, Edit::Remove));
        edited.push(EditAt { at, target: target.clone(), removes });
        edits.insert(target, edit);
    }
    Ok((edits, edited))
}

#[derive(Debug)]
enum Edit {
    Remove,
    Replace(Vec<u8>),
}

/// Whether entries like this one are in contexts.
pub(crate) fn contributes(tree: &Tree, row: u32) -> bool {
    let kind = tree.node(row).kind();
    matches!(kind, Kind::Message | Kind::CustomMessage | Kind::BranchSummary)
}

/// Appends the messages that one entry contributes.
fn project(
    view: &Snapshot,
    bodies: &mut Bodies,
    row: u32,
    is_summary: bool,
    edits: &HashMap<String, Edit>,
    out: &mut VecDeque<ContextMessage>,
) -> Result<()> {
    let tree = view.tree();
    let node = *tree.node(row);
    let edit = if edits.is_empty() { None } else { edits.get(tree.id_text(row)) };
    if matches!(edit, Some(Edit::Remove)) {
        return Ok(());
    }
    if !contributes(tree, row) && !is_summary {
        return Ok(());
    }
    let mut more = Vec::new();
    let Some(body) = bodies.all(view, row, &mut more)? else { return Ok(()) };
    let mut push = |json: Vec<u8>| {
        let json = match edit {
            Some(Edit::Replace(content)) => edited(json, content),
            _ => json,
        };
        out.push_back(ContextMessage { entry: tree.id(row), json });
    };
    match node.kind() {
        Kind::Message => {
            if let Some(message) = message(&body) {
                push(message);
                more.into_iter().for_each(push);
            }
        }
        _ if !is_whole(&body) => {}
        Kind::CustomMessage => push(custom_message(&body, &node)),
        Kind::BranchSummary => {
            let summary = json::get(&body, "summary").filter(|summary| *summary != b"\"\"");
            if let Some(summary) = summary {
                let from = json::get(&body, "fromId");
                push(synthesised(
                    "branchSummary",
                    &[("summary", Some(summary)), ("fromId", from)],
                    &node,
                ));
            }
        }
        _ => {
            if let Some(system) =
                json::get(&body, "systemMessage").filter(|raw| raw.starts_with(b"{"))
            {
                push(system.to_vec());
            }
            let (summary, tokens) = (json::get(&body, "summary"), json::get(&body, "tokensBefore"));
            let fields = [("summary", summary), ("tokensBefore", tokens)];
            push(synthesised("compactionSummary", &fields, &node));
        }
    }
    Ok(())
}

/// The message of a message entry, in one pass over its bytes: nothing if the entry is not whole.
/// Content that is missing or `null` becomes the empty content of its role.
fn message(body: &[u8]) -> Option<Vec<u8>> {
    let mut found = None;
    let mut members = Members::new(body, json::skip_space(body, 0));
    while let Some((key, start)) = members.key() {
        if !json::key_is(&body[key.start + 1..key.end - 1], "message") {
            members.skip_value(start);
        } else if body.get(start) == Some(&b'{') {
            let mut inner = Members::new(body, start);
            let (mut role, mut content) = (None, None);
            for member in &mut inner {
                match &*json::key_name(member.key) {
                    b"role" => role = Some(&body[member.value]),
                    b"content" => content = Some(&body[member.value]),
                    _ => {}
                }
            }
            if let End::Closed(end) = inner.end {
                found = Some((&body[start..end], role, content));
            }
            members.value_ends(inner.end);
        } else {
            members.skip_value(start);
            found = None;
        }
    }
    let (End::Closed(_), Some((message, role, content))) = (members.end, found) else {
        return None;
    };
    if content.is_some_and(|content| content != b"null") {
        return Some(message.to_vec());
    }
    Some(match role.and_then(json::string).as_deref().map(Role::of) {
        Some(Role::System) => json::with_member(message, "content", b"\"\""),
        Some(Role::User | Role::Assistant | Role::ToolResult) => {
            json::with_member(message, "content", b"[]")
        }
        _ => message.to_vec(),
    })
}

fn is_whole(body: &[u8]) -> bool {
    body.starts_with(b"{") && json::skip_value(body, 0).is_some()
}

fn custom_message(body: &[u8], node: &Node) -> Vec<u8> {
    let get = |key| json::get(body, key);
    let content = get("content").filter(|content| *content != b"null").unwrap_or(b"[]");
    let fields = [
        ("customType", get("customType")),
        ("content", Some(content)),
        ("display", get("display")),
        ("details", get("details")),
    ];
    synthesised("custom", &fields, node)
}

/// A message made of an entry's fields; those it lacks are left out.
fn synthesised(role: &str, fields: &[(&str, Option<&[u8]>)], node: &Node) -> Vec<u8> {
    let mut out = b"{\"role\":".to_vec();
    json::write_string(&mut out, role);
    for (key, value) in fields {
        if let Some(value) = value {
            out.push(b',');
            json::write_string(&mut out, key);
            out.push(b':');
            out.extend_from_slice(value);
        }
    }
    let time = node.time().map_or("null".to_owned(), |time| time.to_string());
    out.extend_from_slice(format!(",\"timestamp\":{time}}}").as_bytes());
    out
}

/// A message with its content replaced, where its role has content that can be.
pub(crate) fn edited(message: Vec<u8>, content: &[u8]) -> Vec<u8> {
    let role = json::get(&message, "role").and_then(json::string);
    match role.as_deref().map(Role::of) {
        Some(Role::Assistant | Role::ToolResult) if content.starts_with(b"\"") => {
            let block = [b"[{\"type\":\"text\",\"text\":", content, b"}]"].concat();
            json::with_member(&message, "content", &block)
        }
        Some(Role::User | Role::Custom | Role::Assistant | Role::ToolResult) => {
            json::with_member(&message, "content", content)
        }
        _ => message,
    }
}

/// Thinking level and model: the latest on the whole path, whatever was compacted.
fn settings(
    view: &Snapshot,
    bodies: &mut Bodies,
    leaf: u32,
) -> Result<Known<(String, Option<Model>)>> {
    let tree = view.tree();
    let (mut level, mut named) = (None, None);
    let mut row = tree.node(leaf).thinking;
    while row != NONE && level.is_none() {
        let body = bodies.whole(view, row)?;
        let value = body.as_deref().and_then(|body| json::get(body, "thinkingLevel"));
        level = value.and_then(json::string).map(Cow::into_owned);
        row = above(view, row, |node| node.thinking);
    }
    let mut row = tree.node(leaf).model;
    while row != NONE && named.is_none() {
        named = bodies.whole(view, row)?.and_then(|body| model(tree.node(row).kind(), &body));
        // Some agents' messages do not say who wrote them; pi's always do, and then it counts.
        let is_unnamed = |model: &Model| model.provider.is_none() && model.model_id.is_none();
        if named.as_ref().is_some_and(is_unnamed) && !view.codec().is_native(Kind::Message) {
            named = None;
        }
        row = above(view, row, |node| node.model);
    }
    if view.is_partial() && (level.is_none() || named.is_none()) {
        let top = tree.ancestors(leaf).last();
        if top.is_some_and(|top| view.is_cut(top)) {
            return Ok(Err(Incomplete));
        }
    }
    Ok(Ok((level.unwrap_or_else(|| "off".into()), named)))
}

fn model(kind: Kind, body: &[u8]) -> Option<Model> {
    let text =
        |object: &[u8], key| json::get(object, key).and_then(json::string).map(|t| t.into_owned());
    Some(match kind {
        Kind::ModelChange => {
            Model { provider: text(body, "provider"), model_id: text(body, "modelId") }
        }
        _ => {
            let message = json::get(body, "message").filter(|raw| raw.starts_with(b"{"))?;
            Model { provider: text(message, "provider"), model_id: text(message, "model") }
        }
    })
}
