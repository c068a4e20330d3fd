//! Generates entries of each kind.

use super::line::{self, Id, Line};
use super::maker::{MODELS, Maker, Step, What};
use crate::text::{Pool, TEXT};

const TOOLS: &[&str] = &["bash", "bash", "bash", "read", "read", "edit", "edit", "write", "grep"];

impl Maker<'_> {
    pub(super) fn text(
        &mut self,
        median: f64,
        sigma: f64,
        least: usize,
        most: usize,
    ) -> &'static [u8] {
        let size = self.rng.log_normal(median, sigma, least, most);
        TEXT.take(&mut self.rng, size)
    }

    pub(super) fn user(&mut self) -> Step {
        let text = self.text(160.0, 1.0, 12, 6000);
        let (id, mut line) = self.begin("message");
        line.raw(",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"");
        line.bytes(text).raw("\"}]");
        self.end_message();
        self.put(id, What::User)
    }

    /// Writes the end of a message and of its entry.
    fn end_message(&mut self) {
        let time = self.clock.millis();
        Line(&mut self.buffer).raw(",\"timestamp\":").number(time.unsigned_abs()).raw("}}\n");
    }

    pub(super) fn assistant(&mut self, calls: bool) -> Step {
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

    pub(super) fn result(&mut self) -> Step {
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

    pub(super) fn change_model(&mut self) -> Step {
        self.model = *self.rng.pick(MODELS);
        let (provider, model) = self.model;
        let (id, mut line) = self.begin("model_change");
        line.raw(",\"provider\":\"").raw(provider).raw("\",\"modelId\":\"").raw(model).raw("\"}\n");
        self.put(id, What::Other)
    }

    pub(super) fn change_thinking(&mut self, level: &str) -> Step {
        let (id, mut line) = self.begin("thinking_level_change");
        line.raw(",\"thinkingLevel\":\"").raw(level).raw("\"}\n");
        self.put(id, What::Other)
    }

    pub(super) fn name(&mut self) -> Step {
        let (noun, other) = (Pool::noun(&mut self.rng), Pool::noun(&mut self.rng));
        let (id, mut line) = self.begin("session_info");
        line.raw(",\"name\":\"The ").raw(noun).raw(" and the ").raw(other).raw("\"}\n");
        self.put(id, What::Other)
    }

    /// Adds entries between turns.
    pub(super) fn extras(&mut self) -> Step {
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

    pub(super) fn compact(&mut self) -> Step {
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
}
