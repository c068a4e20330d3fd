//! `treering resume`

use crate::config::Config;
use crate::error::Failure;
use crate::output::Output;
use crate::resume::Resume;
use crate::session_arg::SessionArg;
use crate::sessions::{self, UnknownArgument};
use crate::stores::StoreChoice;
use crate::typed::TypedEntry;
use std::io::Write;
use std::path::PathBuf;
use treering::Dialect;

/// Resume a session in the agent that wrote it
///
/// Starts the agent in the session's project, at that session: `claude --resume`, `codex resume`, `pi
/// --session` and so on; `[resume]` in the configuration changes the commands. With `--in`, a converted
/// copy is written to where the other agent finds it. Sessions of treering's own directory are resumed in
/// `treering chat`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session: a file, an id, a name or `@2`; the latest of this project if not given
    #[arg(value_name = "SESSION")]
    pub(crate) file: Option<SessionArg>,
    /// Resume a copy of the session in another agent: pi, omp, chimera, operator, tau or claude-code
    #[arg(long = "in", value_name = "AGENT")]
    agent: Option<Dialect>,
    /// Resume at this entry (an id or its beginning), in a fork if it is not the leaf
    #[arg(long, value_name = "ID")]
    at: Option<TypedEntry>,
    /// Print the command instead of running it; a copy that it needs is still written
    #[arg(long)]
    print: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let session = match &args.file {
        Some(file) => file.open()?,
        None => {
            let mut latest = PathBuf::from("@latest");
            sessions::locate_file(&mut latest, UnknownArgument::Fails, &StoreChoice::default())?;
            SessionArg::from(latest).open()?
        }
    };
    let at = args.at.as_ref().map(|at| at.resolve(&session)).transpose()?;
    let resume = Resume::prepare(&session, at, args.agent, &Config::load()?)?;
    match args.print {
        true => Ok(writeln!(out, "{}", resume.shell_line())?),
        false => {
            out.flush()?;
            resume.start()
        }
    }
}
