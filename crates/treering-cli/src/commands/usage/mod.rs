//! `treering usage`

mod programs;
mod statusline;
mod table;

use super::ls::warn_of_skipped;
use crate::clock;
use crate::error::Failure;
use crate::output::{self, Output};
use crate::prices;
use crate::progress::Meter;
use crate::project_filter::ProjectFilter;
use crate::sessions;
use crate::stores::{self, StoreChoice};
use crate::text::safe_line;
use clap::builder::NonEmptyStringValueParser;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use treering::catalog::{Progress, SessionInfo};
use treering::store::{ListQuery, Store};
use treering::usage::{EventSeed, SessionEvents};
use treering::{Dialect, OpenOptions, Session};
use treering_index::{SessionIndex, Skipped};
use treering_search::Since;
use treering_usage::{GroupBy, Prices, UsageEvents, UsageSession, Zone};

/// Report tokens and cost by day, project, model …
///
/// Counts the sessions of all agents and projects on this machine, or those of a store. Every request to
/// a model counts once, even if forks, copies or several records report it; it belongs to the oldest
/// session that has it.
///
/// `~` marks a cost that was computed from a price list because the file does not state it, `?` marks an
/// unknown cost. Models without a known price are listed; [prices."MODEL"] in the configuration sets a
/// price (`treering help config`).
///
/// A block is five hours long and begins at the full hour of its first request. Subscriptions are
/// limited by such blocks.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The rows of the report
    #[arg(value_enum, value_name = "BY", default_value_t = Grouping::Daily)]
    by: Grouping,
    /// Requests since this time: a day (2026-01-31, today, yesterday), a time, or an age such as 12h, 7d, 2w
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Requests up to this time; a day is included completely
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
    /// Sessions of this agent: pi, omp, claude-code, codex … (`treering help formats` lists them)
    #[arg(long, value_name = "NAME", value_parser = treering_search::agent)]
    agent: Option<Dialect>,
    /// Sessions of this project: a directory, or its last name
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Requests to models whose name contains this
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    model: Option<String>,
    /// Look in this directory instead of where agents keep their sessions; may be repeated
    #[arg(long, short, value_name = "DIR")]
    dir: Vec<PathBuf>,
    /// The time zone of days: local, UTC, +02:00, Europe/Berlin …
    #[arg(long, value_name = "ZONE", default_value = "local")]
    timezone: String,
    /// List the models of each row below it
    #[arg(long)]
    models: bool,
    /// Read every file, without using or writing the cache
    #[arg(long)]
    no_cache: bool,
    /// One line for a prompt: today, and the current block
    #[arg(long, conflicts_with_all = ["csv", "json", "models", "by", "since", "until"])]
    statusline: bool,
    /// Comma-separated values, with a header line
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// One JSON object: by, rows (name, sessions, first, last, usage, models), total, unknownPrices,
    /// prices
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Grouping {
    Daily,
    Weekly,
    Monthly,
    Project,
    Agent,
    Model,
    Session,
    /// Blocks of five hours
    Blocks,
}

impl Grouping {
    /// Returns the groups of a report; `None` for blocks.
    fn group(self) -> Option<GroupBy> {
        Some(match self {
            Grouping::Daily => GroupBy::Day,
            Grouping::Weekly => GroupBy::Week,
            Grouping::Monthly => GroupBy::Month,
            Grouping::Project => GroupBy::Project,
            Grouping::Agent => GroupBy::Agent,
            Grouping::Model => GroupBy::Model,
            Grouping::Session => GroupBy::Session,
            Grouping::Blocks => return None,
        })
    }

    /// Returns the name of a row.
    fn row(self) -> &'static str {
        match self {
            Grouping::Daily => "day",
            Grouping::Weekly => "week",
            Grouping::Monthly => "month",
            Grouping::Project => "project",
            Grouping::Agent => "agent",
            Grouping::Model => "model",
            Grouping::Session => "session",
            Grouping::Blocks => "block",
        }
    }
}

/// The sessions that are counted.
struct LoadedSessions {
    sessions: Vec<(SessionInfo, SessionEvents)>,
    seed: EventSeed,
    skipped: Vec<Skipped>,
}

/// The facts that all outputs share.
struct ReportContext<'a> {
    by: Grouping,
    counted: &'a UsageEvents<'a>,
    prices: &'a Prices,
    zone: &'a Zone,
    now: i64,
    /// Whether each row is followed by its models.
    shows_models: bool,
}

pub(crate) fn run(args: &Args, store: &StoreChoice, out: &mut Output) -> Result<(), Failure> {
    let now = clock::now();
    let zone = Zone::named(&args.timezone).map_err(|error| usage_error(&error.to_string()))?;
    let range = args.range(&zone, now)?;
    let project = args.project.as_deref().map(ProjectFilter::named).transpose()?;
    let prices = prices::current()?;
    let loaded = match store.open_unless(!args.dir.is_empty())? {
        Some(store) => in_store(&store, args, project.as_ref())?,
        None => on_this_machine(args)?,
    };
    let wanted: Vec<UsageSession<'_>> = loaded
        .sessions
        .iter()
        .filter(|(info, _)| args.agent.is_none_or(|agent| info.agent == agent))
        .filter(|(info, _)| project.as_ref().is_none_or(|project| project.has(&info.cwd)))
        .map(|(info, events)| UsageSession { info, events })
        .collect();
    let mut counted = UsageEvents::count(loaded.seed, &wanted, &prices).within(range);
    if let Some(model) = &args.model {
        counted = counted.of_model(model);
    }
    let context = ReportContext {
        by: args.by,
        counted: &counted,
        prices: &prices,
        zone: &zone,
        now,
        shows_models: args.models,
    };
    match () {
        () if args.statusline => statusline::write(&context, out)?,
        () if args.json => programs::write_json(&context, out)?,
        () if args.csv => programs::write_csv(&context, out)?,
        () => table::write(&context, out)?,
    }
    out.finish()?;
    if !args.statusline {
        warn_of_skipped(&loaded.skipped, false);
    }
    Ok(())
}

impl Args {
    /// Returns the selected range of times.
    fn range(&self, zone: &Zone, now: i64) -> Result<Range<i64>, Failure> {
        let at = |text: &String| match zone.day_range(text, now) {
            Some(day) => Ok(day),
            None => {
                let at = Since::parse(text).map_err(|error| usage_error(&error))?.at(now);
                Ok::<_, Failure>(at..at)
            }
        };
        let start = self.since.as_ref().map(at).transpose()?.map_or(i64::MIN, |day| day.start);
        let end = self.until.as_ref().map(at).transpose()?.map_or(i64::MAX, |day| day.end);
        match self.since.is_some() && self.until.is_some() && start > end {
            true => Err(usage_error("--since is later than --until")),
            false => Ok(start..end),
        }
    }
}

fn usage_error(what: &str) -> Failure {
    let hint = "`treering usage --help` explains the options".to_owned();
    Failure::Usage { what: safe_line(what), hint }
}

fn on_this_machine(args: &Args) -> Result<LoadedSessions, Failure> {
    let places = sessions::places_in(&args.dir)?;
    let index = match args.no_cache {
        true => SessionIndex::new(places).with_cache(None),
        false => SessionIndex::new(places),
    };
    let meter = Meter::new();
    let mut found = index.read_usage(|step| meter.show(step.progress));
    let mut events = |info: SessionInfo| {
        let events = found.events.remove(&info.path).unwrap_or_default();
        (info, events)
    };
    let sessions = found.contents.sessions.into_iter().map(&mut events).collect();
    Ok(LoadedSessions { sessions, seed: found.seed, skipped: found.contents.skipped })
}

/// Reads the sessions of a store. A session that cannot be read is reported and left out.
fn in_store(
    store: &Arc<dyn Store>,
    args: &Args,
    project: Option<&ProjectFilter>,
) -> Result<LoadedSessions, Failure> {
    let seed = EventSeed::random();
    let mut query = project.map_or_else(ListQuery::new, ProjectFilter::query);
    if let Some(agent) = args.agent {
        query = query.agent(agent);
    }
    let listed = stores::list_all(store, &query)?;
    let (mut sessions, total) = (Vec::new(), listed.len());
    let meter = Meter::new();
    for (at, info) in listed.into_iter().enumerate() {
        let events = Session::open_in(store, &info.id, OpenOptions::default())
            .and_then(|session| session.usage_events(seed));
        match events {
            Ok(events) => sessions.push((info, events)),
            Err(error) => {
                let what = format!("not counted: {}: {error}", info.id);
                output::write_notice("warning", &safe_line(&what));
            }
        }
        meter.show(Progress::new(at + 1, total));
    }
    Ok(LoadedSessions { sessions, seed, skipped: Vec::new() })
}
