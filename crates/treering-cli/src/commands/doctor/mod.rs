//! `treering doctor`

mod alike;
mod finding;
mod repair;
mod total;

use crate::error::Failure;
use crate::in_use;
use crate::output::{self, Output};
use crate::progress::Meter;
use crate::sessions;
use crate::text::safe_line;
use std::path::{Path, PathBuf};
use total::DoctorTotals;
use treering::catalog::Progress;
use treering::doctor::{Repair, RepairOptions, RepairTo, plan_repair};
use treering_index::SessionIndex;

/// Check session files for damage, and repair them
///
/// Reads every byte and changes nothing, unless `--repair` is given: then a repaired copy is written
/// next to the file. In the copy, every line is a complete record and every entry has its parent;
/// nothing readable is lost, and unreadable bytes are saved to a separate file. The exit code is 1 if
/// there is an error or a warning (with `--repair`: if one remains) or if no session was found, and 0
/// otherwise.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Session files, and directories to search for sessions
    #[arg(required = true, value_name = "FILE|DIR")]
    pub(crate) paths: Vec<PathBuf>,
    /// One JSON object per file and line: path, dialect, entries, size, errors, warnings, notes,
    /// findings; with `--repair` what was changed, before and after, and what remains
    #[arg(long)]
    json: bool,
    /// List every finding, without grouping similar ones
    #[arg(long, short)]
    verbose: bool,
    /// Write a repaired copy next to each file that needs one: NAME.repaired.jsonl
    #[arg(long)]
    repair: bool,
    /// Show what the repair would change; write nothing
    #[arg(long, requires = "repair")]
    dry_run: bool,
    /// Replace the file, and keep the old one as NAME.jsonl.bak
    #[arg(long, requires = "repair", conflicts_with = "output")]
    in_place: bool,
    /// Replace a file although it was written to within the last 10 seconds
    #[arg(long, requires = "in_place")]
    force: bool,
    /// The file for the repaired copy, instead of NAME.repaired.jsonl
    #[arg(long, short, value_name = "PATH", requires = "repair")]
    output: Option<PathBuf>,
}

/// Whether all examined files are healthy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Healthy,
    Damaged,
}

/// The amount of detail about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// All findings, for a single file. Similar findings are grouped.
    Full,
    /// All findings, each on its own.
    Verbose,
    /// One line for each of several files.
    Summary,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let (files, is_lacking) = files(&args.paths);
    let is_single = args.paths.len() == 1 && !args.paths[0].is_dir();
    super::check_is_file(args.output.as_deref())?;
    if args.output.is_some() && !is_single {
        return Err(Failure::Usage {
            what: "`--output` names one file, and there may be several copies".to_owned(),
            hint: "repair one file at a time, or leave it out".to_owned(),
        });
    }
    let detail = match is_single {
        true if args.verbose => Detail::Verbose,
        true => Detail::Full,
        false => Detail::Summary,
    };
    let mut health = if is_lacking { Health::Damaged } else { Health::Healthy };
    let mut sum = DoctorTotals::default();
    let meter = Meter::new();
    let total = files.len();
    for (done, file) in files.into_iter().enumerate() {
        meter.show(Progress::new(done, total));
        let examined = match args.repair {
            true if args.dry_run => plan_repair(&file).map_err(Failure::from).and_then(|plan| {
                let (removed, left) =
                    plan.findings()?.into_iter().partition(|finding| plan.repairs(finding));
                let planned =
                    repair::PlannedRepair { plan, options: args.options(), removed, left };
                sum.add(&planned.left);
                repair::write_plan(&planned, detail, args.json, out)
            }),
            true => args.repair(&file).and_then(|done| {
                sum.add(&done.remaining);
                repair::write(&done, detail, args.json, out)
            }),
            false => {
                treering::doctor::examine(&file).map_err(Failure::from).and_then(|diagnosis| {
                    sum.add(&diagnosis.findings);
                    finding::write(&diagnosis, detail, args.json, out)
                })
            }
        };
        match examined {
            Ok(Health::Healthy) => {}
            Ok(Health::Damaged) => health = Health::Damaged,
            Err(failure) if is_single => return Err(failure),
            Err(Failure::Library(error)) => {
                health = Health::Damaged;
                sum.unreadable += 1;
                if args.json {
                    finding::write_failure(&file, &error, out)?;
                }
                out.finish()?;
                output::write_notice("error", &safe_line(&error.to_string()));
            }
            Err(Failure::Message { what, .. }) => {
                health = Health::Damaged;
                out.finish()?;
                output::write_notice("error", &safe_line(&what));
            }
            Err(failure) => return Err(failure),
        }
    }
    if !is_single && !args.json && total > 0 {
        sum.write(out)?;
    }
    match health {
        Health::Healthy => Ok(()),
        Health::Damaged => Err(Failure::Reported),
    }
}

impl Args {
    fn repair(&self, file: &Path) -> Result<Repair, Failure> {
        if self.in_place && !self.force {
            in_use::check_idle(file)?;
        }
        Ok(treering::doctor::repair(file, self.options())?)
    }

    fn options(&self) -> RepairOptions {
        RepairOptions::new().to(self.to())
    }

    fn to(&self) -> RepairTo {
        match &self.output {
            _ if self.in_place => RepairTo::InPlace,
            Some(path) => RepairTo::Path(path.clone()),
            None => RepairTo::Beside,
        }
    }
}

/// Returns the files to examine, with directories searched as `ls` does, and whether there was a
/// directory without any.
fn files(paths: &[PathBuf]) -> (Vec<PathBuf>, bool) {
    let (mut all, mut is_lacking) = (Vec::new(), false);
    for path in paths {
        if !path.is_dir() {
            all.push(path.clone());
            continue;
        }
        let (files, skipped) = SessionIndex::new(sessions::places().only([path.clone()])).find();
        for skipped in skipped {
            let what = format!("{}: {}", skipped.path.to_string_lossy(), skipped.reason);
            output::write_notice("warning", &safe_line(&what));
        }
        if files.is_empty() {
            let what = format!("no sessions in {} or below it", path.to_string_lossy());
            output::write_notice("error", &safe_line(&what));
            is_lacking = true;
        }
        all.extend(files);
    }
    (all, is_lacking)
}
