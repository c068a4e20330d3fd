//! Tests of handlers that take part in a compaction.

use crate::compact::{done, keep_a_turn, talk};
use crate::support::handlers::{Extension, seen};
use crate::support::scripted::Scripted;
use crate::support::talk::{Home, json_of, user};
use serde_json::json;
use std::sync::Arc;
use treering::EntryId;
use treering_agent::{
    AgentError, AgentSession, CompactOverride, CompactingOverride, Compaction, Decision, Event,
    ModelError, SuppliedSummary,
};

fn with_extension(extension: Extension) -> (Home, Vec<EntryId>, Arc<Scripted>, AgentSession) {
    let (home, session) = Home::new();
    let ids = talk(&session, 1..=3);
    let summarizer = Scripted::plays([]);
    let agent = AgentSession::new(session)
        .with_summarizer(summarizer.clone())
        .with_hooks("ext", Arc::new(extension));
    (home, ids, summarizer, agent)
}

fn supplies(text: &str, details: Option<&[u8]>, first_kept: Option<EntryId>) -> Extension {
    let mut summary = SuppliedSummary::new(text);
    summary.details = details.map(<[u8]>::to_vec);
    let mut wish = CompactOverride::new(summary);
    wish.first_kept = first_kept;
    let compact = Decision::Use(wish);
    Extension { compact, ..Default::default() }
}

#[tokio::test]
async fn handlers_can_refuse() {
    for extension in [
        Extension { compact: Decision::Cancel, ..Default::default() },
        Extension { compacting: Decision::Cancel, ..Default::default() },
    ] {
        let (home, _, summarizer, agent) = with_extension(extension);
        let (bytes, mut events) = (home.bytes(), agent.subscribe());
        let refused = agent.compact(keep_a_turn()).await;
        assert!(matches!(refused, Ok(Compaction::Canceled { hook }) if &*hook == "ext"));
        let Some(Event::SessionCompactFailed(failed)) = seen(&mut events).pop() else { panic!() };
        assert!(failed.aborted && failed.error.contains("ext"));
        assert_eq!((home.bytes(), summarizer.requests().len()), (bytes, 0));
    }
}

#[tokio::test]
async fn handlers_can_supply_the_summary() {
    let (_home, ids, summarizer, agent) =
        with_extension(supplies("Mine.", Some(br#"{"n":1.50}"#), None));
    let mut events = agent.subscribe();
    let compacted = done(agent.compact(keep_a_turn()).await);
    let raw = json_of(&compacted.entry);
    assert_eq!((&raw["summary"], &raw["fromHook"]), (&json!("Mine."), &json!(true)));
    assert_eq!((&raw["details"], raw.get("usage")), (&json!({ "n": 1.5 }), None));
    assert_eq!((&compacted.first_kept, compacted.usage), (&ids[4], None));
    assert_eq!(summarizer.requests().len(), 0);
    let Some(Event::SessionCompact(compacted)) = seen(&mut events).pop() else { panic!() };
    assert!(compacted.from_extension);
}

#[tokio::test]
async fn handlers_can_choose_what_is_kept_on_the_branch() {
    // The leaf itself, and earlier entries.
    for kept in [5, 1, 3] {
        let (_home, ids, _, agent) = with_extension(Extension::default());
        let agent = rehooked(agent, supplies("Mine.", None, Some(ids[kept].clone())));
        let compacted = done(agent.compact(keep_a_turn()).await);
        assert_eq!(compacted.first_kept, ids[kept]);
        assert_eq!(json_of(&compacted.entry)["firstKeptEntryId"], *ids[kept].as_str());
        assert_eq!(agent.context().unwrap().messages.len(), 1 + 6 - kept);
    }
    let (home, ids, _, agent) = with_extension(Extension::default());
    let session = agent.session();
    session.branch(ids[1].as_str()).unwrap();
    let elsewhere = session.append(user("elsewhere")).unwrap();
    session.branch(ids[5].as_str()).unwrap();
    let bytes = home.bytes();
    let beginning = EntryId::from(&ids[3].as_str()[..7]);
    for wrong in [elsewhere, EntryId::from("nowhere"), beginning] {
        let session = home.reopened();
        let agent = AgentSession::new(session)
            .with_summarizer(Scripted::plays([]))
            .with_hooks("e", Arc::new(supplies("Mine.", None, Some(wrong.clone()))));
        match agent.compact(keep_a_turn()).await {
            Err(AgentError::NotOnBranch(named)) => assert_eq!(named, wrong),
            other => panic!("{other:?}"),
        }
        assert_eq!(home.bytes(), bytes);
    }
    let agent = rehooked(agent, supplies(" ", None, None));
    let empty = agent.compact(keep_a_turn()).await;
    assert!(matches!(empty, Err(AgentError::Model(ModelError::Empty))));
    assert_eq!(home.bytes(), bytes);
}

/// The same session with one more extension, whose answer counts.
fn rehooked(agent: AgentSession, extension: Extension) -> AgentSession {
    agent.with_hooks("later", Arc::new(extension))
}

#[tokio::test]
async fn handlers_can_change_the_request() {
    let wish = |prompt: Option<&str>, context: &[&str]| {
        let mut wish = CompactingOverride::new();
        wish.prompt = prompt.map(str::to_owned);
        wish.context = context.iter().map(|text| text.to_string()).collect();
        wish
    };
    // (wish, end of the request, whether the usual instructions are there)
    let cases = [
        (wish(None, &[]), "Additional focus: own", true),
        (wish(Some("As a poem."), &[]), "</conversation>\n\nAs a poem.", false),
        (wish(None, &["Known: x", "And y"]), "Additional focus: own\n\nKnown: x\n\nAnd y", true),
        (wish(Some("As a poem."), &["Known: x"]), "\n\nAs a poem.\n\nKnown: x", false),
        (wish(Some(""), &[]), "Additional focus: own", true),
    ];
    for (wish, end, usual) in cases {
        let compacting = Decision::Use(wish.clone());
        let (_home, _, summarizer, agent) =
            with_extension(Extension { compacting, ..Default::default() });
        let options = keep_a_turn().instructions("own");
        done(agent.compact(options).await);
        let requests = summarizer.requests();
        assert!(requests[0].user.ends_with(end), "{wish:?}: {}", requests[0].user);
        assert_eq!(requests[0].user.contains("another model can continue"), usual, "{wish:?}");
        assert!(requests[0].user.contains("question 1"));
    }
}
