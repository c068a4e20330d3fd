//! Opens stores that are named on the command line, in the environment or in the configuration.
//!
//! `--store` takes precedence over `TREERING_STORE`, and that over `[store] url` in the
//! configuration. A store is a directory, a server (`https://host`), or a database
//! (`postgres://…`).

use crate::config::Config;
use crate::directories;
use crate::error::Failure;
use crate::server_store;
use crate::text::safe_line;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use treering::catalog::SessionInfo;
use treering::store::{ListQuery, Store};
use treering::{Catalog, SessionId};
use treering_postgres::{PostgresOptions, PostgresStore};

/// The environment variable that names a store.
const STORE: &str = "TREERING_STORE";

/// The environment variable that names the space of a database.
const SPACE: &str = "TREERING_SPACE";

/// The advice about the address of a store.
const KINDS: &str = "a store is a directory, https://HOST, or postgres://USER@HOST/DATABASE";

/// The store in which commands look for sessions, if one is chosen. It is opened when it is needed.
#[derive(Debug, Clone, Default)]
pub(crate) struct StoreChoice {
    url: Option<String>,
    /// Whether the user named the store on this command line.
    is_option: bool,
    opened: Arc<OnceLock<Arc<dyn Store>>>,
}

impl StoreChoice {
    /// Returns the store that the user chose: by the option, else by the environment, else by the
    /// configuration. The word `local` means this machine, whatever is configured.
    pub(crate) fn new(option: Option<&str>) -> Self {
        let from_env = || std::env::var(STORE).ok().filter(|url| !url.is_empty());
        let configured = || Config::current().store.url.clone().filter(|url| !url.is_empty());
        let url = option.map(str::to_owned).or_else(from_env).or_else(configured);
        let url = url.filter(|url| url != "local");
        StoreChoice { is_option: option.is_some() && url.is_some(), ..StoreChoice::of(url) }
    }

    fn of(url: Option<String>) -> Self {
        StoreChoice { url, is_option: false, opened: Arc::default() }
    }

    /// Returns whether the user named the store on this command line. Commands that cannot use it must
    /// not ignore it then.
    pub(crate) fn is_option(&self) -> bool {
        self.is_option
    }

    /// Opens the store for a command that looks in the directories of `--dir` instead, if there are
    /// any.
    ///
    /// # Errors
    ///
    /// Fails if the user named both on this command line.
    pub(crate) fn open_unless(&self, has_dirs: bool) -> Result<Option<Arc<dyn Store>>, Failure> {
        match has_dirs {
            false => self.open(),
            true if self.is_option => Err(Failure::Usage {
                what: "--store and a directory exclude each other".to_owned(),
                hint: "leave one of them out".to_owned(),
            }),
            true => Ok(None),
        }
    }

    /// Returns the name of the store for messages, without a password; `None` if none was chosen.
    pub(crate) fn location(&self) -> Option<String> {
        self.url.as_deref().map(without_secret)
    }

    /// Opens the store; `None` if none was chosen.
    pub(crate) fn open(&self) -> Result<Option<Arc<dyn Store>>, Failure> {
        let Some(url) = &self.url else { return Ok(None) };
        if let Some(store) = self.opened.get() {
            return Ok(Some(Arc::clone(store)));
        }
        let store = open(url)?;
        Ok(Some(Arc::clone(self.opened.get_or_init(|| store))))
    }

    /// Opens the store with the token in a file, if one is named.
    pub(crate) fn open_with_token(
        &self,
        file: Option<&Path>,
    ) -> Result<Option<Arc<dyn Store>>, Failure> {
        match (&self.url, file) {
            (Some(url), Some(_)) if is_server(url) => server_store::open(url, file).map(Some),
            (Some(_), Some(_)) => Err(Failure::Usage {
                what: "--token-file is for a server, and the store is none".to_owned(),
                hint: "leave it out, or name a server: --store https://HOST".to_owned(),
            }),
            _ => self.open(),
        }
    }
}

fn is_server(url: &str) -> bool {
    matches!(url.split_once("://"), Some(("http" | "https", _)))
}

impl StoreChoice {
    /// Returns the database, if the chosen store is one.
    pub(crate) fn database(&self) -> Result<Option<PostgresStore>, Failure> {
        match &self.url {
            Some(url) if is_database(url) => {
                Ok(Some(PostgresStore::connect(url, &postgres_options())?))
            }
            _ => Ok(None),
        }
    }
}

fn is_database(url: &str) -> bool {
    matches!(url.split_once("://"), Some(("postgres" | "postgresql", _)))
}

/// Returns the address of a database.
///
/// # Errors
///
/// Fails for any other address.
pub(crate) fn database_url(url: &str) -> Result<&str, Failure> {
    if is_database(url) {
        return Ok(url);
    }
    let what = format!("{} is not the address of a database", safe_line(&without_secret(url)));
    let hint = "write postgres://USER@HOST/DATABASE".to_owned();
    Err(Failure::Usage { what, hint })
}

/// Returns the space of a database.
pub(crate) fn space() -> String {
    let from_env = std::env::var(SPACE).ok().filter(|space| !space.is_empty());
    from_env.or_else(|| Config::current().store.space.clone()).unwrap_or("default".to_owned())
}

/// Returns the options of a connection to a database.
pub(crate) fn postgres_options() -> PostgresOptions {
    PostgresOptions::new().space(space())
}

/// Returns the file that holds the admin token of this machine's server.
pub(crate) fn token_file() -> Result<PathBuf, Failure> {
    let state = directories::state().ok_or_else(|| {
        Failure::with_hint("there is no home directory for the token", "give --token-file FILE")
    })?;
    Ok(state.join("token"))
}

/// Opens the store with this address.
pub(crate) fn open(url: &str) -> Result<Arc<dyn Store>, Failure> {
    match url.split_once("://") {
        None => directory(Path::new(url)),
        Some(("file", path)) => directory(Path::new(path)),
        Some(("postgres" | "postgresql", _)) => {
            Ok(Arc::new(PostgresStore::connect(url, &postgres_options())?))
        }
        Some(("http" | "https", _)) => server_store::open(url, None),
        Some((scheme, _)) => {
            let what = format!("cannot open a store with an address of the kind {scheme}://");
            Err(Failure::with_hint(safe_line(&what), KINDS))
        }
    }
}

fn directory(path: &Path) -> Result<Arc<dyn Store>, Failure> {
    if !path.is_dir() {
        let hint = "create it, or give the address of another store";
        let (what, hint) = match path.exists() {
            false => (format!("there is no directory {}", path.display()), hint),
            true => (format!("{} is not a directory", path.display()), KINDS),
        };
        return Err(Failure::with_hint(what, hint));
    }
    // The same directory has the same name, wherever the command is run.
    let path = std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path));
    Ok(Arc::new(Catalog::new(path)))
}

/// Returns an address without the password in it.
fn without_secret(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    match authority.rsplit_once('@') {
        Some((user, _)) => {
            let name = user.split(':').next().unwrap_or_default();
            format!("{scheme}://{name}{}", &rest[user.len()..])
        }
        None => url.to_owned(),
    }
}

/// Returns the store and the session that an address such as `https://host/s/ID` names; `None` if
/// the text is not such an address.
pub(crate) fn address(text: &str) -> Option<Result<(StoreChoice, SessionId), Failure>> {
    let (scheme, rest) = text.split_once("://")?;
    let invalid = |what: &str| {
        let what = format!("{}: {what}", safe_line(&without_secret(text)));
        Failure::with_hint(what, "a session of a server is https://HOST/s/ID")
    };
    if !matches!(scheme, "http" | "https") {
        let what = "the address of a session begins with https:// or http://";
        return Some(Err(invalid(what)));
    }
    let Some((host, id)) = rest.split_once("/s/") else {
        return Some(Err(invalid("this is not the address of a session")));
    };
    let id = id.trim_end_matches('/');
    let url = Some(format!("{scheme}://{host}"));
    Some(
        SessionId::new(id)
            .map(|id| (StoreChoice::of(url), id))
            .map_err(|error| invalid(&error.to_string())),
    )
}

/// Returns all sessions of a store that match a query, newest first.
pub(crate) fn list_all(
    store: &Arc<dyn Store>,
    query: &ListQuery,
) -> Result<Vec<SessionInfo>, Failure> {
    let mut query = query.clone().limit(ListQuery::MAX_LIMIT);
    let mut sessions = Vec::new();
    loop {
        let page = store.list(&query)?;
        sessions.extend(page.sessions);
        match page.next {
            Some(next) => query = query.after(next),
            None => return Ok(sessions),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        for (url, shown) in [
            ("postgres://ada:secret@host/db?x=1", "postgres://ada@host/db?x=1"),
            ("postgres://ada@host1:5432,host2:5432/db", "postgres://ada@host1:5432,host2:5432/db"),
            ("https://:token@host", "https://@host"),
            ("https://host/s/1", "https://host/s/1"),
            ("/srv/sessions", "/srv/sessions"),
        ] {
            assert_eq!(without_secret(url), shown);
        }
    }

    #[test]
    fn addresses_of_sessions() {
        let (store, id) = address("https://host:8443/s/nightly-build/").unwrap().unwrap();
        assert_eq!(
            (store.url.as_deref(), id.as_str()),
            (Some("https://host:8443"), "nightly-build")
        );
        assert!(address("chat.jsonl").is_none());
        for bad in ["https://host", "https://host/s/", "https://host/s/../x", "ftp://host/s/1"] {
            assert!(address(bad).unwrap().is_err(), "{bad}");
        }
    }
}
