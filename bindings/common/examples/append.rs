//! Measures the call of the library that the benchmarks of the bindings compare with: appends of a message.
//!
//! `append FILE COUNT`: appends COUNT messages of about 1 KB to a new session and prints the median in nanoseconds.

use std::time::Instant;
use treering::session::Creation;
use treering::{CreateOptions, Message, NewEntry, Session};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (file, count) =
        (arguments.next().ok_or("FILE")?, arguments.next().ok_or("COUNT")?.parse()?);
    let session =
        Session::create_at(file, "/project", CreateOptions::new().creation(Creation::AtOnce))?;
    let json = format!(r#"{{"role":"user","content":"{}","timestamp":1}}"#, "word ".repeat(200));
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let start = Instant::now();
        session.append(NewEntry::from(Message::from_json(&json)?))?;
        times.push(start.elapsed().as_nanos());
    }
    times.sort_unstable();
    let mut out = std::io::stdout().lock();
    Ok(std::io::Write::write_all(
        &mut out,
        format!("{}\n", times.get(count / 2).ok_or("COUNT")?).as_bytes(),
    )?)
}
