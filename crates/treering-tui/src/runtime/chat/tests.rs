//! The chat with a session and a model that plays a script, without a terminal.

use super::controller::ChatController;
use super::{ChatOutcome, ChatSetup};
use crate::TerminalEvent;
use crate::chat::{ChatEvent, ChatState, ExitReason, update};
use crate::runtime::runner::EffectHandler;
use crate::theme::Tone;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use treering::entry::MessageView;
use treering::{CreateOptions, Position, Session};
use treering_agent::{
    AgentSession, CancellationToken, ChatAnswer, ChatFuture, ChatModel, ChatRequest, Delta,
    Extractive, ModelError, Usage,
};
use treering_display::columns::columns;

/// The scripted behavior of the model.
#[derive(Debug, Clone)]
enum Play {
    Say(&'static str),
    /// Says this, and then nothing until it is stopped.
    Hang(&'static str),
    Fail,
    Panic,
}

#[derive(Debug)]
struct Scripted {
    name: String,
    plays: Mutex<VecDeque<Play>>,
    asked: Mutex<Vec<Vec<String>>>,
}

impl ChatModel for Scripted {
    fn provider(&self) -> &str {
        "acme"
    }

    fn model(&self) -> &str {
        &self.name
    }

    fn context_window(&self) -> u64 {
        100_000
    }

    fn answer<'a>(
        &'a self,
        mut request: ChatRequest,
        cancel: &'a CancellationToken,
    ) -> ChatFuture<'a> {
        let turns = request.turns.iter().map(|turn| turn.text.clone()).collect();
        self.asked.lock().unwrap().push(turns);
        let play = self.plays.lock().unwrap().pop_front().unwrap_or(Play::Say("Yes."));
        Box::pin(async move {
            let mut tell = |text: &str| {
                request.on_delta.as_mut().unwrap()(Delta::Text(text));
            };
            match play {
                Play::Say(text) => {
                    tell(text);
                    let usage = Usage::of_request().input(10).output(5);
                    Ok(ChatAnswer::new("m", text).usage(usage))
                }
                Play::Hang(text) => {
                    tell(text);
                    cancel.cancelled().await;
                    Err(ModelError::Canceled)
                }
                Play::Fail => Err(ModelError::Connection("no server".into())),
                Play::Panic => panic!("the model panics"),
            }
        })
    }
}

fn scripted(plays: &[Play]) -> Arc<Scripted> {
    let plays = Mutex::new(plays.iter().cloned().collect());
    Arc::new(Scripted { name: "m1".into(), plays, asked: Mutex::default() })
}

/// A chat with its controller, driven by a test.
struct Rig {
    _runtime: Runtime,
    agent: Arc<AgentSession>,
    controller: ChatController,
    state: Option<ChatState>,
    inbox: Receiver<ChatEvent>,
    outcome: Option<ChatOutcome>,
}

impl Rig {
    fn new(session: Session, model: Option<Arc<Scripted>>) -> Rig {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let agent = AgentSession::new(session).with_summarizer(Arc::new(Extractive::default()));
        let agent = Arc::new(agent);
        let choose = |name: &str| match name {
            "nobody" => Err("there is no such model".to_owned()),
            name => {
                let (plays, asked) = (Mutex::default(), Mutex::default());
                let model = Scripted { name: name.into(), plays, asked };
                Ok(Arc::new(model) as Arc<dyn ChatModel>)
            }
        };
        let model = model.map(|model| model as Arc<dyn ChatModel>);
        let setup = ChatSetup::new(model, "Configure one.", Box::new(choose));
        let (events, inbox) = channel();
        let controller = ChatController::new(runtime.handle(), &agent, &setup, events);
        let state = Some(ChatState::new("", "Configure one."));
        let mut rig = Rig { _runtime: runtime, agent, controller, state, inbox, outcome: None };
        rig.event(ChatEvent::from(TerminalEvent::Resize(100, 40)));
        rig.wait(|_, state| !state.status.name.is_empty());
        rig
    }

    fn event(&mut self, event: ChatEvent) {
        let (state, effects) = update(self.state.take().unwrap(), event);
        for effect in effects {
            self.outcome = self.outcome.take().or(self.controller.perform(effect, &state));
        }
        self.state = Some(state);
    }

    /// Processes events until a condition holds. The test fails if it never does, after a while.
    #[track_caller]
    fn wait(&mut self, is_so: impl Fn(&Rig, &ChatState) -> bool) {
        loop {
            let state = self.state.take().unwrap();
            let done = is_so(self, &state);
            self.state = Some(state);
            if done {
                return;
            }
            let event = self.inbox.recv_timeout(Duration::from_secs(120)).expect("something more");
            self.event(event);
        }
    }

    fn press(&mut self, keys: &str) {
        crate::testing::keys(keys)
            .into_iter()
            .for_each(|key| self.event(ChatEvent::Terminal(key.into())));
    }

    /// Types a line, sends it, and waits until everything that it starts has ended.
    #[track_caller]
    fn send(&mut self, line: &str) {
        self.event(ChatEvent::from(TerminalEvent::Paste(line.to_owned())));
        self.press("Enter");
        self.wait(|_, state| {
            state.work.is_some() || state.overlay.is_some() || state.notice.is_some()
        });
        self.wait(|_, state| state.work.is_none());
    }

    fn state(&self) -> &ChatState {
        self.state.as_ref().unwrap()
    }

    fn left(&self) -> Option<ExitReason> {
        self.outcome.as_ref().map(|outcome| outcome.left)
    }

    fn notice(&self) -> &str {
        self.state().notice.as_ref().map_or("", |notice| &notice.text)
    }

    /// Returns the context of the model, one line per message.
    fn context(&self) -> Vec<String> {
        context(&self.agent.session())
    }

    fn overlay(&self) -> String {
        let lines = &self.state().overlay.as_ref().expect("a overlay").lines;
        lines.iter().map(|line| line.text() + "\n").collect()
    }

    /// The screen as text.
    fn screen(&mut self) -> String {
        let state = self.controller.prepare(self.state.take().unwrap());
        let (width, height) = (100, 40);
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| crate::chat::draw(&state, frame)).unwrap();
        self.state = Some(state);
        let buffer = terminal.backend().buffer();
        let cells = buffer.content().iter().map(|cell| cell.symbol());
        cells.filter(|symbol| columns(symbol) > 0).collect()
    }
}

fn context(session: &Session) -> Vec<String> {
    let line = |json: &[u8]| {
        let view = MessageView::new(json);
        format!("{}: {}", view.role_name(), view.text())
    };
    session.context().unwrap().messages.iter().map(|message| line(&message.json)).collect()
}

fn place() -> (TempDir, Session) {
    let dir = tempfile::tempdir().unwrap();
    let session = open(dir.path());
    (dir, session)
}

fn open(dir: &Path) -> Session {
    let file = dir.join("s.jsonl");
    match file.exists() {
        true => Session::open(&file).unwrap(),
        false => Session::create_at(&file, dir, CreateOptions::new()).unwrap(),
    }
}

#[test]
fn a_conversation_is_continued_after_a_restart() {
    let (dir, session) = place();
    let mut rig = Rig::new(session, Some(scripted(&[Play::Say("A **color**.")])));
    rig.send("What is red?");
    assert_eq!(rig.context(), ["user: What is red?", "assistant: A **color**."]);
    let screen = rig.screen();
    assert!(screen.contains("› you") && screen.contains("color"), "{screen}");
    rig.wait(|_, state| state.status.tokens == Some(15));
    rig.press("Ctrl+D");
    assert_eq!(rig.left(), Some(ExitReason::Quit));
    drop(rig);

    let model = scripted(&[]);
    let mut rig = Rig::new(open(dir.path()), Some(Arc::clone(&model)));
    // ↑ restores the sent message.
    rig.wait(|_, state| !state.transcript.entries().is_empty());
    rig.press("↑");
    assert_eq!(rig.state().draft(), "What is red?");
    rig.press("Ctrl+U");
    rig.send("And blue?");
    let asked = model.asked.lock().unwrap().clone();
    assert_eq!(asked, [["What is red?", "A **color**.", "And blue?"]]);
}

#[test]
fn a_panic_in_an_answer_ends_the_answer_and_not_the_chat() {
    let (_dir, session) = place();
    let mut rig = Rig::new(session, Some(scripted(&[Play::Panic, Play::Say("Here again.")])));
    rig.send("Hello?");
    assert!(rig.notice().contains("ended unexpectedly"), "{}", rig.notice());
    assert_eq!(rig.context(), ["user: Hello?"]);
    rig.send("Again?");
    assert_eq!(rig.context()[1..], ["user: Again?", "assistant: Here again."]);
}

#[test]
fn an_answer_that_is_stopped_is_kept() {
    let (_dir, session) = place();
    let mut rig = Rig::new(session, Some(scripted(&[Play::Hang("Once upon")])));
    rig.event(ChatEvent::from(TerminalEvent::Paste("A story!".into())));
    rig.press("Enter");
    rig.wait(|_, state| state.streaming.as_ref().is_some_and(|it| it.text == "Once upon"));
    assert!(rig.screen().contains("Once upon"));
    rig.press("Esc");
    rig.wait(|_, state| state.work.is_none());
    assert_eq!(rig.context(), ["user: A story!", "assistant: Once upon"]);
    assert!(rig.screen().contains("(aborted)"));
    // And so is one that is running when the chat is left.
    rig.controller.close();
    assert_eq!(rig.agent.running(), None);
}

#[test]
fn leaving_stops_running_operations_and_keeps_the_draft() {
    let (_dir, session) = place();
    let mut rig = Rig::new(session, Some(scripted(&[Play::Hang("Well")])));
    rig.event(ChatEvent::from(TerminalEvent::Paste("Hello".into())));
    rig.press("Enter");
    rig.wait(|_, state| state.streaming.as_ref().is_some_and(|it| it.text == "Well"));
    rig.event(ChatEvent::from(TerminalEvent::Stop));
    assert_eq!(rig.left(), Some(ExitReason::Stopped));
    assert_eq!(rig.context(), ["user: Hello", "assistant: Well"]);

    let (_dir, session) = place();
    let mut rig = Rig::new(session, None);
    rig.press("draft Esc Esc");
    assert_eq!(rig.left(), Some(ExitReason::Tree));
    assert_eq!(rig.outcome.unwrap().unsent.text, "draft");
}

#[test]
fn a_model_that_fails_is_no_end() {
    let (_dir, session) = place();
    let mut rig = Rig::new(session, Some(scripted(&[Play::Fail])));
    rig.send("Hello");
    assert!(rig.notice().contains("no server"), "{}", rig.notice());
    assert!(rig.screen().contains("(failed: "));
    rig.send("Again");
    assert_eq!(rig.context()[2..], ["user: Again", "assistant: Yes."]);
}

#[test]
fn an_earlier_message_is_edited_and_branches_are_switched() {
    let (_dir, session) = place();
    let model = scripted(&[Play::Say("Red."), Play::Say("Fine."), Play::Say("Blue.")]);
    let mut rig = Rig::new(session, Some(model));
    rig.send("Name a color.");
    rig.send("How are you?");
    // Back to before the second question, whose text is to be edited.
    rig.send("/pop");
    assert_eq!(rig.state().draft(), "How are you?");
    assert_eq!(rig.context().len(), 3, "{:?}", rig.context());
    rig.press("Ctrl+U");
    rig.send("Another one!");
    assert_eq!(rig.context()[3..], ["user: Another one!", "assistant: Blue."]);

    rig.send("/branches");
    let list = rig.overlay();
    let numbers: Vec<&str> = list.lines().take(2).collect();
    assert!(numbers[0].contains("1 • ") && numbers[1].contains("  2   "), "{list}");
    rig.send("/switch 2");
    assert_eq!(rig.context()[2..], ["user: How are you?", "assistant: Fine."]);
    rig.send("/switch nowhere");
    assert!(rig.notice().contains("number from /branches"), "{}", rig.notice());
    rig.send("/merge 1 --full");
    assert!(rig.context().contains(&"assistant: Blue.".to_owned()), "{:?}", rig.context());
}

#[test]
fn a_place_can_be_labeled_and_gone_to() {
    let (_dir, session) = place();
    let mut rig = Rig::new(session, Some(scripted(&[])));
    rig.send("one");
    rig.send("/label here");
    rig.wait(|rig, _| rig.agent.session().tree().labels().len() == 1);
    rig.send("two");
    assert!(rig.screen().contains("[here]"));
    rig.send("/branch-here here tried something");
    assert_eq!(rig.context().len(), 3);
    let session = rig.agent.session();
    let leaf = session.entry(session.leaf().unwrap().as_str()).unwrap();
    assert_eq!(leaf.text("summary").as_deref(), Some("tried something"));
    rig.send("/label -");
    rig.send("/name my talk");
    rig.wait(|_, state| state.status.name == "my talk");
}

#[test]
fn the_context_is_compacted_on_demand() {
    let (_dir, session) = place();
    let mut rig = Rig::new(session, Some(scripted(&[])));
    rig.send("/compact");
    assert_eq!(rig.notice(), "nothing to compact: the context is too small");
    for _ in 0..2 {
        rig.send(&"word ".repeat(30_000));
    }
    rig.send("/compact the tests");
    assert!(rig.notice().starts_with("compacted: "), "{}", rig.notice());
    assert!(rig.screen().contains("── compaction"));
    rig.send("three");
    assert!(rig.context()[0].starts_with("compactionSummary"));
}

#[test]
fn another_session_is_begun_and_forked() {
    let (dir, session) = place();
    let mut rig = Rig::new(session, Some(scripted(&[])));
    rig.send("one");
    let first = rig.agent.session().id();
    rig.send("/clone");
    assert_ne!(rig.agent.session().id(), first);
    assert_eq!(rig.context(), ["user: one", "assistant: Yes."]);
    rig.send("/new");
    assert_eq!(rig.context(), Vec::<String>::new());
    rig.wait(|_, state| state.transcript.entries().is_empty());
    rig.send("two");
    let question = rig
        .agent
        .session()
        .path_to(Position::Leaf)
        .unwrap()
        .nth(1)
        .unwrap()
        .unwrap()
        .id()
        .to_string();
    rig.send(&format!("/fork {question}"));
    assert_eq!(rig.state().draft(), "two");
    // Three files: a session without messages has none.
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 3);
}

#[test]
fn a_branch_is_exported_and_no_file_replaced() {
    let (dir, session) = place();
    let mut rig = Rig::new(session, Some(scripted(&[])));
    rig.send("one");
    let question = rig
        .agent
        .session()
        .path_to(Position::Leaf)
        .unwrap()
        .nth(1)
        .unwrap()
        .unwrap()
        .id()
        .to_string();
    rig.send(&format!("/export-branch {question} out.jsonl"));
    let copy = Session::open(dir.path().join("out.jsonl")).unwrap();
    assert_eq!(context(&copy), ["user: one", "assistant: Yes."]);
    rig.send(&format!("/export-branch {question} out.jsonl"));
    assert!(rig.state().notice.as_ref().is_some_and(|notice| notice.tone == Tone::Failure));
    rig.send("/export-branch");
    assert!(rig.notice().starts_with("written: "), "{}", rig.notice());
}

#[test]
fn models_and_levels_are_changed_and_recorded() {
    let (_dir, session) = place();
    let mut rig = Rig::new(session, None);
    rig.event(ChatEvent::from(TerminalEvent::Paste("hello".into())));
    rig.press("Enter");
    assert!(rig.overlay().contains("Configure one."));
    assert_eq!(rig.state().draft(), "hello");
    rig.press("Esc Ctrl+C");
    rig.send("/model nobody");
    assert_eq!(rig.notice(), "there is no such model");
    rig.send("/model m2");
    rig.send("/thinking high");
    rig.wait(|_, state| state.status.thinking == "high");
    assert_eq!(rig.state().status.model.as_deref(), Some("acme/m2"));
    rig.send("hello");
    let context = rig.agent.context().unwrap();
    assert_eq!(context.model.unwrap().model_id.as_deref(), Some("m2"));
    assert_eq!(context.thinking_level, "high");
}

#[cfg(unix)]
#[test]
fn commands_of_the_shell_are_recorded() {
    let (dir, session) = place();
    std::fs::write(dir.path().join("here.txt"), "").unwrap();
    let mut rig = Rig::new(session, Some(scripted(&[])));
    rig.send("!ls *.txt");
    rig.send("!!echo secret; exit 3");
    let screen = rig.screen();
    assert!(screen.contains("here.txt") && screen.contains("(exit code 3)"), "{screen}");
    let model = scripted(&[]);
    let file = dir.path().join("s.jsonl");
    rig.send("one");
    drop(rig);
    let mut rig = Rig::new(Session::open(file).unwrap(), Some(Arc::clone(&model)));
    rig.send("two");
    let asked = model.asked.lock().unwrap().concat().concat();
    assert!(asked.contains("here.txt") && !asked.contains("secret"), "{asked}");
}

#[test]
fn what_others_write_is_followed() {
    let (dir, session) = place();
    let mut rig = Rig::new(session, Some(scripted(&[])));
    rig.send("one");
    let other = open(dir.path());
    other.append(treering::Message::user("from elsewhere")).unwrap();
    rig.wait(|rig, _| rig.context().contains(&"user: from elsewhere".to_owned()));
    let count = rig.context().len();
    rig.wait(|_, state| state.transcript.entries().len() > count);
    assert!(rig.screen().contains("from elsewhere"));
    // Another process that branches elsewhere does not move our leaf.
    let root = other.tree().roots().remove(0);
    other.branch(root.as_str()).unwrap();
    rig.wait(|rig, _| {
        rig.controller.poll_file();
        rig.agent.session().tree().len() == other.tree().len()
    });
    assert_eq!(rig.context().len(), count);
}

#[test]
fn lists_show_what_there_is() {
    let (_dir, session) = place();
    let mut rig = Rig::new(session, Some(scripted(&[])));
    rig.send("one");
    rig.send("/context");
    assert!(rig.overlay().starts_with("2 messages, "), "{}", rig.overlay());
    rig.press("Esc");
    rig.send("/cost");
    assert!(rig.overlay().contains("1 request: 10 read, 5 written"), "{}", rig.overlay());
}
