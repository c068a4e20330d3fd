//! Acquires the terminal and restores it when the program ends or is suspended for any reason.

use ratatui::crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
    KeyboardEnhancementFlags, PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use ratatui::crossterm::terminal::{
    DisableLineWrap, EnableLineWrap, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute, queue};
use std::io::{self, Write, stdout};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the terminal is acquired.
static IS_ACTIVE: AtomicBool = AtomicBool::new(false);

/// Restores the terminal when dropped. A panic restores it before the panic is reported.
#[derive(Debug)]
pub struct TerminalGuard(());

impl TerminalGuard {
    /// Acquires the terminal: raw mode, alternate screen, mouse and paste events.
    pub fn enter() -> io::Result<Self> {
        restore_on_panic();
        // From here on, dropping the guard restores the terminal.
        let guard = TerminalGuard(());
        take()?;
        Ok(guard)
    }

    /// Restores the terminal, calls `meanwhile`, and acquires the terminal again.
    pub(super) fn release_while(&self, meanwhile: impl FnOnce()) -> io::Result<()> {
        restore();
        meanwhile();
        take()
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        restore();
    }
}

fn take() -> io::Result<()> {
    IS_ACTIVE.store(true, Ordering::SeqCst);
    enable_raw_mode()?;
    // Terminals without this protocol ignore the request.
    let keys = KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES;
    execute!(
        stdout(),
        EnterAlternateScreen,
        // A character that is wider on the terminal than expected must not wrap the line.
        DisableLineWrap,
        EnableMouseCapture,
        EnableBracketedPaste,
        PushKeyboardEnhancementFlags(keys),
        cursor::Hide
    )
}

/// Restores the terminal, once. A failure is ignored, because it cannot be reported.
pub(super) fn restore() {
    if !IS_ACTIVE.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut bytes = Vec::new();
    let _ = queue!(
        bytes,
        PopKeyboardEnhancementFlags,
        DisableBracketedPaste,
        DisableMouseCapture,
        EnableLineWrap,
        LeaveAlternateScreen,
        cursor::Show
    );
    let _ = write(&bytes);
    let _ = disable_raw_mode();
}

/// Writes to the terminal without the lock of the standard output. Another thread may hold the
/// lock, and a signal handler or a panic must not wait for it.
#[cfg(unix)]
fn write(bytes: &[u8]) -> io::Result<()> {
    use std::os::fd::AsFd;
    let terminal = stdout().as_fd().try_clone_to_owned()?;
    std::fs::File::from(terminal).write_all(bytes)
}

#[cfg(not(unix))]
fn write(bytes: &[u8]) -> io::Result<()> {
    stdout().write_all(bytes)?;
    stdout().flush()
}

fn restore_on_panic() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            report(panic);
        }));
    });
}
