//! `treering open`, and `treering` alone at a terminal

use crate::config::Config;
use crate::error::Failure;
use crate::interface::{self, FirstScreen};
use crate::models::Models;
use crate::output::Output;
use crate::session_arg::SessionArg;
use crate::stores::StoreChoice;
use crate::{last_session, sessions};
use std::path::PathBuf;
use std::sync::Arc;
use treering::store::Store;

/// Open the terminal interface: the tree of a session, or all sessions
///
/// In the tree, type to search, press Tab for a preview, Enter to continue from an entry, and `?` for all
/// keys. `treering` without a command opens the list of sessions; `treering -c` continues the last one.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// The session; the list of all sessions if not given
    pub(crate) session: Option<SessionArg>,
}

pub(crate) fn run(args: &Args, store: &StoreChoice, out: &mut Output) -> Result<(), Failure> {
    match &args.session {
        Some(session) => {
            let store = session.store().map(|(store, _)| store.clone());
            show(FirstScreen::Tree(interface::open(session)?), store, out)
        }
        None => show(FirstScreen::Picker, store.open()?, out),
    }
}

/// Continues the last session of this directory.
pub(crate) fn continue_last(out: &mut Output) -> Result<(), Failure> {
    let dir = interface::current_dir()?;
    let file = match last_session::of(&dir) {
        Some(file) => file,
        None => {
            let mut latest = PathBuf::from("@latest");
            let local = StoreChoice::default();
            sessions::locate_file(&mut latest, sessions::UnknownArgument::Fails, &local).map_err(
                |_| {
                    let what = "this directory has no session to continue";
                    Failure::with_hint(
                        what,
                        "`treering chat` starts one; `treering` lists all sessions",
                    )
                },
            )?;
            latest
        }
    };
    show(FirstScreen::Chat(interface::open(&SessionArg::from(file))?), None, out)
}

fn show(first: FirstScreen, store: Option<Arc<dyn Store>>, out: &Output) -> Result<(), Failure> {
    let config = Config::load()?;
    let models = Models::new(&config, None, None);
    interface::show(first, config, models, store, out)
}
