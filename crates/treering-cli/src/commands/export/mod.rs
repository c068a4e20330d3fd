//! `treering export`

mod site;

use crate::error::Failure;
use crate::output::Output;
use crate::progress;
use crate::redaction::{self, Redaction};
use crate::session_arg::SessionArg;
use crate::stores::StoreChoice;
use crate::text::{shell_word, size};
use crate::typed::TypedEntry;
use std::collections::HashSet;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use treering::session::Part;
use treering::{Dialect, Session};
use treering_export::{Existing, Export, document_name, write_file};
use treering_search::Since;

/// Export a session as HTML, Markdown, JSON or JSONL
///
/// html is one file with the tree, every branch and search; it needs no network, and nothing in it runs
/// but its own script. md is for pasting into an issue. json is one document for programs. jsonl is a
/// new session, which pi and treering open.
///
/// By default html and json contain everything, md and jsonl only the active branch.
///
/// With --site all sessions of this machine or of the store, or those of an agent, a project or a time,
/// become a static site: an index by project and day, a search that needs no server, and a page for each
/// session. A later run writes only what changed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session: a file, an id, a name, `@latest`, or a URL (https://HOST/s/ID)
    #[arg(value_name = "SESSION", required_unless_present = "site")]
    pub(crate) file: Option<SessionArg>,
    /// Write a site of many sessions to this directory, or update it
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["file", "format", "part", "output", "force", "thinking", "full"]
    )]
    site: Option<PathBuf>,
    /// With --site: sessions of this agent
    #[arg(long, value_name = "NAME", value_parser = treering_search::agent)]
    agent: Option<Dialect>,
    /// With --site: sessions of this project: a directory, or its last name
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// With --site: sessions used since this time: an age such as 12h, 3d, 2w, 3mo, or a date such as
    /// 2026-01-31 (UTC)
    #[arg(long, value_name = "WHEN", value_parser = Since::parse)]
    since: Option<Since>,
    /// The format to write; taken from the extension of the output if not given, else html
    #[arg(short, long, value_enum)]
    format: Option<Format>,
    /// Only the path to this entry (an id or its beginning)
    #[arg(long, value_name = "ID", group = "part")]
    branch: Option<TypedEntry>,
    /// Only this entry and its descendants
    #[arg(long, value_name = "ID", group = "part")]
    subtree: Option<TypedEntry>,
    /// Every branch
    #[arg(long, group = "part")]
    all: bool,
    /// The file to write; `-` is stdout. If not given: stdout if that is a pipe or a file (but not for
    /// html), else a file in this directory with the name of the session
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the output file if it exists
    #[arg(long)]
    force: bool,
    /// Markdown: include the thinking of the model
    #[arg(long)]
    thinking: bool,
    /// Markdown: include long tool results in full, and the system prompt
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    redaction: Redaction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Html,
    #[value(alias = "markdown")]
    Md,
    Jsonl,
    Json,
}

impl Format {
    fn extension(self) -> &'static str {
        match self {
            Format::Html => "html",
            Format::Md => "md",
            Format::Jsonl => "jsonl",
            Format::Json => "json",
        }
    }

    fn of(path: &Path) -> Option<Format> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match &*extension {
            "html" | "htm" => Some(Format::Html),
            "md" | "markdown" => Some(Format::Md),
            "jsonl" => Some(Format::Jsonl),
            "json" => Some(Format::Json),
            _ => None,
        }
    }
}

pub(crate) fn run(args: &Args, store: &StoreChoice, out: &mut Output) -> Result<(), Failure> {
    let file = match (&args.site, &args.file) {
        (Some(dir), _) => return site::write(args, dir, store, out),
        (None, _) if args.agent.is_some() || args.project.is_some() || args.since.is_some() => {
            return Err(Failure::Usage {
                what: "--agent, --project and --since choose the sessions of a site".to_owned(),
                hint: "name its directory with `--site DIR`".to_owned(),
            });
        }
        (None, Some(file)) => file,
        (None, None) => return Err(Failure::message("name a session, or a directory with --site")),
    };
    let named = args.output.as_deref().and_then(Format::of);
    let format = args.format.or(named).unwrap_or(Format::Html);
    if format != Format::Md && (args.thinking || args.full) {
        return Err(Failure::Usage {
            what: "--thinking and --full are for Markdown".to_owned(),
            hint: "add `--format md`, or leave them out: the other formats contain both".to_owned(),
        });
    }
    let redactor = args.redaction.redactor()?;
    let session = file.open_redacted(redactor.as_ref())?;
    let export =
        Export::new().part(part(args, format, &session)?).thinking(args.thinking).full(args.full);
    progress::set_activity("writing the document");
    write_somewhere(args, file, format, &export, &session, out)?;
    if let Some(redactor) = redactor {
        let path = match &export.part {
            Part::Branch(position) => Some(session.path_to(position)?),
            _ => None,
        };
        let ids = path.map(|path| path.map(|entry| Ok(entry?.id().to_string())));
        let path = ids.map(Iterator::collect::<treering::Result<HashSet<String>>>).transpose()?;
        let is_in = |id: &str| path.as_ref().is_none_or(|path| path.contains(id));
        redaction::report_replacements(&redactor.report().only(is_in));
    }
    Ok(())
}

fn write_somewhere(
    args: &Args,
    file: &Path,
    format: Format,
    export: &Export,
    session: &Session,
    out: &mut Output,
) -> Result<(), Failure> {
    match target(args, file, format) {
        None => write(export, format, session, out),
        Some(path) => {
            let existing = if args.force { Existing::Replaced } else { Existing::Kept };
            let written = write_file(&path, existing, |file| write(export, format, session, file));
            let bytes = written.map_err(|failure| match failure {
                Failure::Stdout(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let what = format!("{} already exists", path.display());
                    let hint = "`--force` replaces it, `-o FILE` chooses another name";
                    Failure::with_hint(what, hint)
                }
                Failure::Stdout(error) => Failure::io("write", &path, &error),
                other => other,
            })?;
            Ok(writeln!(out, "{} ({})", shell_word(&path), size(bytes))?)
        }
    }
}

fn part(args: &Args, format: Format, session: &Session) -> Result<Part, Failure> {
    Ok(match (&args.branch, &args.subtree, session.leaf()) {
        (Some(id), _, _) => Part::Branch(id.resolve(session)?.into()),
        (_, Some(id), _) => Part::Subtree(id.resolve(session)?),
        _ if args.all || matches!(format, Format::Html | Format::Json) => Part::All,
        (_, _, Some(leaf)) => Part::Branch(leaf.into()),
        (_, _, None) => {
            let what = "the leaf is before the first entry: its branch is empty";
            return Err(Failure::with_hint(
                what,
                "`--all` exports everything, `--branch ID` one branch",
            ));
        }
    })
}

/// Returns the file to write; `None` for stdout.
fn target(args: &Args, file: &Path, format: Format) -> Option<PathBuf> {
    match &args.output {
        Some(path) if path.as_os_str() == "-" => None,
        Some(path) => Some(path.clone()),
        None if format != Format::Html && !io::stdout().is_terminal() => None,
        None => {
            // The exported session must not be confused with its source.
            let branch = if format == Format::Jsonl { "export." } else { "" };
            let extension = format!("{branch}{}", format.extension());
            Some(PathBuf::from(document_name(file, &extension)))
        }
    }
}

fn write(
    export: &Export,
    format: Format,
    session: &Session,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let done = match format {
        Format::Html => export.html(session, out),
        Format::Md => export.markdown(session, out),
        Format::Jsonl => export.jsonl(session, out),
        Format::Json => export.json(session, out),
    };
    done.map_err(|error| match error {
        // A session is written by the library, which does not know that a closed pipe is no error.
        treering_export::Error::Session(treering::Error::Storage(error))
            if error.kind() == io::ErrorKind::BrokenPipe =>
        {
            Failure::Stdout(error)
        }
        treering_export::Error::Session(error) => Failure::Library(error),
        treering_export::Error::Write(error) => Failure::Stdout(error),
        other => Failure::message(other.to_string()),
    })
}
