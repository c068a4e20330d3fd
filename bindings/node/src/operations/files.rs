//! Operations of the module: sessions in files and directories.

use super::plans::search_options;
use crate::args::{Args, wrong};
use crate::outcome::{Answer, Outcome};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use treering::branch_summary::BRANCH_SUMMARY_PREAMBLE;
use treering::catalog::{self, Catalog, Listing, SessionInfo};
use treering::compaction::{self, SUMMARIZER_ROLE};
use treering::context::ContextMessage;
use treering::convert::{ConvertOptions, convert};
use treering::dialect::Destination;
use treering::doctor::{self, RepairOptions, RepairTo};
use treering::fork::ForkOptions;
use treering::session::{NewSession, relocate};
use treering::{CreateOptions, OpenOptions, Session, SessionId};
use treering_bindings::{
    Data, Failure, LazySession, StoreOptions, ToData, UsageOptions, open_store, search_directories,
    usage_report,
};
use treering_index::Places;

/// Runs an operation; `None` if this module does not have it.
pub(super) fn invoke(operation: &str, args: &Args) -> Option<Answer> {
    Some(match operation {
        "version" => Ok(Outcome::of(env!("CARGO_PKG_VERSION"))),
        "open" => open(args),
        "create" => create(args),
        "openOrCreate" => open_or_create(args),
        "inMemory" => in_memory(args),
        "continueRecent" => continue_recent(args),
        "forkFrom" => fork_from(args),
        "directoryFor" => directory_for(args),
        "destination" => destination(args),
        "findById" => find_by_id(args),
        "list" => list(args),
        "listFiles" => list_files(args),
        "info" => info(args),
        "openStore" => store(args),
        "examine" => {
            args.needs_path("path").and_then(|path| Ok(Outcome::of(doctor::examine(path)?)))
        }
        "planRepair" => {
            args.needs_path("path").and_then(|path| Ok(Outcome::of(doctor::plan_repair(path)?)))
        }
        "repair" => repair(args),
        "convert" => converted(args),
        "relocate" => relocated(args),
        "search" => search(args),
        "usage" => usage(args),
        "estimateTokens" => {
            args.record().map(|message| Outcome::of(compaction::estimate_tokens(message)))
        }
        "conversationText" => Ok(conversation_text(args)),
        "branchPreamble" => Ok(Outcome::of(BRANCH_SUMMARY_PREAMBLE)),
        "summarizerRole" => Ok(Outcome::of(SUMMARIZER_ROLE)),
        "summaryRequest" | "prefixRequest" | "branchRequest" => request(operation, args),
        _ => return None,
    })
}

fn new_session(args: &Args) -> Result<NewSession, Failure> {
    let mut new = NewSession::new();
    if let Some(id) = args.text("id")? {
        new = new.id(SessionId::new(id)?);
    }
    if let Some(parent) = args.text("parentSession")? {
        new = new.parent_session(parent);
    }
    if let Some(dialect) = args.dialect("dialect")? {
        new = new.dialect(dialect);
    }
    if let Some(prompt) = args.text("systemPrompt")? {
        new = new.system_prompt(prompt);
    }
    Ok(new)
}

/// Returns the options of a new session.
pub(super) fn create_options(args: &Args) -> Result<CreateOptions, Failure> {
    let options = CreateOptions::new().session(new_session(args)?);
    Ok(options.creation(args.creation()?).durability(args.durability()?))
}

fn open(args: &Args) -> Answer {
    let options = OpenOptions::new().durability(args.durability()?);
    let path = args.needs_path("path")?;
    if args.flag("lazily")? {
        return Ok(Outcome::session(LazySession::open(path, options)?));
    }
    Ok(Outcome::session(Session::open_with(path, options)?))
}

fn catalog(args: &Args) -> Result<Catalog, Failure> {
    match (args.text("dir")?, args.text("root")?) {
        (Some(dir), _) => Ok(Catalog::flat(dir)),
        (None, Some(root)) => Ok(Catalog::new(root)),
        (None, None) => {
            Err(wrong("dir", "a directory of sessions (or root: a directory of such directories)"))
        }
    }
}

fn create(args: &Args) -> Answer {
    let cwd = args.needs_text("cwd")?;
    let options = create_options(args)?;
    Ok(Outcome::session(match args.text("path")? {
        Some(path) => Session::create_at(path, cwd, options)?,
        None => catalog(args)?.create(cwd, options)?,
    }))
}

fn open_or_create(args: &Args) -> Answer {
    let path = args.needs_path("path")?;
    Ok(Outcome::session(Session::open_or_create(
        path,
        args.needs_text("cwd")?,
        create_options(args)?,
    )?))
}

fn in_memory(args: &Args) -> Answer {
    Ok(Outcome::session(Session::in_memory_with(args.needs_text("cwd")?, new_session(args)?)?))
}

fn continue_recent(args: &Args) -> Answer {
    let catalog = catalog(args)?;
    Ok(Outcome::session(catalog.continue_recent(args.needs_text("cwd")?, create_options(args)?)?))
}

fn fork_from(args: &Args) -> Answer {
    let mut options = ForkOptions::new().creation(args.creation()?).durability(args.durability()?);
    if let Some(id) = args.text("id")? {
        options = options.id(SessionId::new(id)?);
    }
    let source = args.needs_path("path")?;
    Ok(Outcome::session(catalog(args)?.fork_from(source, args.needs_text("cwd")?, options)?))
}

fn directory_for(args: &Args) -> Answer {
    Ok(Outcome::of(catalog(args)?.dir_for(args.needs_text("cwd")?).display().to_string()))
}

/// Returns the directory in which an agent on this machine keeps the sessions of a project; null if there is none.
fn destination(args: &Args) -> Answer {
    let dialect =
        args.dialect("dialect")?.ok_or_else(|| wrong("dialect", "the name of a dialect"))?;
    // The environment of JavaScript may differ from that of the process: workers have their own.
    let home = args.text("home")?;
    let variable = |name: &str| match (name, home) {
        ("HOME", Some(home)) => Some(home.into()),
        _ => std::env::var_os(name),
    };
    let places = Places::from_env(variable);
    let directory = match places.destination(dialect, &args.needs_path("cwd")?) {
        Some(Destination::Directory(directory)) => Some(directory.display().to_string()),
        _ => None,
    };
    Ok(Outcome::of(directory))
}

fn find_by_id(args: &Args) -> Answer {
    let found = catalog(args)?.find_by_id(args.needs_text("id")?)?;
    Ok(Outcome::of(found.map(|path| path.display().to_string())))
}

fn listing(listing: &Listing) -> Outcome {
    let skipped = listing.skipped.iter().map(|(path, error)| {
        Data::Record(vec![
            ("path", path.display().to_string().to_data()),
            ("message", error.to_string().to_data()),
        ])
    });
    Outcome::record(vec![
        ("sessions", listing.sessions.to_data()),
        ("skipped", Data::List(skipped.collect())),
    ])
}

fn list(args: &Args) -> Answer {
    let found = match args.text("cwd")? {
        Some(cwd) => catalog(args)?.list(cwd, |_| ())?,
        None => catalog(args)?.list_all(|_| ())?,
    };
    Ok(listing(&found))
}

/// Describes some files, in the order in which they are given; null for one that is no session. With `byMessages`, for
/// the lists of pi, their times are those of their last messages, and only what those lists show is read.
fn list_files(args: &Args) -> Answer {
    let paths: Vec<PathBuf> = args.texts("paths")?.into_iter().map(PathBuf::from).collect();
    let mut found: Vec<Data> = vec![Data::Null; paths.len()];
    let places: HashMap<&Path, usize> = paths.iter().map(PathBuf::as_path).zip(0..).collect();
    let mut keep = |path: &Path, info: treering::Result<Data>| {
        if args.is_cancelled.load(Ordering::Relaxed) {
            return;
        }
        if let (Some(&place), Ok(info)) = (places.get(path), info) {
            found[place] = info;
        }
    };
    match args.flag("byMessages")? {
        true => catalog::infos_without_usage(&paths, |path, info, _| {
            keep(path, info.map(|(info, last_message)| brief(&info, last_message)));
        }),
        false => catalog::infos(&paths, |path, info, _| {
            keep(path, info.map(|info| info.to_data()));
        }),
    }
    Ok(Outcome::of(Data::List(found)))
}

/// Returns what pi's lists show of a session. `last_message` is the time of its last message.
fn brief(info: &SessionInfo, last_message: Option<i64>) -> Data {
    Data::Record(vec![
        ("id", info.id.as_str().to_data()),
        ("cwd", info.cwd.to_data()),
        ("name", info.name.to_data()),
        ("parent_session", info.parent_session.to_data()),
        ("created", info.created.to_data()),
        ("modified", last_message.unwrap_or(info.modified).to_data()),
        ("message_count", info.message_count.to_data()),
        ("first_message", info.first_message.to_data()),
    ])
}

fn info(args: &Args) -> Answer {
    Ok(Outcome::of(catalog::info(&args.needs_path("path")?)?))
}

fn store(args: &Args) -> Answer {
    let mut options = StoreOptions::default();
    options.token = args.text("token")?.map(str::to_owned);
    options.space = args.text("space")?.map(str::to_owned);
    Ok(Outcome::Store(open_store(args.needs_text("address")?, &options)?))
}

fn repair(args: &Args) -> Answer {
    let to = match (args.flag("inPlace")?, args.text("to")?) {
        (true, _) => RepairTo::InPlace,
        (false, Some(path)) => RepairTo::Path(path.into()),
        (false, None) => RepairTo::Beside,
    };
    Ok(Outcome::of(doctor::repair(args.needs_path("path")?, RepairOptions::new().to(to))?))
}

fn converted(args: &Args) -> Answer {
    let dialect =
        args.dialect("dialect")?.ok_or_else(|| wrong("dialect", "the name of a dialect"))?;
    let mut options = ConvertOptions::new();
    if let Some(position) = args.position("pathTo")? {
        options = options.path_to(position);
    }
    Ok(Outcome::of(convert(args.needs_path("path")?, args.needs_path("to")?, dialect, &options)?))
}

fn relocated(args: &Args) -> Answer {
    let (path, cwd, to) =
        (args.needs_path("path")?, args.needs_path("cwd")?, args.needs_path("to")?);
    let backup = relocate(path, cwd, to, |old| std::fs::remove_file(old))?;
    Ok(Outcome::of(backup.map(|path| path.display().to_string())))
}

fn directories(args: &Args) -> Result<Vec<PathBuf>, Failure> {
    Ok(args.texts("directories")?.into_iter().map(PathBuf::from).collect())
}

fn search(args: &Args) -> Answer {
    let query = args.needs_text("query")?;
    Ok(Outcome::of(search_directories(
        &directories(args)?,
        query,
        &search_options(args)?,
        &args.is_cancelled,
    )?))
}

fn usage(args: &Args) -> Answer {
    let options = UsageOptions {
        directories: directories(args)?,
        group_by: args.text("groupBy")?.map(str::to_owned),
        zone: args.text("zone")?.map(str::to_owned),
        since: args.millis("since")?,
        until: args.millis("until")?,
    };
    Ok(Outcome::of(usage_report(&options)?))
}

fn conversation_text(args: &Args) -> Outcome {
    let message = |json: &String| ContextMessage::new("", json.clone());
    let messages: Vec<ContextMessage> = args.data.iter().map(message).collect();
    Outcome::of(compaction::conversation_text(&messages))
}

fn request(operation: &str, args: &Args) -> Answer {
    let conversation = args.needs_text("conversation")?;
    let (previous, instructions) = (args.text("previousSummary")?, args.text("instructions")?);
    Ok(Outcome::of(match operation {
        "summaryRequest" => compaction::summary_request(conversation, previous, instructions),
        "prefixRequest" => compaction::prefix_request(conversation, previous, instructions),
        _ => compaction::branch_request(
            conversation,
            previous,
            instructions,
            args.flag("replaceInstructions")?,
        ),
    }))
}
