//! `treering stats`

use super::warn_of_findings;
use crate::amounts::{cost, json_usage, tokens};
use crate::error::Failure;
use crate::output::{self, Output, Style, json_string, json_string_or_null};
use crate::prices;
use crate::progress::Meter;
use crate::session_arg::SessionArg;
use crate::text::{columns, count, excerpt, fit, fit_end, pad, safe_line, time};
use crate::typed::TypedEntry;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use treering::catalog::Progress;
use treering::compaction::ContextTokens;
use treering::usage::{Added, Ledger, Purpose, Stats, Usage};
use treering::{EntryId, Session};

/// Show the contents and usage of sessions: messages, tokens, cost, models, tools
///
/// Every request to a model is counted once, even if several records, branches or files contain it. `~`
/// marks a cost that was computed from a price list because the file does not state it, `?` marks an
/// unknown one: see `treering usage --help`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The sessions: files, ids, names, positions such as `@latest`, or URLs
    #[arg(required = true, value_name = "SESSION")]
    pub(crate) files: Vec<SessionArg>,
    /// Only the path from the root to an entry (an id or its beginning)
    #[arg(long, value_name = "ID")]
    branch: Option<TypedEntry>,
    /// All branches (the default)
    #[arg(long, conflicts_with = "branch")]
    all: bool,
    /// One JSON object: sessions, entries, branches, messages, tools, first, last, contextTokens,
    /// usage, byPurpose, byModel, active, abandoned, sidechains, shared
    #[arg(long)]
    json: bool,
}

/// A session that was counted.
struct CountedSession {
    path: PathBuf,
    id: String,
    agent: &'static str,
    name: Option<String>,
    added: Added,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    if let [file] = &*args.files {
        let session = file.open()?;
        let report = {
            let branch = args.branch.as_ref().map(|entry| entry.resolve(&session)).transpose()?;
            StatsReport::of_one(&session, file, branch.as_ref())?
        };
        return match args.json {
            true => write_json(&report, out),
            false => {
                report.write(out)?;
                warn_of_findings(&session, file, out)
            }
        };
    }
    if args.branch.is_some() {
        return Err(Failure::Usage {
            what: "--branch applies to a single session".to_owned(),
            hint: "give one session, or leave --branch out".to_owned(),
        });
    }
    let (report, failed) = StatsReport::of_many(&args.files)?;
    match args.json {
        true => write_json(&report, out)?,
        false => report.write(out)?,
    }
    out.finish()?;
    for failure in &failed {
        output::write_notice(
            "warning",
            &format!("not counted: {}", safe_line(&failure.to_string())),
        );
    }
    if failed.is_empty() { Ok(()) } else { Err(Failure::Reported) }
}

struct StatsReport {
    sessions: Vec<CountedSession>,
    stats: Stats,
    shared: Usage,
    context: Option<ContextTokens>,
}

impl StatsReport {
    fn of_one(session: &Session, file: &Path, branch: Option<&EntryId>) -> Result<Self, Failure> {
        let mut ledger = Ledger::default().with_prices(Arc::new(prices::current()?));
        let added = match branch {
            Some(leaf) => ledger.add_branch(session, leaf)?,
            None => ledger.add(session)?,
        };
        let context = match branch {
            Some(leaf) => session.context_tokens_at(leaf)?,
            None => session.context_tokens()?,
        };
        let sessions = vec![CountedSession::of(session, file, added)];
        let (stats, shared) = (ledger.stats(), ledger.shared());
        Ok(StatsReport { sessions, stats, shared, context: Some(context) })
    }

    /// Returns the totals of the sessions that can be read, and the errors of the others.
    fn of_many(files: &[SessionArg]) -> Result<(Self, Vec<treering::Error>), Failure> {
        let mut ledger = Ledger::default().with_prices(Arc::new(prices::current()?));
        let (mut sessions, mut failed) = (Vec::new(), Vec::new());
        let (meter, total) = (Meter::new(), files.len());
        for (done, file) in files.iter().enumerate() {
            meter.show(Progress::new(done, total));
            let counted = file
                .open()
                .and_then(|session| Ok(CountedSession::of(&session, file, ledger.add(&session)?)));
            match counted {
                Ok(counted) => sessions.push(counted),
                Err(error) => failed.push(error),
            }
        }
        let (stats, shared) = (ledger.stats(), ledger.shared());
        Ok((StatsReport { sessions, stats, shared, context: None }, failed))
    }
}

impl CountedSession {
    fn of(session: &Session, file: &Path, added: Added) -> Self {
        let (id, name) = (session.id().to_string(), session.name());
        CountedSession { path: file.to_owned(), id, agent: session.dialect().name(), name, added }
    }

    fn title(&self) -> String {
        safe_line(&self.path.to_string_lossy())
    }
}

/// The largest width of the first column.
const NAME: usize = 36;

const HEADINGS: [&str; 7] =
    ["REQUESTS", "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE", "TOTAL", "COST"];

fn cells(usage: &Usage) -> [String; 7] {
    [
        usage.requests.to_string(),
        tokens(usage.input),
        tokens(usage.output),
        tokens(usage.cache_read),
        tokens(usage.cache_write),
        tokens(usage.total()),
        cost(usage),
    ]
}

impl StatsReport {
    fn write(&self, out: &mut Output) -> Result<(), Failure> {
        self.write_facts(out)?;
        let groups = self.groups();
        let all: Vec<&(String, Usage)> = groups.iter().flat_map(|(_, rows)| rows).collect();
        if all.is_empty() {
            writeln!(out, "no usage is recorded")?;
            return Ok(());
        }
        let name = all.iter().map(|(name, _)| columns(name)).max().unwrap_or(0).clamp(10, NAME);
        let widths: Vec<usize> = (0..HEADINGS.len())
            .map(|at| {
                let widest = all.iter().map(|(_, usage)| columns(&cells(usage)[at])).max();
                widest.unwrap_or(0).max(HEADINGS[at].len())
            })
            .collect();
        let line = |cells: &[&str]| {
            let cells = cells.iter().zip(&widths);
            cells.map(|(cell, width)| format!("  {cell:>width$}")).collect::<String>()
        };
        for (title, rows) in &groups {
            if rows.is_empty() {
                continue;
            }
            writeln!(out)?;
            let head = format!("{}{}", pad(title, name), line(&HEADINGS));
            let head = out.paint(Style::Dim, &head);
            writeln!(out, "{head}")?;
            for (title, usage) in rows {
                let cells = cells(usage);
                let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
                let row = format!("{}{}", pad(&fit_end(title, name), name), line(&cells));
                writeln!(out, "{}", row.trim_end())?;
            }
        }
        self.write_unknown(out)
    }

    /// Returns the tables: a title, and the rows with usage.
    fn groups(&self) -> Vec<(&'static str, Vec<(String, Usage)>)> {
        let stats = &self.stats;
        let mut purposes: Vec<(String, Usage)> = stats
            .by_purpose
            .iter()
            .map(|(purpose, usage)| (Purpose::name(*purpose).to_owned(), *usage))
            .collect();
        if !purposes.is_empty() {
            purposes.push(("all".to_owned(), stats.usage));
        }
        let places = [
            ("active path", stats.active),
            ("abandoned", stats.abandoned),
            ("subagents", stats.sidechains),
        ];
        let used = |(_, usage): &(&str, Usage)| !usage.is_empty();
        let places = places.into_iter().filter(used).map(|(name, usage)| (name.to_owned(), usage));
        let model = |(name, usage): (&String, &Usage)| {
            let name = if name.is_empty() { "(unknown)".to_owned() } else { safe_line(name) };
            (name, *usage)
        };
        let mut models: Vec<_> = stats.by_model.iter().map(model).collect();
        models.sort_by_key(|(_, usage)| std::cmp::Reverse((usage.total_cost(), usage.total())));
        let mut groups = vec![("FOR", purposes), ("WHERE", places.collect()), ("MODEL", models)];
        if self.sessions.len() != 1 {
            let session = |counted: &CountedSession| (counted.title(), counted.added.usage);
            let mut sessions: Vec<_> = self.sessions.iter().map(session).collect();
            if !self.shared.is_empty() {
                sessions.push(("in several, counted once".to_owned(), self.shared));
            }
            groups.push(("SESSION", sessions));
        }
        groups
    }

    fn write_facts(&self, out: &mut Output) -> Result<(), Failure> {
        let stats = &self.stats;
        let session = match &*self.sessions {
            [one] => {
                let name = one.name.as_deref().map(|name| excerpt(name, 60)).unwrap_or_default();
                let id = safe_line(&one.id);
                let parts = [name, id, format!("({})", one.agent)];
                let parts = parts.into_iter().filter(|part| !part.is_empty());
                ("session", parts.collect::<Vec<_>>().join("  "))
            }
            many => ("sessions", many.len().to_string()),
        };
        let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let entries = count(number(stats.entries), "entry", "entries");
        let branches = count(number(stats.branches), "branch", "branches");
        let compactions = count(number(stats.compactions), "compaction", "compactions");
        let mut amounts = vec![entries, branches];
        amounts.extend((stats.compactions > 0).then_some(compactions));
        let context = self.context.map(|context| format!("{} tokens", tokens(context.tokens)));
        let times = match (stats.first, stats.last) {
            (Some(first), Some(last)) => format!("{} to {}", time(Some(first)), time(Some(last))),
            _ => String::new(),
        };
        let facts = [
            session,
            ("entries", amounts.join(", ")),
            ("time", times),
            ("messages", format_counts(stats.messages.iter().map(|(role, count)| (*role, *count)))),
            (
                "tools",
                format_counts(stats.tools.iter().map(|(tool, count)| (tool.as_str(), *count))),
            ),
            ("context", context.unwrap_or_default()),
        ];
        let width = out.width().saturating_sub(10);
        for (title, fact) in facts.iter().filter(|(_, fact)| !fact.is_empty()) {
            let title = out.paint(Style::Heading, &pad(title, 8));
            writeln!(out, "{title}  {}", fit(fact, width))?;
        }
        Ok(())
    }

    fn write_unknown(&self, out: &mut Output) -> Result<(), Failure> {
        let (requests, unknown) = (self.stats.usage.requests, self.stats.usage.unknown());
        if unknown > 0 {
            let note = format!("cost unknown for {unknown} of {requests} requests");
            let note = out.paint(Style::Dim, &note);
            writeln!(out, "\n{note}")?;
        }
        Ok(())
    }
}

/// Returns a text such as `bash 12, read 5`, the most frequent first.
fn format_counts<'a>(counts: impl Iterator<Item = (&'a str, u64)>) -> String {
    let mut counts: Vec<(&str, u64)> = counts.collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let shown = counts.iter().map(|(name, count)| format!("{} {count}", excerpt(name, 40)));
    shown.collect::<Vec<_>>().join(", ")
}

fn write_json(report: &StatsReport, out: &mut Output) -> Result<(), Failure> {
    let stats = &report.stats;
    out.write_all(b"{\"sessions\":[")?;
    for (at, session) in report.sessions.iter().enumerate() {
        out.write_all(if at > 0 { b",{\"path\":" } else { b"{\"path\":" })?;
        out.json_path(&session.path)?;
        out.write_all(b",\"id\":")?;
        json_string(out, &session.id)?;
        write!(out, ",\"agent\":\"{}\",\"name\":", session.agent)?;
        json_string_or_null(out, session.name.as_deref())?;
        for (key, usage) in [("usage", session.added.usage), ("shared", session.added.shared)] {
            write!(out, ",\"{key}\":")?;
            json_usage(out, &usage)?;
        }
        out.write_all(b"}")?;
    }
    let Stats { entries, branches, compactions, .. } = stats;
    write!(out, "],\"entries\":{entries},\"branches\":{branches},\"compactions\":{compactions}")?;
    let messages: BTreeMap<String, u64> =
        stats.messages.iter().map(|(role, count)| ((*role).to_owned(), *count)).collect();
    for (key, counts) in [("messages", &messages), ("tools", &stats.tools)] {
        write_object(key, counts.iter(), out, |out, count| write!(out, "{count}"))?;
    }
    for (key, time) in [("first", stats.first), ("last", stats.last)] {
        write!(out, ",\"{key}\":")?;
        json_string_or_null(out, time.map(treering::time::format).as_deref())?;
    }
    out.write_all(b",\"contextTokens\":")?;
    match report.context {
        Some(context) => write!(out, "{}", context.tokens)?,
        None => out.write_all(b"null")?,
    }
    let sums = [
        ("usage", stats.usage),
        ("active", stats.active),
        ("abandoned", stats.abandoned),
        ("sidechains", stats.sidechains),
        ("shared", report.shared),
    ];
    for (key, usage) in sums {
        write!(out, ",\"{key}\":")?;
        json_usage(out, &usage)?;
    }
    let purposes: BTreeMap<String, Usage> =
        stats.by_purpose.iter().map(|(purpose, usage)| (purpose_key(*purpose), *usage)).collect();
    for (key, sums) in [("byPurpose", &purposes), ("byModel", &stats.by_model)] {
        write_object(key, sums.iter(), out, json_usage)?;
    }
    Ok(out.write_all(b"}\n")?)
}

/// Returns a purpose as a key: `branchSummaries`.
fn purpose_key(purpose: Purpose) -> String {
    match purpose.name() {
        "branch summaries" => "branchSummaries".to_owned(),
        name => name.to_owned(),
    }
}

fn write_object<'a, T: 'a>(
    key: &str,
    members: impl Iterator<Item = (&'a String, &'a T)>,
    out: &mut Output,
    write_value: impl Fn(&mut Output, &T) -> std::io::Result<()>,
) -> Result<(), Failure> {
    write!(out, ",\"{key}\":{{")?;
    for (at, (name, value)) in members.enumerate() {
        if at > 0 {
            out.write_all(b",")?;
        }
        json_string(out, name)?;
        out.write_all(b":")?;
        write_value(out, value)?;
    }
    Ok(out.write_all(b"}")?)
}
