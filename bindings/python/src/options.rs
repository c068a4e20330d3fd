//! Arguments of calls as options of the library.

use crate::entry::Entry;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::path::PathBuf;
use std::time::Duration;
use treering::fork::ForkOptions;
use treering::session::{Creation, Durability, NewSession, Part};
use treering::{CreateOptions, OpenOptions, Position, SessionId};
use treering_bindings::{Failure, dialect};

/// A position as Python gives it: an entry, an entry's id, or a member of `treering.Position`.
pub(crate) struct At(pub(crate) Position);

impl<'a, 'py> FromPyObject<'a, 'py> for At {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(id) = value.cast::<PyString>() {
            return Ok(At(Position::Entry(id.to_cow()?.as_ref().into())));
        }
        if let Ok(entry) = value.cast::<Entry>() {
            return Ok(At(Position::Entry(entry.get().id().into())));
        }
        let name = value.getattr("value").ok().and_then(|name| name.extract::<String>().ok());
        match name.as_deref() {
            Some("start") => Ok(At(Position::Start)),
            Some("leaf") => Ok(At(Position::Leaf)),
            _ => Err(PyTypeError::new_err(format!(
                "a position is an entry, an entry's id, Position.LEAF or Position.START, not {}",
                value.get_type().name()?
            ))),
        }
    }
}

fn durability(value: Option<Bound<'_, PyAny>>) -> PyResult<Result<Durability, Failure>> {
    let Some(value) = value else { return Ok(Ok(Durability::None)) };
    if let Ok(seconds) = value.extract::<f64>() {
        let delay = Duration::try_from_secs_f64(seconds);
        let message = "the delay of batched durability is a number of seconds that is not negative";
        return Ok(delay
            .map(Durability::Batched)
            .map_err(|_| Failure::invalid("invalid_option", message)));
    }
    let name: String = value.extract()?;
    Ok(match name.as_str() {
        "none" => Ok(Durability::None),
        "batched" => Ok(Durability::BATCHED),
        "each" => Ok(Durability::Each),
        _ => Err(Failure::invalid(
            "invalid_option",
            format!(
                "there is no durability {name:?}: use \"none\", \"batched\", \"each\" or seconds"
            ),
        )),
    })
}

fn creation(name: Option<&str>) -> Result<Creation, Failure> {
    match name {
        None | Some("first_message") => Ok(Creation::FirstMessage),
        Some("first_assistant_message") => Ok(Creation::FirstAssistantMessage),
        Some("at_once") => Ok(Creation::AtOnce),
        Some(name) => {
            let known = "\"first_message\", \"first_assistant_message\" or \"at_once\"";
            let message = format!("there is no creation {name:?}: use {known}");
            Err(Failure::invalid("invalid_option", message))
        }
    }
}

/// The options of new sessions.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Create<'py> {
    id: Option<String>,
    dialect: Option<String>,
    parent_session: Option<PathBuf>,
    system_prompt: Option<String>,
    headerless: bool,
    creation: Option<String>,
    durability: Option<Bound<'py, PyAny>>,
}

impl Create<'_> {
    pub(crate) fn options(self) -> PyResult<Result<CreateOptions, Failure>> {
        let durability = durability(self.durability)?;
        let session = || {
            let mut new = NewSession::new();
            if let Some(id) = &self.id {
                new = new.id(SessionId::new(id)?);
            }
            if let Some(name) = &self.dialect {
                new = new.dialect(dialect(name)?);
            }
            if let Some(parent) = &self.parent_session {
                new = new.parent_session(parent);
            }
            if let Some(prompt) = &self.system_prompt {
                new = new.system_prompt(prompt);
            }
            if self.headerless {
                new = new.without_header();
            }
            let creation = creation(self.creation.as_deref())?;
            Ok(CreateOptions::new().session(new).creation(creation).durability(durability?))
        };
        Ok(session())
    }
}

/// The options of opening.
pub(crate) fn open(value: Option<Bound<'_, PyAny>>) -> PyResult<Result<OpenOptions, Failure>> {
    Ok(durability(value)?.map(|durability| OpenOptions::new().durability(durability)))
}

/// The options of forks.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Fork<'py> {
    id: Option<String>,
    dialect: Option<String>,
    directory: Option<PathBuf>,
    root: Option<PathBuf>,
    cwd: Option<PathBuf>,
    creation: Option<String>,
    durability: Option<Bound<'py, PyAny>>,
}

impl Fork<'_> {
    pub(crate) fn options(self) -> PyResult<Result<ForkOptions, Failure>> {
        let durability = durability(self.durability)?;
        let fork = || {
            let mut options = ForkOptions::new()
                .durability(durability?)
                .creation(creation(self.creation.as_deref())?);
            if let Some(id) = &self.id {
                options = options.id(SessionId::new(id)?);
            }
            if let Some(name) = &self.dialect {
                options = options.dialect(dialect(name)?);
            }
            if let Some(directory) = &self.directory {
                options = options.dir(directory);
            }
            if let Some(root) = &self.root {
                options = options.root(root);
            }
            if let Some(cwd) = &self.cwd {
                options = options.cwd(cwd);
            }
            Ok(options)
        };
        Ok(fork())
    }
}

/// The part of a session that is exported: the branch to an entry, the entries below one, or all.
pub(crate) fn part(branch: Option<At>, subtree: Option<String>) -> Part {
    match (branch, subtree) {
        (Some(At(position)), _) => Part::Branch(position),
        (None, Some(entry)) => Part::Subtree(entry.into()),
        (None, None) => Part::All,
    }
}
