//! Sends terminal events and signals to the visible screen.
//!
//! Suspending and redrawing are the same for all screens: they are requests to the runner, which
//! handles them between two frames.

use super::terminal_guard;
use crate::keys::{Code, Key};
use crate::runtime::background::background;
use crate::{MouseEvent, TerminalEvent};
use ratatui::crossterm::event::{self, KeyEventKind, MouseButton, MouseEventKind};
use ratatui::crossterm::terminal;
use ratatui::layout::Size;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

type OnEvent = Box<dyn FnMut(TerminalEvent) + Send>;

/// The subscribed screen. Events that arrive without a subscriber are queued.
#[derive(Default)]
struct Subscriber {
    tell: Option<OnEvent>,
    waiting: VecDeque<TerminalEvent>,
    /// Whether the listener ends.
    is_over: bool,
}

/// The requests to the runner, whichever screen is shown.
#[derive(Debug, Default)]
pub(super) struct RunnerRequests {
    suspend: AtomicBool,
    resumed: AtomicBool,
    redraw: AtomicBool,
    /// The signal that ends the program, or 0.
    signal: AtomicI32,
}

impl RunnerRequests {
    /// Returns whether the program is to be suspended.
    pub(super) fn take_suspend(&self) -> bool {
        self.suspend.swap(false, Ordering::SeqCst)
    }

    /// Returns whether the program was continued after it had been stopped.
    pub(super) fn take_resumed(&self) -> bool {
        self.resumed.swap(false, Ordering::SeqCst)
    }

    /// Returns whether everything is to be drawn again.
    pub(super) fn take_redraw(&self) -> bool {
        self.redraw.swap(false, Ordering::SeqCst)
    }

    /// Returns the number of the signal that asked the program to end.
    pub(super) fn signal(&self) -> Option<i32> {
        Some(self.signal.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
    }
}

/// Reads terminal events on a thread.
#[derive(Clone)]
pub(super) struct TerminalListener {
    subscriber: Arc<Mutex<Subscriber>>,
    requests: Arc<RunnerRequests>,
}

impl fmt::Debug for TerminalListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TerminalListener")
    }
}

/// The subscription of a screen; dropping it ends the subscription.
#[derive(Debug)]
pub(super) struct Subscription(TerminalListener);

impl Drop for Subscription {
    fn drop(&mut self) {
        self.0.subscriber().tell = None;
    }
}

impl TerminalListener {
    pub(super) fn start() -> Self {
        const POLL_INTERVAL: Duration = Duration::from_millis(100);
        let listener = TerminalListener { subscriber: Arc::default(), requests: Arc::default() };
        let thread = listener.clone();
        background(move || {
            while !thread.subscriber().is_over {
                match event::poll(POLL_INTERVAL) {
                    Ok(false) => continue,
                    Ok(true) => {}
                    Err(_) => return,
                }
                let Ok(reported) = event::read() else { return };
                match translate(reported) {
                    Some(TerminalEvent::Key(key)) => thread.key(key),
                    Some(event) => thread.deliver(event),
                    None => {}
                }
            }
        });
        listener
    }

    /// Subscribes a screen. It receives the size first, then the queued events.
    pub(super) fn subscribe(
        &self,
        size: Size,
        mut tell: impl FnMut(TerminalEvent) + Send + 'static,
    ) -> Subscription {
        let mut subscriber = self.subscriber();
        tell(TerminalEvent::Resize(size.width, size.height));
        subscriber.waiting.drain(..).for_each(&mut tell);
        subscriber.tell = Some(Box::new(tell));
        Subscription(self.clone())
    }

    /// Returns the requests to the runner.
    pub(super) fn requests(&self) -> Arc<RunnerRequests> {
        Arc::clone(&self.requests)
    }

    /// Handles a key. Two keys are the same on every screen: Ctrl+Z suspends, and Ctrl+L redraws in
    /// addition to its action.
    fn key(&self, key: Key) {
        let held = |letter| key == Key { ctrl: true, ..Key::plain(Code::Char(letter)) };
        if held('z') && can_suspend() {
            self.request(|requests| &requests.suspend);
            return;
        }
        if held('l') {
            self.requests.redraw.store(true, Ordering::SeqCst);
        }
        self.deliver(TerminalEvent::Key(key));
    }

    /// Makes a request and wakes the runner with an event that changes nothing.
    fn request(&self, which: impl FnOnce(&RunnerRequests) -> &AtomicBool) {
        which(&self.requests).store(true, Ordering::SeqCst);
        if let Ok((width, height)) = terminal::size() {
            self.deliver(TerminalEvent::Resize(width, height));
        }
    }

    fn deliver(&self, event: TerminalEvent) {
        let mut subscriber = self.subscriber();
        match &mut subscriber.tell {
            Some(tell) => tell(event),
            None => subscriber.waiting.push_back(event),
        }
    }

    fn subscriber(&self) -> MutexGuard<'_, Subscriber> {
        self.subscriber.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns whether a shell can continue the program after it was stopped. A session leader, such as
/// a program that a terminal was started with, has no such shell and would hang.
#[cfg(unix)]
fn can_suspend() -> bool {
    rustix::process::getsid(None).is_ok_and(|session| session != rustix::process::getpgrp())
}

#[cfg(not(unix))]
fn can_suspend() -> bool {
    false
}

fn translate(reported: event::Event) -> Option<TerminalEvent> {
    match reported {
        event::Event::Key(key) if key.kind != KeyEventKind::Release => {
            Key::of(key).map(TerminalEvent::Key)
        }
        event::Event::Paste(text) => Some(TerminalEvent::Paste(text)),
        event::Event::Resize(width, height) => Some(TerminalEvent::Resize(width, height)),
        event::Event::Mouse(mouse) => {
            let (x, y) = (mouse.column, mouse.row);
            Some(TerminalEvent::Mouse(match mouse.kind {
                MouseEventKind::Down(MouseButton::Left) => MouseEvent::Click(x, y),
                MouseEventKind::ScrollUp => MouseEvent::WheelUp(x, y),
                MouseEventKind::ScrollDown => MouseEvent::WheelDown(x, y),
                _ => return None,
            }))
        }
        _ => None,
    }
}

/// Restores the terminal on signals that would end or stop the program, until dropped.
#[derive(Debug)]
pub(super) struct SignalHandler {
    #[cfg(unix)]
    handle: signal_hook::iterator::Handle,
    listener: TerminalListener,
}

impl SignalHandler {
    #[cfg(unix)]
    pub(super) fn install(listener: &TerminalListener) -> io::Result<Self> {
        use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
        let all = [SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGTSTP, SIGCONT];
        let mut signals = signal_hook::iterator::Signals::new(all)?;
        let handle = signals.handle();
        let thread = listener.clone();
        background(move || {
            for signal in signals.forever() {
                match signal {
                    SIGTSTP if can_suspend() => thread.request(|requests| &requests.suspend),
                    SIGTSTP => {}
                    SIGCONT => thread.request(|requests| &requests.resumed),
                    // This signal is for a program that hangs, so no screen is asked.
                    SIGQUIT => {
                        terminal_guard::restore();
                        let _ = signal_hook::low_level::emulate_default_handler(SIGQUIT);
                    }
                    _ => {
                        thread.requests.signal.store(signal, Ordering::SeqCst);
                        thread.deliver(TerminalEvent::Stop);
                    }
                }
            }
        });
        Ok(SignalHandler { handle, listener: listener.clone() })
    }

    #[cfg(not(unix))]
    pub(super) fn install(listener: &TerminalListener) -> io::Result<Self> {
        let _ = terminal_guard::restore;
        Ok(SignalHandler { listener: listener.clone() })
    }
}

impl Drop for SignalHandler {
    fn drop(&mut self) {
        #[cfg(unix)]
        self.handle.close();
        self.listener.subscriber().is_over = true;
    }
}
