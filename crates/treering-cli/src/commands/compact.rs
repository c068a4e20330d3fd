//! `treering compact`

use crate::agent::{self, SummaryArgs};
use crate::config::Config;
use crate::error::Failure;
use crate::output::{self, Output, Style, json_string, json_string_or_null, json_strings};
use crate::session_arg::SessionArg;
use crate::text::{columns, count, excerpt, safe_line};
use crate::typed::{TypedPosition, number};
use std::io::{self, Write};
use treering::compaction::{
    CompactionSettings, ContextTokens, FileLists, Preparation, Prepared, conversation_text,
    estimate_tokens,
};
use treering::context::ContextMessage;
use treering::entry::MessageView;
use treering::{Position, Session};
use treering_agent::{CompactOptions, Compacted, Compaction};
use treering_display::preview_line::Calls;

/// Replace the older part of the context with a summary
///
/// The recent messages are kept as they are, and nothing is removed from the file.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session: a file, an id, a name, `@latest`, or a URL (https://HOST/s/ID)
    #[arg(value_name = "SESSION")]
    pub(crate) file: SessionArg,
    /// Show where the cut would be, what would be summarized and how much that saves; write nothing
    #[arg(long)]
    dry_run: bool,
    /// Compact the path to this entry instead of the leaf (an id or its beginning; `none`: before the
    /// first entry)
    #[arg(long, value_name = "ID", requires = "dry_run")]
    leaf: Option<TypedPosition>,
    /// Keep about this many tokens of the most recent messages
    #[arg(long, value_name = "TOKENS", value_parser = number::<u64>, allow_negative_numbers = true)]
    keep_recent: Option<u64>,
    #[command(flatten)]
    summaries: SummaryArgs,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    match args.dry_run {
        true => show_plan(args, out),
        false => compact(args, out),
    }
}

fn compact(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let agent = agent::with_summarizer(&args.file, args.file.open()?, &args.summaries)?;
    let done = agent::run(&agent, async |cancel| {
        let mut options = CompactOptions::new().cancel(cancel.clone());
        options.instructions = args.summaries.instructions.clone();
        options.keep_recent_tokens = args.keep_recent;
        agent.compact(options).await
    })?;
    let why = match done {
        Compaction::Done(compacted) => return write_compacted(&compacted, args.json, out),
        Compaction::Canceled { hook } => return Err(agent::unwanted(&hook)),
        Compaction::Aborted => return Err(agent::stopped()),
        Compaction::AlreadyCompacted => ALREADY_COMPACTED,
        Compaction::TooSmall => TOO_SMALL,
    };
    if args.json {
        out.write_all(b"{\"compacted\":false,\"reason\":")?;
        json_string(out, why)?;
        return Ok(out.write_all(b"}\n")?);
    }
    // Standard output has the id of the compaction, and there is none.
    out.finish()?;
    output::write_notice("note", &format!("nothing to compact: {why}"));
    Ok(())
}

fn write_compacted(compacted: &Compacted, json: bool, out: &mut Output) -> Result<(), Failure> {
    let Compacted { entry, first_kept, tokens_before, tokens_after, usage, is_active, .. } =
        compacted;
    let summary = entry.text("summary").unwrap_or_default();
    if json {
        out.write_all(b"{\"compacted\":true,\"id\":")?;
        json_string(out, entry.id().as_str())?;
        out.write_all(b",\"firstKeptEntryId\":")?;
        json_string(out, first_kept.as_str())?;
        write!(out, ",\"tokensBefore\":{tokens_before},\"tokensAfter\":{tokens_after},\"usage\":")?;
        let usage = usage.as_ref().map(|usage| usage.to_json());
        out.write_all(usage.as_deref().unwrap_or(b"null"))?;
        write!(out, ",\"active\":{is_active},\"summary\":")?;
        json_string(out, &summary)?;
        return Ok(out.write_all(b"}\n")?);
    }
    writeln!(out, "{}", safe_line(entry.id().as_str()))?;
    writeln!(out)?;
    crate::describe::write_text(out, &summary)?;
    let size = format!("about {tokens_before} tokens before, {tokens_after} now");
    let size = out.paint(Style::Dim, &size);
    writeln!(out, "\n{size}")?;
    if !is_active {
        let hint =
            "another process moved the leaf to another branch in the meantime; it stays there";
        writeln!(out, "{}", out.paint(Style::Dim, hint))?;
    }
    Ok(())
}

fn show_plan(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let session = args.file.open()?;
    let mut settings = Config::load()?.compaction.settings().compaction;
    if let Some(keep) = args.keep_recent {
        settings.keep_recent_tokens = keep;
        settings.overrides.clear();
    }
    let position = TypedPosition::or_leaf(args.leaf.as_ref(), &session)?;
    let tokens = session.context_tokens_at(&position)?;
    let plan = match session.plan_compaction_at(&position, &settings)? {
        Preparation::Ready(plan) => Ok(plan.read()?),
        Preparation::AlreadyCompacted => Err(ALREADY_COMPACTED),
        Preparation::TooSmall => Err(TOO_SMALL),
    };
    if args.json {
        return write_json(&plan, tokens, out);
    }
    let why = match plan {
        Ok(plan) => return write_for_people(&session, &plan, out),
        Err(why) => why,
    };
    let (tokens, kept) = (tokens.tokens, settings.keep_recent_tokens);
    writeln!(out, "nothing to compact: {why} (about {tokens} tokens)")?;
    if why != TOO_SMALL || args.keep_recent.is_some() {
        return Ok(());
    }
    let Some((keep, plan)) = smaller_plan(&session, &position, settings)? else { return Ok(()) };
    let title = format!(
        "the newest {kept} tokens are always kept; with `--keep-recent {keep}` this would happen:"
    );
    writeln!(out, "{title}\n")?;
    write_for_people(&session, &plan, out)
}

/// Finds a number of tokens to keep with which a session that is too small for the settings would
/// be compacted, and plans that compaction. Returns `None` if there is no such number.
fn smaller_plan(
    session: &Session,
    position: &Position,
    mut settings: CompactionSettings,
) -> Result<Option<(u64, Prepared)>, Failure> {
    settings.overrides.clear();
    while settings.keep_recent_tokens > 1 {
        settings.keep_recent_tokens /= 2;
        if let Preparation::Ready(plan) = session.plan_compaction_at(position, &settings)? {
            return Ok(Some((settings.keep_recent_tokens, plan.read()?)));
        }
    }
    Ok(None)
}

/// A compaction, or the reason why there is nothing to compact.
type Planned = Result<Prepared, &'static str>;

const ALREADY_COMPACTED: &str = "already compacted";
const TOO_SMALL: &str = "the session is too small";

fn write_for_people(session: &Session, plan: &Prepared, out: &mut Output) -> Result<(), Failure> {
    let heading = |text: &str, out: &Output| out.paint(Style::Heading, text);
    let title = heading("summarized", out);
    let number = plan.messages_to_summarize.len() + plan.turn_prefix.len();
    writeln!(out, "{title}: {}", count(number, "message", "messages"))?;
    write_messages(session, &plan.messages_to_summarize, out)?;
    if plan.is_split_turn {
        let title = heading("beginning of a turn, summarized separately", out);
        writeln!(out, "{title}: {}", count(plan.turn_prefix.len(), "message", "messages"))?;
        write_messages(session, &plan.turn_prefix, out)?;
    }
    let title = heading("kept from", out);
    let id = out.paint(Style::Id, &safe_line(plan.first_kept.as_str()));
    let first = session.entry(plan.first_kept.as_str())?;
    writeln!(
        out,
        "{title} {id}  {}",
        crate::describe::preview(&first, &mut Calls::default(), out.width() / 2)
    )?;
    let lists = plan.file_ops.lists();
    for (name, files) in [("read", &lists.read), ("modified", &lists.modified)] {
        if !files.is_empty() {
            let files: Vec<String> = files.iter().map(|file| safe_line(file)).collect();
            writeln!(out, "{}: {}", heading(name, out), files.join(", "))?;
        }
    }
    let (before, summarized, kept) = (plan.tokens_before, plan.saving(), plan.tokens_kept);
    let mut size =
        format!("about {before} tokens now: {summarized} of them are summarized, {kept} are kept");
    if before > summarized + kept {
        size.push_str("; the others are instructions and tools, which stay");
    }
    let size = out.paint(Style::Dim, &size);
    writeln!(out, "{size}")?;
    Ok(())
}

fn write_messages(
    session: &Session,
    messages: &[ContextMessage],
    out: &mut Output,
) -> Result<(), Failure> {
    for message in messages {
        let view = MessageView::new(&message.json);
        let id = safe_line(message.entry.as_str());
        let tokens = estimate_tokens(&message.json);
        let facts = format!("{}  {tokens} tokens", safe_line(&view.role_name()));
        let used = columns(&id) + columns(&facts) + 6;
        let width = out.width().saturating_sub(used).max(20);
        let text = match excerpt(&view.text(), width) {
            // A summary, a command or a call of a tool.
            text if text.is_empty() => {
                let entry = session.entry(message.entry.as_str())?;
                crate::describe::preview(&entry, &mut Calls::default(), width)
            }
            text => text,
        };
        let id = out.paint(Style::Id, &id);
        let line = format!("  {id}  {facts}  {text}");
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

fn write_json(plan: &Planned, tokens: ContextTokens, out: &mut Output) -> Result<(), Failure> {
    let ContextTokens { tokens, usage_tokens, trailing_tokens, .. } = tokens;
    write!(
        out,
        "{{\"contextTokens\":{{\"tokens\":{tokens},\"usageTokens\":{usage_tokens},\"trailingTokens\":{trailing_tokens}}},\"reason\":"
    )?;
    json_string_or_null(out, plan.as_ref().err().copied())?;
    out.write_all(b",\"prepared\":")?;
    match plan {
        Ok(plan) => write_plan(plan, out)?,
        Err(_) => out.write_all(b"null")?,
    }
    Ok(out.write_all(b"}\n")?)
}

fn write_plan(plan: &Prepared, out: &mut Output) -> io::Result<()> {
    out.write_all(b"{\"firstKeptEntryId\":")?;
    json_string(out, plan.first_kept.as_str())?;
    let (split, before, kept) = (plan.is_split_turn, plan.tokens_before, plan.tokens_kept);
    write!(out, ",\"isSplitTurn\":{split},\"tokensBefore\":{before},\"tokensKept\":{kept}")?;
    write!(out, ",\"saving\":{},\"previousSummary\":", plan.saving())?;
    json_string_or_null(out, plan.previous_summary.as_deref())?;
    let ops = &plan.file_ops;
    let sets = [("read", &ops.read), ("written", &ops.written), ("edited", &ops.edited)];
    out.write_all(b",\"fileOps\":{")?;
    for (at, (name, files)) in sets.into_iter().enumerate() {
        write!(out, "{}\"{name}\":", if at > 0 { "," } else { "" })?;
        json_strings(out, files)?;
    }
    out.write_all(b"},\"details\":")?;
    out.write_all(&FileLists::to_json(&ops.lists()))?;
    out.write_all(b",\"systemMessage\":")?;
    out.write_all(plan.system_message.as_deref().unwrap_or(b"null"))?;
    for (messages, text, list) in [
        ("messagesToSummarize", "conversation", &plan.messages_to_summarize),
        ("turnPrefixMessages", "turnPrefixConversation", &plan.turn_prefix),
    ] {
        write!(out, ",\"{messages}\":[")?;
        for (at, message) in list.iter().enumerate() {
            out.write_all(if at > 0 { b",{\"id\":" } else { b"{\"id\":" })?;
            json_string(out, message.entry.as_str())?;
            write!(out, ",\"tokens\":{},\"message\":", estimate_tokens(&message.json))?;
            out.write_json(&message.json)?;
            out.write_all(b"}")?;
        }
        write!(out, "],\"{text}\":")?;
        json_string(out, &conversation_text(list))?;
    }
    out.write_all(b"}")
}
