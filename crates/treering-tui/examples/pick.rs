//! Shows all sessions and prints the outcome: `cargo run --example pick [OPEN]`. The environment
//! variable `TREERING_SESSIONS` names the directories.

use std::path::PathBuf;
use treering_index::housekeeping::Trash;
use treering_index::{Places, SessionIndex};
use treering_tui::runtime::Runner;
use treering_tui::runtime::picker::{PickerSetup, pick};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let var = |name: &str| std::env::var_os(name);
    let index = SessionIndex::new(Places::from_env(var));
    let cwd = std::env::current_dir()?;
    let setup = PickerSetup::new(index, &cwd, Trash::from_env(var).ok());
    let open = std::env::args_os().nth(1).map(PathBuf::from);
    let outcome = pick(&mut Runner::open()?, &setup, open.as_deref(), None)?;
    eprintln!("{outcome:?}");
    Ok(())
}
