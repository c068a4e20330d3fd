//! Opens servers as stores, with the token for the address.

use crate::config::Config;
use crate::error::Failure;
use crate::text::safe_path;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use treering::internal::fs::{self, Access};
use treering::store::Store;
use treering_client::{HttpOptions, HttpStore};

/// The environment variable that holds the token.
const TOKEN: &str = "TREERING_TOKEN";

/// The largest token file that is read.
const MAX_SIZE: u64 = 4096;

/// Opens the store at the address of a server. The token comes from the named file, else from the
/// environment, else from the configured file.
pub(crate) fn open(url: &str, token_file: Option<&Path>) -> Result<Arc<dyn Store>, Failure> {
    let mut options = HttpOptions::new().proxy_from_env();
    if let Some(token) = token(token_file)? {
        options = options.token(token);
    }
    let store = HttpStore::new(url, options);
    let hint = "a server is https://HOST[:PORT]; its token is given by TREERING_TOKEN, --token-file or [store] token_file";
    Ok(Arc::new(store.map_err(|error| Failure::with_hint(error.to_string(), hint))?))
}

fn token(file: Option<&Path>) -> Result<Option<String>, Failure> {
    if let Some(file) = file {
        return read(file).map(Some);
    }
    if let Some(token) = std::env::var(TOKEN).ok().filter(|token| !token.is_empty()) {
        return Ok(Some(token));
    }
    Config::current().store.token_file.as_deref().map(read).transpose()
}

fn read(path: &Path) -> Result<String, Failure> {
    let mut token = String::new();
    let file = fs::open(path, Access::Read);
    let read = file.and_then(|file| file.take(MAX_SIZE).read_to_string(&mut token));
    read.map_err(|error| {
        let what = format!("cannot read the token in {}: {error}", safe_path(path));
        Failure::with_hint(what, "`treering token create` makes a token")
    })?;
    let token = token.trim();
    match !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(token.to_owned()),
        false => {
            let what = format!("{} holds no token", safe_path(path));
            let hint = "a token is one word of ASCII characters; `treering token create` makes one";
            Err(Failure::with_hint(what, hint))
        }
    }
}
