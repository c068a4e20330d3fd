//! `treering share`

use crate::config::Config;
use crate::confirm;
use crate::error::Failure;
use crate::output::{self, Output};
use crate::progress;
use crate::redaction;
use crate::session_arg::SessionArg;
use crate::text::{safe_line, safe_path, shell_word, size};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use treering::Session;
use treering::internal::fs;
use treering::session::Part;
use treering_display::line::excerpt;
use treering_export::{Existing, Export, write_file};

/// Send a redacted copy of a session to a gist, or to any command
///
/// Writes the session as Markdown (or `--html`), without keys, tokens, passwords, e-mail addresses and
/// user names in paths of home directories, shows what it would send, and asks. The command is `gh gist
/// create`, which makes a secret gist, unless [share] in the configuration names another. Redaction may
/// miss secrets: look at the document first (`--print`).
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session: a file, an id, a name, `@latest`, or a URL (https://HOST/s/ID)
    #[arg(value_name = "SESSION")]
    pub(crate) file: SessionArg,
    /// One HTML page with every branch, instead of Markdown of the active one
    #[arg(long)]
    html: bool,
    /// Also replace matches of this regular expression (or of its first group); may be repeated
    #[arg(long, value_name = "NAME=REGEX")]
    redact_pattern: Vec<String>,
    /// Print the document, and send nothing
    #[arg(long, conflicts_with = "yes")]
    print: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

/// The default command.
const COMMAND: [&str; 6] = ["gh", "gist", "create", "--desc", "{title}", "{file}"];

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let redactor = redaction::redactor(true, true, &args.redact_pattern)?;
    let session = args.file.open_redacted(Some(&redactor))?;
    let export = Export::new().part(match (args.html, session.leaf()) {
        (false, Some(leaf)) => Part::Branch(leaf.into()),
        _ => Part::All,
    });
    if args.print {
        return write(&export, args.html, &session, out);
    }
    if !(args.yes || io::stdin().is_terminal() && io::stderr().is_terminal()) {
        let what = "nothing was sent: only a terminal can ask for confirmation";
        return Err(Failure::with_hint(
            what,
            "`--yes` sends without asking, `--print` shows the document",
        ));
    }
    let title = excerpt(&session.title()?, 80);
    let folder = Folder::new()?;
    let name = if args.html { "session.html" } else { "session.md" };
    let path = folder.0.join(name);
    let bytes =
        write_file(&path, Existing::Kept, |file| write(&export, args.html, &session, file))?;
    let command = command(&Config::load()?.share.command, &path, &title);
    let shown: Vec<String> = command.iter().map(|word| shell_word(Path::new(word))).collect();
    redaction::report_replacements(&redactor.report());
    let document = format!("{} ({}), \"{title}\"", safe_path(&path), size(bytes));
    output::write_notice("document", &safe_line(&document));
    output::write_notice("command", &safe_line(&shown.join(" ")));
    if !args.yes && !confirm::agrees("Send it?") {
        return Err(Failure::message("nothing was sent"));
    }
    out.flush()?;
    start(&command)
}

fn write(
    export: &Export,
    html: bool,
    session: &Session,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let written = if html { export.html(session, out) } else { export.markdown(session, out) };
    written.map_err(|error| match error {
        treering_export::Error::Session(error) => Failure::Library(error),
        treering_export::Error::Write(error) => Failure::Stdout(error),
        other => Failure::message(other.to_string()),
    })
}

/// Returns the words of the command, with the document and its title inserted.
fn command(configured: &[String], file: &Path, title: &str) -> Vec<String> {
    let usual = || COMMAND.map(str::to_owned).to_vec();
    let words = if configured.is_empty() { usual() } else { configured.to_vec() };
    let put = |word: &String| match word.as_str() {
        "{file}" => file.to_string_lossy().into_owned(),
        "{title}" => title.to_owned(),
        word => word.to_owned(),
    };
    words.iter().map(put).collect()
}

/// Runs the command and waits for it. Its output goes to the user.
fn start(command: &[String]) -> Result<(), Failure> {
    let Some((program, words)) = command.split_first() else {
        return Err(Failure::message("the command of [share] is empty"));
    };
    progress::stop();
    let status = Command::new(program).args(words).status().map_err(|error| {
        let what = format!("cannot start {program}: {error}; nothing was sent");
        Failure::with_hint(
            what,
            "install the GitHub CLI, or set `command` of [share] in the configuration",
        )
    })?;
    match status.success() {
        true => Ok(()),
        false => Err(Failure::message(format!("{program} failed ({status})"))),
    }
}

/// A directory for the document that only its user can read. It is removed when this is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, Failure> {
        let dir = fs::unique_beside(&std::env::temp_dir().join("treering-share"), "tmp");
        let failed = |error: io::Error| Failure::io("create", &dir, &error);
        fs::create_private_dir(&dir).map_err(failed)?;
        Ok(Folder(dir))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
