//! The manifest of a site: the pages, and the state of the sessions that they show.

use crate::{Error, Existing, Result, write_file};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use treering::internal::fs;

const FILE: &str = "treering-site.json";

/// The version of the format. It must be raised whenever the meaning of pages, words or the search
/// index changes.
const FORMAT: u64 = 1;

/// The maximum size of a manifest.
const MAX_SIZE: u64 = 256 << 20;

/// The pages of a site.
#[derive(Debug, Default)]
pub(super) struct Manifest {
    /// The options with which the pages were written.
    pub variant: String,
    pub pages: BTreeMap<String, PageRecord>,
}

/// The record of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PageRecord {
    /// The size, the number of entries and the time of the session when its page was written; empty
    /// if the page has to be written again.
    pub stamp: String,
    pub length: u64,
    /// The number of the session in the search index. It does not change, so that the index changes
    /// as little as possible.
    pub number: u32,
    /// The title and the project on the page, which may be redacted.
    pub title: String,
    pub project: String,
}

impl Manifest {
    /// Reads the manifest of a directory; an empty one for a new directory.
    ///
    /// # Errors
    ///
    /// Fails if the directory has files and no manifest, or a manifest that cannot be read: its
    /// pages could then be neither removed nor trusted.
    pub(super) fn read(dir: &Path) -> io::Result<Self> {
        match fs::read(&dir.join(FILE), MAX_SIZE) {
            Ok(bytes) => Manifest::parse(&bytes).ok_or_else(|| {
                let what = format!("{FILE} in it is damaged");
                io::Error::new(io::ErrorKind::InvalidData, what)
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut entries = match std::fs::read_dir(dir) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {
                        return Ok(Manifest::default());
                    }
                    entries => entries?,
                };
                match entries.next() {
                    None => Ok(Manifest::default()),
                    Some(_) => {
                        let what = "the directory is not empty and is not a site of treering";
                        Err(io::Error::new(io::ErrorKind::DirectoryNotEmpty, what))
                    }
                }
            }
            Err(error) => Err(error),
        }
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(bytes).ok()?;
        // Pages of another version of this program are known by name, and written again.
        let is_known = value["format"] == json!(FORMAT);
        let page = |(name, record): (&String, &Value)| {
            // A name is joined to the directory, and must not lead outside of it.
            let is_name = !name.contains(['/', '\\']) && name.ends_with(".html");
            let text = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
            let number = record["number"].as_u64().and_then(|number| number.try_into().ok());
            let page = PageRecord {
                stamp: if is_known && number.is_some() { text("stamp") } else { String::new() },
                length: record["length"].as_u64().unwrap_or(0),
                number: number.unwrap_or(0),
                title: text("title"),
                project: text("project"),
            };
            is_name.then(|| (name.clone(), page))
        };
        let pages = value["pages"].as_object()?.iter().filter_map(page).collect();
        Some(Manifest { variant: value["variant"].as_str()?.to_owned(), pages })
    }

    /// Marks all pages to be written again.
    pub(super) fn forget_stamps(&mut self) {
        for page in self.pages.values_mut() {
            page.stamp.clear();
        }
    }

    /// Returns the numbers of sessions in the search index: existing ones, and new ones for new
    /// sessions.
    pub(super) fn numbers<'a>(
        &self,
        names: impl Iterator<Item = &'a str>,
    ) -> BTreeMap<&'a str, u32> {
        let is_current = |page: &&PageRecord| !page.stamp.is_empty();
        let known = self.pages.values().filter(is_current).map(|page| page.number);
        let mut next = known.max().map_or(0, |number| number.saturating_add(1));
        let mut number = |name: &str| {
            self.pages.get(name).filter(is_current).map(|page| page.number).unwrap_or_else(|| {
                next += 1;
                next - 1
            })
        };
        names.map(|name| (name, number(name))).collect()
    }

    pub(super) fn write(&self, dir: &Path) -> Result<()> {
        let page = |(name, page): (&String, &PageRecord)| {
            let PageRecord { stamp, length, number, title, project } = page;
            let page = json!({
                "stamp": stamp, "length": length, "number": number, "title": title, "project": project,
            });
            (name.clone(), page)
        };
        let pages: serde_json::Map<String, Value> = self.pages.iter().map(page).collect();
        let text = json!({"format": FORMAT, "variant": self.variant, "pages": pages}).to_string();
        write_file(&dir.join(FILE), Existing::Replaced, |out| {
            out.write_all(text.as_bytes()).map_err(Error::Write)
        })?;
        Ok(())
    }
}
