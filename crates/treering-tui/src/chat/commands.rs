//! The input that is not a message: `/commands` and `!commands`.
//!
//! Help, completion and parsing all use one table. The owner of the session resolves the arguments.

use std::fmt;
use treering_agent::ThinkingLevel;

/// Parsed input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParsedInput {
    /// A message to the model.
    Message(String),
    /// A command for the shell.
    Shell {
        /// The command line.
        command: String,
        /// Whether the command and its output are part of the context.
        in_context: bool,
    },
    /// A command of the chat.
    Command(ChatCommand),
}

/// A command of the chat. An entry is given by its id or a unique prefix, by a label, or by the
/// number of a branch.
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

/// The summary of the abandoned branch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is what it says")]
pub enum SummaryChoice {
    None,
    Given(String),
    Generate(Option<String>),
}

/// The kind of a command's argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArgumentKind {
    Nothing,
    Place,
    Text,
    Level,
    Model,
}

/// The description of a command.
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

/// All commands.
pub(crate) const TABLE: [CommandSpec; 22] = [
    spec("tree", "", "navigate the session tree", ArgumentKind::Nothing),
    spec("branch", "[ENTRY]", "fork before a message into a new session", ArgumentKind::Place),
    spec(
        "branch-here",
        "ENTRY [SUMMARY | --summarize [FOCUS]]",
        "continue from an entry in this session",
        ArgumentKind::Place,
    ),
    spec("branches", "", "list branches with numbers", ArgumentKind::Nothing),
    spec("switch", "ENTRY", "switch to another branch", ArgumentKind::Place),
    spec("pop", "[ENTRY]", "undo your last message, with a summary", ArgumentKind::Place),
    spec("fork", "[ENTRY]", "fork at an entry into a new session", ArgumentKind::Place),
    spec("clone", "", "copy this branch into a new session", ArgumentKind::Nothing),
    spec("compact", "[FOCUS]", "replace older context with a summary", ArgumentKind::Text),
    spec(
        "label",
        "[ENTRY] TEXT",
        "label an entry (default: the last); - removes it",
        ArgumentKind::Place,
    ),
    spec("name", "[TEXT]", "show or set the session name", ArgumentKind::Text),
    spec(
        "export-branch",
        "[ENTRY] [FILE]",
        "export an entry and all below it to a file",
        ArgumentKind::Place,
    ),
    spec("cherry-pick", "ENTRY[..ENTRY]", "copy entries to this branch", ArgumentKind::Place),
    spec(
        "merge",
        "ENTRY [--full | FOCUS]",
        "merge another branch into this one",
        ArgumentKind::Place,
    ),
    spec("resume", "", "open another session", ArgumentKind::Nothing),
    spec("new", "", "start a new session", ArgumentKind::Nothing),
    spec("model", "[NAME]", "show or change the model", ArgumentKind::Model),
    spec("thinking", "[LEVEL]", "show or set the thinking level", ArgumentKind::Level),
    spec("context", "", "show the context of the model", ArgumentKind::Nothing),
    spec("cost", "", "show tokens and cost", ArgumentKind::Nothing),
    spec("help", "", "show commands and keys", ArgumentKind::Nothing),
    spec("quit", "", "quit the program", ArgumentKind::Nothing),
];

/// The thinking levels, as the argument of `/thinking`.
const LEVELS: &str = "[off|minimal|low|medium|high|xhigh]";

/// The error of input that cannot be executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandError {
    /// A `!` without a shell command after it.
    NoShellCommand,
    /// The command is unknown; the second value is a similar command.
    Unknown(String, Option<&'static str>),
    /// The arguments are wrong; the values are the command and its arguments.
    Usage(&'static str, &'static str),
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommandError::NoShellCommand => f.write_str(
                "put a shell command after the !, such as !ls; !!ls hides it from the model",
            ),
            CommandError::Unknown(name, Some(near)) => {
                write!(f, "unknown command /{name}; did you mean /{near}?")
            }
            CommandError::Unknown(name, None) => {
                write!(f, "unknown command /{name}; see /help, or put a space first to send it")
            }
            CommandError::Usage(name, arguments) => {
                write!(f, "{}", format!("usage: /{name} {arguments}").trim_end())
            }
        }
    }
}

impl std::error::Error for CommandError {}

impl ParsedInput {
    /// Parses input.
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
        // A path such as `/usr/bin` is part of a message.
        if name.contains('/') || name.is_empty() {
            return Ok(ParsedInput::Message(text.trim().to_owned()));
        }
        let spec = TABLE.iter().find(|spec| spec.name == name);
        let spec = spec.ok_or_else(|| CommandError::Unknown(name.to_owned(), near(name)))?;
        let arguments_of = match spec.arguments {
            "[LEVEL]" => LEVELS,
            other => other,
        };
        let usage = CommandError::Usage(spec.name, arguments_of);
        command(spec.name, arguments.trim()).map(ParsedInput::Command).ok_or(usage)
    }
}

fn shell(command: &str, in_context: bool) -> Result<ParsedInput, CommandError> {
    match command.trim() {
        "" => Err(CommandError::NoShellCommand),
        command => Ok(ParsedInput::Shell { command: command.to_owned(), in_context }),
    }
}

/// Parses a command and its arguments; `None` if the arguments are wrong.
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

/// Returns the command that begins with `name`, or differs from it by one typing error.
fn near(name: &str) -> Option<&'static str> {
    let mut names = TABLE.iter().map(|spec| spec.name);
    let alike = names.clone().find(|known| !name.is_empty() && known.starts_with(name));
    alike.or_else(|| names.find(|known| is_near(name, known)))
}

/// Returns whether two words differ by one inserted, deleted or replaced letter, or by two swapped
/// letters.
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
    /// Returns whether the command changes nothing, so that it can run while a task is running.
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
