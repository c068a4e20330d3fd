//! `treering merge`

use crate::agent::{self, SummaryArgs};
use crate::error::Failure;
use crate::output::{self, Output, Style, json_string, json_string_or_null};
use crate::session_arg::SessionArg;
use crate::text::{count, excerpt, safe_line};
use crate::typed::TypedEntry;
use std::io::Write;
use treering::EntryId;
use treering::entry::MessageView;
use treering::merge::{Merge, MergePlan};
use treering_agent::{AgentSession, MergeOptions, MergeOutcome, MergedBranch};

/// Merge another branch into the active one
///
/// Appends a summary of the other branch or, with `--full`, copies of its messages. Both branches stay,
/// and merging the same branch again adds only what is new. Prints the new leaf.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session: a file, an id, a name, `@latest`, or a URL (https://HOST/s/ID)
    #[arg(value_name = "SESSION")]
    pub(crate) file: SessionArg,
    /// The end of the other branch (an id or its beginning)
    id: TypedEntry,
    /// Copy the messages instead of summarizing them
    #[arg(long, conflicts_with_all = ["instructions", "summarizer"])]
    full: bool,
    /// Show what would be merged; write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    summaries: SummaryArgs,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    if args.dry_run {
        return show_plan(args, out);
    }
    let session = args.file.open()?;
    let id = args.id.resolve(&session)?;
    let agent = match args.full {
        true => AgentSession::new(session),
        false => agent::with_summarizer(&args.file, session, &args.summaries)?,
    };
    let outcome = agent::run(&agent, async |cancel| {
        let mut options = MergeOptions::new().full(args.full).cancel(cancel.clone());
        options.custom_instructions = args.summaries.instructions.clone();
        agent.merge(id.as_str(), options).await
    })?;
    match outcome {
        MergeOutcome::Aborted => Err(agent::stopped()),
        MergeOutcome::NothingNew => nothing_new(args.json, out),
        MergeOutcome::Done(merged) => write_merged(&merged, args.json, out),
    }
}

fn nothing_new(json: bool, out: &mut Output) -> Result<(), Failure> {
    match json {
        true => out.write_all(b"{\"merged\":false}\n")?,
        // Standard output has the new leaf, and there is none.
        false => {
            out.finish()?;
            let what = "nothing to merge: this branch already has these entries";
            output::write_notice("note", what);
        }
    }
    Ok(())
}

fn write_merged(merged: &MergedBranch, json: bool, out: &mut Output) -> Result<(), Failure> {
    let summary = merged.entry.text("summary");
    if json {
        out.write_all(b"{\"merged\":true,\"id\":")?;
        json_string(out, merged.entry.id().as_str())?;
        out.write_all(b",")?;
        write_plan(&merged.plan, out)?;
        out.write_all(b",\"copies\":")?;
        write_ids(&merged.copies, out)?;
        out.write_all(b",\"usage\":")?;
        let usage = merged.usage.as_ref().map(|usage| usage.to_json());
        out.write_all(usage.as_deref().unwrap_or(b"null"))?;
        out.write_all(b",\"summary\":")?;
        json_string_or_null(out, summary.as_deref())?;
        return Ok(out.write_all(b"}\n")?);
    }
    writeln!(out, "{}", safe_line(merged.entry.id().as_str()))?;
    match summary {
        Some(summary) => {
            writeln!(out)?;
            crate::describe::write_text(out, &summary)
        }
        None => Ok(writeln!(
            out,
            "{}",
            count(merged.copies.len(), "message copied", "messages copied")
        )?),
    }
}

fn show_plan(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let session = args.file.open()?;
    let Merge::Ready(plan) = session.plan_merge(args.id.resolve(&session)?, 0)? else {
        return nothing_new(args.json, out);
    };
    if args.json {
        out.write_all(b"{\"merged\":false,")?;
        write_plan(&plan, out)?;
        return Ok(out.write_all(b"}\n")?);
    }
    let title = out.paint(Style::Heading, "new on the other branch");
    writeln!(out, "{title}: {}", count(plan.messages.len(), "message", "messages"))?;
    let width = out.width().saturating_sub(30).max(20);
    for message in &plan.messages {
        let view = MessageView::new(&message.json);
        let id = out.paint(Style::Id, &safe_line(message.entry.as_str()));
        let (role, text) = (safe_line(&view.role_name()), excerpt(&view.text(), width));
        writeln!(out, "  {id}  {role}  {text}")?;
    }
    let size = out.paint(Style::Dim, &format!("about {} tokens", plan.total_tokens));
    Ok(writeln!(out, "{size}")?)
}

fn write_plan(plan: &MergePlan, out: &mut Output) -> Result<(), Failure> {
    out.write_all(b"\"from\":")?;
    json_string(out, plan.from.as_str())?;
    for (key, id) in
        [("into", &plan.into), ("base", &plan.base), ("commonAncestor", &plan.common_ancestor)]
    {
        write!(out, ",\"{key}\":")?;
        json_string_or_null(out, id.as_ref().map(EntryId::as_str))?;
    }
    out.write_all(b",\"entries\":")?;
    write_ids(&plan.entries, out)?;
    out.write_all(b",\"details\":")?;
    out.write_all(&plan.file_ops.lists().to_json())?;
    Ok(write!(out, ",\"tokens\":{}", plan.total_tokens)?)
}

fn write_ids(ids: &[EntryId], out: &mut Output) -> Result<(), Failure> {
    out.write_all(b"[")?;
    for (at, id) in ids.iter().enumerate() {
        out.write_all(if at > 0 { b"," } else { b"" })?;
        json_string(out, id.as_str())?;
    }
    Ok(out.write_all(b"]")?)
}
