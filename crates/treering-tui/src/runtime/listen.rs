//! Reports what happens at the terminal, and what the system asks for, to the screen that is shown.
//!
//! Suspending and redrawing are the same for all screens: they are requests to the desk, which
//! fulfills them between two frames.

use super::guard;
use crate::keys::{Code, Key};
use crate::{Happening, Mouse};
use ratatui::crossterm::event::{self, KeyEventKind, MouseButton, MouseEventKind};
use ratatui::crossterm::terminal;
use ratatui::layout::Size;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

type Tell = Box<dyn FnMut(Happening) + Send>;

/// The screen that is told. Events that arrive while there is none wait.
#[derive(Default)]
struct Audience {
    tell: Option<Tell>,
    waiting: VecDeque<Happening>,
    /// No screen will be told any more.
    is_over: bool,
}

/// What is asked of the desk, whichever screen is shown.
#[derive(Debug, Default)]
pub(super) struct Requests {
    suspend: AtomicBool,
    resumed: AtomicBool,
    redraw: AtomicBool,
    /// The signal that ends the program; 0 if there was none.
    signal: AtomicI32,
}

impl Requests {
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

/// Listens to the terminal on a thread of its own.
#[derive(Clone)]
pub(super) struct Listener {
    audience: Arc<Mutex<Audience>>,
    requests: Arc<Requests>,
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

/// A screen is told as long as this is kept.
#[derive(Debug)]
pub(super) struct Heard(Listener);

impl Drop for Heard {
    fn drop(&mut self) {
        self.0.audience().tell = None;
    }
}

impl Listener {
    pub(super) fn start() -> Self {
        const PATIENCE: Duration = Duration::from_millis(100);
        let listener = Listener { audience: Arc::default(), requests: Arc::default() };
        let hears = listener.clone();
        std::thread::spawn(move || {
            while !hears.audience().is_over {
                match event::poll(PATIENCE) {
                    Ok(false) => continue,
                    Ok(true) => {}
                    Err(_) => return,
                }
                let Ok(reported) = event::read() else { return };
                match translate(reported) {
                    Some(Happening::Key(key)) => hears.key(key),
                    Some(happening) => hears.hear(happening),
                    None => {}
                }
            }
        });
        listener
    }

    /// From now on this screen is told, first of all the size, then what has been waiting.
    pub(super) fn tell(
        &self,
        size: Size,
        mut tell: impl FnMut(Happening) + Send + 'static,
    ) -> Heard {
        let mut audience = self.audience();
        tell(Happening::Resize(size.width, size.height));
        audience.waiting.drain(..).for_each(&mut tell);
        audience.tell = Some(Box::new(tell));
        Heard(self.clone())
    }

    /// Returns what is asked of the desk.
    pub(super) fn requests(&self) -> Arc<Requests> {
        Arc::clone(&self.requests)
    }

    /// Takes a key. Two of them mean the same on every screen: Ctrl+Z suspends, and Ctrl+L redraws,
    /// whatever else the screen does with it.
    fn key(&self, key: Key) {
        let held = |letter| key == Key { ctrl: true, ..Key::plain(Code::Char(letter)) };
        if held('z') && can_suspend() {
            self.ask(|requests| &requests.suspend);
            return;
        }
        if held('l') {
            self.requests.redraw.store(true, Ordering::SeqCst);
        }
        self.hear(Happening::Key(key));
    }

    /// Makes a request and wakes the desk: a size that is told again changes nothing.
    fn ask(&self, which: impl FnOnce(&Requests) -> &AtomicBool) {
        which(&self.requests).store(true, Ordering::SeqCst);
        if let Ok((width, height)) = terminal::size() {
            self.hear(Happening::Resize(width, height));
        }
    }

    fn hear(&self, happening: Happening) {
        let mut audience = self.audience();
        match &mut audience.tell {
            Some(tell) => tell(happening),
            None => audience.waiting.push_back(happening),
        }
    }

    fn audience(&self) -> MutexGuard<'_, Audience> {
        self.audience.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns whether a shell can continue the program once it is stopped. A program that leads its
/// session, as one that a terminal was started with, has no such shell and would hang.
#[cfg(unix)]
fn can_suspend() -> bool {
    rustix::process::getsid(None).is_ok_and(|session| session != rustix::process::getpgrp())
}

#[cfg(not(unix))]
fn can_suspend() -> bool {
    false
}

fn translate(reported: event::Event) -> Option<Happening> {
    match reported {
        event::Event::Key(key) if key.kind != KeyEventKind::Release => {
            Key::of(key).map(Happening::Key)
        }
        event::Event::Paste(text) => Some(Happening::Paste(text)),
        event::Event::Resize(width, height) => Some(Happening::Resize(width, height)),
        event::Event::Mouse(mouse) => {
            let (x, y) = (mouse.column, mouse.row);
            Some(Happening::Mouse(match mouse.kind {
                MouseEventKind::Down(MouseButton::Left) => Mouse::Click(x, y),
                MouseEventKind::ScrollUp => Mouse::WheelUp(x, y),
                MouseEventKind::ScrollDown => Mouse::WheelDown(x, y),
                _ => return None,
            }))
        }
        _ => None,
    }
}

/// Until dropped, signals that would end or stop the program give the terminal back first.
#[derive(Debug)]
pub(super) struct Signals {
    #[cfg(unix)]
    handle: signal_hook::iterator::Handle,
    listener: Listener,
}

impl Signals {
    #[cfg(unix)]
    pub(super) fn heed(listener: &Listener) -> io::Result<Self> {
        use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
        let all = [SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGTSTP, SIGCONT];
        let mut signals = signal_hook::iterator::Signals::new(all)?;
        let handle = signals.handle();
        let hears = listener.clone();
        std::thread::spawn(move || {
            for signal in signals.forever() {
                match signal {
                    SIGTSTP if can_suspend() => hears.ask(|requests| &requests.suspend),
                    SIGTSTP => {}
                    SIGCONT => hears.ask(|requests| &requests.resumed),
                    // For a program that hangs: no screen is asked.
                    SIGQUIT => {
                        guard::restore();
                        let _ = signal_hook::low_level::emulate_default_handler(SIGQUIT);
                    }
                    _ => {
                        hears.requests.signal.store(signal, Ordering::SeqCst);
                        hears.hear(Happening::Stop);
                    }
                }
            }
        });
        Ok(Signals { handle, listener: listener.clone() })
    }

    #[cfg(not(unix))]
    pub(super) fn heed(listener: &Listener) -> io::Result<Self> {
        let _ = guard::restore;
        Ok(Signals { listener: listener.clone() })
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        #[cfg(unix)]
        self.handle.close();
        self.listener.audience().is_over = true;
    }
}
