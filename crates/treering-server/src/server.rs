//! A server and its options.

use crate::auth::{Hosts, Logins};
use crate::chat::Chat;
use crate::connection;
use crate::limits::Limits;
use crate::node::{LogSink, Node, NodeConfig};
use crate::spaces::Spaces;
use crate::tokens::{Grant, Tokens};
use std::fmt;
use std::io;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use treering::Session;
use treering_agent::{AgentSession, ChatModel};

/// A server of sessions, which is not running yet.
pub struct Server {
    spaces: Arc<dyn Spaces>,
    tokens: Arc<dyn Tokens>,
    limits: Limits,
    hosts: Hosts,
    logins: Arc<Logins>,
    tls: Option<TlsAcceptor>,
    log: Option<LogSink>,
    chat: Option<Chat>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("spaces", &self.spaces).finish_non_exhaustive()
    }
}

impl Server {
    /// Creates a server with the default limits, without TLS, that accepts any host name.
    pub fn new(spaces: Arc<dyn Spaces>, tokens: Arc<dyn Tokens>) -> Self {
        let (limits, hosts, logins) = (Limits::default(), Hosts::Any, Arc::new(Logins::new(None)));
        Server { spaces, tokens, limits, hosts, logins, tls: None, log: None, chat: None }
    }

    /// Sets the limits.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Server { limits, ..self }
    }

    /// Sets the host names that the server accepts, without ports. Requests with other names are
    /// refused.
    #[must_use]
    pub fn hosts(self, names: impl IntoIterator<Item = String>) -> Self {
        Server { hosts: Hosts::Only(names.into_iter().collect()), ..self }
    }

    /// Serves only this machine: the server accepts the host names of the loopback interface, and
    /// browsers that [log in with a link](Server::login_path) have this grant.
    ///
    /// Every page in a browser can reach the loopback interface, so that names and origins are checked,
    /// and cookies are not sent with requests of other pages.
    #[must_use]
    pub fn loopback(self, browser: Grant) -> Self {
        let logins = Arc::new(Logins::new(Some(browser)));
        Server { hosts: Hosts::loopback(), logins, ..self }
    }

    /// Returns the path of a link with which a browser can log in once, within ten minutes.
    ///
    /// # Errors
    ///
    /// Fails if the operating system has no randomness.
    pub fn login_path(&self) -> io::Result<String> {
        Ok(format!("/login?code={}", self.logins.new_code()?))
    }

    /// Serves over TLS, with a certificate chain and a private key in PEM format.
    ///
    /// # Errors
    ///
    /// Fails if one of them cannot be read, or they do not belong together.
    pub fn tls(self, certificates: &[u8], key: &[u8]) -> io::Result<Self> {
        let invalid = |what: &str, error: String| {
            io::Error::new(io::ErrorKind::InvalidData, format!("the {what}: {error}"))
        };
        let certificates: Result<Vec<_>, _> =
            CertificateDer::pem_slice_iter(certificates).collect();
        let certificates =
            certificates.map_err(|error| invalid("TLS certificate", error.to_string()))?;
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|error| invalid("private key of TLS", error.to_string()))?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(certificates, key))
            .map_err(|error| invalid("TLS certificate", error.to_string()))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Server { tls: Some(TlsAcceptor::from(Arc::new(config))), ..self })
    }

    /// Calls `write` with a line of JSON for every request. Lines contain no tokens, no queries and
    /// no bodies.
    #[must_use]
    pub fn log(self, write: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Server { log: Some(Arc::new(write)), ..self }
    }

    /// Lets clients with the scope to write use a model. `prepare` configures a session for a turn:
    /// its settings, its summarizer, its tools. The owner of the server pays for the model.
    #[must_use]
    pub fn chat(
        self,
        model: Arc<dyn ChatModel>,
        prepare: impl Fn(Session) -> AgentSession + Send + Sync + 'static,
    ) -> Self {
        Server { chat: Some(Chat { model, prepare: Arc::new(prepare) }), ..self }
    }

    /// Serves until `shutdown` completes. Then `/readyz` fails, no further connections are
    /// accepted, streams of events end, turns with a model are stopped, and running requests have
    /// the time of [`Limits::grace`] to finish.
    ///
    /// # Errors
    ///
    /// Fails if the listener cannot be used.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()>,
    ) -> io::Result<()> {
        let Server { spaces, tokens, limits, hosts, logins, tls, log, chat } = self;
        let is_secure = tls.is_some();
        let config = NodeConfig { spaces, tokens, limits, logins, hosts, is_secure, log, chat };
        connection::serve(Arc::new(Node::new(config)), listener, tls, shutdown).await
    }

    /// Returns the OpenAPI document of the API.
    pub fn openapi() -> String {
        crate::openapi::document().to_string()
    }
}
