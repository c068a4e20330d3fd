//! `treering mcp`

use crate::clock;
use crate::error::Failure;
use crate::prices;
use crate::sessions;
use std::path::PathBuf;
use std::sync::Arc;
use treering_index::SessionIndex;
use treering_mcp::{Access, McpServer, Settings};
use treering_usage::Zone;

/// Serve sessions to an agent over the Model Context Protocol
///
/// The agent that starts the command can list and search the sessions of this machine, and read them in
/// parts that fit its context window. In Claude Code: `claude mcp add treering -- treering mcp`. The
/// protocol runs on standard input and output until they are closed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Also offer tools that label, branch and fork sessions and append notes to them
    #[arg(long)]
    write: bool,
    /// Serve the sessions in this directory instead of where agents keep them; may be repeated
    #[arg(long, short, value_name = "DIR")]
    dir: Vec<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let places = sessions::places_in(&args.dir)?;
    let zone = Zone::named("local").map_err(|error| Failure::message(error.to_string()))?;
    let server = McpServer::new(Settings {
        project: sessions::project(&places),
        sessions: Arc::new(SessionIndex::new(places)),
        prices: prices::current()?,
        zone,
        access: if args.write { Access::ReadWrite } else { Access::ReadOnly },
        clock: clock::now,
    });
    let served = server.serve_stdio();
    served.map_err(|error| Failure::message(format!("the MCP client cannot be served: {error}")))
}
