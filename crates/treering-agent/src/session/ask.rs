//! Requests summaries of conversations of any length.
//!
//! A conversation that does not fit into the summarizer's window is split: the first part is
//! summarized, then each further part together with the summary so far. Estimates can be wrong (a
//! token is not four characters in every language): if the server reports that the input is too
//! long, the parts are made smaller.

use super::AgentSession;
use crate::hooks::HookRunner;
use crate::summarizer::{Conversation, ModelError, OnDelta, Summarizer, SummaryRequest};
use tokio_util::sync::CancellationToken;
use treering::compaction::{SUMMARIZER_ROLE, branch_request, conversation_text};
use treering::context::ContextMessage;
use treering::usage::Usage;

/// Builds the request from a text and the summary of the text before it.
pub(super) type MakeRequest<'a> = &'a (dyn Fn(&str, Option<&str>) -> String + Send + Sync);

/// The conversation to summarize.
pub(super) struct Question<'a> {
    pub(super) messages: &'a [ContextMessage],
    pub(super) previous: Option<&'a str>,
    /// The user's instructions, for summarizers that work on the messages.
    pub(super) focus: Option<&'a str>,
    pub(super) request: MakeRequest<'a>,
}

/// A summary, and the usage of all requests for it.
#[derive(Debug, Default)]
pub(super) struct SummaryAnswer {
    pub(super) text: String,
    pub(super) usage: Option<Usage>,
}

impl AgentSession {
    /// Returns the summary of a branch that is abandoned or merged. With `alone` the user's
    /// instructions replace the usual ones.
    pub(super) async fn ask_about_branch(
        &self,
        cancel: &CancellationToken,
        messages: &[ContextMessage],
        focus: Option<&str>,
        alone: bool,
    ) -> Result<SummaryAnswer, ModelError> {
        let summarizer = self.summarizer()?;
        let asker = ConversationSummarizer {
            summarizer: &*summarizer,
            hooks: &self.hooks,
            cancel,
            reserve: self.settings().branch_reserve_tokens,
            streams: true,
        };
        let question = Question {
            messages,
            previous: None,
            focus,
            request: &|text, previous| branch_request(text, previous, focus, alone),
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ModelError::Canceled),
            answer = asker.ask(&question) => answer,
        }
    }
}

/// The smallest useful window, in tokens.
const SMALLEST: u64 = 512;

/// The number of times that parts are halved before the error is treated as final.
const HALVINGS: u32 = 4;

pub(super) struct ConversationSummarizer<'a> {
    pub(super) summarizer: &'a dyn Summarizer,
    pub(super) hooks: &'a HookRunner,
    pub(super) cancel: &'a CancellationToken,
    /// The part of the window that must stay free for the answer, in tokens.
    pub(super) reserve: u64,
    /// Whether the text is broadcast as it arrives.
    pub(super) streams: bool,
}

impl ConversationSummarizer<'_> {
    pub(super) async fn ask(&self, question: &Question<'_>) -> Result<SummaryAnswer, ModelError> {
        let all = tokens(&conversation_text(question.messages));
        let mut room = self.room(question, all);
        // Failed attempts count towards the usage as well.
        let mut usage = None;
        for _ in 0..HALVINGS {
            match self.fold(question, room, &mut usage).await {
                Err(error) if is_too_long(&error) => {
                    room = Some((room.unwrap_or(all).min(all) / 2).max(SMALLEST));
                }
                done => return done.map(|text| SummaryAnswer { text, usage }),
            }
        }
        let text = self.fold(question, room, &mut usage).await?;
        Ok(SummaryAnswer { text, usage })
    }

    /// Returns how many tokens of a conversation of `all` tokens fit into one request.
    fn room(&self, question: &Question<'_>, all: u64) -> Option<u64> {
        let window = self.summarizer.context_window()?;
        let reserve = self.reserve.min(window / 2);
        let overhead = tokens(&(question.request)("", question.previous));
        let room = window.saturating_sub(reserve + overhead + tokens(SUMMARIZER_ROLE));
        // The summary so far is sent with every further part. It is as long as an answer may be.
        let so_far = if all > room { reserve.min(room / 2) } else { 0 };
        Some((room - so_far).max(SMALLEST))
    }

    async fn fold(
        &self,
        question: &Question<'_>,
        room: Option<u64>,
        usage: &mut Option<Usage>,
    ) -> Result<String, ModelError> {
        let mut so_far = question.previous.map(str::to_owned);
        for part in parts(question.messages, room) {
            let request = SummaryRequest {
                system: SUMMARIZER_ROLE.to_owned(),
                user: (question.request)(&part.text, so_far.as_deref()),
                conversation: Conversation {
                    messages: part.messages.iter().map(|message| message.json.clone()).collect(),
                    previous_summary: so_far.take(),
                    instructions: question.focus.map(str::to_owned),
                },
                max_output_tokens: None,
                on_delta: self.streams.then(|| -> OnDelta { self.hooks.summary_deltas() }),
            };
            let summary = self.summarizer.summarize(request, self.cancel).await?;
            if let Some(cost) = summary.usage {
                *usage = Some(usage.unwrap_or_default() + cost);
            }
            // This is an error in the middle as well, because the summarized part would be lost.
            if summary.text.trim().is_empty() {
                return Err(ModelError::Empty);
            }
            so_far = Some(summary.text);
        }
        so_far.ok_or(ModelError::Empty)
    }
}

/// A part of a conversation that fits into one request.
struct ConversationPart<'a> {
    messages: &'a [ContextMessage],
    text: String,
}

/// Splits a conversation into parts of at most `room` tokens, between messages if possible.
fn parts(messages: &[ContextMessage], room: Option<u64>) -> Vec<ConversationPart<'_>> {
    let Some(room) = room else {
        return vec![ConversationPart { messages, text: conversation_text(messages) }];
    };
    let mut parts: Vec<ConversationPart<'_>> = Vec::new();
    let mut start = 0;
    let mut text = String::new();
    for (at, message) in messages.iter().enumerate() {
        let own = conversation_text(std::slice::from_ref(message));
        if own.is_empty() {
            continue;
        }
        if !text.is_empty() && tokens(&text) + tokens(&own) > room {
            let messages = messages.get(start..at).unwrap_or_default();
            parts.push(ConversationPart { messages, text: std::mem::take(&mut text) });
            start = at;
        }
        if tokens(&own) <= room {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(&own);
            continue;
        }
        let whole = messages.get(at..=at).unwrap_or_default();
        parts.extend(pieces(&own, room).map(|text| ConversationPart { messages: whole, text }));
        start = at + 1;
    }
    if !text.is_empty() || parts.is_empty() {
        parts.push(ConversationPart { messages: messages.get(start..).unwrap_or_default(), text });
    }
    parts
}

/// Splits a text that is too long for one request into pieces.
fn pieces(text: &str, room: u64) -> impl Iterator<Item = String> {
    let units = usize::try_from(room.saturating_mul(4)).unwrap_or(usize::MAX).max(8);
    let mut rest = text;
    std::iter::from_fn(move || {
        // A character has at most as many UTF-16 units as bytes.
        let mut end = units.min(rest.len());
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (piece, after) = rest.split_at(end);
        rest = after;
        (!piece.is_empty()).then(|| piece.to_owned())
    })
}

fn tokens(text: &str) -> u64 {
    text.encode_utf16().count().div_ceil(4) as u64
}

/// Returns whether an error means that the input was too long. Servers report this in many ways.
pub(super) fn is_too_long(error: &ModelError) -> bool {
    let (message, is_refusal) = match error {
        ModelError::Http { status: 413, .. } => return true,
        ModelError::Http { status: 400 | 422, message } => (message.to_lowercase(), true),
        // Some servers report it in the stream. There, a rate may be exceeded as well.
        ModelError::Server { message, .. } => (message.to_lowercase(), false),
        _ => return false,
    };
    let signs = [
        "context length",
        "context_length",
        "context size",
        "context window",
        "maximum context",
        "maximum prompt length",
        "reduce the length",
        "too long",
        "too many tokens",
    ];
    is_refusal && message.contains("exceed") || signs.iter().any(|sign| message.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> ContextMessage {
        let json = serde_json::json!({ "role": "user", "content": text }).to_string();
        ContextMessage::new("x", json)
    }

    #[test]
    fn parts_fit_and_nothing_is_left_out() {
        let messages: Vec<ContextMessage> =
            ["a".repeat(40), "b".repeat(400), "ü".repeat(33), String::new(), "c".repeat(9)]
                .iter()
                .map(|text| message(text))
                .collect();
        for room in [8, 10, 20, 50, 1000] {
            let parts = parts(&messages, Some(room));
            let together: String = parts.iter().map(|part| &*part.text).collect();
            for (letter, number) in [('a', 40), ('b', 400), ('ü', 33), ('c', 9)] {
                assert_eq!(together.matches(letter).count(), number, "{letter} {room}");
            }
            assert!(parts.iter().all(|part| tokens(&part.text) <= room + 1), "{room}");
            assert!(parts.iter().all(|part| !part.messages.is_empty()));
        }
        assert_eq!(parts(&messages, None).len(), 1);
        assert_eq!(parts(&messages, Some(1000)).len(), 1);
    }
}
