//! `--redact` and the related options of several commands, and the report about it.

use crate::error::Failure;
use crate::output;
use crate::text::count;
use treering_redact::{Options, Redactor, Report};

/// Options of commands that write a session elsewhere.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Redaction")]
pub(crate) struct Redaction {
    /// Replace keys, tokens and passwords with [REDACTED:kind:number]
    #[arg(long)]
    redact: bool,
    /// Also replace e-mail addresses (implies --redact)
    #[arg(long)]
    redact_emails: bool,
    /// Also replace user names in paths of home directories (implies --redact)
    #[arg(long)]
    redact_home: bool,
    /// Also replace matches of this regular expression (or of its first group); may be repeated (implies
    /// --redact)
    #[arg(long, value_name = "NAME=REGEX")]
    redact_pattern: Vec<String>,
}

impl Redaction {
    /// Returns the redactor, if redaction was requested.
    pub(crate) fn redactor(&self) -> Result<Option<Redactor>, Failure> {
        let is_wanted = self.redact
            || self.redact_emails
            || self.redact_home
            || !self.redact_pattern.is_empty();
        let redactor = || redactor(self.redact_emails, self.redact_home, &self.redact_pattern);
        is_wanted.then(redactor).transpose()
    }
}

pub(crate) fn redactor(emails: bool, home: bool, patterns: &[String]) -> Result<Redactor, Failure> {
    let hint = "a pattern is NAME=REGEX, such as ticket=TICKET-[0-9]+";
    let usage = |what: String| Failure::Usage { what, hint: hint.to_owned() };
    let named = |pattern: &String| match pattern.split_once('=') {
        Some((name, "")) => Err(usage(format!("the pattern {name:?} has no expression"))),
        Some((name, regex)) => Ok((name.to_owned(), regex.to_owned())),
        None => Err(usage(format!("the pattern {pattern:?} has no name"))),
    };
    let mut options = Options::new().emails(emails).home(home);
    options.patterns = patterns.iter().map(named).collect::<Result<_, Failure>>()?;
    Redactor::new(&options).map_err(|error| usage(error.to_string()))
}

/// Reports the replacements on stderr, in one line.
pub(crate) fn report_replacements(report: &Report) {
    let sums = report.sums();
    let kinds: Vec<String> =
        sums.iter().map(|sum| format!("{} {}", sum.occurrences, sum.kind)).collect();
    let what = match kinds.is_empty() {
        true => "nothing was found".to_owned(),
        false => kinds.join(", "),
    };
    let void = match report.signatures {
        0 => String::new(),
        number => format!("; {}", void(number)),
    };
    output::write_notice("redacted", &format!("{what}{void}"));
}

/// Describes the signatures that were removed.
pub(crate) fn void(signatures: usize) -> String {
    let signatures = count(signatures, "signature", "signatures");
    format!("{signatures} emptied: what they signed has changed")
}
