//! Tests of handlers that take part in navigation.

use crate::navigate::{Forest, forest, given, moved, summarize};
use crate::support::handlers::{Extension, names, seen};
use crate::support::scripted::Scripted;
use crate::support::talk::{Home, json_of};
use serde_json::json;
use std::sync::Arc;
use treering_agent::{
    AgentSession, Decision, Event, NavigateOptions, Navigation, SuppliedSummary, TreeOverride,
};

struct World {
    home: Home,
    forest: Forest,
    summarizer: Arc<Scripted>,
    agent: AgentSession,
}

fn world(tree: Decision<TreeOverride>) -> World {
    let (home, session) = Home::new();
    let forest = forest(&session);
    let summarizer = Scripted::plays([]);
    let agent = AgentSession::new(session)
        .with_summarizer(summarizer.clone())
        .with_hooks("ext", Arc::new(Extension { tree, ..Default::default() }));
    World { home, forest, summarizer, agent }
}

fn supplied(text: &str, details: Option<&[u8]>) -> TreeOverride {
    let mut summary = SuppliedSummary::new(text);
    summary.details = details.map(<[u8]>::to_vec);
    TreeOverride::new().summary(summary)
}

#[tokio::test]
async fn the_event_before_a_navigation_has_all_facts() {
    let World { home: _home, forest, agent, .. } = world(Decision::Pass);
    let mut events = agent.subscribe();
    let options = NavigateOptions::new()
        .summarize(true)
        .custom_instructions("be brief")
        .replace_instructions(true)
        .label("here");
    moved(agent.navigate(forest.u3.as_str(), options).await);
    let Some(Event::SessionBeforeTree(event)) = seen(&mut events).into_iter().next() else {
        panic!()
    };
    assert!(Arc::ptr_eq(&event.session, &agent.session()));
    assert_eq!(event.target, forest.u3);
    assert_eq!(event.old_leaf.as_ref(), Some(&forest.a3));
    assert_eq!(event.common_ancestor.as_ref(), Some(&forest.a1));
    let left = [&forest.u2, &forest.c2, &forest.r2, &forest.a3];
    assert_eq!(event.entries_to_summarize.iter().collect::<Vec<_>>(), left);
    assert!(event.user_wants_summary && event.replace_instructions);
    assert_eq!(event.custom_instructions.as_deref(), Some("be brief"));
    assert_eq!(event.label.as_deref(), Some("here"));

    let mut events = agent.subscribe();
    moved(agent.navigate(forest.a3.as_str(), NavigateOptions::exact()).await);
    moved(agent.navigate(forest.u1.as_str(), given("x")).await);
    let wants: Vec<bool> = seen(&mut events)
        .into_iter()
        .filter_map(|event| match event {
            Event::SessionBeforeTree(event) => Some(event.user_wants_summary),
            _ => None,
        })
        .collect();
    assert_eq!(wants, [false, true]);
}

#[tokio::test]
async fn a_handler_that_refuses_prevents_navigation() {
    let World { home, forest, agent, summarizer } = world(Decision::Cancel);
    let (bytes, mut events) = (home.bytes(), agent.subscribe());
    let done = agent.navigate(forest.u3.as_str(), summarize()).await;
    assert!(matches!(done, Ok(Navigation::Canceled { hook }) if &*hook == "ext"));
    assert_eq!(names(&mut events), ["session_before_tree"]);
    assert_eq!((home.bytes(), agent.session().leaf()), (bytes, Some(forest.a3)));
    assert_eq!((summarizer.requests().len(), agent.running()), (0, None));
}

#[tokio::test]
async fn a_supplied_summary_is_used_if_one_is_wanted() {
    let World { home: _home, forest, agent, summarizer } =
        world(Decision::Use(supplied("Mine.", Some(br#"{"n":1.50}"#))));
    let mut events = agent.subscribe();
    let done = moved(agent.navigate(forest.u3.as_str(), summarize()).await);
    let raw = json_of(done.summary.as_ref().unwrap());
    assert_eq!((&raw["summary"], &raw["fromHook"]), (&json!("Mine."), &json!(true)));
    assert_eq!((&raw["details"], raw.get("usage")), (&json!({ "n": 1.5 }), None));
    assert_eq!(
        (&raw["fromId"], &raw["parentId"]),
        (&json!(*forest.a3.as_str()), &json!(*forest.a1.as_str()))
    );
    let text = String::from_utf8(done.summary.unwrap().raw().to_vec()).unwrap();
    assert!(text.contains(r#"{"n":1.50}"#), "its JSON is kept as it is");
    let last = seen(&mut events).pop();
    assert!(matches!(last, Some(Event::SessionTree(event)) if event.from_extension));
    assert_eq!(summarizer.requests().len(), 0);

    // Not wanted: not used.
    let mut events = agent.subscribe();
    let done = moved(agent.navigate(forest.a3.as_str(), NavigateOptions::default()).await);
    assert!(done.summary.is_none());
    let last = seen(&mut events).pop();
    assert!(matches!(last, Some(Event::SessionTree(event)) if !event.from_extension));
    // Wanted where nothing is left behind: used.
    agent.session().branch(forest.a1.as_str()).unwrap();
    let done = moved(agent.navigate(forest.a3.as_str(), summarize()).await);
    assert_eq!(done.summary.unwrap().parent(), Some(&forest.a3));
    // Before one the user gave.
    let options = given("Yours.");
    let done = moved(agent.navigate(forest.u1.as_str(), options).await);
    assert_eq!(json_of(&done.summary.unwrap())["summary"], "Mine.");
}

#[tokio::test]
async fn a_supplied_summary_without_text_is_none() {
    let World { home: _home, forest, agent, summarizer } =
        world(Decision::Use(supplied(" ", None)));
    let mut events = agent.subscribe();
    let done = moved(agent.navigate(forest.u3.as_str(), summarize()).await);
    assert_eq!(summarizer.requests().len(), 1, "the handlers change nothing");
    assert!(json_of(&done.summary.unwrap()).get("fromHook").is_none());
    let last = seen(&mut events).pop();
    assert!(matches!(last, Some(Event::SessionTree(event)) if !event.from_extension));
}

#[tokio::test]
async fn instructions_and_labels_can_be_overridden() {
    let other = |instructions: Option<&str>, replace, label: Option<&str>| {
        let mut wish = TreeOverride::new();
        wish.custom_instructions = instructions.map(str::to_owned);
        wish.replace_instructions = replace;
        wish.label = label.map(str::to_owned);
        wish
    };
    // (override, end of the request, whether the usual instructions are there, label)
    let cases = [
        (other(None, None, None), "Additional focus: own", true, Some("own")),
        (other(Some("theirs"), None, None), "Additional focus: theirs", true, Some("own")),
        (other(None, Some(true), None), "</conversation>\n\nown", false, Some("own")),
        (other(Some("theirs"), Some(true), Some("new")), "\n\ntheirs", false, Some("new")),
        (other(None, None, Some("")), "Additional focus: own", true, None),
    ];
    for (wish, end, usual, label) in cases {
        let World { home: _home, forest, agent, summarizer } = world(Decision::Use(wish.clone()));
        let options = summarize().custom_instructions("own").label("own");
        let done = moved(agent.navigate(forest.u3.as_str(), options).await);
        let requests = summarizer.requests();
        assert!(requests[0].user.ends_with(end), "{wish:?}: {}", requests[0].user);
        assert_eq!(requests[0].user.contains("## Goal"), usual, "{wish:?}");
        let tree = agent.session().tree();
        assert_eq!(tree.label(done.summary.unwrap().id().as_str()), label, "{wish:?}");
    }
}
