//! `treering context`

use super::warn_of_findings;
use crate::describe::{self, CallDetail};
use crate::error::Failure;
use crate::output::{self, Output, Style};
use crate::session_arg::SessionArg;
use crate::text::{count, safe_bytes, safe_line, time};
use crate::typed::TypedPosition;
use std::io::Write;
use treering::context::{ContextMessage, Projection};
use treering::entry::MessageView;
use treering::provider::{Pairing, RequestOptions};
use treering::{Context, Session};

/// Show what the model sees
///
/// The messages on the path from the root to the leaf, with compactions, branch summaries and context
/// edits applied.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session: a file, an id, a name, `@latest`, or a URL (https://HOST/s/ID)
    #[arg(value_name = "SESSION")]
    pub(crate) file: SessionArg,
    /// Show the context at this entry instead of the leaf (an id or its beginning; `none`: before the
    /// first entry)
    #[arg(long, value_name = "ID")]
    leaf: Option<TypedPosition>,
    /// One JSON object: {"messages":[…],"thinkingLevel":…,"model":…}
    #[arg(long)]
    json: bool,
    /// The messages as a provider gets them: summaries, commands and custom messages as user text
    #[arg(long, conflicts_with = "view")]
    llm: bool,
    /// `treering`: the context by treering's rules, in its shape, for every agent's sessions. `agent`:
    /// the context that the agent which wrote the session would build, in its own shape
    #[arg(long, value_enum, default_value_t, hide_default_value = true)]
    view: View,
    /// Pair every tool call with its result, as providers require; repairs are reported
    #[arg(long, requires = "llm", conflicts_with_all = ["view", "provider"])]
    strict: bool,
    /// The messages as the request of a provider's API has them, as JSON; repairs are reported
    #[arg(long, value_enum, conflicts_with_all = ["llm", "view", "json"])]
    provider: Option<Provider>,
}

/// The API whose requests a context is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Provider {
    /// Anthropic's Messages API
    Anthropic,
    /// OpenAI's Chat Completions API, and servers compatible with it
    OpenaiChat,
    /// OpenAI's Responses API
    OpenaiResponses,
}

/// The rules that decide what is in a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum View {
    #[default]
    Treering,
    Agent,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    if args.view == View::Agent && write_agents_view(args, out)? {
        return Ok(());
    }
    let (projection, session) = read(args)?;
    let (frame, settings) = (projection.json_frame(), settings(&projection));
    let mut repairs = Vec::new();
    if let Some(provider) = args.provider {
        let (context, options) = (Context::collect(projection)?, RequestOptions::new());
        let request = match provider {
            Provider::Anthropic => context.to_anthropic(&options),
            Provider::OpenaiChat => context.to_openai_chat(&options),
            Provider::OpenaiResponses => context.to_openai_responses(&options),
        };
        writeln!(out, "{}", request.json)?;
        repairs = request.repairs;
    } else if args.strict {
        // Pairing needs the whole context.
        let paired = Context::collect(projection)?.to_llm(Pairing::Strict);
        repairs = paired.repairs;
        write_all(paired.messages.into_iter().map(Ok), frame, &settings, args.json, out)?;
    } else {
        let messages = projection.filter_map(|message| match message {
            Ok(message) if args.llm => message.to_llm().map(Ok),
            message => Some(message),
        });
        write_all(messages, frame, &settings, args.json, out)?;
    }
    out.finish()?;
    for repair in &repairs {
        output::write_notice("warning", &safe_line(&repair.to_string()));
    }
    match session.filter(|_| !args.json && args.provider.is_none()) {
        Some(session) => warn_of_findings(&session, &args.file, out),
        None => Ok(()),
    }
}

/// Writes the context that the agent itself would build; false if it equals treering's.
fn write_agents_view(args: &Args, out: &mut Output) -> Result<bool, Failure> {
    let session = args.file.open()?;
    let position = TypedPosition::or_leaf(args.leaf.as_ref(), &session)?;
    let Some(context) = session.agent_context_at(position)? else { return Ok(false) };
    if args.json {
        out.write_json(&context.to_json())?;
        out.write_all(b"\n")?;
        return Ok(true);
    }
    for message in &context.messages {
        writeln!(out, "{}", describe::pretty_json(message))?;
    }
    let mut end = count(context.messages.len(), "message", "messages");
    for (name, value) in &context.settings {
        end += &format!(", {name} {}", safe_bytes(value));
    }
    let end = out.paint(Style::Dim, &end);
    writeln!(out, "{end}")?;
    Ok(true)
}

/// Reads the context. The context at the active leaf is read from the end of the file; any other
/// needs the whole tree.
fn read(args: &Args) -> Result<(Projection, Option<Session>), Failure> {
    let Some(leaf) = &args.leaf else {
        return Ok((args.file.active_projection()?, None));
    };
    let session = args.file.open()?;
    let projection = session.projection_at(leaf.resolve(&session)?)?;
    Ok((projection, Some(session)))
}

/// Writes messages one by one, because a context may be larger than the memory.
fn write_all(
    messages: impl Iterator<Item = treering::Result<ContextMessage>>,
    (start, end): (&[u8], Vec<u8>),
    settings: &str,
    json: bool,
    out: &mut Output,
) -> Result<(), Failure> {
    if !json {
        return write_for_people(messages, settings, out);
    }
    let mut before = start;
    for message in messages {
        out.write_all(before)?;
        out.write_json(&message?.json)?;
        before = b",";
    }
    if before == start {
        out.write_all(start)?;
    }
    out.write_all(&end)?;
    Ok(out.write_all(b"\n")?)
}

/// Writes a session's context for users.
pub(super) fn write(projection: Projection, out: &mut Output) -> Result<(), Failure> {
    let settings = settings(&projection);
    write_for_people(projection, &settings, out)
}

fn write_for_people(
    messages: impl Iterator<Item = treering::Result<ContextMessage>>,
    settings: &str,
    out: &mut Output,
) -> Result<(), Failure> {
    let mut number = 0;
    for message in messages {
        write_message(&message?, out)?;
        writeln!(out)?;
        number += 1;
    }
    let end = format!("{}, {settings}", count(number, "message", "messages"));
    let end = out.paint(Style::Dim, &end);
    writeln!(out, "{end}")?;
    Ok(())
}

fn settings(projection: &Projection) -> String {
    let model = projection.model.as_ref().map_or("no model".to_owned(), |model| {
        let name = |part: &Option<String>| part.as_deref().map_or("?".to_owned(), safe_line);
        format!("model {}/{}", name(&model.provider), name(&model.model_id))
    });
    format!("{model}, thinking {}", safe_line(&projection.thinking_level))
}

fn write_message(message: &ContextMessage, out: &mut Output) -> Result<(), Failure> {
    let view = MessageView::new(&message.json);
    let mut role = safe_line(&view.role_name());
    for detail in ["toolName", "customType"] {
        if let Some(name) = view.field(detail) {
            role = format!("{role} {}", safe_line(&name));
        }
    }
    let role = out.paint(describe::role_style(view.role()), &role);
    let id = out.paint(Style::Id, &safe_line(message.entry.as_str()));
    let time = out.paint(Style::Dim, &time(describe::message_time(view)));
    writeln!(out, "── {role}  {id}  {time}")?;
    describe::write_message(out, view, CallDetail::OneLine)
}
