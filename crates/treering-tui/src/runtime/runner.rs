//! Owns the terminal and runs one screen at a time.
//!
//! A key that is pressed between two screens is delivered to the second. The terminal is restored
//! when the runner is dropped, and while the program is suspended.

use super::frame_writer::{CursorBackend, FrameWriter};
use super::terminal_guard::TerminalGuard;
use super::terminal_listener::{SignalHandler, TerminalListener};
use crate::draw::{DrawContext, LineCursor};
use crate::theme::{Theme, Tone};
use crate::{Screen, TerminalEvent};
use ratatui::layout::{Position, Rect};
use ratatui::{Frame, Terminal};
use std::io::{self, Write, stdout};
use std::sync::mpsc::{Receiver, Sender, channel};
use treering_display::text::safe_line;

/// Carries out the effects of a screen. Long work runs on other threads and reports to the screen
/// by events.
pub trait EffectHandler<S: Screen> {
    /// The outcome of a screen.
    type Outcome;

    /// Prepares a screen for drawing, for example by reading the entries that are visible.
    fn prepare(&mut self, screen: S) -> S {
        screen
    }

    /// Carries out an effect. Returns the outcome if the screen is left.
    fn perform(&mut self, effect: S::Effect, screen: &S) -> Option<Self::Outcome>;
}

/// The channel of a screen's events.
#[derive(Debug)]
pub struct EventChannel<E> {
    /// Sends events to the screen.
    pub events: Sender<E>,
    inbox: Receiver<E>,
}

impl<E> Default for EventChannel<E> {
    fn default() -> Self {
        let (events, inbox) = channel();
        EventChannel { events, inbox }
    }
}

/// A terminal that is in use.
#[derive(Debug)]
pub struct Runner {
    terminal: Terminal<CursorBackend>,
    writer: FrameWriter,
    listener: TerminalListener,
    _signals: SignalHandler,
    /// Declared last, so that the terminal is restored after everything else was dropped.
    guard: TerminalGuard,
}

/// The largest number of events per frame, so that many events cannot delay drawing.
const BURST: usize = 64;

impl Runner {
    /// Acquires the terminal.
    pub fn open() -> io::Result<Self> {
        let guard = TerminalGuard::enter()?;
        let listener = TerminalListener::start();
        let signals = SignalHandler::install(&listener)?;
        let terminal = Terminal::new(CursorBackend::default())?;
        let writer = FrameWriter::default();
        Ok(Runner { terminal, writer, listener, _signals: signals, guard })
    }

    /// Returns the number of the signal that asked the program to end.
    pub fn signal(&self) -> Option<i32> {
        self.listener.requests().signal()
    }

    /// Shows one line of text until the next screen is drawn.
    pub fn show_message(&mut self, text: &str) -> io::Result<()> {
        let text = safe_line(text);
        self.write_frame(|frame| {
            let area = frame.area();
            DrawContext::draw(frame, Theme::Plain, |draw| {
                draw.put(&mut LineCursor::new(area, area.y).marking_cuts(), Tone::Plain, &text);
            });
        })
    }

    /// Shows a screen until its handler returns an outcome.
    pub fn run<S: Screen, O: EffectHandler<S>>(
        &mut self,
        mut screen: S,
        handler: &mut O,
        channel: &EventChannel<S::Event>,
    ) -> io::Result<O::Outcome> {
        let size = self.terminal.size()?;
        let events = channel.events.clone();
        let _subscription = self.listener.subscribe(size, move |terminal_event| {
            // A failure means that the screen was left.
            let _ = events.send(terminal_event.into());
        });
        // The buffers of the earlier screen are dropped, and everything is drawn again.
        self.terminal.resize(Rect::from((Position::ORIGIN, size)))?;
        self.writer.forget();
        // The size is the first event.
        while let Ok(event) = channel.inbox.recv() {
            for event in std::iter::once(event).chain(channel.inbox.try_iter().take(BURST)) {
                let effects;
                (screen, effects) = screen.update(event);
                for effect in effects {
                    if let Some(outcome) = handler.perform(effect, &screen) {
                        return Ok(outcome);
                    }
                }
            }
            if self.handle_requests()? {
                let size = self.terminal.size()?;
                // The event is sent, not applied, so that its effects are carried out like all
                // others.
                let _ = channel.events.send(TerminalEvent::Resize(size.width, size.height).into());
            }
            screen = handler.prepare(screen);
            self.write_frame(|frame| screen.draw(frame))?;
        }
        Err(io::Error::other("the event channel closed"))
    }

    /// Handles requests to suspend, resume or redraw. Returns whether the program was suspended, in
    /// which case the size may have changed.
    fn handle_requests(&mut self) -> io::Result<bool> {
        let requests = self.listener.requests();
        let (suspend, resumed) = (requests.take_suspend(), requests.take_resumed());
        let was_away = suspend || resumed;
        if was_away {
            self.guard.release_while(if suspend { stop as fn() } else { || {} })?;
            // The signal that resumed the program made the same request.
            requests.take_resumed();
        }
        if was_away || requests.take_redraw() {
            self.writer.forget();
        }
        Ok(was_away)
    }

    fn write_frame(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        let buffer = self.terminal.draw(draw)?.buffer.clone();
        let mut out = Vec::new();
        self.writer.write_frame(&buffer, self.terminal.backend().cursor(), &mut out)?;
        let mut terminal = stdout().lock();
        terminal.write_all(&out)?;
        terminal.flush()
    }
}

/// Stops this process and its process group, until the shell resumes them.
#[cfg(unix)]
fn stop() {
    use rustix::process::{Signal, kill_current_process_group};
    // Without permission to stop, the program continues.
    let _ = kill_current_process_group(Signal::STOP);
}

#[cfg(not(unix))]
fn stop() {}
