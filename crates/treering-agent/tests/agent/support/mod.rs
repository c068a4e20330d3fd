//! Test support: a server that plays scripts, a paused clock, answers in the real protocols, and a
//! summarizer and handlers with given answers.

pub(crate) mod handlers;
pub(crate) mod model;
pub(crate) mod scripted;
pub(crate) mod server;
pub(crate) mod talk;
pub(crate) mod wire;

use server::Server;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use treering_agent::{
    Anthropic, CancellationToken, ChatModel, Delta, Http, HttpOptions, ModelError, OpenAi, Proxy,
    Retry, Secret, Summarizer, Summary, SummaryRequest, Timeouts,
};

pub(crate) const KEY: &str = "sk-very-secret-0123456789";

/// Keeps a paused clock from advancing automatically until it is dropped: tokio lets no time pass
/// during blocking work. It ends after a minute of real time, so that a test that hangs runs into
/// its timeouts and fails.
pub(crate) struct Still {
    _held: std::sync::mpsc::Sender<()>,
    began: tokio::time::Instant,
}

pub(crate) fn still() -> Still {
    let (held, holder) = std::sync::mpsc::channel::<()>();
    tokio::task::spawn_blocking(move || {
        let _ = holder.recv_timeout(Duration::from_secs(60));
    });
    Still { _held: held, began: tokio::time::Instant::now() }
}

impl Still {
    /// The offset of the test's clock.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }
}

/// Moves the clock just past `by`: timers have a resolution of a millisecond.
pub(crate) async fn pass(by: Duration) {
    tokio::time::advance(by + Duration::from_millis(1)).await;
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Api {
    Anthropic,
    OpenAi,
}

pub(crate) const BOTH: [Api; 2] = [Api::Anthropic, Api::OpenAi];

pub(crate) fn timeouts() -> Timeouts {
    Timeouts::new()
        .connect(Duration::from_secs(5))
        .first_byte(Duration::from_secs(40))
        .idle(Duration::from_secs(10))
        .total(Duration::from_secs(300))
}

/// The marker among the deltas after which the earlier text is void.
pub(crate) const RESTART: &str = "<restart>";

/// A running request for a summary, and the progress that it reports.
pub(crate) struct Job {
    pub(crate) deltas: mpsc::UnboundedReceiver<String>,
    pub(crate) pauses: mpsc::UnboundedReceiver<(ModelError, Duration)>,
    pub(crate) cancel: CancellationToken,
    task: JoinHandle<Result<Summary, ModelError>>,
}

impl Job {
    pub(crate) fn start(api: Api, base_url: &str) -> Job {
        Job::with(api, base_url, CancellationToken::new())
    }

    pub(crate) fn with(api: Api, base_url: &str, cancel: CancellationToken) -> Job {
        let (paused, pauses) = mpsc::unbounded_channel();
        let summarizer = summarizer(api, base_url, paused);
        let (delta, deltas) = mpsc::unbounded_channel();
        let request =
            SummaryRequest::new("Summarize.", "[User]: hello").on_delta(Box::new(move |piece| {
                let text = match piece {
                    Delta::Text(text) => text,
                    Delta::Restart => RESTART,
                    _ => return,
                };
                delta.send(text.into()).unwrap_or_default()
            }));
        let token = cancel.clone();
        let task = tokio::spawn(async move { summarizer.summarize(request, &token).await });
        Job { deltas, pauses, cancel, task }
    }

    pub(crate) async fn end(self) -> Result<Summary, ModelError> {
        let ended = self.task.await.expect("no panic");
        assert!(!format!("{ended:?}").contains(KEY));
        if let Err(error) = &ended {
            assert!(!error.to_string().contains(KEY));
        }
        ended
    }

    pub(crate) async fn fails(self) -> ModelError {
        self.end().await.expect_err("an error")
    }

    /// Lets the pause before the next attempt pass, and returns its reason and its length.
    pub(crate) async fn retried(&mut self) -> (ModelError, Duration) {
        let (error, pause) = self.pauses.recv().await.expect("another attempt");
        pass(pause).await;
        (error, pause)
    }

    pub(crate) fn seen(&mut self) -> String {
        std::iter::from_fn(|| self.deltas.try_recv().ok()).collect()
    }
}

pub(crate) fn summarizer(
    api: Api,
    base_url: &str,
    paused: mpsc::UnboundedSender<(ModelError, Duration)>,
) -> Arc<dyn Summarizer> {
    let paused = Mutex::new(paused);
    let retry = Retry::new().retries(2).on_retry(move |error: &ModelError, pause| {
        let _ = paused.lock().unwrap().send((error.clone(), pause));
    });
    let http = Http::new(HttpOptions::new().timeouts(timeouts()).retry(retry).proxy(Proxy::Direct))
        .unwrap();
    let built: Arc<dyn Summarizer> = match api {
        Api::Anthropic => Arc::new(anthropic(http, base_url, KEY)),
        Api::OpenAi => Arc::new(openai(http, base_url, KEY)),
    };
    assert!(!format!("{built:?}").contains(KEY));
    built
}

/// Starts a server that plays `scripts`, and a request to it.
pub(crate) async fn ask(api: Api, scripts: Vec<Vec<server::Step>>) -> (Server, Job) {
    let server = Server::start(scripts).await;
    let job = Job::start(api, &server.url());
    (server, job)
}

/// Returns the same model as a chat model.
pub(crate) fn chat_model(api: Api, base_url: &str) -> Arc<dyn ChatModel> {
    chat_model_with_key(api, base_url, KEY)
}

/// Returns a chat model with a given key.
pub(crate) fn chat_model_with_key(api: Api, base_url: &str, key: &str) -> Arc<dyn ChatModel> {
    let retry = Retry::default();
    let http = Http::new(HttpOptions::new().timeouts(timeouts()).retry(retry).proxy(Proxy::Direct))
        .unwrap();
    match api {
        Api::Anthropic => Arc::new(anthropic(http, base_url, key)),
        Api::OpenAi => Arc::new(openai(http, base_url, key)),
    }
}

fn anthropic(http: Http, base_url: &str, key: &str) -> Anthropic {
    let mut built = Anthropic::new(http, Secret::new(key), "asked-model");
    built.base_url = base_url.into();
    built
}

fn openai(http: Http, base_url: &str, key: &str) -> OpenAi {
    let mut built = OpenAi::new(http, Some(Secret::new(key)), "asked-model");
    built.base_url = base_url.into();
    built
}
