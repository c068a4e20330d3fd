//! A bounded pool of connections, with retries for calls during a restart or a failover.

use crate::address::Address;
use crate::connection::{Connection, Counters};
use crate::failure::Failure;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Connections that were idle for this time are closed: a firewall may have dropped them, and the
/// next call would wait for its whole deadline.
const MAX_IDLE: Duration = Duration::from_secs(240);

/// The pauses between attempts.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LAST_PAUSE: Duration = Duration::from_millis(250);

/// The connections to a database.
#[derive(Debug)]
pub(crate) struct Pool {
    address: Address,
    /// The time limit of a call.
    timeout: Duration,
    most: usize,
    pub(crate) counters: Arc<Counters>,
    state: Mutex<State>,
    returned: Condvar,
    /// The index of the host that was used successfully last.
    host: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Connection>,
    /// The number of connections that are open or being opened, including idle ones.
    open: usize,
}

impl Pool {
    pub(crate) fn new(address: Address, timeout: Duration, most: usize) -> Self {
        Pool {
            address,
            timeout,
            most: most.max(1),
            counters: Arc::default(),
            state: Mutex::default(),
            returned: Condvar::new(),
            host: AtomicUsize::new(0),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.address.name
    }

    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.timeout
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `action` once with a connection for `space`.
    pub(crate) fn once<T>(
        &self,
        space: &str,
        deadline: Instant,
        action: impl FnOnce(&mut Connection) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut lease = self.lease(space, deadline)?;
        let Some(connection) = lease.connection.as_mut() else {
            return Err(Failure::Refused(io::ErrorKind::NotConnected.into()));
        };
        connection.enter(space, deadline)?;
        action(connection).map_err(|failure| failure.map(|error| self.message(error)))
    }

    /// Calls `action`, which must be safe to repeat, until it succeeds or the deadline passes.
    pub(crate) fn repeat<T>(
        &self,
        space: &str,
        deadline: Instant,
        mut action: impl FnMut(&mut Connection) -> Result<T, Failure>,
    ) -> io::Result<T> {
        let mut pauses = Pauses::new(deadline);
        loop {
            match self.once(space, deadline, &mut action) {
                Ok(value) => return Ok(value),
                Err(Failure::Permanent(error)) => return Err(error),
                Err(Failure::Lost(error) | Failure::Refused(error)) => pauses.pause(error)?,
            }
        }
    }

    /// Returns a message with the name of the database and the error.
    fn message(&self, error: &io::Error) -> String {
        let name = self.name();
        match error.kind() {
            io::ErrorKind::TimedOut if error.get_ref().is_none() => {
                format!("{name}: no answer within {} ms", self.timeout.as_millis())
            }
            _ => format!("{name}: {error}"),
        }
    }

    /// Takes a connection out of the pool, or opens one.
    fn lease(&self, space: &str, deadline: Instant) -> Result<Lease<'_>, Failure> {
        let mut state = self.state();
        loop {
            let same = state.idle.iter().rposition(|connection| connection.space == space);
            let found = same.or_else(|| state.idle.len().checked_sub(1));
            if let Some(found) = found {
                let mut connection = state.idle.swap_remove(found);
                drop(state);
                if connection.last_used.elapsed() < MAX_IDLE && connection.is_alive() {
                    return Ok(Lease { pool: self, connection: Some(connection) });
                }
                state = self.state();
                state.open -= 1;
                continue;
            }
            if state.open < self.most {
                state.open += 1;
                drop(state);
                let mut lease = Lease { pool: self, connection: None };
                lease.connection = Some(self.open(space, deadline)?);
                return Ok(lease);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let text = format!(
                    "{}: all {} connections are in use, and none became free within {} ms",
                    self.name(),
                    self.most,
                    self.timeout.as_millis()
                );
                return Err(Failure::Refused(io::Error::new(io::ErrorKind::ResourceBusy, text)));
            }
            let waited = self.returned.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Opens a connection to the first host that answers, beginning with the one that was used
    /// last.
    fn open(&self, space: &str, deadline: Instant) -> Result<Connection, Failure> {
        let hosts = &self.address.hosts;
        let first = self.host.load(Ordering::Relaxed);
        let mut last = Failure::Refused(io::ErrorKind::NotConnected.into());
        for turn in 0..hosts.len() {
            let number = (first + turn) % hosts.len();
            let Some(host) = hosts.get(number) else { continue };
            // A host that does not answer must leave time for the others.
            let left = deadline.saturating_duration_since(Instant::now());
            let until = Instant::now() + left / (hosts.len() - turn) as u32;
            let (timeout, counters) = (self.timeout, &self.counters);
            match Connection::open(&self.address, host, space, timeout, counters, until) {
                Ok(connection) => {
                    self.host.store(number, Ordering::Relaxed);
                    return Ok(connection);
                }
                // The other hosts would answer the same.
                Err(failure @ Failure::Permanent(_)) if turn + 1 == hosts.len() => {
                    return Err(failure.map(|error| self.refusal(error)));
                }
                Err(failure) => last = failure,
            }
        }
        let last = last.map(|error| self.refusal(error));
        // No call was sent yet, so nothing can have been carried out.
        Err(match last {
            Failure::Lost(error) => Failure::Refused(error),
            last => last,
        })
    }

    fn refusal(&self, error: &io::Error) -> String {
        format!("cannot connect to {}: {error}", self.name())
    }
}

/// A connection in use, which returns to the pool when it is dropped.
struct Lease<'a> {
    pool: &'a Pool,
    connection: Option<Connection>,
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let connection = self.connection.take();
        let mut state = self.pool.state();
        match connection {
            Some(connection) if !connection.is_broken() => state.idle.push(connection),
            _ => state.open -= 1,
        }
        drop(state);
        self.pool.returned.notify_one();
    }
}

/// The pauses between the attempts of a call.
pub(crate) struct Pauses {
    deadline: Instant,
    next: Duration,
}

impl Pauses {
    pub(crate) fn new(deadline: Instant) -> Self {
        Pauses { deadline, next: FIRST_PAUSE }
    }

    /// Waits before the next attempt, or fails with the error of the last one if there is no time left.
    pub(crate) fn pause(&mut self, error: io::Error) -> io::Result<()> {
        if Instant::now() + self.next >= self.deadline {
            return Err(error);
        }
        std::thread::sleep(self.next);
        self.next = (self.next * 2).min(LAST_PAUSE);
        Ok(())
    }
}
