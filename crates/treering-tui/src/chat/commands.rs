//! What can be typed besides what is said: `/commands` and `!commands`.
//!
//! The table is all there is to know about them: help, completion and parsing go by it. What an
//! argument means in a session is found out by whoever has the session.

use std::fmt;
use treering_agent::ThinkingLevel;

/// Something that was typed and sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParsedInput {
    /// For the model.
    Message(String),
    /// For the shell.
    Shell {
        /// The command line.
        command: String,
        /// Whether the model sees it.
        in_context: bool,
    },
    /// For the chat.
    Command(ChatCommand),
}

/// A command. A place is the id of an entry or its beginning, a label, or the number of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the table says what each does")]
pub enum ChatCommand {
    Tree,
    Branch(Option<String>),
    BranchHere(String, SummaryChoice),
    Branches,
    Switch(String),
    Pop(Option<String>),
    Fork(Option<String>),
    Clone,
    Compact(Option<String>),
    Label(String),
    Name(String),
    ExportBranch(Option<String>, Option<String>),
    CherryPick(String),
    Merge { place: String, full: bool, focus: Option<String> },
    Resume,
    New,
    Model(Option<String>),
    Thinking(Option<String>),
    Context,
    Cost,
    Help,
    Quit,
}

/// What comes along when a branch is left.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is what it says")]
pub enum SummaryChoice {
    None,
    Given(String),
    Generate(Option<String>),
}

/// What the words after a command are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArgumentKind {
    Nothing,
    Place,
    Text,
    Level,
    Model,
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommandSpec {
    pub name: &'static str,
    pub arguments: &'static str,
    pub about: &'static str,
    pub takes: ArgumentKind,
}

const fn spec(
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    takes: ArgumentKind,
) -> CommandSpec {
    CommandSpec { name, arguments, about, takes }
}

/// Every command.
pub(crate) const TABLE: [CommandSpec; 22] = [
    spec("tree", "", "choose a place in the tree", ArgumentKind::Nothing),
    spec(
        "branch",
        "[PLACE]",
        "a new session from before a message; else choose one",
        ArgumentKind::Place,
    ),
    spec(
        "branch-here",
        "PLACE [SUMMARY | --summarize [FOCUS]]",
        "go on from a place in this session",
        ArgumentKind::Place,
    ),
    spec("branches", "", "list the branches, with numbers", ArgumentKind::Nothing),
    spec("switch", "PLACE", "go to another branch", ArgumentKind::Place),
    spec("pop", "[PLACE]", "take back your last message, with a summary", ArgumentKind::Place),
    spec(
        "fork",
        "[PLACE]",
        "a new session from a place; else choose a message",
        ArgumentKind::Place,
    ),
    spec("clone", "", "a new session with this branch", ArgumentKind::Nothing),
    spec("compact", "[FOCUS]", "replace older context by a summary", ArgumentKind::Text),
    spec("label", "[ENTRY] TEXT", "label an entry, else the last; - clears", ArgumentKind::Place),
    spec("name", "[TEXT]", "name the session", ArgumentKind::Text),
    spec(
        "export-branch",
        "[PLACE] [FILE]",
        "write what is below a place to a file",
        ArgumentKind::Place,
    ),
    spec(
        "cherry-pick",
        "PLACE[..PLACE]",
        "copy an entry, or some, to this branch",
        ArgumentKind::Place,
    ),
    spec(
        "merge",
        "PLACE [--full | FOCUS]",
        "bring another branch's work here",
        ArgumentKind::Place,
    ),
    spec("resume", "", "choose another session", ArgumentKind::Nothing),
    spec("new", "", "begin a new session", ArgumentKind::Nothing),
    spec("model", "[NAME]", "talk to another model", ArgumentKind::Model),
    spec("thinking", "[LEVEL]", "set how much the model should think", ArgumentKind::Level),
    spec("context", "", "what the model sees", ArgumentKind::Nothing),
    spec("cost", "", "what was used", ArgumentKind::Nothing),
    spec("help", "", "commands and keys", ArgumentKind::Nothing),
    spec("quit", "", "leave", ArgumentKind::Nothing),
];

/// Why something that was typed cannot be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandError {
    /// No command is called so; one that is may be meant.
    Unknown(String, Option<&'static str>),
    /// The command needs something else after it.
    Usage(&'static str, &'static str),
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommandError::Unknown(name, Some(near)) => {
                write!(f, "there is no /{name}: did you mean /{near}?")
            }
            CommandError::Unknown(name, None) => {
                write!(f, "there is no /{name}: see /help, or put a space first to send it as text")
            }
            CommandError::Usage(name, arguments) => {
                write!(f, "{}", format!("usage: /{name} {arguments}").trim_end())
            }
        }
    }
}

impl std::error::Error for CommandError {}

impl ParsedInput {
    /// Reads what was typed.
    ///
    /// ```
    /// use treering_tui::chat::{ChatCommand, ParsedInput};
    /// assert_eq!(ParsedInput::parse("/switch 2"), Ok(ParsedInput::Command(ChatCommand::Switch("2".into()))));
    /// assert_eq!(ParsedInput::parse(" /usr is full"), Ok(ParsedInput::Message("/usr is full".into())));
    /// assert!(ParsedInput::parse("/swich 2").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<ParsedInput, CommandError> {
        if let Some(command) = text.strip_prefix("!!") {
            return shell(command, false);
        }
        if let Some(command) = text.strip_prefix('!') {
            return shell(command, true);
        }
        let Some(rest) = text.strip_prefix('/') else {
            return Ok(ParsedInput::Message(text.trim().to_owned()));
        };
        let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        // A path is something to talk about.
        if name.contains('/') || name.is_empty() {
            return Ok(ParsedInput::Message(text.trim().to_owned()));
        }
        let spec = TABLE.iter().find(|spec| spec.name == name);
        let spec = spec.ok_or_else(|| CommandError::Unknown(name.to_owned(), near(name)))?;
        let usage = CommandError::Usage(spec.name, spec.arguments);
        command(spec.name, arguments.trim()).map(ParsedInput::Command).ok_or(usage)
    }
}

fn shell(command: &str, in_context: bool) -> Result<ParsedInput, CommandError> {
    match command.trim() {
        "" => Err(CommandError::Usage(
            "help",
            "   !COMMAND runs a command, !! keeps it from the model",
        )),
        command => Ok(ParsedInput::Shell { command: command.to_owned(), in_context }),
    }
}

/// A command and what stands after it; `None` if that is wrong.
fn command(name: &str, rest: &str) -> Option<ChatCommand> {
    let (first, more) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let more = more.trim();
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let no_more = |command: ChatCommand| more.is_empty().then_some(command);
    let nothing = |command: ChatCommand| rest.is_empty().then_some(command);
    Some(match name {
        "tree" => nothing(ChatCommand::Tree)?,
        "branch" => no_more(ChatCommand::Branch(text(first)))?,
        "branch-here" => ChatCommand::BranchHere(text(first)?, summary(more)),
        "branches" => nothing(ChatCommand::Branches)?,
        "switch" => no_more(ChatCommand::Switch(text(first)?))?,
        "pop" => no_more(ChatCommand::Pop(text(first)))?,
        "fork" => no_more(ChatCommand::Fork(text(first)))?,
        "clone" => nothing(ChatCommand::Clone)?,
        "compact" => ChatCommand::Compact(text(rest)),
        "label" => ChatCommand::Label(text(rest)?),
        "name" => ChatCommand::Name(rest.to_owned()),
        "export-branch" => ChatCommand::ExportBranch(text(first), text(more)),
        "cherry-pick" => no_more(ChatCommand::CherryPick(text(first)?))?,
        "merge" => {
            let focus = more.strip_prefix("--full");
            let (full, focus) = (focus.is_some(), text(focus.unwrap_or(more).trim()));
            ChatCommand::Merge { place: text(first)?, full, focus: focus.filter(|_| !full) }
        }
        "resume" => nothing(ChatCommand::Resume)?,
        "new" => nothing(ChatCommand::New)?,
        "model" => no_more(ChatCommand::Model(text(first)))?,
        "thinking" if first.is_empty() || ThinkingLevel::LEVELS.contains(&first) => {
            no_more(ChatCommand::Thinking(text(first)))?
        }
        "context" => nothing(ChatCommand::Context)?,
        "cost" => nothing(ChatCommand::Cost)?,
        "help" => ChatCommand::Help,
        "quit" => nothing(ChatCommand::Quit)?,
        _ => return None,
    })
}

fn summary(text: &str) -> SummaryChoice {
    match text.strip_prefix("--summarize") {
        Some(focus) => {
            SummaryChoice::Generate(Some(focus.trim().to_owned()).filter(|focus| !focus.is_empty()))
        }
        None if text.is_empty() => SummaryChoice::None,
        None => SummaryChoice::Given(text.to_owned()),
    }
}

/// The command that begins alike, or that is one slip away.
fn near(name: &str) -> Option<&'static str> {
    let mut names = TABLE.iter().map(|spec| spec.name);
    let alike = names.clone().find(|known| !name.is_empty() && known.starts_with(name));
    alike.or_else(|| names.find(|known| is_near(name, known)))
}

/// Whether one letter too many, too few, or another makes the difference, or two are swapped.
fn is_near(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > 1 {
        return false;
    }
    let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let rest = |text: &[char], from: usize| text.get(from..).unwrap_or_default().to_vec();
    let swapped = a.get(same) == b.get(same + 1) && a.get(same + 1) == b.get(same);
    rest(&a, same + 1) == rest(&b, same + 1)
        || rest(&a, same) == rest(&b, same + 1)
        || rest(&a, same + 1) == rest(&b, same)
        || swapped && rest(&a, same + 2) == rest(&b, same + 2)
}

impl ChatCommand {
    /// Whether it only looks, so that it need not wait for what is going on.
    pub(crate) fn is_read_only(&self) -> bool {
        let is_question = |text: &str| text.is_empty();
        match self {
            ChatCommand::Branches
            | ChatCommand::Context
            | ChatCommand::Cost
            | ChatCommand::Help => true,
            ChatCommand::Model(None) | ChatCommand::Thinking(None) | ChatCommand::Quit => true,
            ChatCommand::Name(name) => is_question(name),
            _ => false,
        }
    }
}
