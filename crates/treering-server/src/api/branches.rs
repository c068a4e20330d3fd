//! The operations that change the branches of a session, and turns with a model.

use super::{ENTRY, ID, IF_MATCH, KEY, detail_example};
use crate::call::{Call, JSON};
use crate::handlers::{branches, turns};
use crate::operation::{Answered, Operation, Run};
use crate::problem::Code;
use crate::types;
use axum::http::Method;
use serde_json::{Value, json};
use std::future::Future;
use std::pin::Pin;
use treering::store::Scope;

/// Returns the operations.
pub(super) fn operations() -> Vec<Operation> {
    let write = Some(Scope::Write);
    let session = [Code::UnknownSession, Code::UnknownEntry, Code::NotWritable, Code::NotASession];
    vec![
        Operation::new(
            (Method::PUT, "/v1/sessions/{id}/leaf"),
            ("moveLeaf", "Branches"),
            write,
            ("Move the leaf", "The next append continues this entry."),
            run!(branches::move_leaf),
        )
        .params(&[ID, IF_MATCH])
        .body::<types::NewLeaf>(JSON, json!({"entry": "1f3a9c0e"}))
        .answer(200, "Where the leaf is.")
        .with::<types::Leaf>(JSON, json!({"leaf": "1f3a9c0e", "length": 4096}))
        .problems(&session)
        .problems(&[Code::LeafMoved]),
        Operation::new(
            (Method::PUT, "/v1/sessions/{id}/labels/{entry}"),
            ("labelEntry", "Branches"),
            write,
            ("Label an entry", ""),
            run!(branches::label),
        )
        .params(&[ID, ENTRY])
        .body::<types::NewLabel>(JSON, json!({"label": "before the rewrite"}))
        .answer(200, "Where the leaf is.")
        .with::<types::Leaf>(JSON, Value::Null)
        .problems(&session),
        Operation::new(
            (Method::POST, "/v1/sessions/{id}/fork"),
            ("forkSession", "Branches"),
            write,
            ("Fork a session", "Copies the path to an entry into a new session, which is read again and compared before it appears."),
            run!(branches::fork),
        )
        .params(&[ID, KEY])
        .body::<types::NewFork>(JSON, json!({"at": "1f3a9c0e"}))
        .answer(200, "The fork was made by a call with the same key before.")
        .with::<types::SessionDetail>(JSON, Value::Null)
        .answer(201, "The fork.")
        .with::<types::SessionDetail>(JSON, detail_example())
        .header("Location", "The path of the fork.")
        .problems(&session)
        .problems(&[Code::SessionExists, Code::NotApplicable, Code::InvalidEntry, Code::IdempotencyKeyReused]),
        Operation::new(
            (Method::POST, "/v1/sessions/{id}/cherry-pick"),
            ("cherryPick", "Branches"),
            write,
            ("Copy entries to the leaf", "Of another branch, or of another session. A tool call comes with its results."),
            run!(branches::cherry_pick),
        )
        .param(ID)
        .body::<types::NewPick>(JSON, json!({"first": "1f3a9c0e"}))
        .answer(200, "What was copied.")
        .with::<types::Picked>(JSON, Value::Null)
        .problems(&session)
        .problems(&[Code::NotApplicable, Code::LeafMoved, Code::InvalidEntry, Code::DuplicateEntry]),
        Operation::new(
            (Method::POST, "/v1/sessions/{id}/merge"),
            ("mergeBranch", "Branches"),
            write,
            ("Merge another branch", "Appends what is new on the other branch, as copies or as a summary."),
            run!(branches::merge),
        )
        .param(ID)
        .body::<types::NewMerge>(JSON, json!({"from": "1f3a9c0e"}))
        .answer(200, "What was merged.")
        .with::<types::Merged>(JSON, Value::Null)
        .problems(&session)
        .problems(&[Code::NotApplicable, Code::LeafMoved, Code::InvalidEntry, Code::DuplicateEntry]),
        Operation::new(
            (Method::POST, "/v1/sessions/{id}/compaction"),
            ("compactSession", "Branches"),
            write,
            ("Compact the context", "A summary replaces the older part of it: the caller's, or one made of quotations. With `dryRun`, the answer has the conversation to be summarized."),
            run!(branches::compact),
        )
        .param(ID)
        .body::<types::NewCompaction>(JSON, json!({"dryRun": true}))
        .answer(200, "The compaction, or why there is none.")
        .with::<types::Compacted>(JSON, Value::Null)
        .problems(&session)
        .problems(&[Code::NotApplicable, Code::LeafMoved, Code::InvalidEntry]),
        Operation::new(
            (Method::POST, "/v1/sessions/{id}/context"),
            ("editContext", "Branches"),
            write,
            (
                "Edit the context",
                "Changes what entries contribute to the context of this branch, from its leaf on: removes them with the results of their tool calls (`drop`), replaces the text of one (`replace`), or undoes such edits (`restore`). The entries stay as they are. With `dryRun`, the answer tells what it would save.",
            ),
            run!(branches::edit_context),
        )
        .params(&[ID, IF_MATCH])
        .body::<types::NewContextEdit>(JSON, json!({"edit": "drop", "entries": ["1f3a9c0e"], "dryRun": true}))
        .answer(200, "The edit.")
        .with::<types::ContextEdited>(JSON, json!({"targets": ["1f3a9c0e"], "companions": [], "edits": [], "tokensBefore": 5200, "tokensAfter": 1200}))
        .problems(&session)
        .problems(&[Code::NotApplicable, Code::LeafMoved, Code::InvalidEntry]),
        Operation::new(
            (Method::POST, "/v1/sessions/{id}/turns"),
            ("startTurn", "Turns"),
            write,
            (
                "Talk to the model",
                "The message continues the leaf of the session, and the answer follows it; both are recorded, also an answer that fails or is stopped. The answer is streamed as server-sent events: `question` and `answer` name the entries that were written, `thinking` and `text` are more of the answer, `restart` voids what came so far, `retry` says why the model is asked again, `end` is the last one and says how the turn ended. Closing the connection stops the turn.",
            ),
            run!(turns::start),
        )
        .param(ID)
        .body::<types::NewTurn>(JSON, json!({"text": "Tea or coffee?"}))
        .answer(200, "The answer, as it arrives.")
        .with::<types::Text>("text/event-stream", json!("event: text\ndata: {\"text\":\"Tea.\"}\n\nevent: end\ndata: {\"end\":\"complete\",\"detail\":\"the answer is complete\",\"answer\":\"2b7d4c1a\",\"usage\":null}\n\n"))
        .problems(&[Code::UnknownSession, Code::NotWritable, Code::NotASession, Code::TurnRunning, Code::NoModel])
        .stream(),
        Operation::new(
            (Method::POST, "/v1/sessions/{id}/turns/stop"),
            ("stopTurn", "Turns"),
            write,
            ("Stop the model", "The answer is recorded as far as it came."),
            run!(turns::stop),
        )
        .param(ID)
        .answer(200, "Whether there was something to stop.")
        .with::<types::TurnStopped>(JSON, json!({"stopped": true}))
        .problems(&[Code::UnknownSession, Code::NotASession]),
    ]
}
