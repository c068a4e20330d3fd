//! The terminal, borrowed: whoever leaves, and however, it is given back as it was.

use ratatui::crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
    KeyboardEnhancementFlags, PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute};
use std::io::{self, stdout};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the terminal is ours at the moment.
static BORROWED: AtomicBool = AtomicBool::new(false);

/// Gives the terminal back when dropped; a panic gives it back before it is reported.
#[derive(Debug)]
pub struct Guard(());

impl Guard {
    /// Takes the terminal: raw, on the other screen, with mouse and paste reported.
    pub fn enter() -> io::Result<Self> {
        restore_on_panic();
        // From here on dropping the guard undoes whatever has been done.
        BORROWED.store(true, Ordering::SeqCst);
        let guard = Guard(());
        enable_raw_mode()?;
        // Terminals that cannot tell more keys apart do not answer to this, and need not.
        let keys = KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES;
        execute!(
            stdout(),
            EnterAlternateScreen,
            EnableMouseCapture,
            EnableBracketedPaste,
            PushKeyboardEnhancementFlags(keys),
            cursor::Hide
        )?;
        Ok(guard)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back, once. There is nobody left to tell about a failure.
fn restore() {
    if !BORROWED.swap(false, Ordering::SeqCst) {
        return;
    }
    let _ = execute!(
        stdout(),
        PopKeyboardEnhancementFlags,
        DisableBracketedPaste,
        DisableMouseCapture,
        LeaveAlternateScreen,
        cursor::Show
    );
    let _ = disable_raw_mode();
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
