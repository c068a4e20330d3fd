//! Writes generated sessions to files, for benchmarks and experiments.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use treering_testkit::generate::{self, Limit, Plan, Stats};
use treering_testkit::rng::Rng;

const USAGE: &str = "\
usage: treering-gen [--seed N] (--mb N | --entries N | --chain N | --star N) --out FILE
       treering-gen [--seed N] --dir DIR [--count 2000] [--kb 100]
options: --no-compactions, --custom-messages, --cwd DIR

Same arguments, same bytes. FILE.meta.json says what is in FILE.";

fn main() {
    if let Err(error) = run(std::env::args().skip(1).collect()) {
        eprintln!("treering-gen: {error}");
        std::process::exit(2);
    }
}

type Failure = Box<dyn std::error::Error>;

struct Arguments(Vec<String>);

impl Arguments {
    fn flag(&mut self, name: &str) -> bool {
        let place = self.0.iter().position(|argument| argument == name);
        place.map(|place| self.0.remove(place)).is_some()
    }

    fn value(&mut self, name: &str) -> Result<Option<String>, Failure> {
        let Some(place) = self.0.iter().position(|argument| argument == name) else {
            return Ok(None);
        };
        if place + 1 >= self.0.len() {
            return Err(format!("{name} needs a value").into());
        }
        self.0.remove(place);
        Ok(Some(self.0.remove(place)))
    }

    fn number(&mut self, name: &str) -> Result<Option<f64>, Failure> {
        let text = self.value(name)?;
        let number = text.map(|text| text.parse().map_err(|_| format!("{name}: not a number")));
        Ok(number.transpose()?)
    }
}

fn run(arguments: Vec<String>) -> Result<(), Failure> {
    let mut arguments = Arguments(arguments);
    if arguments.flag("--help") || arguments.0.is_empty() {
        io::stdout().write_all(format!("{USAGE}\n").as_bytes())?;
        return Ok(());
    }
    let seed = arguments.number("--seed")?.unwrap_or(1.0) as u64;
    let mut plan = Plan::entries(seed, 0);
    plan.compactions = !arguments.flag("--no-compactions");
    plan.custom_messages = arguments.flag("--custom-messages");
    if let Some(cwd) = arguments.value("--cwd")? {
        plan.cwd = cwd;
    }
    let out = arguments.value("--out")?.map(PathBuf::from);
    let directory = arguments.value("--dir")?.map(PathBuf::from);
    let count = arguments.number("--count")?.unwrap_or(2000.0) as u64;
    let kb = arguments.number("--kb")?.unwrap_or(100.0);
    let megabytes = arguments.number("--mb")?;
    let entries = arguments.number("--entries")?;
    let chain = arguments.number("--chain")?;
    let star = arguments.number("--star")?;
    if let Some(unknown) = arguments.0.first() {
        return Err(format!("unknown argument {unknown:?}\n{USAGE}").into());
    }
    if let Some(directory) = directory {
        return fill(&directory, &plan, count, kb);
    }
    let out = out.ok_or("--out or --dir is needed")?;
    let mut file = File::create(&out)?;
    let stats = match (megabytes, entries, chain, star) {
        (Some(megabytes), None, None, None) => {
            plan.limit = Limit::Bytes((megabytes * 1e6) as u64);
            generate::session(&mut file, &plan)?
        }
        (None, Some(entries), None, None) => {
            plan.limit = Limit::Entries(entries as u64);
            generate::session(&mut file, &plan)?
        }
        (None, None, Some(length), None) => generate::chain(&mut file, seed, length as u64)?,
        (None, None, None, Some(width)) => generate::star(&mut file, seed, width as u64)?,
        _ => return Err("exactly one of --mb, --entries, --chain and --star is needed".into()),
    };
    write_meta(&out, &stats)?;
    eprintln!("{}: {} bytes, {} entries", out.display(), stats.bytes, stats.entries);
    Ok(())
}

fn write_meta(out: &Path, stats: &Stats) -> Result<(), Failure> {
    let meta = serde_json::json!({
        "bytes": stats.bytes,
        "entries": stats.entries,
        "session": stats.session,
        "leaf": stats.leaf,
        "middle": stats.middle,
        "depth": stats.depth,
        "sample": stats.sample,
    });
    let mut name = out.as_os_str().to_owned();
    name.push(".meta.json");
    std::fs::write(name, meta.to_string())?;
    Ok(())
}

/// A directory of sessions an hour apart, of `kb` kilobytes on average.
fn fill(directory: &Path, plan: &Plan, count: u64, kb: f64) -> Result<(), Failure> {
    std::fs::create_dir_all(directory)?;
    let mut sizes = Rng::new(plan.seed);
    let mut bytes = 0;
    for number in 0..count {
        // A log-normal distribution's mean lies above its median by exp(sigma² / 2).
        let size = sizes.log_normal(kb * 1000.0 / 1.377, 0.8, 2000, 4_000_000);
        let plan = Plan {
            seed: plan.seed.wrapping_mul(1_000_003).wrapping_add(number),
            limit: Limit::Bytes(size as u64),
            start: plan.start + number as i64 * 3_600_000,
            ..plan.clone()
        };
        let mut session = Vec::with_capacity(size + 64 * 1024);
        let stats = generate::session(&mut session, &plan)?;
        let stamp = treering::time::format(plan.start).replace([':', '.'], "-");
        let path = directory.join(format!("{stamp}_{}.jsonl", stats.session));
        let mut file = File::create(&path)?;
        file.write_all(&session)?;
        let time = SystemTime::UNIX_EPOCH + Duration::from_millis(plan.start.unsigned_abs());
        file.set_modified(time)?;
        bytes += stats.bytes;
    }
    eprintln!("{}: {count} sessions, {bytes} bytes", directory.display());
    Ok(())
}
