//! `treering serve`

use crate::config::Config;
use crate::error::Failure;
use crate::models::Models;
use crate::output::{self, Output};
use crate::poll_loop::seconds;
use crate::sessions;
use crate::stores::{self, StoreChoice};
use crate::text::{safe_line, safe_path};
use clap::builder::NonEmptyStringValueParser;
use std::collections::HashMap;
use std::io::{self, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::net::TcpListener;
use treering::internal::fs::{self, Access, NewFile};
use treering::store::Store;
use treering_index::housekeeping::Trash;
use treering_index::{LocalStore, SessionIndex};
use treering_postgres::PostgresStore;
use treering_server::{
    Grant, Limits, MemoryTokens, Scope, Server, SingleSpace, Spaces, TokenHash, Tokens, new_token,
};

/// Serve the sessions of this machine or of a store over HTTP
///
/// Without --store it serves the sessions of all agents on this machine and follows their files as the
/// agents write them. Prints `listening on http://…` when it is ready, and a link that logs a browser
/// in; Ctrl-C and SIGTERM stop it after the current requests. The page is at /, the API is described at
/// /openapi.json; see docs/server.md. If a model is configured for `treering chat`, users whose token
/// has the scope `write` can chat with it on the page.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The address and port to listen on; port 0 is any free one
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:7437", value_parser = NonEmptyStringValueParser::new())]
    listen: String,
    /// The file that holds the admin token; it is created if it does not exist
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// A host name of the server, besides those of this machine; may be repeated. Requests to other host
    /// names are refused
    #[arg(long, value_name = "NAME", value_parser = host_name)]
    host: Vec<String>,
    /// The certificate chain for TLS, in PEM format
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The private key for TLS, in PEM format
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Offer no model on the page, even if one is configured for `treering chat`
    #[arg(long)]
    no_model: bool,
    /// Write a line of JSON for every request to standard error
    #[arg(long)]
    log: bool,
    /// The time between the failure of /readyz and the refusal of connections when the server is
    /// stopped, in seconds, so that a load balancer notices first
    #[arg(long, value_name = "SECS", default_value = "0", value_parser = seconds, allow_negative_numbers = true)]
    drain: Duration,
}

/// The interval at which files that no client has open are checked.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &Args, store: &StoreChoice, out: &mut Output) -> Result<(), Failure> {
    // An address that cannot be one must not leave a token file.
    args.listen.to_socket_addrs().map_or_else(
        |error| match error.kind() {
            io::ErrorKind::InvalidInput => Err(cannot_listen(&args.listen, &error)),
            _ => Ok(()),
        },
        |_| Ok(()),
    )?;
    let token = token(args)?;
    let server = with_model(args, server(args, store, &token)?)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Failure::message(format!("cannot start the runtime: {error}")))?;
    runtime.block_on(serve(args, server, out))
}

async fn serve(args: &Args, mut server: Server, out: &mut Output) -> Result<(), Failure> {
    let address = args.listen.as_str();
    let cannot = |error: io::Error| cannot_listen(address, &error);
    let listener = TcpListener::bind(address).await.map_err(cannot)?;
    let bound = listener.local_addr().map_err(cannot)?;
    let scheme = if args.tls_cert.is_some() { "https" } else { "http" };
    if is_loopback(args) {
        let grant = Grant {
            name: "browser".to_owned(),
            space: stores::space(),
            scope: Scope::Admin,
            expires: None,
        };
        server = server.loopback(grant);
        if let Ok(path) = server.login_path() {
            let link = format!(
                "open {scheme}://{bound}{path} in a browser; the link works once, within ten minutes"
            );
            output::write_notice("note", &link);
        }
    } else if args.tls_cert.is_none() {
        let what = "tokens and sessions travel unencrypted: give --tls-cert and --tls-key, or put a proxy with TLS in front";
        output::write_notice("warning", what);
    }
    writeln!(out, "listening on {scheme}://{bound}")?;
    out.finish()?;
    out.flush()?;
    let served = server.serve(listener, stop()).await;
    served.map_err(|error| Failure::message(format!("the server failed: {error}")))
}

fn cannot_listen(address: &str, error: &io::Error) -> Failure {
    let what = format!("cannot listen on {}: {error}", safe_line(address));
    match error.kind() {
        io::ErrorKind::InvalidInput => {
            Failure::Usage { what, hint: "write ADDRESS:PORT, such as 127.0.0.1:7437".to_owned() }
        }
        _ => Failure::with_hint(what, "`--listen 127.0.0.1:0` takes any free port"),
    }
}

/// Parses the name of a host, which is compared with those in requests.
fn host_name(text: &str) -> Result<String, String> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '[' | ']');
    match !text.is_empty() && text.chars().all(is_part) {
        true => Ok(text.to_owned()),
        false => Err("expected a name such as sessions.example.com".to_owned()),
    }
}

/// Waits for Ctrl-C or SIGTERM.
async fn stop() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}

/// Returns whether only programs on this machine can connect.
fn is_loopback(args: &Args) -> bool {
    let addresses = args.listen.to_socket_addrs().into_iter().flatten();
    let addresses: Vec<SocketAddr> = addresses.collect();
    args.host.is_empty() && addresses.iter().all(|address| address.ip().is_loopback())
}

fn server(args: &Args, store: &StoreChoice, token: &str) -> Result<Server, Failure> {
    let space = stores::space();
    let admin = MemoryTokens::admin(token, &space);
    let (spaces, database): (Arc<dyn Spaces>, _) = match store.database()? {
        Some(database) => (Arc::new(DatabaseSpaces::new(database.clone())), Some(database)),
        None => {
            let store = match store.open()? {
                Some(store) => store,
                None => {
                    let store: Arc<dyn Store> = Arc::new(local());
                    // The first list is read while the server starts.
                    let ahead = Arc::clone(&store);
                    std::thread::spawn(move || drop(ahead.changes(None)));
                    store
                }
            };
            (Arc::new(SingleSpace::new(space, store)), None)
        }
    };
    let mut limits = Limits::default();
    limits.drain = args.drain;
    let mut server = Server::new(spaces, Arc::new(AllTokens { admin, database })).limits(limits);
    if !args.host.is_empty() {
        let own = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
        server = server.hosts(own.into_iter().chain(args.host.iter().cloned()));
    }
    if let (Some(certificates), Some(key)) = (&args.tls_cert, &args.tls_key) {
        let read = |path: &Path| {
            std::fs::read(path).map_err(|error| {
                Failure::message(format!("cannot read {}: {error}", path.display()))
            })
        };
        let tls = server.tls(&read(certificates)?, &read(key)?);
        server = tls.map_err(|error| {
            let (certificates, key) = (safe_path(certificates), safe_path(key));
            let hint =
                format!("{certificates} needs a certificate, {key} its private key, in PEM format");
            Failure::with_hint(error.to_string(), hint)
        })?;
    }
    if args.log {
        server = server.log(|line| {
            // There is no other way to report that standard error is closed.
            let _ = writeln!(io::stderr(), "{line}");
        });
    }
    Ok(server)
}

/// Sets the model of `treering chat` for the server, if there is one.
fn with_model(args: &Args, server: Server) -> Result<Server, Failure> {
    if args.no_model {
        return Ok(server);
    }
    let config = Config::load()?;
    let models = Models::new(&config, None, None);
    Ok(match models.chosen() {
        Ok(model) => server.chat(model, move |session| models.agent(session, &config)),
        // The page explains how to configure one.
        Err(_) => server,
    })
}

/// Returns the sessions of this machine.
fn local() -> LocalStore {
    let store = LocalStore::new(SessionIndex::new(sessions::places())).with_interval(LOOK_INTERVAL);
    match Trash::from_env(|name| std::env::var_os(name)) {
        Ok(trash) => store.with_trash(trash),
        Err(_) => store,
    }
}

/// The maximum size of a token file, in bytes.
const MAX_TOKEN_FILE: u64 = 4096;

/// Reads the admin token, or creates one.
fn token(args: &Args) -> Result<String, Failure> {
    let path = match &args.token_file {
        Some(path) => path.clone(),
        None => stores::token_file()?,
    };
    let about = |what: &str, error: io::Error| {
        Failure::message(format!("cannot {what} the token file {}: {error}", safe_path(&path)))
    };
    match fs::open(&path, Access::Read) {
        Ok(file) => {
            let mut text = String::new();
            io::Read::read_to_string(&mut io::Read::take(&file, MAX_TOKEN_FILE), &mut text)
                .map_err(|error| about("read", error))?;
            let token = text.trim();
            if token.len() < 16 || token.contains(char::is_whitespace) {
                let what = format!("{} holds no token", safe_path(&path));
                let hint = "a token has at least 16 characters and no spaces; remove the file to have a new token created";
                return Err(Failure::with_hint(what, hint));
            }
            Ok(token.to_owned())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let token = new_token().map_err(|error| about("make", error))?;
            let directory = path.parent().filter(|dir| !dir.as_os_str().is_empty());
            if let Some(directory) = directory {
                fs::create_private_dir(directory).map_err(|error| about("create", error))?;
            }
            let written = NewFile::beside(&path).and_then(|mut new| {
                writeln!(new, "{token}")?;
                new.publish()
            });
            written.map_err(|error| about("create", error))?;
            output::write_notice("note", &format!("the admin token is in {}", safe_path(&path)));
            Ok(token)
        }
        Err(error) => Err(about("read", error)),
    }
}

/// The token of the token file, and those of the database.
#[derive(Debug)]
struct AllTokens {
    admin: MemoryTokens,
    database: Option<PostgresStore>,
}

impl Tokens for AllTokens {
    fn find(&self, hash: &TokenHash) -> treering::Result<Option<Grant>> {
        if let Some(grant) = self.admin.find(hash)? {
            return Ok(Some(grant));
        }
        let Some(database) = &self.database else { return Ok(None) };
        let token = database.find_token(&hash.0)?;
        Ok(token.map(|token| Grant {
            name: token.name,
            space: token.space,
            scope: token.scope,
            expires: token.expires,
        }))
    }
}

/// The spaces of a database. Tokens name them, so every name is valid.
#[derive(Debug)]
struct DatabaseSpaces {
    database: PostgresStore,
    opened: Mutex<HashMap<String, Arc<dyn Store>>>,
}

impl DatabaseSpaces {
    fn new(database: PostgresStore) -> Self {
        DatabaseSpaces { database, opened: Mutex::default() }
    }
}

impl Spaces for DatabaseSpaces {
    fn store(&self, space: &str) -> treering::Result<Option<Arc<dyn Store>>> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = opened.get(space) {
            return Ok(Some(Arc::clone(store)));
        }
        let store: Arc<dyn Store> = Arc::new(self.database.in_space(space)?);
        opened.insert(space.to_owned(), Arc::clone(&store));
        Ok(Some(store))
    }

    fn check(&self) -> treering::Result<()> {
        self.database.changes(None).map(drop)
    }
}
