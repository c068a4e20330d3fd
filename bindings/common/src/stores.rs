//! Opens stores by their addresses.

use std::path::Path;
use std::sync::Arc;
use treering::Catalog;
use treering::store::Store;
use treering_client::{HttpOptions, HttpStore, InvalidAddress};
use treering_index::housekeeping::Trash;
use treering_index::{LocalStore, Places, SessionIndex};
use treering_postgres::{PostgresOptions, PostgresStore};

/// Options for opening a store.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct StoreOptions {
    /// The token for a server.
    pub token: Option<String>,
    /// The space of a database; `default` if it is `None`.
    pub space: Option<String>,
}

/// The reason why a store could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenStoreError {
    /// The address begins with a scheme that no store has.
    #[error(
        "cannot open a store with an address of the kind {0}://: a store is a directory, https://HOST, or postgres://USER@HOST/DATABASE"
    )]
    Scheme(String),
    /// There is no such directory.
    #[error("there is no directory {0}: create it, or give the address of another store")]
    NoDirectory(String),
    /// The address of a server is not valid.
    #[error(transparent)]
    Address(#[from] InvalidAddress),
    /// The database could not be opened.
    #[error(transparent)]
    Store(#[from] treering::Error),
}

/// Opens the store with this address: a directory, a server (`https://HOST`) or a database
/// (`postgres://USER@HOST/DATABASE`).
///
/// # Errors
///
/// Fails if there is no such directory, if the address is not valid, or if the database does not answer.
pub fn open_store(address: &str, options: &StoreOptions) -> Result<Arc<dyn Store>, OpenStoreError> {
    match address.split_once("://") {
        None => directory(Path::new(address)),
        Some(("file", path)) => directory(Path::new(path)),
        Some(("postgres" | "postgresql", _)) => {
            let space = options.space.clone().unwrap_or_else(|| "default".to_owned());
            Ok(Arc::new(PostgresStore::connect(address, &PostgresOptions::new().space(space))?))
        }
        Some(("http" | "https", _)) => {
            let mut http = HttpOptions::new().proxy_from_env();
            if let Some(token) = &options.token {
                http = http.token(token.clone());
            }
            Ok(Arc::new(HttpStore::new(address, http)?))
        }
        Some((scheme, _)) => Err(OpenStoreError::Scheme(scheme.to_owned())),
    }
}

fn directory(path: &Path) -> Result<Arc<dyn Store>, OpenStoreError> {
    if !path.is_dir() {
        return Err(OpenStoreError::NoDirectory(path.display().to_string()));
    }
    // The same directory has the same name, wherever it is named from.
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    Ok(Arc::new(Catalog::new(path)))
}

/// Returns the sessions of all agents on this machine. What is removed goes to the user's trash.
///
/// # Errors
///
/// Fails if there is no trash, as without a home directory.
pub fn local_store() -> std::io::Result<Arc<dyn Store>> {
    let variable = |name: &str| std::env::var_os(name);
    let index = SessionIndex::new(Places::from_env(variable));
    Ok(Arc::new(LocalStore::new(index).with_trash(Trash::from_env(variable)?)))
}
