//! The program: picker, tree and chat, one after the other on one runner.
//!
//! Whoever leaves a screen comes back to the one before it. There is one session at a time, whichever
//! screen shows it, and one text that is written but not sent, with the drafts beside it.

use super::chat::{ChatSetup, chat};
use super::draft_store::DraftStore;
use super::open_session::OpenSession;
use super::picker::{self, PickerSetup, pick};
use super::runner::Runner;
use super::tree::{self, TreeSetup, select};
use crate::chat::{Drafts, ExitReason, UnsentText};
use std::io;
use std::path::{Path, PathBuf};
use treering_agent::{AgentSession, CancellationToken, Forked};

/// How the screens look, and which keys they have.
#[derive(Debug)]
pub struct AppSetup {
    /// The session picker.
    pub picker: PickerSetup,
    /// The tree selector.
    pub tree: TreeSetup,
    /// The chat.
    pub chat: ChatSetup,
    /// Where unsent text is kept, and of which project; `None` if it is not kept.
    pub drafts: Option<(PathBuf, PathBuf)>,
}

/// Where sessions come from. An error says what happened, and what to do.
pub trait SessionSource {
    /// Opens a session.
    fn open(&self, file: &Path) -> Result<AgentSession, String>;
    /// Begins a new one.
    fn begin(&self) -> Result<AgentSession, String>;
    /// The one to play with.
    fn demo(&self) -> Result<AgentSession, String>;
    /// Somebody works with this session.
    fn remember(&self, file: &Path);
}

/// What is shown at first.
#[derive(Debug)]
pub enum StartScreen {
    /// All sessions.
    Picker,
    /// The tree of one.
    Tree(AgentSession),
    /// The conversation of one.
    Chat(AgentSession),
}

/// How the program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AppExit {
    /// Somebody left.
    Left {
        /// The session they talked in last, if they did.
        session: Option<PathBuf>,
        /// Whether there is unsent text, and it is kept.
        has_drafts: bool,
    },
    /// A signal of this number ended it.
    Stopped(Option<i32>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ActiveScreen {
    Picker,
    Tree,
    Chat,
}

/// Runs the program until somebody leaves it. The terminal is as it was afterwards. `runtime` is where
/// what waits is done; it needs its timer and its input and output.
pub fn run(
    setup: &AppSetup,
    sessions: &dyn SessionSource,
    first: StartScreen,
    runtime: &tokio::runtime::Handle,
) -> io::Result<AppExit> {
    let (draft_store, drafts) = match &setup.drafts {
        Some((dir, project)) => DraftStore::start(dir, project),
        None => (DraftStore::default(), Drafts::default()),
    };
    let mut program = App {
        runner: Runner::open()?,
        setup,
        sessions,
        runtime,
        open_session: None,
        screens: Vec::new(),
        has_talked: false,
        unsent: UnsentText { drafts, ..UnsentText::default() },
        draft_store,
        notice: None,
    };
    match first {
        StartScreen::Picker => program.show(ActiveScreen::Picker),
        StartScreen::Tree(agent) => program.enter(agent, ActiveScreen::Tree),
        StartScreen::Chat(agent) => program.enter(agent, ActiveScreen::Chat),
    }
    program.run()
}

/// A file of this size takes a moment to read, in bytes.
const LARGE: u64 = 32 << 20;

struct App<'a> {
    runner: Runner,
    setup: &'a AppSetup,
    sessions: &'a dyn SessionSource,
    runtime: &'a tokio::runtime::Handle,
    /// The session that is open.
    open_session: Option<OpenSession>,
    /// The screens that somebody comes back to, the one that is shown last. Each is there once.
    screens: Vec<ActiveScreen>,
    /// Whether somebody talked in it.
    has_talked: bool,
    /// What was written but not sent.
    unsent: UnsentText,
    draft_store: DraftStore,
    /// To be said on the next screen.
    notice: Option<String>,
}

impl App<'_> {
    fn run(mut self) -> io::Result<AppExit> {
        while let Some(screen) = self.screens.last() {
            let goes_on = match (screen, self.open_session.clone()) {
                (ActiveScreen::Picker, _) => self.pick()?,
                (ActiveScreen::Tree, Some(open_session)) => self.select(&open_session)?,
                (ActiveScreen::Chat, Some(open_session)) => self.chat(&open_session)?,
                (ActiveScreen::Tree | ActiveScreen::Chat, None) => {
                    self.screens.pop();
                    true
                }
            };
            if !goes_on {
                self.draft_store.close(&self.unsent);
                return Ok(AppExit::Stopped(self.runner.signal()));
            }
        }
        let session = self.file().filter(|_| self.has_talked);
        Ok(AppExit::Left { session, has_drafts: self.draft_store.close(&self.unsent) })
    }

    fn file(&self) -> Option<PathBuf> {
        self.open_session.as_ref()?.agent.session().path()
    }

    fn show(&mut self, screen: ActiveScreen) {
        self.screens.retain(|shown| *shown != screen);
        self.screens.push(screen);
    }

    fn enter(&mut self, agent: AgentSession, screen: ActiveScreen) {
        self.open_session = Some(OpenSession::new(agent, self.runtime.clone()));
        self.has_talked = false;
        self.remember();
        self.show(screen);
    }

    /// The session in hand is the one to continue with.
    fn remember(&self) {
        if let Some(file) = self.file() {
            self.sessions.remember(&file);
        }
    }

    /// Shows the picker. Says whether the program goes on; so do the others.
    fn pick(&mut self) -> io::Result<bool> {
        let open = self.file();
        let notice = self.notice.take();
        let (agent, screen) =
            match pick(&mut self.runner, &self.setup.picker, open.as_deref(), notice)? {
                picker::PickerOutcome::Stopped => return Ok(false),
                picker::PickerOutcome::Closed => {
                    self.screens.pop();
                    return Ok(true);
                }
                // Whoever was talking goes on talking.
                picker::PickerOutcome::Open(file) if self.screens.contains(&ActiveScreen::Chat) => {
                    (self.open(&file)?, ActiveScreen::Chat)
                }
                picker::PickerOutcome::Open(file) => (self.open(&file)?, ActiveScreen::Tree),
                picker::PickerOutcome::Copy(file) => (self.copy(&file)?, ActiveScreen::Chat),
                picker::PickerOutcome::Demo => (self.sessions.demo(), ActiveScreen::Tree),
                picker::PickerOutcome::New => (self.sessions.begin(), ActiveScreen::Chat),
            };
        match agent {
            Ok(agent) => {
                self.screens = vec![ActiveScreen::Picker];
                self.enter(agent, screen);
            }
            Err(why) => self.notice = Some(why),
        }
        Ok(true)
    }

    /// Opens a copy of a session.
    fn copy(&mut self, file: &Path) -> io::Result<Result<AgentSession, String>> {
        let agent = match self.open(file)? {
            Ok(agent) => agent,
            Err(why) => return Ok(Err(why)),
        };
        let copied = self.runtime.block_on(agent.clone_session(&CancellationToken::new()));
        Ok(match copied {
            Ok(Forked::Done { .. }) => Ok(agent),
            Ok(Forked::Aborted) => Err("stopped: no copy was made".to_owned()),
            Ok(Forked::Canceled { hook }) => Err(format!("{hook} said no: no copy was made")),
            Err(error) => Err(format!("no copy was made: {error}")),
        })
    }

    fn select(&mut self, open_session: &OpenSession) -> io::Result<bool> {
        let notice = self.notice.take();
        match select(&mut self.runner, open_session, &self.setup.tree, notice)? {
            tree::TreeOutcome::Stopped => return Ok(false),
            tree::TreeOutcome::Closed => {
                self.screens.pop();
            }
            tree::TreeOutcome::OpenChat(text) => {
                if let Some(text) = text {
                    self.unsent.replace(text);
                }
                self.show(ActiveScreen::Chat);
            }
            tree::TreeOutcome::Lost(why) => self.reopen(open_session, &why)?,
            tree::TreeOutcome::Replaced(notice) => {
                self.notice = Some(notice);
                self.remember();
            }
        }
        Ok(true)
    }

    /// Reads the session's file again after it changed under the session. If that fails, what was read
    /// before is shown, with the reason.
    fn reopen(&mut self, open_session: &OpenSession, why: &str) -> io::Result<()> {
        let file = open_session.agent.session().path();
        let opened = file.as_deref().map(|file| self.open(file)).transpose()?;
        let mut open_session = open_session.clone();
        self.notice = Some(match opened {
            Some(Ok(agent)) => {
                open_session = OpenSession::new(agent, self.runtime.clone());
                format!("{why}; the file was read again")
            }
            Some(Err(error)) => {
                open_session.is_lost = true;
                format!("{why}; reading it again failed: {error}")
            }
            None => {
                open_session.is_lost = true;
                why.to_owned()
            }
        });
        self.open_session = Some(open_session);
        Ok(())
    }

    /// Opens a session, and says so if it is so large that this takes a moment.
    fn open(&mut self, file: &Path) -> io::Result<Result<AgentSession, String>> {
        let size = file.metadata().map_or(0, |about| about.len());
        if size >= LARGE {
            let size = treering_export::text::size(size);
            self.runner.show_message(&format!("reading {} ({size}) …", file.display()))?;
        }
        Ok(self.sessions.open(file))
    }

    fn chat(&mut self, open_session: &OpenSession) -> io::Result<bool> {
        open_session.leaf_history.mark_own();
        self.has_talked = true;
        let unsent = std::mem::take(&mut self.unsent);
        let (agent, setup) = (&open_session.agent, &self.setup.chat);
        let outcome =
            chat(&mut self.runner, self.runtime, agent, setup, unsent, &self.draft_store)?;
        self.unsent = outcome.unsent;
        // Commands may have put another session in this one's place.
        self.remember();
        match outcome.left {
            ExitReason::Stopped => return Ok(false),
            ExitReason::Quit => self.screens.clear(),
            ExitReason::Tree => self.show(ActiveScreen::Tree),
            ExitReason::Resume => self.show(ActiveScreen::Picker),
        }
        Ok(true)
    }
}
