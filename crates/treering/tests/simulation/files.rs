//! Session files to begin with.

use treering_testkit::rng::Rng;

/// The kind of file that a run begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    Current,
    /// No newline at the end of the last line.
    Open,
    /// Half a line at the end.
    Torn,
    Version1,
    Version2,
    Damaged,
    /// A title slot that is rewritten in place.
    Slot,
    /// A title line that is shorter than a slot.
    ShortTitle,
    /// A title line that is longer.
    LongTitle,
    /// A title record after the header.
    LateTitle,
    TwoSlots,
    CarriageReturn,
    ByteOrderMark,
}

pub(crate) const STARTS: [Start; 13] = [
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
pub(crate) const ID: &str = "session-1";

pub(crate) fn header(version: Option<u32>, id: &str) -> String {
    let version = version.map_or(String::new(), |version| format!("\"version\":{version},"));
    format!(
        r#"{{"type":"session",{version}"id":"{id}","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/p"}}"#
    )
}

/// A message, in a shape that fits the file.
pub(crate) fn message(start: Start, id: &str, parent: Option<&str>, text: &str) -> String {
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
pub(crate) fn make(start: Start, rng: &mut Rng) -> (Vec<u8>, Vec<String>) {
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
