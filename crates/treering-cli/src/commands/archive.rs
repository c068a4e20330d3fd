//! `treering archive` and `treering unarchive`

use crate::clock;
use crate::error::{self, Failure};
use crate::output::{self, Output};
use crate::progress::Meter;
use crate::text::{safe_line, safe_path, shell_word, size};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use treering::storage::UnpackLimits;
use treering_index::housekeeping::{self, Reason, Recompressed};

/// Compress finished sessions
///
/// SESSION.jsonl becomes SESSION.jsonl.zst, which is read again and compared before the original is
/// removed. treering lists and reads it as before, but nothing can be appended; agents other than Codex
/// no longer find it. `unarchive` restores it byte for byte.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The sessions: files, ids, names, or positions such as `@latest`
    #[arg(required = true, value_name = "SESSION")]
    pub(crate) files: Vec<PathBuf>,
    /// One JSON object per session and line: path, output, from and to (sizes in bytes)
    #[arg(long)]
    json: bool,
}

/// Decompress archived sessions
///
/// SESSION.jsonl.zst becomes SESSION.jsonl again. An archive that would become larger than 4 GiB, or
/// more than 1000 times its size, is refused unless --max-size allows it.
#[derive(Debug, clap::Args)]
pub(crate) struct Unarchive {
    /// The archived sessions: files, ids, names, or positions such as `@latest`
    #[arg(required = true, value_name = "SESSION")]
    pub(crate) files: Vec<PathBuf>,
    /// One JSON object per session and line: path, output, from and to (sizes in bytes)
    #[arg(long)]
    json: bool,
    /// Accept a session of up to this size, such as 20G, whatever its compression ratio
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_size: Option<u64>,
}

/// Parses a number of bytes: `1048576`, `1024K`, `1M`. The units are powers of 1024.
fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || "expected a number of bytes, or one with K, M, G or T".to_owned();
    let (digits, power) = match text.char_indices().next_back() {
        Some((at, unit)) if !unit.is_ascii_digit() => {
            let units = ["K", "M", "G", "T"];
            let unit = unit.to_ascii_uppercase().to_string();
            let power = units.iter().position(|known| *known == unit).ok_or_else(wrong)?;
            (text.get(..at).unwrap_or_default(), power as u32 + 1)
        }
        _ => (text, 0),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(1024_u64.pow(power)).ok_or_else(|| "too large".to_owned())
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    for path in &args.files {
        let meter = Meter::new();
        let packed = housekeeping::archive(path, clock::now(), &mut |done, total| {
            meter.show_bytes(done, total);
        });
        let (packed, agent) = packed.map_err(|refusal| match refusal.reason {
            Reason::Archived => {
                let hint = format!("`treering unarchive {}` decompresses it", shell_word(path));
                Failure::with_hint(refusal.to_string(), hint)
            }
            _ => refusal.into(),
        })?;
        write(path, &packed, args.json, out)?;
        if !agent.reads_archives() {
            out.finish()?;
            let path = shell_word(&packed.path);
            let note = format!("{agent} cannot find it until you run `treering unarchive {path}`");
            output::write_notice("note", &safe_line(&note));
        }
    }
    Ok(())
}

pub(crate) fn unarchive(args: &Unarchive, out: &mut Output) -> Result<(), Failure> {
    let limits = args.max_size.map(UnpackLimits::of_size).unwrap_or_default();
    for path in &args.files {
        let meter = Meter::new();
        let unpacked = housekeeping::unarchive(path, clock::now(), limits, &mut |done, total| {
            meter.show_bytes(done, total);
        });
        let unpacked = unpacked.map_err(|refusal| match &refusal.reason {
            Reason::Io(error) if error.kind() == ErrorKind::FileTooLarge => {
                Failure::with_hint(refusal.to_string(), error::too_large_hint(path))
            }
            _ => refusal.into(),
        })?;
        write(path, &unpacked, args.json, out)?;
    }
    Ok(())
}

fn write(path: &Path, now: &Recompressed, json: bool, out: &mut Output) -> Result<(), Failure> {
    let Recompressed { from, to, .. } = *now;
    if json {
        out.write_all(b"{\"path\":")?;
        out.json_path(path)?;
        out.write_all(b",\"output\":")?;
        out.json_path(&now.path)?;
        writeln!(out, ",\"from\":{from},\"to\":{to}}}")?;
    } else {
        writeln!(out, "{}: {} → {}", safe_path(&now.path), size(from), size(to))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, size) in [("0", 0), ("17", 17), ("2k", 2048), ("20G", 20 << 30), ("1T", 1 << 40)]
        {
            assert_eq!(parse_size(text), Ok(size), "{text}");
        }
        for wrong in ["", "G", "1.5G", "-1", "1GB", "20 G", "1é", "99999999999T"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }
}
