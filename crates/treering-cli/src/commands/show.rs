//! `treering show`

use super::warn_of_findings;
use crate::describe::{self, CallDetail};
use crate::error::Failure;
use crate::output::{Output, Style};
use crate::session_arg::SessionArg;
use crate::text::{safe_bytes, safe_line};
use crate::typed::TypedEntry;
use std::io::Write;
use treering::entry::{Body, MessageView};
use treering::{Entry, Kind, Session};

/// Show one entry in full
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session: a file, an id, a name, `@latest`, or a URL (https://HOST/s/ID)
    #[arg(value_name = "SESSION")]
    pub(crate) file: SessionArg,
    /// The entry (an id or its beginning)
    id: TypedEntry,
    /// The entry as it is in the file
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let session = args.file.open()?;
    let entry = session.entry(args.id.resolve(&session)?)?;
    if args.json {
        return super::log::write_json(&entry, session.dialect(), out);
    }
    write_head(&session, &entry, out)?;
    write_body(&entry, out)?;
    warn_of_findings(&session, &args.file, out)
}

fn write_head(session: &Session, entry: &Entry, out: &mut Output) -> Result<(), Failure> {
    let tree = session.tree();
    let id = entry.id().as_str();
    let mut field = |name: &str, value: &str| -> Result<(), Failure> {
        let name = out.paint(Style::Dim, &format!("{name:<9}"));
        writeln!(out, "{name} {}", safe_line(value))?;
        Ok(())
    };
    field("id", id)?;
    field("parent", entry.parent().map_or("none", |parent| parent.as_str()))?;
    let children = tree.children(id)?;
    if !children.is_empty() {
        let shown: Vec<&str> = children.iter().take(8).map(|child| child.as_str()).collect();
        let more = match children.len() - shown.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        field("children", &format!("{}{more}", shown.join(" ")))?;
    }
    field("type", &entry.type_name())?;
    match entry.time() {
        Some(time) => field("time", &treering::time::format(time))?,
        None => field("time", "unknown")?,
    }
    if let Some(label) = tree.label(id) {
        field("label", label)?;
    }
    if let Some(message) = entry.message() {
        write_message_head(message, &mut field)?;
    }
    writeln!(out)?;
    Ok(())
}

fn write_message_head(
    message: MessageView<'_>,
    field: &mut impl FnMut(&str, &str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    field("role", &message.role_name())?;
    for (name, key) in [("tool", "toolName"), ("call", "toolCallId"), ("stop", "stopReason")] {
        if let Some(value) = message.field(key) {
            field(name, &value)?;
        }
    }
    if let (Some(provider), Some(model)) = (message.field("provider"), message.field("model")) {
        field("model", &format!("{provider}/{model}"))?;
    }
    let Some(usage) = message.get("usage") else { return Ok(()) };
    let usage = MessageView::new(usage);
    let parts = [("input", "in"), ("output", "out"), ("cacheRead", "cached")];
    let parts: Vec<String> = parts
        .iter()
        .filter_map(|(key, name)| Some((usage.get(key)?, name)))
        .filter(|(value, _)| !matches!(*value, b"0" | b"null"))
        .map(|(value, name)| format!("{} {name}", safe_bytes(value)))
        .collect();
    if parts.is_empty() { Ok(()) } else { field("tokens", &parts.join(", ")) }
}

fn write_body(entry: &Entry, out: &mut Output) -> Result<(), Failure> {
    match entry.body() {
        Body::Message(message) => {
            describe::write_message(out, message, CallDetail::Whole)?;
            for message in entry.more_messages() {
                writeln!(out)?;
                describe::write_message(out, message, CallDetail::Whole)?;
            }
            Ok(())
        }
        Body::Compaction { summary, .. } | Body::BranchSummary { summary, .. } => {
            let about = match entry.kind() {
                Kind::Compaction => {
                    entry.text("firstKeptEntryId").map(|id| format!("keeps from {id}"))
                }
                _ => entry.text("fromId").map(|id| format!("left at {id}")),
            };
            if let Some(about) = about {
                let about = out.paint(Style::Dim, &safe_line(&about));
                writeln!(out, "{about}\n")?;
            }
            describe::write_text(out, &summary)
        }
        Body::CustomMessage { custom_type, text, .. } => {
            let custom_type = out.paint(Style::Dim, &safe_line(&custom_type));
            writeln!(out, "{custom_type}\n")?;
            describe::write_text(out, &text)
        }
        Body::Damaged => {
            let note = out.paint(Style::Bad, "damaged; these are the bytes in the file");
            writeln!(out, "{note}\n{}", safe_bytes(entry.raw()))?;
            Ok(())
        }
        _ => {
            writeln!(out, "{}", describe::pretty_json(entry.raw()))?;
            Ok(())
        }
    }
}
