//! A pager for output that is longer than the terminal.
//!
//! It is used only at a terminal. `TREERING_PAGER` names it, or the configuration, or `PAGER`;
//! otherwise it is `less`, which ends by itself if everything fits. An empty name, or `cat`, means
//! none. While the pager runs, it handles Ctrl-C.

use crate::config::Config;
use std::io::{self, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

const USUAL: &str = "less -FRX";

/// A running pager.
#[derive(Debug)]
pub(crate) struct Pager {
    child: Child,
    input: Option<ChildStdin>,
}

impl Pager {
    /// Starts the pager; `None` if there is none, or none is wanted.
    pub(crate) fn start() -> Option<Self> {
        let line = choose(|name| std::env::var(name).ok(), Config::current().ui.pager.as_deref());
        let mut words = line.split_whitespace();
        let program = words.next().filter(|_| line.trim() != "cat")?;
        let mut command = Command::new(program);
        // `less` shows UTF-8 only if the charset is set.
        command.args(words).stdin(Stdio::piped()).env("LESSCHARSET", "utf-8");
        // The defaults for `less`: colors, and no waiting if everything fits. The user's own
        // settings take precedence.
        if std::env::var_os("LESS").is_none() {
            command.env("LESS", "FRX");
        }
        let mut child = command.spawn().ok()?;
        leave_interrupts_alone();
        let input = child.stdin.take();
        Some(Pager { child, input })
    }

    /// Waits until the pager ends.
    pub(crate) fn close(&mut self) {
        drop(self.input.take());
        // The exit code of a pager does not matter for the command.
        let _ = self.child.wait();
    }
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.input {
            Some(input) => input.write(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.input.as_mut().map_or(Ok(()), Write::flush)
    }
}

fn choose(variable: impl Fn(&str) -> Option<String>, configured: Option<&str>) -> String {
    variable("TREERING_PAGER")
        .or_else(|| configured.map(str::to_owned))
        .or_else(|| variable("PAGER"))
        .unwrap_or_else(|| USUAL.to_owned())
}

/// Installs a handler for Ctrl-C, which the pager receives as well: if this program ended, the
/// pager would be left alone with the terminal.
fn leave_interrupts_alone() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    if let Ok(runtime) = runtime {
        runtime.block_on(async {
            tokio::select! {
                biased;
                _ = tokio::signal::ctrl_c() => {}
                () = std::future::ready(()) => {}
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_choice_counts() {
        let set = |variables: &'static [(&str, &str)]| {
            move |name: &str| {
                variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string())
            }
        };
        assert_eq!(choose(set(&[]), None), USUAL);
        assert_eq!(choose(set(&[("PAGER", "more")]), None), "more");
        assert_eq!(choose(set(&[("PAGER", "more")]), Some("most")), "most");
        let both = set(&[("PAGER", "more"), ("TREERING_PAGER", "")]);
        assert_eq!(choose(both, Some("most")), "");
    }
}
