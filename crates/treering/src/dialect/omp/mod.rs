//! oh-my-pi: pi's version 3 with a title slot before the header and more types of entries.
//!
//! Most records are in treering's own format, so they are copied. The differences are:
//! - `model_change` names the model in one word, `provider/id`, and has a role. For the default
//!   role `provider` and `modelId` are added. For other roles the model in effect does not change:
//!   these are entries of the type `model_role_change`, which no other agent takes for a change of
//!   the model.
//! - `model_usage` is a `usage` whose `kind` is its purpose.
//! - `session_info` is written as `title_change`. omp takes a session's name from the title slot
//!   alone, so a `title_change` has no effect and stays an entry that treering does not know.
//! - Entries of extensions have their id and parent at their end.
//!
//! omp keeps records of unknown types, continues from the last record of the file and follows
//! `parentId`. Entries that only treering knows are therefore written unchanged: a `leaf` entry,
//! whose parent is its target, makes omp continue there.

mod agent;
mod bucket;
mod replay;
mod settings;
mod title;

use super::agent::{AgentContext, PathRecords};
use super::facts::{Facts, NativeKinds, ResetForm};
use super::home::{AgentPlace, BaseDir};
use super::members::MemberNames;
use super::{Class, Codec, Decoded, NewHeader, Stamp, blobs, embed};
use crate::entry::head::{self, Head};
use crate::entry::{Kind, NewEntry, number};
use crate::error::Result;
use crate::header::Header;
use crate::json::{self, Members, stringify};
use std::borrow::Cow;

/// The codec of oh-my-pi.
#[derive(Debug)]
pub(crate) struct Omp;

static FACTS: Facts = Facts {
    members: MemberNames {
        structural: &["pad", "providerReplayThroughEntryId", "updatedAt"],
        ..MemberNames::NONE
    },
    has_own_header: true,
    shape: None,
    heads_first: true,
    native: NativeKinds::AllExcept(&[
        Kind::ModelChange,
        Kind::Usage,
        Kind::SessionInfo,
        Kind::Other,
        Kind::Reset,
    ]),
    own_types: &KNOWN,
    own_roles: &["developer", "pythonExecution", "fileMention"],
    title_slot: Some(&title::TITLE_SLOT),
    reset: ResetForm::Entry,
    blob_directories: Some(blobs::directories),
    places: &[
        AgentPlace::new(BaseDir::VariableInHome("PI_CONFIG_DIR", ".omp"), "agent/sessions", 1)
            .with_profiles(),
        AgentPlace::new(BaseDir::Variable("XDG_DATA_HOME", "omp"), "sessions", 1).with_profiles(),
    ],
    resume: Some(&["omp", "--resume", "{path}"]),
    destination: Some(bucket::destination),
    ..Facts::DEFAULT
};

impl Codec for Omp {
    fn facts(&self) -> &'static Facts {
        &FACTS
    }

    fn quick<'a>(&self, line: &'a [u8]) -> Option<(Head<'a>, usize)> {
        // The head of such a record is not enough to know its kind.
        let judged_by_body = [Kind::ModelChange, Kind::Usage, Kind::Other];
        head::quick(line).filter(|(head, _)| !judged_by_body.contains(&head.kind))
    }

    fn classify(&self, type_name: &str, record: &[u8]) -> Class {
        let role = || json::get(record, "message").and_then(embed::role);
        match type_name {
            "session" => Class::Header,
            "title" if is_title_slot(record) => Class::Side,
            "message" => Class::Entry(Kind::Message, role()),
            "model_change" | "model_usage" | "usage" | "title_change" => {
                Class::Entry(self.decode(record).entry.kind(), None)
            }
            RESET => Class::Entry(Kind::Reset, None),
            other => Class::Entry(Kind::of(other), None),
        }
    }

    fn is_inserted(&self, record: &[u8]) -> bool {
        let message = json::get(record, "message").unwrap_or_default();
        json::get(message, "synthetic") == Some(b"true")
            || json::get(message, "attribution") == Some(b"\"agent\"")
    }

    fn header(&self, record: &[u8]) -> Option<Header> {
        Header::parse(record)
    }

    fn decode(&self, record: &[u8]) -> Decoded {
        let entry = embed::entry_of(record);
        let carried = embed::embedded(record).filter(|other| stands_for(&entry.type_name, other));
        let entry = carried.unwrap_or_else(|| match &*entry.type_name {
            "model_change" => model_change(entry, record),
            "model_usage" => model_usage(entry, record),
            _ => entry,
        });
        Decoded { entry, more: Vec::new() }
    }

    fn encode(&self, entry: &NewEntry, stamp: &Stamp<'_>) -> Option<Vec<u8>> {
        let object = stringify::compact(&entry.settled(stamp.id).fields_object());
        let type_name = entry.type_name.clone();
        let entry = NewEntry { type_name, ..embed::entry_of(&object) };
        let (type_name, mut members) = written(&entry.type_name, &object);
        members.iter_mut().for_each(with_content);
        let record = record(type_name, members, stamp);
        Some(match embed::same(&self.decode(&record).entry, &entry) {
            true => record,
            false => embed::embed(record, &entry),
        })
    }

    fn encode_header(&self, about: &NewHeader<'_>) -> Option<Vec<u8>> {
        let mut out = b"{\"type\":\"session\",\"version\":3".to_vec();
        let mut field = |key: &str, value: &str| {
            out.push(b',');
            json::write_string(&mut out, key);
            out.push(b':');
            json::write_string(&mut out, value);
        };
        field("id", about.id);
        field("timestamp", &crate::time::format(about.created));
        field("cwd", about.cwd);
        if let Some(parent) = about.parent_session {
            field("parentSession", parent);
        }
        out.push(b'}');
        let mut lines = title::slot("", None, &crate::time::format(about.created));
        lines.append(&mut out);
        Some(lines)
    }

    fn agent_context(&self, path: &mut dyn PathRecords) -> Result<Option<AgentContext>> {
        agent::context(path).map(Some)
    }
}

/// Types that only omp, or treering for it, writes.
static KNOWN: [&str; 10] = [
    "title",
    "model_role_change",
    "model_usage",
    "service_tier_change",
    "reset_boundary",
    "title_change",
    "ttsr_injection",
    "credential_pin",
    "session_init",
    "mode_change",
];

/// Returns the types of entries that only omp writes: in another agent's file they would make it
/// look like omp's.
pub(crate) fn types() -> &'static [&'static str] {
    &KNOWN[2..]
}

/// The prefix of the custom type of an entry that wraps one of omp's own.
const WRAPPED: &str = "omp:";

/// The type of a reset.
pub(crate) const RESET: &str = "reset_boundary";

/// Wraps an entry of one of omp's own types, so that other agents can hold it.
pub(crate) fn wrapped(entry: NewEntry) -> NewEntry {
    if !types().contains(&&*entry.type_name) {
        return entry;
    }
    let name = json::quoted(&format!("{WRAPPED}{}", entry.type_name));
    let fields = [b",\"customType\":", &*name, b",\"data\":", &*entry.fields_object()].concat();
    embed::native("custom", fields)
}

/// Returns the entry that [`wrapped`] wrapped.
pub(crate) fn restored(entry: NewEntry) -> NewEntry {
    let name = embed::member(&entry.fields, "customType").and_then(json::string);
    let own = name.as_deref().and_then(|name| name.strip_prefix(WRAPPED));
    match (own, embed::member(&entry.fields, "data")) {
        (Some(own), Some(data)) if entry.kind() == Kind::Custom && types().contains(&own) => {
            NewEntry { type_name: own.to_owned().into(), ..embed::entry_of(data) }
        }
        _ => entry,
    }
}

/// Returns whether a record is the title slot: it has the type `title`, and neither an id nor a
/// parent.
fn is_title_slot(record: &[u8]) -> bool {
    json::get(record, "v").and_then(number) == Some(1.0) && json::get(record, "id").is_none()
}

/// Returns whether a record of the type `type_name` may embed `entry`: the entry must have the kind
/// that the record states.
fn stands_for(type_name: &str, entry: &NewEntry) -> bool {
    match (&*entry.type_name, type_name) {
        ("session_info", "title_change") | ("model_role_change", "model_change") => true,
        ("usage", "model_usage") => true,
        (carried, other) => carried == other,
    }
}

fn model_change(mut entry: NewEntry, record: &[u8]) -> NewEntry {
    let role = json::get(record, "role").filter(|role| *role != b"null");
    if role.is_some_and(|role| json::string(role).as_deref() != Some("default")) {
        entry.type_name = Cow::Borrowed("model_role_change");
        return entry;
    }
    let is_pi = json::get(record, "provider").is_some() || json::get(record, "modelId").is_some();
    let model = json::get(record, "model").and_then(json::inside).filter(|_| !is_pi);
    if let Some(model) = model {
        let model = stringify::plain(model);
        let (provider, id) = split_model(&model);
        let mut fields = [b",\"provider\":\"", provider, b"\",\"modelId\":\"", id, b"\""].concat();
        fields.append(&mut entry.fields);
        entry.fields = fields;
    }
    entry
}

/// Splits `provider/id`; the id is everything after the first slash.
fn split_model(model: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b'/', model) {
        Some(slash) => (&model[..slash], &model[slash + 1..]),
        None => (b"", model),
    }
}

fn model_usage(mut entry: NewEntry, record: &[u8]) -> NewEntry {
    let purpose = json::get(record, "purpose").filter(|purpose| purpose.starts_with(b"\""));
    let usage = json::get(record, "usage").filter(|usage| usage.starts_with(b"{"));
    if let (Some(purpose), Some(_), None) = (purpose, usage, json::get(record, "kind")) {
        let mut fields = [b",\"kind\":", purpose].concat();
        fields.append(&mut entry.fields);
        (entry.type_name, entry.fields) = (Cow::Borrowed("usage"), fields);
    }
    entry
}

/// A member of a record: its raw key, and its value.
type Pair<'a> = (&'a [u8], Cow<'a, [u8]>);

/// Returns omp's type for an entry of treering, and the members that omp writes, except the common
/// ones.
fn written<'a>(type_name: &'a str, object: &'a [u8]) -> (&'a str, Vec<Pair<'a>>) {
    let mut members: Vec<Pair<'_>> = Members::new(object, 0)
        .map(|member| (member.key, Cow::Borrowed(&object[member.value])))
        .collect();
    let type_name = match type_name {
        "model_change" => {
            name_model(object, &mut members);
            type_name
        }
        "model_role_change" => "model_change",
        "usage" if is_model_usage(object) => {
            members.retain(|(key, _)| *key != b"kind");
            "model_usage"
        }
        "session_info" => {
            let name = json::get(object, "name").filter(|name| name.starts_with(b"\""));
            let user = Cow::Borrowed(&b"\"user\""[..]);
            members = vec![(b"title", name.unwrap_or(b"\"\"").into()), (b"source", user)];
            "title_change"
        }
        other => other,
    };
    let order = order(type_name);
    let place = |key: &[u8]| order.iter().position(|name| name.as_bytes() == key);
    members.sort_by_key(|(key, _)| place(key).unwrap_or(order.len()));
    (type_name, members)
}

/// Adds content to a message without any, because omp cannot build the context of a session with
/// such a message.
fn with_content((key, value): &mut Pair<'_>) {
    let has_content =
        |message: &[u8]| !matches!(json::get(message, "content"), None | Some(b"null"));
    let speaks = |message: &[u8]| {
        let role = json::get(message, "role").and_then(json::string);
        matches!(role.as_deref(), Some("user" | "assistant" | "toolResult"))
    };
    if *key == b"message" && speaks(value) && !has_content(value) {
        *value = Cow::Owned(json::with_member(value, "content", b"[]"));
    }
}

/// Replaces `provider` and `modelId` by `model`.
fn name_model<'a>(object: &'a [u8], members: &mut Vec<Pair<'a>>) {
    let inner = |key| json::get(object, key).and_then(json::inside);
    let (Some(provider), Some(id)) = (inner("provider"), inner("modelId")) else { return };
    members.retain(|(key, _)| *key != b"provider" && *key != b"modelId");
    let is_default = match json::get(object, "role") {
        None | Some(b"null" | b"\"default\"") => true,
        Some(_) => false,
    };
    // A model without a provider is written without a slash, if it was read like that.
    if is_default && inner("model").is_some_and(|model| split_model(model) == (provider, id)) {
        return;
    }
    members.retain(|(key, _)| *key != b"model" && *key != b"role");
    members.push((b"model", [b"\"", provider, b"/", id, b"\""].concat().into()));
    members.push((b"role", Cow::Borrowed(b"\"default\"")));
}

fn is_model_usage(object: &[u8]) -> bool {
    let kind = json::get(object, "kind");
    kind.is_some() && kind == json::get(object, "purpose")
}

/// Returns the order in which omp writes the members of a type; others follow in their own order.
fn order(type_name: &str) -> &'static [&'static str] {
    match type_name {
        "compaction" => &[
            "summary",
            "shortSummary",
            "firstKeptEntryId",
            "tokensBefore",
            "tokensAfter",
            "method",
            "providerReplayThroughEntryId",
            "details",
            "fromExtension",
            "preserveData",
        ],
        "branch_summary" => &["fromId", "summary", "details", "fromExtension"],
        "custom" => &["customType", "data"],
        "custom_message" => &["customType", "content", "display", "details", "attribution"],
        "model_change" => &["model", "role", "resolvedModelIsFallback"],
        "thinking_level_change" => &["thinkingLevel", "configured"],
        "label" => &["targetId", "label"],
        _ => &[],
    }
}

/// Returns the record with its members in omp's order.
fn record(type_name: &str, members: Vec<Pair<'_>>, stamp: &Stamp<'_>) -> Vec<u8> {
    let mut place = b",\"id\":".to_vec();
    json::write_string(&mut place, stamp.id);
    place.extend_from_slice(b",\"parentId\":");
    match stamp.parent {
        Some(parent) => json::write_string(&mut place, parent),
        None => place.extend_from_slice(b"null"),
    }
    place.extend_from_slice(b",\"timestamp\":\"");
    place.extend_from_slice(crate::time::format(stamp.millis).as_bytes());
    place.push(b'"');
    let fields_first = matches!(type_name, "custom" | "custom_message");
    let mut out = b"{\"type\":".to_vec();
    json::write_string(&mut out, type_name);
    if !fields_first {
        out.append(&mut place);
    }
    for (key, value) in members {
        out.extend_from_slice(b",\"");
        out.extend_from_slice(key);
        out.extend_from_slice(b"\":");
        out.extend_from_slice(&value);
    }
    out.append(&mut place);
    out.push(b'}');
    out
}

#[cfg(test)]
mod tests;
