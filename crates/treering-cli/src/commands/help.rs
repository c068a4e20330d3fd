//! `treering help`: topics that are not about a single command, and the help of commands.

use crate::error::Failure;
use crate::output::{Output, Style};
use std::io::Write;
use treering_index::distance;

/// Explain a topic or a command
///
/// Topics: sessions, search, summarizers, formats, redaction, config, keys,
/// exit-codes.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A topic or a command; all of them are listed if not given
    topic: Option<String>,
}

/// All topics: the name, other names, and the text.
const TOPICS: [(&str, &[&str], &str); 7] = [
    ("sessions", &["session", "addressing", "places"], include_str!("../help/sessions.md")),
    ("search", &[], include_str!("../help/search.md")),
    ("summarizers", &["summarizer", "models"], include_str!("../help/summarizers.md")),
    ("formats", &["format", "agents"], include_str!("../help/formats.md")),
    ("redaction", &["privacy", "safety"], include_str!("../help/redaction.md")),
    ("config", &["configuration", "environment"], include_str!("../help/config.md")),
    ("exit-codes", &["exit-code", "errors"], include_str!("../help/exit-codes.md")),
];

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let Some(wanted) = &args.topic else {
        write!(out, "{}", crate::command().render_help())?;
        writeln!(out, "\nTopics (`treering help TOPIC`):")?;
        for (name, _, text) in TOPICS {
            let heading = text.lines().next().unwrap_or_default().trim_start_matches("# ");
            writeln!(out, "  {name:<13} {heading}")?;
        }
        writeln!(out, "  {KEYS:<13} {KEYS_HEADING}")?;
        return Ok(());
    };
    let is_it = |(name, others, _): &&(&str, &[&str], &str)| {
        name == wanted || others.contains(&wanted.as_str())
    };
    if wanted == KEYS {
        return write_keys(out);
    }
    // `config` is both a topic and a command; `treering config --help` shows the command's options.
    if let Some((_, _, text)) = TOPICS.iter().find(is_it) {
        return write_topic(text, out);
    }
    let mut treering = crate::command();
    treering.build();
    if let Some(command) = treering.find_subcommand_mut(wanted) {
        write!(out, "{}", command.render_long_help())?;
        return Ok(());
    }
    Err(unknown(wanted, &treering))
}

/// The only topic without a text: the terminal interface lists its keys.
const KEYS: &str = "keys";
const KEYS_HEADING: &str =
    "The keys of the terminal interface, and their names for the configuration";

fn write_keys(out: &mut Output) -> Result<(), Failure> {
    writeln!(out, "{}\n", out.paint(Style::Heading, KEYS_HEADING))?;
    let rule = "To bind other keys, name them in the configuration: [keys.tree] fork = \"F\", or a list of keys.";
    writeln!(out, "{rule}")?;
    let everywhere = "On every screen Ctrl+Z suspends the program, and Ctrl+L draws the screen again, in addition to its\naction. Once a text has been started (a query, a label, a name), printable keys are part of it.";
    writeln!(out, "{everywhere}")?;
    write_table::<treering_tui::picker::PickerAction>("picker", out)?;
    write_table::<treering_tui::tree::TreeAction>("tree", out)?;
    write_table::<treering_tui::chat::ChatAction>("chat", out)
}

fn write_table<A: treering_tui::keys::Action>(
    screen: &str,
    out: &mut Output,
) -> Result<(), Failure> {
    writeln!(out, "\n{}", out.paint(Style::Heading, &format!("[keys.{screen}]")))?;
    for (_, name, about, keys) in A::ALL {
        writeln!(out, "{name:<20} {keys:<22} {about}")?;
    }
    Ok(())
}

/// Writes a topic with its headings highlighted.
fn write_topic(text: &str, out: &mut Output) -> Result<(), Failure> {
    for line in text.lines() {
        let line = match line.trim_start_matches('#') {
            heading if heading.len() < line.len() => out.paint(Style::Heading, heading.trim()),
            _ => line.to_owned(),
        };
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn unknown(wanted: &str, treering: &clap::Command) -> Failure {
    let chars = |text: &str| text.chars().take(64).collect::<Vec<char>>();
    let commands = treering.get_subcommands().map(clap::Command::get_name);
    let names = TOPICS.iter().map(|(name, _, _)| *name).chain(commands);
    let near = names.map(|name| (distance(&chars(wanted), &chars(name)), name)).min();
    let hint = match near {
        Some((away, name)) if away <= 2 => format!("did you mean `treering help {name}`?"),
        _ => "`treering help` lists topics and commands".to_owned(),
    };
    Failure::Usage { what: format!("there is no topic and no command {wanted:?}"), hint }
}
