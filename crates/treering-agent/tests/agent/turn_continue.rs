//! Turns without a new message of the user.

use crate::support::handlers::seen;
use crate::support::model::{Reply, ScriptedModel};
use crate::support::talk::{Home, answer, call, lines, user};
use crate::turn::{echo, prompt};
use treering::Session;
use treering::entry::UserMessage;
use treering_agent::{
    AgentError, AgentSession, AgentSettings, CancellationToken, Event, ModelError, TurnEnd,
    TurnReport, TurnSettings,
};

async fn continues(agent: &AgentSession, model: &ScriptedModel) -> TurnReport {
    agent.continue_turn(model, None, &CancellationToken::new()).await.unwrap()
}

#[tokio::test]
async fn a_message_that_the_caller_appended_is_answered() {
    let (home, session) = Home::new();
    let agent = AgentSession::new(session);
    let question =
        UserMessage::new().with_text("What is this?").with_image("image/png", "iVBORw0KGgo=");
    agent.session().append(question).unwrap();
    let model = ScriptedModel::plays([Reply::Text("A square.")]);
    let mut events = agent.subscribe();
    let turn = continues(&agent, &model).await;
    assert_eq!((&*turn.text, turn.end, turn.rounds), ("A square.", TurnEnd::Complete, 1));
    let reopened = home.reopened();
    assert_eq!(reopened.leaf(), Some(turn.answer));
    let context = reopened.context().unwrap();
    assert_eq!(lines(&context), ["user: What is this?", "assistant: A square."]);
    assert_eq!(context.model.and_then(|model| model.full_name()).as_deref(), Some("acme/m1"));
    let Event::TurnStart(started) = seen(&mut events).remove(0) else { panic!() };
    assert_eq!(started.question, turn.question);
    assert!(reopened.tree().is_ancestor(&turn.question, reopened.leaf().unwrap()).unwrap());
}

#[tokio::test]
async fn answers_that_failed_or_were_aborted_are_requested_again() {
    let (home, session) = Home::new();
    let agent = AgentSession::new(session).with_tool(echo());
    let refused = ModelError::Http { status: 401, message: "key".into() };
    let model = ScriptedModel::plays([
        Reply::Calls(vec![("a", "echo", "{}")]),
        Reply::Fail(refused.clone()),
        Reply::Hang,
        Reply::Text("At last."),
    ]);
    let failed = prompt(&agent, &model).await;
    assert_eq!(failed.end, TurnEnd::Failed(refused));
    let aborts = async {
        model.arrived.acquire_many(3).await.unwrap().forget();
        agent.abort();
    };
    let (aborted, ()) = tokio::join!(continues(&agent, &model), aborts);
    assert_eq!(aborted.end, TurnEnd::Aborted);
    let turn = continues(&agent, &model).await;
    assert_eq!(turn.end, TurnEnd::Complete);
    let reopened = home.reopened();
    let context = lines(&reopened.context().unwrap());
    assert_eq!(context, ["user: Begin.", "assistant: ", "toolResult: {}", "assistant: At last."]);
    assert_eq!(model.requests()[3], context[..3]);
    // Both are still in the file.
    assert!(reopened.entry(failed.answer.as_str()).is_ok());
    assert!(reopened.entry(aborted.answer.as_str()).is_ok());
}

#[tokio::test]
async fn a_turn_continues_after_the_limit_of_rounds_and_after_a_crash() {
    let (home, session) = Home::new();
    let limit = AgentSettings::new().turn(TurnSettings::new().max_rounds(1));
    let agent = AgentSession::new(session).with_tool(echo()).with_settings(limit);
    let model = ScriptedModel::plays([
        Reply::Calls(vec![("a", "echo", "{}")]),
        Reply::Text("Done."),
        Reply::Text("Sorry."),
    ]);
    assert_eq!(prompt(&agent, &model).await.end, TurnEnd::RoundLimit);
    assert_eq!(continues(&agent, &model).await.text, "Done.");
    drop(agent);
    // A process that ended while a tool ran.
    let session = home.reopened();
    session.append_all(&[user("More."), call("b", "echo", "x")]).unwrap();
    let agent = AgentSession::new(session).with_tool(echo());
    assert_eq!(continues(&agent, &model).await.text, "Sorry.");
}

#[tokio::test]
async fn without_anything_to_answer_nothing_is_asked_or_written() {
    let agent = AgentSession::new(Session::in_memory("/project"));
    let model = ScriptedModel::plays([]);
    let never = CancellationToken::new();
    let refused = agent.continue_turn(&model, None, &never).await;
    assert!(matches!(refused, Err(AgentError::NothingToAnswer)), "{refused:?}");
    agent.session().append_all(&[user("Hello."), answer("Hi.")]).unwrap();
    let before = agent.session().tree().len();
    let refused = agent.continue_turn(&model, None, &never).await;
    assert!(matches!(refused, Err(AgentError::NothingToAnswer)), "{refused:?}");
    assert_eq!(agent.session().tree().len(), before);
    assert_eq!(agent.running(), None);
}
