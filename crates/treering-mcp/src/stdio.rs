//! The transport over standard input and output, or any other pair of streams, as lines.
//!
//! Requests are answered on separate threads, so that a client can send other requests, or cancel
//! one, while a search runs. A canceled request is not answered.

use crate::McpServer;
use crate::progress::ProgressNotes;
use crate::protocol::{ErrorCode, Message, ProtocolError, Request};
use crate::sessions::Control;
use serde_json::Value;
use std::collections::HashMap;
use std::io::{self, BufRead, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use treering::catalog::Progress;

/// The longest line of a client, in bytes.
const LONGEST: u64 = 16 * 1024 * 1024;

/// The maximum number of requests that are answered concurrently. Further lines are read when one
/// of them is done.
const AT_ONCE: usize = 16;

/// The requests that are being answered, by their id.
#[derive(Debug, Default)]
struct Running {
    requests: Mutex<HashMap<String, Arc<AtomicBool>>>,
    one_ended: Condvar,
}

impl Running {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<AtomicBool>>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the limit allows it, and adds a request; `None` if one with the same id is
    /// running.
    fn enter(&self, id: &Value) -> Option<Arc<AtomicBool>> {
        let mut requests = self.lock();
        while requests.len() >= AT_ONCE {
            requests = self.one_ended.wait(requests).unwrap_or_else(PoisonError::into_inner);
        }
        let cancel = Arc::new(AtomicBool::new(false));
        let before = requests.insert(id.to_string(), Arc::clone(&cancel));
        match before {
            None => Some(cancel),
            Some(before) => {
                requests.insert(id.to_string(), before);
                None
            }
        }
    }

    fn leave(&self, id: &Value) {
        self.lock().remove(&id.to_string());
        self.one_ended.notify_all();
    }

    fn cancel(&self, id: &Value) {
        if let Some(cancel) = self.lock().get(&id.to_string()) {
            cancel.store(true, Ordering::Relaxed);
        }
    }

    fn cancel_all(&self) {
        for cancel in self.lock().values() {
            cancel.store(true, Ordering::Relaxed);
        }
    }
}

/// Writes messages, each as one line, from any thread.
struct Writer<W>(Mutex<W>);

impl<W: Write> Writer<W> {
    fn write(&self, message: &Value) -> io::Result<()> {
        let mut output = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        output.write_all(&line)?;
        output.flush()
    }
}

impl McpServer {
    /// Serves a client on standard input and output until it closes them.
    ///
    /// # Errors
    ///
    /// Fails if they cannot be read or written.
    pub fn serve_stdio(&self) -> io::Result<()> {
        self.serve(io::stdin().lock(), io::stdout())
    }

    /// Serves a client until `input` ends.
    ///
    /// # Errors
    ///
    /// Fails if the streams cannot be read or written.
    ///
    /// ```
    /// # use treering_index::{Places, Project, SessionIndex};
    /// # use treering_mcp::{Access, McpServer, Settings};
    /// # use treering_usage::{Prices, Zone};
    /// # use std::sync::Arc;
    /// # let server = McpServer::new(Settings {
    /// #     sessions: Arc::new(SessionIndex::new(Places::default()).with_cache(None)),
    /// #     project: Project::new("/project"),
    /// #     prices: Prices::published(),
    /// #     zone: Zone::utc(),
    /// #     access: Access::ReadOnly,
    /// #     clock: || 0,
    /// # });
    /// let asked = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    /// let mut answered = Vec::new();
    /// server.serve(&asked[..], &mut answered)?;
    /// assert_eq!(answered, b"{\"id\":1,\"jsonrpc\":\"2.0\",\"result\":{}}\n");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn serve(&self, mut input: impl BufRead, output: impl Write + Send) -> io::Result<()> {
        let (running, writer) = (Running::default(), Writer(Mutex::new(output)));
        let failed = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let mut line = Vec::new();
            let ended = loop {
                line.clear();
                match input.by_ref().take(LONGEST + 1).read_until(b'\n', &mut line) {
                    Ok(0) => break Ok(()),
                    Ok(read) if read as u64 > LONGEST => {
                        break Err(io::Error::other("a line of the client is too long"));
                    }
                    Ok(_) => {}
                    Err(error) => break Err(error),
                }
                if failed.load(Ordering::Relaxed) {
                    break Err(io::ErrorKind::BrokenPipe.into());
                }
                let line = line.trim_ascii();
                if line.is_empty() {
                    continue;
                }
                let written = match Message::parse(line) {
                    Err((id, error)) => writer.write(&error.to_message(&id)),
                    Ok(Message::Response) => Ok(()),
                    Ok(Message::Notification { method, params }) => {
                        if method == "notifications/cancelled" {
                            running.cancel(params.get("requestId").unwrap_or(&Value::Null));
                        }
                        Ok(())
                    }
                    Ok(Message::Request(request)) => match running.enter(&request.id) {
                        None => {
                            let message = "a request with this id is already being answered";
                            let error = ProtocolError::new(ErrorCode::InvalidRequest, message);
                            writer.write(&error.to_message(&request.id))
                        }
                        Some(cancel) => {
                            let (writer, running, failed) = (&writer, &running, &failed);
                            scope.spawn(move || {
                                let answer = self.answer_one(&request, &cancel, writer);
                                let is_canceled = cancel.load(Ordering::Relaxed);
                                if !is_canceled && writer.write(&answer).is_err() {
                                    failed.store(true, Ordering::Relaxed);
                                }
                                running.leave(&request.id);
                            });
                            Ok(())
                        }
                    },
                };
                if let Err(error) = written {
                    break Err(error);
                }
            };
            // If the client is gone, requests are not finished; if it only has no further requests,
            // it gets its answers.
            if ended.is_err() {
                running.cancel_all();
            }
            ended
        })
    }

    fn answer_one<W: Write + Send>(
        &self,
        request: &Request,
        cancel: &AtomicBool,
        writer: &Writer<W>,
    ) -> Value {
        let notes = ProgressNotes::of(request);
        let tell = |progress: Progress| {
            if let Some(note) = notes.as_ref().and_then(|notes| notes.note(progress)) {
                // If the client is gone, the answer will fail.
                let _ = writer.write(&note);
            }
        };
        let control = Control::new(cancel).with_progress(&tell);
        let answered = self.answer(request, &control);
        answered.unwrap_or_else(|error| error.to_message(&request.id))
    }
}
