//! Runs commands of the user in the project's directory and records them with their output.
//!
//! A command runs in a process group of its own, so that stopping it stops its children. Both
//! outputs are collected in order. The end of them is kept, and if they are longer, the whole
//! output is written to a temporary file. Escape sequences for terminals are removed.

use super::busy::Operation;
use super::late_entry::LateEntryKind;
use super::{AgentSession, read_blocking};
use crate::OwnFuture;
use crate::error::AgentError;
use crate::summarizer::Group;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio_util::sync::CancellationToken;
use treering::entry::BashExecutionMessage;
use treering::internal::fs::{self, Access, File};
use treering::{EntryId, NewEntry, Session};

/// The maximum size of the end of an output that is kept, in bytes and in lines.
const MAX_BYTES: usize = 50 * 1024;
const MAX_LINES: usize = 2000;

/// The time to wait for output of processes that are still running after the shell has ended.
const GRACE: Duration = Duration::from_millis(200);

/// Is called with the output of a command as it arrives. It must not block.
pub type OnOutput = Box<dyn FnMut(&str) + Send>;

/// A command that was run and recorded.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ShellRun {
    /// The entry of the record.
    pub entry: EntryId,
    /// The end of the command's output.
    pub output: String,
    /// The exit code; `None` if the command was stopped.
    pub exit_code: Option<i32>,
    /// Whether the user stopped the command.
    pub is_canceled: bool,
    /// The file with the whole output, if the output was cut.
    pub full_output: Option<PathBuf>,
}

/// Whether the model sees a command and its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShellContext {
    /// The model sees the command.
    Included,
    /// Only users see the command.
    Excluded,
}

impl AgentSession {
    /// Runs a command with the shell in the session's directory, and records it as a
    /// `bashExecution` on the branch on which it was started, even if the leaf was moved to another
    /// one meanwhile. A command that was stopped or failed is recorded as well; an error means that
    /// it was not run, or that the session could not be written.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use treering::Session;
    /// use treering_agent::{AgentSession, CancellationToken, ShellContext};
    /// let agent = AgentSession::new(Session::in_memory("."));
    /// let cancel = CancellationToken::new();
    /// let run = agent.run_shell("echo hello", ShellContext::Included, None, &cancel).await?;
    /// assert_eq!((run.output.trim(), run.exit_code), ("hello", Some(0)));
    /// # Ok::<(), treering_agent::AgentError>(())
    /// # }).unwrap();
    /// ```
    pub async fn run_shell(
        &self,
        command: &str,
        context: ShellContext,
        on_output: Option<OnOutput>,
        cancel: &CancellationToken,
    ) -> Result<ShellRun, AgentError> {
        let done = self.run_shell_now(command, context, on_output, cancel).await;
        self.act().await;
        done
    }

    fn run_shell_now<'a>(
        &'a self,
        command: &'a str,
        context: ShellContext,
        on_output: Option<OnOutput>,
        cancel: &'a CancellationToken,
    ) -> OwnFuture<'a, Result<ShellRun, AgentError>> {
        Box::pin(async move {
            let (guard, session) = self.begin(Operation::Shell, cancel)?;
            let (mut output, cwd) = (OutputCapture::new(&session, on_output), session.cwd());
            let made_for = session.leaf();
            let exit_code = tokio::select! {
                biased;
                () = guard.cancel.cancelled() => None,
                exit_code = run(command, &cwd, &mut output) => Some(exit_code?),
            };
            let is_canceled = exit_code.is_none();
            let exit_code = exit_code.flatten();
            let CapturedOutput { text, is_cut, file } = output.finish();
            let mut record = BashExecutionMessage::new(command, &*text)
                .with_canceled(is_canceled)
                .with_truncated(is_cut)
                .with_excluded(context == ShellContext::Excluded);
            if let Some(code) = exit_code {
                record = record.with_exit_code(code);
            }
            if let Some(file) = &file {
                record = record.with_full_output_path(file.to_string_lossy());
            }
            let entry = NewEntry::from(record);
            let attached = read_blocking(&session, move |session| {
                LateEntryKind::Reply.attach(session, made_for.as_ref(), &entry)
            });
            let entry = attached.await?.id;
            Ok(ShellRun { entry, output: text, exit_code, is_canceled, full_output: file })
        })
    }
}

/// Runs a command to its end. Dropping the future kills the command and its children.
async fn run(
    command: &str,
    cwd: &str,
    output: &mut OutputCapture,
) -> Result<Option<i32>, AgentError> {
    let (shell, flag, command) = match cfg!(windows) {
        true => ("cmd", "/C", command.to_owned()),
        // One pipe for both outputs keeps their order.
        false => ("sh", "-c", format!("exec 2>&1\n{command}")),
    };
    let mut shell = tokio::process::Command::new(shell);
    shell.arg(flag).arg(command).current_dir(cwd).kill_on_drop(true);
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(unix)]
    shell.process_group(0);
    let mut child = shell
        .spawn()
        .map_err(|error| AgentError::Shell(format!("cannot be run in {cwd}: {error}")))?;
    let mut group = Group(child.id());
    let mut stdout = child.stdout.take();
    let mut stderr = child.stderr.take();
    let (mut status, mut deadline) = (None, tokio::time::Instant::now());
    let (mut out, mut err) = ([0; 8192], [0; 8192]);
    while stdout.is_some() || stderr.is_some() || status.is_none() {
        let has_ended = status.is_some();
        tokio::select! {
            count = read(&mut stdout, &mut out), if stdout.is_some() => {
                output.take(out.get(..count).unwrap_or_default(), 0);
            }
            count = read(&mut stderr, &mut err), if stderr.is_some() => {
                output.take(err.get(..count).unwrap_or_default(), 1);
            }
            ended = child.wait(), if !has_ended => {
                status = Some(ended);
                deadline = tokio::time::Instant::now() + GRACE;
            }
            // A process that holds the pipes open was left running on purpose.
            () = tokio::time::sleep_until(deadline), if has_ended => break,
        }
    }
    group.0 = None;
    match status {
        Some(Ok(status)) => Ok(status.code().or_else(|| signal(status))),
        Some(Err(error)) => Err(AgentError::Shell(format!("was lost: {error}"))),
        None => Ok(None),
    }
}

/// Returns the exit code that shells use for a command that was ended by a signal.
#[cfg(unix)]
fn signal(status: std::process::ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status).map(|signal| 128 + signal)
}

#[cfg(not(unix))]
fn signal(_: std::process::ExitStatus) -> Option<i32> {
    None
}

/// Reads some bytes of an output, and closes it at its end.
async fn read(from: &mut Option<impl AsyncRead + Unpin>, buffer: &mut [u8]) -> usize {
    let count = match from {
        Some(from) => from.read(buffer).await.unwrap_or(0),
        None => return std::future::pending().await,
    };
    if count == 0 {
        *from = None;
    }
    count
}

/// The output of a command so far.
struct OutputCapture {
    on_output: Option<OnOutput>,
    /// The filters of both outputs: a character or an escape sequence may arrive in pieces.
    filters: [OutputDecoder; 2],
    /// The end of the output, at most twice the size that is kept.
    tail: String,
    is_cut: bool,
    file: Option<(PathBuf, File)>,
    /// The file for the whole output, created if the output is cut.
    path: PathBuf,
}

/// The part of an output that is kept.
struct CapturedOutput {
    text: String,
    is_cut: bool,
    file: Option<PathBuf>,
}

impl OutputCapture {
    fn new(session: &Session, on_output: Option<OnOutput>) -> Self {
        let name = format!("treering-shell-{}-{}.log", std::process::id(), session.new_id());
        OutputCapture {
            on_output,
            filters: Default::default(),
            tail: String::new(),
            is_cut: false,
            file: None,
            path: std::env::temp_dir().join(name),
        }
    }

    fn take(&mut self, bytes: &[u8], from: usize) {
        let Some(filter) = self.filters.get_mut(from) else { return };
        let text = filter.text(bytes);
        if text.is_empty() {
            return;
        }
        if let Some(on_output) = &mut self.on_output {
            on_output(&text);
        }
        self.tail.push_str(&text);
        if self.file.is_none() && self.tail.len() > MAX_BYTES {
            self.spill();
        } else if let Some((_, file)) = &mut self.file {
            // If the disk is full, only the full output is lost.
            let _ = file.write_all(text.as_bytes());
        }
        if self.tail.len() > 2 * MAX_BYTES {
            self.is_cut = true;
            self.tail = end_of(&self.tail, MAX_BYTES).to_owned();
        }
    }

    /// Writes the output so far to a file that only the user can read.
    fn spill(&mut self) {
        if let Ok(mut file) = fs::open(&self.path, Access::CreateNew) {
            let _ = file.write_all(self.tail.as_bytes());
            self.file = Some((self.path.clone(), file));
        }
    }

    fn finish(mut self) -> CapturedOutput {
        let mut text = end_of(&self.tail, MAX_BYTES);
        let mut breaks = text.trim_end_matches('\n').rmatch_indices('\n');
        if let Some((at, _)) = breaks.nth(MAX_LINES - 1) {
            text = text.get(at + 1..).unwrap_or_default();
        }
        let is_cut = self.is_cut || text.len() < self.tail.len();
        let text = text.trim_end().to_owned();
        if is_cut && self.file.is_none() {
            self.spill();
        }
        CapturedOutput { text, is_cut, file: self.file.map(|(path, _)| path) }
    }
}

/// Returns the last `bytes` bytes of a text, from the beginning of a line if there is one.
fn end_of(text: &str, bytes: usize) -> &str {
    if text.len() <= bytes {
        return text;
    }
    let mut start = text.len() - bytes;
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let end = text.get(start..).unwrap_or_default();
    match end.split_once('\n') {
        Some((_, lines)) if !lines.is_empty() => lines,
        _ => end,
    }
}

/// Converts bytes to text and removes escape sequences.
#[derive(Default)]
struct OutputDecoder {
    /// The first bytes of an incomplete character.
    pending: Vec<u8>,
    state: Escape,
}

#[derive(Default, Clone, Copy, PartialEq)]
enum Escape {
    #[default]
    None,
    /// ESC was read.
    Began,
    /// ESC [ was read: the sequence ends with a letter.
    Sequence,
    /// ESC ] or the like was read: the sequence ends with BEL or ESC \.
    Text,
}

impl OutputDecoder {
    fn text(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        // At the end of the output an incomplete character stays incomplete.
        let whole = if bytes.is_empty() {
            self.pending.len()
        } else {
            crate::summarizer::whole_characters(&self.pending)
        };
        let bytes: Vec<u8> = self.pending.drain(..whole).collect();
        let text = String::from_utf8_lossy(&bytes);
        text.chars().filter(|character| self.is_text(*character)).collect()
    }

    fn is_text(&mut self, character: char) -> bool {
        let (state, is_text) = match (self.state, character) {
            (Escape::Text, '\x07') => (Escape::None, false),
            (_, '\x1b') => (Escape::Began, false),
            (Escape::Text, _) => (Escape::Text, false),
            (Escape::Began, '[') => (Escape::Sequence, false),
            (Escape::Began, ']' | 'P' | 'X' | '^' | '_') => (Escape::Text, false),
            (Escape::Began, ' '..='/') => (Escape::Began, false),
            (Escape::Began, _) => (Escape::None, false),
            (Escape::Sequence, '@'..='~') => (Escape::None, false),
            (Escape::Sequence, ' '..='?') => (Escape::Sequence, false),
            (_, '\n' | '\t') => (Escape::None, true),
            (_, character) => (Escape::None, !character.is_control()),
        };
        self.state = state;
        is_text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_taken_out_however_they_arrive() {
        let printed = "a\x1b[1;31mré\x1b]0;title\x07d\x1b(B\x1b]8;;u\x1b\\x\r\n\x08\u{9b}ok";
        for size in [1, 2, 3, 7, 100] {
            let mut filter = OutputDecoder::default();
            let mut text: String =
                printed.as_bytes().chunks(size).map(|bytes| filter.text(bytes)).collect();
            text += &filter.text(b"");
            assert_eq!(text, "arédx\nok", "{size}");
        }
    }

    #[test]
    fn the_end_is_kept() {
        assert_eq!(end_of("one\ntwo\nthree", 6), "three");
        assert_eq!(end_of("one\ntwo\n", 5), "two\n");
        assert_eq!(end_of("ééé", 3), "é");
        assert_eq!(end_of("short", 9), "short");
    }
}
