//! Carries out the file actions of the picker in order, on a thread.

use super::{PickerSetup, PickerSource, id_of};
use crate::picker::{PickerEffect, PickerEvent};
use crate::runtime::background::background;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use treering::storage::UnpackLimits;
use treering::store::Store;
use treering_display::number::size;
use treering_export::{Existing, Export, document_name, write_file};
use treering_index::SessionIndex;
use treering_index::housekeeping::{Refusal, Trash, archive, discard, unarchive};

/// The queue of file actions.
#[derive(Debug)]
pub(super) struct FileActions {
    list: Sender<PickerEffect>,
    left: Arc<AtomicUsize>,
}

impl FileActions {
    /// Starts a thread that carries out actions until the queue is dropped.
    pub(super) fn start(setup: &PickerSetup, events: Sender<PickerEvent>) -> Self {
        let (list, received) = channel();
        let left = Arc::new(AtomicUsize::new(0));
        let worker = FileActionWorker {
            source: setup.source.clone(),
            trash: setup.trash.clone(),
            export_dir: setup.export_dir.clone(),
            now: setup.now,
        };
        let undone = Arc::clone(&left);
        background(move || {
            for action in received {
                let message =
                    worker.perform(action).unwrap_or_else(|why| vec![PickerEvent::Failure(why)]);
                undone.fetch_sub(1, Ordering::SeqCst);
                // A failure means that the screen is gone.
                message.into_iter().for_each(|event| drop(events.send(event)));
            }
        });
        FileActions { list, left }
    }

    pub(super) fn add(&self, action: PickerEffect) {
        self.left.fetch_add(1, Ordering::SeqCst);
        if self.list.send(action).is_err() {
            self.left.fetch_sub(1, Ordering::SeqCst);
        }
    }

    pub(super) fn are_running(&self) -> bool {
        self.left.load(Ordering::SeqCst) > 0
    }
}

#[derive(Debug)]
pub(super) struct FileActionWorker {
    pub source: PickerSource,
    pub trash: Option<Trash>,
    pub export_dir: PathBuf,
    pub now: fn() -> i64,
}

impl FileActionWorker {
    /// Carries out an action. Returns the events about it, or the reason why it failed.
    pub(super) fn perform(&self, action: PickerEffect) -> Result<Vec<PickerEvent>, String> {
        match action {
            PickerEffect::Rename(path, name) => self.rename(&path, &name),
            PickerEffect::Archive(_) | PickerEffect::Unarchive(_) if self.store().is_some() => {
                Err("only sessions in files can be archived".to_owned())
            }
            PickerEffect::Delete(path) => self.delete(&path),
            PickerEffect::Archive(path) => {
                let packed = archive(&path, (self.now)(), &mut |_, _| {}).map_err(in_words)?;
                let (packed, agent) = packed;
                let sizes = format!("{} → {}", size(packed.from), size(packed.to));
                let note = match agent.reads_archives() {
                    true => format!("archived, {sizes}"),
                    false => {
                        format!("archived, {sizes}; {agent} cannot find it until it is unarchived")
                    }
                };
                Ok(vec![moved(path, &packed.path)?, PickerEvent::Notice(note)])
            }
            PickerEffect::Unarchive(path) => {
                let unpacked =
                    unarchive(&path, (self.now)(), UnpackLimits::default(), &mut |_, _| {})
                        .map_err(in_words)?;
                let note = format!("unpacked: {}", unpacked.path.display());
                Ok(vec![moved(path, &unpacked.path)?, PickerEvent::Notice(note)])
            }
            PickerEffect::Export(path) => self.export(&path),
            _ => Ok(Vec::new()),
        }
    }

    fn store(&self) -> Option<&Arc<dyn Store>> {
        match &self.source {
            PickerSource::Machine(_) => None,
            PickerSource::Store(store) => Some(store),
        }
    }

    fn rename(&self, path: &Path, name: &str) -> Result<Vec<PickerEvent>, String> {
        let in_words = |error: treering::Error| error.to_string();
        self.source.open(path).and_then(|session| session.set_name(name)).map_err(in_words)?;
        let note = if name.is_empty() { "the name was cleared" } else { "renamed" };
        let session = self.source.info(path).map_err(in_words)?;
        Ok(vec![PickerEvent::Found(vec![session], None), PickerEvent::Notice(note.to_owned())])
    }

    fn delete(&self, path: &Path) -> Result<Vec<PickerEvent>, String> {
        if let Some(store) = self.store() {
            let removed = id_of(path).and_then(|id| store.remove(&id));
            removed.map_err(|error| error.to_string())?;
            let note = PickerEvent::Notice("deleted".to_owned());
            return Ok(vec![PickerEvent::Gone(vec![path.to_owned()]), note]);
        }
        let trash = discard(path, self.trash.as_ref(), (self.now)()).map_err(in_words)?;
        let note = match trash {
            Some(trash) => format!("moved to the trash: {}", trash.display()),
            None => "deleted".to_owned(),
        };
        // Some agents keep more files of a session in a directory of the same name.
        let companion = path.with_extension("");
        let note = match companion.is_dir() && companion != path {
            true => {
                format!("{note}; other files of the session are still in {}", companion.display())
            }
            false => note,
        };
        Ok(vec![PickerEvent::Gone(vec![path.to_owned()]), PickerEvent::Notice(note)])
    }

    fn export(&self, path: &Path) -> Result<Vec<PickerEvent>, String> {
        let session = self.source.open(path).map_err(|error| error.to_string())?;
        let target = free_name(&self.export_dir, &document_name(path, "html"))?;
        let written =
            write_file(&target, Existing::Kept, |out| Export::default().html(&session, out));
        let bytes = written.map_err(|error| format!("{}: {error}", target.display()))?;
        Ok(vec![PickerEvent::Notice(format!("exported, {}: {}", size(bytes), target.display()))])
    }
}

fn moved(from: PathBuf, to: &Path) -> Result<PickerEvent, String> {
    let session = SessionIndex::info(to).map_err(|error| error.to_string())?;
    Ok(PickerEvent::Moved(from, Box::new(session)))
}

fn in_words(refusal: Refusal) -> String {
    match refusal.reason.hint() {
        Some(hint) => format!("{}: {hint}", refusal.reason),
        None => refusal.reason.to_string(),
    }
}

/// Returns a file name that is free in the directory.
fn free_name(dir: &Path, name: &str) -> Result<PathBuf, String> {
    const MAX_ATTEMPTS: usize = 1000;
    let stem = name.strip_suffix(".html").unwrap_or(name);
    (1..MAX_ATTEMPTS)
        .map(|number| match number {
            1 => dir.join(name),
            _ => dir.join(format!("{stem}-{number}.html")),
        })
        .find(|path| path.symlink_metadata().is_err())
        .ok_or_else(|| format!("{} already has 1000 exports of this session", dir.display()))
}
