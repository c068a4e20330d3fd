//! Changes to the branches of a session: the leaf, labels, forks, merges, compactions, context edits.

use super::{DialectName, EntryName, NewId, ShortText};
use crate::schema::{Components, Schema, api_object};
use serde_json::{Value, json};

api_object! { request
    /// The entry that becomes the leaf.
    NewLeaf {
        /// The entry; null for before the first one.
        entry: Option<EntryName>,
    }
}

api_object! { answer
    /// The entry that is the leaf.
    Leaf {
        /// The entry; null before the first one.
        leaf: Option<String>,
        /// The length of the log in bytes.
        length: u64,
    }
}

api_object! { request
    /// A label.
    NewLabel {
        /// The text; null removes the label.
        label: Option<ShortText>,
    }
}

api_object! { request
    /// A name.
    NewName {
        /// The name; an empty one removes it.
        name: ShortText,
    }
}

api_object! { request
    /// A fork.
    NewFork {
        /// The entry that the fork ends at; the leaf of the session if there is none.
        at: Option<EntryName>,
        /// The dialect of the fork; that of the session if there is none, or pi's if that one is read-only.
        dialect: Option<DialectName>,
        /// The id; a UUID if there is none.
        id: Option<NewId>,
        /// The directory of its project; that of the session if there is none.
        cwd: Option<ShortText>,
        /// Whether secrets are replaced; `GET …/secrets` lists them.
        redact: Option<bool>,
    }
}

api_object! { request
    /// Entries to be copied to the leaf.
    NewPick {
        /// The entry, or the first one of a range.
        first: EntryName,
        /// The last one of a range, below the first.
        last: Option<EntryName>,
        /// The session to copy from; this one if there is none.
        from: Option<NewId>,
        /// Whether entries that are already on the path are copied again.
        force: Option<bool>,
        /// Whether nothing is written.
        dry_run: Option<bool>,
    }
}

api_object! { answer
    /// Entries that were copied, or would be.
    Picked {
        /// The entries of the source.
        entries: Vec<String>,
        /// The ids of the copies; none if nothing was written.
        ids: Vec<String>,
        /// Entries that are copied as well, to keep tool calls with their results.
        companions: Vec<String>,
        /// Entries that are already on the path.
        skipped: Vec<String>,
        /// Entries that are not messages, and were left out.
        left_out: Vec<String>,
        /// The size of the copies in tokens, estimated.
        tokens: u64,
    }
}

api_object! { request
    /// A merge of another branch into the active one.
    NewMerge {
        /// The entry at the end of the other branch.
        from: EntryName,
        /// A summary of its work. Without one, its messages are copied.
        summary: Option<String>,
        /// Whether nothing is written.
        dry_run: Option<bool>,
    }
}

api_object! { answer
    /// A merge that was made, or would be.
    Merged {
        /// Whether something was written.
        merged: bool,
        /// The entry that records the merge.
        id: Option<String>,
        /// The entries of the other branch that are new to this one.
        entries: Vec<String>,
        /// The ids of the copies.
        copies: Vec<String>,
        /// The size of the work in tokens, estimated.
        tokens: u64,
    }
}

api_object! { request
    /// A compaction at the leaf.
    NewCompaction {
        /// The summary. Without one, it is made of quotations, without a model.
        summary: Option<String>,
        /// The number of the newest tokens that are kept.
        keep_recent_tokens: Option<u64>,
        /// Whether nothing is written.
        dry_run: Option<bool>,
    }
}

api_object! { answer
    /// A compaction that was made, or would be.
    Compacted {
        /// Whether something was written.
        compacted: bool,
        /// The reason why there is nothing to compact: `too_small` or `already_compacted`.
        reason: Option<String>,
        /// The entry.
        id: Option<String>,
        /// The first entry that is kept.
        first_kept_entry_id: Option<String>,
        /// The size of the context before, in tokens.
        tokens_before: Option<u64>,
        /// The size of what is kept, in tokens.
        tokens_kept: Option<u64>,
        /// The conversation that the summary replaces, as text; only with `dryRun`.
        conversation: Option<String>,
        /// The summary.
        summary: Option<String>,
    }
}

/// The kinds of context edits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EditKind {
    Drop,
    Replace,
    Restore,
}

impl Schema for EditKind {
    fn schema(_: &mut Components) -> Value {
        json!({"type": "string", "enum": ["drop", "replace", "restore"]})
    }
}

/// The entries of a context edit.
#[derive(Debug, Clone, serde::Deserialize)]
#[serde(try_from = "Vec<EntryName>")]
pub(crate) struct EditedEntries(pub(crate) Vec<EntryName>);

impl TryFrom<Vec<EntryName>> for EditedEntries {
    type Error = &'static str;

    fn try_from(entries: Vec<EntryName>) -> Result<Self, Self::Error> {
        if entries.is_empty() {
            Err("entries: at least one is needed")
        } else {
            Ok(EditedEntries(entries))
        }
    }
}

impl Schema for EditedEntries {
    fn schema(components: &mut Components) -> Value {
        json!({"type": "array", "items": EntryName::schema(components), "minItems": 1})
    }
}

api_object! { request
    /// An edit of the context at the leaf.
    NewContextEdit {
        /// `drop` takes entries out, `replace` gives one another text, `restore` gives them their own content back.
        edit: EditKind,
        /// The entries; exactly one for `replace`.
        entries: EditedEntries,
        /// The text, for `replace`. A message keeps its tool calls.
        text: Option<String>,
        /// Whether nothing is written.
        dry_run: Option<bool>,
    }
}

api_object! { answer
    /// An edit of the context that was made, or would be.
    ContextEdited {
        /// The entries whose contributions change, in the order of the context.
        targets: Vec<String>,
        /// Entries among them that were added: the results of a message's tool calls.
        companions: Vec<String>,
        /// The entries that were written; none if nothing was.
        edits: Vec<String>,
        /// The size of the context before, in tokens, estimated.
        tokens_before: u64,
        /// The size of the context after it, in tokens, estimated.
        tokens_after: u64,
    }
}
