//! A summarizer that is an external command: it gets the prompt on its standard input and writes
//! the summary to its standard output.
//!
//! The command runs in a process group of its own, if the system has them, so that canceling ends
//! its children as well. It inherits the environment, where it finds its keys.

use super::error::ModelError;
use super::secret::excerpt;
use super::wait::within;
use super::{Sink, Summarizer, Summary, SummaryFuture, SummaryRequest};
use std::ffi::OsString;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin};
use tokio_util::sync::CancellationToken;

/// The number of bytes at the end of standard error that are kept for the error message.
const STDERR_TAIL: usize = 400;

/// The command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// A program and its arguments, run without a shell.
    Direct(OsString, Vec<OsString>),
    /// A command line for the shell.
    Shell(String),
}

/// A summarizer that runs an external command.
#[derive(Debug, Clone)]
pub struct Command {
    program: Program,
    /// The context window in tokens, if the command has one.
    pub context_window: Option<u64>,
    /// The time limit.
    pub timeout: Duration,
}

impl Command {
    /// Creates a summarizer that runs `program`.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use treering_agent::{CancellationToken, Command, Program, Summarizer, SummaryRequest};
    /// let command = Command::new(Program::Shell("head -c 5".into()));
    /// let request = SummaryRequest::new("", "hello world");
    /// let summary = command.summarize(request, &CancellationToken::new()).await;
    /// assert!(summary.is_ok());
    /// # });
    /// ```
    pub fn new(program: Program) -> Self {
        Command { program, context_window: None, timeout: Duration::from_secs(900) }
    }

    fn spawn(&self) -> Result<(Child, Group), ModelError> {
        let mut command = match &self.program {
            Program::Direct(program, arguments) => {
                let mut command = tokio::process::Command::new(program);
                command.args(arguments);
                command
            }
            Program::Shell(line) => {
                let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
                let mut command = tokio::process::Command::new(shell);
                command.arg(flag).arg(line);
                command
            }
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let child = command
            .spawn()
            .map_err(|error| ModelError::Command(format!("cannot be started: {error}")))?;
        let group = Group(child.id());
        Ok((child, group))
    }

    async fn run(&self, request: SummaryRequest) -> Result<String, ModelError> {
        let (mut child, mut group) = self.spawn()?;
        let prompt = match request.system.as_str() {
            "" => request.user,
            system => format!("{system}\n\n{}", request.user),
        };
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let mut sink = Sink::new(request.on_delta);
        // All three run concurrently: a command may answer before it has read everything.
        let ((), read, tail) =
            tokio::join!(write(stdin, &prompt), read(stdout, &mut sink), tail(stderr));
        read?;
        let status = child.wait().await;
        group.0 = None;
        let failed = |what: String| match tail.as_str() {
            "" => ModelError::Command(what),
            tail => ModelError::Command(format!("{what}: {tail}")),
        };
        match status {
            Ok(status) if status.success() => match sink.finish() {
                text if text.is_empty() => Err(ModelError::Command("printed nothing".into())),
                text => Ok(text),
            },
            Ok(status) => Err(failed(format!("failed ({status})"))),
            Err(error) => Err(failed(format!("was lost ({error})"))),
        }
    }
}

impl Summarizer for Command {
    fn name(&self) -> &str {
        "command"
    }

    fn context_window(&self) -> Option<u64> {
        self.context_window
    }

    fn summarize<'a>(
        &'a self,
        request: SummaryRequest,
        cancel: &'a CancellationToken,
    ) -> SummaryFuture<'a> {
        Box::pin(async move {
            let text = within(cancel, self.timeout, self.run(request)).await?;
            Ok(Summary { text, usage: None, model: None, provider: self.name().into() })
        })
    }
}

/// The process group of a running command, named by its leader. The group is killed when this is
/// dropped.
pub(crate) struct Group(pub(crate) Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(leader) = self.0.and_then(|id| rustix::process::Pid::from_raw(id as i32)) {
            // An error means that the group has just ended by itself.
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
}

/// Writes the prompt. A command need not read all of it: its exit code decides.
async fn write(stdin: Option<ChildStdin>, prompt: &str) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(prompt.as_bytes()).await;
    }
}

/// Reads the summary. A character may arrive in two pieces.
async fn read(from: Option<impl AsyncRead + Unpin>, sink: &mut Sink) -> Result<(), ModelError> {
    let Some(mut from) = from else { return Ok(()) };
    let mut pending = Vec::new();
    loop {
        let count = from
            .read_buf(&mut pending)
            .await
            .map_err(|error| ModelError::Command(format!("cannot be read: {error}")))?;
        let whole = if count == 0 { pending.len() } else { whole_characters(&pending) };
        let text: Vec<u8> = pending.drain(..whole).collect();
        sink.push(&String::from_utf8_lossy(&text))?;
        if count == 0 {
            return Ok(());
        }
    }
}

/// Returns the length of the longest prefix that does not end in the middle of a character.
pub(crate) fn whole_characters(bytes: &[u8]) -> usize {
    match bytes.utf8_chunks().last() {
        // Only bytes that could still become a character are held back.
        Some(last)
            if std::str::from_utf8(last.invalid()).is_err_and(|e| e.error_len().is_none()) =>
        {
            bytes.len() - last.invalid().len()
        }
        _ => bytes.len(),
    }
}

/// Returns the end of a command's standard error.
async fn tail(from: Option<impl AsyncRead + Unpin>) -> String {
    let mut end = Vec::new();
    if let Some(mut from) = from {
        while from.read_buf(&mut end).await.is_ok_and(|count| count > 0) {
            let extra = end.len().saturating_sub(STDERR_TAIL);
            end.drain(..extra);
        }
    }
    excerpt(&String::from_utf8_lossy(&end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_cut_in_two_waits_for_its_rest() {
        assert_eq!(whole_characters("aé".as_bytes()), 3);
        assert_eq!(whole_characters(&"aé".as_bytes()[..2]), 1);
        assert_eq!(
            whole_characters(b"a\xff"),
            2,
            "what can never become a character does not wait"
        );
        assert_eq!(whole_characters(b""), 0);
    }
}
