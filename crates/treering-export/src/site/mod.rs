//! Writes a static site: an index by project and day, a page for each session, and a search that needs no server.
//!
//! A second run writes only what changed. The manifest has the state of each session when its page
//! was written; the words of each session are kept beside it, so that the search index is made
//! again without reading unchanged sessions. The manifest names all pages before they are written,
//! and marks them as complete when everything is written: a run that ended early is finished by the
//! next one.

mod index;
mod manifest;
mod word_table;
mod words;

use crate::{Error, Existing, Export, Result, html, write_file};
use manifest::{Manifest, PageRecord};
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use treering::Session;
use treering::catalog::SessionInfo;
use treering::internal::fs::{self, NewFile};
use treering_display::entry_parts::EntryParts;
use words::Words;

const PAGES: &str = "sessions";
const WORDS: &str = "words";
const SEARCH: &str = "search";

/// The longest title in the index, in characters.
const TITLE: usize = 120;

/// A static site in a directory.
///
/// ```
/// use treering::{CreateOptions, Message, Session};
/// use treering_export::Site;
///
/// let dir = tempfile::tempdir()?;
/// let file = dir.path().join("one.jsonl");
/// Session::create_at(&file, "/project", CreateOptions::new())?.append(Message::user("Hello"))?;
/// let sessions = [treering::catalog::info(&file)?];
///
/// let site = dir.path().join("site");
/// let report = Site::open(&site, "")?.write(&sessions, |info| Session::open(&info.path), |_| {})?;
/// assert_eq!(report.written, 1);
/// assert!(site.join("index.html").exists());
///
/// let again = Site::open(&site, "")?.write(&sessions, |info| Session::open(&info.path), |_| {})?;
/// assert_eq!((again.written, again.unchanged), (0, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Site {
    dir: PathBuf,
    before: Manifest,
    variant: String,
}

/// The result of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SiteReport {
    /// The number of pages that were written.
    pub written: usize,
    /// The number of pages that were up to date.
    pub unchanged: usize,
    /// The number of pages that were removed, because their sessions are gone or no longer
    /// selected.
    pub removed: usize,
    /// The sessions that could not be read, each with the reason.
    pub failed: Vec<(PathBuf, String)>,
}

impl Site {
    /// Opens the site in `dir`, or creates one. `variant` names the options with which pages are
    /// written, such as redaction: pages that were written with others are written again.
    ///
    /// # Errors
    ///
    /// Fails with [`io::ErrorKind::DirectoryNotEmpty`] if the directory has files and is not a
    /// site, and with [`io::ErrorKind::InvalidData`] if its manifest is damaged.
    pub fn open(dir: impl Into<PathBuf>, variant: impl Into<String>) -> io::Result<Self> {
        let (dir, variant) = (dir.into(), variant.into());
        let mut before = Manifest::read(&dir)?;
        if before.variant != variant {
            before.forget_stamps();
        }
        fs::create_private_dir(&dir)?;
        Ok(Site { dir, before, variant })
    }

    /// Writes the pages of sessions and the index. `open` opens a session; `progress` is called
    /// with the number of sessions that are done.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be written. Sessions that cannot be read are in the report.
    pub fn write(
        self,
        sessions: &[SessionInfo],
        open: impl Fn(&SessionInfo) -> treering::Result<Session> + Sync,
        progress: impl Fn(usize) + Sync,
    ) -> Result<SiteReport> {
        let pages: BTreeMap<String, &SessionInfo> =
            sessions.iter().map(|info| (page_name(info), info)).collect();
        let todo: Vec<(&String, &SessionInfo)> = pages
            .iter()
            .filter(|(name, info)| !self.is_current(name, info))
            .map(|(n, i)| (n, *i))
            .collect();
        let mut report =
            SiteReport { unchanged: pages.len() - todo.len(), ..SiteReport::default() };
        let numbers = self.before.numbers(pages.keys().map(String::as_str));
        self.begin(&todo)?;
        let made = self.write_pages(&todo, &open, &progress)?;

        let mut after =
            Manifest { variant: self.variant.clone(), pages: self.before.pages.clone() };
        for name in self.before.pages.keys().filter(|name| !pages.contains_key(*name)) {
            self.remove(name)?;
            after.pages.remove(name);
            report.removed += 1;
        }
        for (name, result) in made {
            match result {
                Ok(record) => {
                    report.written += 1;
                    let number = numbers.get(name.as_str()).copied().unwrap_or_default();
                    after.pages.insert(name, PageRecord { number, ..record });
                }
                Err((path, why)) => {
                    // The old page may show content that this run must hide.
                    self.remove(&name)?;
                    after.pages.remove(&name);
                    report.failed.push((path, why));
                }
            }
        }
        let listed: Vec<index::Item<'_>> = pages
            .iter()
            .filter_map(|(name, info)| {
                Some(index::Item { name, info, page: after.pages.get(name)? })
            })
            .collect();
        let has_changed = report.written + report.removed + report.failed.len() > 0
            || !self.dir.join("index.html").exists();
        if has_changed {
            words::write_index(&self.dir, &listed)?;
            self.put("site.js", index::SCRIPT.as_bytes())?;
            self.put("index.html", index::page(&listed).as_bytes())?;
            after.write(&self.dir)?;
        }
        Ok(report)
    }

    /// Records the pages before they are written, so that a run that ends early leaves no page that
    /// a later run does not know.
    fn begin(&self, todo: &[(&String, &SessionInfo)]) -> Result<()> {
        let mut begun =
            Manifest { variant: self.variant.clone(), pages: self.before.pages.clone() };
        for (name, _) in todo {
            begun.pages.insert((*name).clone(), PageRecord::default());
        }
        if begun.pages.is_empty() || !todo.is_empty() {
            begun.write(&self.dir)?;
        }
        for made in [PAGES, WORDS, SEARCH] {
            fs::create_private_dir(&self.dir.join(made)).map_err(Error::Write)?;
        }
        Ok(())
    }

    /// Returns whether the page of a session is up to date.
    fn is_current(&self, name: &str, info: &SessionInfo) -> bool {
        let length = |path: PathBuf| fs::metadata(&path).map(|metadata| metadata.len).ok();
        self.before.pages.get(name).is_some_and(|page| {
            page.stamp == stamp(info)
                && length(self.dir.join(PAGES).join(name)) == Some(page.length)
                && self.dir.join(WORDS).join(format!("{name}.txt")).exists()
        })
    }

    /// Writes pages on all cores. An error of one session does not stop the others; an error of the
    /// disk does.
    #[allow(clippy::type_complexity, reason = "the two ends of a page")]
    fn write_pages(
        &self,
        todo: &[(&String, &SessionInfo)],
        open: &(impl Fn(&SessionInfo) -> treering::Result<Session> + Sync),
        progress: &(impl Fn(usize) + Sync),
    ) -> Result<Vec<(String, std::result::Result<PageRecord, (PathBuf, String)>)>> {
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let made = Mutex::new(Vec::new());
        let failed: Mutex<Option<Error>> = Mutex::new(None);
        let workers = std::thread::available_parallelism().map_or(1, |count| count.get()).min(8);
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    let mut words = Words::default();
                    while let Some((name, info)) = todo.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let result = match self.write_page(name, info, open, &mut words) {
                            Ok(record) => Ok(record),
                            Err(Error::Write(error)) => {
                                *failed.lock().unwrap_or_else(|lock| lock.into_inner()) =
                                    Some(Error::Write(error));
                                return;
                            }
                            Err(error) => Err((info.path.clone(), error.to_string())),
                        };
                        let mut made = made.lock().unwrap_or_else(|lock| lock.into_inner());
                        made.push(((*name).clone(), result));
                        drop(made);
                        progress(done.fetch_add(1, Ordering::Relaxed) + 1);
                    }
                });
            }
        });
        match failed.into_inner().unwrap_or_else(|lock| lock.into_inner()) {
            Some(error) => Err(error),
            None => Ok(made.into_inner().unwrap_or_else(|lock| lock.into_inner())),
        }
    }

    fn write_page(
        &self,
        name: &str,
        info: &SessionInfo,
        open: &(impl Fn(&SessionInfo) -> treering::Result<Session> + Sync),
        words: &mut Words,
    ) -> Result<PageRecord> {
        let session = open(info)?;
        let path = self.dir.join(PAGES).join(name);
        // The manifest has the length of each page: a page that a power failure damaged is written
        // again.
        let mut file = BufWriter::with_capacity(1 << 16, NewFile::beside(&path)?);
        // Reading and decoding an entry takes as long as rendering it, so its words are collected
        // in the same pass.
        words.clear();
        let words = Mutex::new(words);
        let visit = |parts: &EntryParts<'_>| {
            words.lock().unwrap_or_else(PoisonError::into_inner).add_entry(parts);
        };
        html::write_visiting(&Export::new(), &session, &visit, &mut file)?;
        let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        let length = file.publish_replacing_unsynced()?.size()?;
        let words = words.into_inner().unwrap_or_else(PoisonError::into_inner);
        words.write(&self.dir.join(WORDS).join(format!("{name}.txt")))?;
        let title = crate::title(&session, TITLE)?;
        Ok(PageRecord { stamp: stamp(info), length, number: 0, title, project: session.cwd() })
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let files =
            [self.dir.join(PAGES).join(name), self.dir.join(WORDS).join(format!("{name}.txt"))];
        for file in files {
            match fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    fn put(&self, name: &str, content: &[u8]) -> Result<()> {
        write_file(&self.dir.join(name), Existing::Replaced, |out| {
            out.write_all(content).map_err(Error::Write)
        })?;
        Ok(())
    }
}

/// Returns the size, the number of entries and the time of a session: its page is written again when one of them changes.
fn stamp(info: &SessionInfo) -> String {
    let (size, entries, modified) = (info.size, info.entry_count, info.modified);
    format!("{size} {entries} {modified} {}", env!("CARGO_PKG_VERSION"))
}

/// Returns the file name of a session's page: the agent, the id, and a hash of its path, because copies share
/// their id.
fn page_name(info: &SessionInfo) -> String {
    use sha2::{Digest, Sha256};
    let hash = Sha256::digest(info.path.as_os_str().as_encoded_bytes());
    let hash = treering::internal::hex(&hash[..4]);
    let plain = |c: &char| c.is_ascii_alphanumeric() || *c == '-';
    let id: String = info.id.as_str().chars().filter(plain).take(48).collect();
    format!("{}-{id}-{hash}.html", info.agent.name())
}
