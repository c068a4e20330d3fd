//! The log of a session on a server.

use super::events::{Events, Follower};
use super::nodes::{Method, Nodes, Request, Response};
use super::problem::Problem;
use super::window::Window;
use super::wire::{self, AppendAnswer, ReplaceAnswer};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use treering::SessionId;
use treering::storage::{Appended, End, Journal, JournalError};

/// A [`Journal`] on a server.
#[derive(Debug)]
pub(super) struct HttpJournal {
    nodes: Arc<Nodes>,
    id: SessionId,
    path: String,
    known: Mutex<LogState>,
    /// The follower of the session, once a caller asked for news.
    follower: OnceLock<Follower>,
}

/// The part of the log that is known.
#[derive(Debug, Default)]
struct LogState {
    window: Window,
    /// The length that the server reported last.
    length: u64,
    /// Whether the server has reported a length.
    has_length: bool,
    /// Whether the length was reported when the log was opened, so that the first call of `len`
    /// needs no request.
    is_new: bool,
}

impl HttpJournal {
    pub(super) fn new(nodes: Arc<Nodes>, id: &SessionId) -> Self {
        let path = format!("{}/log", wire::session_path(id));
        let (known, follower) = (Mutex::default(), OnceLock::new());
        HttpJournal { nodes, id: id.clone(), path, known, follower }
    }

    fn known(&self) -> MutexGuard<'_, LogState> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests the length, and keeps it for the first call of `len`.
    pub(super) fn fetch_length(&self) -> Result<u64, Problem> {
        let length = self.request_length()?;
        self.known().is_new = true;
        Ok(length)
    }

    fn request_length(&self) -> Result<u64, Problem> {
        let length = match self.nodes.call(&Request::new(Method::Head, self.path.clone())) {
            Ok(answer) => self.length_of(&answer)?,
            // A response without a body does not state the reason.
            Err(Problem::Lasting(_)) => self.fetch(0, 1)?.1,
            Err(problem) => return Err(problem),
        };
        self.set_length(length);
        Ok(length)
    }

    fn length_of(&self, answer: &Response) -> Result<u64, Problem> {
        answer.length.ok_or_else(|| {
            let node = self.nodes.location();
            let what =
                format!("{node} did not send the length of the log; is it a treering server?");
            Problem::Lasting(io::Error::new(io::ErrorKind::InvalidData, what))
        })
    }

    fn set_length(&self, length: u64) {
        let mut known = self.known();
        if length < known.length {
            // The session was removed and created again, so this is another log.
            known.window.clear();
        }
        (known.length, known.has_length) = (length, true);
    }

    /// Reads bytes from the server, and the length of the log.
    fn fetch(&self, start: u64, end: u64) -> Result<(Vec<u8>, u64), Problem> {
        let mut request = Request::new(Method::Get, self.path.clone());
        let last = end.saturating_sub(1).max(start);
        request.headers.push(("range", format!("bytes={start}-{last}")));
        let answer = self.nodes.call(&request)?;
        let length = self.length_of(&answer)?;
        let mut body = match answer.status {
            206 => answer.body,
            // A server or a proxy that does not support ranges sends everything.
            200 => {
                let skipped = usize::try_from(start).unwrap_or(usize::MAX);
                answer.body.get(skipped..).unwrap_or_default().to_vec()
            }
            _ => Vec::new(),
        };
        body.truncate(usize::try_from(end - start).unwrap_or(usize::MAX));
        Ok((body, length))
    }

    /// Returns whether these bytes are at `offset` of the log, and the length of the log.
    pub(super) fn holds(&self, offset: u64, bytes: &[u8]) -> Result<(bool, u64), Problem> {
        const PIECE: usize = 4 * 1024 * 1024;
        let mut at = offset;
        for piece in bytes.chunks(PIECE) {
            let (there, length) = self.fetch(at, at + piece.len() as u64)?;
            if there != piece {
                return Ok((false, length));
            }
            at += piece.len() as u64;
            if at == offset + bytes.len() as u64 {
                return Ok((true, length));
            }
        }
        Ok((true, self.request_length()?))
    }

    /// Records that lines were appended at `start`.
    fn appended(&self, start: u64, lines: &[u8], length: u64) -> Appended {
        let mut known = self.known();
        known.window.insert(start, lines);
        (known.length, known.has_length) = (known.length.max(length), true);
        known.is_new = false;
        Appended { start }
    }

    fn unreadable(&self, error: &serde_json::Error) -> JournalError {
        self.nodes.unreadable(error).into_journal()
    }
}

impl Journal for HttpJournal {
    fn len(&self) -> io::Result<u64> {
        let mut known = self.known();
        if std::mem::take(&mut known.is_new) {
            return Ok(known.length);
        }
        known.window.forget_title();
        drop(known);
        let follower = self.follower.get();
        if let Some(follower) = follower {
            follower.clear_news();
        }
        let length = self.request_length();
        if let (Err(_), Some(follower)) = (&length, follower) {
            follower.keep_news();
        }
        length.map_err(Problem::into_io)
    }

    fn has_news(&self) -> bool {
        let start = || Follower::start(Events::of_session(&self.nodes, &self.id, None));
        self.follower.get_or_init(start).has_news()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let wanted = {
            let mut known = self.known();
            let got = known.window.read(offset, buffer);
            // Readers fill their buffers beyond the end; they use the length to find out whether
            // the log has grown.
            if got > 0 || known.has_length && offset >= known.length {
                return Ok(got);
            }
            let length = known.length;
            known.window.wanted(offset, buffer.len(), length)
        };
        let (bytes, length) =
            self.fetch(wanted.start, wanted.end.max(offset + 1)).map_err(Problem::into_io)?;
        self.set_length(length);
        let mut known = self.known();
        known.window.insert(wanted.start, &bytes);
        let skipped = usize::try_from(offset - wanted.start).unwrap_or(usize::MAX);
        let bytes = bytes.get(skipped..).unwrap_or_default();
        let count = bytes.len().min(buffer.len());
        buffer[..count].copy_from_slice(&bytes[..count]);
        Ok(count)
    }

    /// Appends lines exactly once, even if the response is lost: the same request is sent again,
    /// and if it is refused, the bytes in the log show whether an earlier attempt succeeded.
    fn append(&self, end: &End, lines: &[u8]) -> Result<Appended, JournalError> {
        let at = end.length();
        let mut request = Request::new(Method::Post, format!("{}?at={at}", self.path));
        request.headers.push(("content-type", "application/x-ndjson".to_owned()));
        if let Some((offset, start)) = end.last_line() {
            let value = format!("{offset}:{}", STANDARD.encode(start));
            request.headers.push(("x-treering-end", value));
        }
        let request = Request { body: lines, ..request };
        let mut attempts = self.nodes.attempts(lines.len());
        loop {
            match attempts.send(&request) {
                Ok(answer) => {
                    let answer: AppendAnswer =
                        serde_json::from_slice(&answer.body).map_err(|e| self.unreadable(&e))?;
                    return Ok(self.appended(answer.start, lines, answer.length));
                }
                Err(Problem::Moved(length)) if !attempts.is_uncertain() => {
                    return Err(JournalError::Moved(length));
                }
                Err(Problem::Moved(_)) => {
                    let held = self.holds(at, lines).map_err(Problem::into_journal)?;
                    return match held {
                        (true, length) => Ok(self.appended(at, lines, length)),
                        (false, length) => Err(JournalError::Moved(length)),
                    };
                }
                Err(problem) => attempts.wait(problem).map_err(Problem::into_journal)?,
            }
        }
    }

    /// Does nothing, because a server responds only when an append is durable.
    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    /// Fails, because appends to a server are durable and never have to be removed.
    fn truncate_if(&self, _: u64, _: u64) -> io::Result<bool> {
        Ok(false)
    }

    fn replace_start(&self, expected: &[u8], bytes: &[u8]) -> Result<bool, JournalError> {
        let body = serde_json::json!({
            "expected": STANDARD.encode(expected),
            "bytes": STANDARD.encode(bytes),
        });
        let body = body.to_string();
        let mut request = Request::new(Method::Post, format!("{}/start", self.path));
        request.headers.push(("content-type", "application/json".to_owned()));
        let request = Request { body: body.as_bytes(), ..request };
        let mut attempts = self.nodes.attempts(0);
        let replaced = loop {
            match attempts.send(&request) {
                Ok(answer) => {
                    let answer: ReplaceAnswer =
                        serde_json::from_slice(&answer.body).map_err(|e| self.unreadable(&e))?;
                    break answer.replaced;
                }
                Err(problem) => attempts.wait(problem).map_err(Problem::into_journal)?,
            }
        };
        self.known().window.forget_start();
        match replaced {
            // An earlier attempt may have replaced them.
            false if attempts.is_uncertain() => {
                Ok(self.holds(0, bytes).map_err(Problem::into_journal)?.0)
            }
            replaced => Ok(replaced),
        }
    }
}
