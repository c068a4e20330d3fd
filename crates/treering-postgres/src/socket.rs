//! Sockets that are waited for in the calling thread, with a deadline.
//!
//! The client of PostgreSQL is asynchronous, the library is not. Instead of a runtime with threads
//! of its own, a future is polled by the thread that needs its result, and between two polls that
//! thread waits for the socket. A response therefore wakes only the thread that waits for it, every
//! wait has a deadline, and a call is allowed in any thread, including those of an asynchronous
//! runtime.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The maximum number of bytes of one read call.
const MAX_READ: usize = 256 * 1024;

#[derive(Debug)]
enum SocketKind {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(std::os::unix::net::UnixStream),
}

/// A connected socket that never blocks, and the events that the last poll was waiting for.
#[derive(Debug)]
pub(crate) struct Socket {
    inner: SocketKind,
    wants_read: AtomicBool,
    wants_write: AtomicBool,
}

impl Socket {
    fn new(inner: SocketKind) -> Arc<Self> {
        let (wants_read, wants_write) = (AtomicBool::new(false), AtomicBool::new(false));
        Arc::new(Socket { inner, wants_read, wants_write })
    }

    /// Connects to a network address.
    pub(crate) fn tcp(address: SocketAddr, timeout: Duration) -> io::Result<Arc<Self>> {
        let stream = TcpStream::connect_timeout(&address, timeout)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Socket::new(SocketKind::Tcp(stream)))
    }

    /// Connects to a socket in the file system.
    #[cfg(unix)]
    pub(crate) fn unix(path: &std::path::Path) -> io::Result<Arc<Self>> {
        let stream = std::os::unix::net::UnixStream::connect(path)?;
        stream.set_nonblocking(true)?;
        Ok(Socket::new(SocketKind::Unix(stream)))
    }

    fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match &self.inner {
            SocketKind::Tcp(stream) => (&*stream).read(buffer),
            #[cfg(unix)]
            SocketKind::Unix(stream) => (&*stream).read(buffer),
        }
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match &self.inner {
            SocketKind::Tcp(stream) => (&*stream).write(bytes),
            #[cfg(unix)]
            SocketKind::Unix(stream) => (&*stream).write(bytes),
        }
    }

    /// Waits until the socket is ready for an event that the last poll missed. Returns false if the
    /// deadline passes first.
    fn wait(&self, deadline: Instant) -> io::Result<bool> {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::IN, self.wants_read.load(Ordering::Relaxed));
        flags.set(PollFlags::OUT, self.wants_write.load(Ordering::Relaxed));
        if flags.is_empty() {
            let why = "the connection waits for nothing";
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, why));
        }
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).map_err(io::Error::other)?;
            let mut events = [match &self.inner {
                SocketKind::Tcp(stream) => PollFd::new(stream, flags),
                #[cfg(unix)]
                SocketKind::Unix(stream) => PollFd::new(stream, flags),
            }];
            match poll(&mut events, Some(&left)) {
                Err(rustix::io::Errno::INTR) => {}
                result => return Ok(result? > 0),
            }
        }
    }

    /// Polls until there is a result.
    ///
    /// # Errors
    ///
    /// Fails with [`io::ErrorKind::TimedOut`] if the deadline passes first.
    pub(crate) fn block_on<T>(
        &self,
        deadline: Instant,
        mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> io::Result<T> {
        let woken = Arc::new(WakeFlag(AtomicBool::new(false)));
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);
        loop {
            woken.0.store(false, Ordering::Relaxed);
            self.wants_read.store(false, Ordering::Relaxed);
            self.wants_write.store(false, Ordering::Relaxed);
            if let Poll::Ready(value) = poll(&mut context) {
                return Ok(value);
            }
            if !woken.0.load(Ordering::Relaxed) && !self.wait(deadline)? {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }
}

/// Whether a future asked to be polled again.
struct WakeFlag(AtomicBool);

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A socket in the form that the client of PostgreSQL reads and writes.
#[derive(Debug)]
pub(crate) struct Stream(pub(crate) Arc<Socket>);

/// Turns the result of a call that does not block into that of a poll.
fn ready<T>(result: io::Result<T>, missed: &AtomicBool) -> Poll<io::Result<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            missed.store(true, Ordering::Relaxed);
            Poll::Pending
        }
        result => Poll::Ready(result),
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let socket = &self.get_mut().0;
        // The unfilled part of the buffer is cleared with every call, so it must not be too large.
        let size = buffer.remaining().min(MAX_READ);
        loop {
            let result = socket.read(buffer.initialize_unfilled_to(size));
            return match result {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                result => ready(result, &socket.wants_read).map_ok(|count| buffer.advance(count)),
            };
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let socket = &self.get_mut().0;
        loop {
            return match socket.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                result => ready(result, &socket.wants_write),
            };
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = match &self.get_mut().0.inner {
            SocketKind::Tcp(stream) => stream.shutdown(std::net::Shutdown::Write),
            #[cfg(unix)]
            SocketKind::Unix(stream) => stream.shutdown(std::net::Shutdown::Write),
        };
        Poll::Ready(result)
    }
}
