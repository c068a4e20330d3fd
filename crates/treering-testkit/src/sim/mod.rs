//! A simulated machine, which runs treering's own code and can act between any two system calls.
//!
//! A [`World`] has a disk, a clock, processes and agents. Processes run treering on their own threads, one
//! at a time: at every call to the file system a seeded generator decides who continues, whether an agent
//! that takes no lock acts first, whether the call fails, and whether a process is killed or the power
//! fails. The same seed gives the same run.

mod agent;
mod disk;
mod process;
pub mod seeds;
pub mod start;

pub use agent::{Agent, Habit};
pub use disk::{Content, Disk, Inode, Named};

use crate::rng::Rng;
use process::Process;
use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use treering::internal::fs::{self, FileSystem};

/// The number of a process.
pub type Pid = usize;

/// The faults of a world. There are none by default.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    /// The probability that a write is cut short.
    pub short_writes: f64,
    /// The probability that a write fails because the disk is full, after some of its bytes.
    pub full: f64,
    /// The probability that a sync of a file fails.
    pub syncs: f64,
    /// The probability that a sync of a directory fails.
    pub dir_syncs: f64,
    /// Locks do not keep others out.
    pub broken_locks: bool,
    /// The file system has no hard links.
    pub no_links: bool,
    /// The probability that the clock jumps.
    pub clock_jumps: f64,
    /// The step at which a process or the machine ends, and which of them.
    pub crash: Option<(u64, Crash)>,
}

impl Faults {
    /// Returns faults of one kind or none, and perhaps an end within the first `steps` calls.
    pub fn any(rng: &mut Rng, steps: u64) -> Self {
        let mut faults = Faults::default();
        match rng.below(10) {
            0 => (faults.short_writes, faults.full) = (0.2, 0.0),
            1 => (faults.short_writes, faults.full) = (0.1, 0.1),
            2 => (faults.syncs, faults.dir_syncs) = (0.2, 0.2),
            3 => faults.broken_locks = true,
            4 => faults.no_links = true,
            5 => faults.clock_jumps = 0.2,
            _ => {}
        }
        let step = 1 + rng.below(steps);
        faults.crash = match rng.below(6) {
            0 | 1 => Some((step, Crash::Kill(0))),
            2 => Some((step, Crash::Power)),
            _ => None,
        };
        faults
    }
}

/// The kind of failure that ends a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crash {
    /// A process is killed.
    Kill(Pid),
    /// The power fails, and unsynced data is lost.
    Power,
}

/// The machine.
pub struct World {
    state: Mutex<State>,
    turn: Condvar,
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("World")
    }
}

/// The state of the machine.
#[derive(Debug)]
pub struct State {
    /// The disk.
    pub disk: Disk,
    /// The agents.
    pub agents: Vec<Agent>,
    /// Whether the power failed.
    pub lost_power: bool,
    rng: Rng,
    faults: Faults,
    clock: SystemTime,
    processes: Vec<Status>,
    current: Pid,
    steps: u64,
    handles: u64,
    /// A digest of all calls so far.
    digest: u64,
    trace: Option<Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Running,
    Done,
    Killed,
}

/// Actions of other programs before a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Others {
    /// Any action.
    Act,
    /// None: the call and the one before it are one step.
    Wait,
}

impl World {
    /// Creates a world.
    pub fn new(seed: u64, faults: Faults) -> Arc<Self> {
        let state = State {
            disk: Disk::default(),
            agents: Vec::new(),
            lost_power: false,
            rng: Rng::new(seed),
            faults,
            clock: SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_603_600),
            processes: Vec::new(),
            current: 0,
            steps: 0,
            handles: 0,
            digest: 0,
            trace: None,
        };
        Arc::new(World { state: Mutex::new(state), turn: Condvar::new() })
    }

    /// Locks and returns the state.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a record of all calls from now on.
    pub fn record(&self) {
        self.state().trace = Some(Vec::new());
    }

    /// Returns the record of all calls.
    pub fn calls(&self) -> Vec<String> {
        self.state().trace.clone().unwrap_or_default()
    }

    /// Simulates a power failure after all processes have ended.
    pub fn fail_power(&self) {
        let mut state = self.state();
        state.faults.crash = Some((0, Crash::Power));
        state.crash();
    }

    /// Sets the clock.
    pub fn set_clock(&self, time: SystemTime) {
        self.state().clock = time;
    }

    /// Returns a digest of all calls so far: the same for the same seed.
    pub fn digest(&self) -> u64 {
        self.state().digest
    }

    /// Runs processes to their ends, one at a time, in an order that depends on the seed.
    pub fn run(self: &Arc<Self>, bodies: Vec<Box<dyn FnOnce() + Send + '_>>) {
        let first = {
            let mut state = self.state();
            let first = state.processes.len();
            state.processes.extend(bodies.iter().map(|_| Status::Running));
            state.current = first;
            first
        };
        let each = |(at, body): (usize, Box<dyn FnOnce() + Send + '_>)| {
            let pid = first + at;
            drop(self.wait_for_turn(self.state(), pid));
            fs::with(self.process(pid), body);
            self.end(pid);
        };
        let mut bodies = bodies.into_iter().enumerate();
        match bodies.len() {
            1 => bodies.by_ref().for_each(each),
            _ => std::thread::scope(|scope| {
                let each = &each;
                for body in bodies {
                    scope.spawn(move || each(body));
                }
            }),
        }
    }

    /// Runs `body` as a new process, without further faults.
    pub fn afterwards<T>(self: &Arc<Self>, body: impl FnOnce() -> T) -> T {
        let pid = {
            let mut state = self.state();
            state.faults = Faults::default();
            state.agents.clear();
            state.processes.iter_mut().for_each(|status| {
                if *status == Status::Running {
                    *status = Status::Done;
                }
            });
            state.processes.push(Status::Running);
            state.current = state.processes.len() - 1;
            state.current
        };
        let result = fs::with(self.process(pid), body);
        self.end(pid);
        result
    }

    /// Returns whether a process was killed.
    pub fn is_killed(&self, pid: Pid) -> bool {
        self.state().processes.get(pid) == Some(&Status::Killed)
    }

    fn process(self: &Arc<Self>, pid: Pid) -> Arc<dyn FileSystem> {
        Arc::new(Process { world: Arc::clone(self), pid })
    }

    fn end(&self, pid: Pid) {
        let mut state = self.state();
        if state.processes[pid] == Status::Running {
            state.processes[pid] = Status::Done;
        }
        if state.current == pid {
            state.current = state.another(pid).unwrap_or(pid);
        }
        drop(state);
        self.turn.notify_all();
    }

    fn wait_for_turn<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        pid: Pid,
    ) -> MutexGuard<'a, State> {
        while state.current != pid && state.processes[pid] == Status::Running {
            state = self.turn.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state
    }

    /// Begins a call to the file system: others may act first, and the process may be killed.
    fn call(&self, pid: Pid, what: &str, others: Others) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.state();
        state.check(pid)?;
        state.note(pid, what);
        state.steps += 1;
        state.clock += Duration::from_micros(1);
        if state.faults.crash.is_some_and(|(step, _)| step == state.steps) {
            state.crash();
            self.turn.notify_all();
            state.check(pid)?;
        }
        if others == Others::Act {
            while state.rng.chance(0.15) {
                state.agent_acts();
            }
            if state.rng.chance(0.3) {
                state = self.let_another_act(state, pid);
                state.check(pid)?;
            }
        }
        Ok(state)
    }

    fn let_another_act<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        pid: Pid,
    ) -> MutexGuard<'a, State> {
        let Some(other) = state.another(pid) else { return state };
        state.current = other;
        self.turn.notify_all();
        self.wait_for_turn(state, pid)
    }

    /// Lets time pass: agents finish their writes, and other processes continue.
    fn pause(&self, pid: Pid, duration: Duration) {
        let Ok(mut state) = self.call(pid, "sleep", Others::Act) else { return };
        state.clock += duration;
        if duration >= Duration::from_millis(1) {
            state.agents_finish();
        }
        drop(self.let_another_act(state, pid));
    }
}

impl State {
    fn check(&self, pid: Pid) -> io::Result<()> {
        match self.processes[pid] {
            Status::Killed => Err(io::Error::other("the process was killed")),
            _ => Ok(()),
        }
    }

    fn another(&mut self, pid: Pid) -> Option<Pid> {
        let running = |other: &Pid| *other != pid && self.processes[*other] == Status::Running;
        let others: Vec<Pid> = (0..self.processes.len()).filter(running).collect();
        (!others.is_empty()).then(|| *self.rng.pick(&others))
    }

    fn note(&mut self, who: Pid, what: &str) {
        let mut digest = self.digest ^ who as u64;
        for byte in what.bytes() {
            digest = (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self.digest = digest.wrapping_mul(0x0100_0000_01b3) ^ 0x9e37;
        let step = self.steps;
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{step}: process {who}: {what}"));
        }
    }

    fn crash(&mut self) {
        match self.faults.crash {
            Some((_, Crash::Kill(pid))) => self.kill(pid),
            Some((_, Crash::Power)) => {
                for pid in 0..self.processes.len() {
                    self.kill(pid);
                }
                self.agents.iter_mut().for_each(Agent::stop);
                self.lost_power = true;
                let mut rng = Rng::new(self.rng.next());
                self.disk.power_failure(&mut rng);
            }
            None => {}
        }
    }

    /// Ends a process: its locks are released, and its later calls have no effect.
    fn kill(&mut self, pid: Pid) {
        let Some(status) = self.processes.get_mut(pid).filter(|status| **status == Status::Running)
        else {
            return;
        };
        *status = Status::Killed;
        self.disk.release(pid);
        if self.current == pid {
            self.current = self.another(pid).unwrap_or(pid);
        }
    }

    fn agent_acts(&mut self) {
        if self.agents.is_empty() {
            return;
        }
        let at = self.rng.index(self.agents.len());
        self.one_acts(at);
    }

    fn one_acts(&mut self, at: usize) {
        let now = self.clock;
        let agent = &mut self.agents[at];
        if let Some(what) = agent.act(&mut self.disk, now) {
            let step = self.steps;
            self.digest = self.digest.rotate_left(7) ^ at as u64;
            if let Some(trace) = &mut self.trace {
                trace.push(format!("{step}: agent {at}: {what}"));
            }
        }
    }

    /// Lets agents finish the write that they have begun.
    fn agents_finish(&mut self) {
        for at in 0..self.agents.len() {
            while self.agents[at].is_busy() {
                self.one_acts(at);
            }
        }
    }

    /// Returns whether a file with this name exists.
    pub fn has(&self, path: &Path) -> bool {
        self.disk.get(path).is_some()
    }
}
