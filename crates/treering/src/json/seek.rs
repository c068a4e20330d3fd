//! Searches bytes, sixteen at a time. Texts are full of escapes, so a hit must be as
//! cheap as a miss.

use wide::u8x16;

/// Width of one vector, in bytes.
pub(super) const LANES: usize = 16;

/// Returns where the next byte stands, from `at` on, that cannot be in a string as it is: a quote,
/// a backslash, a control character.
#[inline]
pub(super) fn next_special(bytes: &[u8], at: usize) -> Option<usize> {
    const LAST_CONTROL: u8 = 0x1f;
    seek(bytes, at, |lanes| {
        let controls = lanes.min(u8x16::splat(LAST_CONTROL)).simd_eq(lanes);
        controls | is(lanes, b'"') | is(lanes, b'\\')
    })
}

/// Returns where `byte` stands next, from `at` on. Mostly it is near: the first bytes are looked at
/// without asking a searcher for far ones.
#[inline]
pub(super) fn next_byte(bytes: &[u8], at: usize, byte: u8) -> Option<usize> {
    const NEAR: usize = 2 * LANES;
    let far = (at + NEAR).min(bytes.len());
    seek(&bytes[..far], at, |lanes| is(lanes, byte))
        .or_else(|| memchr::memchr(byte, &bytes[far..]).map(|found| far + found))
}

/// Returns how many of the bytes stand before the first that is `byte`.
#[inline]
pub(super) fn lanes_before(chunk: &[u8; LANES], byte: u8) -> usize {
    let found = is(u8x16::new(*chunk), byte).to_bitmask();
    (found.trailing_zeros() as usize).min(LANES)
}

/// Sets all bits of the lanes that are `byte`.
#[inline]
fn is(lanes: u8x16, byte: u8) -> u8x16 {
    lanes.simd_eq(u8x16::splat(byte))
}

/// Returns the first place from `at` on whose lane `matches` sets.
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
