//! The program: picker, tree and chat, one after the other on one desk.
//!
//! Whoever leaves a screen comes back to the one before it. There is one session at a time, whichever
//! screen shows it, and one text that is written but not sent, with the drafts beside it.

use super::chat::{ChatSetup, chat};
use super::desk::Desk;
use super::keeper::Keeper;
use super::picker::{self, PickerSetup, pick};
use super::tree::{self, TreeSetup, select};
use super::visit::Visit;
use crate::chat::{Drafts, Left, Unsent};
use std::io;
use std::path::{Path, PathBuf};
use treering_agent::{AgentSession, CancellationToken, Forked};

/// How the screens look, and which keys they have.
#[derive(Debug)]
pub struct Setup {
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
pub trait Sessions {
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
pub enum First {
    /// All sessions.
    Picker,
    /// The tree of one.
    Tree(AgentSession),
    /// The conversation of one.
    Chat(AgentSession),
}

/// How the program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
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
enum Screen {
    Picker,
    Tree,
    Chat,
}

/// Runs the program until somebody leaves it. The terminal is as it was afterwards. `runtime` is where
/// what waits is done; it needs its timer and its input and output.
pub fn run(
    setup: &Setup,
    sessions: &dyn Sessions,
    first: First,
    runtime: &tokio::runtime::Handle,
) -> io::Result<End> {
    let (keeper, drafts) = match &setup.drafts {
        Some((dir, project)) => Keeper::start(dir, project),
        None => (Keeper::default(), Drafts::default()),
    };
    let mut program = Program {
        desk: Desk::open()?,
        setup,
        sessions,
        runtime,
        visit: None,
        screens: Vec::new(),
        has_talked: false,
        unsent: Unsent { drafts, ..Unsent::default() },
        keeper,
        notice: None,
    };
    match first {
        First::Picker => program.show(Screen::Picker),
        First::Tree(agent) => program.enter(agent, Screen::Tree),
        First::Chat(agent) => program.enter(agent, Screen::Chat),
    }
    program.run()
}

/// A file of this size takes a moment to read, in bytes.
const LARGE: u64 = 32 << 20;

struct Program<'a> {
    desk: Desk,
    setup: &'a Setup,
    sessions: &'a dyn Sessions,
    runtime: &'a tokio::runtime::Handle,
    /// The session that is open.
    visit: Option<Visit>,
    /// The screens that somebody comes back to, the one that is shown last. Each is there once.
    screens: Vec<Screen>,
    /// Whether somebody talked in it.
    has_talked: bool,
    /// What was written but not sent.
    unsent: Unsent,
    keeper: Keeper,
    /// To be said on the next screen.
    notice: Option<String>,
}

impl Program<'_> {
    fn run(mut self) -> io::Result<End> {
        while let Some(screen) = self.screens.last() {
            let goes_on = match (screen, self.visit.clone()) {
                (Screen::Picker, _) => self.pick()?,
                (Screen::Tree, Some(visit)) => self.select(&visit)?,
                (Screen::Chat, Some(visit)) => self.chat(&visit)?,
                (Screen::Tree | Screen::Chat, None) => {
                    self.screens.pop();
                    true
                }
            };
            if !goes_on {
                self.keeper.close(&self.unsent);
                return Ok(End::Stopped(self.desk.signal()));
            }
        }
        let session = self.file().filter(|_| self.has_talked);
        Ok(End::Left { session, has_drafts: self.keeper.close(&self.unsent) })
    }

    fn file(&self) -> Option<PathBuf> {
        self.visit.as_ref()?.agent.session().path()
    }

    fn show(&mut self, screen: Screen) {
        self.screens.retain(|shown| *shown != screen);
        self.screens.push(screen);
    }

    fn enter(&mut self, agent: AgentSession, screen: Screen) {
        self.visit = Some(Visit::new(agent, self.runtime.clone()));
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
            match pick(&mut self.desk, &self.setup.picker, open.as_deref(), notice)? {
                picker::Outcome::Stopped => return Ok(false),
                picker::Outcome::Closed => {
                    self.screens.pop();
                    return Ok(true);
                }
                // Whoever was talking goes on talking.
                picker::Outcome::Open(file) if self.screens.contains(&Screen::Chat) => {
                    (self.open(&file)?, Screen::Chat)
                }
                picker::Outcome::Open(file) => (self.open(&file)?, Screen::Tree),
                picker::Outcome::Copy(file) => (self.copy(&file)?, Screen::Chat),
                picker::Outcome::Demo => (self.sessions.demo(), Screen::Tree),
                picker::Outcome::New => (self.sessions.begin(), Screen::Chat),
            };
        match agent {
            Ok(agent) => {
                self.screens = vec![Screen::Picker];
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
            Ok(Forked::Cancelled { hook }) => Err(format!("{hook} said no: no copy was made")),
            Err(error) => Err(format!("no copy was made: {error}")),
        })
    }

    fn select(&mut self, visit: &Visit) -> io::Result<bool> {
        let notice = self.notice.take();
        match select(&mut self.desk, visit, &self.setup.tree, notice)? {
            tree::Outcome::Stopped => return Ok(false),
            tree::Outcome::Closed => {
                self.screens.pop();
            }
            tree::Outcome::Talk(text) => {
                if let Some(text) = text {
                    self.unsent.replace(text);
                }
                self.show(Screen::Chat);
            }
            tree::Outcome::Lost(why) => self.reopen(visit, &why)?,
            tree::Outcome::Replaced(notice) => {
                self.notice = Some(notice);
                self.remember();
            }
        }
        Ok(true)
    }

    /// Reads the session's file again after it changed under the session. If that fails, what was read
    /// before is shown, with the reason.
    fn reopen(&mut self, visit: &Visit, why: &str) -> io::Result<()> {
        let file = visit.agent.session().path();
        let opened = file.as_deref().map(|file| self.open(file)).transpose()?;
        let mut visit = visit.clone();
        self.notice = Some(match opened {
            Some(Ok(agent)) => {
                visit = Visit::new(agent, self.runtime.clone());
                format!("{why}; the file was read again")
            }
            Some(Err(error)) => {
                visit.is_lost = true;
                format!("{why}; reading it again failed: {error}")
            }
            None => {
                visit.is_lost = true;
                why.to_owned()
            }
        });
        self.visit = Some(visit);
        Ok(())
    }

    /// Opens a session, and says so if it is so large that this takes a moment.
    fn open(&mut self, file: &Path) -> io::Result<Result<AgentSession, String>> {
        let size = file.metadata().map_or(0, |about| about.len());
        if size >= LARGE {
            let size = treering_export::text::size(size);
            self.desk.announce(&format!("reading {} ({size}) …", file.display()))?;
        }
        Ok(self.sessions.open(file))
    }

    fn chat(&mut self, visit: &Visit) -> io::Result<bool> {
        visit.trail.own();
        self.has_talked = true;
        let unsent = std::mem::take(&mut self.unsent);
        let (agent, setup) = (&visit.agent, &self.setup.chat);
        let outcome = chat(&mut self.desk, self.runtime, agent, setup, unsent, &self.keeper)?;
        self.unsent = outcome.unsent;
        // Commands may have put another session in this one's place.
        self.remember();
        match outcome.left {
            Left::Stopped => return Ok(false),
            Left::Quit => self.screens.clear(),
            Left::Tree => self.show(Screen::Tree),
            Left::Resume => self.show(Screen::Picker),
        }
        Ok(true)
    }
}
