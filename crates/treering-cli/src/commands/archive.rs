//! `treering archive` and `treering unarchive`

use crate::clock;
use crate::error::Failure;
use crate::output::{self, Output, json_string};
use crate::progress::Meter;
use crate::text::{safe_line, shell_word, size};
use std::io::Write;
use std::path::{Path, PathBuf};
use treering::Dialect;
use treering_shelf::housekeeping::{self, Exchanged, Reason};

/// Compress sessions that are done
///
/// SESSION.jsonl becomes SESSION.jsonl.zst, which is read again and compared before the original goes.
/// treering lists and reads it as before, but nothing can be appended; agents other than Codex no longer
/// find it. `unarchive` brings it back byte for byte.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session files
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// One JSON object per session and line: path, output, from and to (sizes in bytes)
    #[arg(long)]
    json: bool,
}

/// Bring compressed sessions back
///
/// SESSION.jsonl.zst becomes SESSION.jsonl again.
#[derive(Debug, clap::Args)]
pub(crate) struct Unarchive {
    /// The compressed session files
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// One JSON object per session and line: path, output, from and to (sizes in bytes)
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    for path in &args.files {
        let mut meter = Meter::new();
        let packed = housekeeping::archive(path, clock::now(), &mut |done, total| {
            meter.show_bytes(done, total);
        });
        meter.clear();
        let (packed, agent) = packed.map_err(|refusal| match refusal.reason {
            Reason::Archived => {
                let hint = format!("`treering unarchive {}` brings it back", shell_word(path));
                Failure::with_hint(refusal.to_string(), hint)
            }
            _ => refusal.into(),
        })?;
        write(path, &packed, args.json, out)?;
        if agent != Dialect::Codex {
            out.finish()?;
            let path = shell_word(&packed.path);
            let note = format!("{agent} does not find it until `treering unarchive {path}`");
            output::complain("note", &safe_line(&note));
        }
    }
    Ok(())
}

pub(crate) fn unarchive(args: &Unarchive, out: &mut Output) -> Result<(), Failure> {
    for path in &args.files {
        let mut meter = Meter::new();
        let unpacked = housekeeping::unarchive(path, clock::now(), &mut |done, total| {
            meter.show_bytes(done, total);
        });
        meter.clear();
        write(path, &unpacked?, args.json, out)?;
    }
    Ok(())
}

fn write(path: &Path, now: &Exchanged, json: bool, out: &mut Output) -> Result<(), Failure> {
    let (path, target) = (path.to_string_lossy(), now.path.to_string_lossy());
    let Exchanged { from, to, .. } = *now;
    if json {
        out.write_all(b"{\"path\":")?;
        json_string(out, &path)?;
        out.write_all(b",\"output\":")?;
        json_string(out, &target)?;
        writeln!(out, ",\"from\":{from},\"to\":{to}}}")?;
    } else {
        writeln!(out, "{}: {} → {}", safe_line(&target), size(from), size(to))?;
    }
    Ok(())
}
