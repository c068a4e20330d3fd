//! What the terminal and the system report, told to the screen that is shown.

use crate::keys::Key;
use crate::{Happening, Mouse};
use ratatui::crossterm::event::{self, KeyEventKind, MouseButton, MouseEventKind};
use ratatui::layout::Size;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

type Tell = Box<dyn FnMut(Happening) + Send>;

/// Who is told. What happens while nobody is, waits.
#[derive(Default)]
struct Audience {
    tell: Option<Tell>,
    waiting: VecDeque<Happening>,
    /// Nobody will be told any more.
    is_over: bool,
}

/// Hears what happens at the terminal, on a thread of its own.
#[derive(Clone)]
pub(super) struct Listener(Arc<Mutex<Audience>>);

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

/// Somebody is told as long as this is kept.
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
        let listener = Listener(Arc::default());
        let hears = listener.clone();
        std::thread::spawn(move || {
            while !hears.audience().is_over {
                match event::poll(PATIENCE) {
                    Ok(false) => continue,
                    Ok(true) => {}
                    Err(_) => return,
                }
                let Ok(reported) = event::read() else { return };
                if let Some(happening) = translate(reported) {
                    hears.hear(happening);
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

    fn hear(&self, happening: Happening) {
        let mut audience = self.audience();
        match &mut audience.tell {
            Some(tell) => tell(happening),
            None => audience.waiting.push_back(happening),
        }
    }

    fn audience(&self) -> MutexGuard<'_, Audience> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
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

/// Until dropped, signals that would end the program end the screen first.
#[derive(Debug)]
pub(super) struct Signals {
    #[cfg(unix)]
    handle: signal_hook::iterator::Handle,
    listener: Listener,
}

impl Signals {
    #[cfg(unix)]
    pub(super) fn heed(listener: &Listener) -> io::Result<Self> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        let mut signals = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM])?;
        let handle = signals.handle();
        let hears = listener.clone();
        std::thread::spawn(move || {
            for _ in signals.forever() {
                hears.hear(Happening::Stop);
            }
        });
        Ok(Signals { handle, listener: listener.clone() })
    }

    #[cfg(not(unix))]
    pub(super) fn heed(listener: &Listener) -> io::Result<Self> {
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
