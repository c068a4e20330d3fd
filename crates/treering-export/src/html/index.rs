//! The index of a page: the data of the tree, as columns of JSON.
//!
//! The page's script reads it with `JSON.parse`. Columns are shorter than objects, and a tree of
//! 100,000 entries is parsed at once.

use super::escape;
use crate::stats::{self, EntryFacts};
use crate::walk::WalkItem;
use std::collections::HashMap;
use std::fmt::Write as _;
use treering::Session;
use treering::usage::Stats;
use treering_display::line::excerpt;
use treering_display::preview_line::PreviewKind;
use treering_display::text::visible;

/// The columns, row by row.
#[derive(Debug, Default)]
pub(crate) struct PageIndex {
    ids: String,
    parents: String,
    kinds: String,
    times: String,
    previews: String,
    /// The rows that begin a side branch.
    sides: String,
    /// The labels by row. Most rows have none.
    labels: String,
    /// The models by row. Most rows have none.
    answers: String,
    models: HashMap<String, usize>,
    model_names: String,
    /// The last row on the path to the leaf.
    leaf: Option<usize>,
    last_time: i64,
    rows: usize,
}

impl PageIndex {
    pub(crate) fn add(
        &mut self,
        item: &WalkItem<'_>,
        numbers: &EntryFacts,
        kind: PreviewKind,
        preview: &str,
    ) {
        let comma = if self.rows > 0 { "," } else { "" };
        self.ids.push_str(comma);
        escape::json(&mut self.ids, item.entry.id);
        // The distance to the parent in rows is mostly 1.
        let up = item.parent.map_or(0, |parent| self.rows - parent);
        let _ = write!(self.parents, "{comma}{up}");
        self.kinds.push(kind.letter());
        let time = numbers.time.unwrap_or(self.last_time);
        let _ = write!(self.times, "{comma}{}", time.saturating_sub(self.last_time));
        self.last_time = time;
        self.previews.push_str(comma);
        escape::json(&mut self.previews, preview);
        if let Some(label) = item.entry.label {
            let comma = if self.labels.is_empty() { "" } else { "," };
            let _ = write!(self.labels, "{comma}\"{}\":", self.rows);
            escape::json(&mut self.labels, &excerpt(label, 80));
        }
        if let Some(model) = &numbers.model {
            let number = self.model(model);
            let comma = if self.answers.is_empty() { "" } else { "," };
            let _ = write!(self.answers, "{comma}\"{}\":{number}", self.rows);
        }
        if item.is_side {
            let comma = if self.sides.is_empty() { "" } else { "," };
            let _ = write!(self.sides, "{comma}{}", self.rows);
        }
        if item.is_active {
            self.leaf = Some(self.rows);
        }
        self.rows += 1;
    }

    fn model(&mut self, name: &str) -> usize {
        let number = self.models.len();
        if let Some(known) = self.models.get(name) {
            return *known;
        }
        self.model_names.push_str(if number > 0 { "," } else { "" });
        escape::json(&mut self.model_names, &excerpt(name, 80));
        self.models.insert(name.to_owned(), number);
        number
    }

    /// Returns the index as one JSON object.
    pub(crate) fn finish(self, session: &Session, title: &str, stats: &Stats) -> String {
        let PageIndex {
            ids,
            parents,
            kinds,
            times,
            previews,
            sides,
            labels,
            answers,
            model_names,
            leaf,
            ..
        } = self;
        let mut out = String::from("{\"title\":");
        escape::json(&mut out, title);
        out.push_str(",\"cwd\":");
        escape::json(&mut out, &visible(&session.cwd()));
        let _ = write!(out, ",\"agent\":\"{}\",\"facts\":[", session.dialect());
        for (at, fact) in stats::facts(stats).iter().enumerate() {
            out.push_str(if at > 0 { "," } else { "" });
            escape::json(&mut out, fact);
        }
        let number = |time: Option<i64>| time.map_or("null".to_owned(), |time| time.to_string());
        let used = &stats.usage;
        let _ = write!(
            out,
            "],\"input\":{},\"output\":{},\"cached\":{},\"cost\":{},\"branches\":{},\"compactions\":{}",
            used.input,
            used.output,
            used.cache_read.saturating_add(used.cache_write),
            used.cost,
            stats.branches,
            stats.compactions
        );
        let _ = write!(out, ",\"first\":{},\"last\":{}", number(stats.first), number(stats.last));
        let leaf = leaf.map_or(-1, |leaf| i64::try_from(leaf).unwrap_or(-1));
        let _ = write!(out, ",\"leaf\":{leaf},\"kinds\":\"{kinds}\",\"models\":[{model_names}]");
        let _ = write!(
            out,
            ",\"up\":[{parents}],\"times\":[{times}],\"labels\":{{{labels}}},\"answers\":{{{answers}}}"
        );
        let _ = write!(out, ",\"sides\":[{sides}],\"ids\":[{ids}],\"previews\":[{previews}]}}");
        out
    }
}
