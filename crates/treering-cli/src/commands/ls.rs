//! `treering ls`

use crate::error::Failure;
use crate::output::{self, Output, Style, json_string, json_string_or_null};
use crate::progress::Meter;
use crate::text::{age, columns, excerpt, fit, fit_end, pad, safe_line, size};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use treering::{Catalog, Listing, SessionInfo};

/// List the sessions in a directory and the directories in it, newest first
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory; the current one if not given
    #[arg(default_value = ".", hide_default_value = true)]
    dir: PathBuf,
    /// One JSON object per session and line: path, agent, id, cwd, name, created, modified,
    /// messageCount, entryCount, firstMessage, parentSession, size
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    // The library takes a missing directory for an empty one; somebody who typed it does not.
    if let Err(error) = std::fs::read_dir(&args.dir) {
        return Err(Failure::message(format!("{}: {error}", args.dir.display())));
    }
    let listing = list(&args.dir)?;
    for session in &listing.sessions {
        if args.json {
            write_json(session, out)?;
        }
    }
    if !args.json {
        write(&listing.sessions, &args.dir, out)?;
    }
    out.finish()?;
    warn_of_skipped(&listing);
    Ok(())
}

fn list(dir: &Path) -> Result<Listing, Failure> {
    let mut meter = Meter::new();
    let listing = Catalog::new(dir).list_all(|progress| meter.show(progress));
    meter.clear();
    Ok(listing?)
}

fn write_json(session: &SessionInfo, out: &mut Output) -> Result<(), Failure> {
    let created = session.created.map(treering::format_time);
    let modified = treering::format_time(session.modified);
    let path = session.path.to_string_lossy();
    let fields = [
        ("path", Some(&*path)),
        ("agent", Some(session.agent.name())),
        ("id", Some(&session.id)),
        ("cwd", Some(&session.cwd)),
        ("name", session.name.as_deref()),
        ("created", created.as_deref()),
        ("modified", Some(&modified)),
        ("firstMessage", Some(&session.first_message)),
        ("parentSession", session.parent_session.as_deref()),
    ];
    for (at, (key, value)) in fields.iter().enumerate() {
        out.write_all(if at == 0 { b"{" } else { b"," })?;
        json_string(out, key)?;
        out.write_all(b":")?;
        json_string_or_null(out, *value)?;
    }
    let SessionInfo { message_count, entry_count, size, .. } = session;
    writeln!(
        out,
        ",\"messageCount\":{message_count},\"entryCount\":{entry_count},\"size\":{size}}}"
    )?;
    Ok(())
}

/// One session as a row of text.
struct Row {
    age: String,
    messages: String,
    size: String,
    agent: &'static str,
    title: String,
    named: bool,
    file: String,
}

impl Row {
    fn of(session: &SessionInfo, dir: &Path, now: i64) -> Self {
        let file = session.path.strip_prefix(dir).unwrap_or(&session.path);
        let named = session.name.is_some();
        let title = session.name.as_deref().unwrap_or(&session.first_message);
        Row {
            age: age(now - session.modified),
            messages: session.message_count.to_string(),
            size: size(session.size),
            agent: session.agent.name(),
            title: excerpt(title, 200),
            named,
            file: safe_line(&file.to_string_lossy()),
        }
    }
}

const HEADINGS: [&str; 6] = ["AGE", "MESSAGES", "SIZE", "AGENT", "NAME OR FIRST MESSAGE", "FILE"];

fn write(sessions: &[SessionInfo], dir: &Path, out: &mut Output) -> Result<(), Failure> {
    if sessions.is_empty() {
        out.finish()?;
        output::complain("note", &format!("no sessions in {}", safe_line(&dir.to_string_lossy())));
        return Ok(());
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
    let rows: Vec<Row> = sessions.iter().map(|session| Row::of(session, dir, now)).collect();
    let widest = |heading: &str, cell: fn(&Row) -> &str| {
        rows.iter().map(|row| columns(cell(row))).max().unwrap_or(0).max(heading.len())
    };
    let first = [
        widest(HEADINGS[0], |row| &row.age),
        widest(HEADINGS[1], |row| &row.messages),
        widest(HEADINGS[2], |row| &row.size),
        widest(HEADINGS[3], |row| row.agent),
    ];
    let left = out.width().saturating_sub(first.iter().sum::<usize>() + 10);
    let file = widest(HEADINGS[5], |row| &row.file).min(left / 2);
    let title = widest(HEADINGS[4], |row| &row.title).min(left - file);

    let head = format!(
        "{:>3$}  {:>4$}  {:>5$}  ",
        HEADINGS[0], HEADINGS[1], HEADINGS[2], first[0], first[1], first[2]
    );
    let agent = pad(HEADINGS[3], first[3]);
    let head = format!("{head}{agent}  {}  {}", pad(HEADINGS[4], title), HEADINGS[5]);
    let head = out.paint(Style::Dim, &head);
    writeln!(out, "{head}")?;
    for row in &rows {
        let numbers = format!(
            "{:>3$}  {:>4$}  {:>5$}",
            row.age, row.messages, row.size, first[0], first[1], first[2]
        );
        let agent = out.paint(Style::Dim, &pad(row.agent, first[3]));
        let shown = pad(&fit(&row.title, title), title);
        let shown = if row.named { out.paint(Style::Label, &shown) } else { shown };
        let name = out.paint(Style::Dim, &fit_end(&row.file, file));
        writeln!(out, "{numbers}  {agent}  {shown}  {name}")?;
    }
    Ok(())
}

/// How many files that are no sessions are worth naming.
const MAX_SKIPPED: usize = 5;

fn warn_of_skipped(listing: &Listing) {
    for (_, error) in listing.skipped.iter().take(MAX_SKIPPED) {
        output::complain("warning", &safe_line(&error.to_string()));
    }
    if let Some(more) = listing.skipped.len().checked_sub(MAX_SKIPPED).filter(|more| *more > 0) {
        output::complain("warning", &format!("… and {more} more files that are no sessions"));
    }
}
