//! Borrows the terminal and gives it back as it was, however the program is left or suspended.

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

/// Whether the terminal is ours at the moment.
static IS_ACTIVE: AtomicBool = AtomicBool::new(false);

/// Gives the terminal back when dropped; a panic gives it back before it is reported.
#[derive(Debug)]
pub struct TerminalGuard(());

impl TerminalGuard {
    /// Takes the terminal: raw, on the other screen, with mouse and paste reported.
    pub fn enter() -> io::Result<Self> {
        restore_on_panic();
        // From here on dropping the guard undoes whatever has been done.
        let guard = TerminalGuard(());
        take()?;
        Ok(guard)
    }

    /// Gives the terminal back, calls `meanwhile`, and takes the terminal again.
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
    // Terminals that cannot tell more keys apart do not answer to this, and need not.
    let keys = KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES;
    execute!(
        stdout(),
        EnterAlternateScreen,
        // A character that the terminal takes to be wider than we do must not push a line down.
        DisableLineWrap,
        EnableMouseCapture,
        EnableBracketedPaste,
        PushKeyboardEnhancementFlags(keys),
        cursor::Hide
    )
}

/// Gives the terminal back, once. A failure is ignored: there is no way left to report it.
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

/// Writes to the terminal without the lock of the standard output. Another thread may hold the lock
/// for good, and a signal or a panic on this one must not wait for it.
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
