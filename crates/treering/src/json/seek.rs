//! Searches bytes, sixteen or 64 at a time. Texts are full of escapes, so a hit must be as
//! cheap as a miss.

use wide::u8x16;

/// Width of one vector, in bytes.
pub(super) const LANES: usize = 16;

/// Returns the position of the next byte, from `at` on, that must be escaped in a string: a quote,
/// a backslash, a control character.
#[inline]
pub(super) fn next_special(bytes: &[u8], at: usize) -> Option<usize> {
    seek(bytes, at, |lanes| controls(lanes) | is(lanes, b'"') | is(lanes, b'\\'))
}

/// Width of a [`Block`], in bytes.
pub(super) const BLOCK: usize = 64;

/// 64 bytes that are searched together.
pub(super) struct Block([u8x16; BLOCK / LANES]);

impl Block {
    /// Returns the block at `at`, filled with zeros after the end of the bytes.
    #[inline]
    pub(super) fn at(bytes: &[u8], at: usize) -> Self {
        let rest = bytes.get(at..).unwrap_or_default();
        if let Some(block) = rest.first_chunk::<BLOCK>() {
            return Block::new(block);
        }
        let mut block = [0; BLOCK];
        for (to, from) in block.iter_mut().zip(rest) {
            *to = *from;
        }
        Block::new(&block)
    }

    #[inline]
    fn new(block: &[u8; BLOCK]) -> Self {
        let mut lanes = [u8x16::ZERO; BLOCK / LANES];
        for (lanes, bytes) in lanes.iter_mut().zip(block.as_chunks().0) {
            *lanes = u8x16::new(*bytes);
        }
        Block(lanes)
    }

    /// Returns a mask with a bit for each byte, set if it equals `byte`; the lowest bit is the
    /// first byte.
    #[inline]
    pub(super) fn mask(&self, byte: u8) -> u64 {
        self.bits(|lanes| is(lanes, byte))
    }

    /// Returns the mask of control characters, which includes the bytes after the end.
    #[inline]
    pub(super) fn controls(&self) -> u64 {
        self.bits(controls)
    }

    #[inline]
    fn bits(&self, matches: impl Fn(u8x16) -> u8x16) -> u64 {
        let mask = |lanes: u8x16| u64::from(matches(lanes).to_bitmask());
        let [a, b, c, d] = self.0;
        mask(a) | mask(b) << 16 | mask(c) << 32 | mask(d) << 48
    }
}

/// Returns the number of bytes before the first that equals `byte`.
#[inline]
pub(super) fn lanes_before(chunk: &[u8; LANES], byte: u8) -> usize {
    let found = is(u8x16::new(*chunk), byte).to_bitmask();
    (found.trailing_zeros() as usize).min(LANES)
}

/// Sets all bits of the lanes that hold control characters.
#[inline]
fn controls(lanes: u8x16) -> u8x16 {
    const LAST_CONTROL: u8 = 0x1f;
    lanes.min(u8x16::splat(LAST_CONTROL)).simd_eq(lanes)
}

/// Sets all bits of the lanes that equal `byte`.
#[inline]
fn is(lanes: u8x16, byte: u8) -> u8x16 {
    lanes.simd_eq(u8x16::splat(byte))
}

/// Returns the first position from `at` on whose lane is set by `matches`.
#[inline]
fn seek(bytes: &[u8], mut at: usize, matches: impl Fn(u8x16) -> u8x16) -> Option<usize> {
    while let Some(chunk) = bytes.get(at..)?.first_chunk() {
        let found = matches(u8x16::new(*chunk)).to_bitmask();
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize);
        }
        at += LANES;
    }
    // The rest does not fill a vector.
    let rest = bytes.get(at..)?;
    let mut chunk = [0; LANES];
    chunk.get_mut(..rest.len())?.copy_from_slice(rest);
    let found = matches(u8x16::new(chunk)).to_bitmask() & ((1 << rest.len()) - 1);
    (found != 0).then(|| at + found.trailing_zeros() as usize)
}
