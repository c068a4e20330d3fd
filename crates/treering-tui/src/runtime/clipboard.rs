//! Copies text to the clipboard.
//!
//! A clipboard program of the desktop, or tmux, is used if there is one. Otherwise, also over a
//! remote connection, the terminal is asked to copy (OSC 52). It does not answer, and some
//! terminals ignore the request, so the notice says which way was used.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt;
use std::io::{self, Write, stdout};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The approximate maximum size of a request that terminals accept, in bytes of text.
const MAX_REQUEST: usize = 74_994;
/// The time limit of a clipboard program.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The way a text was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopyMethod {
    /// The program took the text and succeeded.
    With(&'static str),
    /// tmux has the text, and may have passed it to its terminal.
    Tmux,
    /// The terminal was asked; the result is unknown.
    Terminal,
}

impl fmt::Display for CopyMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CopyMethod::With(program) => write!(f, "copied with {program}"),
            CopyMethod::Tmux => f.write_str("copied to tmux's paste buffer"),
            CopyMethod::Terminal => f.write_str("asked the terminal to copy (some ignore this)"),
        }
    }
}

/// A program that copies its standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ClipboardProgram {
    name: &'static str,
    arguments: &'static [&'static str],
    copied: CopyMethod,
}

const fn program(name: &'static str, arguments: &'static [&'static str]) -> ClipboardProgram {
    ClipboardProgram { name, arguments, copied: CopyMethod::With(name) }
}

/// Returns the programs that suit the environment, the best first. `has` returns whether a variable
/// is set.
fn programs(has: impl Fn(&str) -> bool) -> Vec<ClipboardProgram> {
    let mut programs = Vec::new();
    if cfg!(target_os = "macos") && !has("SSH_CONNECTION") {
        programs.push(program("pbcopy", &[]));
    }
    if has("WAYLAND_DISPLAY") {
        programs.push(program("wl-copy", &[]));
    }
    if has("DISPLAY") {
        programs.push(program("xclip", &["-selection", "clipboard"]));
        programs.push(program("xsel", &["--clipboard", "--input"]));
    }
    if has("WSL_DISTRO_NAME") || cfg!(windows) {
        programs.push(program("clip.exe", &[]));
    }
    if has("TMUX") {
        let arguments = &["load-buffer", "-w", "-"];
        programs.push(ClipboardProgram { copied: CopyMethod::Tmux, ..program("tmux", arguments) });
    }
    programs
}

/// Copies a text.
///
/// Only the thread that draws may call it, between two frames, because a request to the terminal
/// must not be in the middle of a frame.
///
/// # Errors
///
/// Fails if the text is too long for a request to the terminal; nothing was copied then.
pub(crate) fn copy(text: &str) -> io::Result<CopyMethod> {
    let has = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if let Some(program) = programs(has).into_iter().find(|program| run(program, text).is_ok()) {
        return Ok(program.copied);
    }
    if text.len() > MAX_REQUEST {
        return Err(io::Error::other(format!(
            "not copied: {} bytes are too many for a terminal; install a clipboard program \
             (wl-copy, xclip or xsel)",
            text.len()
        )));
    }
    let mut out = stdout().lock();
    out.write_all(request(text.as_bytes()).as_bytes())?;
    out.flush()?;
    Ok(CopyMethod::Terminal)
}

/// Passes a text to a program, and waits until the program has read it.
fn run(program: &ClipboardProgram, text: &str) -> io::Result<()> {
    let mut child = Command::new(program.name)
        .args(program.arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let text = text.to_owned();
    // A thread writes, so that a program that does not read cannot block the screen.
    let writer = child
        .stdin
        .take()
        .map(|mut stdin| std::thread::spawn(move || stdin.write_all(text.as_bytes())));
    let began = Instant::now();
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if began.elapsed() < TIMEOUT => std::thread::sleep(Duration::from_millis(5)),
            None => {
                child.kill()?;
                break child.wait()?;
            }
        }
    };
    let written = writer.is_none_or(|writer| matches!(writer.join(), Ok(Ok(()))));
    match status.success() && written {
        true => Ok(()),
        false => Err(io::Error::other(format!("{} failed: {status}", program.name))),
    }
}

fn request(bytes: &[u8]) -> String {
    format!("\x1b]52;c;{}\x07", STANDARD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_holds_no_control_characters_of_the_text() {
        assert_eq!(request(b"\x07\x1b\\"), "\x1b]52;c;Bxtc\x07");
    }

    #[cfg(all(unix, not(target_os = "macos")))]
    #[test]
    fn the_environment_says_which_program_copies() {
        let names = |set: &[&str]| {
            let programs = programs(|name| set.contains(&name));
            programs.iter().map(|program| program.name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(&[]), "");
        assert_eq!(names(&["TMUX"]), "tmux");
        assert_eq!(names(&["DISPLAY", "TMUX"]), "xclip xsel tmux");
        assert_eq!(names(&["WAYLAND_DISPLAY", "DISPLAY"]), "wl-copy xclip xsel");
        assert_eq!(names(&["WSL_DISTRO_NAME"]), "clip.exe");
    }

    #[cfg(unix)]
    #[test]
    fn a_program_has_copied_if_it_reads_everything_and_succeeds() {
        let long = "x".repeat(1 << 20);
        let shell = |script: &'static [&'static str]| program("sh", script);
        assert!(run(&shell(&["-c", "test $(wc -c) = 1048576"]), &long).is_ok());
        assert!(run(&shell(&["-c", "cat >/dev/null; exit 1"]), &long).is_err());
        // The program succeeded without reading.
        assert!(run(&shell(&["-c", "exit 0"]), &long).is_err());
        assert!(run(&program("/no/such/program", &[]), "x").is_err());
    }
}
