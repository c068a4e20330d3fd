//! Decides from the raw bytes of a file whether it can match a query.
//!
//! Files are read in aligned chunks that stay in the cache, each with the end of the previous one,
//! and no line is kept. Most files need nothing more than this. A large file is divided among the
//! cores.

use crate::fragment::Fragment;
use crate::query::Query;
use crate::term::Term;
use memchr::{memchr, memrchr};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use treering::internal::fs::{Access, File, open};
use treering::internal::subagents::subagent_files;

const PAGE: usize = 4096;
const CHUNK: usize = 256 * 1024;

/// The size from which a file is scanned by more than one core.
const LARGE: u64 = 32 * 1024 * 1024;

const ZSTD: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// The fragments that the bytes must contain: one anywhere, and the others on the same line.
#[derive(Debug)]
pub(crate) struct Probe<'a> {
    lead: &'a Fragment,
    others: Vec<&'a Fragment>,
}

impl<'a> Probe<'a> {
    /// Returns the probes of which one must match; empty if nothing is known about the bytes that
    /// the query matches.
    pub(crate) fn of(query: &'a Query) -> Vec<Self> {
        let alone = |term: &'a Term| match &*term.fragments {
            [fragment] => Some(fragment),
            _ => None,
        };
        let mut terms: Vec<&Fragment> = query.terms.iter().filter_map(alone).collect();
        terms.sort_by_key(|fragment| std::cmp::Reverse(fragment.len()));
        if let [lead, others @ ..] = &*terms {
            return vec![Probe { lead, others: others.to_vec() }];
        }
        let one = |lead: &'a Fragment| Probe { lead, others: Vec::new() };
        // Each alternative of a word is searched for.
        let either = query.terms.iter().find(|term| !term.fragments.is_empty());
        if let Some(term) = either {
            return term.fragments.iter().map(one).collect();
        }
        // Labels, files and models are on lines of their own.
        let filters = &query.filters;
        let labels = filters.labels.iter().filter_map(alone);
        let files = filters.files.iter().filter_map(|file| file.fragment.as_ref());
        let lead = labels.chain(files).max_by_key(|fragment| fragment.len());
        let model = || match &*filters.models {
            [model] => alone(model),
            _ => None,
        };
        lead.or_else(model).map(one).into_iter().collect()
    }

    /// Returns whether some bytes contain a line that can match. A line that is not complete counts
    /// as one that can.
    fn is_in(&self, bytes: &[u8]) -> bool {
        self.fits(bytes, |from| self.lead.find_plain(bytes, from))
            || self.fits(bytes, |from| self.lead.find_escaped(bytes, from))
    }

    fn fits(&self, bytes: &[u8], find: impl Fn(usize) -> Option<usize>) -> bool {
        let mut from = 0;
        while let Some(at) = find(from) {
            if self.others.is_empty() {
                return true;
            }
            let start = bytes.get(..at).and_then(|before| memrchr(b'\n', before));
            let end = bytes.get(at..).and_then(|after| memchr(b'\n', after)).map(|end| at + end);
            let (Some(start), Some(end)) = (start, end) else { return true };
            let line = bytes.get(start..end).unwrap_or_default();
            if self.others.iter().all(|other| other.may_be_in(line)) {
                return true;
            }
            from = end;
        }
        false
    }
}

/// The result of scanning a file's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScanVerdict {
    /// The file cannot match.
    No,
    /// The file has to be read as a session.
    Maybe,
}

/// The result of a scan, and the number of bytes that were read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScanResult {
    pub verdict: ScanVerdict,
    pub bytes: u64,
}

/// Scans a session's file and those of its subagents.
pub(crate) fn scan_session(
    path: &Path,
    probe: &Probe<'_>,
    threads: usize,
) -> io::Result<ScanResult> {
    let mut result = scan_file(path, probe, threads)?;
    for file in subagent_files(path) {
        // A subagent's file that cannot be read does not hide the session, which is read without
        // it.
        if let (ScanVerdict::No, Ok(more)) = (result.verdict, scan_file(&file, probe, threads)) {
            result = ScanResult { verdict: more.verdict, bytes: result.bytes + more.bytes };
        }
    }
    Ok(result)
}

fn scan_file(path: &Path, probe: &Probe<'_>, threads: usize) -> io::Result<ScanResult> {
    let mut file = open(path, Access::Read)?;
    let length = file.size()?;
    let found = AtomicBool::new(false);
    if length < LARGE || threads < 2 {
        scan_part(&mut file, 0..u64::MAX, probe, &found)?;
    } else {
        // A part that begins inside a chunk would be read at half the speed.
        let part = (length / threads as u64 / CHUNK as u64 + 1) * CHUNK as u64;
        std::thread::scope(|scope| {
            let scan_range = |at: u64| {
                let found = &found;
                scope.spawn(move || {
                    scan_part(
                        &mut open(path, Access::Read)?,
                        at * part..(at + 1) * part,
                        probe,
                        found,
                    )
                })
            };
            let parts: Vec<_> = (0..threads as u64).map(scan_range).collect();
            parts.into_iter().try_for_each(|part| {
                part.join().unwrap_or_else(|_| Err(io::Error::other("a search thread ended early")))
            })
        })?;
    }
    let verdict = if found.into_inner() { ScanVerdict::Maybe } else { ScanVerdict::No };
    Ok(ScanResult { verdict, bytes: length })
}

/// Scans a part of a file until there is a match in this or another part.
fn scan_part(
    file: &mut File,
    part: std::ops::Range<u64>,
    probe: &Probe<'_>,
    found: &AtomicBool,
) -> io::Result<()> {
    let overlap = probe.lead.overlap();
    let room = overlap.next_multiple_of(PAGE);
    let mut buffer = vec![0; room + CHUNK + PAGE];
    let aligned = buffer.as_ptr().align_offset(PAGE);
    // `align_offset` may not return an offset; alignment only affects speed.
    let chunk = room + if aligned < PAGE { aligned } else { 0 };
    // A match across the boundary to the previous part belongs to this part.
    let before = part.start.min(overlap as u64);
    file.seek(SeekFrom::Start(part.start - before))?;
    let mut kept = before as usize;
    if read_some(file, buffer.get_mut(chunk - kept..chunk).unwrap_or_default())? < kept {
        return Ok(()); // The file ends before this part.
    }
    let mut at = part.start;
    while at < part.end && !found.load(Ordering::Relaxed) {
        let want = usize::try_from(part.end - at).unwrap_or(CHUNK).min(CHUNK);
        let got = read_some(file, buffer.get_mut(chunk..chunk + want).unwrap_or_default())?;
        if got == 0 {
            break;
        }
        let bytes = buffer.get(chunk - kept..chunk + got).unwrap_or_default();
        let is_packed = at == 0 && bytes.starts_with(&ZSTD);
        if is_packed || probe.is_in(bytes) {
            found.store(true, Ordering::Relaxed);
            break;
        }
        at += got as u64;
        kept = overlap.min(kept + got);
        buffer.copy_within(chunk + got - kept..chunk + got, chunk - kept);
    }
    Ok(())
}

/// Fills the buffer until the file ends.
fn read_some(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
