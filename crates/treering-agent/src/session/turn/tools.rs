//! Runs the tool calls of an answer.
//!
//! Every call gets exactly one result: for a tool that does not exist, fails or panics, and for a
//! call that the user aborted, the result says so. Providers refuse a conversation in which a call
//! has none.

use super::TurnContext;
use crate::error::AgentError;
use crate::hooks::{Event, ToolFinished, ToolStarted};
use crate::session::late_entry::LateEntryKind;
use crate::tool::{AgentTool, ToolCall, ToolOutput};
use std::sync::Arc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use treering::EntryId;
use treering::entry::ToolResultMessage;

/// The result of a call that the user aborted.
const ABORTED: &str = "The user aborted the call.";

/// A running call. Dropping it ends the call.
struct RunningCall(JoinHandle<ToolOutput>);

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl RunningCall {
    fn start(tool: Option<Arc<dyn AgentTool>>, call: ToolCall, cancel: CancellationToken) -> Self {
        RunningCall(tokio::spawn(async move {
            let Some(tool) = tool else {
                return ToolOutput::error(format!("There is no tool named {:?}.", call.name));
            };
            if !call.is_valid() {
                let arguments: String = call.arguments.chars().take(500).collect();
                let text = format!("The arguments are not a JSON object: {arguments}");
                return ToolOutput::error(text);
            }
            match tool.run(call, &cancel).await {
                Ok(output) => output,
                Err(error) => ToolOutput::error(error.to_string()),
            }
        }))
    }

    /// Waits for the result, which is an error if the user aborts or the tool panics.
    async fn finish(&mut self, cancel: &CancellationToken) -> ToolOutput {
        tokio::select! {
            // A result that has arrived must not be discarded.
            biased;
            output = &mut self.0 => output.unwrap_or_else(|died| match died.is_panic() {
                true => ToolOutput::error("The tool failed: it panicked."),
                false => ToolOutput::error(ABORTED),
            }),
            () = cancel.cancelled() => ToolOutput::error(ABORTED),
        }
    }
}

impl TurnContext<'_> {
    /// Runs calls and records a result for each, in order, below `answer`. Returns the last result.
    pub(super) async fn run_tools(
        &self,
        answer: EntryId,
        calls: Vec<ToolCall>,
    ) -> Result<EntryId, AgentError> {
        let mut last = answer;
        let mut waiting = calls.into_iter().peekable();
        while let Some(call) = waiting.next() {
            let mut group = vec![call];
            while self.is_parallel(&group[0])
                && let Some(next) = waiting.next_if(|next| self.is_parallel(next))
            {
                group.push(next);
            }
            last = self.run_group(last, group).await?;
        }
        Ok(last)
    }

    fn is_parallel(&self, call: &ToolCall) -> bool {
        self.tool(&call.name).is_some_and(|tool| tool.is_parallel())
    }

    fn tool(&self, name: &str) -> Option<Arc<dyn AgentTool>> {
        self.tools.iter().find(|tool| tool.name() == name).cloned()
    }

    /// Runs calls concurrently.
    async fn run_group(
        &self,
        mut last: EntryId,
        calls: Vec<ToolCall>,
    ) -> Result<EntryId, AgentError> {
        let mut running = Vec::new();
        for call in calls {
            // An aborted turn starts no further calls.
            let started = (!self.cancel.is_cancelled()).then(|| {
                self.agent.hooks.publish(Event::ToolStart(Arc::new(ToolStarted {
                    call: call.id.clone(),
                    tool: call.name.clone(),
                    arguments: call.arguments.clone(),
                })));
                RunningCall::start(self.tool(&call.name), call.clone(), self.cancel.child_token())
            });
            running.push((call, started));
        }
        for (call, started) in running {
            let output = match started {
                Some(mut running) => running.finish(self.cancel).await,
                None => ToolOutput::error(ABORTED),
            };
            let is_error = output.is_error;
            let entry = result(&call, output).into();
            last = LateEntryKind::Reply.attach(&self.session, Some(&last), &entry)?.id;
            self.agent.hooks.publish(Event::ToolEnd(Arc::new(ToolFinished {
                call: call.id,
                tool: call.name,
                entry: last.clone(),
                is_error,
            })));
        }
        Ok(last)
    }
}

fn result(call: &ToolCall, output: ToolOutput) -> ToolResultMessage {
    let mut result = ToolResultMessage::new(&*call.id, &*call.name).with_error(output.is_error);
    if !output.text.is_empty() {
        result = result.with_text(output.text);
    }
    for (mime_type, data) in output.images {
        result = result.with_image(mime_type, data);
    }
    match output.details {
        // The result is recorded even if its details are not JSON.
        Some(details) => result.clone().with_details(details).unwrap_or(result),
        None => result,
    }
}
