//! Runs the session code of other agents through the drivers in `peers/`.

use crate::measure::{self, Stdout};
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Every peer there is a driver for.
const ALL: [&str; 3] = ["pi", "omp", "chimera"];

#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) runtime: String,
    command: Vec<OsString>,
}

/// The answer of a driver, and the cost of its whole process.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) ms: f64,
    pub(crate) peak_bytes: u64,
    values: Value,
}

impl Answer {
    /// Returns a number that the driver measured itself.
    pub(crate) fn number(&self, name: &str) -> f64 {
        self.values[name].as_f64().unwrap()
    }
}

impl Peer {
    /// Runs one sub-command of the driver; `None` if the peer cannot do such a thing.
    pub(crate) fn ask(&self, arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> Option<Answer> {
        let mut command = self.command.clone();
        command.extend(arguments.iter().map(|argument| argument.as_ref().to_owned()));
        let process = measure::process(&command, Stdout::Keep);
        let last = process.stdout.trim_end().lines().last().unwrap_or_default();
        let values: Value = serde_json::from_str(last).unwrap();
        let (ms, peak_bytes) = (process.ms, process.peak_bytes);
        values["unsupported"].is_null().then_some(Answer { ms, peak_bytes, values })
    }

    /// The same session as a file of the peer's own, so that nothing it does to it matters.
    pub(crate) fn file(&self, session: &Path) -> PathBuf {
        let copy = session.with_extension(format!("{}.jsonl", self.name));
        if !copy.exists() {
            let unfinished = copy.with_extension("tmp");
            match self.name.as_str() {
                "chimera" => drop(self.ask(&[&"convert", &session, &unfinished]).unwrap()),
                _ => drop(std::fs::copy(session, &unfinished).unwrap()),
            }
            std::fs::rename(unfinished, &copy).unwrap();
        }
        measure::count_lines(&copy);
        copy
    }
}

/// Returns the peers installed in `directory`. Those that are missing are named on stderr.
pub(crate) fn installed(directory: Option<&Path>) -> Vec<Peer> {
    let text = directory.map(|directory| std::fs::read(directory.join("peers.json")));
    let list: Value = match text {
        Some(Ok(text)) => serde_json::from_slice(&text).unwrap(),
        _ => Value::Null,
    };
    let mut peers = Vec::new();
    for name in ALL {
        let Some(command) = list[name]["cmd"].as_array() else {
            eprintln!("PEER SKIPPED: {name} is not installed; its comparisons are left out");
            continue;
        };
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        peers.push(Peer {
            name: name.to_owned(),
            version: text(&list[name]["version"]),
            runtime: text(&list[name]["runtime"]),
            command: command.iter().map(|word| text(word).into()).collect(),
        });
    }
    peers
}
