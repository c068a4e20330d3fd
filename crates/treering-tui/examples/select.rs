//! Shows the tree of a session file and prints the outcome: `cargo run --example select FILE`.

use treering::Session;
use treering_agent::{AgentSession, Extractive};
use treering_tui::runtime::{OpenSession, Runner, TreeSetup, select};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args_os().nth(1).ok_or("which session file?")?;
    let runtime = tokio::runtime::Runtime::new()?;
    let agent = AgentSession::new(Session::open(file)?)
        .with_summarizer(std::sync::Arc::new(Extractive::default()));
    let open_session = OpenSession::new(agent, runtime.handle().clone());
    let mut runner = Runner::open()?;
    let outcome = select(&mut runner, &open_session, &TreeSetup::default(), None)?;
    drop(runner);
    eprintln!("{outcome:?}");
    Ok(())
}
