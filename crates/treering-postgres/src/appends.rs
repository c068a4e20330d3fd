//! Appends that are sent together.
//!
//! Up to [`MAX_LEADERS`] threads send appends at the same time. Threads that append meanwhile wait
//! in a queue. When a connection is free, the first of them *leads*: it sends its own append and
//! those of the others in the queue in one transaction and one round trip, and passes the results
//! to the others. The database commits once for all of them. No thread runs in the background.
//!
//! The guarantees of a single append are the same. If a statement of the transaction fails, the
//! whole transaction is rolled back, and every thread sends its append alone.

use crate::connection::{Connection, MAX_TOGETHER};
use crate::failure::Failure;
use crate::pool::Pool;
use crate::rows::confirmed;
use crate::sql;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio_postgres::types::ToSql;

/// The number of threads that send appends at the same time, each with its own connection.
const MAX_LEADERS: usize = 4;

/// The maximum size of an append that is sent with others.
const MAX_BYTES: usize = 64 * 1024;

/// Begins a transaction of several appends. The lock timeout keeps a session that another program
/// has locked from delaying the others.
const BEGIN: &str = "BEGIN; SET LOCAL lock_timeout = '100ms'";

/// An append to one session: the parameters of its statement.
#[derive(Debug)]
pub(crate) struct Append {
    pub(crate) space: String,
    pub(crate) id: String,
    pub(crate) generation: i64,
    pub(crate) length: i64,
    pub(crate) new_length: i64,
    pub(crate) lines: Vec<u8>,
    pub(crate) checkpoint: Option<String>,
    pub(crate) deadline: Instant,
}

impl Append {
    /// Sends the append by itself. Returns false if the session does not have this length and generation.
    pub(crate) fn send(&self, pool: &Pool) -> Result<bool, Failure> {
        pool.once(&self.space, self.deadline, |connection| {
            let count = connection.execute(sql::APPEND, &self.parameters(), self.deadline)?;
            confirmed(connection)?;
            Ok(count == 1)
        })
    }

    fn parameters(&self) -> [&(dyn ToSql + Sync); 7] {
        let Append { space, id, length, generation, lines, new_length, checkpoint, .. } = self;
        [space, id, length, generation, lines, new_length, checkpoint]
    }
}

/// The queue of appends of a store.
#[derive(Debug, Default)]
pub(crate) struct Appends {
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Arc<QueuedAppend>>,
    /// The number of threads that are sending.
    leaders: usize,
}

/// An append whose thread waits, or sends.
#[derive(Debug)]
struct QueuedAppend {
    append: Append,
    state: Mutex<AppendState>,
    changed: Condvar,
}

#[derive(Debug)]
enum AppendState {
    /// The append is in the queue, or was taken by a leader.
    Pending,
    /// The append was removed from the queue: its thread leads now.
    Leads,
    /// The append was sent, with this result.
    Sent(Result<bool, Failure>),
    /// The append was not carried out, and must be sent alone.
    SendAlone,
}

/// The reason why a thread stops waiting.
enum WakeReason {
    /// Another thread has sent the append, or it must be sent alone.
    Answered,
    /// The thread leads.
    Leads,
    /// The deadline passed before any thread took the append.
    TooLate,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl QueuedAppend {
    fn set_state(&self, state: AppendState) {
        *lock(&self.state) = state;
        self.changed.notify_one();
    }
}

impl Appends {
    /// Sends an append, together with others if there are any. Returns false if the session does
    /// not have the expected length and generation.
    pub(crate) fn send(&self, pool: &Pool, append: Append) -> Result<bool, Failure> {
        if append.lines.len() > MAX_BYTES {
            return append.send(pool);
        }
        let own = Arc::new(QueuedAppend {
            append,
            state: Mutex::new(AppendState::Pending),
            changed: Condvar::new(),
        });
        let mut queue = lock(&self.queue);
        let leads = queue.leaders < MAX_LEADERS;
        if leads {
            queue.leaders += 1;
        } else {
            queue.waiting.push_back(Arc::clone(&own));
        }
        drop(queue);
        if leads {
            self.lead(pool, &own);
        } else {
            match self.wait(&own) {
                WakeReason::Answered => {}
                WakeReason::Leads => self.lead(pool, &own),
                WakeReason::TooLate => {
                    let why = format!("{}: the appends before it took too long", pool.name());
                    let error = io::Error::new(io::ErrorKind::ResourceBusy, why);
                    return Err(Failure::Refused(error));
                }
            }
        }
        match std::mem::replace(&mut *lock(&own.state), AppendState::Pending) {
            AppendState::Sent(result) => result,
            AppendState::SendAlone => own.append.send(pool),
            AppendState::Pending | AppendState::Leads => Err(unanswered()),
        }
    }

    /// Waits until the append was sent, until its thread must lead, or until its deadline.
    fn wait(&self, own: &Arc<QueuedAppend>) -> WakeReason {
        let mut state = lock(&own.state);
        loop {
            let left = own.append.deadline.saturating_duration_since(Instant::now());
            match &*state {
                AppendState::Pending => {}
                // Other threads may have time left, so one of them leads.
                AppendState::Leads if left.is_zero() => {
                    drop(state);
                    self.hand_over();
                    return WakeReason::TooLate;
                }
                AppendState::Leads => return WakeReason::Leads,
                AppendState::Sent(_) | AppendState::SendAlone => return WakeReason::Answered,
            }
            if !left.is_zero() {
                let waited = own.changed.wait_timeout(state, left);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            drop(state);
            let mut queue = lock(&self.queue);
            let before = queue.waiting.len();
            queue.waiting.retain(|waiting| !Arc::ptr_eq(waiting, own));
            if queue.waiting.len() < before {
                return WakeReason::TooLate;
            }
            drop(queue);
            // A leader, which has a deadline of its own, has taken it.
            state = lock(&own.state);
            while matches!(&*state, AppendState::Pending) {
                state = own.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Lets the next waiting thread lead.
    fn hand_over(&self) {
        let mut queue = lock(&self.queue);
        match queue.waiting.pop_front() {
            Some(next) => next.set_state(AppendState::Leads),
            None => queue.leaders -= 1,
        }
    }

    /// Sends an append and those in the queue, passes the results to their threads, and lets the
    /// next one lead.
    fn lead(&self, pool: &Pool, own: &Arc<QueuedAppend>) {
        // The waiting threads are woken in any case.
        let mut batch = Batch { appends: self, members: vec![Arc::clone(own)] };
        let mut queue = lock(&self.queue);
        let mut at = 0;
        while at < queue.waiting.len() && batch.members.len() < MAX_TOGETHER {
            match queue.waiting[at].append.space == own.append.space {
                true => batch.members.extend(queue.waiting.remove(at)),
                false => at += 1,
            }
        }
        drop(queue);
        if let [alone] = &*batch.members {
            let result = alone.append.send(pool);
            return alone.set_state(AppendState::Sent(result));
        }
        // All transactions lock sessions in the same order, so that they cannot deadlock.
        batch
            .members
            .sort_by(|a, b| (&a.append.id, a.append.length).cmp(&(&b.append.id, b.append.length)));
        let deadline = own.append.deadline;
        let sent = pool.once(&own.append.space, deadline, |connection| {
            let appends = batch.members.iter().map(|member| &member.append);
            together(connection, &appends.collect::<Vec<_>>(), deadline)
        });
        for (number, member) in batch.members.iter().enumerate() {
            member.set_state(match &sent {
                Ok(Some(results)) => match results.get(number) {
                    Some(is_done) => AppendState::Sent(Ok(*is_done)),
                    None => AppendState::Sent(Err(unanswered())),
                },
                Ok(None) => AppendState::SendAlone,
                Err(failure) => AppendState::Sent(Err(failure.copy())),
            });
        }
    }
}

/// Sends appends in one transaction. Returns whether each was carried out, or `None` if the
/// transaction was rolled back because one of them failed.
fn together(
    connection: &mut Connection,
    appends: &[&Append],
    deadline: Instant,
) -> Result<Option<Vec<bool>>, Failure> {
    let parameters: Vec<_> = appends.iter().map(|append| append.parameters()).collect();
    let counts = connection.execute_together(BEGIN, sql::APPEND, &parameters, deadline)?;
    confirmed(connection)?;
    Ok(counts.map(|counts| counts.into_iter().map(|count| count == 1).collect()))
}

/// The appends that a leader sends.
struct Batch<'a> {
    appends: &'a Appends,
    members: Vec<Arc<QueuedAppend>>,
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for member in &self.members {
                member.set_state(AppendState::Sent(Err(unanswered())));
            }
        }
        self.appends.hand_over();
    }
}

fn unanswered() -> Failure {
    let why = "no answer came to an append";
    Failure::Lost(io::Error::new(io::ErrorKind::ConnectionAborted, why))
}

#[cfg(test)]
mod tests {
    use super::lock;
    use crate::connection::RawClient;
    use crate::{PostgresOptions, PostgresStore};
    use std::collections::HashSet;
    use std::sync::Arc;
    use std::sync::mpsc;
    use std::time::Duration;
    use treering::SessionId;
    use treering::storage::{End, Journal, JournalError};
    use treering::store::Store;
    use treering_testkit::postgres::Server;

    const LOCK: &str = "SELECT FROM treering.sessions WHERE id = ANY($1) FOR UPDATE";

    struct Setting {
        server: Server,
        store: PostgresStore,
    }

    impl Setting {
        fn new() -> Option<Self> {
            let server = Server::start()?;
            server.create_database("appends");
            let url = server.url("appends");
            // None of these calls may give up, however busy the machine is.
            let options = PostgresOptions::new().timeout(Duration::from_secs(60));
            PostgresStore::init(&url, &options).unwrap();
            let store = PostgresStore::connect(&url, &options).unwrap();
            Some(Setting { server, store })
        }

        fn session(&self, name: &str) -> Arc<dyn Journal> {
            self.store.create(&SessionId::new(name).unwrap(), &mut &b"{}\n"[..]).unwrap()
        }

        /// Locks sessions until the client is dropped.
        fn locked(&self, names: &[String]) -> RawClient {
            let mut client = RawClient::connect(&self.server.url("appends")).unwrap();
            let enter = "SELECT set_config('treering.space', $1, false)";
            client.execute(enter, &[&&*self.store.space]).unwrap();
            client.execute("BEGIN", &[]).unwrap();
            assert_eq!(client.execute(LOCK, &[&names]).unwrap(), names.len() as u64);
            client
        }

        fn wait_for(&self, leaders: usize, waiting: usize) {
            let shared = &self.store.shared;
            loop {
                let queue = lock(&shared.appends.queue);
                if (queue.leaders, queue.waiting.len()) == (leaders, waiting) {
                    return;
                }
                drop(queue);
                std::thread::yield_now();
            }
        }
    }

    /// Appends to four sessions that others keep locked, so that twelve more appends wait, and lets one of the four continue:
    /// a single thread sends those that wait. Returns how many appends succeeded while the sessions in `stays_locked` and
    /// three of the four were locked.
    fn append_together(setting: &Setting, stays_locked: &[&str]) -> usize {
        let names = |kind: &str, count: usize| -> Vec<String> {
            (0..count).map(|number| format!("{kind}{number}")).collect()
        };
        let (first, others) = (names("first", super::MAX_LEADERS), names("other", 12));
        let journals = |names: &[String]| -> Vec<_> {
            names.iter().map(|name| setting.session(name)).collect()
        };
        let (leading, waiting) = (journals(&first), journals(&others));
        let before = setting.locked(&first[..1]);
        let mut locked = first[1..].to_vec();
        locked.extend(stays_locked.iter().map(|&name| name.to_owned()));
        let still = setting.locked(&locked);
        std::thread::scope(|scope| {
            let (done, results) = mpsc::channel();
            let append = |journal: &Arc<dyn Journal>| {
                let (journal, done) = (Arc::clone(journal), done.clone());
                scope.spawn(move || {
                    let result = journal.append(&End::from(3), b"{\"a\":1}\n");
                    done.send(result.is_ok()).unwrap();
                });
            };
            leading.iter().for_each(append);
            setting.wait_for(super::MAX_LEADERS, 0);
            waiting.iter().for_each(append);
            setting.wait_for(super::MAX_LEADERS, others.len());
            drop(before);
            let free = first.len() + others.len() - locked.len();
            let count = results.iter().take(free).filter(|is_ok| *is_ok).count();
            drop(still);
            for _ in 0..locked.len() {
                assert!(results.recv().unwrap());
            }
            count
        })
    }

    #[test]
    fn appends_that_wait_are_one_transaction() {
        let Some(setting) = Setting::new() else { return };
        assert_eq!(append_together(&setting, &[]), 13);
        let sql = "SELECT id, changed, length FROM treering.sessions WHERE id LIKE 'other%'";
        let rows = setting.server.sql("appends", sql);
        let rows: Vec<Vec<&str>> = rows.lines().map(|row| row.split('|').collect()).collect();
        assert_eq!(rows.len(), 12, "{rows:?}");
        let transactions: HashSet<&str> = rows.iter().map(|row| row[1]).collect();
        assert_eq!(transactions.len(), 1, "{rows:?}");
        assert!(rows.iter().all(|row| row[2] == "11"), "{rows:?}");
        setting.wait_for(0, 0);
    }

    #[test]
    fn a_locked_session_does_not_hold_up_the_others() {
        let Some(setting) = Setting::new() else { return };
        assert_eq!(append_together(&setting, &["other3"]), 12);
        for name in ["other0", "other3", "other11"] {
            let journal = setting.store.open(&SessionId::new(name).unwrap()).unwrap();
            assert_eq!(journal.len().unwrap(), 11, "{name}");
        }
        setting.wait_for(0, 0);
    }

    #[test]
    fn a_thread_that_leads_too_late_lets_another_lead() {
        let Some(setting) = Setting::new() else { return };
        let appends = &setting.store.shared.appends;
        lock(&appends.queue).leaders = super::MAX_LEADERS;
        let late = Arc::new(super::QueuedAppend {
            append: super::Append {
                space: String::new(),
                id: "late".into(),
                generation: 0,
                length: 0,
                new_length: 0,
                lines: Vec::new(),
                checkpoint: None,
                deadline: std::time::Instant::now(),
            },
            state: std::sync::Mutex::new(super::AppendState::Pending),
            changed: std::sync::Condvar::new(),
        });
        lock(&appends.queue).waiting.push_back(Arc::clone(&late));
        let journal = setting.session("patient");
        std::thread::scope(|scope| {
            let patient = scope.spawn(|| journal.append(&End::from(3), b"{\"a\":1}\n"));
            setting.wait_for(super::MAX_LEADERS, 2);
            appends.hand_over();
            assert!(matches!(appends.wait(&late), super::WakeReason::TooLate));
            assert!(patient.join().unwrap().is_ok());
        });
        setting.wait_for(super::MAX_LEADERS - 1, 0);
    }

    #[test]
    fn an_append_at_another_end_is_refused_among_others() {
        let Some(setting) = Setting::new() else { return };
        let journals: Vec<_> = (0..16).map(|n| setting.session(&format!("s{n}"))).collect();
        let moved = std::thread::scope(|scope| {
            let threads: Vec<_> = journals
                .iter()
                .flat_map(|journal| [journal, journal, journal])
                .map(|journal| scope.spawn(|| journal.append(&End::from(3), b"{\"a\":1}\n")))
                .collect();
            let results = threads.into_iter().map(|thread| thread.join().unwrap());
            results.filter(|result| matches!(result, Err(JournalError::Moved(11)))).count()
        });
        assert_eq!(moved, 32, "one of three appends to each session is carried out");
        setting.wait_for(0, 0);
    }
}
