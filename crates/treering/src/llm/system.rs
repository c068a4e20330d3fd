//! The parts of a system message beside its content: named sections, which belong to its text, and
//! tools.

use super::ContextRepair;
use super::clean::is_blank;
use super::request::Tool;
use crate::context::ContextMessage;
use crate::entry::{MessageView, Role};
use crate::id::EntryId;
use crate::json::{self, Members};
use std::borrow::Cow;
use std::iter;

/// Returns the names and the values of the sections of a system message.
fn sections<'a>(view: MessageView<'a>) -> Vec<(Cow<'a, str>, &'a [u8])> {
    let object = view.get("sections").filter(|object| object.starts_with(b"{"));
    let Some(object) = object else { return Vec::new() };
    Members::new(object, 0)
        .map(|member| (json::decode(member.key), &object[member.value]))
        .collect()
}

/// Makes the sections of a system message a part of its text: those of the message that the context
/// begins with as they are, later ones as changes of the sections with these names.
pub(super) fn join_sections(
    message: &mut ContextMessage,
    is_first: bool,
    repairs: &mut Vec<ContextRepair>,
) {
    let view = MessageView::new(&message.json);
    if view.role() != Role::System {
        return;
    }
    let mut added = Vec::new();
    for (name, value) in sections(view) {
        match (json::string(value), value) {
            (Some(text), _) if is_first && is_blank(&text) => {}
            (Some(text), _) if is_first => added.push(text.into_owned()),
            (Some(text), _) => {
                added.push(format!("Updated system prompt section \"{name}\":\n\n{text}"));
            }
            (None, b"null") if is_first => {}
            (None, b"null") => added.push(format!("Removed system prompt section \"{name}\".")),
            _ => {
                let (entry, block) = (message.entry.clone(), format!("section {name}"));
                repairs.push(ContextRepair::BlockDropped { entry, block });
            }
        }
    }
    if added.is_empty() {
        return;
    }
    let content = view.get("content").unwrap_or_default();
    let is_text = |block: &&[u8]| json::get(block, "type") == Some(b"\"text\"");
    let (texts, others): (Vec<&[u8]>, Vec<&[u8]>) =
        json::elements(content).into_iter().partition(is_text);
    let texts = texts.into_iter().filter_map(|block| json::get(block, "text"));
    let texts: Vec<Cow<'_, str>> =
        iter::once(content).chain(texts).filter_map(json::string).collect();
    let own_text = texts.join("\n");
    if !is_blank(&own_text) {
        added.insert(0, own_text);
    }
    let text = json::quoted(&added.join("\n\n"));
    let content = if others.is_empty() {
        text
    } else {
        let text = [b"{\"type\":\"text\",\"text\":", &*text, b"}"].concat();
        let blocks: Vec<&[u8]> = iter::once(&*text).chain(others).collect();
        [b"[", &*blocks.join(&b","[..]), b"]"].concat()
    };
    let joined = json::with_member(&message.json, "content", &content);
    message.json = json::without(&joined, &["sections"]);
}

/// The names of the tools that system messages have made available so far, and the entries that did.
#[derive(Default)]
pub(super) struct DeclaredTools(Vec<(String, EntryId)>);

impl DeclaredTools {
    /// Applies the changes of a message, if it is a system message.
    pub(super) fn update(&mut self, message: &ContextMessage) {
        let system = MessageView::new(&message.json);
        if system.role() != Role::System {
            return;
        }
        let names = |key: &str| {
            let tools = system.get(key).map(json::elements).unwrap_or_default();
            let name = |tool: &[u8]| Some(json::string(json::get(tool, "name")?)?.into_owned());
            tools.into_iter().map(move |tool| name(tool).unwrap_or_default()).collect::<Vec<_>>()
        };
        let (added, removed) = (names("toolsAdded"), names("toolsRemoved"));
        self.0.retain(|(tool, _)| !added.contains(tool) && !removed.contains(tool));
        self.0.extend(added.into_iter().map(|tool| (tool, message.entry.clone())));
    }

    /// Returns a repair for every tool that a request with these definitions does not have.
    pub(super) fn missing(self, defined: &[Tool]) -> impl Iterator<Item = ContextRepair> {
        let is_missing = |name: &str| defined.iter().all(|tool| tool.name != name);
        let missing = self.0.into_iter().filter(move |(name, _)| is_missing(name));
        missing.map(|(tool, entry)| ContextRepair::ToolDropped { entry, tool })
    }
}
