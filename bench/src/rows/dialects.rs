//! Rows about sessions of other agents, compared with treering's own format.

use crate::Bench;
use crate::measure::{self, ms};
use crate::table::{self, Row};
use treering::convert::ConvertOptions;
use treering::{Dialect, Session};

/// The same session in every dialect that can be written: how many bytes a second are read.
pub(crate) fn rows(bench: &Bench) -> Vec<Row> {
    // Large enough for two cores, however it is written.
    let file = bench.data.session(if bench.quick { 50 } else { 100 });
    let mut rows = Vec::new();
    for dialect in Dialect::ALL {
        if dialect == Dialect::Pi || !dialect.is_conversion_target() {
            continue;
        }
        // Not the name of what the agents themselves were given to read.
        let other = file.path.with_extension(format!("as-{dialect}.jsonl"));
        if !other.exists() {
            treering::convert::convert(&file.path, &other, dialect, &ConvertOptions::default())
                .unwrap();
        }
        let size = |path| std::fs::metadata(path).unwrap().len() as f64 / 1e6;
        let (native, foreign) = (size(&file.path), size(&other));
        let read = |path| ms(|| Session::open(path).unwrap().tree().walk().count());
        let (ours, base) = measure::in_turns(
            bench.rounds(11),
            || read(&other) / foreign,
            || read(&file.path) / native,
        );
        rows.push(
            Row::new(format!("`Session::open` and `Tree::walk`, the same session as {dialect}'s"))
                .ours(format!("{} a megabyte", table::time(ours)))
                .theirs("pi's", format!("{} a megabyte", table::time(base)))
                .at_most_times(2.0, ours.median, base.median),
        );
    }
    rows
}
