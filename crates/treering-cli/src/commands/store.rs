//! `treering store`

use crate::error::Failure;
use crate::output::{Output, Style, json_string};
use crate::stores;
use crate::text::{pad, safe_line};
use std::io::Write;
use treering_postgres::{Level, PostgresStore};

/// Set up a database as a store, or check it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Create the tables in a database, or upgrade them to the version of this release
    #[command(visible_alias = "migrate")]
    Init {
        /// The database: postgres://USER@HOST/DATABASE
        url: String,
    },
    /// Check the schema, the roles and the settings of a database
    Check {
        /// The database: postgres://USER@HOST/DATABASE
        url: String,
        /// One JSON object per line: level, name, detail
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    match &args.action {
        Action::Init { url } => {
            let options = stores::postgres_options();
            let done = PostgresStore::init(stores::database_url(url)?, &options)?;
            match done.before == done.after {
                true => writeln!(out, "the schema has version {}; nothing to do", done.after)?,
                false => writeln!(out, "schema version {} → {}", done.before, done.after)?,
            }
            Ok(())
        }
        Action::Check { url, json } => {
            let options = stores::postgres_options();
            let store = PostgresStore::connect(stores::database_url(url)?, &options)?;
            let checks = store.check()?;
            let widest = checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
            for check in &checks {
                let (word, style) = match check.level {
                    Level::Good => ("good", Style::Dim),
                    Level::Warning => ("warning", Style::Label),
                    Level::Failure => ("failure", Style::Bad),
                };
                if *json {
                    write!(out, "{{\"level\":\"{word}\",\"name\":")?;
                    json_string(out, check.name)?;
                    out.write_all(b",\"detail\":")?;
                    json_string(out, &check.detail)?;
                    out.write_all(b"}\n")?;
                } else {
                    let level = out.paint(style, &pad(word, 7));
                    let name = pad(check.name, widest);
                    writeln!(out, "{level}  {name}  {}", safe_line(&check.detail))?;
                }
            }
            match checks.iter().any(|check| check.level == Level::Failure) {
                true => Err(Failure::Reported),
                false => Ok(()),
            }
        }
    }
}
