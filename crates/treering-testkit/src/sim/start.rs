//! Initial session files of a simulation.

use super::Agent;
use crate::rng::Rng;

/// The kind of file that a run begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// A session of the current version.
    Current,
    /// No newline at the end of the last line.
    Open,
    /// Half a line at the end.
    Torn,
    /// Entries without ids.
    Version1,
    /// Version 2.
    Version2,
    /// A line that is not JSON.
    Damaged,
    /// A title slot that is rewritten in place.
    Slot,
    /// A title line that is shorter than a slot.
    ShortTitle,
    /// A title line that is longer.
    LongTitle,
    /// A title record after the header.
    LateTitle,
    /// A title slot twice.
    TwoSlots,
    /// A carriage return after the title slot.
    CarriageReturn,
    /// A byte order mark before the title slot.
    ByteOrderMark,
}

/// All kinds. Those with titles are the last six.
pub const STARTS: [Start; 13] = [
    Start::Current,
    Start::Open,
    Start::Torn,
    Start::Version1,
    Start::Version2,
    Start::Damaged,
    Start::Slot,
    Start::ShortTitle,
    Start::LongTitle,
    Start::LateTitle,
    Start::TwoSlots,
    Start::CarriageReturn,
    Start::ByteOrderMark,
];

/// The id of the session.
pub const ID: &str = "session-1";

/// Returns the header of a session.
pub fn header(version: Option<u32>, id: &str) -> String {
    let version = version.map_or(String::new(), |version| format!("\"version\":{version},"));
    format!(
        r#"{{"type":"session",{version}"id":"{id}","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/p"}}"#
    )
}

/// Returns a message, in a shape that fits the file.
pub fn message(start: Start, id: &str, parent: Option<&str>, text: &str) -> String {
    let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
    let ids = match start {
        Start::Version1 => String::new(),
        _ => format!(r#""id":"{id}","parentId":{parent},"#),
    };
    format!(
        r#"{{"type":"message",{ids}"timestamp":"2026-01-05T09:00:01.000Z","message":{{"role":"user","content":"{text}"}}}}"#
    )
}

fn title(pad: usize) -> String {
    format!(
        r#"{{"type":"title","v":1,"title":"old","updatedAt":"2026-01-05T09:00:00.000Z","pad":"{}"}}"#,
        " ".repeat(pad)
    )
}

/// Returns a file, and the texts of the messages in it.
pub fn make(start: Start, rng: &mut Rng) -> (Vec<u8>, Vec<String>) {
    let slot = title(255 - title(0).len());
    let (version, above) = match start {
        Start::Version1 => (None, String::new()),
        Start::Version2 => (Some(2), String::new()),
        Start::Slot => (Some(3), format!("{slot}\n")),
        Start::ShortTitle => (Some(3), format!("{}\n", title(rng.index(20)))),
        Start::LongTitle => (Some(3), format!("{}\n", title(200 + rng.index(300)))),
        Start::TwoSlots => (Some(3), format!("{slot}\n{slot}\n")),
        Start::CarriageReturn => (Some(3), format!("{slot}\r\n")),
        Start::ByteOrderMark => (Some(3), format!("\u{feff}{slot}\n")),
        _ => (Some(3), String::new()),
    };
    let mut file = format!("{above}{}\n", header(version, ID));
    if start == Start::LateTitle {
        file.push_str(&format!("{slot}\n"));
    }
    let is_omp = above.contains("title") || start == Start::LateTitle;
    let mut texts = Vec::new();
    let count = 2 + rng.index(4);
    for number in 0..count {
        let (id, text) =
            (format!("e{number}"), format!("first-{number}-{}", "x".repeat(rng.index(600))));
        let parent = number.checked_sub(1).map(|number| format!("e{number}"));
        file.push_str(&message(start, &id, parent.as_deref(), &text));
        file.push('\n');
        if start == Start::Damaged && number == 0 {
            file.push_str("not json\n");
        }
        texts.push(text);
    }
    if is_omp {
        file.push_str(
            &format!(r#"{{"type":"service_tier_change","id":"tier","parentId":"e{}","timestamp":"2026-01-05T09:00:01.000Z","serviceTier":null}}"#, count - 1),
        );
        file.push('\n');
    }
    match start {
        Start::Open => drop(file.pop()),
        Start::Torn => file.push_str(r#"{"type":"message","id":"torn","pare"#),
        _ => {}
    }
    (file.into_bytes(), texts)
}

/// Returns the lines of an agent: entries that continue the last one of a file with `count` entries.
pub fn agent_lines(start: Start, agent: u64, entries: usize, count: usize) -> Vec<Vec<u8>> {
    let last = format!("e{}", entries.saturating_sub(1));
    let line = |number: usize| {
        let (id, text) = (format!("a{agent}-{number}"), format!("agent-{agent}-{number}-"));
        let mut line = message(start, &id, Some(&last), &text).into_bytes();
        line.push(b'\n');
        line
    };
    (0..count).map(line).collect()
}

/// Returns the text of each message that an agent has written.
pub fn agent_texts(agent: &Agent) -> impl Iterator<Item = String> {
    agent.written.iter().map(|line| {
        let line = String::from_utf8_lossy(line).into_owned();
        let text = line.split("\"content\":\"").nth(1).unwrap_or(&line);
        text.split('"').next().unwrap_or(text).to_owned()
    })
}
