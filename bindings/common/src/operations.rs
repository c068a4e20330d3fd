//! Operations that take more than one call of the library: searches, exports, redaction, usage reports.

use crate::data::{Data, ToData, record};
use crate::failure::{Category, Failure};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use treering::store::Store;
use treering::{Dialect, Session};
use treering_export::{Existing, Export};
use treering_index::{Places, SessionIndex};
use treering_redact::Redactor;
use treering_search::{Case, Found, Query, Sort};
use treering_usage::{GroupBy, Prices, UsageEvents, UsageSession, Zone};

/// Returns the dialect with this name.
///
/// # Errors
///
/// Fails with the code `unknown_dialect` if there is none.
pub fn dialect(name: &str) -> Result<Dialect, Failure> {
    Ok(Dialect::from_str(name)?)
}

/// The formats of exports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// One page with everything in it.
    Html,
    /// Markdown.
    Markdown,
    /// One JSON document.
    Json,
    /// A session file.
    Jsonl,
}

impl FromStr for ExportFormat {
    type Err = Failure;

    fn from_str(name: &str) -> Result<Self, Failure> {
        match name {
            "html" => Ok(ExportFormat::Html),
            "markdown" | "md" => Ok(ExportFormat::Markdown),
            "json" => Ok(ExportFormat::Json),
            "jsonl" => Ok(ExportFormat::Jsonl),
            _ => Err(Failure::invalid(
                "unknown_format",
                format!("there is no export format {name:?}: use html, markdown, json or jsonl"),
            )),
        }
    }
}

/// Writes a session as a document.
///
/// # Errors
///
/// Fails if the session cannot be read or the document cannot be written.
pub fn export(
    session: &Session,
    format: ExportFormat,
    options: &Export,
    out: &mut impl Write,
) -> Result<(), Failure> {
    Ok(match format {
        ExportFormat::Html => options.html(session, out),
        ExportFormat::Markdown => options.markdown(session, out),
        ExportFormat::Json => options.json(session, out),
        ExportFormat::Jsonl => options.jsonl(session, out),
    }?)
}

/// Writes a session as a document to a file, which appears complete or not at all, and returns its size.
///
/// # Errors
///
/// As [`export`], and if the file exists and is not to be replaced.
pub fn export_to_file(
    session: &Session,
    format: ExportFormat,
    options: &Export,
    path: &Path,
    existing: Existing,
) -> Result<u64, Failure> {
    let written = treering_export::write_file(path, existing, |out| {
        export(session, format, options, out).map_err(ExportError::Document)
    });
    let failure = |error| match error {
        ExportError::Document(failure) => failure,
        ExportError::File(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let message = format!("{}: the file already exists", path.display());
            Failure::new(Category::Conflict, "already_exists", message)
        }
        ExportError::File(error) => {
            Failure::storage("io", format!("cannot write {}: {error}", path.display()), &error)
        }
    };
    written.map_err(|error| failure(error).with(record! { path: path }))
}

/// The reason why a document could not be written to a file.
enum ExportError {
    Document(Failure),
    File(io::Error),
}

impl From<io::Error> for ExportError {
    fn from(error: io::Error) -> Self {
        ExportError::File(error)
    }
}

/// Options of searches; all have defaults.
#[derive(Debug, Clone, Default)]
pub struct SearchOptions {
    /// Whether upper and lower case differ.
    pub is_case_sensitive: bool,
    /// Whether the best session comes first, instead of the newest.
    pub by_relevance: bool,
    /// The number of hits after which the search ends.
    pub max_hits: Option<usize>,
    /// The number of hits of one session that are described.
    pub hits_per_session: Option<usize>,
    /// The number of columns of a snippet.
    pub snippet_width: Option<usize>,
}

impl SearchOptions {
    fn query(&self, query: &str) -> Result<Query, Failure> {
        let case = if self.is_case_sensitive { Case::Respected } else { Case::Ignored };
        Ok(Query::parse(query, case)?)
    }

    fn options(&self) -> treering_search::Options {
        let mut options = treering_search::Options::new();
        if self.by_relevance {
            options = options.sort(Sort::Relevance);
        }
        if let Some(max_hits) = self.max_hits {
            options = options.max_hits(max_hits);
        }
        if let Some(hits) = self.hits_per_session {
            options = options.hits_per_session(hits);
        }
        if let Some(width) = self.snippet_width {
            options = options.snippet_width(width);
        }
        options
    }
}

/// Searches a session: returns its hits, or null if there are none.
///
/// # Errors
///
/// Fails if the query is not valid or the session cannot be read.
pub fn search_session(
    session: &Session,
    query: &str,
    options: &SearchOptions,
) -> Result<Data, Failure> {
    let hits =
        treering_search::search_session(session, &options.query(query)?, &options.options())?;
    Ok(hits.to_data())
}

/// Searches all sessions of a store. A search that is stopped returns what was found so far.
///
/// # Errors
///
/// Fails if the query is not valid or the store cannot be read.
pub fn search_store(
    store: &Arc<dyn Store>,
    query: &str,
    options: &SearchOptions,
    stop: &AtomicBool,
) -> Result<Data, Failure> {
    let mut found = Collected::default();
    let query = options.query(query)?;
    let summary =
        treering_search::search_store(store, &query, &options.options(), stop, |it| found.add(it))?;
    Ok(found.report(summary))
}

/// Searches the sessions in directories, or in all directories of agents on this machine if there are none. A search that
/// is stopped returns what was found so far.
///
/// # Errors
///
/// Fails if the query is not valid.
pub fn search_directories(
    directories: &[PathBuf],
    query: &str,
    options: &SearchOptions,
    stop: &AtomicBool,
) -> Result<Data, Failure> {
    let mut found = Collected::default();
    let query = options.query(query)?;
    let (files, _) = SessionIndex::new(places(directories)).find();
    let summary =
        treering_search::search(files, &query, &options.options(), stop, |it| found.add(it));
    Ok(found.report(summary))
}

fn places(directories: &[PathBuf]) -> Places {
    match directories {
        [] => Places::from_env(|name| std::env::var_os(name)),
        _ => Places::default().only(directories.iter().cloned()),
    }
}

/// The results of a search as they come.
#[derive(Debug, Default)]
struct Collected {
    sessions: Vec<Data>,
    unreadable: Vec<Data>,
}

impl Collected {
    fn add(&mut self, found: Found) -> ControlFlow<()> {
        match found {
            Found::Session(hits) => self.sessions.push(hits.to_data()),
            Found::Unreadable(path, error) => {
                self.unreadable.push(record! { path: path, message: error.to_string() });
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn report(self, summary: treering_search::Summary) -> Data {
        record! {
            sessions: Data::List(self.sessions),
            unreadable: Data::List(self.unreadable),
            files: summary.files,
            bytes: summary.bytes,
            hits: summary.hits,
        }
    }
}

/// Options of redactions; all have defaults.
#[derive(Debug, Clone, Default)]
pub struct RedactOptions {
    /// Whether email addresses are replaced as well.
    pub emails: bool,
    /// Whether the name of the home directory is replaced as well.
    pub home: bool,
    /// Further patterns: a name and a regular expression each.
    pub patterns: Vec<(String, String)>,
}

impl RedactOptions {
    fn redactor(&self) -> Result<Redactor, Failure> {
        let mut wanted = treering_redact::Options::new().emails(self.emails).home(self.home);
        for (name, pattern) in &self.patterns {
            wanted = wanted.with_pattern(name, pattern);
        }
        Ok(Redactor::new(&wanted)?)
    }
}

/// Returns a text without secrets.
///
/// # Errors
///
/// Fails if a pattern is not valid.
pub fn redact_text(text: &str, options: &RedactOptions) -> Result<String, Failure> {
    Ok(options.redactor()?.text(text).into_owned())
}

/// Returns the session without secrets, and a report of what was replaced.
///
/// # Errors
///
/// Fails if a pattern is not valid, or if the session cannot be read.
pub fn redact(session: &Session, options: &RedactOptions) -> Result<(Session, Data), Failure> {
    let redactor = options.redactor()?;
    let redacted = redactor.session(session)?;
    Ok((redacted, redactor.report().to_data()))
}

/// Options of usage reports; all have defaults.
#[derive(Debug, Clone, Default)]
pub struct UsageOptions {
    /// The directories of sessions; those of all agents on this machine if there are none.
    pub directories: Vec<PathBuf>,
    /// The kind of the rows: `day`, `week`, `month`, `session`, `model`, `project` or `agent`.
    pub group_by: Option<String>,
    /// The time zone of days; the local one if it is `None`.
    pub zone: Option<String>,
    /// Only what was used at or after this time, in Unix milliseconds.
    pub since: Option<i64>,
    /// Only what was used before this time, in Unix milliseconds.
    pub until: Option<i64>,
}

/// Counts the usage of all sessions in some directories, each request once.
///
/// # Errors
///
/// Fails if a name of the options is not known.
pub fn usage_report(options: &UsageOptions) -> Result<Data, Failure> {
    let by = match options.group_by.as_deref().unwrap_or("day") {
        "day" => GroupBy::Day,
        "week" => GroupBy::Week,
        "month" => GroupBy::Month,
        "session" => GroupBy::Session,
        "model" => GroupBy::Model,
        "project" => GroupBy::Project,
        "agent" => GroupBy::Agent,
        other => {
            let message = format!(
                "cannot group by {other:?}: use day, week, month, session, model, project or agent"
            );
            return Err(Failure::invalid("unknown_group", message));
        }
    };
    let zone = match &options.zone {
        None => Zone::local(),
        Some(name) => Zone::named(name)?,
    };
    let read = SessionIndex::new(places(&options.directories)).read_usage(|_| ());
    let sessions = read.contents.sessions.iter();
    let sessions: Vec<UsageSession<'_>> = sessions
        .filter_map(|info| Some(UsageSession { info, events: read.events.get(&info.path)? }))
        .collect();
    let range = options.since.unwrap_or(i64::MIN)..options.until.unwrap_or(i64::MAX);
    let events = UsageEvents::count(read.seed, &sessions, &Prices::published()).within(range);
    let report = events.report(by, &zone);
    let row = |row: &treering_usage::Row<'_>| {
        let models = row.models.iter();
        let models = models.map(|(model, usage)| ((*model).to_owned(), usage.to_data())).collect();
        let (first, last) = row.times.unzip();
        record! {
            name: row.name,
            sessions: row.sessions,
            usage: row.usage,
            models: Data::Map(models),
            first: first,
            last: last,
        }
    };
    Ok(record! {
        rows: Data::List(report.rows.iter().map(row).collect()),
        total: row(&report.total),
        skipped: read.contents.skipped.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Naming;
    use treering::Message;

    #[test]
    fn exports_searches_and_redactions_of_a_session() {
        let session = Session::in_memory("/project");
        session
            .append(Message::user("the key is ghp_x8Kq2LmN4pR7sT1vW3yZ6aB9cD0eF5gH1jK2"))
            .unwrap();
        let mut page = Vec::new();
        export(&session, "md".parse().unwrap(), &Export::new(), &mut page).unwrap();
        assert!(String::from_utf8(page).unwrap().contains("the key is"));
        let hits = search_session(&session, "KEY", &SearchOptions::default()).unwrap();
        let hits: serde_json::Value = serde_json::from_slice(&hits.to_json(Naming::Camel)).unwrap();
        assert_eq!(hits["total"], 1);
        assert_eq!(hits["hits"][0]["pieces"][1]["isMatch"], true);
        let none = search_session(&session, "absent", &SearchOptions::default()).unwrap();
        assert_eq!(none, Data::Null);
        let (redacted, report) = redact(&session, &RedactOptions::default()).unwrap();
        let report: serde_json::Value =
            serde_json::from_slice(&report.to_json(Naming::Snake)).unwrap();
        assert_eq!(report["occurrences"], 1);
        let context = redacted.context().unwrap().to_json();
        assert!(!String::from_utf8(context).unwrap().contains("ghp_x8Kq"));
    }

    #[test]
    fn documents_that_cannot_be_written_name_their_file() {
        let directory = std::env::temp_dir()
            .join(format!("treering-export-{}", treering::SessionId::generate()));
        std::fs::create_dir(&directory).unwrap();
        let session = Session::in_memory("/project");
        let write = |path: &Path, existing| {
            export_to_file(&session, ExportFormat::Html, &Export::new(), path, existing)
        };
        let path = directory.join("page.html");
        assert!(write(&path, Existing::Kept).unwrap() > 0);
        let failure = write(&path, Existing::Kept).unwrap_err();
        assert_eq!(failure.code, "already_exists");
        assert_eq!(failure.message, format!("{}: the file already exists", path.display()));
        assert!(write(&path, Existing::Replaced).is_ok());
        let failure = write(&directory, Existing::Replaced).unwrap_err();
        let start = format!("cannot write {}: ", directory.display());
        assert!(failure.message.starts_with(&start), "{}", failure.message);
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn unknown_names_are_refused_with_what_is_known() {
        let failure = ExportFormat::from_str("pdf").unwrap_err();
        assert_eq!(failure.code, "unknown_format");
        assert!(failure.message.contains("markdown"));
        assert_eq!(dialect("emacs").unwrap_err().code, "unknown_dialect");
        let options = UsageOptions { group_by: Some("color".into()), ..UsageOptions::default() };
        assert_eq!(usage_report(&options).unwrap_err().code, "unknown_group");
    }

    #[test]
    fn usage_of_a_directory_is_counted() {
        let dir = std::env::temp_dir()
            .join(format!("treering-usage-{}", treering::SessionId::generate()));
        std::fs::create_dir(&dir).unwrap();
        let options = UsageOptions {
            directories: vec![dir.clone()],
            group_by: Some("model".into()),
            zone: Some("UTC".into()),
            ..UsageOptions::default()
        };
        let report = usage_report(&options).unwrap();
        std::fs::remove_dir(&dir).unwrap();
        let report: serde_json::Value =
            serde_json::from_slice(&report.to_json(Naming::Snake)).unwrap();
        assert_eq!(report["total"]["usage"]["total"], 0);
    }
}
