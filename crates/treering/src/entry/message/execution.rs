//! Commands that the user ran.

use super::{Message, MessageBuilder};
use crate::entry::kind::Role;

/// Builds the record of a command that the user ran, with its output.
///
/// ```
/// use treering::entry::BashExecutionMessage;
/// let message = BashExecutionMessage::new("make", "ok\n").with_exit_code(0).build();
/// let run = message.view().as_bash_execution().unwrap();
/// assert_eq!((&*run.command(), run.exit_code()), ("make", Some(0)));
/// ```
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until it is appended"]
pub struct BashExecutionMessage {
    command: String,
    output: String,
    exit_code: Option<i32>,
    is_canceled: bool,
    is_truncated: bool,
    full_output_path: Option<String>,
    is_excluded: bool,
    timestamp: Option<i64>,
}

impl BashExecutionMessage {
    /// Creates the record of a command and its output. A command without an exit code was killed.
    pub fn new(command: impl Into<String>, output: impl Into<String>) -> Self {
        BashExecutionMessage {
            command: command.into(),
            output: output.into(),
            exit_code: None,
            is_canceled: false,
            is_truncated: false,
            full_output_path: None,
            is_excluded: false,
            timestamp: None,
        }
    }

    /// Sets the exit code.
    pub fn with_exit_code(mut self, code: i32) -> Self {
        self.exit_code = Some(code);
        self
    }

    /// Sets whether the user stopped the command.
    pub fn with_canceled(mut self, is_canceled: bool) -> Self {
        self.is_canceled = is_canceled;
        self
    }

    /// Sets whether the output is only the end of what the command printed.
    pub fn with_truncated(mut self, is_truncated: bool) -> Self {
        self.is_truncated = is_truncated;
        self
    }

    /// Sets the file with the whole output.
    pub fn with_full_output_path(mut self, path: impl Into<String>) -> Self {
        self.full_output_path = Some(path.into());
        self
    }

    /// Sets whether the command is excluded from the context.
    pub fn with_excluded(mut self, is_excluded: bool) -> Self {
        self.is_excluded = is_excluded;
        self
    }

    /// Sets the time in Unix milliseconds; the default is now.
    pub fn with_timestamp(mut self, millis: i64) -> Self {
        self.timestamp = Some(millis);
        self
    }

    /// Returns the message.
    pub fn build(self) -> Message {
        let mut object = MessageBuilder::new(Role::BashExecution);
        object.text("command", &self.command);
        object.text("output", &self.output);
        if let Some(code) = self.exit_code {
            object.number("exitCode", code.into());
        }
        object.flag("cancelled", self.is_canceled);
        object.flag("truncated", self.is_truncated);
        if let Some(path) = &self.full_output_path {
            object.text("fullOutputPath", path);
        }
        object.timestamp(self.timestamp);
        if self.is_excluded {
            object.flag("excludeFromContext", true);
        }
        object.finish(Role::BashExecution)
    }
}
