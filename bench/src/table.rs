//! Prints the results of a run as one table.

use crate::measure::Stat;

/// A line of the table.
#[derive(Debug, Clone, Default)]
pub(crate) struct Row {
    what: String,
    ours: String,
    theirs: Vec<String>,
    ratio: String,
    bar: String,
    met: Option<bool>,
}

impl Row {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Row { what: what.into(), ..Row::default() }
    }

    pub(crate) fn ours(mut self, value: impl Into<String>) -> Self {
        self.ours = value.into();
        self
    }

    pub(crate) fn theirs(mut self, who: &str, value: impl Into<String>) -> Self {
        self.theirs.push(format!("{who} {}", value.into()));
        self
    }

    /// Returns how many times as long as something else it takes, and how many times it may.
    pub(crate) fn at_most_times(self, limit: f64, ours: f64, theirs: f64) -> Self {
        self.times_as_long(ours, theirs).bar(format!("≤ {limit} ×"), ours / theirs <= limit)
    }

    /// Returns how many times as long as something else it takes, for the record.
    pub(crate) fn times_as_long(self, ours: f64, theirs: f64) -> Self {
        self.ratio(format!("{:.2} ×", ours / theirs))
    }

    /// Returns how many times as fast as something else it is, and how many times it should be.
    pub(crate) fn at_least_times(self, limit: f64, ours: f64, theirs: f64, whom: &str) -> Self {
        let ratio = theirs / ours;
        self.times_as_fast(ours, theirs).bar(format!("≥ {limit} × {whom}"), ratio >= limit)
    }

    /// Returns how many times as fast as something else it is, for the record.
    pub(crate) fn times_as_fast(self, ours: f64, theirs: f64) -> Self {
        let ratio = theirs / ours;
        self.ratio(if ratio < 9.95 { format!("{ratio:.1} ×") } else { format!("{ratio:.0} ×") })
    }

    fn ratio(mut self, ratio: String) -> Self {
        self.ratio = ratio;
        self
    }

    /// Adds a condition. A row meets its bar if it meets all of them.
    pub(crate) fn bar(mut self, bar: impl Into<String>, met: bool) -> Self {
        if !self.bar.is_empty() {
            self.bar.push_str(", ");
        }
        self.bar.push_str(&bar.into());
        self.met = Some(self.met.unwrap_or(true) && met);
        self
    }

    /// Returns a bar that could not be tried because its peer is missing.
    pub(crate) fn untried(mut self, bar: impl Into<String>) -> Self {
        self.bar = format!("{} (not tried)", bar.into());
        self
    }

    pub(crate) fn is_missed(&self) -> bool {
        self.met == Some(false)
    }
}

/// Returns the rows as Markdown.
pub(crate) fn markdown(rows: &[Row]) -> String {
    let mut out = String::from(
        "| what | treering | baseline or peers | ratio | bar | ok |\n|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let ok = match row.met {
            Some(true) => "yes",
            Some(false) => "**NO**",
            None => "",
        };
        let cells = [&row.what, &row.ours, &row.theirs.join("; "), &row.ratio, &row.bar, ok];
        out.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    out
}

/// Returns a time, with its spread where that is large.
pub(crate) fn time(stat: Stat) -> String {
    let (median, unit, scale) = scaled(stat.median);
    if stat.high <= stat.low * 1.3 {
        return format!("{median} {unit}");
    }
    let (low, high) = (digits(stat.low * scale), digits(stat.high * scale));
    format!("{median} {unit} ({low}–{high})")
}

/// Milliseconds in a unit that reads well.
fn scaled(ms: f64) -> (String, &'static str, f64) {
    let (unit, scale) = match ms {
        ms if ms >= 1000.0 => ("s", 0.001),
        ms if ms >= 1.0 => ("ms", 1.0),
        _ => ("µs", 1000.0),
    };
    (digits(ms * scale), unit, scale)
}

/// Three digits or so: more would be noise.
fn digits(value: f64) -> String {
    match value {
        value if value >= 99.95 => format!("{value:.0}"),
        value if value >= 9.995 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

/// Returns a rate, with its spread where that is large.
pub(crate) fn rate(stat: Stat) -> String {
    match stat.high <= stat.low * 1.3 {
        true => format!("{:.0}/s", stat.median),
        false => format!("{:.0}/s ({:.0}–{:.0})", stat.median, stat.low, stat.high),
    }
}

pub(crate) fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", digits(bytes as f64 / 1_048_576.0))
}

/// Returns a number with commas.
pub(crate) fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Returns a very short time, given in milliseconds.
pub(crate) fn nanoseconds(stat: Stat) -> String {
    let ns = |ms: f64| digits(ms * 1e6);
    match stat.high <= stat.low * 1.3 {
        true => format!("{} ns", ns(stat.median)),
        false => format!("{} ns ({}–{})", ns(stat.median), ns(stat.low), ns(stat.high)),
    }
}
