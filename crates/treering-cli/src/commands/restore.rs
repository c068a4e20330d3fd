//! `treering restore`

use crate::clock;
use crate::error::Failure;
use crate::output::{self, Output, Style, json_string, json_string_or_null};
use crate::sessions;
use crate::text::{age, columns, count, excerpt, pad, safe_path};
use std::io::Write;
use std::path::{Path, PathBuf};
use treering::catalog::SessionInfo;
use treering_index::housekeeping::{Trash, TrashedFile};
use treering_index::{AddressError, resolve};

/// Restore sessions from the trash, or list the trash
///
/// Without an argument, lists the sessions in the trash, the last deleted first. To name a session, give
/// its id, its name, the beginning of either, its file, or `@all`, `@all/2` … in the order of that list.
/// The session goes back to where it was; an existing file is not replaced.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The sessions to restore; the trash is listed if not given
    #[arg(value_name = "SESSION")]
    sessions: Vec<String>,
    /// Restore the session that was deleted last
    #[arg(long, conflicts_with = "sessions")]
    last: bool,
    /// Restore to this file or directory instead
    #[arg(long, value_name = "PATH")]
    to: Option<PathBuf>,
    /// One JSON object per session and line: path, trash; in a list also agent, id, cwd, name,
    /// firstMessage, deleted
    #[arg(long)]
    json: bool,
}

/// A session in the trash. The path in `info` is its path in the trash.
struct Trashed {
    file: TrashedFile,
    info: SessionInfo,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let unreadable =
        |error: std::io::Error| Failure::message(format!("cannot read the trash: {error}"));
    let trash = Trash::from_env(|name| std::env::var_os(name)).map_err(unreadable)?;
    let found = read(&trash).map_err(unreadable)?;
    if args.sessions.is_empty() && !args.last {
        if args.to.is_some() {
            return Err(Failure::Usage {
                what: "--to needs a session to restore".to_owned(),
                hint: "name one, or add `--last`".to_owned(),
            });
        }
        return list(&found, args.json, out);
    }
    let wanted: Vec<&Trashed> = match args.last {
        true => {
            let last = found.first().ok_or_else(|| Failure::message("no session is in the trash"));
            vec![last?]
        }
        false => {
            let infos: Vec<SessionInfo> = found.iter().map(|one| one.info.clone()).collect();
            let find = |text: &String| find(text, &found, &infos);
            args.sessions.iter().map(find).collect::<Result<_, _>>()?
        }
    };
    if wanted.len() > 1 && args.to.as_ref().is_some_and(|to| !to.is_dir()) {
        let hint = "name a directory that exists, or restore one session at a time";
        return Err(Failure::with_hint("--to names one file for several sessions", hint));
    }
    for Trashed { file, .. } in wanted {
        let target = target(file, args.to.as_deref())?;
        trash.restore(file, &target).map_err(|error| {
            let what = format!("cannot restore {}: {error}", target.display());
            Failure::with_hint(what, "`--to PATH` puts it elsewhere; it is still in the trash")
        })?;
        write_restored(&target, file, args.json, out)?;
    }
    Ok(())
}

/// Returns the sessions in the trash, the last deleted first. Their paths are those in the trash.
pub(crate) fn sessions_in_trash() -> std::io::Result<Vec<SessionInfo>> {
    let trash = Trash::from_env(|name| std::env::var_os(name))?;
    Ok(read(&trash)?.into_iter().map(|one| one.info).collect())
}

/// Returns the sessions in the trash. Files with the name of a session that are not sessions are
/// left out.
fn read(trash: &Trash) -> std::io::Result<Vec<Trashed>> {
    let session = |file: TrashedFile| {
        let info = treering::catalog::info(&file.path).ok()?;
        Some(Trashed { file, info })
    };
    Ok(trash.sessions()?.into_iter().filter_map(session).collect())
}

/// Returns the session that a text names: by its file, or by an address as in all commands.
fn find<'a>(
    text: &str,
    found: &'a [Trashed],
    infos: &[SessionInfo],
) -> Result<&'a Trashed, Failure> {
    let path = Path::new(text);
    let is_so_called = |one: &&Trashed| {
        let origin = one.file.origin.as_deref();
        one.file.path == path
            || origin == Some(path)
            || origin.and_then(Path::file_name).is_some_and(|name| name == path.as_os_str())
            || origin
                .is_some_and(|origin| std::path::absolute(path).is_ok_and(|path| path == origin))
    };
    if let Some(by_file) = found.iter().find(is_so_called) {
        return Ok(by_file);
    }
    let project = sessions::project(&sessions::places());
    let info = resolve(text, infos, &project).map_err(|error| match error {
        AddressError::Unknown { text, .. } => {
            let what = format!("no session in the trash is named {text:?}");
            Failure::with_hint(what, "`treering restore` lists the trash")
        }
        AddressError::TooFew { .. } => {
            let what = format!(
                "there is no {text:?}: {} in the trash",
                count(infos.len(), "session is", "sessions are")
            );
            Failure::with_hint(what, "`treering restore` lists the trash")
        }
        error => sessions::failure(&error),
    })?;
    let is_meant = |one: &&Trashed| one.info.path == info.path;
    found.iter().find(is_meant).ok_or_else(|| Failure::message(format!("{text}: not found")))
}

/// Returns the path to which a session is restored.
fn target(file: &TrashedFile, to: Option<&Path>) -> Result<PathBuf, Failure> {
    let name = file.origin.as_deref().unwrap_or(&file.path).file_name().unwrap_or_default();
    match (to, &file.origin) {
        (Some(dir), _) if dir.is_dir() => Ok(dir.join(name)),
        (Some(to), _) => Ok(to.to_owned()),
        (None, Some(origin)) => Ok(origin.clone()),
        (None, None) => {
            let what = format!("{}: the trash does not record where it was", file.path.display());
            Err(Failure::with_hint(what, "`--to PATH` names the file or directory to restore to"))
        }
    }
}

fn write_restored(
    target: &Path,
    file: &TrashedFile,
    json: bool,
    out: &mut Output,
) -> Result<(), Failure> {
    if !json {
        return Ok(writeln!(out, "restored: {}", safe_path(target))?);
    }
    out.write_all(b"{\"path\":")?;
    out.json_path(target)?;
    out.write_all(b",\"trash\":")?;
    out.json_path(&file.path)?;
    Ok(writeln!(out, "}}")?)
}

fn list(found: &[Trashed], json: bool, out: &mut Output) -> Result<(), Failure> {
    if json {
        return found.iter().try_for_each(|one| write_json(one, out));
    }
    if found.is_empty() {
        out.finish()?;
        output::write_notice("note", "no session is in the trash");
        return Ok(());
    }
    let now = clock::now();
    let cells: Vec<[String; 3]> = found
        .iter()
        .map(|one| {
            let deleted = one.file.deleted.map_or("?".to_owned(), |at| age(now.saturating_sub(at)));
            let id = excerpt(one.info.id.as_str(), 36);
            [deleted, one.info.agent.name().to_owned(), id]
        })
        .collect();
    let heading = ["DELETED", "AGENT", "ID"].map(str::to_owned);
    let mut widths = heading.each_ref().map(|cell| columns(cell));
    for row in &cells {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = columns(cell).max(*width);
        }
    }
    let row = |cells: &[String; 3], title: &str| {
        let cells: Vec<String> = cells.iter().zip(widths).map(|(cell, w)| pad(cell, w)).collect();
        format!("{}  {title}", cells.join("  "))
    };
    let heading = out.paint(Style::Dim, &row(&heading, "NAME OR FIRST MESSAGE"));
    writeln!(out, "{heading}")?;
    let width = out.table_width().saturating_sub(widths.iter().sum::<usize>() + 6).max(20);
    for (cells, one) in cells.iter().zip(found) {
        writeln!(out, "{}", row(cells, &excerpt(one.info.title(), width)))?;
    }
    Ok(())
}

fn write_json(one: &Trashed, out: &mut Output) -> Result<(), Failure> {
    let Trashed { file, info } = one;
    out.write_all(b"{\"path\":")?;
    out.json_path_or_null(file.origin.as_deref())?;
    out.write_all(b",\"trash\":")?;
    out.json_path(&file.path)?;
    let deleted = file.deleted.map(treering::time::format);
    let fields = [
        ("agent", Some(info.agent.name())),
        ("id", Some(info.id.as_str())),
        ("cwd", Some(info.cwd.as_str())),
        ("name", info.name.as_deref()),
        ("firstMessage", Some(info.first_message.as_str())),
        ("deleted", deleted.as_deref()),
    ];
    for (key, value) in fields {
        out.write_all(b",")?;
        json_string(out, key)?;
        out.write_all(b":")?;
        json_string_or_null(out, value)?;
    }
    Ok(writeln!(out, "}}")?)
}
