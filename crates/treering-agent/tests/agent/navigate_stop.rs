//! Tests of navigation that is aborted, dropped, or fails because there is no summary.

use crate::navigate::{forest, moved, summarize};
use crate::support::handlers::{Extension, names};
use crate::support::scripted::{Play, Scripted};
use crate::support::talk::Home;
use std::pin::Pin;
use std::sync::Arc;
use treering_agent::{
    AgentError, AgentSession, ModelError, NavigateOptions, Navigation, Operation,
};

#[derive(Debug, Clone, Copy)]
enum Stop {
    Token,
    Abort,
    Drop,
}

#[tokio::test]
async fn an_aborted_navigation_changes_nothing() {
    for stop in [Stop::Token, Stop::Abort, Stop::Drop] {
        for at_the_handlers in [true, false] {
            for play in [Play::Wait("late"), Play::Hang] {
                give_up(stop, at_the_handlers, play).await;
            }
        }
    }
}

async fn give_up(stop: Stop, at_the_handlers: bool, play: Play) {
    let (home, session) = Home::new();
    let forest = forest(&session);
    let summarizer = Scripted::plays([play]);
    let extension = match at_the_handlers {
        true => Extension::hanging(),
        false => Arc::new(Extension::default()),
    };
    let agent = AgentSession::new(session)
        .with_summarizer(summarizer.clone())
        .with_hooks("e", extension.clone());
    let (bytes, mut events) = (home.bytes(), agent.subscribe());
    let options = summarize().label("x");
    let cancel = options.cancel.clone();
    type Work<'a> = Pin<Box<dyn Future<Output = Result<Navigation, AgentError>> + 'a>>;
    let mut work: Work<'_> = Box::pin(agent.navigate(forest.u3.as_str(), options));
    tokio::select! {
        done = &mut work => panic!("{done:?}"),
        () = async {
            match at_the_handlers {
                true => extension.entered().await,
                false => summarizer.arrived().await,
            }
        } => {}
    }
    match stop {
        Stop::Token => cancel.cancel(),
        Stop::Abort => assert_eq!(agent.abort(), Some(Operation::Navigation)),
        Stop::Drop => {
            drop(std::mem::replace(&mut work, Box::pin(async { Ok(Navigation::Aborted) })))
        }
    }
    assert!(matches!(work.await, Ok(Navigation::Aborted)), "{stop:?}");
    assert_eq!(names(&mut events), ["session_before_tree"]);
    assert_eq!((home.bytes(), agent.session().leaf()), (bytes.clone(), Some(forest.a3.clone())));
    assert_eq!(home.reopened().leaf(), Some(forest.a3.clone()));
    assert_eq!(agent.running(), None);
    // And the next operation works.
    if !at_the_handlers {
        moved(agent.navigate(forest.u3.as_str(), summarize()).await);
        assert!(home.bytes().starts_with(&bytes) && home.bytes() != bytes);
    }
}

#[tokio::test]
async fn a_navigation_canceled_before_it_began_changes_nothing() {
    let (home, session) = Home::new();
    let forest = forest(&session);
    let agent = AgentSession::new(session).with_summarizer(Scripted::plays([]));
    let bytes = home.bytes();
    for options in [summarize(), NavigateOptions::default()] {
        options.cancel.cancel();
        let done = agent.navigate(forest.u3.as_str(), options).await;
        assert!(matches!(done, Ok(Navigation::Aborted)));
    }
    assert_eq!(home.bytes(), bytes);
}

#[tokio::test]
async fn a_failed_summary_leaves_the_leaf() {
    let (home, session) = Home::new();
    let forest = forest(&session);
    let agent = AgentSession::new(session)
        .with_summarizer(Scripted::plays([Play::Fail(ModelError::Length), Play::Say("")]));
    let bytes = home.bytes();
    for expected in [ModelError::Length, ModelError::Empty] {
        match agent.navigate(forest.u3.as_str(), summarize()).await {
            Err(AgentError::Model(error)) => assert_eq!(error, expected),
            other => panic!("{other:?}"),
        }
        assert_eq!(
            (home.bytes(), agent.session().leaf()),
            (bytes.clone(), Some(forest.a3.clone()))
        );
    }
}
