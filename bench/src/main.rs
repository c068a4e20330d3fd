//! Compares treering with bare system calls and with the session code of other agents, on the same
//! files in the same run.
//!
//! Prints one table. What is compared is run in turns, so that whatever else the machine does falls
//! on all alike; the value shown is the median, with the spread where that is large.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a benchmark may stop at the first surprise"
)]
#![allow(clippy::print_stdout, reason = "its output is a table")]

mod data;
mod measure;
mod peers;
mod rows;
mod table;

use clap::builder::PossibleValuesParser;
use clap::{Parser, Subcommand};
use data::Data;
use measure::Stdout;
use peers::Peer;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use table::Row;

#[derive(Debug, Parser)]
#[command(
    name = "treering-bench",
    about = "Measure treering against baselines and other agents in one run"
)]
struct Args {
    /// Directory of the sessions to measure with; they are made if they are not there (about 5 GB)
    #[arg(long, default_value = "target/bench/data")]
    dir: PathBuf,
    /// Directory in which bench/peers/install.sh installed the other agents
    #[arg(long)]
    peers: Option<PathBuf>,
    /// The treering to measure; the one built along with this program if not given
    #[arg(long)]
    treering: Option<PathBuf>,
    /// 100 MB instead of 1 GB, and fewer rounds
    #[arg(long)]
    quick: bool,
    /// Only this group of rows (may be repeated)
    #[arg(long, value_parser = PossibleValuesParser::new(rows::names()))]
    only: Vec<String>,
    /// Fail if a bar is missed
    #[arg(long)]
    strict: bool,
    #[command(subcommand)]
    helper: Option<Helper>,
}

// The tasks for which the benchmark starts itself as another process. A doc comment here would replace the description in `--help`.
#[derive(Debug, Subcommand)]
enum Helper {
    /// Run a command; print its time and peak memory
    #[command(hide = true)]
    Measure {
        #[arg(long)]
        keep: bool,
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
    /// Read a file and count its lines
    #[command(hide = true)]
    Count { file: PathBuf },
}

/// The settings that all groups of rows share.
#[derive(Debug)]
pub(crate) struct Bench {
    data: Data,
    peers: Vec<Peer>,
    /// The Python that has the frameworks which keep sessions in PostgreSQL.
    frameworks: Option<PathBuf>,
    treering: PathBuf,
    quick: bool,
}

impl Bench {
    /// Returns the number of repetitions: `full`, or less in quick mode.
    fn rounds(&self, full: usize) -> usize {
        if self.quick { full.min(3) } else { full }
    }

    /// Returns a command line of treering.
    fn treering(&self, words: &[&str], file: &Path) -> Vec<OsString> {
        let mut command = vec![self.treering.clone().into_os_string()];
        command.extend(words.iter().map(OsString::from));
        command.insert(2, file.into());
        command
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    match args.helper {
        Some(Helper::Measure { keep, command }) => {
            measure::report(&command, if keep { Stdout::Keep } else { Stdout::Discard });
            ExitCode::SUCCESS
        }
        Some(Helper::Count { file }) => {
            println!("{}", measure::count_lines(&file));
            ExitCode::SUCCESS
        }
        None => run(args),
    }
}

fn run(args: Args) -> ExitCode {
    let beside = || std::env::current_exe().unwrap().with_file_name("treering");
    let treering = args.treering.unwrap_or_else(beside);
    if !treering.exists() {
        eprintln!("there is no treering to measure: cargo build --release -p treering-cli");
        return ExitCode::FAILURE;
    }
    let peers = peers::installed(args.peers.as_deref());
    let frameworks = args.peers.as_ref().map(|peers| peers.join("stores/bin/python"));
    let frameworks = frameworks.filter(|python| python.exists());
    let data = Data::new(&args.dir, args.quick);
    let bench = Bench { data, peers, frameworks, treering, quick: args.quick };
    let mut table: Vec<Row> = Vec::new();
    for group in rows::GROUPS {
        if args.only.is_empty() || args.only.iter().any(|only| only == group.name) {
            eprintln!("{} …", group.name);
            table.extend((group.rows)(&bench));
        }
    }
    println!("{}", table::markdown(&table));
    for peer in &bench.peers {
        println!("{} {} on {}", peer.name, peer.version, peer.runtime);
    }
    let nothing = [bench.treering.into_os_string(), "--version".into()];
    let starts: Vec<f64> = (0..9).map(|_| measure::process(&nothing, Stdout::Discard).ms).collect();
    println!("starting treering to do nothing takes {}", table::time(measure::Stat::of(&starts)));
    // The load of the machine, where the system reports it.
    if let Ok(load) = std::fs::read_to_string("/proc/loadavg") {
        println!("load average {}", load.split(' ').take(3).collect::<Vec<_>>().join(", "));
    }
    let missed = table.iter().filter(|row| row.is_missed()).count();
    println!("bars missed: {missed}");
    ExitCode::from(u8::from(args.strict && missed > 0))
}
