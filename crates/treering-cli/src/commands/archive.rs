//! `treering archive` and `treering unarchive`

use crate::error::Failure;
use crate::output::{self, Output, json_string};
use crate::pack;
use crate::quiet::{self, Recent};
use crate::text::{safe_line, shell_word, size};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use treering::Dialect;

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
        let name = path.as_os_str().as_encoded_bytes();
        if name.ends_with(b".zst") {
            let what = format!("{}: it is archived already", path.display());
            let hint = format!("`treering unarchive {}` brings it back", shell_word(path));
            return Err(Failure::with_hint(what, hint));
        }
        if !name.ends_with(b".jsonl") {
            let what = format!("{}: its name does not end in .jsonl", path.display());
            return Err(Failure::with_hint(
                what,
                "the archive would not be found: rename it first",
            ));
        }
        let file = quiet::hold(path, Recent::Refused)?;
        let agent = treering::info(path)?.agent;
        let mut target = path.clone().into_os_string();
        target.push(".zst");
        exchange(path, &file, Path::new(&target), pack::pack, args.json, out)?;
        if agent != Dialect::Codex {
            out.finish()?;
            let path = shell_word(Path::new(&target));
            let note = format!("{agent} does not find it until `treering unarchive {path}`");
            output::complain("note", &safe_line(&note));
        }
    }
    Ok(())
}

pub(crate) fn unarchive(args: &Unarchive, out: &mut Output) -> Result<(), Failure> {
    for path in &args.files {
        if path.extension().is_none_or(|extension| extension != "zst") {
            let what = format!("{}: it is not archived", path.display());
            return Err(Failure::with_hint(what, "an archived session ends in .jsonl.zst"));
        }
        let file = quiet::hold(path, Recent::Accepted)?;
        exchange(path, &file, &path.with_extension(""), pack::unpack, args.json, out)?;
    }
    Ok(())
}

/// Makes one file of the other, and lets the other go.
fn exchange(
    path: &Path,
    file: &File,
    target: &Path,
    make: fn(&File, &Path) -> io::Result<()>,
    json: bool,
    out: &mut Output,
) -> Result<(), Failure> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            let what = format!("{}: it exists already", target.display());
            Failure::with_hint(what, "nothing was changed; move one of the two away")
        }
        _ => Failure::message(format!("{}: {error}; nothing was changed", path.display())),
    };
    let state = || file.metadata().and_then(|metadata| Ok((metadata.len(), metadata.modified()?)));
    let before = state().map_err(failed)?;
    make(file, target).map_err(failed)?;
    // Who takes no lock may have written meanwhile.
    if state().map_err(failed)? != before {
        std::fs::remove_file(target).map_err(failed)?;
        let what = format!("{}: it was written to meanwhile; nothing was changed", path.display());
        return Err(Failure::with_hint(what, "end what writes to it, and try again"));
    }
    std::fs::remove_file(path).map_err(|error| {
        let what = format!("{}: cannot be removed: {error}", path.display());
        Failure::with_hint(what, format!("{} is complete", target.display()))
    })?;
    let to = std::fs::metadata(target).map_or(0, |metadata| metadata.len());
    write(path, target, before.0, to, json, out)
}

fn write(
    path: &Path,
    target: &Path,
    from: u64,
    to: u64,
    json: bool,
    out: &mut Output,
) -> Result<(), Failure> {
    let (path, target) = (path.to_string_lossy(), target.to_string_lossy());
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
