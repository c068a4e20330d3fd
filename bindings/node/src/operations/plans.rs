//! Operations that plan and carry out larger changes, and reports about a session.
//!
//! A plan is described as JSON; to carry it out, it is made again from the same arguments. What it
//! is made of, a leaf
//! and the entries before it, never changes, so the second plan is the first one.

use super::writing::ids;
use crate::args::{Args, wrong};
use crate::outcome::{Answer, Outcome};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use treering::compaction::{
    CompactionSettings, ModelSettings, Preparation, Prepared, SummarySource, branch_request,
};
use treering::convert::{ConvertOptions, convert_session};
use treering::fork::ForkOptions;
use treering::merge::{Merge, MergePlan, MergeSummary, Repeated, Selection};
use treering::session::Part;
use treering::{Dialect, EntryId, Session, SessionId};
use treering_bindings::{
    Data, ExportFormat, Failure, RedactOptions, SearchOptions, ToData, export, export_to_file,
    redact, search_session,
};
use treering_export::{Existing, Export};

/// Carries out an operation. Returns `None` if the operation does not belong to this module.
pub(super) fn invoke(session: &Arc<Session>, operation: &str, args: &Args) -> Option<Answer> {
    Some(match operation {
        "planCompaction" => plan_compaction(session, args),
        "compact" => compact(session, args),
        "abandonedBranch" => abandoned_branch(session, args),
        "planEdit" => edit(session, args, false),
        "edit" => edit(session, args, true),
        "planMerge" => plan_merge(session, args),
        "merge" => merge(session, args),
        "planPick" => plan_pick(session, args),
        "cherryPick" => cherry_pick(session, args),
        "stats" => stats(session, args),
        "branches" => session.branches().map(Outcome::of).map_err(Failure::from),
        "entryUsage" => entry_usage(session, args),
        "diff" => diff(session, args),
        "findings" => session.findings().map(Outcome::of).map_err(Failure::from),
        "allFindings" => session.all_findings().map(Outcome::of).map_err(Failure::from),
        "search" => search(session, args),
        "export" => exported(session, args),
        "redacted" => redacted(session, args),
        "redactionReport" => redaction_report(session, args),
        "convert" => convert(session, args),
        "fork" => fork(session, args),
        "copyTo" => copy_to(session, args),
        _ => return None,
    })
}

fn settings(args: &Args) -> Result<CompactionSettings, Failure> {
    let mut settings = CompactionSettings::new();
    let Some(value) = args.value("settings") else { return Ok(settings) };
    if let Some(tokens) = value.get("reserveTokens").and_then(Value::as_u64) {
        settings = settings.reserve_tokens(tokens);
    }
    if let Some(tokens) = value.get("keepRecentTokens").and_then(Value::as_u64) {
        settings = settings.keep_recent_tokens(tokens);
    }
    if let Some(enabled) = value.get("enabled").and_then(Value::as_bool) {
        settings = settings.enabled(enabled);
    }
    for (model, own) in value.get("models").and_then(Value::as_object).into_iter().flatten() {
        let mut of_model = ModelSettings::new();
        if let Some(tokens) = own.get("reserveTokens").and_then(Value::as_u64) {
            of_model = of_model.reserve_tokens(tokens);
        }
        if let Some(tokens) = own.get("keepRecentTokens").and_then(Value::as_u64) {
            of_model = of_model.keep_recent_tokens(tokens);
        }
        settings = settings.model(model, of_model);
    }
    Ok(settings)
}

/// Returns the plan, or the reason why there is none.
fn prepare(session: &Session, args: &Args) -> Result<Result<Prepared, &'static str>, Failure> {
    let at = args.position_or_leaf("at", session)?;
    Ok(match session.plan_compaction_at(at, &settings(args)?)? {
        Preparation::Ready(plan) => Ok(plan.read()?),
        Preparation::AlreadyCompacted => Err("already-compacted"),
        Preparation::TooSmall => Err("too-small"),
    })
}

fn plan_compaction(session: &Session, args: &Args) -> Answer {
    let instructions = args.text("instructions")?;
    let prepared = match prepare(session, args)? {
        Ok(prepared) => prepared,
        Err(status) => return Ok(Outcome::record(vec![("status", status.to_data())])),
    };
    let Data::Record(mut fields) = prepared.to_data() else { return Ok(Outcome::of(prepared)) };
    fields.push(("status", "ready".to_data()));
    fields.push(("history_request", prepared.history_request(instructions).to_data()));
    fields.push(("prefix_request", prepared.prefix_request(instructions).to_data()));
    Ok(Outcome::record(fields))
}

/// Writes the compaction that was planned at a leaf.
fn compact(session: &Session, args: &Args) -> Answer {
    let prepared = prepare(session, args)?.map_err(|status| {
        Failure::invalid("nothing_to_compact", format!("there is nothing to compact: {status}"))
    })?;
    let summary = match args.text("summary")? {
        Some(summary) => summary.to_owned(),
        None => composed(&prepared, args)?,
    };
    let details = args.data.first().map(String::as_bytes);
    let source = match details {
        Some(details) => SummarySource::Extension { details: Some(details) },
        None if args.flag("fromHook")? => SummarySource::Extension { details: None },
        None => SummarySource::Summarizer,
    };
    let entry = prepared.entry(&summary, source)?;
    Ok(ids(vec![session.apply_compaction(&prepared, entry)?]))
}

/// Returns the summary that the answers to the requests of a compaction make. Without an answer to
/// each of them the model would no longer know what is cut off.
fn composed(prepared: &Prepared, args: &Args) -> Result<String, Failure> {
    let answer = |name: &str, is_asked: bool| match args.text(name)? {
        None if is_asked => Err(wrong(name, "the answer of a model, unless there is a summary")),
        answer => Ok(answer),
    };
    let history = answer("historySummary", !prepared.messages_to_summarize.is_empty())?;
    let prefix = answer("prefixSummary", !prepared.turn_prefix.is_empty())?;
    Ok(prepared.compose(history, prefix))
}

fn abandoned_branch(session: &Session, args: &Args) -> Answer {
    let from = args.position_or_leaf("from", session)?;
    let to = args.needs_position("to")?;
    let branch = session.abandoned_branch(from, to, args.number("budget")?.unwrap_or(0))?;
    let conversation = branch.conversation();
    let request = branch_request(
        &conversation,
        None,
        args.text("instructions")?,
        args.flag("replaceInstructions")?,
    );
    let Data::Record(mut fields) = branch.to_data() else { return Ok(Outcome::of(branch)) };
    fields.push(("conversation", conversation.to_data()));
    fields.push(("request", request.to_data()));
    Ok(Outcome::record(fields))
}

fn edit(session: &Session, args: &Args, is_applied: bool) -> Answer {
    let targets = args.texts("ids")?;
    let plan = match args.needs_text("action")? {
        "drop" => session.plan_drop(targets)?,
        "restore" => session.plan_restore(targets)?,
        "replace" => {
            let target = targets.first().ok_or_else(|| wrong("ids", "one id"))?;
            session.plan_replace(target, args.needs_text("text")?)?
        }
        _ => return Err(wrong("action", "drop, replace or restore")),
    };
    if is_applied { Ok(ids(session.apply_edit(&plan)?)) } else { Ok(Outcome::of(plan)) }
}

fn merge_plan(session: &Session, args: &Args) -> Result<Option<Box<MergePlan>>, Failure> {
    let from = args.position("from")?.ok_or_else(|| wrong("from", "the id of an entry"))?;
    Ok(match session.plan_merge(from, args.number("budget")?.unwrap_or(0))? {
        Merge::Ready(plan) => Some(plan),
        Merge::NothingNew => None,
    })
}

fn plan_merge(session: &Session, args: &Args) -> Answer {
    let Some(plan) = merge_plan(session, args)? else { return Ok(super::writing::nothing()) };
    let Data::Record(mut fields) = plan.to_data() else { return Ok(super::writing::nothing()) };
    fields.push(("conversation", plan.conversation().to_data()));
    fields.push(("copies", session.plan_merge_copies(&plan)?.to_data()));
    Ok(Outcome::record(fields))
}

fn merge(session: &Session, args: &Args) -> Answer {
    let Some(plan) = merge_plan(session, args)? else { return Ok(super::writing::nothing()) };
    let Some(summary) = args.text("summary")? else {
        return Ok(Outcome::of(session.apply_merge(&plan)?));
    };
    let text = plan.compose(summary);
    let mut wanted = MergeSummary::new(&text);
    if let Some(details) = args.data.first() {
        wanted = wanted.details(details.as_bytes());
    }
    if args.flag("fromHook")? {
        wanted = wanted.from_hook();
    }
    let record = session.apply_merge_summary(&plan, wanted)?;
    Ok(Outcome::record(vec![
        ("record", record.as_str().to_data()),
        ("copies", Data::List(Vec::new())),
    ]))
}

fn selection(args: &Args) -> Result<Selection, Failure> {
    match args.text("first")? {
        Some(first) => Ok(Selection::range(first, args.needs_text("last")?)),
        None => Ok(Selection::entry(args.needs_text("id")?)),
    }
}

fn plan_pick(session: &Arc<Session>, args: &Args) -> Answer {
    let source = args.other.as_ref().unwrap_or(session);
    let repeated = if args.flag("again")? { Repeated::Copied } else { Repeated::Skipped };
    Ok(Outcome::of(session.plan_pick(source, &selection(args)?, repeated)?))
}

fn cherry_pick(session: &Arc<Session>, args: &Args) -> Answer {
    let source = args.other.as_ref().unwrap_or(session);
    let repeated = if args.flag("again")? { Repeated::Copied } else { Repeated::Skipped };
    let plan = session.plan_pick(source, &selection(args)?, repeated)?;
    Ok(ids(session.apply_pick(&plan)?))
}

fn stats(session: &Session, args: &Args) -> Answer {
    Ok(match (args.position("branch")?, args.text("subtree")?) {
        (Some(branch), _) => Outcome::of(session.branch_stats(branch)?),
        (None, Some(entry)) => {
            Outcome::of(session.part_stats(&Part::Subtree(EntryId::from(entry)))?)
        }
        (None, None) => Outcome::of(session.stats()?),
    })
}

fn entry_usage(session: &Session, args: &Args) -> Answer {
    Ok(Outcome::of(session.entry_usage(args.needs_text("id")?)?))
}

fn diff(session: &Arc<Session>, args: &Args) -> Answer {
    let a = args.position_or_leaf("a", session)?;
    Ok(match &args.other {
        Some(other) => {
            let b = args.position_or_leaf("b", other)?;
            Outcome::of(session.diff_with(a, other, b)?)
        }
        None => Outcome::of(session.diff(a, args.position_or_leaf("b", session)?)?),
    })
}

/// Returns the options of a search.
pub(super) fn search_options(args: &Args) -> Result<SearchOptions, Failure> {
    let number =
        |name| Ok::<_, Failure>(args.number(name)?.and_then(|number| usize::try_from(number).ok()));
    Ok(SearchOptions {
        is_case_sensitive: args.flag("caseSensitive")?,
        by_relevance: args.flag("byRelevance")?,
        max_hits: number("maxHits")?,
        hits_per_session: number("hitsPerSession")?,
        snippet_width: number("snippetWidth")?,
    })
}

fn search(session: &Session, args: &Args) -> Answer {
    Ok(Outcome::of(search_session(session, args.needs_text("query")?, &search_options(args)?)?))
}

fn part(session: &Session, args: &Args) -> Result<Part, Failure> {
    Ok(match (args.position("branch")?, args.text("subtree")?) {
        (Some(branch), _) => Part::Branch(branch),
        (None, Some(entry)) => Part::Subtree(EntryId::from(entry)),
        (None, None) if args.flag("active")? => Part::Branch(session.leaf().into()),
        (None, None) => Part::All,
    })
}

fn exported(session: &Session, args: &Args) -> Answer {
    let format: ExportFormat = args.needs_text("format")?.parse()?;
    let options = Export::new()
        .part(part(session, args)?)
        .full(args.flag("full")?)
        .thinking(!args.flag("withoutThinking")?);
    if let Some(path) = args.text("path")? {
        let existing = if args.flag("replace")? { Existing::Replaced } else { Existing::Kept };
        let size = export_to_file(session, format, &options, &PathBuf::from(path), existing)?;
        return Ok(Outcome::of(size));
    }
    let mut out = Vec::new();
    export(session, format, &options, &mut out)?;
    Ok(Outcome::Bytes(out))
}

fn redact_options(args: &Args) -> Result<RedactOptions, Failure> {
    let mut options = RedactOptions {
        emails: args.flag("emails")?,
        home: args.flag("home")?,
        ..RedactOptions::default()
    };
    for (name, pattern) in args.value("patterns").and_then(Value::as_object).into_iter().flatten() {
        let pattern = pattern
            .as_str()
            .ok_or_else(|| wrong("patterns", "an object of regular expressions"))?;
        options.patterns.push((name.clone(), pattern.to_owned()));
    }
    Ok(options)
}

fn redacted(session: &Session, args: &Args) -> Answer {
    Ok(Outcome::session(redact(session, &redact_options(args)?)?.0))
}

fn redaction_report(session: &Session, args: &Args) -> Answer {
    Ok(Outcome::of(redact(session, &redact_options(args)?)?.1))
}

fn convert(session: &Session, args: &Args) -> Answer {
    let dialect: Dialect =
        args.dialect("dialect")?.ok_or_else(|| wrong("dialect", "the name of a dialect"))?;
    let mut options = ConvertOptions::new();
    if let Some(position) = args.position("pathTo")? {
        options = options.path_to(position);
    }
    if args.flag("dryRun")? {
        let plan = session.plan_conversion(dialect, &options)?;
        return Ok(Outcome::record(vec![
            ("source", plan.from().name().to_data()),
            ("target", plan.to().name().to_data()),
            ("outcomes", plan.outcomes().to_data()),
        ]));
    }
    Ok(Outcome::of(convert_session(session, args.needs_path("path")?, dialect, &options)?))
}

/// Returns the options of a fork.
pub(super) fn fork_options(args: &Args) -> Result<ForkOptions, Failure> {
    let mut options = ForkOptions::new().creation(args.creation()?).durability(args.durability()?);
    if let Some(cwd) = args.text("cwd")? {
        options = options.cwd(cwd);
    }
    if let Some(dir) = args.text("dir")? {
        options = options.dir(dir);
    }
    if let Some(root) = args.text("root")? {
        options = options.root(root);
    }
    if let Some(dialect) = args.dialect("dialect")? {
        options = options.dialect(dialect);
    }
    if let Some(id) = args.text("id")? {
        options = options.id(SessionId::new(id)?);
    }
    Ok(options)
}

fn fork(session: &Session, args: &Args) -> Answer {
    let at = args.position_or_leaf("at", session)?;
    Ok(Outcome::session(session.fork(at, fork_options(args)?)?))
}

fn copy_to(session: &Session, args: &Args) -> Answer {
    session.copy_to(args.needs_path("path")?)?;
    Ok(super::writing::nothing())
}
