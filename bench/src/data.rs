//! Creates the sessions that are measured, and keeps them until the generator changes.

use crate::measure;
use serde_json::{Value, json};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use treering_testkit::generate::{self, Limit, Plan, Stats};
use treering_testkit::rng::Rng;

const SEED: u64 = 1;

/// A directory of generated sessions.
#[derive(Debug)]
pub(crate) struct Data {
    dir: PathBuf,
    quick: bool,
}

/// A generated session.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) path: PathBuf,
    bytes: u64,
    pub(crate) entries: u64,
    leaf: String,
    /// The leaf when half of it was written.
    pub(crate) middle: String,
    pub(crate) sample: Vec<String>,
}

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bytes / 1_000_000 {
            small @ ..1000 => write!(f, "{small} MB"),
            _ => write!(f, "1 GB, {} entries", crate::table::thousands(self.entries as usize)),
        }
    }
}

/// Shapes that break readers which recurse, or are quadratic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Chain,
    Star,
}

/// The position at which the thinking level of [`Data::same_tail`] is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    InTail,
    AtStart,
}

impl Data {
    pub(crate) fn new(dir: &Path, quick: bool) -> Self {
        std::fs::create_dir_all(dir).unwrap();
        let data = Data { dir: dir.canonicalize().unwrap(), quick };
        data.forget_outdated();
        data
    }

    /// Removes what an older generator made.
    fn forget_outdated(&self) {
        let mut hasher = DefaultHasher::new();
        let (mut bytes, _) = generate::session_bytes(&Plan::bytes(SEED, 1_000_000));
        generate::chain(&mut bytes, SEED, 100).unwrap();
        generate::star(&mut bytes, SEED, 100).unwrap();
        (bytes, rare_message("")).hash(&mut hasher);
        let (stamp, now) = (self.dir.join("generator"), format!("{:x}", hasher.finish()));
        let before = std::fs::read_to_string(&stamp);
        if before.as_ref().is_ok_and(|before| *before != now) {
            // Only what is named as this module names things.
            for entry in std::fs::read_dir(&self.dir).unwrap().flatten() {
                match entry.file_name().to_string_lossy() {
                    name if name.starts_with("list") => {
                        std::fs::remove_dir_all(entry.path()).unwrap()
                    }
                    name if name.starts_with("made-") => {
                        std::fs::remove_file(entry.path()).unwrap()
                    }
                    _ => {}
                }
            }
        }
        std::fs::write(stamp, now).unwrap();
    }

    /// Returns the largest session: of 1 GB, or of 100 MB if it has to be quick.
    pub(crate) fn large(&self) -> Made {
        self.session(if self.quick { 100 } else { 1000 })
    }

    /// Returns a session of a usual shape.
    pub(crate) fn session(&self, megabytes: u64) -> Made {
        self.made(&format!("made-{megabytes}mb"), |out| {
            generate::session(out, &Plan::bytes(SEED, megabytes * 1_000_000))
        })
    }

    /// Returns a session of an unusual shape.
    pub(crate) fn shape(&self, shape: Shape, entries: u64) -> Made {
        match shape {
            Shape::Chain => self
                .made(&format!("made-chain-{entries}"), |out| generate::chain(out, SEED, entries)),
            Shape::Star => {
                self.made(&format!("made-star-{entries}"), |out| generate::star(out, SEED, entries))
            }
        }
    }

    fn made(&self, name: &str, make: impl FnOnce(&mut dyn Write) -> io::Result<Stats>) -> Made {
        let path = self.dir.join(format!("{name}.jsonl"));
        let meta = self.dir.join(format!("{name}.json"));
        if !meta.exists() {
            let mut file = File::create(&path).unwrap();
            let stats = make(&mut file).unwrap();
            // Later measurements should not have to wait for this one's writes.
            file.sync_all().unwrap();
            let Stats { bytes, entries, leaf, middle, sample, .. } = stats;
            let values = json!({ "bytes": bytes, "entries": entries, "leaf": leaf, "middle": middle, "sample": sample });
            std::fs::write(&meta, values.to_string()).unwrap();
        }
        let meta: Value = serde_json::from_slice(&std::fs::read(meta).unwrap()).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        Made {
            path,
            bytes: meta["bytes"].as_u64().unwrap(),
            entries: meta["entries"].as_u64().unwrap(),
            leaf: text(&meta["leaf"]),
            middle: text(&meta["middle"]),
            sample: meta["sample"].as_array().unwrap().iter().map(text).collect(),
        }
    }

    /// Returns a directory of many small sessions, all of them in the page cache. In one of them
    /// contains [`RARE`].
    pub(crate) fn directory(&self, count: u64) -> PathBuf {
        let dir = self.dir.join(format!("list-{count}"));
        if !std::fs::read_dir(&dir).is_ok_and(|files| files.count() as u64 == count) {
            let _ = std::fs::remove_dir_all(&dir);
            std::fs::create_dir(&dir).unwrap();
            write_sessions(&dir, count);
        }
        for file in std::fs::read_dir(&dir).unwrap() {
            measure::count_lines(&file.unwrap().path());
        }
        dir
    }

    /// Returns a small and a large session with the same end: a compaction, what it keeps, and what
    /// came after it. Nothing else in them sets a thinking level, but for their first lines.
    pub(crate) fn same_tail(&self, level: Level) -> (PathBuf, PathBuf) {
        (with_tail(&self.session(10), level), with_tail(&self.large(), level))
    }

    /// Returns a directory for what a measurement writes, on the same file system.
    pub(crate) fn scratch(&self) -> TempDir {
        tempfile::tempdir_in(&self.dir).unwrap()
    }
}

fn write_sessions(dir: &Path, count: u64) {
    let (mut sizes, plan) = (Rng::new(SEED), Plan::entries(SEED, 0));
    for number in 0..count {
        // A log-normal distribution's mean lies above its median by exp(sigma² / 2).
        let size = sizes.log_normal(100_000.0 / 1.377, 0.8, 2000, 4_000_000);
        let limit = Limit::Bytes(size as u64);
        let start = plan.start + number as i64 * 3_600_000;
        let plan = Plan { seed: SEED + 1 + number, limit, start, ..plan.clone() };
        let (mut bytes, stats) = generate::session_bytes(&plan);
        if number == count / 2 {
            bytes.extend(rare_message(&stats.leaf));
        }
        let stamp = treering::time::format(start).replace([':', '.'], "-");
        let name = format!("{stamp}_{}.jsonl", stats.session);
        std::fs::write(dir.join(name), bytes).unwrap();
    }
}

/// A word that occurs once.
pub(crate) const RARE: &str = "heartwood";

fn rare_message(leaf: &str) -> Vec<u8> {
    format!(
        "{{\"type\":\"message\",\"id\":\"0a0b0c0d\",\"parentId\":\"{leaf}\",\
         \"timestamp\":\"2026-01-01T12:00:00.000Z\",\
         \"message\":{{\"role\":\"user\",\"content\":\"What is {RARE}?\"}}}}\n"
    )
    .into_bytes()
}

const CHANGE: &[u8] = b"{\"type\":\"thinking_level_change\"";
const NO_CHANGE: &[u8] = b"{\"type\":\"custom\",\"customType\":\"was-level\"";

fn with_tail(made: &Made, level: Level) -> PathBuf {
    let path = made.path.with_extension("tail.jsonl");
    let length = made.path.with_extension("tail.length");
    if !length.exists() {
        // The length differs from the original's by the lines that were changed.
        let mut out = BufWriter::new(File::create(&path).unwrap());
        copy_with_one_level(&made.path, &mut out).unwrap();
        let file = out.into_inner().unwrap();
        file.sync_all().unwrap();
        std::fs::write(&length, file.metadata().unwrap().len().to_string()).unwrap();
    }
    let length: u64 = std::fs::read_to_string(length).unwrap().parse().unwrap();
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.set_len(length).unwrap();
    file.write_all(&tail(&made.leaf, level)).unwrap();
    path
}

/// Copies a session in which all changes of the thinking level but the first become something else.
fn copy_with_one_level(from: &Path, out: &mut dyn Write) -> io::Result<()> {
    let mut input = BufReader::with_capacity(1 << 20, File::open(from)?);
    let (mut line, mut changes) = (Vec::new(), 0);
    while input.read_until(b'\n', &mut line)? > 0 {
        match line.strip_prefix(CHANGE) {
            Some(rest) if changes > 0 => out.write_all(&[NO_CHANGE, rest].concat())?,
            Some(_) => {
                changes += 1;
                out.write_all(&line)?;
            }
            None => out.write_all(&line)?,
        }
        line.clear();
    }
    Ok(())
}

/// Returns the lines that continue from `leaf`: 30 entries, a compaction that keeps ten of them, 100
/// more.
fn tail(leaf: &str, level: Level) -> Vec<u8> {
    const COMPACTION: &str = "compact0";
    let plan = Plan { compactions: false, ..Plan::entries(SEED + 99, 130) };
    let (bytes, _) = generate::session_bytes(&plan);
    let text = String::from_utf8(bytes).unwrap();
    let id = |line: &str| {
        serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().to_owned()
    };
    let lines: Vec<&str> = text.lines().skip(1).collect();
    let (kept, last) = (id(lines[20]), id(lines[29]));
    let compaction = format!(
        "{{\"type\":\"compaction\",\"id\":\"{COMPACTION}\",\"parentId\":\"{last}\",\
         \"timestamp\":\"2026-01-01T12:00:00.000Z\",\"summary\":\"{}\",\
         \"firstKeptEntryId\":\"{kept}\",\"tokensBefore\":150000}}",
        "What happened so far. ".repeat(150),
    );
    let (change, no_change) = (str::from_utf8(CHANGE).unwrap(), str::from_utf8(NO_CHANGE).unwrap());
    let mut out = String::new();
    for (at, line) in lines.iter().enumerate() {
        let line = match at {
            0 => line.replacen("\"parentId\":null", &format!("\"parentId\":\"{leaf}\""), 1),
            1..30 => (*line).to_owned(),
            _ => line.replace(
                &format!("\"parentId\":\"{last}\""),
                &format!("\"parentId\":\"{COMPACTION}\""),
            ),
        };
        out.push_str(&match level {
            Level::InTail => line,
            Level::AtStart => line.replacen(change, no_change, 1),
        });
        out.push('\n');
        if at == 29 {
            out.push_str(&compaction);
            out.push('\n');
        }
    }
    out.into_bytes()
}
