//! Pieces of a session's entries, each made by another thread while JavaScript parses the one before it.

use crate::operations::{Form, Piece, piece_of_entries};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use treering::Session;
use treering_bindings::{Category, Failure};

/// The piece that is being made.
#[derive(Default)]
pub(crate) struct Ahead {
    next: Mutex<Option<Pending>>,
}

struct Pending {
    after: String,
    size: u64,
    form: Form,
    piece: JoinHandle<Result<Piece, Failure>>,
}

impl Ahead {
    /// Returns the entries after one, of about `size` bytes, and begins to make the piece that follows.
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
        let piece = match pending.filter(is_wanted) {
            Some(pending) => pending.piece.join().unwrap_or_else(|_| Err(failed()))?,
            None => piece_of_entries(session, after, size, form)?,
        };
        if let Some(last) = &piece.last {
            let (session, after) = (Arc::clone(session), last.clone());
            let start = after.clone();
            let make = move || piece_of_entries(&session, Some(&start), size, form);
            // Without a thread the next call makes the piece.
            if let Ok(piece) = std::thread::Builder::new().spawn(make) {
                let pending = Pending { after, size, form, piece };
                *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Some(pending);
            }
        }
        Ok(piece)
    }
}

fn failed() -> Failure {
    Failure::new(Category::Storage, "storage", "a thread that read entries failed")
}
