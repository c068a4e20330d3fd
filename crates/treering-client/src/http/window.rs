//! A cache of the bytes of a remote log.
//!
//! The bytes of a log do not change, except for its title line, so they are kept in blocks, within
//! a budget. Sequential reads request more bytes each time, and the end of a log is requested as a
//! whole, because contexts are read from there.

use std::collections::BTreeMap;
use std::ops::Range;
use treering::internal::records::TitleLine;

/// The size of a block.
const BLOCK: u64 = 64 * 1024;

/// The maximum number of bytes that are kept of a log.
const BUDGET: usize = 8 * 1024 * 1024;

/// The maximum number of bytes of one request.
const LARGEST: u64 = 2 * 1024 * 1024;

/// If at most this many bytes are left of a log, it is read to its end.
const END: u64 = 1024 * 1024;

/// Blocks of a log, by their numbers. Only the last block of the log may be shorter than the
/// others.
#[derive(Debug, Default)]
pub(super) struct Window {
    blocks: BTreeMap<u64, Block>,
    held: usize,
    clock: u64,
    /// The end of the last response, and the number of bytes to request if the reader continues
    /// there.
    next: u64,
    ahead: u64,
}

#[derive(Debug)]
struct Block {
    bytes: Vec<u8>,
    used: u64,
}

impl Window {
    /// Copies the cached bytes from `offset` on. Returns how many there were.
    pub(super) fn read(&mut self, offset: u64, buffer: &mut [u8]) -> usize {
        let mut filled = 0;
        while filled < buffer.len() {
            let at = offset + filled as u64;
            self.clock += 1;
            let Some(block) = self.blocks.get_mut(&(at / BLOCK)) else { break };
            let known = block.bytes.get((at % BLOCK) as usize..).unwrap_or_default();
            if known.is_empty() {
                break;
            }
            block.used = self.clock;
            let count = known.len().min(buffer.len() - filled);
            buffer[filled..filled + count].copy_from_slice(&known[..count]);
            filled += count;
        }
        filled
    }

    /// Returns the range to request when `count` bytes at `offset` are missing, in a log of this
    /// length.
    pub(super) fn wanted(&mut self, offset: u64, count: usize, length: u64) -> Range<u64> {
        let block = offset / BLOCK;
        let known = self.blocks.get(&block).map_or(0, |block| block.bytes.len() as u64);
        let start = (block * BLOCK + known).min(offset);
        self.ahead = match start == self.next {
            true => (self.ahead * 2).clamp(BLOCK, LARGEST),
            false => BLOCK,
        };
        let count = (count as u64).min(LARGEST);
        let end = (offset + count).max(start + self.ahead).next_multiple_of(BLOCK);
        match length.saturating_sub(start) {
            left if left <= END => start..length.max(offset + 1),
            _ => start..end.min(length),
        }
    }

    /// Adds bytes that were read at `offset`.
    pub(super) fn insert(&mut self, offset: u64, bytes: &[u8]) {
        self.next = offset + bytes.len() as u64;
        let (mut at, mut rest) = (offset, bytes);
        while !rest.is_empty() {
            let room = (BLOCK - at % BLOCK) as usize;
            let (piece, after) = rest.split_at(room.min(rest.len()));
            self.clock += 1;
            let used = self.clock;
            let start = (at % BLOCK) as usize;
            let block = self.blocks.entry(at / BLOCK).or_insert(Block { bytes: Vec::new(), used });
            block.used = used;
            // Bytes that do not follow the cached ones would leave a gap.
            if start <= block.bytes.len() && start + piece.len() > block.bytes.len() {
                self.held -= block.bytes.len();
                block.bytes.truncate(start);
                block.bytes.extend_from_slice(piece);
                self.held += block.bytes.len();
            }
            at += piece.len() as u64;
            rest = after;
        }
        self.blocks.retain(|_, block| !block.bytes.is_empty());
        while self.held > BUDGET {
            let oldest = self.blocks.iter().min_by_key(|(_, block)| block.used);
            let Some(oldest) = oldest.map(|(number, _)| *number) else { break };
            self.forget(oldest);
        }
    }

    /// Removes the start of the log if it is a title, which may have been replaced.
    pub(super) fn forget_title(&mut self) {
        if self.blocks.get(&0).is_some_and(|block| TitleLine::find(&block.bytes).is_some()) {
            self.forget(0);
        }
    }

    /// Removes the start of the log.
    pub(super) fn forget_start(&mut self) {
        self.forget(0);
    }

    /// Removes everything.
    pub(super) fn clear(&mut self) {
        *self = Window::default();
    }

    fn forget(&mut self, number: u64) {
        if let Some(block) = self.blocks.remove(&number) {
            self.held -= block.bytes.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    #[test]
    fn a_small_log_and_the_end_of_a_large_one_take_one_answer() {
        assert_eq!(Window::default().wanted(0, 16, 500_000), 0..500_000);
        let mut window = Window::default();
        let large = 100 * 1024 * 1024;
        assert_eq!(window.wanted(0, 16 * 1024, large), 0..BLOCK);
        let tail = large - 512 * 1024;
        assert_eq!(window.wanted(tail, 256 * 1024, large), tail..large);
    }

    #[test]
    fn sequential_reads_get_growing_windows() {
        let mut window = Window::default();
        let (mut at, mut sizes) = (0, Vec::new());
        for _ in 0..8 {
            let range = window.wanted(at, 16, 1 << 30);
            sizes.push(range.end - range.start);
            window.insert(range.start, &vec![b'x'; (range.end - range.start) as usize]);
            at = range.end;
        }
        assert_eq!(sizes[..4], [BLOCK, 2 * BLOCK, 4 * BLOCK, 8 * BLOCK]);
        assert_eq!(sizes[7], LARGEST);
        assert!(window.held <= BUDGET);
    }

    /// A log of which every reader of the test below sees a start.
    static BYTES: LazyLock<Vec<u8>> =
        LazyLock::new(|| (0..=250).cycle().take(100_000 + 40 * 90_000).collect());

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Reads at every position give the bytes of the log, and every request is of use.
        #[test]
        fn reads_are_those_of_the_log(
            reads in prop::collection::vec((0_u64..300_000, 1_usize..100_000), 1..40),
            grows in prop::collection::vec(0_usize..90_000, 40),
        ) {
            let mut log = &BYTES[..100_000];
            let mut window = Window::default();
            for ((offset, count), grow) in reads.into_iter().zip(grows) {
                let mut buffer = vec![0; count];
                let mut filled = 0;
                while filled < count {
                    let at = offset + filled as u64;
                    let got = window.read(at, &mut buffer[filled..]);
                    filled += got;
                    if got > 0 || at >= log.len() as u64 {
                        if got == 0 { break; }
                        continue;
                    }
                    let wanted = window.wanted(at, count - filled, log.len() as u64);
                    prop_assert!(wanted.contains(&at));
                    let end = (wanted.end as usize).min(log.len());
                    window.insert(wanted.start, &log[wanted.start as usize..end]);
                }
                let start = (offset as usize).min(log.len());
                let expected = &log[start..log.len().min(start + count)];
                prop_assert_eq!(&buffer[..filled], expected);
                log = &BYTES[..log.len() + grow];
            }
        }
    }
}
