//! Starts the terminal interface with its configuration and its sessions.

use crate::commands::demo;
use crate::config::{Config, DoubleEscapeChoice, KeyNames, Keys, ThemeChoice};
use crate::error::Failure;
use crate::models::Models;
use crate::output::{self, Output};
use crate::resume::Resume;
use crate::session_arg::SessionArg;
use crate::text::{safe_line, shell_word};
use crate::{directories, last_session, sessions};
use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use treering::store::Store;
use treering::{Catalog, CreateOptions, OpenOptions, Session};
use treering_agent::{AgentSession, ConfigError};
use treering_index::SessionIndex;
use treering_index::housekeeping::Trash;
use treering_tui::chat::DoubleEscape;
use treering_tui::keys::{Action, Bindings};
use treering_tui::runtime::picker::{PickerSetup, id_of};
use treering_tui::runtime::{
    AppExit, AppSetup, ChatSetup, SessionSource, StartScreen, TreeSetup, run,
};
use treering_tui::theme::Theme;
use treering_tui::time_zone::DisplayZone;

/// The message if no model is configured.
const NO_MODEL: &str = "\
WHY.

Set one of these in the environment:

    ANTHROPIC_API_KEY=…
    OPENAI_API_KEY=…  TREERING_MODEL=…
    OPENAI_BASE_URL=http://localhost:11434  TREERING_MODEL=…

or in the configuration file (`treering config path` prints its path):

    [summarizer]
    provider = \"openai\"
    model = \"qwen3:14b\"
    base_url = \"http://localhost:11434\"

Your text is still in the editor. Everything else works without a model: `!COMMAND`, the tree, labels, exports.
";

/// The first screen.
#[derive(Debug)]
pub(crate) enum FirstScreen {
    /// The list of all sessions.
    Picker,
    /// The tree of a session.
    Tree(Session),
    /// The chat of a session.
    Chat(Session),
}

/// Returns whether the full-screen interface can be shown: input and output are a terminal that can
/// position its cursor.
pub(crate) fn has_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal() && !is_dumb(terminal_type().as_deref())
}

fn terminal_type() -> Option<String> {
    std::env::var("TERM").ok()
}

/// Returns whether a terminal of this type cannot position its cursor. Only Unix terminals have a
/// type.
fn is_dumb(terminal: Option<&str>) -> bool {
    match terminal {
        Some(name) => matches!(name, "dumb" | "unknown" | ""),
        None => cfg!(unix),
    }
}

/// Shows the interface until the user leaves it.
pub(crate) fn show(
    first: FirstScreen,
    config: Config,
    models: Models,
    store: Option<Arc<dyn Store>>,
    out: &Output,
) -> Result<(), Failure> {
    if !has_terminal() {
        let what = match terminal_type() {
            kind if is_dumb(kind.as_deref()) && io::stdout().is_terminal() => {
                let kind = kind.map_or("not set".to_owned(), |kind| format!("{kind:?}"));
                format!("this terminal cannot show the full-screen interface: TERM is {kind}")
            }
            _ => "the interface needs a terminal".to_owned(),
        };
        return Err(Failure::Usage {
            what,
            hint: "`treering tree`, `treering ls` and `treering chat -p` print instead".to_owned(),
        });
    }
    let setup = setup(&config, &models, store.as_ref(), out)?;
    let sessions = InterfaceSessions { config, models, store, dir: current_dir()? };
    let first = match first {
        FirstScreen::Picker => StartScreen::Picker,
        FirstScreen::Tree(session) => StartScreen::Tree(sessions.agent(session)),
        FirstScreen::Chat(session) => StartScreen::Chat(sessions.agent(session)),
    };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime =
        runtime.map_err(|error| Failure::message(format!("cannot start the runtime: {error}")))?;
    let end = run(&setup, &sessions, first, runtime.handle());
    // Background reads are abandoned.
    runtime.shutdown_background();
    match end.map_err(|error| Failure::message(format!("terminal error: {error}")))? {
        AppExit::Left { session, has_drafts } => {
            if let Some(file) = session.filter(|file| file.exists()) {
                let again = format!("treering chat {}", shell_word(&file));
                output::write_notice("to continue", &safe_line(&again));
            }
            if has_drafts {
                let where_to = "the next chat in this directory brings it back";
                output::write_notice("unsent text was kept", where_to);
            }
            Ok(())
        }
        AppExit::Resume { session, at } => {
            let at = at.map(|at| session.entry(&at).map(|entry| entry.id().clone())).transpose()?;
            Resume::prepare(&session, at, None, &Config::load()?)?.start()
        }
        AppExit::Stopped(signal) => Err(Failure::Signal(signal)),
    }
}

fn setup(
    config: &Config,
    models: &Models,
    store: Option<&Arc<dyn Store>>,
    out: &Output,
) -> Result<AppSetup, Failure> {
    let theme = theme(config.ui.theme, out);
    let bindings_of_tree = bindings("tree", &config.keys.tree)?;
    let tree = TreeSetup { theme, bindings: bindings_of_tree, zone: DisplayZone::local() };
    let model = models.chosen();
    let no_model = match &model {
        Ok(_) => String::new(),
        Err(ConfigError::NoModel) => NO_MODEL.replace("WHY", "No model is configured"),
        Err(error) => NO_MODEL.replace("WHY", &format!("The model cannot be used: {error}")),
    };
    let named = models.clone();
    let choose = move |name: &str| named.named(name).map_err(|error| error.to_string());
    let mut chat = ChatSetup::new(model.ok(), &no_model, Box::new(choose));
    chat.theme = theme;
    chat.bindings = bindings("chat", &config.keys.chat)?;
    chat.double_escape = match config.ui.double_escape {
        DoubleEscapeChoice::Tree => DoubleEscape::Tree,
        DoubleEscapeChoice::Fork => DoubleEscape::Fork,
        DoubleEscapeChoice::None => DoubleEscape::Nothing,
    };
    let index = SessionIndex::new(sessions::places());
    let trash = Trash::from_env(|name| std::env::var_os(name)).ok();
    let mut picker = PickerSetup::new(index, &current_dir()?, trash);
    if let Some(store) = store {
        picker.show_store(Arc::clone(store));
    }
    picker.theme = theme;
    picker.bindings = bindings("picker", &config.keys.picker)?;
    picker.now = crate::clock::now;
    picker.recent_queries = directories::state().map(|dir| dir.join("queries"));
    let drafts = directories::state().filter(|_| config.ui.keep_drafts);
    let drafts = drafts.map(|dir| Ok::<_, Failure>((dir.join("drafts"), current_dir()?)));
    Ok(AppSetup { picker, tree, chat, drafts: drafts.transpose()? })
}

/// Fails if a configured key or action does not exist.
pub(crate) fn check_keys(keys: &Keys) -> Result<(), Failure> {
    bindings::<treering_tui::tree::TreeAction>("tree", &keys.tree)?;
    bindings::<treering_tui::chat::ChatAction>("chat", &keys.chat)?;
    bindings::<treering_tui::picker::PickerAction>("picker", &keys.picker).map(drop)
}

/// Returns the key bindings of a screen, with the configured ones applied.
fn bindings<A: Action>(
    screen: &str,
    configured: &BTreeMap<String, KeyNames>,
) -> Result<Bindings<A>, Failure> {
    let mut bindings = Bindings::default();
    for (name, keys) in configured {
        bindings.rebind(name, &keys.names()).map_err(|error| {
            let what = format!("configuration, [keys.{screen}] {name}: {error}");
            Failure::with_hint(what, "`treering help keys` lists what keys can do")
        })?;
    }
    Ok(bindings)
}

fn theme(choice: ThemeChoice, out: &Output) -> Theme {
    match choice {
        _ if !out.has_colors() => Theme::Plain,
        ThemeChoice::Plain => Theme::Plain,
        ThemeChoice::Dark => Theme::Dark,
        ThemeChoice::Light => Theme::Light,
        ThemeChoice::Auto if is_light(std::env::var("COLORFGBG").ok().as_deref()) => Theme::Light,
        ThemeChoice::Auto => Theme::Dark,
    }
}

/// Returns whether the background is light. Some terminals report it as the last number, one of
/// sixteen colors.
fn is_light(colors: Option<&str>) -> bool {
    let ground = colors.and_then(|colors| colors.rsplit(';').next()?.parse::<u8>().ok());
    matches!(ground, Some(7 | 9..=15))
}

pub(crate) fn current_dir() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|error| {
        Failure::message(format!("cannot determine the current directory: {error}"))
    })
}

/// The size in bytes from which reading a file takes a noticeable time.
const LARGE: u64 = 32 << 20;

/// Opens a session for the interface, and shows a message while a large file is read.
pub(crate) fn open(session: &SessionArg) -> Result<Session, Failure> {
    let size = session.metadata().map_or(0, |about| about.len());
    if size < LARGE || !has_terminal() || !io::stderr().is_terminal() {
        return Ok(session.open()?);
    }
    let size = treering_display::number::size(size);
    let name = safe_line(&session.to_string_lossy());
    eprint!("reading {name} ({size}) …");
    let opened = session.open();
    eprint!("\r\x1b[K");
    Ok(opened?)
}

/// Creates a session for the current directory, among treering's own.
pub(crate) fn begin() -> Result<Session, Failure> {
    let places = sessions::places();
    let own = places.own().ok_or_else(|| {
        let what = "cannot find a home directory for the session";
        Failure::with_hint(what, "name a file: `treering chat --new FILE.jsonl`")
    })?;
    Ok(Catalog::new(own).create(current_dir()?, CreateOptions::new())?)
}

/// Returns a failure on one line.
fn failure_line(failure: Failure) -> String {
    match failure {
        Failure::Library(error) | Failure::Input { error, .. } => error.to_string(),
        Failure::Message { what, hint: Some(hint) } | Failure::Usage { what, hint } => {
            format!("{what}: {hint}")
        }
        Failure::Message { what, hint: None } => what,
        Failure::Stdout(error) | Failure::Report(error) => error.to_string(),
        Failure::Reported | Failure::Signal(_) => String::new(),
    }
}

/// The source of the interface's sessions.
struct InterfaceSessions {
    config: Config,
    models: Models,
    /// The store of new sessions and forks; `None` if they are files.
    store: Option<Arc<dyn Store>>,
    dir: PathBuf,
}

impl InterfaceSessions {
    fn agent(&self, session: Session) -> AgentSession {
        let agent = self.models.agent(session, &self.config);
        match &self.store {
            Some(store) => agent.with_store(Arc::clone(store)),
            None => agent,
        }
    }
}

impl SessionSource for InterfaceSessions {
    fn open(&self, file: &Path) -> Result<AgentSession, String> {
        let session = match &self.store {
            Some(store) => {
                id_of(file).and_then(|id| Session::open_in(store, &id, OpenOptions::default()))
            }
            None => Session::open(file),
        };
        session.map(|session| self.agent(session)).map_err(|error| error.to_string())
    }

    fn begin(&self) -> Result<AgentSession, String> {
        let session = match &self.store {
            Some(store) => Session::create_in(store, &self.dir, CreateOptions::new()),
            None => return begin().map(|session| self.agent(session)).map_err(failure_line),
        };
        session.map(|session| self.agent(session)).map_err(|error| error.to_string())
    }

    fn demo(&self) -> Result<AgentSession, String> {
        let session = demo::write(None).map_err(failure_line)?;
        Ok(self.agent(session))
    }

    fn remember(&self, file: &Path) {
        last_session::remember(&self.dir, file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_that_cannot_place_its_cursor_is_known_by_its_type() {
        for (terminal, dumb) in [
            (Some("dumb"), true),
            (Some(""), true),
            (Some("unknown"), true),
            (Some("xterm-256color"), false),
            (Some("linux"), false),
            (None, cfg!(unix)),
        ] {
            assert_eq!(is_dumb(terminal), dumb, "{terminal:?}");
        }
    }

    #[test]
    fn a_terminal_may_say_that_it_is_light() {
        for (colors, light) in [
            (None, false),
            (Some("15;0"), false),
            (Some("0;15"), true),
            (Some("0;default;7"), true),
            (Some("7;8"), false),
            (Some("nonsense"), false),
        ] {
            assert_eq!(is_light(colors), light, "{colors:?}");
        }
    }
}
