//! Runs this binary again as a child process, for tests of several processes.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use treering::{CreateOptions, Error, Message, Session};
use treering_testkit::rng::Rng;

const ROLE: &str = "TREERING_CHILD_ROLE";
const FILE: &str = "TREERING_CHILD_FILE";
const SEED: &str = "TREERING_CHILD_SEED";
const COUNT: &str = "TREERING_CHILD_COUNT";

/// The task of a child process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Appends to a session, and reports the id of each entry once it is written.
    Append,
    /// Creates a session with its first message, and reports whether it succeeded.
    Create,
    /// Appends one entry to a session of an old version.
    Upgrade,
}

impl Role {
    const ALL: [Role; 3] = [Role::Append, Role::Create, Role::Upgrade];

    /// Returns the role of this name, which is that of its variant.
    fn named(name: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| format!("{role:?}") == name)
    }
}

/// A child that waits for [`Running::go`].
pub(crate) struct Running {
    child: Child,
    lines: BufReader<ChildStderr>,
}

/// Starts a child and waits until it is ready. `seed` decides what it writes, `count` how much.
pub(crate) fn start(role: Role, file: &Path, seed: u64, count: usize) -> Running {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["children::child", "--exact", "--nocapture", "--test-threads=1"])
        .env(ROLE, format!("{role:?}"))
        .env(FILE, file)
        .env(SEED, seed.to_string())
        .env(COUNT, count.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap());
    let mut running = Running { child, lines };
    assert_eq!(running.line().as_deref(), Some("ready"));
    running
}

impl Running {
    /// Lets the child begin.
    pub(crate) fn go(&mut self) {
        self.child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    }

    /// Returns the next line that the child reports; `None` when it has ended.
    pub(crate) fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        // A line without an end was not written completely.
        line.strip_suffix('\n').map(str::to_owned)
    }

    /// Kills the child as `kill -9` does, and returns the lines that it reported before.
    pub(crate) fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        self.finish()
    }

    /// Waits for the end of the child.
    pub(crate) fn finish(mut self) -> Vec<String> {
        let lines = std::iter::from_fn(|| self.line()).collect();
        self.child.wait().unwrap();
        lines
    }
}

/// The task of a process that [`start`] began. Without one, the names of the roles are checked, by which a child finds
/// its task.
#[test]
fn child() {
    let Ok(role) = std::env::var(ROLE) else {
        for role in Role::ALL {
            assert_eq!(Role::named(&format!("{role:?}")), Some(role));
        }
        return;
    };
    let variable = |name: &str| std::env::var(name).unwrap();
    let file = variable(FILE);
    let seed = variable(SEED).parse().unwrap();
    let count: usize = variable(COUNT).parse().unwrap();
    match Role::named(&role).unwrap() {
        Role::Append => append(Path::new(&file), seed, count),
        Role::Create => create(Path::new(&file), seed),
        Role::Upgrade => upgrade(Path::new(&file)),
    }
}

/// Reports a line to the parent in one write, so that the parent reads all of it or nothing.
fn tell(line: &str) {
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}

fn wait_for_go() {
    tell("ready");
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

fn append(file: &Path, seed: u64, count: usize) {
    let session = Session::open(file).unwrap();
    let mut rng = Rng::new(seed);
    wait_for_go();
    for number in 0..count {
        // Mostly small, sometimes so large that the write takes a while.
        let size = if rng.chance(0.2) { 400_000 } else { 40_000 };
        let filler = "0123456789".repeat(rng.index(size) / 10);
        let id = session.append(Message::user(format!("{seed}:{number} {filler}"))).unwrap();
        tell(id.as_str());
    }
}

fn create(file: &Path, seed: u64) {
    let session = Session::create_at(file, "/project", CreateOptions::new()).unwrap();
    wait_for_go();
    match session.append(Message::user(format!("by {seed}"))) {
        Ok(id) => tell(id.as_str()),
        Err(Error::AlreadyExists(_)) => tell("exists"),
        Err(error) => tell(&format!("unexpected: {error}")),
    }
}

fn upgrade(file: &Path) {
    let session = Session::open(file).unwrap();
    wait_for_go();
    let id = session.append(Message::user("upgraded")).unwrap();
    tell(id.as_str());
}
