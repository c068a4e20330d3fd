//! A summarizer that plays a script and records its requests.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tokio::sync::Semaphore;
use treering_agent::{
    CancellationToken, ModelError, Summarizer, Summary, SummaryFuture, SummaryRequest, Usage,
};

/// The reaction to one request.
#[derive(Debug, Clone)]
pub(crate) enum Play {
    /// This text, at no known cost.
    Say(&'static str),
    /// This text for that many tokens of input; of output there are ten.
    Cost(&'static str, u64),
    Fail(ModelError),
    /// Waits for [`Scripted::go`], then answers with this text. It can be canceled.
    Wait(&'static str),
    /// Never answers, and cannot be canceled.
    Hang,
}

/// A request that the summarizer received.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedRequest {
    pub(crate) system: String,
    pub(crate) user: String,
    pub(crate) messages: Vec<String>,
    pub(crate) previous: Option<String>,
    pub(crate) instructions: Option<String>,
    pub(crate) streams: bool,
}

/// Decides by the text of a request.
type Rule = Box<dyn Fn(&str) -> Option<ModelError> + Send + Sync>;

pub(crate) struct Scripted {
    window: Option<u64>,
    plays: Mutex<VecDeque<Play>>,
    rule: Option<Rule>,
    requests: Mutex<Vec<ReceivedRequest>>,
    arrived: Semaphore,
    go: Semaphore,
}

impl std::fmt::Debug for Scripted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scripted")
    }
}

impl Scripted {
    /// Plays these, then answers `Summary 1`, `Summary 2`, … by the number of the request.
    pub(crate) fn plays(plays: impl IntoIterator<Item = Play>) -> Arc<Self> {
        Arc::new(Scripted::new(None, plays))
    }

    pub(crate) fn with_window(window: u64, plays: impl IntoIterator<Item = Play>) -> Arc<Self> {
        Arc::new(Scripted::new(Some(window), plays))
    }

    /// Fails without applying the rule or reading the script.
    pub(crate) fn with_rule(
        window: Option<u64>,
        rule: impl Fn(&str) -> Option<ModelError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Scripted { rule: Some(Box::new(rule)), ..Scripted::new(window, []) })
    }

    fn new(window: Option<u64>, plays: impl IntoIterator<Item = Play>) -> Self {
        Scripted {
            window,
            plays: Mutex::new(plays.into_iter().collect()),
            rule: None,
            requests: Mutex::default(),
            arrived: Semaphore::new(0),
            go: Semaphore::new(0),
        }
    }

    pub(crate) fn requests(&self) -> Vec<ReceivedRequest> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) fn play(&self, play: Play) {
        self.plays.lock().unwrap().push_back(play);
    }

    /// Waits until one more request has arrived.
    pub(crate) async fn arrived(&self) {
        self.arrived.acquire().await.unwrap().forget();
    }

    /// Takes the permit of one request that has arrived, if there is one.
    pub(crate) fn has_arrived(&self) -> bool {
        self.arrived.try_acquire().map(|permit| permit.forget()).is_ok()
    }

    /// Removes the rest of the script.
    pub(crate) fn forget(&self) {
        self.plays.lock().unwrap().clear();
    }

    /// Takes back a permit of [`Scripted::go`] that no request has used. Returns whether there was one.
    pub(crate) fn take_back_go(&self) -> bool {
        self.go.try_acquire().map(|permit| permit.forget()).is_ok()
    }

    /// Lets one waiting request continue.
    pub(crate) fn go(&self) {
        self.go.add_permits(1);
    }
}

fn summary(text: &str, usage: Option<Usage>) -> Result<Summary, ModelError> {
    let mut summary = Summary::new("scripted", text);
    summary.usage = usage;
    Ok(summary)
}

impl Summarizer for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn context_window(&self) -> Option<u64> {
        self.window
    }

    fn summarize<'a>(
        &'a self,
        request: SummaryRequest,
        cancel: &'a CancellationToken,
    ) -> SummaryFuture<'a> {
        let text = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).unwrap();
        let number = {
            let mut requests = self.requests.lock().unwrap();
            requests.push(ReceivedRequest {
                system: request.system.clone(),
                user: request.user.clone(),
                messages: request.conversation.messages.iter().map(text).collect(),
                previous: request.conversation.previous_summary.clone(),
                instructions: request.conversation.instructions.clone(),
                streams: request.on_delta.is_some(),
            });
            requests.len()
        };
        let refused = self.rule.as_ref().and_then(|rule| rule(&request.user));
        let play = match refused {
            Some(error) => Some(Play::Fail(error)),
            None => self.plays.lock().unwrap().pop_front(),
        };
        self.arrived.add_permits(1);
        Box::pin(async move {
            match play {
                None => summary(&format!("Summary {number}"), None),
                Some(Play::Say(text)) => summary(text, None),
                Some(Play::Cost(text, input)) => {
                    summary(text, Some(Usage::of_request().input(input).output(10)))
                }
                Some(Play::Fail(error)) => Err(error),
                Some(Play::Wait(text)) => tokio::select! {
                    () = cancel.cancelled() => Err(ModelError::Canceled),
                    go = self.go.acquire() => {
                        go.unwrap().forget();
                        summary(text, None)
                    }
                },
                Some(Play::Hang) => std::future::pending().await,
            }
        })
    }
}
