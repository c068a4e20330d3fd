//! Finds the lines of a log that another one lacks.

use super::log::Log;
use super::point::{SyncPoint, WithheldRecord};
use memchr::memmem;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::io;
use std::ops::Range;
use treering::internal::records::{LineContent, LogFormat};

/// The difference between two logs of a session, from the point of view of the one that lacks
/// lines.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The lines of the source that the target lacks, in order.
    pub send: Vec<Range<u64>>,
    /// The ids of records that preserve a leaf and are sent nevertheless.
    pub sent_kept: Vec<String>,
    /// The records of the source that are not sent.
    pub source_withheld: Vec<WithheldRecord>,
    /// The records that only the target has and that stay there.
    pub target_withheld: Vec<WithheldRecord>,
    /// Whether the target has records that the source lacks.
    pub target_is_ahead: bool,
    /// Whether the target has grown independently of the source, so that its leaf must be
    /// preserved.
    pub is_parted: bool,
    /// The ids of records that have different contents in the two logs.
    pub collisions: Vec<String>,
    /// The number of such records.
    pub collision_count: usize,
}

/// The maximum number of colliding ids that are reported.
const MAX_COLLISIONS: usize = 5;

type Hash = [u8; 16];

/// A line of the target after the common point.
#[derive(Debug)]
struct TargetLine {
    is_in_source: bool,
    /// The record, if it preserves a leaf and may stay in the target only.
    kept: Option<WithheldRecord>,
}

fn hash(bytes: &[u8]) -> Hash {
    let mut hash = Hash::default();
    hash.copy_from_slice(&Sha256::digest(bytes)[..16]);
    hash
}

/// Returns the line of a record, without its newline.
fn record_bytes(log: &Log, record: &WithheldRecord) -> io::Result<Vec<u8>> {
    log.bytes(record.at..(record.at + record.len).saturating_sub(1))
}

impl Plan {
    /// Returns the plan for a target that has no lines after the common point.
    pub(super) fn copy(range: Range<u64>) -> Plan {
        let send = if range.is_empty() { Vec::new() } else { vec![range] };
        Plan { send, ..Plan::default() }
    }

    /// Compares the lines of both logs after a common point.
    pub(super) fn compare(
        source: &Log,
        target: &Log,
        point: &SyncPoint,
        format: &LogFormat,
    ) -> io::Result<Plan> {
        let mut plan = Plan::default();
        let mut in_target: HashMap<Hash, TargetLine> = HashMap::new();
        let mut ids: HashMap<Hash, Hash> = HashMap::new();
        // The lines of the target in order, as long as the source has the same ones.
        let mut order = Vec::new();
        target.lines(point.target.at..target.whole, |at, line| {
            let kept = match format.line(line) {
                LineContent::Header => return Ok(()),
                LineContent::Entry(record) => {
                    ids.insert(hash(record.id.as_bytes()), hash(line));
                    let len = line.len() as u64 + 1;
                    record.is_kept_leaf.then_some(WithheldRecord { at, len, id: record.id })
                }
                LineContent::Other => None,
            };
            if kept.is_none() {
                order.push(hash(line));
            }
            in_target.insert(hash(line), TargetLine { is_in_source: false, kept });
            Ok::<(), io::Error>(())
        })?;

        for record in &point.target.withheld {
            let line = hash(&record_bytes(target, record)?);
            ids.insert(hash(record.id.as_bytes()), line);
            let kept = Some(record.clone());
            in_target.insert(line, TargetLine { is_in_source: false, kept });
        }
        let mut order = order.into_iter().peekable();
        let mut kept: Vec<WithheldRecord> = Vec::new();
        for record in &point.source.withheld {
            let line = record_bytes(source, record)?;
            // The line may have been sent since, when the point could not be moved.
            match in_target.get_mut(&hash(&line)) {
                Some(known) => known.is_in_source = true,
                None => kept.push(record.clone()),
            }
        }
        source.lines(point.source.at..source.whole, |at, line| {
            let (content, key) = (format.line(line), hash(line));
            if content == LineContent::Header {
                return Ok(());
            }
            if order.next_if_eq(&key).is_none()
                && order.peek().is_some()
                && !matches!(&content, LineContent::Entry(record) if record.is_kept_leaf)
            {
                plan.is_parted = true;
            }
            if let Some(known) = in_target.get_mut(&key) {
                known.is_in_source = true;
                return Ok(());
            }
            let range = at..at + line.len() as u64 + 1;
            if let LineContent::Entry(record) = content {
                if let Some(other) = ids.get(&hash(record.id.as_bytes()))
                    && *other != key
                {
                    plan.collision_count += 1;
                    if plan.collisions.len() < MAX_COLLISIONS {
                        plan.collisions.push(record.id);
                    }
                    return Ok(());
                }
                if record.is_kept_leaf {
                    let len = range.end - range.start;
                    kept.push(WithheldRecord { at, len, id: record.id });
                    return Ok(());
                }
            }
            plan.push(range);
            Ok::<(), io::Error>(())
        })?;

        plan.settle(source, kept)?;
        for line in in_target.into_values().filter(|line| !line.is_in_source) {
            match line.kept {
                Some(record) => plan.target_withheld.push(record),
                None => plan.target_is_ahead = true,
            }
        }
        // The source ended before all lines of the target.
        plan.is_parted |= plan.target_is_ahead;
        plan.target_withheld.sort_by_key(|record| record.at);
        Ok(plan)
    }

    /// Decides which records that preserve a leaf are sent: those that another record refers to.
    fn settle(&mut self, source: &Log, mut kept: Vec<WithheldRecord>) -> io::Result<()> {
        let mut named = self.send.clone();
        while !kept.is_empty() && !named.is_empty() {
            let mut finders: Vec<_> = kept
                .iter()
                .map(|record| memmem::Finder::new(&format!("\"{}\"", record.id)).into_owned())
                .zip(std::iter::repeat(false))
                .collect();
            for range in named.drain(..) {
                source.lines(range, |_, line| {
                    for (finder, is_named) in &mut finders {
                        *is_named |= finder.find(line).is_some();
                    }
                    Ok::<(), io::Error>(())
                })?;
            }
            // These records may refer to others.
            let mut is_named = finders.iter().map(|(_, is_named)| *is_named);
            kept.retain(|record| {
                let is_named = is_named.next().unwrap_or(false);
                if is_named {
                    self.sent_kept.push(record.id.clone());
                    named.push(record.at..record.at + record.len);
                }
                !is_named
            });
            self.send.extend(named.iter().cloned());
        }
        self.send.sort_by_key(|range| range.start);
        self.source_withheld = kept;
        Ok(())
    }

    /// Adds a range, joined with the previous one if they are adjacent.
    fn push(&mut self, range: Range<u64>) {
        match self.send.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => self.send.push(range),
        }
    }
}
