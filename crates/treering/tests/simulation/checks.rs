//! Invariants that are checked after a run.

use crate::scenario::{Ledger, PATH, Scenario, TARGET, Verb};
use std::path::Path;
use treering::{Error, Message, Session};
use treering_testkit::sim::start::{self, Start};
use treering_testkit::sim::{Habit, Inode};

/// The length of omp's title slot.
const SLOT: usize = 256;

/// Names what happened in a run.
pub(crate) fn met(scenario: &Scenario, ledger: &Ledger) -> Vec<&'static str> {
    let mut met = Vec::new();
    let state = scenario.world.state();
    if matches!(ledger.result, Some(Ok(()))) {
        met.push("succeeded");
    }
    if state.lost_power {
        met.push("lost power");
    } else if matches!(ledger.result, Some(Err(ref error)) if error.contains("killed")) {
        met.push("was killed");
    }
    if scenario.verb == Verb::Create || state.agents.iter().any(|agent| !agent.written.is_empty()) {
        met.push("an agent wrote");
    }
    met
}

/// Returns what is wrong if a session that is open does not have what its file has.
pub(crate) fn memory_and_file(session: &Session) -> Option<String> {
    let path = session.path()?;
    match session.refresh() {
        Ok(_) => {}
        Err(Error::Replaced { .. } | Error::Deleted(_)) => return None,
        // The process was killed, or the disk failed: it does not continue with what it has.
        Err(_) => return None,
    }
    if !session.is_written() {
        return None;
    }
    let ours: Vec<_> = session.tree().ids().collect();
    let fresh = Session::open(&path).ok()?;
    // Others may have written between the two looks.
    session.refresh().ok()?;
    let after: Vec<_> = session.tree().ids().collect();
    let theirs: Vec<_> = fresh.tree().ids().collect();
    let is_between =
        ours.iter().all(|id| theirs.contains(id)) && theirs.iter().all(|id| after.contains(id));
    (!is_between).then(|| format!("memory has {ours:?}, the file {theirs:?}"))
}

pub(crate) fn problems(scenario: &Scenario, ledger: &Ledger) -> Vec<String> {
    let mut problems = Vec::new();
    let mut check = |holds: bool, problem: String| {
        if !holds {
            problems.push(problem);
        }
    };
    let world = &scenario.world;
    let (agents, lost_power, names, original) = {
        let state = world.state();
        let disk = &state.disk;
        let names: Vec<(String, Inode, Vec<u8>)> = disk
            .file_names()
            .map(|(name, inode)| {
                (name.display().to_string(), inode, disk.content(inode).data.clone())
            })
            .collect();
        (state.agents.clone(), state.lost_power, names, disk.content(scenario.inode).data.clone())
    };
    let was_killed = (0..2).any(|pid| world.is_killed(pid));
    let is_replaced = agents.iter().any(|agent| agent.placed.is_some());

    // The file as it was at the start: never changed but by appends, and never gone.
    if scenario.verb != Verb::Create {
        let from = match (scenario.verb, scenario.file) {
            (Verb::Name, Start::Slot | Start::TwoSlots) => SLOT,
            _ => 0,
        };
        let is_kept = original.len() >= scenario.before.len()
            && original[from..scenario.before.len()] == scenario.before[from..];
        check(is_kept, "bytes of the original file changed".to_owned());
        let is_reachable = names.iter().any(|(_, inode, data)| {
            *inode == scenario.inode
                || data.get(from..).is_some_and(|data| data.starts_with(&scenario.before[from..]))
        });
        check(is_reachable || is_replaced, "the original file has no name".to_owned());
    }

    // What another program put there is not ours to write to.
    for inode in agents.iter().filter_map(|agent| agent.placed) {
        let data = &world.state().disk.content(inode).data.clone();
        let text = String::from_utf8_lossy(data);
        let is_ours = text.contains(&format!("-of-{}-", start::ID));
        let expected = lost_power || text.starts_with(&start::header(Some(3), "another"));
        check(!is_ours && expected, "wrote to another session".to_owned());
    }

    let ended = !was_killed && !lost_power;
    if ended {
        for (name, ..) in &names {
            check(!name.ends_with(".tmp"), format!("{name} was left behind"));
        }
    }

    // Sessions at their places hold everything that was acknowledged.
    let homes: &[&str] = match scenario.verb {
        Verb::Create => &[TARGET],
        Verb::MoveElsewhere => &[PATH, TARGET],
        _ => &[PATH],
    };
    let present: Vec<&str> =
        homes.iter().copied().filter(|home| world.state().has(Path::new(home))).collect();
    let has_durable = ledger.acknowledged.iter().any(|entry| entry.durable);
    // Without locks, treering is like an agent: killed in the middle of an exchange, it leaves what came
    // meanwhile in the backup. Without links, the backup is a copy.
    let (no_locks, no_links) = (scenario.faults.broken_locks, scenario.faults.no_links);
    let mut found = String::new();
    let mut raw = String::new();
    for home in &present {
        match world.afterwards(|| read(home)) {
            Ok(texts) => found.push_str(&texts),
            // An agent that still has the old path began a file of its own there.
            Err(_) if scenario.verb == Verb::MoveElsewhere && *home == PATH => {}
            Err(_) if is_replaced && lost_power => {}
            // A new session of which nothing was promised to be on disk.
            Err(_) if scenario.verb == Verb::Create && lost_power && !has_durable => {}
            Err(error) => check(false, format!("{home} cannot be read: {error}")),
        }
    }
    for (name, _, data) in &names {
        let is_home = present.contains(&name.as_str());
        // A program that is killed in the middle of a line leaves it to the next writer; and an
        // agent that kept the old file open, or was about to write when treering was killed, wrote to
        // what is the backup now.
        if is_home || name.contains(".bak") || name.contains("trash") {
            raw.push_str(&String::from_utf8_lossy(data));
        }
    }
    if !is_replaced {
        let initial = scenario.texts.iter().filter(|_| scenario.verb != Verb::Create);
        for text in initial {
            check(found.contains(text.as_str()), format!("{} is lost", short(text)));
        }
        for entry in &ledger.acknowledged {
            // Without locks, an entry may go to a file whose name is not on disk yet.
            let promised = entry.durable && !no_locks || !lost_power;
            let text = entry.text.as_str();
            let has = found.contains(text) || no_locks && !ended && raw.contains(text);
            check(!promised || has, format!("{} was acknowledged and is lost", short(&entry.text)));
        }
        let is_torn = was_killed
            || scenario.faults.full > 0.0
            || scenario.faults.short_writes > 0.0
            || matches!(scenario.file, Start::Torn | Start::Open);
        let failed = matches!(ledger.result, Some(Err(_))) || matches!(ledger.second, Some(Err(_)));
        let is_kept = |habit: &Habit| !no_links || *habit == Habit::OpensEachTime && ended;
        for agent in agents.iter().filter(|agent| !lost_power && is_kept(&agent.habit)) {
            for text in start::agent_texts(agent) {
                // Entries of version 1 have no ids: in a file that was upgraded meanwhile, one may get
                // the id that was derived for another.
                let may_be_beside = agent.habit == Habit::KeepsOpen
                    || scenario.file == Start::Version1
                    || is_torn
                    || failed
                    || scenario.verb == Verb::MoveElsewhere;
                let has = found.contains(&text) || may_be_beside && raw.contains(&text);
                check(has, format!("{text} of an agent is lost"));
            }
        }
    }

    // A file that was made is complete, and stays.
    let made: Vec<&(String, Inode, Vec<u8>)> = names
        .iter()
        .filter(|(name, ..)| name.starts_with("/sim/new/deep/") && name.ends_with(".jsonl"))
        .collect();
    if matches!(scenario.verb, Verb::Convert | Verb::Copy | Verb::Fork | Verb::RepairBeside) {
        let done = usize::from(ledger.result == Some(Ok(())));
        let twice =
            usize::from(ledger.second == Some(Ok(())) && scenario.second == Some(scenario.verb));
        check(
            done + twice <= 1 || scenario.second != Some(scenario.verb),
            "two files were acknowledged under one name".to_owned(),
        );
        check(made.len() >= done.max(twice), "an acknowledged file is gone".to_owned());
        // Without hard links a name is reserved by an empty file.
        let is_begun = |data: &[u8]| !(data.is_empty() && scenario.faults.no_links && !ended);
        for (name, ..) in made.iter().filter(|(_, _, data)| is_begun(data)) {
            match world.afterwards(|| read(name)) {
                Ok(texts) => {
                    for text in &scenario.texts {
                        check(
                            texts.contains(text.as_str()),
                            format!("{name} lacks {}", short(text)),
                        );
                    }
                }
                Err(error) => check(false, format!("{name} cannot be read: {error}")),
            }
        }
    }

    // The session continues.
    let is_new = scenario.verb == Verb::Create && lost_power && !has_durable;
    for home in present.iter().filter(|_| !is_replaced && !is_new).take(1) {
        let result = world.afterwards(|| continue_session(home, ledger, scenario));
        if let Err(problem) = result {
            let is_stray = scenario.verb == Verb::MoveElsewhere && *home == PATH;
            check(is_stray, format!("{home}: {problem}"));
        }
    }
    problems
}

/// Returns everything that entries of a session say.
fn read(path: &str) -> Result<String, Error> {
    let session = Session::open(path)?;
    let mut texts = String::new();
    for entry in session.entries() {
        texts.push_str(&String::from_utf8_lossy(entry?.raw()));
        texts.push('\n');
    }
    Ok(texts)
}

/// Opens a session once more and writes to it.
fn continue_session(path: &str, ledger: &Ledger, scenario: &Scenario) -> Result<(), String> {
    let text = |error: Error| error.to_string();
    let session = Session::open(path).map_err(text)?;
    let quick = treering::active_context(path).map_err(text)?;
    let context = session.context().map_err(text)?;
    if quick != context {
        return Err("the context read from the end is another one".to_owned());
    }
    if let (Some(name), Some(Ok(()))) = (&ledger.name, &ledger.result)
        && scenario.second.is_none()
        && session.name().as_deref() != Some(name)
        && !scenario.world.state().lost_power
    {
        return Err(format!("the name is {:?}", session.name()));
    }
    let before = session.tree().len();
    session.append(Message::user("afterwards")).map_err(text)?;
    let again = Session::open(path).map_err(text)?;
    if again.tree().len() <= before {
        return Err("an entry was appended and is not there".to_owned());
    }
    Ok(())
}

fn short(text: &str) -> &str {
    text.get(..text.len().min(24)).unwrap_or(text)
}
