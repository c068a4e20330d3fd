//! The point up to which two logs are known to have the same records.

use super::log::Log;
use serde::{Deserialize, Serialize};
use std::io;

/// A position in each of two logs. The records before it are the same in both, in any order, except
/// the withheld ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SyncPoint {
    pub source: PointSide,
    pub target: PointSide,
}

/// One side of a [`SyncPoint`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PointSide {
    pub at: u64,
    /// A hash of the bytes before the position.
    pub sample: String,
    /// The records before the position that the other side does not have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<WithheldRecord>,
}

/// A record that stays in its log until another record refers to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WithheldRecord {
    pub at: u64,
    /// The length of its line, including the newline.
    pub len: u64,
    pub id: String,
}

impl PointSide {
    pub(super) fn new(log: &Log, at: u64, withheld: Vec<WithheldRecord>) -> io::Result<PointSide> {
        Ok(PointSide { at, sample: log.sample(at)?, withheld })
    }

    /// Returns whether the log still has the same bytes at the position.
    fn is_in(&self, log: &Log) -> io::Result<bool> {
        Ok(self.at <= log.whole && log.sample(self.at)? == self.sample)
    }
}

impl SyncPoint {
    /// Returns whether both logs still have the same bytes at their positions.
    pub(super) fn is_in(&self, source: &Log, target: &Log) -> io::Result<bool> {
        Ok(self.source.is_in(source)? && self.target.is_in(target)?)
    }

    /// Returns the same point with the sides exchanged.
    pub(super) fn flipped(self) -> SyncPoint {
        SyncPoint { source: self.target, target: self.source }
    }

    /// Finds the end of the common start of two logs, by samples.
    ///
    /// Records have unique ids, so that the same bytes at the same offset of two logs of a session
    /// mean that the records before them are the same.
    pub(super) fn find(source: &Log, target: &Log) -> io::Result<SyncPoint> {
        let at = common(source, target)?;
        Ok(SyncPoint {
            source: PointSide::new(source, at, Vec::new())?,
            target: PointSide::new(target, at, Vec::new())?,
        })
    }
}

/// The size of a range in which differences are searched byte by byte.
const SMALL_RANGE: u64 = 64 * 1024;

fn common(source: &Log, target: &Log) -> io::Result<u64> {
    if source.title != target.title {
        return Ok(0);
    }
    let start = source.title;
    let mut high = source.whole.min(target.whole);
    if high <= start || source.agrees(target, high)? {
        return Ok(high);
    }
    let mut low = start;
    while high - low > SMALL_RANGE {
        // The start of a line has the id of its record, so positions between lines are compared.
        let middle = source.line_start(low + (high - low) / 2)?;
        if middle <= low {
            break;
        }
        match source.agrees(target, middle)? {
            true => low = middle,
            false => high = middle,
        }
    }
    // The result is before the first line that differs, and not before the title.
    let same = first_difference(source, target, low, high)?;
    Ok(source.line_start(same)?.max(start))
}

/// Returns the position of the first difference between two logs within a range.
fn first_difference(source: &Log, target: &Log, mut low: u64, high: u64) -> io::Result<u64> {
    while low < high {
        let next = high.min(low + SMALL_RANGE);
        let (ours, theirs) = (source.bytes(low..next)?, target.bytes(low..next)?);
        let same = ours.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
        if same < ours.len() {
            return Ok(low + same as u64);
        }
        low = next;
    }
    Ok(high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::Arc;
    use treering::storage::MemoryJournal;

    fn log(bytes: Vec<u8>) -> Log {
        Log::read(Arc::new(MemoryJournal::new(bytes))).unwrap()
    }

    fn lines(numbers: std::ops::Range<u32>, size: usize, who: &str) -> Vec<u8> {
        let line =
            |number| format!("{{\"id\":\"{who}{number}\",\"x\":\"{}\"}}\n", "x".repeat(size));
        numbers.flat_map(|number| line(number).into_bytes()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_common_start_is_found(
            shared in 0_u32..200, ours in 0_u32..50, theirs in 0_u32..50, size in 0_usize..6000
        ) {
            let start = lines(0..shared, size, "s");
            let a = log([&*start, &lines(0..ours, size, "a")].concat());
            let b = log([&*start, &lines(0..theirs, size, "b")].concat());
            let point = SyncPoint::find(&a, &b).unwrap();
            prop_assert_eq!(point.source.at, start.len() as u64);
            prop_assert_eq!(point.target.at, start.len() as u64);
            prop_assert!(point.is_in(&a, &b).unwrap());
            let other = log(lines(0..shared + 1, size, "c"));
            prop_assert!(shared == 0 || !point.is_in(&other, &b).unwrap());
        }
    }
}
