//! Accepts, limits and closes connections.

use crate::node::{Node, Phase};
use crate::router::{self, Peer};
use axum::Router;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::Sleep;
use tokio_rustls::TlsAcceptor;

/// The pause after a connection could not be accepted because there are too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves connections until `shutdown` completes, then finishes the requests in progress.
pub(crate) async fn serve(
    node: Arc<Node>,
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let router = router::router(&node);
    let permits = Arc::new(Semaphore::new(node.limits.connections));
    let mut connections = JoinSet::new();
    tokio::pin!(shutdown);
    // Readiness ends first, so that load balancers notice while requests are still served.
    let drain = Box::pin(async {
        shutdown.await;
        node.enter(Phase::Draining);
        tokio::time::sleep(node.limits.drain).await;
    });
    let mut drain = drain;
    loop {
        let accepted = tokio::select! {
            () = &mut drain => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => continue,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(_) => {
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else {
            node.metrics.refused("connections");
            continue;
        };
        let (node, router, tls) = (Arc::clone(&node), router.clone(), tls.clone());
        start(&mut connections, node, router, tls, (stream, peer), permit);
    }
    drop(listener);
    node.enter(Phase::Stopping);
    let all = async {
        while connections.join_next().await.is_some() {}
        // The answers for clients that are gone are recorded as well.
        node.turns.finished().await;
    };
    if tokio::time::timeout(node.limits.grace, all).await.is_err() {
        connections.shutdown().await;
    }
    Ok(())
}

/// Starts to serve a connection. `serve` would be compiled in every crate that awaits it; this
/// function is compiled only here.
fn start(
    connections: &mut JoinSet<()>,
    node: Arc<Node>,
    router: Router,
    tls: Option<TlsAcceptor>,
    (stream, peer): (TcpStream, SocketAddr),
    permit: OwnedSemaphorePermit,
) {
    connections.spawn(async move {
        node.metrics.connections.fetch_add(1, Ordering::Relaxed);
        connection(&node, router, tls, stream, peer).await;
        node.metrics.connections.fetch_sub(1, Ordering::Relaxed);
        drop(permit);
    });
}

async fn connection(
    node: &Arc<Node>,
    router: Router,
    tls: Option<TlsAcceptor>,
    stream: TcpStream,
    peer: SocketAddr,
) {
    // Responses are small and written at once, so delaying them would only cost time.
    let _ = stream.set_nodelay(true);
    let limits = &node.limits;
    match tls {
        None => talk(node, router, stream, peer).await,
        Some(tls) => match tokio::time::timeout(limits.header_time, tls.accept(stream)).await {
            Ok(Ok(stream)) => talk(node, router, stream, peer).await,
            Ok(Err(_)) => node.metrics.refused("tls"),
            Err(_) => node.metrics.refused("tls_timeout"),
        },
    }
}

async fn talk(
    node: &Arc<Node>,
    router: Router,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: SocketAddr,
) {
    let stream = TimedIo::new(stream, node.limits.progress_time);
    let has_begun = Arc::clone(&stream.has_begun);
    let service = tower_service(router, peer, Arc::clone(&has_begun));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(node.limits.header_time)
        .max_buf_size(node.limits.headers.max(MIN_BUFFER))
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let stopping = node.reached(Phase::Stopping);
    let done = tokio::select! {
        done = connection.as_mut() => done,
        () = stopping => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = done {
        let reason = match () {
            // A connection that is no longer used also ends like this.
            () if error.is_timeout() && !has_begun.load(Ordering::Relaxed) => return,
            () if error.is_timeout() => "header_timeout",
            () if error.is_parse_too_large() => "headers_too_large",
            () if error.is_parse() => "malformed",
            () => "broken_connection",
        };
        node.metrics.refused(reason);
    }
}

/// The smallest buffer that hyper accepts.
const MIN_BUFFER: usize = 8192;

fn tower_service(
    router: Router,
    peer: SocketAddr,
    has_begun: Arc<AtomicBool>,
) -> impl hyper::service::Service<
    hyper::Request<hyper::body::Incoming>,
    Response = axum::response::Response,
    Error = std::convert::Infallible,
    Future: Send,
> {
    let service = TowerToHyperService::new(router);
    hyper::service::service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(Peer(peer.ip()));
        let (answer, has_begun) = (service.call(request), Arc::clone(&has_begun));
        async move {
            let answer = answer.await;
            has_begun.store(false, Ordering::Relaxed);
            answer
        }
    })
}

/// A stream that fails if the other side reads nothing for some time.
#[derive(Debug)]
struct TimedIo<S> {
    stream: S,
    limit: Duration,
    /// Whether bytes of a request were read that has no response yet.
    has_begun: Arc<AtomicBool>,
    /// The timer that runs while a write waits.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> TimedIo<S> {
    fn new(stream: S, limit: Duration) -> Self {
        TimedIo { stream, limit, has_begun: Arc::default(), stalled: None }
    }

    fn watch<T>(
        &mut self,
        context: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.stalled = None;
            return polled;
        }
        let limit = self.limit;
        let sleep = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        match sleep.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedIo<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.has_begun.store(true, Ordering::Relaxed);
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedIo<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(context, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.watch(context, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.watch(context, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(context);
        self.watch(context, polled)
    }
}
