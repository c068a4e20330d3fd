//! The library's reports, plans and facts as plain data.

use crate::data::{Data, ToData, record};
use treering::branch_summary::AbandonedBranch;
use treering::catalog::SessionInfo;
use treering::compaction::{CompactionPlan, ContextTokens, FileOps, Prepared};
use treering::context::{ContextMessage, Model};
use treering::context_edit::EditPlan;
use treering::convert::{ConversionReport, Outcome, Outcomes};
use treering::diff::{Diff, Side};
use treering::doctor::{Diagnosis, Reachability, Repair, RepairChanges, RepairPlan};
use treering::entry::{Kind, Role};
use treering::findings::Finding;
use treering::merge::{MergePlan, Merged, PickPlan};
use treering::migrate::Upgrade;
use treering::provider::ContextRepair;
use treering::tree::TreeItem;
use treering::usage::{Branch, Stats, Usage};
use treering::{Dialect, EntryId, Header, SessionId};

macro_rules! texts {
    ($($kind:ty),*) => {
        $(impl ToData for $kind {
            fn to_data(&self) -> Data {
                Data::Text(self.as_str().to_owned())
            }
        })*
    };
}
texts!(EntryId, SessionId);

impl ToData for Dialect {
    fn to_data(&self) -> Data {
        Data::Text(self.name().to_owned())
    }
}

impl ToData for Kind {
    fn to_data(&self) -> Data {
        self.name().to_data()
    }
}

impl ToData for Role {
    fn to_data(&self) -> Data {
        self.name().to_data()
    }
}

impl ToData for std::path::PathBuf {
    fn to_data(&self) -> Data {
        Data::Text(self.to_string_lossy().into_owned())
    }
}

impl ToData for std::path::Path {
    fn to_data(&self) -> Data {
        Data::Text(self.to_string_lossy().into_owned())
    }
}

fn set(items: &std::collections::BTreeSet<String>) -> Data {
    Data::List(items.iter().map(ToData::to_data).collect())
}

fn map<'a, K: ToString + 'a, V: ToData + 'a>(items: impl IntoIterator<Item = (K, &'a V)>) -> Data {
    Data::Map(items.into_iter().map(|(key, value)| (key.to_string(), value.to_data())).collect())
}

impl ToData for Data {
    fn to_data(&self) -> Data {
        self.clone()
    }
}

impl ToData for Header {
    fn to_data(&self) -> Data {
        record! {
            id: self.id,
            version: self.version,
            timestamp: self.timestamp,
            cwd: self.cwd,
            parent_session: self.parent_session,
        }
    }
}

impl ToData for Model {
    fn to_data(&self) -> Data {
        record! { provider: self.provider, model_id: self.model_id }
    }
}

impl ToData for SessionInfo {
    fn to_data(&self) -> Data {
        record! {
            id: self.id,
            path: self.path,
            agent: self.agent,
            name: self.name,
            title: self.title(),
            cwd: self.cwd,
            created: self.created,
            modified: self.modified,
            parent_session: self.parent_session,
            first_message: self.first_message,
            entry_count: self.entry_count,
            message_count: self.message_count,
            branch_count: self.branch_count,
            compaction_count: self.compaction_count,
            finding_count: self.finding_count,
            size: self.size,
            tokens: self.tokens,
            cost: self.cost,
            is_partial: self.is_partial,
        }
    }
}

impl ToData for TreeItem<'_> {
    fn to_data(&self) -> Data {
        record! {
            id: self.id,
            parent: self.parent,
            kind: self.kind,
            role: self.role,
            depth: self.depth,
            children: self.children,
            label: self.label,
            label_time: self.label_time,
            bytes: self.bytes,
            is_sidechain: self.sidechain,
        }
    }
}

impl ToData for ContextMessage {
    fn to_data(&self) -> Data {
        Data::Json(self.json.clone())
    }
}

impl ToData for ContextRepair {
    fn to_data(&self) -> Data {
        record! { entry: self.entry(), message: self.to_string() }
    }
}

impl ToData for ContextTokens {
    fn to_data(&self) -> Data {
        record! {
            tokens: self.tokens,
            usage_tokens: self.usage_tokens,
            trailing_tokens: self.trailing_tokens,
        }
    }
}

impl ToData for FileOps {
    fn to_data(&self) -> Data {
        record! { read: set(&self.read), written: set(&self.written), edited: set(&self.edited) }
    }
}

impl ToData for CompactionPlan {
    fn to_data(&self) -> Data {
        record! {
            first_kept: self.first_kept,
            leaf: self.leaf,
            is_split_turn: self.is_split_turn,
            tokens_kept: self.tokens_kept,
        }
    }
}

impl ToData for Prepared {
    fn to_data(&self) -> Data {
        record! {
            first_kept: self.first_kept,
            leaf: self.leaf,
            is_split_turn: self.is_split_turn,
            tokens_before: self.tokens_before,
            tokens_kept: self.tokens_kept,
            saving: self.saving(),
            previous_summary: self.previous_summary,
            messages_to_summarize: self.messages_to_summarize,
            turn_prefix: self.turn_prefix,
            file_ops: self.file_ops,
        }
    }
}

impl ToData for AbandonedBranch {
    fn to_data(&self) -> Data {
        record! {
            common_ancestor: self.common_ancestor,
            entries: self.entries,
            messages: self.messages,
            total_tokens: self.total_tokens,
            file_ops: self.file_ops,
        }
    }
}

impl ToData for MergePlan {
    fn to_data(&self) -> Data {
        record! {
            source: self.from,
            target: self.into,
            base: self.base,
            common_ancestor: self.common_ancestor,
            entries: self.entries,
            messages: self.messages,
            total_tokens: self.total_tokens,
            file_ops: self.file_ops,
            is_continuation: self.is_continuation(),
        }
    }
}

impl ToData for Merged {
    fn to_data(&self) -> Data {
        record! { record: self.record, copies: self.copies }
    }
}

impl ToData for PickPlan {
    fn to_data(&self) -> Data {
        let pairs = |(entry, copy): &(EntryId, EntryId)| record! { entry: entry, copy: copy };
        let calls = |(entry, call): &(EntryId, String)| record! { entry: entry, call: call };
        record! {
            target: self.into,
            entries: self.entries,
            companions: self.companions,
            left_out: self.left_out,
            skipped: Data::List(self.skipped.iter().map(pairs).collect()),
            unanswered: Data::List(self.unanswered.iter().map(calls).collect()),
            tokens: self.tokens,
        }
    }
}

impl ToData for EditPlan {
    fn to_data(&self) -> Data {
        record! {
            leaf: self.leaf,
            targets: self.targets,
            companions: self.companions,
            tokens_before: self.tokens_before,
            tokens_after: self.tokens_after,
        }
    }
}

impl ToData for Side {
    fn to_data(&self) -> Data {
        record! {
            entries: self.entries,
            messages: self.messages,
            tokens: self.tokens,
            usage: self.usage,
            file_ops: self.file_ops,
        }
    }
}

impl ToData for Diff {
    fn to_data(&self) -> Data {
        record! { common_ancestor: self.common_ancestor, a: self.a, b: self.b }
    }
}

impl ToData for Usage {
    fn to_data(&self) -> Data {
        record! {
            input: self.input,
            output: self.output,
            cache_read: self.cache_read,
            cache_write: self.cache_write,
            cache_write_1h: self.cache_write_1h,
            total: self.total(),
            requests: self.requests,
            cost: self.total_cost().dollars(),
            computed_cost: self.computed.dollars(),
            unpriced_requests: self.unpriced,
        }
    }
}

impl ToData for Stats {
    fn to_data(&self) -> Data {
        let purposes = self.by_purpose.iter().map(|(purpose, usage)| (purpose.name(), usage));
        record! {
            entries: self.entries,
            messages: map(self.messages.iter()),
            tools: map(self.tools.iter()),
            branches: self.branches,
            compactions: self.compactions,
            first: self.first,
            last: self.last,
            usage: self.usage,
            active: self.active,
            abandoned: self.abandoned,
            sidechains: self.sidechains,
            by_model: map(self.by_model.iter()),
            by_purpose: map(purposes),
        }
    }
}

impl ToData for Branch {
    fn to_data(&self) -> Data {
        record! {
            leaf: self.leaf,
            since: self.since,
            time: self.time,
            entries: self.entries,
            own_entries: self.own_entries,
            usage: self.usage,
            own_usage: self.own,
            is_active: self.is_active,
            is_sidechain: self.is_sidechain,
            is_counted: self.is_counted(),
        }
    }
}

impl ToData for Finding {
    fn to_data(&self) -> Data {
        record! {
            code: self.code(),
            severity: self.severity().name(),
            line: self.line,
            entry: self.problem.entry(),
            message: self.to_string(),
            advice: self.problem.advice(),
        }
    }
}

impl ToData for Diagnosis {
    fn to_data(&self) -> Data {
        record! {
            path: self.path,
            dialect: self.dialect,
            size: self.size,
            entries: self.entries,
            is_healthy: self.is_healthy(),
            worst: self.worst().map(|severity| severity.name()),
            findings: self.findings,
        }
    }
}

impl ToData for Reachability {
    fn to_data(&self) -> Data {
        record! {
            entries: self.entries,
            messages: self.messages,
            reachable: self.reachable,
            path: self.path,
        }
    }
}

impl ToData for RepairChanges {
    fn to_data(&self) -> Data {
        let relinked = self.relinked.iter();
        let relinked =
            relinked.map(|it| record! { entry: it.entry, before: it.from, after: it.to });
        let renamed = self.renamed.iter();
        let renamed = renamed.map(|it| record! { entry: it.entry, before: it.from });
        record! {
            relinked: Data::List(relinked.collect()),
            renamed: Data::List(renamed.collect()),
            named: self.named,
            rejected: self.rejected,
            split: self.split,
            copies: self.copies,
            moved_header: self.moved_header,
            named_header: self.named_header,
            upgraded: self.upgraded,
        }
    }
}

impl ToData for RepairPlan {
    fn to_data(&self) -> Data {
        record! {
            path: self.path(),
            dialect: self.dialect(),
            is_empty: self.is_empty(),
            before: self.before(),
            changes: self.changes(),
        }
    }
}

impl ToData for Repair {
    fn to_data(&self) -> Data {
        record! {
            path: self.path,
            output: self.output,
            backup: self.backup,
            rejects: self.rejects,
            dialect: self.dialect,
            before: self.before,
            after: self.after,
            changes: self.changes,
            contexts_gained: self.contexts_gained,
            remaining: self.remaining,
        }
    }
}

impl ToData for Upgrade {
    fn to_data(&self) -> Data {
        record! {
            old_version: self.from,
            new_version: self.to,
            entries: self.entries,
            compactions: self.compactions,
            backup: self.backup,
        }
    }
}

impl ToData for Outcomes {
    fn to_data(&self) -> Data {
        let item = |(kind, outcome, count): (&str, Outcome, usize)| {
            let (outcome, reason) = match outcome {
                Outcome::Carried => ("carried", None),
                Outcome::Adapted(reason) => ("adapted", Some(reason)),
                Outcome::LeftOut(reason) => ("left_out", Some(reason)),
                _ => ("other", None),
            };
            record! { kind: kind, outcome: outcome, reason: reason, count: count }
        };
        Data::List(self.items().into_iter().map(item).collect())
    }
}

impl ToData for ConversionReport {
    fn to_data(&self) -> Data {
        record! {
            source: self.from,
            target: self.to,
            carried: self.outcomes.carried(),
            adapted: self.outcomes.adapted(),
            left_out: self.outcomes.left_out(),
            outcomes: self.outcomes,
            ends: self.ends,
            verified: self.verified,
        }
    }
}

impl ToData for treering_search::Hit {
    fn to_data(&self) -> Data {
        let snippet = &self.snippet;
        // Offsets into UTF-8 mean nothing in languages that count otherwise: the pieces say the same.
        let piece = |(text, is_match): (&str, bool)| record! { text: text, is_match: is_match };
        record! {
            entry: self.entry,
            short: self.short,
            kind: self.kind,
            role: self.role,
            part: self.part.name(),
            name: self.name,
            state: self.state.name(),
            time: self.time,
            snippet: snippet.text,
            pieces: Data::List(snippet.pieces().map(piece).collect()),
        }
    }
}

impl ToData for treering_search::SessionHits {
    fn to_data(&self) -> Data {
        record! { session: self.info, hits: self.hits, total: self.total, score: self.score }
    }
}

impl ToData for treering_redact::Report {
    fn to_data(&self) -> Data {
        let sums = self.sums();
        let sums = sums.iter().map(|sum| {
            record! { kind: sum.kind, distinct: sum.distinct, occurrences: sum.occurrences }
        });
        let places = self.places.iter().map(|place| {
            record! {
                kind: place.kind,
                number: place.number,
                line: place.line,
                entry: place.entry,
                field: place.field,
                count: place.count,
            }
        });
        record! {
            occurrences: self.occurrences(),
            signatures: self.signatures,
            kinds: Data::List(sums.collect()),
            places: Data::List(places.collect()),
        }
    }
}
