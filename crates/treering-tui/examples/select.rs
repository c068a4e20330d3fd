//! Shows the tree of a session file and says what was chosen: `cargo run --example select FILE`.

use std::sync::Arc;
use treering::Session;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args_os().nth(1).ok_or("which session file?")?;
    let outcome = treering_tui::runtime::select(Arc::new(Session::open(file)?))?;
    eprintln!("{outcome:?}");
    Ok(())
}
