//! Usage and search results.

use super::Session;
use crate::schema::api_object;
use std::collections::BTreeMap;
use treering::usage::{Stats, Usage};
use treering_redact::Report;

api_object! { answer
    /// Tokens and cost.
    UsageSum {
        /// Requests.
        requests: u64,
        /// Input tokens.
        input: u64,
        /// Output tokens.
        output: u64,
        /// Tokens read from a cache.
        cache_read: u64,
        /// Tokens written to a cache.
        cache_write: u64,
        /// All tokens.
        total: u64,
        /// Dollars.
        cost: f64,
        /// Requests whose cost is not known.
        unpriced: u64,
    }
}

impl From<&Usage> for UsageSum {
    fn from(usage: &Usage) -> Self {
        UsageSum {
            requests: usage.requests,
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            total: usage.total(),
            cost: usage.cost.dollars(),
            unpriced: usage.unpriced,
        }
    }
}

api_object! { answer
    /// The usage, each event counted once.
    UsageReport {
        /// Sessions.
        sessions: u64,
        /// Entries.
        entries: u64,
        /// Branches.
        branches: u64,
        /// Compactions.
        compactions: u64,
        /// The total usage.
        usage: UsageSum,
        /// The usage on the paths to the leaves.
        active: UsageSum,
        /// The usage on other branches.
        abandoned: UsageSum,
        /// The usage by model.
        by_model: BTreeMap<String, UsageSum>,
        /// The number of tool calls, by tool.
        tools: BTreeMap<String, u64>,
        /// The time of the first entry.
        first: Option<String>,
        /// The time of the last entry.
        last: Option<String>,
        /// The cursor of the sessions that were not counted yet; null if all were.
        next: Option<String>,
    }
}

impl UsageReport {
    pub(crate) fn new(stats: &Stats, sessions: u64, next: Option<String>) -> Self {
        let by_model = stats.by_model.iter();
        UsageReport {
            sessions,
            entries: stats.entries,
            branches: stats.branches,
            compactions: stats.compactions,
            usage: (&stats.usage).into(),
            active: (&stats.active).into(),
            abandoned: (&stats.abandoned).into(),
            by_model: by_model.map(|(model, usage)| (model.clone(), usage.into())).collect(),
            tools: stats.tools.clone(),
            first: stats.first.map(treering::time::format),
            last: stats.last.map(treering::time::format),
            next,
        }
    }
}

api_object! { answer
    /// Sessions in which something was found.
    SearchPage {
        /// The sessions, newest first.
        sessions: Vec<SessionHits>,
        /// The cursor of the sessions that were not searched yet; null if all were.
        next: Option<String>,
    }
}

api_object! { answer
    /// The hits in a session.
    SessionHits {
        /// The session.
        session: Session,
        /// The hits that are described.
        hits: Vec<SearchHit>,
        /// The number of all hits.
        hit_count: usize,
    }
}

api_object! { answer
    /// An entry in which something was found.
    SearchHit {
        /// The entry; null if it is the name of the session.
        id: Option<String>,
        /// The role or the type.
        role: String,
        /// The part of the entry: `text`, `thinking`, `call`, `result` …
        part: String,
        /// The state of its branch: `active`, `compacted`, `abandoned` …
        state: String,
        /// The time.
        time: Option<String>,
        /// The line around the first match.
        snippet: String,
    }
}

api_object! { answer
    /// Secrets that redaction replaces.
    Secrets {
        /// The number of places.
        occurrences: usize,
        /// The number of thinking signatures that are emptied, because what they signed changes.
        signatures: usize,
        /// The kinds, in the order in which they were found.
        kinds: Vec<SecretKind>,
        /// The places in the order of the log, at most 1,000.
        places: Vec<SecretPlace>,
    }
}

api_object! { answer
    /// The secrets of a kind.
    SecretKind {
        /// The kind: `github-token` …
        kind: String,
        /// The number of different secrets.
        distinct: usize,
        /// The number of occurrences.
        occurrences: usize,
    }
}

api_object! { answer
    /// A text with a secret in it.
    SecretPlace {
        /// The kind.
        kind: String,
        /// The number of the secret among its kind.
        number: usize,
        /// The entry; null if it is in none.
        entry: Option<String>,
        /// The path of the text in its record.
        field: String,
        /// The number of occurrences.
        count: usize,
    }
}

/// The largest number of places in a report.
const MAX_PLACES: usize = 1000;

impl From<&Report> for Secrets {
    fn from(report: &Report) -> Self {
        let kinds = report.sums().into_iter().map(|sum| SecretKind {
            kind: sum.kind,
            distinct: sum.distinct,
            occurrences: sum.occurrences,
        });
        let places = report.places.iter().take(MAX_PLACES).map(|place| SecretPlace {
            kind: place.kind.clone(),
            number: place.number,
            entry: place.entry.clone(),
            field: place.field.clone(),
            count: place.count,
        });
        Secrets {
            occurrences: report.occurrences(),
            signatures: report.signatures,
            kinds: kinds.collect(),
            places: places.collect(),
        }
    }
}
