//! Generates small sessions that contain every kind of entry.
//!
//! [`session`](super::session) is realistic: most of its bytes are text, and rare entries are rare.
//! Here lines are short and every kind of entry, reference and oddity is as frequent as any other, so
//! that a random change of a byte often hits something significant.

use crate::rng::Rng;
use crate::text::Pool;

/// Returns a session of `count` entries: all kinds, all roles, references to the path, to other
/// branches and to nothing, in the usual order of keys and in others. A healthy file nevertheless:
/// every line is an entry and every parent exists.
///
/// ```
/// let bytes = treering_testkit::generate::small(1, 20);
/// assert_eq!(bytes, treering_testkit::generate::small(1, 20));
/// ```
pub fn small(seed: u64, count: usize) -> Vec<u8> {
    let mut maker =
        Small { rng: Rng::new(seed), ids: Vec::new(), leaf: None, time: 1_767_603_600_000 };
    let mut out = String::from(
        "{\"type\":\"session\",\"version\":3,\"id\":\"small\",\
         \"timestamp\":\"2026-01-05T09:00:00.000Z\",\"cwd\":\"/project\"}\n",
    );
    for _ in 0..count {
        out.push_str(&maker.line());
        out.push('\n');
    }
    out.into_bytes()
}

struct Small {
    rng: Rng,
    ids: Vec<String>,
    leaf: Option<String>,
    time: i64,
}

fn quoted(id: Option<&String>) -> String {
    id.map_or("null".into(), |id| format!("\"{id}\""))
}

impl Small {
    fn line(&mut self) -> String {
        if self.rng.chance(0.12) {
            self.leaf = self.some_id();
        }
        let (kind, fields) = self.body();
        let mut parent = self.leaf.clone();
        let id = format!("{:08x}", self.rng.next() as u32);
        if kind == "leaf" {
            let target = if self.rng.chance(0.15) { None } else { self.some_id() };
            parent = target.clone();
            self.leaf = target;
        } else {
            self.leaf = Some(id.clone());
        }
        let fields = match kind {
            "leaf" => format!(",\"targetId\":{}", quoted(parent.as_ref())),
            _ => fields.replace("$SELF", &id),
        };
        let head = format!(
            "\"id\":\"{id}\",\"parentId\":{},\"timestamp\":{}",
            quoted(parent.as_ref()),
            self.timestamp()
        );
        self.ids.push(id);
        match self.rng.below(8) {
            0 => format!("{{\"type\":\"{kind}\"{fields},{head}}}"),
            1 => format!("{{ \"type\" : \"{kind}\" , {head}{fields} }}"),
            _ => format!("{{\"type\":\"{kind}\",{head}{fields}}}"),
        }
    }

    fn some_id(&mut self) -> Option<String> {
        let place = self.rng.index(self.ids.len());
        self.ids.get(place).cloned()
    }

    /// Returns an id that something refers to: mostly one that exists.
    fn reference(&mut self) -> String {
        match self.rng.below(10) {
            0 => "nobody".into(),
            _ => self.some_id().unwrap_or_else(|| "nobody".into()),
        }
    }

    fn timestamp(&mut self) -> String {
        self.time += self.rng.below(3000) as i64 - 500;
        match self.rng.below(16) {
            0 => "\"not a time\"".into(),
            1 => self.time.to_string(),
            2 => "null".into(),
            _ => format!("\"{}\"", treering::time::format(self.time)),
        }
    }

    fn word(&mut self) -> &'static str {
        Pool::noun(&mut self.rng)
    }

    fn body(&mut self) -> (&'static str, String) {
        let (a, b) = (self.word(), self.word());
        match self.rng.below(22) {
            0..=8 => ("message", format!(",\"message\":{}", self.message())),
            9 => {
                let kept = if self.rng.chance(0.2) { "$SELF".into() } else { self.reference() };
                let system = match self.rng.chance(0.3) {
                    true => ",\"systemMessage\":{\"role\":\"system\",\"content\":\"new rules\"}",
                    false => "",
                };
                let more = format!(",\"tokensBefore\":{}{system}", self.rng.below(9000));
                (
                    "compaction",
                    format!(",\"summary\":\"{a}\",\"firstKeptEntryId\":\"{kept}\"{more}"),
                )
            }
            10 => {
                let (from, empty) = (self.reference(), self.rng.chance(0.2));
                let summary = if empty { "" } else { a };
                ("branch_summary", format!(",\"fromId\":\"{from}\",\"summary\":\"{summary}\""))
            }
            11 => (
                "custom_message",
                format!(",\"customType\":\"{a}\",\"content\":\"{b}\",\"display\":true"),
            ),
            12 => {
                let target = self.reference();
                let replacement = match self.rng.below(3) {
                    0 => "null".into(),
                    1 => format!("{{\"content\":\"{a}\"}}"),
                    _ => format!("{{\"content\":[{{\"type\":\"text\",\"text\":\"{b}\"}}]}}"),
                };
                (
                    "context_edit",
                    format!(",\"targetId\":\"{target}\",\"replacement\":{replacement}"),
                )
            }
            13 => ("custom", format!(",\"customType\":\"{a}\",\"data\":{{\"{b}\":[1,{{}}]}}")),
            14 | 15 => {
                let target = self.reference();
                let label = match self.rng.below(4) {
                    0 => String::new(),
                    1 => ",\"label\":\"\"".into(),
                    _ => format!(",\"label\":\"{a} \\u00e9\""),
                };
                ("label", format!(",\"targetId\":\"{target}\"{label}"))
            }
            16 => ("leaf", String::new()),
            17 => ("model_change", format!(",\"provider\":\"{a}\",\"modelId\":\"{b}\"")),
            18 => ("thinking_level_change", format!(",\"thinkingLevel\":\"{a}\"")),
            19 => {
                let name = if self.rng.chance(0.3) { "" } else { a };
                ("session_info", format!(",\"name\":\"{name}\""))
            }
            20 => ("usage", format!(",\"kind\":\"{a}\",\"usage\":{{\"input\":1}}")),
            _ => ("novelty", format!(",\"{a}\":{{\"{b}\":null}}")),
        }
    }

    fn message(&mut self) -> String {
        let (a, b) = (self.word(), self.word());
        let blocks = format!("[{{\"type\":\"text\",\"text\":\"{a} \\\"{b}\\\"\"}}]");
        let call = format!(
            "[{{\"type\":\"toolCall\",\"id\":\"{a}\",\"name\":\"bash\",\"arguments\":{{}}}}]"
        );
        match self.rng.below(12) {
            0..=2 => format!("{{\"role\":\"user\",\"content\":\"{a}\"}}"),
            3 | 4 => format!("{{\"role\":\"user\",\"content\":{blocks},\"timestamp\":1}}"),
            5 => format!(
                "{{\"role\":\"assistant\",\"content\":{call},\"provider\":\"{a}\",\"model\":\"{b}\"}}"
            ),
            6 => format!("{{\"role\":\"assistant\",\"content\":{blocks},\"model\":\"{b}\"}}"),
            7 => format!("{{\"role\":\"toolResult\",\"toolCallId\":\"{a}\",\"content\":{blocks}}}"),
            8 => format!("{{\"role\":\"system\",\"content\":\"{a}\"}}"),
            9 => format!("{{\"role\":\"bashExecution\",\"command\":\"{a}\",\"output\":\"{b}\"}}"),
            10 => "{\"role\":\"user\",\"content\":null}".into(),
            _ => format!("{{\"content\":\"{a}\",\"role\":\"hermit\"}}"),
        }
    }
}
