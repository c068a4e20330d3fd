//! `treering search`

use crate::clock;
use crate::describe;
use crate::error::Failure;
use crate::output::{self, Output, Style, json_string, json_string_or_null};
use crate::progress::{self, Meter};
use crate::sessions;
use crate::stores::StoreChoice;
use crate::text::{age, columns, count, excerpt, fit_end, pad, safe_line, shell_word, size};
use crate::typed::{number, positive};
use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use treering::store::Store;
use treering_index::SessionIndex;
use treering_search::{
    BranchState, Case, Found, Hit, Options, Query, SessionHits, Snippet, Sort, Summary, search,
    search_store,
};

/// Search all branches of all sessions, including abandoned and compacted entries
///
/// An entry matches if it contains every word, every "phrase" and every
/// re:pattern of the query; case is ignored. Quotes are part of the query:
/// treering search '"off by one" parser'. OR requires only one of two words, and
/// a minus sign excludes entries with a word: treering search 'parser OR lexer
/// -test'. A word before a colon is a filter:
///
///   role:user        entries of a role: user, assistant, tool, bash, system, custom, or
///                    summary, label, name
///   tool:bash        calls of a tool and their results
///   agent:codex      sessions of an agent: pi, omp, claude-code, codex …
///   project:web      sessions whose project directory contains this
///   model:opus       sessions with answers of a model whose name contains this
///   since:7d         sessions last used after this time: an age (12h, 7d, 2w, 3mo) or a day
///                    (yesterday, 2026-01-31)
///   before:2w        sessions last used before this time
///   label:"try 2"    sessions with this label
///   file:src/x.rs    sessions that read or modified a file
///
/// The symbols mark hits that are ● on the active path, ○ abandoned,
/// ◌ compacted away or edited out, ◇ of a subagent. The exit code is 1 if
/// nothing was found.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// The words, phrases and filters to search for
    #[arg(required = true, value_name = "QUERY")]
    query: Vec<String>,
    /// A directory of sessions, or a session file; all sessions of `treering ls --all` if not given
    #[arg(long, short, value_name = "PATH")]
    dir: Vec<PathBuf>,
    /// Stop after this many hits
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    limit: Option<usize>,
    /// The maximum number of hits of each session [default: 5; all with --json]
    #[arg(long, value_name = "N", value_parser = number::<usize>, allow_negative_numbers = true)]
    per_session: Option<usize>,
    /// The order of the sessions
    #[arg(long, value_enum, default_value = "new")]
    sort: Order,
    /// Match case
    #[arg(long, short)]
    case_sensitive: bool,
    /// Print only the paths of the files
    #[arg(short = 'l', long, conflicts_with_all = ["json", "per_session"])]
    files: bool,
    /// One JSON object per session and line: path, agent, id, cwd, name, firstMessage, modified,
    /// hitCount, hits (id, role, part, state, leaf, time, snippet, matches in characters of it)
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Order {
    /// The most recently written first
    New,
    /// The best matches first
    Relevance,
}

/// The number of hits of a session that are shown by default.
const PER_SESSION: usize = 5;

pub(crate) fn run(args: &Args, store: &StoreChoice, out: &mut Output) -> Result<(), Failure> {
    let case = if args.case_sensitive { Case::Respected } else { Case::Ignored };
    let query = Query::parse(&args.query.join(" "), case).map_err(|error| Failure::Usage {
        what: error.to_string(),
        hint: "`treering search --help` describes the query language".to_owned(),
    })?;
    let usual = if args.json { usize::MAX } else { PER_SESSION };
    let sort = match args.sort {
        Order::New => Sort::Newest,
        Order::Relevance => Sort::Relevance,
    };
    let options = Options::new()
        .sort(sort)
        .hits_per_session(if args.files { 1 } else { args.per_session.unwrap_or(usual) })
        // A limited search does not wait until all hits are counted.
        .counts_all(!args.files && args.limit.is_none())
        .max_hits(args.limit.unwrap_or(usize::MAX))
        .now(clock::now())
        .snippet_width(if args.json { 200 } else { out.width().saturating_sub(30).max(40) });
    let started = Instant::now();
    let meter = Meter::new();
    let mut report =
        ResultPrinter { args, out, now: options.now, first: true, skipped: Vec::new(), meter };
    let mut failed = None;
    let show = |found| match report.show(found) {
        Ok(()) => ControlFlow::Continue(()),
        Err(failure) => {
            failed = Some(failure);
            ControlFlow::Break(())
        }
    };
    let cancel = AtomicBool::new(false);
    let store = store.open_unless(!args.dir.is_empty())?;
    let mut has_files = false;
    let summary = match &store {
        Some(store) => search_store(store, &query, &options, &cancel, show)?,
        None => {
            let files = files(&args.dir)?;
            has_files = !files.is_empty();
            search(files, &query, &options, &cancel, show)
        }
    };
    let skipped = report.skipped;
    if let Some(failure) = failed {
        return Err(failure);
    }
    out.finish()?;
    warn_of(&skipped);
    write_search_totals(&summary, started);
    if summary.files == 0 {
        note_that_nothing_was_searched(has_files, store.as_ref());
    }
    match summary.sessions {
        0 => Err(Failure::Reported),
        _ => Ok(()),
    }
}

fn note_that_nothing_was_searched(has_files: bool, store: Option<&Arc<dyn Store>>) {
    if has_files {
        return output::write_notice("note", "no session passes the filters of the query");
    }
    output::write_notice("note", "there are no sessions to search");
    let hint = match store {
        None => "`treering ls --all` shows where treering looks; `--dir DIR` searches elsewhere"
            .to_owned(),
        Some(store) => {
            let location = shell_word(Path::new(&store.location()));
            format!("`treering ls --all --store {location}` lists the sessions of the store")
        }
    };
    output::write_notice("hint", &safe_line(&hint));
}

/// Returns the files to search: the given ones, all in the given directories, or all of this
/// machine.
fn files(given: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    if given.is_empty() {
        return Ok(SessionIndex::new(sessions::places()).files());
    }
    let mut found = Vec::new();
    for path in given {
        if treering::dialect::is_stored(path) {
            found.push(path.clone());
            continue;
        }
        let about = |error: io::Error| Failure::io("read", path, &error);
        match std::fs::metadata(path).map_err(about)?.is_dir() {
            true => {
                std::fs::read_dir(path).map_err(about)?;
                found.extend(SessionIndex::new(sessions::places().only([path.clone()])).files());
            }
            // A file that is none is left out if it is in a directory, but this one was named.
            false => match treering::active_projection(path) {
                Err(error @ treering::Error::NotASession { .. }) => {
                    return Err(Failure::about(error, path));
                }
                _ => found.push(path.clone()),
            },
        }
    }
    Ok(found)
}

struct ResultPrinter<'a> {
    args: &'a Args,
    out: &'a mut Output,
    now: i64,
    first: bool,
    skipped: Vec<String>,
    meter: Meter,
}

impl ResultPrinter<'_> {
    fn show(&mut self, found: Found) -> Result<(), Failure> {
        match found {
            Found::Unreadable(_, error) => {
                self.skipped.push(error.to_string());
                return Ok(());
            }
            Found::Session(session) if self.args.json => write_json(&session, self.out)?,
            Found::Session(session) if self.args.files => {
                writeln!(self.out, "{}", safe_line(&session.info.path.to_string_lossy()))?;
            }
            Found::Session(session) => self.write(&session)?,
            Found::Searched(progress) => {
                self.meter.show(progress);
                return Ok(());
            }
            _ => return Ok(()),
        }
        // Hits are shown as they are found.
        self.out.finish()
    }

    fn write(&mut self, session: &SessionHits) -> Result<(), Failure> {
        if !std::mem::take(&mut self.first) {
            writeln!(self.out)?;
        }
        self.write_head(session)?;
        let widest = |cell: fn(&Hit) -> &str| {
            session.hits.iter().map(|hit| columns(&safe_line(cell(hit)))).max().unwrap_or(0)
        };
        let widths = (widest(|hit| &hit.short), widest(|hit| &hit.name));
        for hit in &session.hits {
            self.write_hit(hit, widths)?;
        }
        if let Some(more) = session.total.checked_sub(session.hits.len()).filter(|more| *more > 0) {
            let more = format!("  … and {}", count(more, "more hit", "more hits"));
            let more = self.out.paint(Style::Dim, &more);
            writeln!(self.out, "{more}")?;
        }
        Ok(())
    }

    /// Writes the agent, title, age and project of a session.
    fn write_head(&mut self, session: &SessionHits) -> Result<(), Failure> {
        let info = &session.info;
        let path = info.path.strip_prefix(".").unwrap_or(&info.path);
        let path = safe_line(&path.to_string_lossy());
        let path = fit_end(&path, self.out.width() / 2);
        let age = age(self.now - info.modified);
        let used = info.agent.name().len() + age.len() + columns(&path) + 6;
        let id = safe_line(info.id.as_str());
        // Most files are named after the session.
        let id = if path.contains(&id) { String::new() } else { format!("  {id}") };
        let room = self.out.width().saturating_sub(used + columns(&id)).max(16);
        let title = excerpt(info.title(), room);
        let style = if info.name.is_some() { Style::Label } else { Style::Heading };
        let (agent, title) =
            (self.out.paint(Style::Dim, info.agent.name()), self.out.paint(style, &title));
        let rest = self.out.paint(Style::Dim, &format!("{age}  {path}{id}"));
        writeln!(self.out, "{agent}  {title}  {rest}")?;
        Ok(())
    }

    fn write_hit(&mut self, hit: &Hit, (id, name): (usize, usize)) -> Result<(), Failure> {
        let (mark, word, style) = state(&hit.state);
        let word = if self.out.has_colors() { "" } else { word };
        let mark = self.out.paint(style, mark);
        let word = if word.is_empty() { String::new() } else { format!(" {}", pad(word, 9)) };
        let short = self.out.paint(Style::Id, &pad(&safe_line(&hit.short), id));
        let name = pad(&safe_line(&hit.name), name);
        let name = self.out.paint(describe::style(hit.kind, hit.role), &name);
        let text = self.snippet(&hit.snippet);
        let line = format!("  {mark}{word} {short}  {name}  {text}");
        writeln!(self.out, "{}", line.trim_end())?;
        Ok(())
    }

    /// Returns the snippet, safe to show, with its matches marked.
    fn snippet(&self, snippet: &Snippet) -> String {
        let mut text = String::from(if snippet.cut_before { "…" } else { "" });
        for (piece, found) in snippet.pieces() {
            let piece = safe_line(piece);
            match found {
                true => text.push_str(&self.out.paint(Style::Match, &piece)),
                false => text.push_str(&piece),
            }
        }
        text.push_str(if snippet.cut_after { "…" } else { "" });
        text
    }
}

/// Returns the mark, the word and the style of a branch state.
fn state(state: &BranchState) -> (&'static str, &'static str, Style) {
    match state {
        BranchState::Active => ("●", "active", Style::Leaf),
        BranchState::Compacted => ("◌", "compacted", Style::Summary),
        BranchState::Edited => ("◌", "edited", Style::Summary),
        BranchState::Sidechain => ("◇", "sidechain", Style::Dim),
        _ => ("○", "abandoned", Style::Dim),
    }
}

fn write_json(session: &SessionHits, out: &mut Output) -> Result<(), Failure> {
    let info = &session.info;
    let modified = treering::time::format(info.modified);
    let fields = [
        ("agent", Some(info.agent.name())),
        ("id", Some(info.id.as_str())),
        ("cwd", Some(&info.cwd)),
        ("name", info.name.as_deref()),
        ("firstMessage", Some(&info.first_message)),
        ("modified", Some(&modified)),
    ];
    out.write_all(b"{\"path\":")?;
    out.json_path(&info.path)?;
    out.write_all(b",")?;
    write_fields(&fields, out)?;
    write!(out, ",\"hitCount\":{},\"hits\":[", session.total)?;
    for (at, hit) in session.hits.iter().enumerate() {
        out.write_all(if at == 0 { b"{" } else { b",{" })?;
        let leaf = match &hit.state {
            BranchState::Abandoned(leaf) => Some(leaf.as_str()),
            _ => None,
        };
        let time = hit.time.map(treering::time::format);
        let fields = [
            ("id", hit.entry.as_ref().map(|id| id.as_str())),
            ("role", Some(hit.name.as_str())),
            ("part", Some(hit.part.name())),
            ("state", Some(hit.state.name())),
            ("leaf", leaf),
            ("time", time.as_deref()),
            ("snippet", Some(hit.snippet.text.as_str())),
        ];
        write_fields(&fields, out)?;
        out.write_all(b",\"matches\":[")?;
        for (at, (start, end)) in character_ranges(&hit.snippet).into_iter().enumerate() {
            write!(out, "{}[{start},{end}]", if at == 0 { "" } else { "," })?;
        }
        out.write_all(b"]}")?;
    }
    Ok(out.write_all(b"]}\n")?)
}

fn write_fields(fields: &[(&str, Option<&str>)], out: &mut Output) -> Result<(), Failure> {
    for (at, (key, value)) in fields.iter().enumerate() {
        out.write_all(if at == 0 { b"" } else { b"," })?;
        json_string(out, key)?;
        out.write_all(b":")?;
        json_string_or_null(out, *value)?;
    }
    Ok(())
}

/// Returns the positions of the matches in characters, which every programming language can use.
fn character_ranges(snippet: &Snippet) -> Vec<(usize, usize)> {
    let mut at = 0;
    let mut ranges = Vec::new();
    for (piece, found) in snippet.pieces() {
        let end = at + piece.chars().count();
        if found {
            ranges.push((at, end));
        }
        at = end;
    }
    ranges
}

/// The largest number of unreadable files that are named.
const MAX_SKIPPED: usize = 5;

fn warn_of(skipped: &[String]) {
    for error in skipped.iter().take(MAX_SKIPPED) {
        output::write_notice("warning", &safe_line(error));
    }
    if let Some(more) = skipped.len().checked_sub(MAX_SKIPPED).filter(|more| *more > 0) {
        output::write_notice("warning", &format!("… and {more} more files that cannot be read"));
    }
}

/// Writes the totals of a search.
fn write_search_totals(summary: &Summary, started: Instant) {
    let mut stderr = io::stderr();
    if stderr.is_terminal() {
        let Summary { files, bytes, sessions, hits, .. } = *summary;
        let (hits, sessions) = (count(hits, "hit", "hits"), count(sessions, "session", "sessions"));
        let seconds = started.elapsed().as_secs_f64();
        let bytes = size(bytes);
        progress::stop();
        let _ =
            writeln!(stderr, "{hits} in {sessions} ({files} searched, {bytes}, in {seconds:.1} s)");
    }
}
