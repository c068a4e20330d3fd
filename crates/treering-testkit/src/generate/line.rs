//! Assembles generated lines.

use crate::rng::{Rng, mix};
use std::io::Write;

/// A line under construction.
pub(super) struct Line<'a>(pub &'a mut Vec<u8>);

impl Line<'_> {
    /// Adds syntax, or text that needs no escaping.
    pub(super) fn raw(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(super) fn number(&mut self, value: u64) -> &mut Self {
        write!(self.0, "{value}").expect("writing to memory");
        self
    }

    /// Adds `,"id":…,"parentId":…,"timestamp":…`.
    pub(super) fn head(&mut self, id: &Id, parent: Option<&Id>, clock: &mut Clock) -> &mut Self {
        self.raw(",\"id\":\"").bytes(&id.0);
        match parent {
            Some(parent) => self.raw("\",\"parentId\":\"").bytes(&parent.0).raw("\""),
            None => self.raw("\",\"parentId\":null"),
        };
        self.raw(",\"timestamp\":\"").raw(clock.iso()).raw("\"")
    }
}

/// An entry's id: eight hexadecimal characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Id([u8; 8]);

impl Id {
    /// Returns the id of the entry with this number. Every step can be undone, so no two numbers
    /// below 2^32 have the same id.
    pub(super) fn new(seed: u64, number: u64) -> Self {
        let mut x = (number as u32).wrapping_add(mix(seed) as u32);
        x = (x ^ (x >> 16)).wrapping_mul(0x7FEB_352D);
        x = (x ^ (x >> 15)).wrapping_mul(0x846C_A68B);
        x ^= x >> 16;
        let digit = |at: usize| b"0123456789abcdef"[(x >> (28 - 4 * at) & 15) as usize];
        Id(std::array::from_fn(digit))
    }

    pub(super) fn text(&self) -> String {
        self.0.iter().map(|&byte| char::from(byte)).collect()
    }
}

/// The session's time, and how it is written.
pub(super) struct Clock {
    millis: i64,
    day: i64,
    text: String,
}

const DAY: i64 = 86_400_000;

impl Clock {
    pub(super) fn new(millis: i64) -> Self {
        Clock { millis, day: i64::MIN, text: String::new() }
    }

    pub(super) fn pass(&mut self, millis: u64) {
        self.millis += millis as i64;
    }

    pub(super) fn millis(&self) -> i64 {
        self.millis
    }

    /// ISO 8601 with milliseconds. The date is only worked out when it changes.
    pub(super) fn iso(&mut self) -> &str {
        let day = self.millis.div_euclid(DAY);
        if day != self.day {
            let midnight = jiff::Timestamp::from_millisecond(day * DAY).unwrap_or_default();
            self.text = midnight.strftime("%Y-%m-%dT").to_string();
            self.day = day;
        }
        self.text.truncate(11);
        let rest = self.millis.rem_euclid(DAY);
        let parts = [(rest / 3_600_000, 2, ':'), (rest / 60_000 % 60, 2, ':')];
        let parts = parts.into_iter().chain([(rest / 1000 % 60, 2, '.'), (rest % 1000, 3, 'Z')]);
        for (value, width, after) in parts {
            for place in (0..width).rev() {
                let digit = value / 10_i64.pow(place) % 10;
                self.text.push(char::from(b'0' + digit as u8));
            }
            self.text.push(after);
        }
        &self.text
    }
}

/// Returns a UUID of random bits.
pub(super) fn uuid(rng: &mut Rng) -> String {
    let (a, b) = (rng.next(), rng.next());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        a >> 32,
        a >> 16 & 0xFFFF,
        a & 0xFFF,
        b >> 48 & 0x3FFF | 0x8000,
        b & 0xFFFF_FFFF_FFFF
    )
}

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns a signature of thinking: a few hundred random characters.
pub(super) fn base64(rng: &mut Rng) -> Vec<u8> {
    let length = rng.range(180, 420) as usize;
    let mut out = Vec::with_capacity(length + 10);
    while out.len() < length {
        let bits = rng.next();
        out.extend((0..10).map(|at| LETTERS[(bits >> (6 * at) & 63) as usize]));
    }
    out
}

/// Returns the id of a tool call.
pub(super) fn call_id(rng: &mut Rng) -> String {
    format!("call_{:016x}{:04x}", rng.next(), rng.below(0x1_0000))
}
