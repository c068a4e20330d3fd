//! Builders of entries to be appended: everything except id, parent and time, which the session
//! adds.

use super::head;
use super::kind::{Kind, Role};
use super::message::{Message, TokenUsage};
use crate::dialect::name::Dialect;
use crate::error::{Error, Result};
use crate::id::EntryId;
use crate::json::{self, Members, ObjectEnd};
use crate::position::Position;
use std::borrow::Cow;

/// An entry to append. The session gives it an id, a parent (the leaf) and a time, unless the
/// caller did.
///
/// ```
/// use treering::{NewEntry, Session};
/// let session = Session::in_memory("/project");
/// session.append(NewEntry::model_change("anthropic", "claude-sonnet-4-5"))?;
/// session.append(NewEntry::custom("todo", Some(br#"{"items":[]}"#))?)?;
/// session.append(NewEntry::from_json(br#"{"type":"my_own","anything":[1,2]}"#)?)?;
/// assert_eq!(session.tree().len(), 3);
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct NewEntry {
    pub(crate) type_name: Cow<'static, str>,
    /// `,"key":value` for every field except the common ones.
    pub(crate) fields: Vec<u8>,
    pub(crate) role: Option<Role>,
    pub(crate) id: Option<EntryId>,
    pub(crate) parent: Parent,
    pub(crate) first_kept: FirstKept,
    /// The time as a JSON literal.
    pub(crate) timestamp: Option<Vec<u8>>,
    /// A record in the agent's own format, which is written instead of the fields.
    pub(crate) record: Option<Record>,
}

/// A record in the agent's own format.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub dialect: Dialect,
    pub bytes: Vec<u8>,
    /// The time of the message, if the record has the agent's usual format with an id and a parent.
    /// Readers need only the head of such a record, which is known, so it is not read again.
    pub usual: Option<i64>,
}

/// The parent of a new entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Parent {
    Leaf,
    Root,
    Entry(EntryId),
}

/// The member that marks a `leaf` entry which only preserves the leaf of one copy of a session.
pub(crate) const KEPT_LEAF: &str = "keptLeaf";

/// The first entry that a compaction keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum FirstKept {
    /// The fields name the entry. Entries other than compactions name none.
    #[default]
    InFields,
    /// The compaction itself: it keeps no entry before it. The member with its id is inserted at
    /// this offset of the fields when the id is known.
    Itself { at: usize },
}

impl NewEntry {
    pub(crate) fn new(kind: Kind) -> Self {
        NewEntry {
            type_name: Cow::Borrowed(kind.name().unwrap_or_default()),
            fields: Vec::new(),
            role: None,
            id: None,
            parent: Parent::Leaf,
            first_kept: FirstKept::InFields,
            timestamp: None,
            record: None,
        }
    }

    /// Creates an entry of any type, without fields.
    pub(crate) fn of_type(type_name: impl Into<Cow<'static, str>>) -> Self {
        NewEntry { type_name: type_name.into(), ..NewEntry::new(Kind::Other) }
    }

    pub(crate) fn raw(mut self, key: &str, value: &[u8]) -> Self {
        self.fields.push(b',');
        json::write_string(&mut self.fields, key);
        self.fields.push(b':');
        let start = self.fields.len();
        self.fields.extend_from_slice(value);
        one_line(&mut self.fields[start..]);
        self
    }

    fn text(self, key: &str, value: &str) -> Self {
        let literal = json::quoted(value);
        self.raw(key, &literal)
    }

    /// Sets a field, and replaces the value that it had.
    fn set(mut self, key: &str, value: &[u8]) -> Self {
        let fields = self.fields_object();
        if json::get(&fields, key).is_some() {
            // A field with a setter is never before the offset of `FirstKept::Itself`.
            let rest = json::without(&fields, &[key]);
            self.fields = match rest.strip_prefix(b"{").and_then(|rest| rest.strip_suffix(b"}")) {
                Some(rest) if !rest.is_empty() => [b",", rest].concat(),
                _ => Vec::new(),
            };
        }
        self.raw(key, value)
    }

    /// Adds a field of the caller. `value` is JSON.
    ///
    /// # Errors
    ///
    /// Fails if `value` is not JSON, if the entry has the field already, and for the fields that all
    /// entries have.
    pub fn with(self, key: &str, value: &[u8]) -> Result<Self> {
        if ["type", "id", "parentId", "timestamp"].contains(&key) {
            return Err(Error::InvalidEntry(format!("{key:?} is a field of every entry")));
        }
        if json::get(&self.fields_object(), key).is_some() {
            return Err(Error::InvalidEntry(format!("the entry has {key:?} already")));
        }
        Ok(self.raw(key, checked(key, value)?))
    }

    /// Adds data of the caller to a compaction, a branch summary or a custom message, as JSON.
    ///
    /// # Errors
    ///
    /// Fails if `details` is not JSON.
    pub fn with_details(self, details: impl AsRef<[u8]>) -> Result<Self> {
        self.with("details", details.as_ref())
    }

    /// Sets the usage of the request that wrote a compaction or a branch summary.
    #[must_use]
    pub fn with_usage(self, usage: impl Into<TokenUsage>) -> Self {
        let usage = usage.into().to_json();
        self.set("usage", &usage)
    }

    /// Marks a compaction or a branch summary as written by an extension.
    #[must_use]
    pub fn from_hook(self) -> Self {
        self.set("fromHook", b"true")
    }

    /// Sets the system message that a compaction puts before its summary.
    #[must_use]
    pub fn with_system_message(self, message: impl Into<Message>) -> Self {
        let message = message.into();
        self.set("systemMessage", message.as_json())
    }

    /// Attaches the entry to `parent` instead of to the leaf; [`Position::Start`] makes it a root.
    ///
    /// ```
    /// use treering::{Message, Position, Session};
    /// let session = Session::in_memory("/project");
    /// let question = session.append(Message::user("Tea or coffee?"))?;
    /// session.append(Message::assistant("acme", "m", "Tea."))?;
    /// let other = Message::assistant("acme", "m", "Coffee.").into_entry();
    /// let other = session.append(other.with_parent(&question))?;
    /// let root = session.append(Message::user("Hello.").into_entry().with_parent(Position::Start))?;
    /// assert_eq!(session.tree().parent(&other)?, Some(question));
    /// assert_eq!(session.tree().parent(&root)?, None);
    /// # Ok::<(), treering::Error>(())
    /// ```
    #[must_use]
    pub fn with_parent(mut self, parent: impl Into<Position>) -> Self {
        self.parent = match parent.into() {
            Position::Leaf => Parent::Leaf,
            Position::Entry(id) => Parent::Entry(id),
            Position::Start => Parent::Root,
        };
        self
    }

    /// Sets the entry's id. Appending fails if another entry has the id, or if it does not have 1 to
    /// 512 bytes.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<EntryId>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets the time of the entry, in Unix milliseconds.
    #[must_use]
    pub fn with_timestamp(mut self, millis: i64) -> Self {
        self.timestamp = Some(json::quoted(&crate::time::format(millis)));
        self
    }

    /// Returns an entry with a message.
    pub(super) fn of_message(role: Role, json: &[u8]) -> Self {
        NewEntry { role: Some(role), ..NewEntry::new(Kind::Message) }.raw("message", json)
    }

    /// Returns a message entry of an extension.
    pub(super) fn of_custom_message(custom_type: &str, content: &[u8], display: bool) -> Self {
        NewEntry::new(Kind::CustomMessage)
            .text("customType", custom_type)
            .raw("content", content)
            .raw("display", if display { b"true" } else { b"false" })
    }

    /// Returns a compaction: `summary` replaces everything before `first_kept`. With `None`, or an
    /// entry that is not on the path, it keeps nothing.
    pub fn compaction(summary: &str, first_kept: Option<&EntryId>, tokens_before: u64) -> Self {
        let summary = json::quoted(summary);
        NewEntry::compaction_of(&summary, first_kept, tokens_before.to_string().as_bytes())
    }

    /// Returns a compaction whose summary and token count are JSON.
    pub(crate) fn compaction_of(
        summary: &[u8],
        first_kept: Option<&EntryId>,
        tokens_before: &[u8],
    ) -> Self {
        let mut entry = NewEntry::new(Kind::Compaction).raw("summary", summary);
        match first_kept {
            Some(id) => entry = entry.text("firstKeptEntryId", id.as_str()),
            None => entry.first_kept = FirstKept::Itself { at: entry.fields.len() },
        }
        entry.raw("tokensBefore", tokens_before)
    }

    /// Returns a summary of the branch that was abandoned at `from` (`None`: before the first
    /// entry).
    pub fn branch_summary(from: Option<&EntryId>, summary: &str) -> Self {
        let from = from.map_or("root", EntryId::as_str);
        NewEntry::new(Kind::BranchSummary).text("fromId", from).text("summary", summary)
    }

    /// Returns state of an extension, which is not in the context. `data` is JSON.
    ///
    /// # Errors
    ///
    /// Fails if `data` is not JSON.
    pub fn custom(custom_type: &str, data: Option<&[u8]>) -> Result<Self> {
        let entry = NewEntry::new(Kind::Custom).text("customType", custom_type);
        data.map_or(Ok(entry.clone()), |data| entry.with("data", data))
    }

    /// Returns a message of an extension that the model sees. `content` is JSON: a string or
    /// blocks.
    ///
    /// # Errors
    ///
    /// Fails if `content` is not a string or an array: agents cannot show such a message.
    pub fn custom_message(custom_type: &str, content: &[u8], display: bool) -> Result<Self> {
        let content = checked_content(content)?;
        Ok(NewEntry::of_custom_message(custom_type, content, display))
    }

    /// Returns a context edit, which changes what `target` contributes to the context of its
    /// branch: `None` removes the contribution, JSON content (a string or blocks) replaces its
    /// content.
    ///
    /// # Errors
    ///
    /// Fails if `content` is not a string or an array: agents cannot show such a message.
    pub fn context_edit(target: impl Into<EntryId>, content: Option<&[u8]>) -> Result<Self> {
        let content = content.map(checked_content).transpose()?;
        Ok(NewEntry::of_context_edit(target, content))
    }

    /// Returns a context edit with any content, because a message in a file may have any.
    pub(crate) fn of_context_edit(target: impl Into<EntryId>, content: Option<&[u8]>) -> Self {
        let entry = NewEntry::new(Kind::ContextEdit).text("targetId", target.into().as_str());
        match content {
            None => entry.raw("replacement", b"null"),
            Some(content) => entry.raw("replacement", &[b"{\"content\":", content, b"}"].concat()),
        }
    }

    /// Returns a label on `target`; `None` removes the label.
    pub fn label(target: impl Into<EntryId>, label: Option<&str>) -> Self {
        let entry = NewEntry::new(Kind::Label).text("targetId", target.into().as_str());
        match label {
            Some(label) => entry.text("label", label),
            None => entry,
        }
    }

    /// Returns a `leaf` entry, which moves the leaf to `target` (`None`: before the first entry).
    pub fn leaf(target: Option<&EntryId>) -> Self {
        let entry = NewEntry::new(Kind::Leaf).with_parent(target.cloned());
        match target {
            Some(target) => entry.text("targetId", target.as_str()),
            None => entry.raw("targetId", b"null"),
        }
    }

    /// Returns a `leaf` entry that restores the leaf of one copy of a session after entries of
    /// another copy were added. It is not synchronized to other copies.
    #[doc(hidden)]
    pub fn kept_leaf(target: Option<&EntryId>) -> Self {
        NewEntry::leaf(target).raw(KEPT_LEAF, b"true")
    }

    /// Returns a change of the model, for the entries below it.
    pub fn model_change(provider: &str, model: &str) -> Self {
        NewEntry::new(Kind::ModelChange).text("provider", provider).text("modelId", model)
    }

    /// Returns a change of the thinking level, for the entries below it.
    pub fn thinking_level_change(level: &str) -> Self {
        NewEntry::new(Kind::ThinkingLevelChange).text("thinkingLevel", level)
    }

    /// Returns an entry with the session's name; an empty name removes it. Line breaks become
    /// spaces.
    pub fn session_info(name: &str) -> Self {
        let words: Vec<&str> = name.split(['\r', '\n']).filter(|part| !part.is_empty()).collect();
        NewEntry::new(Kind::SessionInfo).text("name", words.join(" ").trim())
    }

    /// Returns the usage of a model that belongs to no message. `usage` is JSON, as
    /// [`TokenUsage::to_json`] returns it.
    ///
    /// # Errors
    ///
    /// Fails if `usage` is not JSON.
    pub fn usage(kind: &str, provider: &str, model: &str, usage: &[u8]) -> Result<Self> {
        NewEntry::new(Kind::Usage)
            .text("kind", kind)
            .text("provider", provider)
            .text("model", model)
            .with("usage", usage)
    }

    /// Returns an entry made of a JSON object with a `type`. Its `id`, `parentId` and `timestamp`
    /// are used if present; its other fields are kept byte for byte.
    ///
    /// # Errors
    ///
    /// Fails if `object` is not one JSON object in UTF-8 with a `type`, is the header of a session, or
    /// does not have what its type requires: a message, a target.
    pub fn from_json(object: &[u8]) -> Result<Self> {
        check_utf8("the entry", object)?;
        NewEntry::from_record(object)
    }

    /// Creates an entry as [`from_json`](NewEntry::from_json) does, from a record of a file, in which
    /// bytes that are not UTF-8 are kept.
    pub(crate) fn from_record(object: &[u8]) -> Result<Self> {
        let invalid = |why: &str| Error::InvalidEntry(why.to_owned());
        let object = object.trim_ascii();
        let mut entry = NewEntry::new(Kind::Other);
        entry.fields.reserve(object.len());
        let mut type_name = None;
        let (mut role, mut target) = (None, None);
        let mut members = Members::new(object, 0);
        while let Some((quoted_key, start)) = members.key() {
            let key = json::key_name(&object[quoted_key.start + 1..quoted_key.end - 1]);
            let end = if *key == *b"message" && object.get(start) == Some(&b'{') {
                // One pass over a large message finds its end and its role.
                let ([found], end) = json::get_all_at(object, start, ["role"]);
                let name = found.and_then(json::string).unwrap_or_default();
                role = Some(Role::of(&name));
                end.inspect(|&end| members.value_ends(ObjectEnd::Closed(end)))
            } else {
                if *key == *b"message" {
                    role = None;
                }
                members.skip_value(start).map(|value| value.end)
            };
            let Some(end) = end else { return Err(invalid("not a JSON object")) };
            let value = &object[start..end];
            if *key == *b"targetId" {
                target = Some(value);
            }
            match &*key {
                b"type" => type_name = json::string(value).map(known_type),
                b"id" => {
                    let id =
                        json::string(value).filter(|id| (1..=head::MAX_ID).contains(&id.len()));
                    entry.id = Some(
                        id.ok_or_else(|| invalid("\"id\" is not a valid id"))?.as_ref().into(),
                    );
                }
                b"parentId" => {
                    entry.parent = match json::string(value) {
                        Some(parent) if !parent.is_empty() => Parent::Entry(parent.as_ref().into()),
                        None if value != b"null" => {
                            return Err(invalid("\"parentId\" is not an id"));
                        }
                        _ => Parent::Root,
                    }
                }
                b"timestamp" => {
                    let mut value = value.to_vec();
                    one_line(&mut value);
                    entry.timestamp = Some(value);
                }
                _ => {
                    let whole = entry.fields.len();
                    entry.fields.push(b',');
                    entry.fields.extend_from_slice(&object[quoted_key.start..end]);
                    one_line(&mut entry.fields[whole..]);
                }
            }
        }
        match members.end {
            ObjectEnd::Closed(end) if end == object.len() => {}
            _ => return Err(invalid("not a JSON object")),
        }
        let type_name = type_name.ok_or_else(|| invalid("\"type\" is missing or not a string"))?;
        if type_name == "session" {
            return Err(invalid("a session's header is not an entry"));
        }
        if type_name == "message" {
            entry.role = Some(role.ok_or_else(|| invalid("\"message\" is not an object"))?);
        }
        let names_one =
            target.is_some_and(|raw| json::string(raw).is_some_and(|id| !id.is_empty()));
        match Kind::of(&type_name) {
            Kind::Label | Kind::ContextEdit if !names_one => {
                return Err(invalid("\"targetId\" is missing"));
            }
            Kind::Leaf if !names_one && target != Some(b"null") => {
                return Err(invalid("\"targetId\" is neither an id nor null"));
            }
            _ => {}
        }
        entry.type_name = type_name;
        Ok(entry)
    }

    pub(crate) fn kind(&self) -> Kind {
        Kind::of(&self.type_name)
    }

    /// Returns the entry that a label, a leaf entry or a context edit is about.
    pub(crate) fn target(&self) -> Option<EntryId> {
        if !matches!(self.kind(), Kind::Label | Kind::Leaf | Kind::ContextEdit) {
            return None;
        }
        let target = self.fields_object();
        let target = json::string(json::get(&target, "targetId")?)?;
        Some(EntryId::from(&*target))
    }

    /// Returns the fields as an object.
    pub(crate) fn fields_object(&self) -> Vec<u8> {
        [b"{", self.fields.get(1..).unwrap_or_default(), b"}"].concat()
    }

    /// Returns the entry with the fields that depend on its own id.
    pub(crate) fn settled(&self, id: &str) -> Cow<'_, NewEntry> {
        let FirstKept::Itself { at } = self.first_kept else { return Cow::Borrowed(self) };
        let member = [b",\"firstKeptEntryId\":", &*json::quoted(id)].concat();
        let mut entry = NewEntry { first_kept: FirstKept::InFields, ..self.clone() };
        // Fields are only ever added after this offset.
        entry.fields.splice(at..at, member);
        Cow::Owned(entry)
    }

    /// Writes the entry as a line, including the newline.
    pub(crate) fn write_line(&self, out: &mut Vec<u8>, id: &str, parent: &[u8], timestamp: &[u8]) {
        out.extend_from_slice(b"{\"type\":");
        json::write_string(out, &self.type_name);
        out.extend_from_slice(b",\"id\":");
        json::write_string(out, id);
        out.extend_from_slice(b",\"parentId\":");
        out.extend_from_slice(parent);
        out.extend_from_slice(b",\"timestamp\":");
        out.extend_from_slice(timestamp);
        out.extend_from_slice(&self.settled(id).fields);
        out.extend_from_slice(b"}\n");
    }
}

/// Returns the name of a type, without copying it if it is known.
fn known_type(name: Cow<'_, str>) -> Cow<'static, str> {
    match Kind::of(&name).name() {
        Some(known) if known == name => Cow::Borrowed(known),
        _ => Cow::Owned(name.into_owned()),
    }
}

/// Replaces raw line breaks by spaces. Outside a string, a line break is white space in JSON, but
/// it would end the entry in a session file.
fn one_line(json: &mut [u8]) {
    let mut rest = json;
    while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
        rest[at] = b' ';
        rest = &mut rest[at + 1..];
    }
}

/// Returns the content of a message, which must be a string or an array of blocks.
fn checked_content(content: &[u8]) -> Result<&[u8]> {
    let content = checked("content", content)?;
    if !content.starts_with(b"\"") && !content.starts_with(b"[") {
        let why = "the content of a message is a string or an array of blocks";
        return Err(Error::InvalidEntry(why.to_owned()));
    }
    Ok(content)
}

/// Fails for bytes that are not UTF-8: many readers then refuse the whole file.
pub(crate) fn check_utf8(what: &str, json: &[u8]) -> Result<()> {
    let invalid = |error| Error::InvalidEntry(format!("{what} is not JSON: {error}"));
    std::str::from_utf8(json).map(drop).map_err(invalid)
}

pub(super) fn checked<'a>(key: &str, value: &'a [u8]) -> Result<&'a [u8]> {
    let value = value.trim_ascii();
    check_utf8(&format!("{key:?}"), value)?;
    match json::skip_value(value, 0) {
        Some(end) if end == value.len() => Ok(value),
        _ => Err(Error::InvalidEntry(format!("{key:?} is not JSON"))),
    }
}
