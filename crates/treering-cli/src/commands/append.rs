//! `treering append`

use super::fork::absolute;
use super::warn_of_findings;
use crate::error::Failure;
use crate::output::{self, Output};
use crate::session_arg::SessionArg;
use crate::text::{safe_line, safe_path, shell_word};
use crate::typed::TypedPosition;
use std::io::{self, BufRead, ErrorKind, Write};
use std::path::{Path, PathBuf};
use treering::context::Model;
use treering::session::{Creation, Durability};
use treering::{CreateOptions, Dialect, Error, Message, NewEntry, OpenOptions, Position, Session};

/// Append entries to a session; a file that does not exist is created
///
/// Prints the id of every new entry, one per line, once the entry is in the file.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session: a file, an id, a name, `@latest`, or a URL (https://HOST/s/ID)
    #[arg(value_name = "SESSION")]
    pub(crate) file: SessionArg,
    #[command(flatten)]
    source: Source,
    /// Continue from this entry instead of the leaf (an id or its beginning; `none`: a new root). The
    /// `parentId` of an --entry takes precedence
    #[arg(long, value_name = "ID")]
    parent: Option<TypedPosition>,
    /// Fail if this is no longer the session's leaf (an id or its beginning; `none`: no entry)
    #[arg(long, value_name = "ID")]
    expect_leaf: Option<TypedPosition>,
    /// The durability of an entry when its id is printed
    #[arg(long, value_enum, default_value_t = DurabilityChoice::None)]
    durability: DurabilityChoice,
    /// If the file is deleted while the command runs, write the whole session again instead of failing
    #[arg(long)]
    recreate: bool,
    /// The project a new session belongs to; the current directory if not given
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// The dialect of a new session: pi (the default), uuid, omp, chimera, operator or tau
    #[arg(long, value_name = "NAME")]
    dialect: Option<Dialect>,
    /// The model of an --assistant message; the session's model if not given
    #[arg(long, value_name = "PROVIDER/ID", value_parser = model, conflicts_with_all = ["user", "entry", "stdin"])]
    model: Option<(String, String)>,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Source {
    /// A user message
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    user: Option<String>,
    /// An assistant message
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    assistant: Option<String>,
    /// Any entry; `id`, `parentId` and `timestamp` are added if absent
    #[arg(long, value_name = "JSON")]
    entry: Option<String>,
    /// Entries from standard input, one JSON object per line
    #[arg(long)]
    stdin: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum DurabilityChoice {
    /// The entry is in the file: it survives this process
    None,
    /// As `none`, and the entry is on disk when the command ends at the latest
    Batched,
    /// The entry is on disk: it survives a power failure
    Each,
}

impl From<DurabilityChoice> for Durability {
    fn from(choice: DurabilityChoice) -> Self {
        match choice {
            DurabilityChoice::None => Durability::None,
            DurabilityChoice::Batched => Durability::BATCHED,
            DurabilityChoice::Each => Durability::Each,
        }
    }
}

fn model(text: &str) -> Result<(String, String), String> {
    match text.split_once('/') {
        Some((provider, id)) if !provider.is_empty() && !id.is_empty() => {
            Ok((provider.to_owned(), id.to_owned()))
        }
        _ => Err("expected PROVIDER/ID".to_owned()),
    }
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    // The entry is checked before a file is created: an invalid entry must not leave an empty file.
    let given = args.source.entry.as_deref().map(|json| NewEntry::from_json(json.as_bytes()));
    let given = given.transpose()?;
    let mut writer = Writer::open(args, out)?;
    if args.source.stdin {
        writer.append_lines(out)?;
    } else if let Some(entry) = given {
        writer.append(entry, out)?;
    } else if let Some(text) = &args.source.user {
        writer.append(Message::user(text).into(), out)?;
    } else if let Some(text) = &args.source.assistant {
        let (provider, model) = writer.assistant_model()?;
        writer.append(Message::assistant(&provider, &model, text).into(), out)?;
    }
    writer.finish()
}

/// Returns whether there is no such session.
fn is_missing(error: &Error) -> bool {
    match error {
        Error::Io { source, .. } => source.kind() == ErrorKind::NotFound,
        Error::UnknownSession(_) => true,
        _ => false,
    }
}

/// A session that is written to. It is created when there is something to write.
struct Writer<'a> {
    args: &'a Args,
    session: Option<Session>,
    /// The expected leaf, if one was given.
    expected: Option<Position>,
    /// Whether the reader of the ids is gone. The entries are still written.
    is_reader_gone: bool,
}

impl<'a> Writer<'a> {
    fn open(args: &'a Args, out: &mut Output) -> Result<Self, Failure> {
        let mut writer = Writer { args, session: None, expected: None, is_reader_gone: false };
        match args.file.open_with(writer.open_options()) {
            Ok(session) => {
                writer.check_options(&session)?;
                warn_of_findings(&session, &args.file, out)?;
                writer.set_position(session)?;
            }
            Err(error) if is_missing(&error) => {
                // A new session has no entries to which these could refer.
                let places = [&args.parent, &args.expect_leaf];
                if let Some(entry) = places.into_iter().flatten().find_map(TypedPosition::entry) {
                    let name = args.file.display();
                    return Err(Failure::with_hint(
                        format!("no entry {:?}: there is no {name} yet", entry.text()),
                        "a new session has no entries: leave out --parent and --expect-leaf",
                    ));
                }
            }
            Err(error) => return Err(error.into()),
        }
        Ok(writer)
    }

    /// Fails if an option for new sessions asks for something else than the session has.
    fn check_options(&self, session: &Session) -> Result<(), Failure> {
        let (name, found) = (self.args.file.display(), session.dialect());
        if let Some(wanted) = self.args.dialect.filter(|wanted| *wanted != found) {
            if std::fs::metadata(&*self.args.file).is_ok_and(|file| file.len() == 0) {
                let what = format!("{name} is empty, and continued as a session of {found}");
                let hint = format!("remove it, and a session of {wanted} is created");
                return Err(Failure::with_hint(what, hint));
            }
            return Err(Failure::with_hint(
                format!("{name} is a session of {found}, not of {wanted}"),
                "`--dialect` is for new sessions: leave it out, or name another file",
            ));
        }
        let Some(wanted) = &self.args.cwd else { return Ok(()) };
        let (wanted, found) = (absolute(wanted)?, session.cwd());
        if !found.is_empty() && wanted != Path::new(&found) {
            return Err(Failure::with_hint(
                format!(
                    "{name} belongs to the project {}, not to {}",
                    safe_line(&found),
                    safe_line(&wanted.to_string_lossy())
                ),
                "`--cwd` is for new sessions: leave it out, or name another file",
            ));
        }
        Ok(())
    }

    fn open_options(&self) -> OpenOptions {
        OpenOptions::new().durability(self.args.durability.into())
    }

    /// Moves the leaf to the position in the arguments.
    fn set_position(&mut self, session: Session) -> Result<(), Failure> {
        if let Some(parent) = &self.args.parent {
            session.branch_in_memory(parent.resolve(&session)?)?;
        }
        if let Some(leaf) = &self.args.expect_leaf {
            self.expected = Some(leaf.resolve(&session)?);
        }
        self.session = Some(session);
        Ok(())
    }

    fn create(&self) -> Result<Session, Failure> {
        let cwd = match &self.args.cwd {
            Some(cwd) => absolute(cwd)?,
            None => std::env::current_dir().map_err(|error| {
                Failure::message(format!("cannot determine the current directory: {error}"))
            })?,
        };
        // A printed id promises that the entry is in the file, even if it is not a message.
        let options = CreateOptions::new()
            .creation(Creation::AtOnce)
            .dialect(self.args.dialect.unwrap_or_default())
            .durability(self.args.durability.into());
        let file = match self.args.file.store() {
            Some((store, id)) => {
                return match Session::create_in(store, cwd, options.id(id.clone())) {
                    Err(Error::SessionExists(_)) => {
                        Ok(self.args.file.open_with(self.open_options())?)
                    }
                    session => Ok(session?),
                };
            }
            None => self.args.file.file()?,
        };
        if file.extension().is_some_and(|extension| extension == "zst") {
            return Err(Failure::with_hint(
                format!("cannot create {}: an archived session is read-only", file.display()),
                "choose a name that ends in .jsonl; `treering archive` compresses the file later",
            ));
        }
        match Session::create_at(file, cwd, options) {
            // Another process has created the file meanwhile: the entries are appended to its
            // session.
            Err(Error::AlreadyExists(_)) => Ok(Session::open_with(file, self.open_options())?),
            session => {
                let session = session?;
                // It may have been meant as the id or the name of a session.
                if file.extension().is_none() && file.components().count() == 1 {
                    let name = safe_path(file);
                    let what = format!("no session is named {name}: it was created as a file");
                    output::write_notice("note", &what);
                }
                Ok(session)
            }
        }
    }

    /// Returns the provider and model of an assistant message.
    fn assistant_model(&mut self) -> Result<(String, String), Failure> {
        if let Some(model) = &self.args.model {
            return Ok(model.clone());
        }
        let current = match &self.session {
            Some(session) => session.context()?.model,
            None => None,
        };
        let Model { provider, model_id, .. } = current.unwrap_or_default();
        let or_none = |name: Option<String>| name.unwrap_or_else(|| "none".to_owned());
        Ok((or_none(provider), or_none(model_id)))
    }

    fn append(&mut self, entry: NewEntry, out: &mut Output) -> Result<(), Failure> {
        if self.session.is_none() {
            let session = self.create()?;
            self.set_position(session)?;
        }
        let Some(session) = &self.session else { return Ok(()) };
        let write = || match &self.expected {
            None => session.append_all(std::slice::from_ref(&entry)),
            Some(leaf) => session.append_expecting(leaf, std::slice::from_ref(&entry)),
        };
        let ids = match write() {
            Err(Error::Deleted(_)) if self.args.recreate => {
                session.recreate()?;
                write()?
            }
            written => written?,
        };
        if let Some(leaf) = &mut self.expected {
            *leaf = session.leaf().into(); // What comes next builds on this.
        }
        for id in &ids {
            if self.is_reader_gone {
                break;
            }
            let printed = writeln!(out, "{}", safe_line(id.as_str())).and_then(|()| out.flush());
            match printed {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::BrokenPipe => self.is_reader_gone = true,
                Err(error) => {
                    let what =
                        format!("entry {id} was written, but its id cannot be printed: {error}");
                    let file = shell_word(&self.args.file);
                    let hint = format!("do not append it again; see `treering log {file}`");
                    return Err(Failure::with_hint(what, hint));
                }
            }
        }
        Ok(())
    }

    /// Appends the lines of standard input, until it ends or a line cannot be appended.
    fn append_lines(&mut self, out: &mut Output) -> Result<(), Failure> {
        let mut input = io::stdin().lock();
        let mut line = Vec::new();
        for number in 1_u64.. {
            line.clear();
            let read = input.read_until(b'\n', &mut line);
            let read = read.map_err(|error| {
                Failure::message(format!("cannot read standard input: {error}"))
            })?;
            if read == 0 {
                break;
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            let entry = NewEntry::from_json(&line).map_err(Failure::from);
            entry
                .and_then(|entry| self.append(entry, out))
                .map_err(|failure| failure.on(number))?;
        }
        Ok(())
    }

    /// Makes the appended entries as durable as promised.
    fn finish(self) -> Result<(), Failure> {
        match (&self.session, self.args.durability) {
            (Some(session), DurabilityChoice::Batched) => Ok(session.sync()?),
            _ => Ok(()),
        }
    }
}
