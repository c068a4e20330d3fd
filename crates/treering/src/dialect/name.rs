//! The registry of dialects. Lower layers may name a dialect, in errors and reports, without
//! knowing anything about it.

use std::fmt;
use std::str::FromStr;

/// Passes the registry to the macro `$then`: for each dialect its documentation, its variant, its name in
/// commands and reports, and its codec in a module of `dialect`. The order is the one that lists show.
macro_rules! registry {
    ($then:ident) => {
        $then! {
            "pi, versions 1 to 3. Version 3 is treering's own format." Pi "pi" pi::Pi;
            "The design with `uuid` and `parentUuid`, whose header is the root of the tree." Uuid "uuid" uuid::Uuid;
            "oh-my-pi." Omp "omp" omp::Omp;
            "Chimera." Chimera "chimera" chimera::Chimera;
            "Operator." Operator "operator" operator::Operator;
            "Tau, Operator's successor." Tau "tau" tau::Tau;
            "Claude Code." ClaudeCode "claude-code" claude::ClaudeCode;
            "Codex." Codex "codex" codex::Codex;
            "Qwen Code." Qwen "qwen" qwen::Qwen;
            "Gemini CLI." Gemini "gemini" gemini::Gemini;
            "GitHub Copilot CLI." Copilot "copilot" copilot::Copilot;
            "Goose." Goose "goose" goose::Goose;
            "OpenCode." OpenCode "opencode" opencode::OpenCode;
        }
    };
}

macro_rules! names {
    ($($text:literal $variant:ident $name:literal $module:ident::$codec:ident;)+) => {
        /// The format that an agent writes its sessions in.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Dialect {
            $(
                #[doc = $text]
                $variant,
            )+
        }

        impl Dialect {
            /// All dialects.
            pub const ALL: [Dialect; [$($name),+].len()] = [$(Dialect::$variant),+];

            /// The names of all dialects, in the same order.
            pub const NAMES: [&'static str; [$($name),+].len()] = [$($name),+];

            /// Returns the name of the dialect in commands and reports.
            ///
            /// ```
            /// assert_eq!(treering::Dialect::ClaudeCode.name(), "claude-code");
            /// assert_eq!("omp".parse(), Ok(treering::Dialect::Omp));
            /// ```
            pub fn name(self) -> &'static str {
                match self {
                    $(Dialect::$variant => $name,)+
                }
            }
        }
    };
}

registry!(names);

pub(super) use registry;

impl Default for Dialect {
    /// Returns treering's own format, the first of the registry.
    fn default() -> Self {
        let [own, ..] = Dialect::ALL;
        own
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The error for a name that is not the name of a dialect.
///
/// ```
/// use treering::Dialect;
/// assert_eq!("omp".parse(), Ok(Dialect::Omp));
/// assert!("nothing".parse::<Dialect>().unwrap_err().to_string().contains("nothing"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no dialect is named {0:?}; there are {names}", names = Dialect::NAMES.join(", "))]
pub struct UnknownDialect(String);

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(name: &str) -> std::result::Result<Self, UnknownDialect> {
        let known = Dialect::ALL.into_iter().find(|dialect| dialect.name() == name);
        known.ok_or_else(|| UnknownDialect(name.to_owned()))
    }
}
