//! The arguments of an operation.

use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use treering::session::{Creation, Durability};
use treering::{Dialect, Position, Session};
use treering_bindings::Failure;

/// The arguments of a call.
pub(crate) struct Args {
    values: Value,
    /// Entries and records, each as its own JSON, whose bytes must not change.
    pub(crate) data: Vec<String>,
    /// A second session, for operations between two.
    pub(crate) other: Option<Arc<Session>>,
    /// Set when the caller no longer waits.
    pub(crate) is_cancelled: Arc<AtomicBool>,
}

impl Args {
    /// Reads the arguments of a call.
    pub(crate) fn new(
        json: &str,
        data: Vec<String>,
        other: Option<Arc<Session>>,
    ) -> Result<Self, Failure> {
        let values = if json.is_empty() {
            Value::Null
        } else {
            serde_json::from_str(json)
                .map_err(|error| Failure::invalid("invalid_argument", error.to_string()))?
        };
        Ok(Args { values, data, other, is_cancelled: Arc::default() })
    }

    /// Returns the value of an argument; `None` if it is absent or null.
    pub(crate) fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name).filter(|value| !value.is_null())
    }

    /// Returns a text.
    pub(crate) fn text(&self, name: &str) -> Result<Option<&str>, Failure> {
        self.value(name)
            .map(|value| value.as_str().ok_or_else(|| wrong(name, "a string")))
            .transpose()
    }

    /// Returns a text that must be there.
    pub(crate) fn needs_text(&self, name: &str) -> Result<&str, Failure> {
        self.text(name)?.ok_or_else(|| wrong(name, "a string"))
    }

    /// Returns a path that must be there.
    pub(crate) fn needs_path(&self, name: &str) -> Result<PathBuf, Failure> {
        self.needs_text(name).map(PathBuf::from)
    }

    /// Returns a whole number that is not negative.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, Failure> {
        let number = |value: &Value| value.as_u64().or_else(|| value.as_f64().and_then(whole));
        self.value(name)
            .map(|value| {
                number(value).ok_or_else(|| wrong(name, "a whole number that is not negative"))
            })
            .transpose()
    }

    /// Returns a time in milliseconds.
    pub(crate) fn millis(&self, name: &str) -> Result<Option<i64>, Failure> {
        self.value(name)
            .map(|value| value.as_i64().ok_or_else(|| wrong(name, "a time in milliseconds")))
            .transpose()
    }

    /// Returns whether a switch is on.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, Failure> {
        self.value(name)
            .map_or(Ok(false), |value| value.as_bool().ok_or_else(|| wrong(name, "a boolean")))
    }

    /// Returns a list of texts; empty if it is absent.
    pub(crate) fn texts(&self, name: &str) -> Result<Vec<&str>, Failure> {
        let Some(value) = self.value(name) else { return Ok(Vec::new()) };
        let items = value.as_array().ok_or_else(|| wrong(name, "an array of strings"))?;
        items
            .iter()
            .map(|item| item.as_str().ok_or_else(|| wrong(name, "an array of strings")))
            .collect()
    }

    /// Returns a position in a session: an id, or null for the start. `None` if the argument is absent.
    pub(crate) fn position(&self, name: &str) -> Result<Option<Position>, Failure> {
        match self.values.get(name) {
            None => Ok(None),
            Some(Value::Null) => Ok(Some(Position::Start)),
            Some(Value::String(id)) => Ok(Some(Position::from(id))),
            Some(_) => Err(wrong(name, "the id of an entry, or null for the start")),
        }
    }

    /// Returns a position that must be there.
    pub(crate) fn needs_position(&self, name: &str) -> Result<Position, Failure> {
        self.position(name)?.ok_or_else(|| wrong(name, "the id of an entry, or null for the start"))
    }

    /// Returns a position, or the session's leaf if the argument is absent.
    pub(crate) fn position_or_leaf(
        &self,
        name: &str,
        session: &Session,
    ) -> Result<Position, Failure> {
        Ok(self.position(name)?.unwrap_or_else(|| session.leaf().into()))
    }

    /// Returns a dialect.
    pub(crate) fn dialect(&self, name: &str) -> Result<Option<Dialect>, Failure> {
        self.text(name)?.map(|text| text.parse().map_err(Failure::from)).transpose()
    }

    /// Returns the only record of the call.
    pub(crate) fn record(&self) -> Result<&[u8], Failure> {
        self.data.first().map(String::as_bytes).ok_or_else(|| wrong("data", "one JSON object"))
    }

    /// Returns the durability of appends.
    pub(crate) fn durability(&self) -> Result<Durability, Failure> {
        match self.value("durability") {
            None => Ok(Durability::default()),
            Some(Value::String(text)) => match text.as_str() {
                "none" => Ok(Durability::None),
                "batched" => Ok(Durability::BATCHED),
                "each" => Ok(Durability::Each),
                _ => Err(wrong("durability", "none, batched or each")),
            },
            Some(_) => Err(wrong("durability", "none, batched or each")),
        }
    }

    /// Returns when the file of a new session is created.
    pub(crate) fn creation(&self) -> Result<Creation, Failure> {
        match self.text("creation")? {
            None | Some("first-message") => Ok(Creation::FirstMessage),
            Some("first-assistant-message") => Ok(Creation::FirstAssistantMessage),
            Some("at-once") => Ok(Creation::AtOnce),
            Some(_) => Err(wrong("creation", "first-message, first-assistant-message or at-once")),
        }
    }
}

/// Returns the error for an argument of another type than it must have.
pub(crate) fn wrong(name: &str, wanted: &str) -> Failure {
    Failure::invalid("invalid_argument", format!("the argument {name} must be {wanted}"))
}

fn whole(number: f64) -> Option<u64> {
    (number >= 0.0 && number.fract() == 0.0 && number < 9_007_199_254_740_992.0)
        .then_some(number as u64)
}
