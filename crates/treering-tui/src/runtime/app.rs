//! The application: picker, tree and chat on one terminal.
//!
//! Leaving a screen returns to the screen before it. There is one open session, whichever screen
//! shows it, and one unsent text with its drafts.

use super::chat::{ChatSetup, chat};
use super::draft_store::DraftStore;
use super::open_session::OpenSession;
use super::picker::{self, PickerSetup, pick_again};
use super::runner::Runner;
use super::tree::{self, TreeSetup, select};
use crate::chat::{Drafts, ExitReason, UnsentText};
use crate::picker::PickerView;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use treering::Session;
use treering_agent::{AgentSession, CancellationToken, Forked};

/// The settings of the application.
#[derive(Debug)]
pub struct AppSetup {
    /// The session picker.
    pub picker: PickerSetup,
    /// The tree selector.
    pub tree: TreeSetup,
    /// The chat.
    pub chat: ChatSetup,
    /// The directory for unsent text and the project; `None` if unsent text is not kept.
    pub drafts: Option<(PathBuf, PathBuf)>,
}

/// The source of sessions. An error text says what happened and what to do.
pub trait SessionSource {
    /// Opens a session that the picker showed: by its file, or by its id in a store.
    fn open(&self, file: &Path) -> Result<AgentSession, String>;
    /// Creates a session.
    fn begin(&self) -> Result<AgentSession, String>;
    /// Creates the demo session.
    fn demo(&self) -> Result<AgentSession, String>;
    /// Records that this session is in use.
    fn remember(&self, file: &Path);
}

/// The first screen.
#[derive(Debug)]
pub enum StartScreen {
    /// The session picker.
    Picker,
    /// The tree of a session.
    Tree(AgentSession),
    /// The chat of a session.
    Chat(AgentSession),
}

/// The way the application ended.
#[derive(Debug)]
pub enum AppExit {
    /// The user left.
    Left {
        /// The session of the last chat, if there was one.
        session: Option<PathBuf>,
        /// Whether unsent text was stored.
        has_drafts: bool,
    },
    /// The session is resumed in its agent.
    Resume {
        /// The session.
        session: Arc<Session>,
        /// The entry to continue from; `None` for the leaf.
        at: Option<String>,
    },
    /// A signal ended the application; the value is its number.
    Stopped(Option<i32>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ActiveScreen {
    Picker,
    Tree,
    Chat,
}

/// Runs the application until the user leaves. The terminal is restored afterwards. `runtime` runs
/// background work; it needs tokio's time and I/O drivers.
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
        resumed: None,
        picker_view: None,
    };
    match first {
        StartScreen::Picker => program.show(ActiveScreen::Picker),
        StartScreen::Tree(agent) => program.enter(agent, ActiveScreen::Tree),
        StartScreen::Chat(agent) => program.enter(agent, ActiveScreen::Chat),
    }
    program.run()
}

/// The size in bytes from which reading a file takes a noticeable time.
const LARGE: u64 = 32 << 20;

struct App<'a> {
    runner: Runner,
    setup: &'a AppSetup,
    sessions: &'a dyn SessionSource,
    runtime: &'a tokio::runtime::Handle,
    /// The open session.
    open_session: Option<OpenSession>,
    /// The stack of screens, the visible one last. Each screen is on it at most once.
    screens: Vec<ActiveScreen>,
    /// Whether the chat of the session was shown.
    has_talked: bool,
    /// The unsent text.
    unsent: UnsentText,
    draft_store: DraftStore,
    /// The notice for the next screen.
    notice: Option<String>,
    /// The session that is resumed in its agent, and the entry to continue from.
    resumed: Option<(Arc<Session>, Option<String>)>,
    /// The query and the other choices with which the picker was left.
    picker_view: Option<PickerView>,
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
            if let Some((session, at)) = self.resumed.take() {
                self.draft_store.close(&self.unsent);
                return Ok(AppExit::Resume { session, at });
            }
            if !goes_on {
                self.draft_store.close(&self.unsent);
                return Ok(AppExit::Stopped(self.runner.signal()));
            }
        }
        let session = self.file().filter(|_| self.has_talked);
        Ok(AppExit::Left { session, has_drafts: self.draft_store.close(&self.unsent) })
    }

    /// Returns the name of the open session in the picker: its file, or its id in a store.
    fn picked(&self) -> Option<PathBuf> {
        match &self.setup.picker.source {
            picker::PickerSource::Machine(_) => self.file(),
            picker::PickerSource::Store(_) => {
                let session = self.open_session.as_ref()?.agent.session();
                Some(PathBuf::from(session.id().as_str()))
            }
        }
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

    /// Records that the open session is in use.
    fn remember(&self) {
        if let Some(file) = self.file() {
            self.sessions.remember(&file);
        }
    }

    /// Shows the picker, and returns whether the application continues, as `select` and `chat` do.
    fn pick(&mut self) -> io::Result<bool> {
        let open = self.picked();
        let notice = self.notice.take();
        let (setup, view) = (&self.setup.picker, &mut self.picker_view);
        let (agent, screen) =
            match pick_again(&mut self.runner, setup, open.as_deref(), notice, view)? {
                picker::PickerOutcome::Stopped => return Ok(false),
                picker::PickerOutcome::Closed => {
                    self.screens.pop();
                    return Ok(true);
                }
                // From a chat the picker leads to a chat.
                picker::PickerOutcome::Open(file) if self.screens.contains(&ActiveScreen::Chat) => {
                    (self.open(&file)?, ActiveScreen::Chat)
                }
                picker::PickerOutcome::Open(file) => (self.open(&file)?, ActiveScreen::Tree),
                picker::PickerOutcome::Copy(file) => (self.copy(&file)?, ActiveScreen::Chat),
                picker::PickerOutcome::Resume(file) => {
                    match self.open(&file)? {
                        Ok(agent) => self.resumed = Some((agent.session(), None)),
                        Err(why) => self.notice = Some(why),
                    }
                    return Ok(true);
                }
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
            Ok(Forked::Aborted) => Err("aborted; no copy was made".to_owned()),
            Ok(Forked::Canceled { hook }) => Err(format!("{hook} canceled it; no copy was made")),
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
            tree::TreeOutcome::Resume(at) => {
                let session = open_session.agent.session();
                match session.path() {
                    Some(_) => self.resumed = Some((session, at)),
                    None => {
                        let why = "an agent can resume only sessions in files; fork this one";
                        self.notice = Some(why.to_owned());
                    }
                }
            }
            tree::TreeOutcome::Lost(why) => self.reopen(open_session, &why)?,
            tree::TreeOutcome::Replaced(notice) => {
                self.notice = Some(notice);
                self.remember();
            }
        }
        Ok(true)
    }

    /// Reads the session's file again after it changed unexpectedly. If that fails, the earlier
    /// content is shown with the reason.
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

    /// Opens a session, and shows a message while a large file is read.
    fn open(&mut self, file: &Path) -> io::Result<Result<AgentSession, String>> {
        let size = file.metadata().map_or(0, |about| about.len());
        if size >= LARGE {
            let size = treering_display::number::size(size);
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
        // A command may have replaced the session.
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
