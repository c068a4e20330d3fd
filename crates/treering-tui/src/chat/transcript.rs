//! The conversation as lines to scroll in.
//!
//! An entry becomes a block of lines only when it comes near the screen. The owner of the session
//! renders blocks: `wanted` lists the missing ones, `learn` stores them. Opening a conversation of
//! a hundred thousand entries therefore costs no more than rendering its last screen. A streaming
//! text is one more block after the last entry.

use crate::page::StyledLine;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use treering::EntryId;

/// The lines of an entry, wrapped to the screen.
pub type TranscriptBlock = Arc<[StyledLine]>;

/// The scroll position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum ScrollPosition {
    /// The end of the conversation.
    #[default]
    End,
    /// The block and the line in it at the top of the screen.
    At(usize, usize),
}

/// The largest number of cached blocks; beyond it, blocks far from the screen are dropped.
const MAX_BLOCKS: usize = 2048;
/// The largest number of blocks that are requested at a time.
const BATCH: usize = 16;

/// The transcript of a path.
#[derive(Debug, Clone, Default)]
pub(crate) struct Transcript {
    entries: Vec<EntryId>,
    blocks: HashMap<EntryId, TranscriptBlock>,
    streaming: Vec<StyledLine>,
    position: ScrollPosition,
    /// The number of lines still to scroll, once the lengths of blocks are known.
    pending: isize,
    wanted: Vec<EntryId>,
}

impl Transcript {
    /// Sets the entries of the path. Blocks of known entries are kept.
    pub(crate) fn set_entries(&mut self, entries: Vec<EntryId>) {
        if let ScrollPosition::At(block, line) = self.position {
            let seen = self.entries.get(block);
            let now = match seen {
                Some(seen) if entries.get(block) == Some(seen) => Some(block),
                Some(seen) => entries.iter().position(|entry| entry == seen),
                // The streamed answer has become an entry, or was dropped.
                None => Some(block),
            };
            self.position =
                now.map_or(ScrollPosition::End, |block| ScrollPosition::At(block, line));
        }
        self.entries = entries;
    }

    pub(crate) fn entries(&self) -> &[EntryId] {
        &self.entries
    }

    /// Sets the lines of the streaming text.
    pub(crate) fn set_streaming(&mut self, lines: Vec<StyledLine>) {
        self.streaming = lines;
    }

    pub(crate) fn has_streaming(&self) -> bool {
        !self.streaming.is_empty()
    }

    /// Stores blocks that were requested.
    pub(crate) fn learn(&mut self, blocks: Vec<(EntryId, TranscriptBlock)>) {
        self.blocks.extend(blocks);
    }

    /// Drops all blocks.
    pub(crate) fn forget(&mut self) {
        self.blocks.clear();
    }

    /// Drops the block of an entry.
    pub(crate) fn forget_entry(&mut self, entry: &EntryId) {
        self.blocks.remove(entry);
    }

    /// Returns whether the end is shown.
    pub(crate) fn is_at_end(&self) -> bool {
        self.position == ScrollPosition::End
    }

    pub(crate) fn scroll(&mut self, lines: isize) {
        self.pending = self.pending.saturating_add(lines);
    }

    pub(crate) fn show_start(&mut self) {
        self.pending = 0;
        self.position = ScrollPosition::At(0, 0);
    }

    pub(crate) fn show_end(&mut self) {
        self.pending = 0;
        self.position = ScrollPosition::End;
    }

    /// Returns the entries that must be rendered before the screen can be drawn.
    pub(crate) fn wanted(&self) -> &[EntryId] {
        &self.wanted
    }

    fn len(&self) -> usize {
        self.entries.len() + usize::from(self.has_streaming())
    }

    /// Returns the lines of a block, if they are known.
    fn lines(&self, block: usize) -> Option<&[StyledLine]> {
        match self.entries.get(block) {
            Some(entry) => self.blocks.get(entry).map(|block| &**block),
            None => Some(&self.streaming),
        }
    }

    /// Scrolls as far as the blocks are known, and finds the blocks that are missing.
    pub(crate) fn settle(&mut self, height: usize) {
        self.wanted.clear();
        if self.scroll_pending(height).is_none() {
            return;
        }
        if let ScrollPosition::At(block, line) = self.position {
            match self.fill_down(block, line, height) {
                // Fewer lines than the screen has are left, so the end is shown.
                Some(lines) if lines < height => self.position = ScrollPosition::End,
                Some(_) => {}
                None => return,
            }
        }
        if self.position == ScrollPosition::End {
            self.top(height);
        }
        self.tidy(height);
    }

    /// Applies the pending scrolling; `None` if a block is missing.
    fn scroll_pending(&mut self, height: usize) -> Option<()> {
        while self.pending != 0 {
            let (mut block, mut line) = match self.position {
                ScrollPosition::At(block, line) => (block, line),
                ScrollPosition::End if self.pending > 0 => {
                    self.pending = 0;
                    break;
                }
                ScrollPosition::End => self.top(height)?,
            };
            if self.pending < 0 {
                if line == 0 {
                    let Some(above) = block.checked_sub(1) else {
                        self.pending = 0;
                        self.position = ScrollPosition::At(0, 0);
                        break;
                    };
                    line = self.lines_or_want(above, -1)?;
                    block = above;
                }
                let step = line.min(self.pending.unsigned_abs());
                line -= step;
                self.pending += step as isize;
            } else {
                let length = self.lines_or_want(block, 1)?;
                let step = (length.saturating_sub(line)).min(self.pending.unsigned_abs());
                line += step;
                self.pending -= step as isize;
                if line >= length {
                    if block + 1 >= self.len() {
                        self.show_end();
                        break;
                    }
                    (block, line) = (block + 1, 0);
                }
            }
            self.position = ScrollPosition::At(block, line);
        }
        Some(())
    }

    /// Returns the first line on the screen when the end is shown.
    fn top(&mut self, height: usize) -> Option<(usize, usize)> {
        let mut left = height;
        let mut block = self.len();
        while let Some(above) = block.checked_sub(1) {
            let length = self.lines_or_want(above, -1)?;
            if length >= left {
                return Some((above, length - left));
            }
            left -= length;
            block = above;
        }
        Some((0, 0))
    }

    /// Returns the number of lines from a position on, up to `height`.
    fn fill_down(&mut self, mut block: usize, line: usize, height: usize) -> Option<usize> {
        let mut lines = self.lines_or_want(block, 1)?.saturating_sub(line);
        while lines < height && block + 1 < self.len() {
            block += 1;
            lines += self.lines_or_want(block, 1)?;
        }
        Some(lines)
    }

    /// Returns the length of a block. If it is not known, the block and the next ones in the same
    /// direction are requested.
    fn lines_or_want(&mut self, block: usize, step: isize) -> Option<usize> {
        if let Some(lines) = self.lines(block) {
            return Some(lines.len());
        }
        let mut at = block;
        for _ in 0..BATCH {
            if let Some(entry) =
                self.entries.get(at).filter(|entry| !self.blocks.contains_key(*entry))
            {
                self.wanted.push(entry.clone());
            }
            match at.checked_add_signed(step) {
                Some(next) => at = next,
                None => break,
            }
        }
        None
    }

    /// Drops blocks that are far from the screen.
    fn tidy(&mut self, height: usize) {
        if self.blocks.len() <= MAX_BLOCKS {
            return;
        }
        let middle = match self.position {
            ScrollPosition::At(block, _) => block,
            ScrollPosition::End => self.entries.len(),
        };
        let range = middle.saturating_sub(height + BATCH)..middle.saturating_add(height + BATCH);
        let near = self.entries.iter().enumerate().filter(|(at, _)| range.contains(at));
        let near: HashSet<&EntryId> = near.map(|(_, entry)| entry).collect();
        self.blocks.retain(|entry, _| near.contains(entry));
    }

    /// Returns the lines on a screen of `height` lines, from the top.
    pub(crate) fn visible(&self, height: usize) -> Vec<&StyledLine> {
        match self.position {
            ScrollPosition::At(block, line) => {
                let blocks = (block..self.len()).map_while(|block| self.lines(block));
                blocks.flatten().skip(line).take(height).collect()
            }
            ScrollPosition::End => {
                let blocks = (0..self.len()).rev().map_while(|block| self.lines(block));
                let mut lines: Vec<&StyledLine> =
                    blocks.flat_map(|lines| lines.iter().rev()).take(height).collect();
                lines.reverse();
                lines
            }
        }
    }
}
