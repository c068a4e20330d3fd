//! Invariants that are checked after a run.

use crate::scenario::{
    Document, Ledger, OLD_DOCUMENT, PACKED, PLAIN, SECRET, Scenario, TARGET, TRASH, Verb,
};
use std::path::Path;
use treering::Session;
use treering_export::Existing;
use treering_testkit::sim::start::{self, Start};
use treering_testkit::sim::{Habit, Inode};

/// The last line of a document that has no end of its own.
pub(crate) const END: &str = "\nthe end of the document\n";

/// Names what happened in a run.
pub(crate) fn met(scenario: &Scenario, ledger: &Ledger) -> Vec<&'static str> {
    let mut met = Vec::new();
    let state = scenario.world.state();
    let was_killed = matches!(&ledger.result, Some(Err(error)) if error.contains("killed"));
    match &ledger.result {
        Some(Ok(())) => met.push("succeeded"),
        Some(Err(_)) if !was_killed => met.push("failed"),
        _ => {}
    }
    if state.lost_power {
        met.push("lost power");
    } else if was_killed {
        met.push("was killed");
    }
    if state.agents.iter().any(|agent| !agent.written.is_empty()) {
        met.push("an agent wrote");
    }
    met
}

/// A file on the disk after a run.
struct Named {
    path: String,
    inode: Inode,
    data: Vec<u8>,
}

pub(crate) fn problems(scenario: &Scenario, ledger: &Ledger) -> Vec<String> {
    let world = &scenario.world;
    let (files, agents, lost_power) = {
        let state = world.state();
        let named = |(path, inode): (&Path, Inode)| Named {
            path: path.display().to_string(),
            inode,
            data: state.disk.content(inode).data.clone(),
        };
        let files: Vec<Named> = state.disk.file_names().map(named).collect();
        (files, state.agents.clone(), state.lost_power)
    };
    let was_killed = (0..2).any(|pid| world.is_killed(pid));
    let ended = !was_killed && !lost_power;
    let mut problems = Vec::new();
    let mut check = |holds: bool, problem: String| {
        if !holds {
            problems.push(problem);
        }
    };

    let leftovers = files.iter().filter(|file| file.path.ends_with(".tmp"));
    for file in leftovers.filter(|_| ended) {
        check(false, format!("{} was left behind", file.path));
    }

    // Bytes of the file as it was at the start never change.
    let original = world.state().disk.content(scenario.inode).data.clone();
    if scenario.verb != Verb::Unarchive {
        check(original.starts_with(&scenario.before), "bytes of the session changed".to_owned());
    }

    // A file that another program put there is not removed and not written to.
    let placed: Vec<Inode> = agents.iter().filter_map(|agent| agent.placed).collect();
    for inode in placed.iter().filter(|_| !lost_power) {
        let has_name = files.iter().any(|file| file.inode == *inode);
        let data = world.state().disk.content(*inode).data.clone();
        let is_kept = data.starts_with(start::header(Some(3), "another").as_bytes());
        // A removal that began afterwards is about this file.
        let is_wanted = removals(scenario, ledger) > 0 && !has_name;
        let archived = files.iter().any(|file| file.path == PACKED);
        check(
            has_name || is_wanted && archived || is_removed(scenario, ledger),
            "another program's file was removed".to_owned(),
        );
        check(is_kept, "another program's file changed".to_owned());
    }

    // The texts of the session and everything that was acknowledged are somewhere.
    let mut found = String::new();
    for file in files.iter().filter(|file| is_session(&file.path)) {
        let read = world.afterwards(|| read(&file.path));
        match read {
            Ok(texts) => found.push_str(&texts),
            // An agent that still has the old path began a file of its own there.
            Err(_) if file.path == PLAIN && file.inode != scenario.inode => {}
            // The power failed while another program wrote its file.
            Err(_) if placed.contains(&file.inode) && lost_power => {}
            Err(error) => check(false, format!("{} cannot be read: {error}", file.path)),
        }
        found.push_str(&String::from_utf8_lossy(&file.data));
    }
    let is_removed = is_removed(scenario, ledger);
    if !is_removed && placed.is_empty() {
        for text in &scenario.texts {
            check(found.contains(text.as_str()), format!("{} is lost", short(text)));
        }
    }
    let no_locks = scenario.faults.broken_locks;
    for (text, is_durable) in &ledger.acknowledged {
        let promised = *is_durable && !no_locks || !lost_power;
        let has = !promised || is_removed || found.contains(text.as_str());
        // An entry may be in a file that another program then replaced.
        check(has || !placed.is_empty(), format!("{} was acknowledged and is lost", short(text)));
    }
    let has_name = files.iter().any(|file| file.inode == scenario.inode);
    let is_restored = !has_name && is_refused(&ledger.result);
    // Without links, an agent may open the empty file that reserves the name of the session.
    let is_reserved = scenario.faults.no_links && scenario.verb == Verb::Unarchive;
    for (at, agent) in agents.iter().enumerate().filter(|_| !lost_power && !is_removed) {
        let count = match agent.habit {
            Habit::OpensEachTime => agent.written.len(),
            // What it writes later goes to a file that has lost its name. The same is true if it wrote
            // between the last check of the file and its removal, and continues.
            _ if ended && !is_restored => ledger.written.get(at).copied().unwrap_or_default(),
            _ => 0,
        };
        let is_beside = is_reserved || !placed.is_empty() || removals(scenario, ledger) > 1;
        for text in start::agent_texts(agent).take(count) {
            check(is_beside || found.contains(&text), format!("{text} of an agent is lost"));
        }
    }

    match scenario.verb {
        Verb::Archive | Verb::Unarchive => {
            let made = if scenario.verb == Verb::Archive { PACKED } else { PLAIN };
            let is_there = files.iter().any(|file| file.path == made);
            let is_done = ledger.result == Some(Ok(()));
            let is_alone = scenario.second.is_none_or(|second| !second.removes());
            check(!is_done || is_there || !is_alone, format!("{made} is not there"));
        }
        Verb::Redact | Verb::Export(..) => {
            // The session may have been removed before it was read.
            let is_own = placed.is_empty() && !scenario.second.is_some_and(Verb::removes);
            document(scenario, ledger, &files, is_own, &mut check);
        }
        _ => {}
    }
    problems
}

fn is_session(path: &str) -> bool {
    path == PLAIN
        || path == PACKED
        || path.ends_with(".bak")
        || path.starts_with(TRASH)
            && !path.ends_with("other")
            && !path.ends_with("info")
            && !path.ends_with(".tmp")
}

/// Returns the number of processes that may have given up the name of the session.
fn removals(scenario: &Scenario, ledger: &Ledger) -> usize {
    let is_refused = |result: &Option<Result<(), String>>| matches!(result, Some(Err(error)) if !error.contains("killed"));
    let main = scenario.verb.removes() && !is_refused(&ledger.result);
    let second = scenario.second.is_some_and(Verb::removes) && !is_refused(&ledger.second);
    usize::from(main) + usize::from(second)
}

/// Whether a command failed and says that nothing was changed.
fn is_refused(result: &Option<Result<(), String>>) -> bool {
    let is_done = |error: &str| error.contains("killed") || error.contains("was removed, but");
    matches!(result, Some(Err(error)) if !is_done(error))
}

/// Whether the session was deleted for good, as was asked for.
fn is_removed(scenario: &Scenario, ledger: &Ledger) -> bool {
    let is_done = |verb: Verb, result: &Option<Result<(), String>>| {
        verb == Verb::Remove && !is_refused(result)
    };
    is_done(scenario.verb, &ledger.result)
        || scenario.second.is_some_and(|second| is_done(second, &ledger.second))
}

/// Checks the document or the copy that was to be made, of the session and of no other one if it is its own.
fn document(
    scenario: &Scenario,
    ledger: &Ledger,
    files: &[Named],
    is_own: bool,
    check: &mut impl FnMut(bool, String),
) {
    let has_old = |file: &Named| file.data == OLD_DOCUMENT.as_bytes();
    let made = files.iter().find(|file| file.path == TARGET);
    let is_done = ledger.result == Some(Ok(()));
    check(
        !is_done || made.is_some_and(|file| !has_old(file)),
        "the document is not there".to_owned(),
    );
    let replaces = matches!(scenario.verb, Verb::Export(_, Existing::Replaced));
    check(made.is_some() || !replaces, "the older document is gone".to_owned());
    let is_twice = scenario.second == Some(scenario.verb) && ledger.second == Some(Ok(()));
    check(!is_done || !is_twice || replaces, "two documents were acknowledged".to_owned());
    if let Some(file) = made.filter(|file| !has_old(file) && !is_reserved(scenario, file)) {
        let text = String::from_utf8_lossy(&file.data);
        let ending = match scenario.verb {
            Verb::Export(Document::Html, _) => "</html>\n",
            Verb::Export(Document::Markdown | Document::Redacted, _) => END,
            _ => "\n",
        };
        // A copy has half a line where the session has it.
        let is_whole = !matches!(scenario.file, Start::Open | Start::Torn)
            && scenario.second != Some(Verb::Append);
        let may_be_open = scenario.verb == Verb::Redact && !(is_whole && is_own);
        check(text.ends_with(ending) || may_be_open, "the document has no end".to_owned());
        for own_text in scenario.texts.iter().filter(|_| is_own) {
            check(
                text.contains(own_text.as_str()),
                format!("the document lacks {}", short(own_text)),
            );
        }
    }
    // Secrets are in the session and nowhere else, unfinished files included.
    if matches!(scenario.verb, Verb::Redact | Verb::Export(Document::Redacted, _)) {
        for file in files.iter().filter(|file| file.path.starts_with("/sim/new/")) {
            let text = String::from_utf8_lossy(&file.data);
            check(!text.contains(SECRET), format!("{} has a secret", file.path));
        }
    }
}

/// Without hard links a name is reserved by an empty file.
fn is_reserved(scenario: &Scenario, file: &Named) -> bool {
    file.data.is_empty() && scenario.faults.no_links
}

/// Returns everything that entries of a session say.
fn read(path: &str) -> Result<String, String> {
    let session = Session::open(path).map_err(|error| error.to_string())?;
    let mut texts = String::new();
    for entry in session.entries() {
        let entry = entry.map_err(|error| error.to_string())?;
        texts.push_str(&String::from_utf8_lossy(entry.raw()));
        texts.push('\n');
    }
    Ok(texts)
}

fn short(text: &str) -> &str {
    text.get(..text.len().min(24)).unwrap_or(text)
}
