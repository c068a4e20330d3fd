//! Generates chains and stars, the two shapes that break recursive and quadratic readers.

use super::line::{Clock, Id, Line};
use super::maker::{BUFFER, SAMPLE};
use super::{Plan, Stats};
use std::io::{self, Write};

/// Returns a chain of `count` small entries, each the child of the one before it.
///
/// ```
/// let mut bytes = Vec::new();
/// treering_testkit::generate::chain(&mut bytes, 1, 10)?;
/// assert_eq!(bytes.iter().filter(|&&byte| byte == b'\n').count(), 11);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn chain(out: &mut dyn Write, seed: u64, count: u64) -> io::Result<Stats> {
    small(out, seed, count, |number| number.checked_sub(1))
}

/// `count` small entries of which all but the first are children of the first.
pub fn star(out: &mut dyn Write, seed: u64, count: u64) -> io::Result<Stats> {
    small(out, seed, count, |number| (number > 0).then_some(0))
}

fn small(
    out: &mut dyn Write,
    seed: u64,
    count: u64,
    parent: impl Fn(u64) -> Option<u64>,
) -> io::Result<Stats> {
    let plan = Plan::entries(seed, 0);
    let mut header = Vec::new();
    let stats = super::session(&mut header, &plan)?;
    out.write_all(&header)?;
    let mut clock = Clock::new(plan.start);
    let mut buffer = Vec::with_capacity(BUFFER + 1024);
    let mut bytes = stats.bytes;
    for number in 0..count {
        clock.pass(1000);
        let mut line = Line(&mut buffer);
        line.raw("{\"type\":\"message\"");
        let above = parent(number).map(|number| Id::new(seed, number));
        line.head(&Id::new(seed, number), above.as_ref(), &mut clock);
        line.raw(",\"message\":{\"role\":\"user\",\"content\":\"x\",\"timestamp\":");
        line.number(clock.millis().unsigned_abs()).raw("}}\n");
        if buffer.len() >= BUFFER || number + 1 == count {
            out.write_all(&buffer)?;
            bytes += buffer.len() as u64;
            buffer.clear();
        }
    }
    out.flush()?;
    let id = |number: u64| if count > 0 { Id::new(seed, number).text() } else { String::new() };
    let mut depth = u64::from(count > 0);
    let mut at = count.saturating_sub(1);
    while let Some(above) = parent(at) {
        depth += 1;
        at = above;
    }
    let step = (count / SAMPLE as u64).max(1);
    Ok(Stats {
        bytes,
        entries: count,
        leaf: id(count.saturating_sub(1)),
        middle: id(count / 2),
        depth: depth as usize,
        sample: (0..count).step_by(step as usize).take(SAMPLE).map(id).collect(),
        ..stats
    })
}
