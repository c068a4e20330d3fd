//! Bearer tokens: their texts, their hashes, and their grants.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use treering::Result;
use treering::store::Scope;

/// The permissions of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The name of the token, for lists and logs.
    pub name: String,
    /// The space of the token.
    pub space: String,
    /// The scope of the token.
    pub scope: Scope,
    /// The time at which the token expires, in Unix milliseconds; `None` for never.
    pub expires: Option<i64>,
}

impl Grant {
    pub(crate) fn is_expired(&self, now: i64) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

/// The SHA-256 hash of a token. Only hashes are stored and compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TokenHash(pub [u8; 32]);

impl TokenHash {
    /// Returns the hash of a token's text.
    pub fn of(token: &str) -> Self {
        TokenHash(Sha256::digest(token.as_bytes()).into())
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(…)")
    }
}

/// Returns a new token: `tr_` and 43 characters that encode 32 random bytes.
///
/// ```
/// let token = treering_server::new_token()?;
/// assert!(token.starts_with("tr_") && token.len() == 46);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// Fails if the operating system has no randomness.
pub fn new_token() -> std::io::Result<String> {
    Ok(format!("tr_{}", random_text()?))
}

/// Returns 43 random characters of the URL-safe base64 alphabet.
pub(crate) fn random_text() -> std::io::Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// The tokens that a server accepts. Calls may block; the server makes them on its worker threads
/// and caches the results for a few seconds.
pub trait Tokens: Send + Sync + fmt::Debug {
    /// Returns the grant of the token with this hash, even if it has expired; `None` if there is
    /// none, or it was revoked.
    ///
    /// # Errors
    ///
    /// Fails if the storage of tokens cannot be read.
    fn find(&self, hash: &TokenHash) -> Result<Option<Grant>>;
}

/// Tokens in memory, which a server is started with.
///
/// ```
/// use treering_server::{Grant, MemoryTokens, Scope, TokenHash, Tokens};
/// let tokens = MemoryTokens::default();
/// let grant = Grant { name: "ci".into(), space: "main".into(), scope: Scope::Read, expires: None };
/// tokens.insert("tr_secret", grant.clone());
/// assert_eq!(tokens.find(&TokenHash::of("tr_secret"))?, Some(grant));
/// # Ok::<(), treering::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct MemoryTokens(Mutex<HashMap<TokenHash, Grant>>);

impl MemoryTokens {
    /// Creates a list with a single token, which has the scope `admin` for `space`.
    pub fn admin(token: &str, space: &str) -> Self {
        let tokens = MemoryTokens::default();
        let (name, space) = ("admin".to_owned(), space.to_owned());
        tokens.insert(token, Grant { name, space, scope: Scope::Admin, expires: None });
        tokens
    }

    /// Adds a token.
    pub fn insert(&self, token: &str, grant: Grant) {
        self.lock().insert(TokenHash::of(token), grant);
    }

    /// Removes a token. Returns whether it existed.
    pub fn revoke(&self, token: &str) -> bool {
        self.lock().remove(&TokenHash::of(token)).is_some()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<TokenHash, Grant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tokens for MemoryTokens {
    fn find(&self, hash: &TokenHash) -> Result<Option<Grant>> {
        Ok(self.lock().get(hash).cloned())
    }
}
