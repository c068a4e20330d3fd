//! `treering gc`
//!
//! It removes only sessions without messages, exact copies of other sessions, and unfinished files
//! of treering. Files that were modified within the last hour or are locked are never removed.
//! Everything that is removed is moved to the trash.

use super::rm;
use crate::clock;
use crate::error::Failure;
use crate::output::{self, Output, Style};
use crate::progress::Meter;
use crate::sessions;
use crate::text::{count, safe_line, shell_word, size};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use treering::catalog::{Progress, SessionInfo};
use treering::internal::fs;
use treering::{Catalog, Kind, Session};
use treering_index::housekeeping::{self, Recent};
use treering_index::{Contents, Places, SessionIndex};

/// The time since the last modification of a file that may be removed, in milliseconds.
const LEFT_ALONE: i64 = 3_600_000;

/// Find empty and duplicate sessions and unfinished files, and move them to the trash
///
/// Finds sessions without a message, exact copies of other sessions (the one in its usual place is kept,
/// else the oldest), and unfinished files of treering. Files that were written to within the last hour
/// are left alone. Without `--yes` the files are only listed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Move them to the trash
    #[arg(short, long)]
    yes: bool,
    /// Only list them (the default)
    #[arg(short = 'n', long, conflicts_with = "yes")]
    dry_run: bool,
    /// Look in this directory instead of where agents keep their sessions; may be repeated
    #[arg(long, short, value_name = "DIR")]
    dir: Vec<PathBuf>,
    /// One JSON object per file and line: path, reason (empty, duplicate, unfinished), keeps (the copy
    /// that stays), size, trash (where it is now)
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let places = sessions::places_in(&args.dir)?;
    let index = SessionIndex::new(places);
    let contents = sessions::read(&index);
    let mut items = empty(&contents);
    let gone: HashSet<PathBuf> = items.iter().map(|item| item.path.clone()).collect();
    let rest = contents.sessions.iter().filter(|session| !gone.contains(&session.path));
    items.extend(duplicates(rest, index.places()));
    items.extend(index.leftovers().into_iter().filter_map(unfinished));
    items.sort_by(|a, b| a.path.cmp(&b.path));
    let mut listed = Vec::new();
    for item in items {
        let trash = if args.yes { item.dispose()? } else { None };
        if args.yes && trash.is_none() {
            continue;
        }
        item.write(trash.as_deref(), args.json, out)?;
        listed.push(item);
    }
    if !args.json {
        out.finish()?;
        write_totals(&listed, args);
    }
    Ok(())
}

fn write_totals(items: &[RemovableFile], args: &Args) {
    let total = size(items.iter().map(|item| item.size).sum());
    let files = count(items.len(), "file", "files");
    match (items.is_empty(), args.yes) {
        (true, _) => output::write_notice("note", "nothing to clean up"),
        (false, true) => {
            output::write_notice("note", &format!("{files}, {total}, moved to the trash"))
        }
        (false, false) => {
            output::write_notice("note", &format!("{files}, {total}"));
            let dirs = args.dir.iter().map(|dir| format!(" --dir {}", shell_word(dir)));
            let hint =
                format!("`treering gc{} --yes` moves them to the trash", dirs.collect::<String>());
            output::write_notice("hint", &safe_line(&hint));
        }
    }
}

/// The reason why a file can be removed.
#[derive(Debug, PartialEq, Eq)]
enum RemovalReason {
    Empty,
    Duplicate { keeps: PathBuf },
    Unfinished,
}

#[derive(Debug)]
struct RemovableFile {
    path: PathBuf,
    reason: RemovalReason,
    size: u64,
}

impl RemovableFile {
    /// Returns the file, if it has not been modified for long enough and is not locked.
    fn of(path: PathBuf, reason: RemovalReason) -> Option<Self> {
        let metadata = fs::symlink_metadata(&path).ok().filter(|metadata| metadata.is_file())?;
        let is_old = housekeeping::idle(metadata.modified, clock::now()) >= LEFT_ALONE;
        let is_free = is_old && housekeeping::hold(&path, Recent::Accepted, clock::now()).is_ok();
        is_free.then_some(RemovableFile { path, reason, size: metadata.len })
    }

    /// Moves the file to the trash, if it has not changed.
    fn dispose(&self) -> Result<Option<PathBuf>, Failure> {
        let _held = housekeeping::hold(&self.path, Recent::Refused, clock::now())?;
        let is_still_so = match &self.reason {
            RemovalReason::Empty => is_empty(&self.path),
            RemovalReason::Duplicate { keeps } => {
                housekeeping::is_same(&self.path, keeps).unwrap_or(false)
            }
            RemovalReason::Unfinished => true,
        };
        match is_still_so {
            true => rm::to_trash(&self.path).map(Some),
            false => Ok(None),
        }
    }

    fn write(&self, trash: Option<&Path>, json: bool, out: &mut Output) -> Result<(), Failure> {
        let (name, keeps) = match &self.reason {
            RemovalReason::Empty => ("empty", None),
            RemovalReason::Duplicate { keeps } => ("duplicate", Some(&**keeps)),
            RemovalReason::Unfinished => ("unfinished", None),
        };
        if json {
            out.write_all(b"{\"path\":")?;
            out.json_path(&self.path)?;
            write!(out, ",\"reason\":\"{name}\",\"keeps\":")?;
            out.json_path_or_null(keeps)?;
            write!(out, ",\"size\":{},\"trash\":", self.size)?;
            out.json_path_or_null(trash)?;
            writeln!(out, "}}")?;
            return Ok(());
        }
        let what = match keeps {
            None => name.to_owned(),
            Some(keeps) => format!("the same as {}", safe_line(&keeps.to_string_lossy())),
        };
        let what = out.paint(Style::Dim, &format!("({}, {what})", size(self.size)));
        writeln!(out, "{} {what}", safe_line(&self.path.to_string_lossy()))?;
        Ok(())
    }
}

/// Returns sessions without messages, and unfinished session files.
fn empty(contents: &Contents) -> Vec<RemovableFile> {
    let silent = contents
        .sessions
        .iter()
        .filter(|session| session.message_count == 0 && !session.is_partial);
    let silent = silent.map(|session| &session.path);
    let skipped = contents.skipped.iter().map(|skipped| &skipped.path);
    let is_blank = |path: &&PathBuf| path.metadata().is_ok_and(|m| m.is_file() && m.len() == 0);
    let all = silent.chain(skipped.filter(is_blank)).filter(|path| is_empty(path));
    all.filter_map(|path| RemovableFile::of(path.clone(), RemovalReason::Empty)).collect()
}

/// Returns whether a file has neither messages nor names, but at most settings.
fn is_empty(path: &Path) -> bool {
    let Ok(session) = Session::open(path) else { return false };
    let tree = session.tree();
    let is_setting =
        |kind| matches!(kind, Kind::ModelChange | Kind::ThinkingLevelChange | Kind::Leaf);
    tree.shadowed() == 0
        && session.findings().is_ok_and(|findings| findings.is_empty())
        && tree.ids().all(|id| tree.kind(id.as_str()).is_ok_and(is_setting))
}

/// Returns sessions that are exact copies of others.
fn duplicates<'a>(
    sessions: impl Iterator<Item = &'a SessionInfo>,
    places: &Places,
) -> Vec<RemovableFile> {
    let mut alike: HashMap<(&str, u64), Vec<&SessionInfo>> = HashMap::new();
    for session in sessions {
        alike.entry((session.id.as_str(), session.size)).or_default().push(session);
    }
    let mut items = Vec::new();
    let groups: Vec<_> = alike.into_values().filter(|group| group.len() > 1).collect();
    let (meter, total) = (Meter::new(), groups.len());
    for (done, mut group) in groups.into_iter().enumerate() {
        meter.show(Progress::new(done, total));
        group.sort_by_cached_key(|session| {
            let modified = session.path.metadata().and_then(|metadata| metadata.modified());
            let modified = modified.unwrap_or(SystemTime::UNIX_EPOCH);
            (Reverse(rank(session, places)), modified, session.path.clone())
        });
        let Some((keeps, others)) = group.split_first() else { continue };
        for other in others {
            if housekeeping::is_same(&other.path, &keeps.path).unwrap_or(false) {
                let reason = RemovalReason::Duplicate { keeps: keeps.path.clone() };
                items.extend(RemovableFile::of(other.path.clone(), reason));
            }
        }
    }
    items
}

/// Ranks the location of a session: where its agent stores it for its project, elsewhere in the
/// agent's directory, or anywhere else.
fn rank(session: &SessionInfo, places: &Places) -> u8 {
    let dir = session.path.parent().unwrap_or(Path::new(""));
    let is_of_project =
        dir.parent().map(Catalog::new).is_some_and(|c| c.dir_for(&session.cwd) == dir);
    let is_agents = places
        .iter()
        .any(|place| place.agent == Some(session.agent) && session.path.starts_with(&place.dir));
    u8::from(is_agents) * 2 + u8::from(is_of_project)
}

fn unfinished(path: PathBuf) -> Option<RemovableFile> {
    RemovableFile::of(path, RemovalReason::Unfinished)
}
