//! `treering demo`

use super::{context, tree};
use crate::clock;
use crate::error::Failure;
use crate::output::{Output, Style};
use crate::text::{safe_line, shell_word};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use treering::session::Creation;
use treering::{CreateOptions, NewEntry, Session};

/// Create a small demo session, and show it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory for the session; a new temporary directory if not given
    #[arg(long)]
    dir: Option<PathBuf>,
}

const FILE: &str = "retry.jsonl";

/// The conversation, one entry on each line, without times and the usual parents. Its ids are
/// fixed, because other texts refer to them.
const STORY: &str = include_str!("demo.jsonl");

/// Writes the session, to a new temporary directory if no directory is given.
pub(crate) fn write(dir: Option<&Path>) -> Result<Session, Failure> {
    let dir = match dir {
        Some(dir) => dir.to_owned(),
        None => scratch_dir()?,
    };
    let options = CreateOptions::new().creation(Creation::AtOnce);
    let session = Session::create_at(dir.join(FILE), super::fork::absolute(&dir)?, options)?;
    append_conversation(&session)?;
    Ok(session)
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let session = write(args.dir.as_deref())?;
    let file = session.path().unwrap_or_default();
    let program = program();
    let word = safe_line(&shell_word(&file));
    let intro = "A conversation about a bug. One fix was tried, then abandoned for a better one.";
    writeln!(out, "{intro}\n")?;
    command(&format!("{program} tree {word}"), out)?;
    tree::write(&session, tree::ShownEntries::default(), out)?;
    writeln!(out)?;
    let explanation = "Nothing was deleted: • marks the path the model sees. On it, a compaction stands for the \
                       beginning\nand a branch summary for the abandoned fix:";
    writeln!(out, "{explanation}\n")?;
    command(&format!("{program} context {word}"), out)?;
    context::write(session.projection()?, out)?;
    write_next(&program, &word, out)
}

fn command(line: &str, out: &mut Output) -> Result<(), Failure> {
    let line = out.paint(Style::Heading, &format!("$ {line}"));
    writeln!(out, "{line}")?;
    Ok(())
}

/// Returns the name with which this program was called, so that printed commands work when they are
/// pasted.
fn program() -> String {
    let called = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    match called.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => safe_line(&shell_word(&called)),
        _ => "treering".to_owned(),
    }
}

fn write_next(program: &str, file: &str, out: &mut Output) -> Result<(), Failure> {
    // Only the first may be shortened: later ones contain random ids.
    let steps: [(&str, &[(&str, &str)]); 4] = [
        (
            "Go back to the first fix (an id's beginning is enough) and continue it:",
            &[
                ("goto", "d6"),
                ("append", "--user \"Could we keep it simple after all?\""),
                ("tree", ""),
            ],
        ),
        (
            "Look at one entry, or mark it:",
            &[("show", "5e6d03a8"), ("label", "5e6d03a8 \"root cause\"")],
        ),
        ("Copy one branch into a new session:", &[("fork", "--at 7b19d4f3")]),
        ("Get what a provider would get:", &[("context", "--llm --strict --json")]),
    ];
    for (what, commands) in steps {
        let what = out.paint(Style::Heading, what);
        writeln!(out, "\n{what}")?;
        for (command, arguments) in commands {
            let line = format!("  {program} {command} {file} {arguments}");
            writeln!(out, "{}", line.trim_end())?;
        }
    }
    Ok(())
}

/// Creates a new directory among the temporary files. This fails if it exists, so no other user can
/// have prepared it.
fn scratch_dir() -> Result<PathBuf, Failure> {
    let base = std::env::temp_dir();
    for number in 1..10_000 {
        let name =
            if number == 1 { "treering-demo".into() } else { format!("treering-demo-{number}") };
        let dir = base.join(name);
        match create_private_dir(&dir) {
            Ok(()) => return Ok(dir),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Failure::io("create", &dir, &error)),
        }
    }
    let what = format!("{} holds too many demo sessions", base.display());
    Err(Failure::with_hint(what, "`treering demo --dir DIR` puts it elsewhere"))
}

fn create_private_dir(dir: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

/// Appends the conversation, one entry for each minute, so that it ends now.
fn append_conversation(session: &Session) -> Result<(), Failure> {
    const MINUTE: i64 = 60_000;
    let start = clock::now() - MINUTE * STORY.lines().count() as i64;
    for (line, minute) in STORY.lines().zip(1..) {
        let time = start + MINUTE * minute;
        let line = line.replace("\"timestamp\":NOW", &format!("\"timestamp\":{time}"));
        session.append(NewEntry::from_json(line.as_bytes())?.with_timestamp(time))?;
    }
    Ok(())
}
