//! A journal in memory, for sessions without a file and sessions whose file is not created yet.

use super::checkpoint::Checkpoint;
use super::journal::{Appended, End, Journal, JournalError};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A [`Journal`] that is a vector of bytes.
///
/// ```
/// use std::sync::Arc;
/// use treering::storage::MemoryJournal;
/// use treering::{Message, Session};
/// let journal = Arc::new(MemoryJournal::default());
/// let session = Session::in_journal(journal.clone(), "/project", Default::default())?;
/// session.append(Message::user("hello"))?;
/// assert!(journal.contents().ends_with(b"\n"));
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct MemoryJournal {
    bytes: Mutex<Vec<u8>>,
    /// The last checkpoint, and the length of the journal after its append.
    checkpoint: Mutex<Option<(u64, Checkpoint)>>,
}

impl MemoryJournal {
    /// Returns a journal that starts with `bytes`.
    pub fn new(bytes: Vec<u8>) -> Self {
        MemoryJournal { bytes: Mutex::new(bytes), checkpoint: Mutex::default() }
    }

    /// Returns a copy of the content.
    pub fn contents(&self) -> Vec<u8> {
        self.bytes().clone()
    }

    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_checkpoint(&self, checkpoint: Option<(u64, Checkpoint)>) {
        *self.checkpoint.lock().unwrap_or_else(PoisonError::into_inner) = checkpoint;
    }
}

fn read(bytes: &[u8], offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let start = usize::try_from(offset).map_or(bytes.len(), |offset| offset.min(bytes.len()));
    let count = buffer.len().min(bytes.len() - start);
    buffer[..count].copy_from_slice(&bytes[start..start + count]);
    Ok(count)
}

impl Journal for MemoryJournal {
    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes().len() as u64)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        read(&self.bytes(), offset, buffer)
    }

    fn append(&self, end: &End, lines: &[u8]) -> Result<Appended, JournalError> {
        self.append_with(end, lines, None)
    }

    fn keeps_checkpoints(&self) -> bool {
        true
    }

    fn append_with(
        &self,
        end: &End,
        lines: &[u8],
        checkpoint: Option<&Checkpoint>,
    ) -> Result<Appended, JournalError> {
        let mut bytes = self.bytes();
        let start = bytes.len() as u64;
        if start != end.length() || !end.is_in(|offset, buffer| read(&bytes, offset, buffer))? {
            return Err(JournalError::Moved(start));
        }
        bytes.extend_from_slice(lines);
        let length = bytes.len() as u64;
        self.set_checkpoint(checkpoint.map(|checkpoint| (length, checkpoint.clone())));
        Ok(Appended { start })
    }

    fn checkpoint(&self, length: u64) -> Option<Checkpoint> {
        let kept = self.checkpoint.lock().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().filter(|(end, _)| *end == length).map(|(_, checkpoint)| checkpoint.clone())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn truncate_if(&self, expected: u64, length: u64) -> io::Result<bool> {
        let mut bytes = self.bytes();
        let untouched = bytes.len() as u64 == expected;
        if untouched {
            bytes.truncate(length as usize);
            self.set_checkpoint(None);
        }
        Ok(untouched)
    }

    fn replace_start(&self, expected: &[u8], bytes: &[u8]) -> Result<bool, JournalError> {
        match self.bytes().get_mut(..bytes.len()) {
            Some(start) if start == expected => {
                start.copy_from_slice(bytes);
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}
