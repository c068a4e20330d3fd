//! A summarizer that plays a script and remembers what it was asked.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tokio::sync::Semaphore;
use treering_agent::{
    CancellationToken, Summarizer, Summary, SummaryError, SummaryFuture, SummaryRequest, Usage,
};

/// The reaction to one request.
#[derive(Debug, Clone)]
pub(crate) enum Play {
    /// This text, at no known cost.
    Say(&'static str),
    /// This text for that many tokens of input; of output there are ten.
    Cost(&'static str, u64),
    Fail(SummaryError),
    /// Nothing until [`Scripted::go`], then this text. Looks at the token.
    Wait(&'static str),
    /// Nothing ever; does not look at the token.
    Hang,
}

/// A request, as it came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) system: String,
    pub(crate) user: String,
    pub(crate) messages: Vec<String>,
    pub(crate) previous: Option<String>,
    pub(crate) instructions: Option<String>,
    pub(crate) streams: bool,
}

/// Decides by the text of a request.
type Rule = Box<dyn Fn(&str) -> Option<SummaryError> + Send + Sync>;

pub(crate) struct Scripted {
    window: Option<u64>,
    plays: Mutex<VecDeque<Play>>,
    rule: Option<Rule>,
    asked: Mutex<Vec<Asked>>,
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
        rule: impl Fn(&str) -> Option<SummaryError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Scripted { rule: Some(Box::new(rule)), ..Scripted::new(window, []) })
    }

    fn new(window: Option<u64>, plays: impl IntoIterator<Item = Play>) -> Self {
        Scripted {
            window,
            plays: Mutex::new(plays.into_iter().collect()),
            rule: None,
            asked: Mutex::default(),
            arrived: Semaphore::new(0),
            go: Semaphore::new(0),
        }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn play(&self, play: Play) {
        self.plays.lock().unwrap().push_back(play);
    }

    /// Waits until one more request has arrived.
    pub(crate) async fn arrived(&self) {
        self.arrived.acquire().await.unwrap().forget();
    }

    /// Takes note of one request that has arrived, if there is one.
    pub(crate) fn has_arrived(&self) -> bool {
        self.arrived.try_acquire().map(|permit| permit.forget()).is_ok()
    }

    /// Forgets what of the script was not played.
    pub(crate) fn forget(&self) {
        self.plays.lock().unwrap().clear();
    }

    /// Takes back a permission that no request has used; whether there was one.
    pub(crate) fn take_back_go(&self) -> bool {
        self.go.try_acquire().map(|permit| permit.forget()).is_ok()
    }

    /// Lets one waiting request continue.
    pub(crate) fn go(&self) {
        self.go.add_permits(1);
    }
}

fn summary(text: &str, usage: Option<Usage>) -> Result<Summary, SummaryError> {
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
            let mut asked = self.asked.lock().unwrap();
            asked.push(Asked {
                system: request.system.clone(),
                user: request.user.clone(),
                messages: request.conversation.messages.iter().map(text).collect(),
                previous: request.conversation.previous_summary.clone(),
                instructions: request.conversation.instructions.clone(),
                streams: request.on_delta.is_some(),
            });
            asked.len()
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
                    () = cancel.cancelled() => Err(SummaryError::Canceled),
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
