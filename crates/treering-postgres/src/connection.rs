//! One connection to the database.

use crate::address::{Address, HostAddress};
use crate::failure::{Failure, classify};
use crate::socket::{Socket, Stream};
use crate::tls::{Handshake, TlsStream};
use futures_util::{TryStreamExt, future};
use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::error::Severity;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Row, Statement};

/// Sets up a connection, and returns whether the database is read-only.
///
/// - An acknowledged append must be on disk, whatever the role's default says.
/// - A statement whose client has given up ends soon, and so does a transaction.
/// - Plans are made once for each statement: the tables have 16 partitions, and planning for a single value
///   takes longer than the statement.
/// - Such a plan stays in use when a table grows, and every statement has an index, so sequential
///   scans are disabled.
const SET_UP: &str = "SELECT current_setting('transaction_read_only') = 'on',
  set_config('synchronous_commit', CASE current_setting('synchronous_commit')
    WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false),
  set_config('statement_timeout', $1, false),
  set_config('idle_in_transaction_session_timeout', '60s', false),
  set_config('treering.space', $2, false),
  set_config('plan_cache_mode', 'force_generic_plan', false),
  set_config('enable_seqscan', 'off', false),
  CASE WHEN current_setting('server_version_num')::int >= 140000
    THEN set_config('client_connection_check_interval', '1000', false) END";

/// The maximum number of statements of [`Connection::execute_together`]. `join_all` polls this many
/// futures in order; more are polled in the order in which they wake.
pub(crate) const MAX_TOGETHER: usize = 30;

/// Number of requests that were answered, over all connections of a pool.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) round_trips: AtomicU64,
    pub(crate) connections: AtomicU64,
}

/// An open connection with its prepared statements.
pub(crate) struct Connection {
    client: Arc<Client>,
    link: tokio_postgres::Connection<Stream, TlsStream>,
    socket: Arc<Socket>,
    counters: Arc<Counters>,
    statements: HashMap<&'static str, Statement>,
    /// The space to which row-level security is set.
    pub(crate) space: String,
    /// The number of warnings during the last call.
    warnings: usize,
    is_broken: bool,
    pub(crate) last_used: Instant,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("space", &self.space).finish_non_exhaustive()
    }
}

impl Connection {
    /// Connects to one host of an address.
    pub(crate) fn open(
        address: &Address,
        host: &HostAddress,
        space: &str,
        statement_timeout: Duration,
        counters: &Arc<Counters>,
        deadline: Instant,
    ) -> Result<Self, Failure> {
        let socket = connect(host, deadline).map_err(Failure::Refused)?;
        let mut config = address.config.clone();
        #[cfg(unix)]
        if matches!(host.host, Host::Unix(_)) {
            config.ssl_mode(SslMode::Disable);
        }
        let stream = Stream(Arc::clone(&socket));
        let tls = match (&address.tls, config.get_ssl_mode()) {
            (Some(tls), SslMode::Prefer | SslMode::Require) => Arc::clone(tls),
            _ => {
                config.ssl_mode(SslMode::Disable);
                crate::tls::unverified().map_err(Failure::Permanent)?
            }
        };
        let handshake = Handshake { config: tls, host: host.name.clone() };
        let mut opening = pin!(config.connect_raw(stream, handshake));
        let opened = socket.block_on(deadline, |context| opening.as_mut().poll(context));
        let opened = opened.map_err(Failure::Refused)?;
        let (client, link) = opened.map_err(|error| classify(&error, true))?;
        counters.connections.fetch_add(1, Ordering::Relaxed);
        let mut connection = Connection {
            client: Arc::new(client),
            link,
            socket,
            counters: Arc::clone(counters),
            statements: HashMap::new(),
            space: space.to_owned(),
            warnings: 0,
            is_broken: false,
            last_used: Instant::now(),
        };
        let timeout = statement_timeout.as_millis().to_string();
        let client = Arc::clone(&connection.client);
        let settings: [(&(dyn ToSql + Sync), Type); 2] =
            [(&timeout, Type::TEXT), (&space, Type::TEXT)];
        let rows = connection.run(deadline, client.query_typed(SET_UP, &settings))?;
        let reads_only = rows.first().is_some_and(|row| row.try_get(0).unwrap_or(false));
        if reads_only && address.needs_writes {
            let why = "the database only answers reads: it is a standby";
            return Err(Failure::Refused(io::Error::new(io::ErrorKind::NotConnected, why)));
        }
        Ok(connection)
    }

    /// Runs a request to completion.
    fn run<T>(
        &mut self,
        deadline: Instant,
        request: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Failure> {
        let Connection { link, socket, warnings, is_broken, .. } = self;
        *warnings = 0;
        let mut request = pin!(request);
        let result = socket.block_on(deadline, |context| {
            if let Poll::Ready(result) = request.as_mut().poll(context) {
                return Poll::Ready(result);
            }
            if !*is_broken {
                drive(link, context, warnings, is_broken);
            }
            // If the connection broke, the request gets the error.
            if *is_broken { request.as_mut().poll(context) } else { Poll::Pending }
        });
        self.counters.round_trips.fetch_add(1, Ordering::Relaxed);
        self.last_used = Instant::now();
        match result {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => {
                let failure = classify(&error, false);
                // A standby answers after a failover, but is of no use. A permanent error may be
                // that of a statement that was prepared before a migration.
                self.is_broken |= match &failure {
                    Failure::Lost(_) | Failure::Permanent(_) => true,
                    Failure::Refused(error) => error.kind() == io::ErrorKind::NotConnected,
                };
                Err(failure)
            }
            Err(error) => {
                self.is_broken = true;
                Err(Failure::Lost(error))
            }
        }
    }

    /// Returns whether the last call came with a warning.
    ///
    /// A commit that is canceled while it waits for its synchronous standby succeeds with the
    /// warning that it is only committed locally. No other warning is expected, and texts are
    /// translated, so every warning counts.
    pub(crate) fn has_warned(&self) -> bool {
        self.warnings > 0
    }

    /// Returns the statement for some SQL, prepared at its first use.
    fn statement(&mut self, sql: &'static str, deadline: Instant) -> Result<Statement, Failure> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let client = Arc::clone(&self.client);
        let statement = self.run(deadline, client.prepare(sql))?;
        self.statements.insert(sql, statement.clone());
        Ok(statement)
    }

    /// Runs a statement and returns its rows.
    pub(crate) fn query(
        &mut self,
        sql: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
        deadline: Instant,
    ) -> Result<Vec<Row>, Failure> {
        let statement = self.statement(sql, deadline)?;
        let client = Arc::clone(&self.client);
        self.run(deadline, client.query(&statement, parameters))
    }

    /// Runs a statement and calls `each` with its rows, as they arrive.
    pub(crate) fn query_each(
        &mut self,
        sql: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
        deadline: Instant,
        mut each: impl FnMut(&Row) -> Result<(), tokio_postgres::Error>,
    ) -> Result<(), Failure> {
        let statement = self.statement(sql, deadline)?;
        let client = Arc::clone(&self.client);
        self.run(deadline, async {
            let parameters = parameters.iter().map(|parameter| *parameter as &dyn ToSql);
            let mut rows = pin!(client.query_raw(&statement, parameters).await?);
            while let Some(row) = rows.try_next().await? {
                each(&row)?;
            }
            Ok(())
        })
    }

    /// Runs a statement that returns at most one row.
    pub(crate) fn query_opt(
        &mut self,
        sql: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
        deadline: Instant,
    ) -> Result<Option<Row>, Failure> {
        Ok(self.query(sql, parameters, deadline)?.into_iter().next())
    }

    /// Runs a statement and returns the number of rows that it changed.
    pub(crate) fn execute(
        &mut self,
        sql: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
        deadline: Instant,
    ) -> Result<u64, Failure> {
        let statement = self.statement(sql, deadline)?;
        let client = Arc::clone(&self.client);
        self.run(deadline, client.execute(&statement, parameters))
    }

    /// Runs a statement up to [`MAX_TOGETHER`] times in one transaction and one round trip, each
    /// time with other parameters. Returns the number of rows that each changed, or `None` if one
    /// failed and the transaction was rolled back.
    ///
    /// `begin` opens the transaction.
    pub(crate) fn execute_together(
        &mut self,
        begin: &str,
        sql: &'static str,
        parameters: &[[&(dyn ToSql + Sync); 7]],
        deadline: Instant,
    ) -> Result<Option<Vec<u64>>, Failure> {
        let statement = self.statement(sql, deadline)?;
        let client = Arc::clone(&self.client);
        let (begun, rest) = self.run(deadline, async {
            // Requests are sent in the order in which their futures are polled first.
            let statements = parameters.iter().map(|values| client.execute(&statement, values));
            let (begun, counts, ended) = future::join3(
                client.batch_execute(begin),
                future::join_all(statements),
                client.batch_execute("COMMIT"),
            )
            .await;
            let counts: Result<Vec<u64>, _> = counts.into_iter().collect();
            let rest = match (counts, ended) {
                (Ok(counts), Ok(())) => Some(counts),
                // A transaction in which a statement failed is rolled back at its end.
                (Err(error), Ok(())) if error.as_db_error().is_some() => None,
                (Err(error), _) | (_, Err(error)) => return Err(error),
            };
            Ok((begun, rest))
        })?;
        // Without a transaction, each statement was committed on its own.
        if let Err(error) = begun {
            self.discard();
            return Err(Failure::Lost(io::Error::other(error)));
        }
        Ok(rest)
    }

    /// Runs several statements without parameters, in a transaction of their own unless they say
    /// otherwise.
    pub(crate) fn batch(&mut self, deadline: Instant, sql: &str) -> Result<(), Failure> {
        let client = Arc::clone(&self.client);
        self.run(deadline, client.batch_execute(sql))
    }

    /// Changes the space to which row-level security is set.
    pub(crate) fn enter(&mut self, space: &str, deadline: Instant) -> Result<(), Failure> {
        if self.space == space {
            return Ok(());
        }
        self.query("SELECT set_config('treering.space', $1, false)", &[&space], deadline)?;
        space.clone_into(&mut self.space);
        Ok(())
    }

    /// Returns whether the connection can be used: the database has not closed it.
    pub(crate) fn is_alive(&mut self) -> bool {
        if !self.is_broken {
            let mut context = Context::from_waker(Waker::noop());
            drive(&mut self.link, &mut context, &mut self.warnings, &mut self.is_broken);
        }
        !self.is_broken
    }

    /// Returns whether the connection is known to be unusable.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Marks the connection as unusable, because its state is unknown.
    pub(crate) fn discard(&mut self) {
        self.is_broken = true;
    }
}

/// Transfers messages between the client and the socket, as far as possible without blocking.
fn drive(
    link: &mut tokio_postgres::Connection<Stream, TlsStream>,
    context: &mut Context<'_>,
    warnings: &mut usize,
    is_broken: &mut bool,
) {
    loop {
        match link.poll_message(context) {
            Poll::Ready(Some(Ok(AsyncMessage::Notice(notice)))) => {
                let severity = notice.parsed_severity();
                *warnings += usize::from(matches!(severity, Some(Severity::Warning)));
            }
            Poll::Ready(Some(Ok(_))) => {}
            Poll::Ready(None | Some(Err(_))) => {
                *is_broken = true;
                return;
            }
            Poll::Pending => return,
        }
    }
}

/// The client of a store without the store, to measure the cost of a statement.
#[derive(Debug)]
pub struct RawClient(Connection);

impl RawClient {
    /// Connects to the first host of an address.
    pub fn connect(url: &str) -> io::Result<Self> {
        let address = Address::parse(url)?;
        let (timeout, counters) = (Duration::from_secs(30), Arc::default());
        let host = address.hosts.first().ok_or(io::ErrorKind::InvalidInput)?;
        let deadline = Instant::now() + timeout;
        let connection = Connection::open(&address, host, "", timeout, &counters, deadline);
        connection.map(RawClient).map_err(Failure::into_io)
    }

    /// Runs a statement, prepared at its first use, and returns the number of rows that it changed.
    pub fn execute(
        &mut self,
        sql: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> io::Result<u64> {
        let deadline = Instant::now() + Duration::from_secs(30);
        self.0.execute(sql, parameters, deadline).map_err(Failure::into_io)
    }
}

fn connect(host: &HostAddress, deadline: Instant) -> io::Result<Arc<Socket>> {
    match &host.host {
        #[cfg(unix)]
        Host::Unix(directory) => Socket::unix(&directory.join(format!(".s.PGSQL.{}", host.port))),
        Host::Tcp(name) => {
            let mut last = io::Error::new(io::ErrorKind::HostUnreachable, "it has no address");
            for address in resolve(name, host.port, deadline)? {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                match Socket::tcp(address, left) {
                    Ok(socket) => return Ok(socket),
                    Err(error) => last = error,
                }
            }
            Err(last)
        }
    }
}

/// Returns the addresses of a host. The system's resolver has no timeout, so it runs in a thread
/// that may be abandoned.
fn resolve(name: &str, port: u16, deadline: Instant) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = name.parse::<std::net::IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let (found, result) = mpsc::channel();
    let name = name.to_owned();
    std::thread::spawn(move || {
        let addresses = (name.as_str(), port).to_socket_addrs().map(Iterator::collect);
        // The caller may have stopped waiting.
        let _ = found.send(addresses);
    });
    let left = deadline.saturating_duration_since(Instant::now());
    let addresses = result.recv_timeout(left).map_err(|_| io::ErrorKind::TimedOut)?;
    // A name that is unknown now may soon be known, such as that of a container that is starting.
    addresses.map_err(|error| io::Error::new(io::ErrorKind::HostUnreachable, error))
}
