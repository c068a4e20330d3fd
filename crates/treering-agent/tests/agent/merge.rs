//! Tests of merges: with a summary, with copies, aborted, and with a leaf that moves meanwhile.

use crate::support::handlers::names;
use crate::support::scripted::{Play, Scripted};
use crate::support::talk::{Home, answer, append, call, json_of, result, user};
use treering::EntryId;
use treering::merge::Selection;
use treering_agent::{AgentError, AgentSession, MergeOptions, MergeOutcome, ModelError, Operation};

/// A question, a branch that read a file, and another branch, where the leaf is.
fn two_branches(agent: &AgentSession) -> (EntryId, EntryId) {
    let start = append(agent, user("Which way?"));
    append(agent, call("c1", "read", "a.rs"));
    append(agent, result("c1", "fn a"));
    let other = append(agent, answer("Left is blocked."));
    agent.session().branch(start.as_str()).unwrap();
    (other, append(agent, answer("Going right.")))
}

#[tokio::test]
async fn a_summary_names_both_branches_and_comes_once() {
    let (home, session) = Home::new();
    let summarizer = Scripted::plays([Play::Say("Left was tried.")]);
    let agent = AgentSession::new(session).with_summarizer(summarizer.clone());
    let (other, leaf) = two_branches(&agent);
    let options = MergeOptions::new().custom_instructions("the walls");
    let MergeOutcome::Done(merged) = agent.merge(other.as_str(), options).await.unwrap() else {
        panic!()
    };
    let entry = json_of(&merged.entry);
    assert_eq!(
        (&entry["parentId"], &entry["fromId"]),
        (&leaf.as_str().into(), &other.as_str().into())
    );
    assert!(entry["summary"].as_str().unwrap().contains("Left was tried.\n\n<read-files>\na.rs"));
    assert_eq!(entry["details"]["merge"]["from"], other.as_str());
    assert!(summarizer.requests()[0].user.contains("Additional focus: the walls"));
    let again = agent.merge(other.as_str(), MergeOptions::default()).await.unwrap();
    assert!(matches!(again, MergeOutcome::NothingNew));
    assert_eq!(home.reopened().leaf(), Some(merged.entry.id().clone()));
}

#[tokio::test]
async fn messages_themselves_need_no_summarizer() {
    let (_home, session) = Home::new();
    let agent = AgentSession::new(session);
    let (other, _) = two_branches(&agent);
    let error = agent.merge(other.as_str(), MergeOptions::default()).await.unwrap_err();
    assert!(matches!(error, AgentError::Model(ModelError::NotConfigured)));
    let picked = agent.cherry_pick(&Selection::entry(other.as_str())).unwrap();
    assert_eq!(picked.len(), 1);
    let full = MergeOptions::new().full(true);
    let MergeOutcome::Done(merged) = agent.merge(other.as_str(), full).await.unwrap() else {
        panic!()
    };
    assert_eq!(merged.copies.len(), 2, "the call and its result; the answer is here already");
}

#[tokio::test]
async fn an_aborted_merge_writes_nothing_and_a_leaf_that_moved_stays() {
    let (home, session) = Home::new();
    let summarizer = Scripted::plays([Play::Hang, Play::Wait("late"), Play::Wait("later")]);
    let agent = AgentSession::new(session).with_summarizer(summarizer.clone());
    let (other, leaf) = two_branches(&agent);
    let bytes = home.bytes();
    let merge = || agent.merge(other.as_str(), MergeOptions::default());
    let stop = async {
        summarizer.arrived().await;
        assert_eq!(agent.abort(), Some(Operation::Merge));
    };
    let (merged, ()) = tokio::join!(merge(), stop);
    assert!(matches!(merged, Ok(MergeOutcome::Aborted)));
    assert_eq!((home.bytes(), agent.running()), (bytes, None));

    // The branch grows: the merge goes to its end.
    let grow = async {
        summarizer.arrived().await;
        let more = append(&agent, user("On we go."));
        summarizer.go();
        more
    };
    let (merged, more) = tokio::join!(merge(), grow);
    let Ok(MergeOutcome::Done(merged)) = merged else { panic!("{merged:?}") };
    assert_eq!(merged.entry.parent(), Some(&more));

    // The session goes elsewhere: it is not pulled back.
    agent.session().branch(leaf.as_str()).unwrap();
    let mut events = agent.subscribe();
    let leave = async {
        summarizer.arrived().await;
        agent.session().branch(merged.plan.common_ancestor.as_ref().unwrap().as_str()).unwrap();
        let elsewhere = append(&agent, user("Neither."));
        summarizer.go();
        elsewhere
    };
    let (merged, elsewhere) = tokio::join!(merge(), leave);
    let Ok(MergeOutcome::Done(merged)) = merged else { panic!("{merged:?}") };
    assert_eq!(merged.entry.parent(), Some(&leaf));
    assert_eq!(agent.session().leaf(), Some(elsewhere.clone()));
    assert_eq!(home.reopened().leaf(), Some(elsewhere));
    assert!(!names(&mut events).contains(&"session_tree"), "the leaf has not moved");
}

#[tokio::test]
async fn a_merge_takes_back_no_move_of_another_process() {
    let (home, session) = Home::new();
    let summarizer = Scripted::plays([Play::Wait("late")]);
    let agent = AgentSession::new(session).with_summarizer(summarizer.clone());
    let (other, leaf) = two_branches(&agent);
    let leave = async {
        summarizer.arrived().await;
        home.reopened().branch(other.as_str()).unwrap();
        summarizer.go();
    };
    let (merged, ()) = tokio::join!(agent.merge(other.as_str(), MergeOptions::default()), leave);
    let Ok(MergeOutcome::Done(merged)) = merged else { panic!("{merged:?}") };
    assert_eq!(merged.entry.parent(), Some(&leaf));
    assert_eq!(agent.session().leaf().as_ref(), Some(merged.entry.id()));
    assert_eq!(home.reopened().leaf(), Some(other));
}
