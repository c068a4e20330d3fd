//! Runs calls of the library without holding up the interpreter.

use crate::error::OrRaise;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;
use treering_bindings::{Category, Failure};

/// Time between two looks at the signals that arrived, while a call takes long.
const POLL: Duration = Duration::from_millis(20);

thread_local! {
    /// The first exception of a listener during a call on this thread.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Keeps an exception of a listener, to be raised by the call during which the listener ran.
pub(crate) fn keep_exception(error: PyErr) {
    RAISED.with_borrow_mut(|raised| {
        raised.get_or_insert(error);
    });
}

fn check_listeners() -> PyResult<()> {
    RAISED.take().map_or(Ok(()), Err)
}

/// Runs a short call of the library. Other Python threads run meanwhile.
pub(crate) fn quick<T: Send, E: Into<Failure> + Send>(
    py: Python<'_>,
    call: impl FnOnce() -> Result<T, E> + Send,
) -> PyResult<T> {
    let result = py.detach(call);
    check_listeners()?;
    result.or_raise(py)
}

/// Runs a call that may take long: on another thread, so that Ctrl-C is noticed at once.
///
/// After an interrupt `stop` is set, and the call ends by itself where it looks at it. Whatever it still does then is not
/// waited for: the interrupt may have come because the network hangs.
pub(crate) fn long<T: Send + 'static, E: Into<Failure> + Send + 'static>(
    py: Python<'_>,
    stop: &Arc<AtomicBool>,
    call: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = mpsc::channel();
    let worker = std::thread::Builder::new().name("treering".to_owned()).spawn(move || {
        let result = call();
        let raised = RAISED.take();
        drop(sender.send((result, raised)));
    });
    worker.map_err(Failure::from).or_raise(py)?;
    // A receiver may only be used by one thread at a time, which the interpreter does not know.
    let receiver = Mutex::new(receiver);
    let receive = || receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(POLL);
    loop {
        match py.detach(receive) {
            Ok((result, None)) => return result.or_raise(py),
            Ok((_, Some(raised))) => return Err(raised),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                py.check_signals().inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                let failure =
                    Failure::new(Category::Storage, "internal", "the call ended without a result");
                return Err(crate::error::exception(py, failure));
            }
        }
    }
}

/// A writer that fails once the call it is for was interrupted.
pub(crate) struct Stoppable<W> {
    pub(crate) out: W,
    pub(crate) stop: Arc<AtomicBool>,
}

impl<W: std::io::Write> std::io::Write for Stoppable<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.stop.load(Ordering::Relaxed) {
            // Not `Interrupted`, after which writers try again.
            return Err(std::io::Error::other("interrupted"));
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}
