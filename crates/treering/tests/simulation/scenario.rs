//! The events of a run.

use crate::checks;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use treering::convert::ConvertOptions;
use treering::doctor::{RepairOptions, RepairTo};
use treering::session::Durability;
use treering::{CreateOptions, Dialect, Error, ForkOptions, Message, OpenOptions, Session};
use treering_testkit::rng::Rng;
use treering_testkit::sim::seeds::{self, Outcome};
use treering_testkit::sim::start::{self, Start};
use treering_testkit::sim::{Agent, Faults, Habit, Inode, World};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Append,
    Name,
    Create,
    Upgrade,
    RepairInPlace,
    RepairBeside,
    MoveInPlace,
    MoveElsewhere,
    Convert,
    Fork,
    Copy,
}

pub(crate) const VERBS: [Verb; 11] = [
    Verb::Append,
    Verb::Name,
    Verb::Create,
    Verb::Upgrade,
    Verb::RepairInPlace,
    Verb::RepairBeside,
    Verb::MoveInPlace,
    Verb::MoveElsewhere,
    Verb::Convert,
    Verb::Fork,
    Verb::Copy,
];

impl Verb {
    /// Whether it puts a file in the place of another, or gives a name up.
    pub(crate) fn replaces(self) -> bool {
        matches!(
            self,
            Verb::Upgrade | Verb::RepairInPlace | Verb::MoveInPlace | Verb::MoveElsewhere
        )
    }
}

pub(crate) const PATH: &str = "/sim/sessions/s.jsonl";
pub(crate) const TARGET: &str = "/sim/new/deep/t.jsonl";
pub(crate) const TRASH: &str = "/sim/sessions/trash.old";

/// An entry that a session of treering wrote.
#[derive(Debug, Clone)]
pub(crate) struct Acknowledged {
    pub(crate) text: String,
    /// Whether it was promised to survive a power failure.
    pub(crate) durable: bool,
}

/// The reports of the processes.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) acknowledged: Vec<Acknowledged>,
    /// The result of the main process, unless it was killed before it was done.
    pub(crate) result: Option<Result<(), String>>,
    /// The result of the second process.
    pub(crate) second: Option<Result<(), String>>,
    /// The name that was given.
    pub(crate) name: Option<String>,
    pub(crate) problems: Vec<String>,
}

pub(crate) struct Scenario {
    pub(crate) world: Arc<World>,
    pub(crate) verb: Verb,
    pub(crate) file: Start,
    pub(crate) before: Vec<u8>,
    pub(crate) texts: Vec<String>,
    /// The session's file as it was at the start.
    pub(crate) inode: Inode,
    pub(crate) faults: Faults,
    pub(crate) durability: Durability,
    pub(crate) second: Option<Verb>,
    appends: usize,
}

impl std::fmt::Debug for Scenario {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Scenario { verb, file, faults, durability, second, .. } = self;
        write!(f, "{verb:?} beside {second:?} on {file:?}, {durability:?}, {faults:?}")?;
        write!(f, ":\n{}", String::from_utf8_lossy(&self.before))
    }
}

impl seeds::Scenario for Scenario {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let verb = *rng.pick(&VERBS);
        let file = match verb {
            Verb::Name => *rng.pick(&start::STARTS),
            Verb::Upgrade => *rng.pick(&[Start::Version1, Start::Version2]),
            Verb::RepairBeside => *rng.pick(&[Start::Damaged, Start::Torn]),
            Verb::RepairInPlace => *rng.pick(&[Start::Damaged, Start::Torn, Start::Open]),
            _ => *rng.pick(&start::STARTS[..7]),
        };
        let (before, texts) = start::make(file, &mut rng);
        let faults = Faults::any(&mut rng, if verb.replaces() { 160 } else { 90 });
        let durability = if rng.chance(0.5) { Durability::Each } else { Durability::None };
        let second = match rng.below(5) {
            0 | 1 => Some(Verb::Append),
            // Locks that do not keep others out leave two replacements at once without a winner.
            2 if !faults.broken_locks => Some(*rng.pick(&[Verb::Upgrade, Verb::RepairInPlace])),
            3 if matches!(verb, Verb::Convert | Verb::Copy) => Some(verb),
            _ => None,
        };
        let is_replaced =
            verb == Verb::Append && second != Some(Verb::RepairInPlace) && rng.chance(0.2);
        let world = World::new(rng.next(), faults);
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let inode = {
            let mut state = world.state();
            let inode = match verb {
                Verb::Create => state.disk.put(Path::new("/sim/other"), b"", long_ago),
                _ => state.disk.put(Path::new(PATH), &before, long_ago),
            };
            for number in 0..rng.below(3) {
                let habit = if rng.chance(0.6) { Habit::OpensEachTime } else { Habit::KeepsOpen };
                if verb != Verb::Create {
                    let count = 1 + rng.index(4);
                    let lines = start::agent_lines(file, number, texts.len(), count);
                    state.agents.push(Agent::new(habit, Path::new(PATH), lines));
                }
            }
            if is_replaced {
                let other = format!("{}\n", start::header(Some(3), "another"));
                let habit = Habit::Replaces(other.into_bytes());
                state.agents.push(Agent::new(habit, Path::new(PATH), vec![Vec::new()]));
            }
            inode
        };
        let appends = 1 + rng.index(4);
        Scenario { world, verb, file, before, texts, inode, faults, durability, second, appends }
    }

    fn world(&self) -> &Arc<World> {
        &self.world
    }

    fn verb(&self) -> String {
        format!("{:?}", self.verb)
    }

    fn title(&self) -> String {
        format!("{:?}, {:?}", self.verb, self.file)
    }

    fn run(&self) -> Outcome {
        let ledger = Mutex::new(Ledger::default());
        let mut bodies: Vec<Box<dyn FnOnce() + Send + '_>> = vec![Box::new(|| {
            let result = self.perform(self.verb, "main", &ledger);
            ledger.lock().unwrap().result = Some(result.map_err(|error| error.to_string()));
        })];
        if let Some(verb) = self.second {
            let ledger = &ledger;
            bodies.push(Box::new(move || {
                let result = self.perform(verb, "second", ledger);
                ledger.lock().unwrap().second = Some(result.map_err(|error| error.to_string()));
            }));
        }
        self.world.run(bodies);
        let digest = self.world.digest();
        let mut ledger = ledger.into_inner().unwrap();
        let met = checks::met(self, &ledger);
        let mut problems = std::mem::take(&mut ledger.problems);
        problems.extend(checks::problems(self, &ledger));
        Outcome { problems, digest, met }
    }
}

impl Scenario {
    fn options(&self) -> CreateOptions {
        CreateOptions::new().durability(self.durability)
    }

    fn open(&self) -> Result<Session, Error> {
        Session::open_with(PATH, OpenOptions::new().durability(self.durability))
    }

    fn perform(&self, verb: Verb, who: &str, ledger: &Mutex<Ledger>) -> Result<(), Error> {
        match verb {
            Verb::Create => {
                let session = Session::create_at(TARGET, "/p", self.options())?;
                self.append(&session, who, ledger)
            }
            Verb::Append => {
                let session = self.open()?;
                self.append(&session, who, ledger)
            }
            Verb::Name => {
                let session = self.open()?;
                session.set_name("new name")?;
                ledger.lock().unwrap().name = Some("new name".to_owned());
                self.append(&session, who, ledger)
            }
            Verb::Upgrade => Session::open(PATH)?.upgrade().map(drop),
            Verb::RepairInPlace => {
                treering::doctor::repair(PATH, RepairOptions::new().to(RepairTo::InPlace)).map(drop)
            }
            Verb::RepairBeside => {
                let to = RepairTo::Path(TARGET.into());
                treering::doctor::repair(PATH, RepairOptions::new().to(to)).map(drop)
            }
            Verb::MoveInPlace => {
                treering::session::relocate(PATH, "/q", PATH, |_| Ok(())).map(drop)
            }
            Verb::MoveElsewhere => {
                let retire = |old: &Path| treering::internal::fs::rename(old, Path::new(TRASH));
                treering::session::relocate(PATH, "/q", TARGET, retire).map(drop)
            }
            Verb::Convert => {
                let options = ConvertOptions::default();
                treering::convert::convert(PATH, TARGET, Dialect::Tau, &options).map(drop)
            }
            Verb::Fork => {
                let session = Session::open(PATH)?;
                let Some(leaf) = session.leaf() else { return Ok(()) };
                let mut options = ForkOptions::new().id(treering::SessionId::new("fork")?);
                options.dir = Path::new(TARGET).parent().map(Into::into);
                session.fork(leaf.as_str(), options).map(drop)
            }
            Verb::Copy => Session::open(PATH)?.copy_to(TARGET),
        }
    }

    /// Appends, notes what was acknowledged, and continues after errors.
    fn append(&self, session: &Session, who: &str, ledger: &Mutex<Ledger>) -> Result<(), Error> {
        let mut result = Ok(());
        for number in 0..self.appends {
            let text = format!("{who}-{number}-of-{}-{}", session.id(), "y".repeat(number * 300));
            match session.append(Message::user(&text)) {
                Ok(_) => {
                    let durable = self.durability == Durability::Each;
                    ledger.lock().unwrap().acknowledged.push(Acknowledged { text, durable });
                }
                Err(error) => result = Err(error),
            }
        }
        // Without locks, a reader may see a file that was replaced before everything was brought over.
        // After a failed sync, it may see an entry that is about to be taken back.
        let is_unsettled =
            self.faults.broken_locks || self.faults.syncs > 0.0 && self.second.is_some();
        if !is_unsettled && let Some(problem) = checks::memory_and_file(session) {
            ledger.lock().unwrap().problems.push(problem);
        }
        result
    }
}
