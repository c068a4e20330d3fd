//! Typed views of an entry's bytes. They borrow, decode on demand, and never change anything.

use super::kind::{Kind, Role};
use super::message::TokenUsage;
use crate::id::EntryId;
use crate::json;
use std::borrow::Cow;
use std::ops::Range;

/// An entry of a session: its id, parent, type and time, and its bytes.
///
/// ```
/// use treering::{Message, Session};
/// let session = Session::in_memory("/project");
/// let id = session.append(Message::user("hello"))?;
/// let entry = session.entry(&id)?;
/// assert_eq!(entry.message().unwrap().text(), "hello");
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Entry {
    pub(crate) id: EntryId,
    pub(crate) parent: Option<EntryId>,
    pub(crate) kind: Kind,
    pub(crate) role: Option<Role>,
    pub(crate) time: Option<i64>,
    pub(crate) raw: Vec<u8>,
    /// The record in the file, if it differs from `raw`.
    pub(crate) record: Option<Vec<u8>>,
    pub(crate) more: Vec<Vec<u8>>,
    pub(crate) damaged: bool,
    /// Whether all of `raw` was checked and is one well-formed object.
    pub(crate) checked: bool,
    /// The range of the message in `raw`, if it was checked.
    pub(crate) message: Option<Range<usize>>,
}

/// The parts of an [`Entry`], for programs that send entries to another process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryParts {
    /// The entry's id.
    pub id: EntryId,
    /// The id of the parent; `None` for a root.
    pub parent: Option<EntryId>,
    /// The type of the entry.
    pub kind: Kind,
    /// The role of its message.
    pub role: Option<Role>,
    /// The time of the entry in Unix milliseconds.
    pub time: Option<i64>,
    /// The JSON of the entry in treering's format.
    pub raw: Vec<u8>,
    /// The record in the file, if it differs from `raw`.
    pub record: Option<Vec<u8>>,
    /// Further messages of the same record.
    pub more_messages: Vec<Vec<u8>>,
    /// Whether the bytes are not a complete JSON object.
    pub is_damaged: bool,
}

impl Entry {
    /// Returns the parts of the entry, from which [`Entry::from_parts`] makes an equal one.
    ///
    /// ```
    /// use treering::{Entry, Message, Session};
    /// let session = Session::in_memory("/project");
    /// let entry = session.entry(session.append(Message::user("hello"))?)?;
    /// let copy = Entry::from_parts(entry.clone().into_parts());
    /// assert_eq!(copy.message().unwrap().text(), "hello");
    /// assert_eq!(copy.id(), entry.id());
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn into_parts(self) -> EntryParts {
        EntryParts {
            id: self.id,
            parent: self.parent,
            kind: self.kind,
            role: self.role,
            time: self.time,
            raw: self.raw,
            record: self.record,
            more_messages: self.more,
            is_damaged: self.damaged,
        }
    }

    /// Creates an entry from parts. They need not come from `into_parts`:
    /// nothing about their bytes is assumed.
    pub fn from_parts(parts: EntryParts) -> Self {
        Entry {
            id: parts.id,
            parent: parts.parent,
            kind: parts.kind,
            role: parts.role,
            time: parts.time,
            raw: parts.raw,
            record: parts.record,
            more: parts.more_messages,
            damaged: parts.is_damaged,
            checked: false,
            message: None,
        }
    }

    /// Returns the entry's id.
    pub fn id(&self) -> &EntryId {
        &self.id
    }

    /// Returns the id of the parent; `None` for a root. A parent that the session does not have, or
    /// that would close a cycle, counts as none.
    pub fn parent(&self) -> Option<&EntryId> {
        self.parent.as_ref()
    }

    /// Returns the entry's type.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the `type` as in the file, also if treering does not know it.
    pub fn type_name(&self) -> Cow<'_, str> {
        match self.kind.name() {
            Some(name) => Cow::Borrowed(name),
            // The type can be read even if the entry is damaged.
            None => json::get(&self.raw, "type").and_then(json::string).unwrap_or_default(),
        }
    }

    /// Returns the role, if this is a message.
    pub fn role(&self) -> Option<Role> {
        self.role
    }

    /// Returns the entry's time in Unix milliseconds, if it has a valid one.
    pub fn time(&self) -> Option<i64> {
        self.time
    }

    /// Returns the entry in treering's format: its bytes exactly as in the file, unless the file is
    /// of an older version or another agent's.
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// Returns the record as in the file, in the dialect of its agent.
    pub fn record(&self) -> &[u8] {
        self.record.as_deref().unwrap_or(&self.raw)
    }

    /// Returns the further messages of the same record: some agents store the results of parallel
    /// calls together.
    pub fn more_messages(&self) -> impl Iterator<Item = MessageView<'_>> {
        self.more.iter().map(|raw| MessageView::new(raw))
    }

    /// Returns whether the bytes are not a complete JSON object. A damaged entry keeps its position
    /// in the tree and contributes nothing to a context.
    pub fn is_damaged(&self) -> bool {
        self.damaged
    }

    /// Returns the raw JSON of a field, if the entry is complete and has the field.
    pub fn get(&self, key: &str) -> Option<&[u8]> {
        match (self.damaged, self.checked) {
            (true, _) => None,
            (false, true) => json::get_checked(&self.raw, key),
            (false, false) => json::get(&self.raw, key),
        }
    }

    /// Returns the text of a string field.
    pub fn text(&self, key: &str) -> Option<Cow<'_, str>> {
        json::string(self.get(key)?)
    }

    /// Returns the message of a message entry.
    pub fn message(&self) -> Option<MessageView<'_>> {
        let raw = match self.checked {
            true => self.raw.get(self.message.clone()?),
            false => self.get("message"),
        };
        let raw = raw.filter(|raw| raw.starts_with(b"{"))?;
        (self.kind == Kind::Message).then_some(MessageView { raw, checked: self.checked })
    }

    /// Returns the content of the entry according to its type.
    ///
    /// ```
    /// use treering::entry::Body;
    /// use treering::{NewEntry, Session};
    /// let session = Session::in_memory("/project");
    /// let id = session.append(NewEntry::thinking_level_change("high"))?;
    /// let entry = session.entry(id)?;
    /// assert!(matches!(entry.body(), Body::ThinkingLevelChange { .. }));
    /// # Ok::<(), treering::Error>(())
    /// ```
    pub fn body(&self) -> Body<'_> {
        let text = |key| self.text(key);
        let required = |key| self.text(key).unwrap_or_default();
        if self.damaged {
            return Body::Damaged;
        }
        match self.kind {
            Kind::Message => match self.message() {
                Some(message) => Body::Message(message),
                None => Body::Damaged,
            },
            Kind::Compaction => Body::Compaction {
                summary: required("summary"),
                first_kept: text("firstKeptEntryId"),
                tokens_before: self.get("tokensBefore").and_then(number),
                details: self.get("details"),
                usage: self.get("usage").and_then(TokenUsage::from_json),
                from_hook: self.get("fromHook") == Some(b"true"),
            },
            Kind::BranchSummary => Body::BranchSummary {
                from: text("fromId"),
                summary: required("summary"),
                details: self.get("details"),
                usage: self.get("usage").and_then(TokenUsage::from_json),
                from_hook: self.get("fromHook") == Some(b"true"),
            },
            Kind::CustomMessage => {
                let content = self.get("content").unwrap_or_default();
                Body::CustomMessage {
                    custom_type: required("customType"),
                    text: content_text(content),
                    content,
                    display: self.get("display") == Some(b"true"),
                    details: self.get("details"),
                }
            }
            Kind::ContextEdit => Body::ContextEdit {
                target: required("targetId"),
                replacement: self.get("replacement").filter(|raw| *raw != b"null"),
            },
            Kind::Custom => {
                Body::Custom { custom_type: required("customType"), data: self.get("data") }
            }
            Kind::Label => Body::Label {
                target: required("targetId"),
                label: text("label").filter(|label| !label.is_empty()),
            },
            Kind::Leaf => Body::Leaf { target: text("targetId") },
            Kind::ModelChange => {
                Body::ModelChange { provider: required("provider"), model: required("modelId") }
            }
            Kind::ThinkingLevelChange => {
                Body::ThinkingLevelChange { level: required("thinkingLevel") }
            }
            Kind::SessionInfo => Body::SessionInfo { name: text("name") },
            Kind::Usage => Body::Usage {
                kind: required("kind"),
                provider: required("provider"),
                model: required("model"),
                usage: self.get("usage"),
            },
            Kind::Reset | Kind::Other => Body::Other,
        }
    }
}

/// The content of an entry, by type. Fields whose form treering does not define are raw JSON.
#[derive(Debug, Clone)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are those of docs/format.md")]
pub enum Body<'a> {
    Message(MessageView<'a>),
    Compaction {
        summary: Cow<'a, str>,
        first_kept: Option<Cow<'a, str>>,
        tokens_before: Option<f64>,
        details: Option<&'a [u8]>,
        usage: Option<TokenUsage>,
        /// Whether an extension wrote the summary.
        from_hook: bool,
    },
    BranchSummary {
        from: Option<Cow<'a, str>>,
        summary: Cow<'a, str>,
        details: Option<&'a [u8]>,
        usage: Option<TokenUsage>,
        /// Whether an extension wrote the summary.
        from_hook: bool,
    },
    CustomMessage {
        custom_type: Cow<'a, str>,
        /// The text of the content.
        text: String,
        /// The content: a string, or blocks ([`Block::all`]).
        content: &'a [u8],
        /// Whether user interfaces show the message.
        display: bool,
        details: Option<&'a [u8]>,
    },
    ContextEdit {
        target: Cow<'a, str>,
        replacement: Option<&'a [u8]>,
    },
    Custom {
        custom_type: Cow<'a, str>,
        data: Option<&'a [u8]>,
    },
    Label {
        target: Cow<'a, str>,
        label: Option<Cow<'a, str>>,
    },
    Leaf {
        target: Option<Cow<'a, str>>,
    },
    ModelChange {
        provider: Cow<'a, str>,
        model: Cow<'a, str>,
    },
    ThinkingLevelChange {
        level: Cow<'a, str>,
    },
    SessionInfo {
        name: Option<Cow<'a, str>>,
    },
    Usage {
        /// The purpose of the request: `cache_warm`, …
        kind: Cow<'a, str>,
        provider: Cow<'a, str>,
        model: Cow<'a, str>,
        usage: Option<&'a [u8]>,
    },
    /// A type that treering does not know: use [`Entry::raw`] and [`Entry::get`].
    Other,
    /// An incomplete object, or a message entry without a message.
    Damaged,
}

/// A message: an object with a `role` and, usually, `content`.
#[derive(Debug, Clone, Copy)]
pub struct MessageView<'a> {
    pub(super) raw: &'a [u8],
    /// Whether `raw` is known to be well-formed.
    pub(super) checked: bool,
}

impl<'a> MessageView<'a> {
    /// Reads `raw` as a message. Anything that is not an object has no fields.
    pub fn new(raw: &'a [u8]) -> Self {
        MessageView { raw, checked: false }
    }

    /// Returns the message's JSON.
    pub fn raw(&self) -> &'a [u8] {
        self.raw
    }

    /// Returns the raw JSON of a field.
    pub fn get(&self, key: &str) -> Option<&'a [u8]> {
        let [found] = self.get_all([key]);
        found
    }

    /// Returns the raw JSON of several fields, found in one pass.
    ///
    /// ```
    /// let message = treering::entry::MessageView::new(br#"{"role":"user","content":"hi"}"#);
    /// assert_eq!(message.get_all(["content", "usage"]), [Some(&b"\"hi\""[..]), None]);
    /// ```
    pub fn get_all<const N: usize>(&self, keys: [&str; N]) -> [Option<&'a [u8]>; N] {
        match self.checked {
            true => json::get_all_checked(self.raw, keys),
            false => json::get_all(self.raw, keys),
        }
    }

    /// Returns the text of a string field.
    pub fn field(&self, key: &str) -> Option<Cow<'a, str>> {
        json::string(self.get(key)?)
    }

    /// Returns the role's name.
    pub fn role_name(&self) -> Cow<'a, str> {
        self.field("role").unwrap_or_default()
    }

    /// Returns the role.
    pub fn role(&self) -> Role {
        Role::of(&self.role_name())
    }

    /// Returns the blocks of the content; a string counts as one text block.
    pub fn blocks(&self) -> Vec<Block<'a>> {
        self.get("content").map(Block::all).unwrap_or_default()
    }

    /// Returns all text of the content, blocks joined by a space.
    pub fn text(&self) -> String {
        self.get("content").map(content_text).unwrap_or_default()
    }
}

/// A block of a message's content.
///
/// ```
/// use treering::entry::{Block, MessageView};
/// let message = MessageView::new(
///     br#"{"role":"assistant","content":[{"type":"text","text":"Yes.","textSignature":"s1"}]}"#,
/// );
/// let [Block::Text { text, signature }] = &message.blocks()[..] else { panic!() };
/// assert_eq!((&**text, signature.as_deref()), ("Yes.", Some("s1")));
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are those of docs/format.md")]
pub enum Block<'a> {
    Text {
        text: Cow<'a, str>,
        /// The signature of the text, from OpenAI's Responses API.
        signature: Option<Cow<'a, str>>,
    },
    Thinking {
        text: Cow<'a, str>,
        signature: Option<Cow<'a, str>>,
        /// Whether the provider encrypted the thinking. The signature is then all there is.
        is_redacted: bool,
    },
    Image {
        data: Cow<'a, str>,
        mime_type: Cow<'a, str>,
    },
    ToolCall {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        arguments: Option<&'a [u8]>,
        /// The signature of the thought that led to the call, from Google's API.
        signature: Option<Cow<'a, str>>,
    },
    /// The JSON of a block that treering does not know.
    Other(&'a [u8]),
}

impl<'a> Block<'a> {
    /// Returns the blocks of a `content` value; a string counts as one text block.
    pub fn all(content: &'a [u8]) -> Vec<Block<'a>> {
        match json::string(content) {
            Some(text) => vec![Block::Text { text, signature: None }],
            None => json::elements(content).into_iter().map(Block::of).collect(),
        }
    }

    pub(super) const KEYS: [&'static str; 12] = [
        "type",
        "text",
        "thinking",
        "data",
        "mimeType",
        "id",
        "name",
        "arguments",
        "thinkingSignature",
        "redacted",
        "textSignature",
        "thoughtSignature",
    ];

    pub(crate) fn of(raw: &'a [u8]) -> Block<'a> {
        Block::with(raw, json::get_all(raw, Block::KEYS))
    }

    /// Returns the block with these values of [`Block::KEYS`].
    pub(super) fn with(raw: &'a [u8], values: [Option<&'a [u8]>; 12]) -> Block<'a> {
        let [kind, text, thinking, data, mime_type, id, name, arguments, rest @ ..] = values;
        let [thinking_signature, redacted, text_signature, thought_signature] = rest;
        let required =
            |literal: Option<&'a [u8]>| literal.and_then(json::string).unwrap_or_default();
        let signed = |literal: Option<&'a [u8]>| {
            literal.and_then(json::string).filter(|text| !text.is_empty())
        };
        match kind.and_then(json::string).as_deref() {
            Some("text") => Block::Text { text: required(text), signature: signed(text_signature) },
            Some("thinking") => Block::Thinking {
                text: required(thinking),
                signature: signed(thinking_signature),
                is_redacted: redacted == Some(b"true"),
            },
            Some("image") => Block::Image { data: required(data), mime_type: required(mime_type) },
            Some("toolCall") => {
                let signature = signed(thought_signature);
                Block::ToolCall { id: required(id), name: required(name), arguments, signature }
            }
            _ => Block::Other(raw),
        }
    }
}

/// Returns the text in a `content` value: the string itself, or its text blocks joined by a space.
pub(crate) fn content_text(content: &[u8]) -> String {
    if let Some(text) = json::string(content) {
        return text.into_owned();
    }
    let mut out = String::new();
    for block in json::elements(content) {
        if let Block::Text { text, .. } = Block::of(block) {
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(&text);
        }
    }
    out
}

pub(crate) fn number(literal: &[u8]) -> Option<f64> {
    std::str::from_utf8(literal).ok()?.parse().ok()
}
