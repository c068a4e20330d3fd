//! The events of a run.

use crate::checks;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use treering::internal::fs::{self, NewFile};
use treering::session::{Durability, Part};
use treering::storage::UnpackLimits;
use treering::{Message, OpenOptions, Session};
use treering_export::{Existing, Export, write_file};
use treering_index::housekeeping::{self, Trash};
use treering_redact::{Options, Redactor};
use treering_testkit::rng::Rng;
use treering_testkit::sim::seeds::{self, Outcome};
use treering_testkit::sim::start::{self, Start};
use treering_testkit::sim::{Agent, Faults, Habit, Inode, World};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Append,
    Archive,
    Unarchive,
    /// Delete for good.
    Remove,
    /// Move to the trash.
    Discard,
    Export(Document, Existing),
    Redact,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Document {
    Html,
    Markdown,
    Session,
    Redacted,
}

pub(crate) const VERBS: [Verb; 11] = [
    Verb::Archive,
    Verb::Unarchive,
    Verb::Remove,
    Verb::Discard,
    Verb::Redact,
    Verb::Export(Document::Html, Existing::Kept),
    Verb::Export(Document::Markdown, Existing::Kept),
    Verb::Export(Document::Session, Existing::Kept),
    Verb::Export(Document::Markdown, Existing::Replaced),
    Verb::Export(Document::Redacted, Existing::Replaced),
    Verb::Export(Document::Session, Existing::Replaced),
];

/// Verbs that a second process may run beside a first one that removes the session.
const REMOVALS: [Verb; 4] = [Verb::Archive, Verb::Remove, Verb::Discard, Verb::Append];

impl Verb {
    /// Whether the session has another name afterwards, or none.
    pub(crate) fn removes(self) -> bool {
        matches!(self, Verb::Archive | Verb::Unarchive | Verb::Remove | Verb::Discard)
    }
}

pub(crate) const PLAIN: &str = "/sim/sessions/s.jsonl";
pub(crate) const PACKED: &str = "/sim/sessions/s.jsonl.zst";
pub(crate) const TARGET: &str = "/sim/new/document";
pub(crate) const TRASH: &str = "/sim/share";
/// The document that was at the target before.
pub(crate) const OLD_DOCUMENT: &str = "an older document\n";
/// A text that no copy may have.
pub(crate) const SECRET: &str = "ghp_0A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r";

/// The reports of the processes.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// Entries that were acknowledged, and whether they were promised to survive a power failure.
    pub(crate) acknowledged: Vec<(String, bool)>,
    /// The result of the main process, unless it was killed before it was done.
    pub(crate) result: Option<Result<(), String>>,
    pub(crate) second: Option<Result<(), String>>,
    /// The number of lines that each agent had written when the main process was done.
    pub(crate) written: Vec<usize>,
}

pub(crate) struct Scenario {
    pub(crate) world: Arc<World>,
    pub(crate) verb: Verb,
    pub(crate) second: Option<Verb>,
    pub(crate) file: Start,
    /// The session as it was at the start, decompressed.
    pub(crate) before: Vec<u8>,
    pub(crate) texts: Vec<String>,
    /// The session's file as it was at the start.
    pub(crate) inode: Inode,
    pub(crate) faults: Faults,
    durability: Durability,
}

impl std::fmt::Debug for Scenario {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Scenario { verb, second, file, faults, durability, .. } = self;
        write!(f, "{verb:?} beside {second:?} on {file:?}, {durability:?}, {faults:?}")?;
        write!(f, ":\n{}", String::from_utf8_lossy(&self.before))
    }
}

impl seeds::Scenario for Scenario {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let verb = *rng.pick(&VERBS);
        let file = *rng.pick(&start::STARTS[..8]);
        let (mut before, texts) = start::make(file, &mut rng);
        if !matches!(file, Start::Open | Start::Torn) {
            let text = format!("the token is {SECRET}");
            let line = start::message(file, "secret", Some("e0"), &text);
            before.extend(format!("{line}\n").into_bytes());
        }
        let faults = Faults::any(&mut rng, if verb.removes() { 120 } else { 60 });
        let durability = if rng.chance(0.5) { Durability::Each } else { Durability::None };
        let second = match rng.below(4) {
            0 => Some(Verb::Append),
            1 if verb == Verb::Unarchive => Some(verb),
            1 if verb.removes() && !faults.broken_locks => Some(*rng.pick(&REMOVALS)),
            1 if verb.removes() => None,
            1 => Some(verb),
            2 if !verb.removes() => Some(*rng.pick(&REMOVALS)),
            _ => None,
        };
        let world = World::new(rng.next(), faults);
        let inode = populate(&world, &mut rng, verb, file, &before, texts.len());
        Scenario { world, verb, second, file, before, texts, inode, faults, durability }
    }

    fn world(&self) -> &Arc<World> {
        &self.world
    }

    fn verb(&self) -> String {
        format!("{:?}", self.verb)
    }

    fn title(&self) -> String {
        format!("{:?} beside {:?}, {:?}", self.verb, self.second, self.file)
    }

    fn run(&self) -> Outcome {
        let ledger = Mutex::new(Ledger::default());
        let mut bodies: Vec<Box<dyn FnOnce() + Send + '_>> = vec![Box::new(|| {
            let result = self.perform(self.verb, "main", &ledger);
            let mut ledger = ledger.lock().unwrap();
            ledger.result = Some(result);
            let agents = &self.world.state().agents;
            ledger.written = agents.iter().map(|agent| agent.written.len()).collect();
        })];
        if let Some(verb) = self.second {
            let ledger = &ledger;
            bodies.push(Box::new(move || {
                let result = self.perform(verb, "second", ledger);
                ledger.lock().unwrap().second = Some(result);
            }));
        }
        self.world.run(bodies);
        let digest = self.world.digest();
        let ledger = ledger.into_inner().unwrap();
        let met = checks::met(self, &ledger);
        Outcome { problems: checks::problems(self, &ledger), digest, met }
    }
}

/// Puts the session, documents and agents into a world. Returns the session's file.
fn populate(
    world: &World,
    rng: &mut Rng,
    verb: Verb,
    file: Start,
    before: &[u8],
    entries: usize,
) -> Inode {
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let mut state = world.state();
    let inode = match verb {
        Verb::Unarchive => {
            let packed = compress_to_vec(before, CompressionLevel::Fastest);
            state.disk.put(Path::new(PACKED), &packed, long_ago)
        }
        _ => state.disk.put(Path::new(PLAIN), before, long_ago),
    };
    state.disk.put(Path::new("/sim/new/other"), b"", long_ago);
    state.disk.put(Path::new("/sim/share/other"), b"", long_ago);
    if matches!(verb, Verb::Export(_, Existing::Replaced)) || rng.chance(0.1) {
        state.disk.put(Path::new(TARGET), OLD_DOCUMENT.as_bytes(), long_ago);
    }
    for number in 0..rng.below(3) {
        let habit = if rng.chance(0.6) { Habit::OpensEachTime } else { Habit::KeepsOpen };
        let lines = start::agent_lines(file, number, entries, 1 + rng.index(4));
        state.agents.push(Agent::new(habit, Path::new(PLAIN), lines));
    }
    if rng.chance(if verb == Verb::Discard { 0.5 } else { 0.2 }) {
        let other = format!("{}\n", start::header(Some(3), "another"));
        let habit = Habit::Replaces(other.into_bytes());
        state.agents.push(Agent::new(habit, Path::new(PLAIN), vec![Vec::new()]));
    }
    inode
}

impl Scenario {
    fn perform(&self, verb: Verb, who: &str, ledger: &Mutex<Ledger>) -> Result<(), String> {
        let (plain, packed) = (Path::new(PLAIN), Path::new(PACKED));
        let now = fs::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let now = now.as_millis() as i64;
        let quiet = &mut |_, _| {};
        match verb {
            Verb::Append => self.append(who, ledger),
            Verb::Archive => housekeeping::archive(plain, now, quiet).map(drop).map_err(text),
            Verb::Unarchive => {
                let limits = UnpackLimits::default();
                housekeeping::unarchive(packed, now, limits, quiet).map(drop).map_err(text)
            }
            Verb::Remove => housekeeping::discard(plain, None, now).map(drop).map_err(text),
            Verb::Discard => {
                let trash = Trash::from_env(|name| {
                    (name == "XDG_DATA_HOME" || name == "HOME").then(|| TRASH.into())
                });
                let trash = trash.map_err(text)?;
                housekeeping::discard(plain, Some(&trash), now).map(drop).map_err(text)
            }
            Verb::Export(document, existing) => export(document, existing),
            Verb::Redact => {
                let redactor = Redactor::new(&Options::default()).map_err(text)?;
                redactor.open(PLAIN).and_then(|session| session.copy_to(TARGET)).map_err(text)
            }
        }
    }

    fn append(&self, who: &str, ledger: &Mutex<Ledger>) -> Result<(), String> {
        let options = OpenOptions::new().durability(self.durability);
        let session = Session::open_with(PLAIN, options).map_err(text)?;
        let mut result = Ok(());
        for number in 0..3 {
            let own_text = format!("{who}-{number}-of-{}-", session.id());
            match session.append(Message::user(&own_text)) {
                Ok(_) => {
                    let is_durable = self.durability == Durability::Each;
                    ledger.lock().unwrap().acknowledged.push((own_text, is_durable));
                }
                Err(error) => result = Err(text(error)),
            }
        }
        result
    }
}

fn export(document: Document, existing: Existing) -> Result<(), String> {
    let redactor = match document {
        Document::Redacted => Some(Redactor::new(&Options::default()).map_err(text)?),
        _ => None,
    };
    let session = match &redactor {
        Some(redactor) => redactor.open(PLAIN),
        None => Session::open(PLAIN),
    };
    let session = session.map_err(text)?;
    let export = Export::new().part(Part::All).full(true);
    let write = |out: &mut std::io::BufWriter<NewFile>| match document {
        Document::Html => export.html(&session, out),
        Document::Markdown | Document::Redacted => {
            export.markdown(&session, out)?;
            Ok(out.write_all(checks::END.as_bytes())?)
        }
        Document::Session => export.jsonl(&session, out),
    };
    write_file(Path::new(TARGET), existing, write).map(drop).map_err(text)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
