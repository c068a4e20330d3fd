//! Pieces of a session's entries, made by another thread while JavaScript parses those before them.

use crate::operations::{Form, Piece, piece_of_entries};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use treering::Session;
use treering_bindings::Failure;

/// The number of pieces that wait for JavaScript. More than one, because the threads seldom keep the same pace.
const WAITING: usize = 3;

/// Pieces that another thread makes before they are requested.
#[derive(Default)]
pub(crate) struct Prefetch {
    next: Mutex<Option<Pending>>,
}

struct Pending {
    /// The entry after which the next piece begins.
    after: String,
    size: u64,
    form: Form,
    pieces: Receiver<Result<Piece, Failure>>,
}

impl Prefetch {
    /// Returns the entries after one, of about `size` bytes. Another thread makes the pieces that follow, until all are
    /// made or another piece than the next one is asked for.
    pub(crate) fn piece(
        &self,
        session: &Arc<Session>,
        after: Option<&str>,
        size: u64,
        form: Form,
    ) -> Result<Piece, Failure> {
        let pending = self.next.lock().unwrap_or_else(PoisonError::into_inner).take();
        let is_wanted = |pending: &Pending| {
            Some(&*pending.after) == after && pending.size == size && pending.form == form
        };
        let pieces = pending.filter(is_wanted).map(|pending| pending.pieces);
        // A thread that failed sends nothing more; then the piece is made here.
        let made = pieces.as_ref().and_then(|pieces| pieces.recv().ok());
        let pieces = pieces.filter(|_| made.is_some());
        let piece = made.unwrap_or_else(|| piece_of_entries(session, after, size, form))?;
        if let Some(last) = &piece.last
            && let Some(pieces) = pieces.or_else(|| begin(session, last, size, form))
        {
            let pending = Pending { after: last.clone(), size, form, pieces };
            *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Some(pending);
        }
        Ok(piece)
    }
}

/// Begins to make the pieces after an entry; `None` if there is no thread for it.
fn begin(
    session: &Arc<Session>,
    after: &str,
    size: u64,
    form: Form,
) -> Option<Receiver<Result<Piece, Failure>>> {
    let (sender, pieces) = sync_channel(WAITING);
    let (session, after) = (Arc::clone(session), after.to_owned());
    let make = move || make_all(&session, after, size, form, &sender);
    std::thread::Builder::new().spawn(make).ok().map(|_| pieces)
}

/// Makes pieces until the last one, a failure, or a receiver that is gone.
fn make_all(
    session: &Session,
    mut after: String,
    size: u64,
    form: Form,
    pieces: &SyncSender<Result<Piece, Failure>>,
) {
    loop {
        let piece = piece_of_entries(session, Some(&after), size, form);
        let last = piece.as_ref().ok().and_then(|piece| piece.last.clone());
        match (pieces.send(piece), last) {
            (Ok(()), Some(last)) => after = last,
            _ => return,
        }
    }
}
