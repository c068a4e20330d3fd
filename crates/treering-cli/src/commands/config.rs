//! `treering config`

use crate::config::{self, Config, DEFAULTS};
use crate::error::Failure;
use crate::interface::check_keys;
use crate::output::{self, Output, json_string, json_strings};
use crate::text::{safe_line, safe_path};
use std::io::{self, Write};
use std::path::Path;
use treering::internal::fs::NewFile;

/// Show the configuration, or create a configuration file
///
/// `treering help config` lists the settings.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// `path`: print the path of the file; `show`: print the settings in effect; `init`: create a file
    /// with the defaults and comments
    #[arg(value_enum, default_value_t = Action::Show)]
    action: Action,
    /// One JSON object: path, exists, ui, places
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Action {
    Path,
    Show,
    Init,
}

pub(crate) fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    let path = config::file().ok_or_else(|| {
        Failure::with_hint("cannot find the home directory", "name a file with TREERING_CONFIG")
    })?;
    if args.json && args.action != Action::Show {
        return Err(Failure::Usage {
            what: "--json is for `treering config show`".to_owned(),
            hint: "leave it out: the other actions print only a path".to_owned(),
        });
    }
    match args.action {
        Action::Path => writeln!(out, "{}", safe_path(&path))?,
        Action::Init => init(&path, out)?,
        Action::Show => show(&path, args.json, out)?,
    }
    Ok(())
}

fn show(path: &Path, json: bool, out: &mut Output) -> Result<(), Failure> {
    let config = Config::load()?;
    check_keys(&config.keys)?;
    let exists = path.exists();
    if json {
        return write_json(path, exists, &config, out);
    }
    for line in config.describe() {
        writeln!(out, "{}", safe_line(&line))?;
    }
    out.finish()?;
    let path = safe_path(path);
    match exists {
        true => output::write_notice("note", &format!("from {path}; the rest are defaults")),
        false => {
            output::write_notice("note", &format!("there is no {path}: these are the defaults"));
            output::write_notice("hint", "`treering config init` creates it");
        }
    }
    Ok(())
}

fn write_json(path: &Path, exists: bool, config: &Config, out: &mut Output) -> Result<(), Failure> {
    out.write_all(b"{\"path\":")?;
    out.json_path(path)?;
    write!(out, ",\"exists\":{exists},\"ui\":{{\"color\":")?;
    json_string(out, config.ui.color.name())?;
    out.write_all(b",\"time\":")?;
    json_string(out, config.ui.time.name())?;
    out.write_all(b",\"pager\":")?;
    output::json_string_or_null(out, config.ui.pager.as_deref())?;
    let places = &config.places;
    for (key, dirs) in [("},\"places\":{\"only\":", &places.only), (",\"also\":", &places.also)] {
        out.write_all(key.as_bytes())?;
        json_strings(out, dirs.iter().map(|dir| dir.to_string_lossy()))?;
    }
    writeln!(out, "}}}}")?;
    Ok(())
}

/// Creates the file so that other users cannot read it, because it may contain a key.
fn init(path: &Path, out: &mut Output) -> Result<(), Failure> {
    let made = NewFile::beside(path).and_then(|mut new| {
        new.write_all(DEFAULTS.as_bytes())?;
        new.publish()
    });
    match made {
        Ok(_) => {
            writeln!(out, "{}", safe_path(path))?;
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let what = format!("{} already exists", path.display());
            Err(Failure::with_hint(what, "it was not changed; edit it"))
        }
        Err(error) => Err(Failure::io("create", path, &error)),
    }
}
