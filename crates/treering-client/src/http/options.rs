//! Options for connecting to a server.

use std::fmt;
use std::time::Duration;

/// Options for connecting to a server. All have defaults.
///
/// ```
/// use std::time::Duration;
/// use treering_client::HttpOptions;
/// let options = HttpOptions::new().token("tr_secret").deadline(Duration::from_secs(5));
/// assert!(!format!("{options:?}").contains("secret"));
/// ```
#[derive(Debug, Clone)]
pub struct HttpOptions {
    pub(super) token: Option<Token>,
    pub(super) deadline: Duration,
    pub(super) has_env_proxy: bool,
    pub(super) extra_roots: Vec<Vec<u8>>,
}

impl Default for HttpOptions {
    fn default() -> Self {
        let deadline = HttpOptions::DEADLINE;
        HttpOptions { token: None, deadline, has_env_proxy: false, extra_roots: Vec::new() }
    }
}

impl HttpOptions {
    /// The default time limit of a call. Large appends get more time.
    pub const DEADLINE: Duration = Duration::from_secs(30);

    /// Returns the defaults: no token, no proxy.
    pub fn new() -> Self {
        HttpOptions::default()
    }

    /// Sets the token, which is sent only in the header `Authorization`. Surrounding white space is
    /// removed.
    #[must_use]
    pub fn token(self, token: impl AsRef<str>) -> Self {
        HttpOptions { token: Some(Token(token.as_ref().trim().to_owned())), ..self }
    }

    /// Sets the time limit of a call, including retries.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        HttpOptions { deadline, ..self }
    }

    /// Uses the proxy that the environment names (`HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY` …).
    #[must_use]
    pub fn proxy_from_env(self) -> Self {
        HttpOptions { has_env_proxy: true, ..self }
    }

    /// Trusts a certificate in DER form, in addition to those of the system.
    #[must_use]
    pub fn trust(mut self, certificate: Vec<u8>) -> Self {
        self.extra_roots.push(certificate);
        self
    }
}

/// A secret that is never shown.
#[derive(Clone)]
pub(super) struct Token(String);

impl Token {
    /// Returns the value of the header `Authorization`.
    pub(super) fn authorization(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// Returns whether the token can be the value of a header.
    pub(super) fn is_sendable(&self) -> bool {
        !self.0.is_empty() && self.0.bytes().all(|byte| byte.is_ascii_graphic())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// The error for an address or a token that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidAddress {
    /// The address does not begin with `http://` or `https://`, or has no host.
    #[error("{0:?} is not the address of a server: it has the form https://HOST[:PORT][/PATH]")]
    Address(String),
    /// The address contains a user name or a password, which would be shown in messages.
    #[error(
        "the address of a server must not contain a user name or a password; pass the token separately"
    )]
    Credentials,
    /// The token is empty or contains characters that cannot be sent.
    #[error("the token is empty, or contains spaces or non-ASCII characters")]
    Token,
    /// The TLS connection cannot be set up.
    #[error("cannot set up TLS: {0}")]
    Tls(String),
}
