//! Stores unsent text on disk, so that it survives however the program ends.
//!
//! Every running program has a drafts file, and holds a lock on a second file beside it. If no
//! program holds that lock, the program has ended, and the next program in the same project takes
//! over the drafts. Two running programs therefore never take or overwrite each other's drafts.

use crate::chat::{Drafts, UnsentText};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};
use treering::internal::fs::{NewFile, create_private_dir};

/// The number of files that this process has created, so that each has a unique name.
static STORES: AtomicU64 = AtomicU64::new(0);

/// The time within which changes are written together.
const DELAY: Duration = Duration::from_secs(1);
/// The largest size of a file in bytes; beyond it the oldest drafts are left out.
const MAX_BYTES: usize = 64 << 20;
/// The first line of a file.
const FORMAT: &str = "treering drafts 1";
/// The extensions of the two files of a program.
const DRAFTS: &str = "drafts";
const LOCK: &str = "lock";

/// A store for unsent text, which writes to a directory on a thread.
#[derive(Debug, Default)]
pub struct DraftStore {
    texts: Option<Sender<UnsentText>>,
    thread: Option<JoinHandle<bool>>,
}

/// A handle with which screens report the unsent text to a [`DraftStore`].
#[derive(Debug, Default)]
pub(super) struct DraftStoreHandle {
    texts: Option<Sender<UnsentText>>,
    stored: UnsentText,
}

impl DraftStore {
    /// Starts to store the drafts of a project. Returns the drafts of programs that have ended.
    pub fn start(dir: &Path, project: &Path) -> (Self, Drafts) {
        let mut files = DraftFiles::new(dir, project);
        let drafts = files.take_over();
        let (texts, received) = channel();
        let thread = std::thread::spawn(move || files.follow(&received));
        (DraftStore { texts: Some(texts), thread: Some(thread) }, drafts)
    }

    pub(super) fn handle(&self) -> DraftStoreHandle {
        DraftStoreHandle { texts: self.texts.clone(), stored: UnsentText::default() }
    }

    /// Writes the unsent text at the end. Returns whether there is any and it is on disk. All
    /// handles must be dropped before.
    pub(super) fn close(mut self, unsent: &UnsentText) -> bool {
        if let Some(texts) = &self.texts {
            // Without a thread nothing is stored.
            let _ = texts.send(unsent.clone());
        }
        self.end()
    }

    fn end(&mut self) -> bool {
        self.texts = None;
        self.thread.take().is_some_and(|thread| thread.join().unwrap_or(false))
    }
}

impl Drop for DraftStore {
    fn drop(&mut self) {
        self.end();
    }
}

impl DraftStoreHandle {
    /// Stores the unsent text, which replaces the earlier one.
    pub(super) fn keep(&mut self, unsent: UnsentText) {
        if let Some(texts) = self.texts.as_ref().filter(|_| unsent != self.stored) {
            self.stored = unsent.clone();
            // Without a thread there is nothing to keep text in.
            let _ = texts.send(unsent);
        }
    }
}

/// The files of this program.
#[derive(Debug)]
struct DraftFiles {
    dir: PathBuf,
    project: Vec<u8>,
    /// The path of both files without their extensions, and the lock.
    own: Option<(PathBuf, File)>,
}

impl DraftFiles {
    fn new(dir: &Path, project: &Path) -> Self {
        let project = project.as_os_str().as_encoded_bytes().to_vec();
        DraftFiles { dir: dir.to_owned(), project, own: None }
    }

    /// Reads the drafts of programs that have ended, writes them to this program's file, and
    /// removes the other files.
    fn take_over(&mut self) -> Drafts {
        let mut found: Vec<(PathBuf, Vec<String>, Option<File>)> = Vec::new();
        let Ok(entries) = fs::read_dir(&self.dir) else { return Drafts::default() };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|ending| ending == DRAFTS));
        // Names begin with a time: the oldest first.
        paths.sort();
        for path in paths {
            // A file without a lock file belongs to a program that has ended, too.
            let lock = match File::open(path.with_extension(LOCK)) {
                Ok(lock) if lock.try_lock().is_err() => continue,
                lock => lock.ok(),
            };
            if let Some(texts) = self.read(&path) {
                found.push((path, texts, lock));
            }
        }
        let mut drafts = Drafts::default();
        found.iter().flat_map(|(_, texts, _)| texts).for_each(|text| drafts.put_aside(text));
        if !found.is_empty() && self.write(drafts.texts()).is_ok() {
            for (path, ..) in &found {
                let _ = fs::remove_file(path);
                let _ = fs::remove_file(path.with_extension(LOCK));
            }
        }
        drafts
    }

    /// Reads the drafts of a file; `None` if they belong to another project.
    fn read(&self, path: &Path) -> Option<Vec<String>> {
        let is_small = fs::metadata(path).is_ok_and(|file| file.len() <= 2 * MAX_BYTES as u64);
        let bytes = fs::read(path).ok().filter(|_| is_small)?;
        let mut rest = bytes.strip_prefix(FORMAT.as_bytes())?.strip_prefix(b"\n")?;
        (take(&mut rest)? == self.project).then_some(())?;
        let mut texts = Vec::new();
        while let Some(text) = take(&mut rest) {
            texts.push(String::from_utf8_lossy(text).into_owned());
        }
        Some(texts)
    }

    /// Writes the received texts until the channel closes. Returns whether something is stored
    /// then.
    fn follow(&mut self, received: &Receiver<UnsentText>) -> bool {
        let mut is_kept = false;
        while let Ok(mut unsent) = received.recv() {
            let due = Instant::now() + DELAY;
            let left = || due.saturating_duration_since(Instant::now());
            while let Ok(newer) = received.recv_timeout(left()) {
                unsent = newer;
            }
            let mut texts = unsent.drafts.texts().to_vec();
            texts.extend(Some(unsent.text).filter(|text| !text.trim().is_empty()));
            is_kept = self.write(&texts).is_ok() && !texts.is_empty();
        }
        if let Some((path, _)) = &self.own {
            let _ = fs::remove_file(path.with_extension(LOCK));
        }
        is_kept
    }

    /// Replaces the content of this program's file.
    fn write(&mut self, texts: &[String]) -> io::Result<()> {
        if texts.is_empty() {
            return match &self.own {
                Some((path, _)) => remove(&path.with_extension(DRAFTS)),
                None => Ok(()),
            };
        }
        let path = self.own_path()?.with_extension(DRAFTS);
        let mut room = MAX_BYTES;
        let fits = |text: &&String| {
            let fits = text.len() <= room;
            room = room.saturating_sub(text.len());
            fits
        };
        let kept: Vec<&String> = texts.iter().rev().take_while(fits).collect();
        let mut file = NewFile::beside(&path)?;
        let mut out = io::BufWriter::new(&mut file);
        writeln!(out, "{FORMAT}")?;
        put(&mut out, &self.project)?;
        for text in kept.into_iter().rev() {
            put(&mut out, text.as_bytes())?;
        }
        out.flush()?;
        drop(out);
        file.publish_replacing().map(drop)
    }

    fn own_path(&mut self) -> io::Result<&Path> {
        if self.own.is_none() {
            create_private_dir(&self.dir)?;
            let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            // Two stores of one process may be started in the same millisecond.
            let number = STORES.fetch_add(1, Ordering::Relaxed);
            let name = format!("{:015}-{}-{number}", time.as_millis(), std::process::id());
            let path = self.dir.join(name);
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let lock = options.open(path.with_extension(LOCK))?;
            lock.lock()?;
            self.own = Some((path, lock));
        }
        let own = self.own.as_ref().map(|(path, _)| path.as_path());
        own.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Writes a text with its length before it.
fn put(out: &mut impl Write, text: &[u8]) -> io::Result<()> {
    writeln!(out, "{}", text.len())?;
    out.write_all(text)?;
    out.write_all(b"\n")
}

/// Reads a text with its length from the beginning of `rest`.
fn take<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let length: usize = std::str::from_utf8(rest.get(..end)?).ok()?.parse().ok()?;
    let (text, after) = rest.get(end + 1..)?.split_at_checked(length)?;
    *rest = after.strip_prefix(b"\n")?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unsent(text: &str, drafts: &[&str]) -> UnsentText {
        let mut unsent = UnsentText { text: text.to_owned(), ..UnsentText::default() };
        drafts.iter().for_each(|draft| unsent.drafts.put_aside(draft));
        unsent
    }

    fn left(dir: &Path, project: &str) -> (DraftStore, Vec<String>) {
        let (draft_store, drafts) = DraftStore::start(dir, Path::new(project));
        (draft_store, drafts.texts().to_vec())
    }

    #[test]
    fn the_next_program_in_the_project_gets_what_was_unsent() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("state/drafts");
        let (draft_store, found) = left(&dir, "/tea");
        assert_eq!(found, [""; 0]);
        assert!(draft_store.close(&unsent("half\na line", &["old", "12\n34"])));
        let (draft_store, found) = left(&dir, "/coffee");
        assert_eq!(found, [""; 0]);
        assert!(!draft_store.close(&UnsentText::default()));
        let (draft_store, found) = left(&dir, "/tea");
        assert_eq!(found, ["old", "12\n34", "half\na line"]);
        // After everything was sent, no file is left.
        assert!(!draft_store.close(&UnsentText::default()));
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
    }

    #[test]
    fn a_killed_program_has_kept_its_drafts() {
        let dir = tempfile::tempdir().unwrap();
        let (draft_store, _) = left(dir.path(), "/tea");
        let mut handle = draft_store.handle();
        handle.keep(unsent("lost?", &[]));
        drop(handle);
        // A panic drops the store, too.
        drop(draft_store);
        assert_eq!(left(dir.path(), "/tea").1, ["lost?"]);
    }

    #[test]
    fn programs_at_the_same_time_keep_their_own() {
        let dir = tempfile::tempdir().unwrap();
        let mut running = DraftFiles::new(dir.path(), Path::new("/tea"));
        running.write(&["mine".to_owned()]).unwrap();
        assert_eq!(DraftFiles::new(dir.path(), Path::new("/tea")).take_over(), Drafts::default());
        drop(running);
        let mut next = DraftFiles::new(dir.path(), Path::new("/tea"));
        assert_eq!(next.take_over().texts(), ["mine"]);
        assert_eq!(DraftFiles::new(dir.path(), Path::new("/tea")).take_over(), Drafts::default());
    }

    #[test]
    fn stores_that_start_in_the_same_moment_have_files_of_their_own() {
        let dir = tempfile::tempdir().unwrap();
        let mut stores: Vec<DraftFiles> =
            (0..40).map(|_| DraftFiles::new(dir.path(), Path::new("/tea"))).collect();
        for (number, store) in stores.iter_mut().enumerate() {
            store.write(&[number.to_string()]).unwrap();
        }
        drop(stores);
        let found = DraftFiles::new(dir.path(), Path::new("/tea")).take_over();
        assert_eq!(found.texts().len(), 40);
    }

    #[test]
    fn a_file_that_is_cut_gives_what_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let mut files = DraftFiles::new(dir.path(), Path::new("/tea"));
        files.write(&["one".to_owned(), "two".to_owned()]).unwrap();
        let path = files.own_path().unwrap().with_extension(DRAFTS);
        let bytes = fs::read(&path).unwrap();
        for end in 0..bytes.len() {
            fs::write(&path, &bytes[..end]).unwrap();
            let texts = files.read(&path).unwrap_or_default();
            assert!(["one", "two"].map(str::to_owned).starts_with(&texts), "{texts:?}");
        }
    }
}
