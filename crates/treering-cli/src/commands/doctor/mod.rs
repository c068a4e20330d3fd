//! `treering doctor`

mod finding;
mod repair;

use crate::error::Failure;
use crate::output::{self, Output};
use crate::progress::Meter;
use crate::text::safe_line;
use std::path::PathBuf;
use treering::{Catalog, Progress, RepairOptions, RepairTo};

/// Find out what is wrong with session files, and repair them
///
/// Reads every byte. Changes nothing, unless `--repair` is given: then a repaired copy is written
/// beside the file. In it, every line is a whole record and every entry has its parent; nothing that
/// can be read is lost, and what cannot goes to a file of its own. The exit code is 1 if there is an
/// error or a warning (with `--repair`: if one is left), and 0 if there are notes at most.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Session files, and directories of them
    #[arg(required = true, value_name = "FILE|DIR")]
    pub(crate) paths: Vec<PathBuf>,
    /// One JSON object per file and line: path, dialect, entries, size, errors, warnings, notes,
    /// findings; with `--repair` what was changed, before and after, and what remains
    #[arg(long)]
    json: bool,
    /// Write a repaired copy beside each file that needs one: NAME.repaired.jsonl
    #[arg(long)]
    repair: bool,
    /// Replace the file, and keep the old one as NAME.jsonl.bak
    #[arg(long, requires = "repair", conflicts_with = "output")]
    in_place: bool,
    /// Where the repaired copy goes, instead of beside the file
    #[arg(long, short, value_name = "PATH", requires = "repair")]
    output: Option<PathBuf>,
}

/// Whether everything that was looked at is healthy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Healthy,
    Ill,
}

/// How much is said about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// Everything: it is the only one.
    Full,
    /// A line: there are others.
    Summary,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let files = files(&args.paths)?;
    let is_single = args.paths.len() == 1 && !args.paths[0].is_dir();
    if args.output.is_some() && !is_single {
        return Err(Failure::message("`--output` is for one file"));
    }
    let detail = if is_single { Detail::Full } else { Detail::Summary };
    let mut health = Health::Healthy;
    let mut meter = Meter::new();
    let total = files.len();
    for (done, file) in files.into_iter().enumerate() {
        meter.show(Progress { done, total });
        let looked = match args.repair {
            true => treering::repair(&file, RepairOptions { to: args.to() })
                .map_err(Failure::from)
                .and_then(|done| {
                    meter.clear();
                    repair::write(&done, detail, args.json, out)
                }),
            false => treering::examine(&file).map_err(Failure::from).and_then(|diagnosis| {
                meter.clear();
                finding::write(&diagnosis, detail, args.json, out)
            }),
        };
        match looked {
            Ok(Health::Healthy) => {}
            Ok(Health::Ill) => health = Health::Ill,
            Err(failure) if is_single => return Err(failure),
            Err(Failure::Library(error)) => {
                meter.clear();
                health = Health::Ill;
                if args.json {
                    finding::write_failure(&file, &error, out)?;
                }
                out.finish()?;
                output::complain("error", &safe_line(&error.to_string()));
            }
            Err(failure) => return Err(failure),
        }
    }
    meter.clear();
    if total == 0 {
        output::complain("note", "no sessions there");
    }
    match health {
        Health::Healthy => Ok(()),
        Health::Ill => Err(Failure::Said),
    }
}

impl Args {
    fn to(&self) -> RepairTo {
        match &self.output {
            _ if self.in_place => RepairTo::InPlace,
            Some(path) => RepairTo::Path(path.clone()),
            None => RepairTo::Beside,
        }
    }
}

/// The files that are meant, directories looked through as `ls` does.
fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut all = Vec::new();
    for path in paths {
        if !path.is_dir() {
            all.push(path.clone());
            continue;
        }
        let (files, unreadable) = Catalog::new(path).files()?;
        all.extend(files);
        for (_, error) in unreadable {
            output::complain("warning", &safe_line(&error.to_string()));
        }
    }
    Ok(all)
}
