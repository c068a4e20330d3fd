//! `treering ls`

mod filter;
mod table;

use crate::clock;
use crate::config::{Config, TimeStyle};
use crate::error::Failure;
use crate::output::{self, Output, json_string, json_string_or_null};
use crate::project_filter::ProjectFilter;
use crate::sessions;
use crate::stores::{self, StoreChoice};
use crate::text::{count, safe_line, shell_word};
use crate::typed::positive;
use filter::Sort;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use table::{ListKind, ListTimeFormat};
use treering::Dialect;
use treering::catalog::SessionInfo;
use treering::store::{ListQuery, Store};
use treering_index::{Contents, Places, SessionIndex, Skipped};
use treering_search::Since;

/// List the sessions of this project, from all agents
///
/// The project is the repository around the current directory, or that directory itself. Every command
/// accepts, instead of a file, an id or its beginning, a name or its beginning, `@latest`, `@2` for the
/// second newest session, and `@all` and `@all/2` for the same among all projects.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// List the sessions of all projects in this directory and below it
    directory: Option<PathBuf>,
    /// Sessions of all projects
    #[arg(long)]
    all: bool,
    /// Sessions of this agent: pi, omp, claude-code, codex … (`treering help formats` lists them)
    #[arg(long, value_name = "NAME", value_parser = treering_search::agent)]
    agent: Option<Dialect>,
    /// Sessions of this project: a directory, or its last name
    #[arg(long, value_name = "DIR", conflicts_with = "all")]
    project: Option<PathBuf>,
    /// Sessions used since this time: an age such as 12h, 3d, 2w, 3mo, or a date such as 2026-01-31 (UTC)
    #[arg(long, value_name = "WHEN", value_parser = Since::parse)]
    since: Option<Since>,
    /// Sessions with a name
    #[arg(long)]
    named: bool,
    /// Sessions with more than one branch
    #[arg(long)]
    branches: bool,
    /// Sessions with findings, as far as listing notices them
    #[arg(long)]
    findings: bool,
    /// The order
    #[arg(long, value_enum, default_value_t = Sort::Modified)]
    sort: Sort,
    /// The maximum number of sessions
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    limit: Option<usize>,
    /// Look in this directory instead of where agents keep their sessions; may be repeated
    #[arg(long, short, value_name = "DIR", conflicts_with = "directory")]
    dir: Vec<PathBuf>,
    /// Show times as ages, or as date and time (UTC)
    #[arg(long, value_enum, value_name = "STYLE")]
    time: Option<TimeStyle>,
    /// Read every file, without using or writing the cache
    #[arg(long)]
    no_cache: bool,
    /// One JSON object per session and line: path, agent, id, cwd, name, created, modified,
    /// messageCount, entryCount, branchCount, compactionCount, findingCount, tokens, cost,
    /// firstMessage, parentSession, size
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, store: &StoreChoice, out: &mut Output) -> Result<(), Failure> {
    let now = clock::now();
    let places = sessions::places_in(&args.dir)?;
    let project = project(args, &places)?;
    let store = store.open_unless(args.directory.is_some() || !args.dir.is_empty())?;
    let contents = match (&args.directory, &store) {
        (Some(dir), _) => in_directory(dir)?,
        (None, Some(store)) => in_store(store, args, project.as_ref(), now)?,
        (None, None) => sessions::read(&index(args, places.clone())),
    };
    let wanted = |session: &&SessionInfo| {
        project.as_ref().is_none_or(|project| project.has(&session.cwd)) && args.wants(session, now)
    };
    let mut listed: Vec<&SessionInfo> = contents.sessions.iter().filter(wanted).collect();
    filter::sort(&mut listed, args.sort);
    listed.truncate(args.limit.unwrap_or(usize::MAX));
    if args.json {
        for session in &listed {
            write_json(session, out)?;
        }
    } else if let (true, Some(store)) = (listed.is_empty(), &store) {
        let what = format!("no sessions found in the store {}", safe_line(&store.location()));
        output::write_notice("note", &what);
        if project.is_some() {
            let location = shell_word(Path::new(&store.location()));
            let hint =
                format!("`treering ls --all --store {location}` lists those of all projects");
            output::write_notice("hint", &safe_line(&hint));
        }
    } else if listed.is_empty() {
        note_that_nothing_was_found(args, &places, project.as_ref(), contents.sessions.len());
    } else {
        let shown = match &args.directory {
            Some(dir) => ListKind::Directory(dir),
            None => ListKind::SessionIndex {
                ids: treering_index::short_ids(&contents.sessions),
                project: project.as_ref().and_then(ProjectFilter::root),
                home: places.home(),
                findings: args.findings,
            },
        };
        let when = match args.time.unwrap_or(Config::current().ui.time) {
            TimeStyle::Relative => ListTimeFormat::Ago(now),
            TimeStyle::Iso => ListTimeFormat::Iso,
        };
        table::write(&listed, &shown, when, out)?;
    }
    out.finish()?;
    warn_of_skipped(&contents.skipped, args.directory.is_some());
    Ok(())
}

impl Args {
    fn wants(&self, session: &SessionInfo, now: i64) -> bool {
        self.agent.is_none_or(|agent| session.agent == agent)
            && self.since.is_none_or(|since| session.modified >= since.at(now))
            && (!self.named || session.name.is_some())
            && (!self.branches || session.branch_count > 1)
            && (!self.findings || session.finding_count > 0)
    }
}

fn index(args: &Args, places: Places) -> SessionIndex {
    match args.no_cache {
        true => SessionIndex::new(places).with_cache(None),
        false => SessionIndex::new(places),
    }
}

fn project(args: &Args, places: &Places) -> Result<Option<ProjectFilter>, Failure> {
    match &args.project {
        Some(dir) => ProjectFilter::named(dir).map(Some),
        None => {
            let everything = args.all || args.directory.is_some();
            Ok((!everything).then(|| ProjectFilter::Project(sessions::project(places))))
        }
    }
}

/// Returns the sessions of a directory that the user named.
fn in_directory(dir: &Path) -> Result<Contents, Failure> {
    let places = sessions::places_in(&[dir.to_owned()])?;
    Ok(sessions::read(&SessionIndex::new(places).with_cache(None)))
}

/// Returns the sessions of a store.
fn in_store(
    store: &Arc<dyn Store>,
    args: &Args,
    project: Option<&ProjectFilter>,
    now: i64,
) -> Result<Contents, Failure> {
    let mut query = project.map_or_else(ListQuery::new, ProjectFilter::query);
    if let Some(agent) = args.agent {
        query = query.agent(agent);
    }
    if let Some(since) = args.since {
        query = query.since(since.at(now));
    }
    let mut contents = Contents::default();
    contents.sessions = stores::list_all(store, &query)?;
    Ok(contents)
}

fn write_json(session: &SessionInfo, out: &mut Output) -> Result<(), Failure> {
    let created = session.created.map(treering::time::format);
    let modified = treering::time::format(session.modified);
    out.write_all(b"{\"path\":")?;
    out.json_path(&session.path)?;
    let fields = [
        ("agent", Some(session.agent.name())),
        ("id", Some(session.id.as_str())),
        ("cwd", Some(&session.cwd)),
        ("name", session.name.as_deref()),
        ("created", created.as_deref()),
        ("modified", Some(&modified)),
        ("firstMessage", Some(&session.first_message)),
        ("parentSession", session.parent_session.as_deref()),
    ];
    for (key, value) in fields {
        out.write_all(b",")?;
        json_string(out, key)?;
        out.write_all(b":")?;
        json_string_or_null(out, value)?;
    }
    let tokens = session.tokens.map_or("null".to_owned(), |tokens| tokens.to_string());
    let cost = session.cost.filter(|cost| cost.is_finite());
    let cost = cost.map_or("null".to_owned(), |cost| cost.to_string());
    let numbers = [
        ("messageCount", session.message_count.to_string()),
        ("entryCount", session.entry_count.to_string()),
        ("branchCount", session.branch_count.to_string()),
        ("compactionCount", session.compaction_count.to_string()),
        ("findingCount", session.finding_count.to_string()),
        ("tokens", tokens),
        ("cost", cost),
        ("size", session.size.to_string()),
    ];
    for (key, number) in numbers {
        write!(out, ",\"{key}\":{number}")?;
    }
    if session.is_partial {
        out.write_all(b",\"partial\":true")?;
    }
    writeln!(out, "}}")?;
    Ok(())
}

/// Reports why the list is empty, and what to try.
fn note_that_nothing_was_found(
    args: &Args,
    places: &Places,
    project: Option<&ProjectFilter>,
    found: usize,
) {
    let show = |path: &Path| safe_line(&path.to_string_lossy());
    if let Some(dir) = &args.directory {
        return output::write_notice("note", &format!("no sessions in {}", show(dir)));
    }
    let of = match project {
        Some(ProjectFilter::Project(project)) => format!(" in {}", show(project.root())),
        Some(ProjectFilter::Called(name)) => format!(" in a project named {}", safe_line(name)),
        None => String::new(),
    };
    if found > 0 {
        let others = count(found, "session is", "sessions are");
        output::write_notice("note", &format!("no sessions found{of}; {others} on this machine"));
        let hint = "`treering ls --all` lists those of all projects";
        return output::write_notice("hint", hint);
    }
    let (there, missing): (Vec<_>, Vec<_>) = places.iter().partition(|place| place.dir.is_dir());
    let list = |places: &[&treering_index::Place]| {
        places.iter().map(|place| show(&place.dir)).collect::<Vec<_>>().join(", ")
    };
    output::write_notice("note", "no sessions on this machine");
    if !there.is_empty() {
        output::write_notice("note", &format!("looked in {}", list(&there)));
    }
    if !missing.is_empty() {
        output::write_notice("note", &format!("these do not exist: {}", list(&missing)));
    }
    let hint = "`treering ls --dir DIR` looks elsewhere, TREERING_SESSIONS=DIR always; `treering demo` creates a session";
    output::write_notice("hint", hint);
}

/// The maximum number of files that are not sessions that are named.
const MAX_SKIPPED: usize = 5;

/// Reports the files that were left out. In the agents' directories other files are normal, so
/// their number is enough.
pub(super) fn warn_of_skipped(skipped: &[Skipped], is_directory: bool) {
    let (none, unreadable): (Vec<&Skipped>, Vec<&Skipped>) =
        skipped.iter().partition(|skipped| skipped.is_no_session && !is_directory);
    for skipped in unreadable.iter().take(MAX_SKIPPED) {
        let (path, reason) = (skipped.path.to_string_lossy(), &skipped.reason);
        let what = match skipped.is_no_session {
            true => format!("{path}: not a session: {reason}"),
            false if reason.contains(&*path) => reason.clone(),
            false => format!("{path}: {reason}"),
        };
        output::write_notice("warning", &safe_line(&what));
    }
    if let Some(more) = unreadable.len().checked_sub(MAX_SKIPPED).filter(|more| *more > 0) {
        let more = match is_directory {
            true => {
                count(more, "more file that is not a session", "more files that are not sessions")
            }
            false => format!("{more} more that cannot be read"),
        };
        output::write_notice("warning", &format!("… and {more}"));
    }
    if let Some(first) = none.first() {
        let what = count(none.len(), "file is not a session", "files are not sessions");
        let such = safe_line(&first.path.to_string_lossy());
        output::write_notice(
            "note",
            &format!("{what}, such as {such}: {}", safe_line(&first.reason)),
        );
    }
}
