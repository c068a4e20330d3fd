//! The names of the dialects. Lower layers may name a dialect, in errors and reports, without knowing
//! anything about it.

use std::fmt;
use std::str::FromStr;

/// The format that an agent writes its sessions in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum Dialect {
    /// pi, versions 1 to 3. Version 3 is treering's own format.
    #[default]
    Pi,
    /// The design with `uuid` and `parentUuid`, whose header is the root of the tree.
    Uuid,
    /// oh-my-pi.
    Omp,
    /// Chimera.
    Chimera,
    /// Operator.
    Operator,
    /// Tau, Operator's successor.
    Tau,
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Dialect; 8] = [
        Dialect::Pi,
        Dialect::Uuid,
        Dialect::Omp,
        Dialect::Chimera,
        Dialect::Operator,
        Dialect::Tau,
        Dialect::ClaudeCode,
        Dialect::Codex,
    ];

    /// Returns its name in commands and reports.
    ///
    /// ```
    /// assert_eq!(treering::Dialect::ClaudeCode.name(), "claude-code");
    /// assert_eq!("omp".parse(), Ok(treering::Dialect::Omp));
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Pi => "pi",
            Dialect::Uuid => "uuid",
            Dialect::Omp => "omp",
            Dialect::Chimera => "chimera",
            Dialect::Operator => "operator",
            Dialect::Tau => "tau",
            Dialect::ClaudeCode => "claude-code",
            Dialect::Codex => "codex",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no dialect's.
///
/// ```
/// use treering::Dialect;
/// assert_eq!("omp".parse(), Ok(Dialect::Omp));
/// assert!("nothing".parse::<Dialect>().unwrap_err().to_string().contains("nothing"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no dialect is called {0:?}; there are pi, uuid, omp, chimera, operator, tau, claude-code, codex"
)]
pub struct UnknownDialect(String);

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(name: &str) -> std::result::Result<Self, UnknownDialect> {
        let known = Dialect::ALL.into_iter().find(|dialect| dialect.name() == name);
        known.ok_or_else(|| UnknownDialect(name.to_owned()))
    }
}
