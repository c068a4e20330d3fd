//! What can be typed besides what is said: `/commands` and `!commands`.
//!
//! The table is all there is to know about them: help, completion and parsing go by it. What an
//! argument means in a session is found out by whoever has the session.

use std::fmt;
use treering_agent::Thinking;

/// Something that was typed and sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typed {
    /// For the model.
    Said(String),
    /// For the shell.
    Shell {
        /// The command line.
        command: String,
        /// Whether the model sees it.
        in_context: bool,
    },
    /// For the chat.
    Command(Command),
}

/// A command. A place is the id of an entry or its beginning, a label, or the number of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the table says what each does")]
pub enum Command {
    Tree,
    Branch(Option<String>),
    BranchHere(String, Summary),
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
pub enum Summary {
    None,
    Given(String),
    Asked(Option<String>),
}

/// What the words after a command are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    Nothing,
    Place,
    Text,
    Level,
    Model,
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spec {
    pub name: &'static str,
    pub arguments: &'static str,
    pub about: &'static str,
    pub takes: Takes,
}

const fn spec(
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    takes: Takes,
) -> Spec {
    Spec { name, arguments, about, takes }
}

/// Every command.
pub(crate) const TABLE: [Spec; 22] = [
    spec("tree", "", "choose a place in the tree", Takes::Nothing),
    spec("branch", "[PLACE]", "a new session from before a message; else choose one", Takes::Place),
    spec(
        "branch-here",
        "PLACE [SUMMARY | --summarize [FOCUS]]",
        "go on from a place in this session",
        Takes::Place,
    ),
    spec("branches", "", "list the branches, with numbers", Takes::Nothing),
    spec("switch", "PLACE", "go to another branch", Takes::Place),
    spec("pop", "[PLACE]", "take back your last message, with a summary", Takes::Place),
    spec("fork", "[PLACE]", "a new session from a place; else choose a message", Takes::Place),
    spec("clone", "", "a new session with this branch", Takes::Nothing),
    spec("compact", "[FOCUS]", "replace older context by a summary", Takes::Text),
    spec("label", "[ENTRY] TEXT", "label an entry, else the last; - clears", Takes::Place),
    spec("name", "[TEXT]", "name the session", Takes::Text),
    spec("export-branch", "[PLACE] [FILE]", "write what is below a place to a file", Takes::Place),
    spec("cherry-pick", "PLACE[..PLACE]", "copy an entry, or some, to this branch", Takes::Place),
    spec("merge", "PLACE [--full | FOCUS]", "bring another branch's work here", Takes::Place),
    spec("resume", "", "choose another session", Takes::Nothing),
    spec("new", "", "begin a new session", Takes::Nothing),
    spec("model", "[NAME]", "talk to another model", Takes::Model),
    spec("thinking", "[LEVEL]", "set how much the model should think", Takes::Level),
    spec("context", "", "what the model sees", Takes::Nothing),
    spec("cost", "", "what was used", Takes::Nothing),
    spec("help", "", "commands and keys", Takes::Nothing),
    spec("quit", "", "leave", Takes::Nothing),
];

/// Why something that was typed cannot be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mistake {
    /// No command is called so; one that is may be meant.
    Unknown(String, Option<&'static str>),
    /// The command needs something else after it.
    Usage(&'static str, &'static str),
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mistake::Unknown(name, Some(near)) => {
                write!(f, "there is no /{name}: did you mean /{near}?")
            }
            Mistake::Unknown(name, None) => {
                write!(f, "there is no /{name}: see /help, or put a space first to send it as text")
            }
            Mistake::Usage(name, arguments) => {
                write!(f, "{}", format!("usage: /{name} {arguments}").trim_end())
            }
        }
    }
}

impl std::error::Error for Mistake {}

impl Typed {
    /// Reads what was typed.
    ///
    /// ```
    /// use treering_tui::chat::{Command, Typed};
    /// assert_eq!(Typed::read("/switch 2"), Ok(Typed::Command(Command::Switch("2".into()))));
    /// assert_eq!(Typed::read(" /usr is full"), Ok(Typed::Said("/usr is full".into())));
    /// assert!(Typed::read("/swich 2").is_err());
    /// ```
    pub fn read(text: &str) -> Result<Typed, Mistake> {
        if let Some(command) = text.strip_prefix("!!") {
            return shell(command, false);
        }
        if let Some(command) = text.strip_prefix('!') {
            return shell(command, true);
        }
        let Some(rest) = text.strip_prefix('/') else {
            return Ok(Typed::Said(text.trim().to_owned()));
        };
        let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        // A path is something to talk about.
        if name.contains('/') || name.is_empty() {
            return Ok(Typed::Said(text.trim().to_owned()));
        }
        let spec = TABLE.iter().find(|spec| spec.name == name);
        let spec = spec.ok_or_else(|| Mistake::Unknown(name.to_owned(), near(name)))?;
        let usage = Mistake::Usage(spec.name, spec.arguments);
        command(spec.name, arguments.trim()).map(Typed::Command).ok_or(usage)
    }
}

fn shell(command: &str, in_context: bool) -> Result<Typed, Mistake> {
    match command.trim() {
        "" => Err(Mistake::Usage("help", "   !COMMAND runs a command, !! keeps it from the model")),
        command => Ok(Typed::Shell { command: command.to_owned(), in_context }),
    }
}

/// A command and what stands after it; `None` if that is wrong.
fn command(name: &str, rest: &str) -> Option<Command> {
    let (first, more) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let more = more.trim();
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let no_more = |command: Command| more.is_empty().then_some(command);
    let nothing = |command: Command| rest.is_empty().then_some(command);
    Some(match name {
        "tree" => nothing(Command::Tree)?,
        "branch" => no_more(Command::Branch(text(first)))?,
        "branch-here" => Command::BranchHere(text(first)?, summary(more)),
        "branches" => nothing(Command::Branches)?,
        "switch" => no_more(Command::Switch(text(first)?))?,
        "pop" => no_more(Command::Pop(text(first)))?,
        "fork" => no_more(Command::Fork(text(first)))?,
        "clone" => nothing(Command::Clone)?,
        "compact" => Command::Compact(text(rest)),
        "label" => Command::Label(text(rest)?),
        "name" => Command::Name(rest.to_owned()),
        "export-branch" => Command::ExportBranch(text(first), text(more)),
        "cherry-pick" => no_more(Command::CherryPick(text(first)?))?,
        "merge" => {
            let focus = more.strip_prefix("--full");
            let (full, focus) = (focus.is_some(), text(focus.unwrap_or(more).trim()));
            Command::Merge { place: text(first)?, full, focus: focus.filter(|_| !full) }
        }
        "resume" => nothing(Command::Resume)?,
        "new" => nothing(Command::New)?,
        "model" => no_more(Command::Model(text(first)))?,
        "thinking" if first.is_empty() || Thinking::LEVELS.contains(&first) => {
            no_more(Command::Thinking(text(first)))?
        }
        "context" => nothing(Command::Context)?,
        "cost" => nothing(Command::Cost)?,
        "help" => Command::Help,
        "quit" => nothing(Command::Quit)?,
        _ => return None,
    })
}

fn summary(text: &str) -> Summary {
    match text.strip_prefix("--summarize") {
        Some(focus) => {
            Summary::Asked(Some(focus.trim().to_owned()).filter(|focus| !focus.is_empty()))
        }
        None if text.is_empty() => Summary::None,
        None => Summary::Given(text.to_owned()),
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

impl Command {
    /// Whether it only looks, so that it need not wait for what is going on.
    pub(crate) fn only_looks(&self) -> bool {
        let is_question = |text: &str| text.is_empty();
        match self {
            Command::Branches | Command::Context | Command::Cost | Command::Help => true,
            Command::Model(None) | Command::Thinking(None) | Command::Quit => true,
            Command::Name(name) => is_question(name),
            _ => false,
        }
    }
}
