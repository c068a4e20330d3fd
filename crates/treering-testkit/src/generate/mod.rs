//! Sessions made to measure.
//!
//! [`session`] writes a session as a long stretch of work with a coding agent leaves it: turns of
//! a question, tool calls with their results, and an answer; sizes spread log-normally around those
//! of real tool output; now and then a step back to an earlier entry, a compaction, a label, a
//! change of model. About 2.2 KB an entry. It streams, so that gigabytes need no memory, and copies
//! prepared text, so that they need no patience.
//!
//! Same [`Plan`], same bytes, on every machine.

mod line;
mod shapes;
mod small;

pub use shapes::{chain, star};
pub use small::small;

use crate::rng::Rng;
use crate::text::{Pool, TEXT};
use line::{Clock, Id, Line};
use std::io::{self, Write};

/// What to make.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Where the randomness starts.
    pub seed: u64,
    /// When to stop.
    pub limit: Limit,
    /// Whether the path is compacted about every 400 entries.
    pub compactions: bool,
    /// Whether extensions speak (`custom_message`).
    pub custom_messages: bool,
    /// The project in the header.
    pub cwd: String,
    /// The session's first moment, in Unix milliseconds.
    pub start: i64,
}

/// How much to make.
#[derive(Debug, Clone, Copy)]
pub enum Limit {
    /// At least this many bytes: the entry that reaches it is the last.
    Bytes(u64),
    /// Exactly this many entries.
    Entries(u64),
}

impl Plan {
    /// The usual session of this many entries.
    pub fn entries(seed: u64, count: u64) -> Self {
        Plan {
            seed,
            limit: Limit::Entries(count),
            compactions: true,
            custom_messages: false,
            cwd: "/home/dev/orchard".into(),
            start: 1_767_258_000_000,
        }
    }

    /// The usual session of this many bytes.
    pub fn bytes(seed: u64, count: u64) -> Self {
        Plan { limit: Limit::Bytes(count), ..Plan::entries(seed, 0) }
    }
}

/// What was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stats {
    /// How many bytes, header included.
    pub bytes: u64,
    /// How many entries.
    pub entries: u64,
    /// The session's id.
    pub session: String,
    /// The active leaf.
    pub leaf: String,
    /// The active leaf when half of it was written.
    pub middle: String,
    /// How many entries are on the path to the leaf.
    pub depth: usize,
    /// Up to 1000 ids, each entry being as likely as any other.
    pub sample: Vec<String>,
}

/// Writes a session.
///
/// ```
/// use treering_testkit::generate::{Plan, session};
/// let mut bytes = Vec::new();
/// let stats = session(&mut bytes, &Plan::entries(1, 100))?;
/// assert_eq!(bytes.iter().filter(|&&byte| byte == b'\n').count() as u64, stats.entries + 1);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn session(out: &mut dyn Write, plan: &Plan) -> io::Result<Stats> {
    let mut maker = Maker::new(out, plan);
    match maker.work() {
        Ok(never) => match never {},
        Err(Stop::Enough) => maker.finish(),
        Err(Stop::Io(error)) => Err(error),
    }
}

/// A session as bytes.
pub fn session_bytes(plan: &Plan) -> (Vec<u8>, Stats) {
    let mut bytes = Vec::new();
    let stats = session(&mut bytes, plan).expect("writing to memory");
    (bytes, stats)
}

/// Why making entries ended.
enum Stop {
    Enough,
    Io(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Stop::Io(error)
    }
}

type Step = Result<(), Stop>;

/// Nothing, ever: the work only ends by a [`Stop`].
enum Never {}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    User,
    Assistant,
    Result,
    Compaction,
    Other,
}

const MODELS: &[(&str, &str)] =
    &[("acme", "oak-4"), ("acme", "oak-4-mini"), ("globex", "larch-2"), ("initech", "yew-1.5")];

const TOOLS: &[&str] = &["bash", "bash", "bash", "read", "read", "edit", "edit", "write", "grep"];

/// Entries kept for [`Stats::sample`].
const SAMPLE: usize = 1000;

/// Bytes collected before they are written.
const BUFFER: usize = 256 * 1024;

struct Maker<'a> {
    out: &'a mut dyn Write,
    plan: &'a Plan,
    rng: Rng,
    clock: Clock,
    buffer: Vec<u8>,
    written: u64,
    entries: u64,
    session: String,
    path: Vec<(Id, What)>,
    middle: Option<Id>,
    sample: Vec<Id>,
    until_branch: u64,
    since_compaction: u64,
    model: (&'static str, &'static str),
    tokens: u64,
    /// The tool call that waits for its result.
    call: Option<(String, &'static str)>,
}

impl<'a> Maker<'a> {
    fn new(out: &'a mut dyn Write, plan: &'a Plan) -> Self {
        let mut rng = Rng::new(plan.seed);
        let session = line::uuid(&mut rng);
        let until_branch = rng.range(35, 66);
        Maker {
            out,
            plan,
            rng,
            clock: Clock::new(plan.start),
            buffer: Vec::with_capacity(BUFFER + 128 * 1024),
            written: 0,
            entries: 0,
            session,
            path: Vec::new(),
            middle: None,
            sample: Vec::new(),
            until_branch,
            since_compaction: 0,
            model: MODELS[0],
            tokens: 4000,
            call: None,
        }
    }

    fn work(&mut self) -> Result<Never, Stop> {
        let header = format!(
            "{{\"type\":\"session\",\"version\":3,\"id\":\"{}\",\"timestamp\":\"{}\",\"cwd\":{}}}\n",
            self.session,
            self.clock.iso(),
            serde_json::Value::from(self.plan.cwd.as_str()),
        );
        self.buffer.extend_from_slice(header.as_bytes());
        if let Limit::Entries(0) = self.plan.limit {
            return Err(Stop::Enough);
        }
        self.change_model()?;
        self.change_thinking("medium")?;
        self.user()?;
        self.name()?;
        loop {
            let calls = (self.rng.exponential(3.2) as u64).min(12);
            for _ in 0..calls {
                self.assistant(true)?;
                self.result()?;
            }
            self.assistant(false)?;
            self.extras()?;
            if self.plan.compactions && self.since_compaction >= 400 && self.path.len() > 60 {
                self.compact()?;
            }
            if self.until_branch == 0 && self.path.len() > 12 {
                self.branch()?;
            }
            self.user()?;
        }
    }

    fn finish(mut self) -> io::Result<Stats> {
        self.flush()?;
        self.out.flush()?;
        let text = |id: Option<&Id>| id.map(Id::text).unwrap_or_default();
        let leaf = self.path.last().map(|(id, _)| *id);
        Ok(Stats {
            bytes: self.written,
            entries: self.entries,
            session: self.session,
            leaf: text(leaf.as_ref()),
            middle: text(self.middle.or(leaf).as_ref()),
            depth: self.path.len(),
            sample: self.sample.iter().map(Id::text).collect(),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.buffer)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Begins an entry with the usual head.
    fn begin(&mut self, kind: &str) -> (Id, Line<'_>) {
        self.clock.pass(self.rng.range(200, 20_000));
        let id = Id::new(self.plan.seed, self.entries);
        let mut line = Line(&mut self.buffer);
        line.raw("{\"type\":\"").raw(kind).raw("\"");
        line.head(&id, self.path.last().map(|(id, _)| id), &mut self.clock);
        (id, line)
    }

    /// Counts an entry whose line is complete; it is the new leaf.
    fn put(&mut self, id: Id, what: What) -> Step {
        self.path.push((id, what));
        self.entries += 1;
        self.until_branch = self.until_branch.saturating_sub(1);
        self.since_compaction += 1;
        if self.sample.len() < SAMPLE {
            self.sample.push(id);
        } else {
            let place = self.rng.index(self.entries as usize);
            if let Some(slot) = self.sample.get_mut(place) {
                *slot = id;
            }
        }
        let bytes = self.written + self.buffer.len() as u64;
        let (done, of) = match self.plan.limit {
            Limit::Bytes(limit) => (bytes, limit),
            Limit::Entries(limit) => (self.entries, limit),
        };
        if self.middle.is_none() && done >= of / 2 {
            self.middle = Some(id);
        }
        if done >= of {
            return Err(Stop::Enough);
        }
        if self.buffer.len() >= BUFFER {
            self.flush()?;
        }
        Ok(())
    }

    fn text(&mut self, median: f64, sigma: f64, least: usize, most: usize) -> &'static [u8] {
        let size = self.rng.log_normal(median, sigma, least, most);
        TEXT.take(&mut self.rng, size)
    }

    fn user(&mut self) -> Step {
        let text = self.text(160.0, 1.0, 12, 6000);
        let (id, mut line) = self.begin("message");
        line.raw(",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"");
        line.bytes(text).raw("\"}]");
        self.end_message();
        self.put(id, What::User)
    }

    /// The end of a message and of its entry.
    fn end_message(&mut self) {
        let time = self.clock.millis();
        Line(&mut self.buffer).raw(",\"timestamp\":").number(time.unsigned_abs()).raw("}}\n");
    }

    fn assistant(&mut self, calls: bool) -> Step {
        let thinking = self.rng.chance(0.8).then(|| self.text(430.0, 0.9, 30, 8000));
        let signature = thinking.map(|_| line::base64(&mut self.rng));
        let speaks = !calls || self.rng.chance(0.55);
        let median = if calls { 250.0 } else { 680.0 };
        let text = speaks.then(|| self.text(median, 0.8, 10, 12_000));
        let call = calls.then(|| (line::call_id(&mut self.rng), *self.rng.pick(TOOLS)));
        let arguments = call.as_ref().map(|(_, tool)| self.arguments(tool));
        let usage = self.usage();
        let (provider, model) = self.model;

        let (id, mut line) = self.begin("message");
        line.raw(",\"message\":{\"role\":\"assistant\",\"content\":[");
        let mut separator = "";
        if let (Some(thinking), Some(signature)) = (thinking, signature) {
            line.raw("{\"type\":\"thinking\",\"thinking\":\"").bytes(thinking);
            line.raw("\",\"thinkingSignature\":\"").bytes(&signature).raw("\"}");
            separator = ",";
        }
        if let Some(text) = text {
            line.raw(separator).raw("{\"type\":\"text\",\"text\":\"").bytes(text).raw("\"}");
            separator = ",";
        }
        if let (Some((call, tool)), Some(arguments)) = (&call, arguments) {
            line.raw(separator).raw("{\"type\":\"toolCall\",\"id\":\"").raw(call);
            line.raw("\",\"name\":\"")
                .raw(tool)
                .raw("\",\"arguments\":")
                .bytes(&arguments)
                .raw("}");
        }
        line.raw("],\"api\":\"messages\",\"provider\":\"").raw(provider);
        line.raw("\",\"model\":\"").raw(model).raw("\",\"usage\":").raw(&usage);
        line.raw(",\"stopReason\":\"").raw(if calls { "toolUse" } else { "stop" }).raw("\"");
        self.end_message();
        self.call = call;
        self.put(id, What::Assistant)
    }

    fn arguments(&mut self, tool: &str) -> Vec<u8> {
        let file = Pool::noun(&mut self.rng);
        let mut out = Vec::new();
        let mut line = Line(&mut out);
        match tool {
            "bash" => {
                line.raw("{\"command\":\"").bytes(self.text(90.0, 0.8, 8, 3000));
                line.raw("\",\"timeout\":").number(30 * self.rng.range(1, 5)).raw("}");
            }
            "read" => {
                line.raw("{\"path\":\"src/").raw(file).raw(".rs\",\"offset\":");
                line.number(self.rng.below(2000)).raw(",\"limit\":200}");
            }
            "edit" => {
                line.raw("{\"path\":\"src/").raw(file).raw(".rs\",\"oldText\":\"");
                line.bytes(self.text(300.0, 0.9, 20, 8000)).raw("\",\"newText\":\"");
                line.bytes(self.text(380.0, 0.9, 20, 9000)).raw("\"}");
            }
            "write" => {
                line.raw("{\"path\":\"src/").raw(file).raw(".rs\",\"content\":\"");
                line.bytes(self.text(2500.0, 0.9, 50, 40_000)).raw("\"}");
            }
            _ => {
                line.raw("{\"pattern\":\"").raw(file).raw("\",\"path\":\"src\"}");
            }
        }
        out
    }

    fn usage(&mut self) -> String {
        self.tokens = (self.tokens + self.rng.range(100, 2500)).min(180_000);
        let (output, written, read) =
            (self.rng.range(50, 1500), self.rng.range(100, 3000), self.tokens);
        let cost = |count: u64, micros: u64| count as f64 * micros as f64 / 1e8;
        let costs = [cost(5, 300), cost(output, 1500), cost(read, 30), cost(written, 375)];
        let sum: f64 = costs.iter().sum();
        format!(
            "{{\"input\":5,\"output\":{output},\"cacheRead\":{read},\"cacheWrite\":{written},\
             \"totalTokens\":{},\"cost\":{{\"input\":{:.6},\"output\":{:.6},\"cacheRead\":{:.6},\
             \"cacheWrite\":{:.6},\"total\":{sum:.6}}}}}",
            5 + output + read + written,
            costs[0],
            costs[1],
            costs[2],
            costs[3],
        )
    }

    fn result(&mut self) -> Step {
        let Some((call, tool)) = self.call.take() else { return Ok(()) };
        let text = self.text(1450.0, 1.2, 20, 48_000);
        let failed = self.rng.chance(0.06);
        let (id, mut line) = self.begin("message");
        line.raw(",\"message\":{\"role\":\"toolResult\",\"toolCallId\":\"").raw(&call);
        line.raw("\",\"toolName\":\"").raw(tool);
        line.raw("\",\"content\":[{\"type\":\"text\",\"text\":\"").bytes(text).raw("\"}]");
        if tool == "bash" {
            line.raw(",\"details\":{\"exitCode\":").number(u64::from(failed)).raw("}");
        }
        line.raw(",\"isError\":").raw(if failed { "true" } else { "false" });
        self.end_message();
        self.put(id, What::Result)
    }

    fn change_model(&mut self) -> Step {
        self.model = *self.rng.pick(MODELS);
        let (provider, model) = self.model;
        let (id, mut line) = self.begin("model_change");
        line.raw(",\"provider\":\"").raw(provider).raw("\",\"modelId\":\"").raw(model).raw("\"}\n");
        self.put(id, What::Other)
    }

    fn change_thinking(&mut self, level: &str) -> Step {
        let (id, mut line) = self.begin("thinking_level_change");
        line.raw(",\"thinkingLevel\":\"").raw(level).raw("\"}\n");
        self.put(id, What::Other)
    }

    fn name(&mut self) -> Step {
        let (noun, other) = (Pool::noun(&mut self.rng), Pool::noun(&mut self.rng));
        let (id, mut line) = self.begin("session_info");
        line.raw(",\"name\":\"The ").raw(noun).raw(" and the ").raw(other).raw("\"}\n");
        self.put(id, What::Other)
    }

    /// What happens between turns, sometimes.
    fn extras(&mut self) -> Step {
        if self.rng.chance(0.05) {
            self.change_model()?;
        }
        if self.rng.chance(0.05) {
            let level = *self.rng.pick(&["off", "low", "medium", "high"]);
            self.change_thinking(level)?;
        }
        if self.rng.chance(0.1) {
            self.custom()?;
        }
        if self.plan.custom_messages && self.rng.chance(0.06) {
            self.custom_message()?;
        }
        if self.rng.chance(0.06) {
            self.label()?;
        }
        Ok(())
    }

    /// Begins an entry the way extensions' entries are written: with the head at the end.
    fn begin_custom(&mut self, kind: &str) -> (Id, Line<'_>) {
        self.clock.pass(self.rng.range(200, 20_000));
        let id = Id::new(self.plan.seed, self.entries);
        let mut line = Line(&mut self.buffer);
        line.raw("{\"type\":\"").raw(kind).raw("\",\"customType\":\"");
        (id, line)
    }

    fn end_custom(&mut self, id: Id) -> Step {
        let parent = self.path.last().map(|(id, _)| id);
        let mut line = Line(&mut self.buffer);
        line.head(&id, parent, &mut self.clock).raw("}\n");
        self.put(id, What::Other)
    }

    fn custom(&mut self) -> Step {
        let items: Vec<&[u8]> =
            (0..self.rng.range(1, 6)).map(|_| self.text(40.0, 0.3, 10, 200)).collect();
        let (id, mut line) = self.begin_custom("custom");
        line.raw("checklist\",\"data\":{\"items\":[");
        for (at, item) in items.iter().enumerate() {
            line.raw(if at > 0 { "," } else { "" });
            line.raw("{\"id\":").number(at as u64).raw(",\"text\":\"").bytes(item).raw("\"}");
        }
        line.raw("]}");
        self.end_custom(id)
    }

    fn custom_message(&mut self) -> Step {
        let text = self.text(300.0, 0.4, 20, 2000);
        let (id, mut line) = self.begin_custom("custom_message");
        line.raw("notice\",\"content\":\"").bytes(text).raw("\",\"display\":true");
        self.end_custom(id)
    }

    fn label(&mut self) -> Step {
        let back = self.rng.index(self.path.len().min(30));
        let target = self.path[self.path.len() - 1 - back].0;
        let number = self.entries;
        let (id, mut line) = self.begin("label");
        line.raw(",\"targetId\":\"").raw(&target.text());
        line.raw("\",\"label\":\"milestone ").number(number).raw("\"}\n");
        self.put(id, What::Other)
    }

    fn compact(&mut self) -> Step {
        let back = self.rng.range(12, 40) as usize;
        let kept = self.path[self.path.len() - back].0;
        let summary = self.text(3500.0, 0.4, 500, 12_000);
        let tokens = std::mem::replace(&mut self.tokens, 12_000);
        let file = Pool::noun(&mut self.rng);
        let (id, mut line) = self.begin("compaction");
        line.raw(",\"summary\":\"").bytes(summary).raw("\",\"firstKeptEntryId\":\"");
        line.raw(&kept.text()).raw("\",\"tokensBefore\":").number(tokens);
        line.raw(",\"details\":{\"modifiedFiles\":[\"src/").raw(file).raw(".rs\"]}}\n");
        self.since_compaction = 0;
        self.put(id, What::Compaction)
    }

    /// Goes back to where a turn ended: mostly a little, sometimes far.
    fn branch(&mut self) -> Step {
        self.until_branch = self.rng.range(35, 66);
        let back = match self.rng.chance(0.8) {
            true => self.rng.range(2, 16),
            false => self.rng.range(16, 120),
        };
        let mut keep = self.path.len() - (back as usize).min(self.path.len() - 3);
        while keep > 3 && !matches!(self.path[keep - 1].1, What::Assistant | What::Other) {
            keep -= 1;
        }
        let left = self.path[self.path.len() - 1].0;
        let gone = self.path.split_off(keep);
        self.since_compaction = self.since_compaction.saturating_sub(gone.len() as u64);
        if gone.iter().any(|(_, what)| *what == What::Compaction) {
            self.since_compaction = 380;
        }
        if !self.rng.chance(0.3) {
            return Ok(());
        }
        let summary = self.text(900.0, 0.5, 100, 4000);
        let (id, mut line) = self.begin("branch_summary");
        line.raw(",\"fromId\":\"").raw(&left.text()).raw("\",\"summary\":\"").bytes(summary);
        line.raw("\"}\n");
        self.put(id, What::Other)
    }
}
