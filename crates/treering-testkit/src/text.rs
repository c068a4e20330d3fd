//! Generates text that looks like an agent's work, as content of JSON strings.
//!
//! A pool of escaped text is created once. A text of some size is a slice of it between two offsets
//! at which no escape or character is cut, so generating text costs no more than copying it.

use crate::rng::Rng;
use std::sync::LazyLock;

/// The size of the pool: large enough that long texts differ, small enough to stay in a cache.
const POOL: usize = 2 << 20;

const NOUNS: &[&str] = &[
    "anchor", "ballot", "beacon", "bridge", "bucket", "cabin", "candle", "canyon", "carbon",
    "castle", "cedar", "cellar", "clause", "cobalt", "column", "copper", "cursor", "delta",
    "ember", "engine", "fabric", "falcon", "ferry", "filter", "fjord", "garden", "glacier",
    "granite", "harbour", "hinge", "island", "jacket", "kernel", "ladder", "lantern", "ledger",
    "lever", "maple", "marker", "meadow", "mirror", "needle", "orchard", "packet", "pebble",
    "pencil", "pillar", "planet", "pocket", "prism", "quarry", "rafter", "ribbon", "river",
    "saddle", "sample", "shelf", "signal", "socket", "spiral", "stream", "summit", "thread",
    "timber", "tunnel", "valley", "vessel", "willow", "window", "winter",
];

const VERBS: &[&str] = &[
    "adjusts", "binds", "borrows", "carries", "checks", "collects", "compares", "counts", "drops",
    "emits", "fails", "flushes", "folds", "gathers", "holds", "joins", "keeps", "links", "loads",
    "matches", "merges", "moves", "names", "opens", "parses", "polls", "prints", "reads",
    "resumes", "returns", "rounds", "sends", "skips", "sorts", "splits", "stores", "trims",
    "unwinds", "waits", "wraps",
];

const SMALL: &[&str] = &[
    "a", "and", "because", "before", "but", "by", "each", "for", "from", "if", "in", "into", "it",
    "never", "no", "not", "of", "on", "only", "or", "over", "so", "that", "the", "then", "to",
    "until", "when", "which", "while", "with",
];

const ODD: &[&str] = &[
    "naïve",
    "façade",
    "Größe",
    "señal",
    "łódź",
    "λόγος",
    "поток",
    "データ",
    "木構造",
    "트리",
    "🌲",
    "🍂",
    "→",
    "≥",
    "…",
    "»",
    "±0.5",
    "½",
    "\u{2028}",
    "é",
];

/// The pool, and the offsets at which it can be cut.
pub(crate) struct Pool {
    bytes: Vec<u8>,
    /// Offsets at which a text may begin or end.
    joints: Vec<u32>,
}

/// The one pool all generators share.
pub(crate) static TEXT: LazyLock<Pool> = LazyLock::new(|| Pool::new(POOL));

impl Pool {
    fn new(size: usize) -> Self {
        let mut pool = Pool { bytes: Vec::with_capacity(size + 4096), joints: vec![0] };
        let mut rng = Rng::new(0x7265_6570);
        while pool.bytes.len() < size {
            pool.line(&mut rng);
        }
        pool
    }

    /// Adds a piece of text, escaped; the pool can be cut after it.
    fn add(&mut self, piece: &str) {
        for byte in piece.bytes() {
            match byte {
                b'"' => self.bytes.extend_from_slice(b"\\\""),
                b'\\' => self.bytes.extend_from_slice(b"\\\\"),
                b'\n' => self.bytes.extend_from_slice(b"\\n"),
                b'\t' => self.bytes.extend_from_slice(b"\\t"),
                0..=0x1F => self.bytes.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
                _ => self.bytes.push(byte),
            }
        }
        self.joints.push(self.bytes.len() as u32);
    }

    fn words(&mut self, rng: &mut Rng, count: u64) {
        for at in 0..count {
            let list = match rng.below(5) {
                0 | 1 => SMALL,
                2 => VERBS,
                _ => NOUNS,
            };
            self.add(if at == 0 { "" } else { " " });
            self.add(list[rng.index(list.len())]);
        }
    }

    /// Returns a line as it occurs in prompts, code, logs and tool output.
    fn line(&mut self, rng: &mut Rng) {
        let (noun, other) = (*rng.pick(NOUNS), *rng.pick(NOUNS));
        let number = rng.below(4000);
        match rng.below(10) {
            0..=2 => {
                let count = rng.range(7, 24);
                self.words(rng, count);
                self.add(".\n");
            }
            3 => self.add(&format!("    let {noun} = {other}.get(\"{noun}\")?; // {number}\n")),
            4 => self.add(&format!("\t\t{noun}[{number}] = self.{other}('\\n');\n")),
            5 => self.add(&format!("src/{noun}/{other}.rs:{number}: ")),
            6 => self
                .add(&format!("{{\"{noun}\":{number},\"{other}\":\"C:\\\\{noun}\\\\{other}\"}}\n")),
            7 => {
                self.add(ODD[rng.index(ODD.len())]);
                self.words(rng, 5);
                self.add(ODD[rng.index(ODD.len())]);
                self.add("\n");
            }
            8 => self
                .add(&format!("\u{1b}[3{}m{noun:>12}\u{1b}[0m {other} v0.{number}\n", number % 8)),
            _ => self.add(&format!("{:016x}  {noun} {other}\n", rng.next())),
        }
    }

    /// Returns about `size` bytes, as the content of a JSON string.
    pub(crate) fn take(&self, rng: &mut Rng, size: usize) -> &[u8] {
        let longest = self.bytes.len() / 4;
        let size = size.min(longest);
        let from = rng.index(self.bytes.len() - longest) as u32;
        let start = self.joints.partition_point(|&joint| joint < from);
        let end = self.joints[start] + size as u32;
        let stop = self.joints.partition_point(|&joint| joint < end);
        &self.bytes[self.joints[start] as usize..self.joints[stop] as usize]
    }

    /// Returns a word that is safe in names and paths.
    pub(crate) fn noun(rng: &mut Rng) -> &'static str {
        NOUNS[rng.index(NOUNS.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slice_is_a_valid_string_of_about_the_size() {
        let mut rng = Rng::new(1);
        for round in 0..2000 {
            let size = rng.index(if round % 50 == 0 { 60_000 } else { 3000 });
            let text = TEXT.take(&mut rng, size);
            assert!((size..size + 80).contains(&text.len()), "{} for {size}", text.len());
            let literal = [b"\"", text, b"\""].concat();
            let decoded: String = serde_json::from_slice(&literal).unwrap();
            assert!(decoded.len() <= text.len());
        }
    }
}
