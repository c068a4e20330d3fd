//! Measures time and memory, of closures in this process and of other processes.

use serde_json::{Value, json};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Several measurements of the same thing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stat {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Stat {
    pub(crate) fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (sorted[0], sorted[sorted.len() - 1]);
        Stat { median: sorted[sorted.len() / 2], low, high }
    }
}

/// Milliseconds that `work` takes.
pub(crate) fn ms<T>(work: impl FnOnce() -> T) -> f64 {
    let start = Instant::now();
    std::hint::black_box(work());
    start.elapsed().as_secs_f64() * 1000.0
}

/// Runs two things in turns and measures each with what it returns.
pub(crate) fn in_turns(
    rounds: usize,
    mut a: impl FnMut() -> f64,
    mut b: impl FnMut() -> f64,
) -> (Stat, Stat) {
    let pairs: Vec<(f64, f64)> = (0..rounds).map(|_| (a(), b())).collect();
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
    (Stat::of(&a), Stat::of(&b))
}

/// The time and memory of a whole process.
#[derive(Debug, Clone, Default)]
pub(crate) struct Process {
    pub(crate) ms: f64,
    pub(crate) peak_bytes: u64,
    pub(crate) stdout: String,
}

/// The destination of a measured process's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stdout {
    Discard,
    Keep,
}

/// Runs a command and measures it. The peak memory of a child is only known as that of all children
/// there were, and starts with that of the process that made it: so a small, fresh process runs it.
pub(crate) fn process(command: &[OsString], stdout: Stdout) -> Process {
    process_with(&[], command, stdout)
}

/// The same with some variables set.
pub(crate) fn process_with(
    variables: &[(&str, &OsStr)],
    command: &[OsString],
    stdout: Stdout,
) -> Process {
    let mut helper = Command::new(std::env::current_exe().unwrap());
    helper.envs(variables.iter().copied()).arg("measure");
    if stdout == Stdout::Keep {
        helper.arg("--keep");
    }
    let output = helper.arg("--").args(command).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "{command:?} failed");
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    Process {
        ms: result["ms"].as_f64().unwrap(),
        peak_bytes: result["peak_bytes"].as_u64().unwrap(),
        stdout: result["stdout"].as_str().unwrap_or_default().to_owned(),
    }
}

/// The helper's side of [`process`]: prints the result as JSON.
pub(crate) fn report(command: &[OsString], stdout: Stdout) {
    let sink = || if stdout == Stdout::Keep { Stdio::piped() } else { Stdio::null() };
    let start = Instant::now();
    let mut child = Command::new(&command[0]).args(&command[1..]).stdout(sink()).spawn().unwrap();
    let mut text = String::new();
    if let Some(mut pipe) = child.stdout.take() {
        pipe.read_to_string(&mut text).unwrap();
    }
    let status = child.wait().unwrap();
    let ms = start.elapsed().as_secs_f64() * 1000.0;
    assert!(status.success(), "{command:?}: {status}");
    println!("{}", json!({ "ms": ms, "peak_bytes": peak_bytes_of_children(), "stdout": text }));
}

#[cfg(unix)]
fn peak_bytes_of_children() -> i64 {
    use nix::sys::resource::{UsageWho, getrusage};
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    usage.max_rss() * if cfg!(target_os = "macos") { 1 } else { 1024 }
}

#[cfg(not(unix))]
fn peak_bytes_of_children() -> i64 {
    0
}

/// Reads a file with a buffer of 256 KiB that begins on a page, and counts its lines: the least that
/// anything that looks at all of a file has to do. It also brings the file into the page cache.
pub(crate) fn count_lines(path: &Path) -> usize {
    const SIZE: usize = 256 * 1024;
    const PAGE: usize = 4096;
    let mut room = vec![0; SIZE + PAGE];
    let start = room.as_ptr().align_offset(PAGE).min(PAGE);
    let buffer = &mut room[start..start + SIZE];
    let mut file = File::open(path).unwrap();
    let mut lines = 0;
    loop {
        match file.read(buffer).unwrap() {
            0 => return lines,
            got => lines += memchr::memchr_iter(b'\n', &buffer[..got]).count(),
        }
    }
}
