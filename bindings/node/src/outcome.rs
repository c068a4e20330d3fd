//! Results and errors on their way to JavaScript.

use crate::handles::{NativeSession, NativeStore};
use crate::shared::SharedSession;
use napi::bindgen_prelude::{Buffer, Either4};
use std::sync::Arc;
use treering::store::Store;
use treering_bindings::{Data, Failure, Naming, ToData};

/// The result of an operation.
pub enum Outcome {
    /// A value as JSON.
    Json(Vec<u8>),
    /// Bytes, which JavaScript gets as a buffer, without a copy.
    Bytes(Vec<u8>),
    /// An open session.
    Session(Box<SharedSession>),
    /// An open store.
    Store(Arc<dyn Store>),
}

/// The result of an operation, or the reason why it failed.
pub(crate) type Answer = Result<Outcome, Failure>;

/// The values that JavaScript gets.
pub(crate) type JsOutcome = Either4<String, Buffer, NativeSession, NativeStore>;

impl Outcome {
    /// Creates the result of an operation that returns plain data.
    pub(crate) fn of(data: impl ToData) -> Outcome {
        Outcome::Json(data.to_data().to_json(Naming::Camel))
    }

    /// Creates the result of an operation that returns a record.
    pub(crate) fn record(fields: Vec<(&'static str, Data)>) -> Outcome {
        Outcome::Json(Data::Record(fields).to_json(Naming::Camel))
    }

    /// Creates the result of an operation that opens a session.
    pub(crate) fn session(session: impl Into<SharedSession>) -> Outcome {
        Outcome::Session(Box::new(session.into()))
    }

    /// Returns the value for JavaScript.
    pub(crate) fn into_js(self) -> napi::Result<JsOutcome> {
        Ok(match self {
            Outcome::Json(json) => Either4::A(text(json)?),
            Outcome::Bytes(bytes) => Either4::B(bytes.into()),
            Outcome::Session(session) => Either4::C(NativeSession::new(*session)),
            Outcome::Store(store) => Either4::D(NativeStore::new(store)),
        })
    }
}

/// Returns JSON as a string. Invalid UTF-8, which damaged files may hold, is replaced.
fn text(json: Vec<u8>) -> napi::Result<String> {
    Ok(String::from_utf8(json)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// Returns the error that JavaScript gets: its message is JSON, of which `lib/errors.ts` makes a `TreeringError`.
pub(crate) fn js_error(failure: Failure) -> napi::Error {
    let mut fields = vec![
        ("code", failure.code.to_data()),
        ("category", format!("{:?}", failure.category).to_data()),
        ("message", failure.message.to_data()),
        ("is_retryable", failure.is_retryable.to_data()),
        ("errno", failure.os_error.map(i64::from).to_data()),
    ];
    fields.push(("details", Data::Record(failure.fields)));
    let json = Data::Record(fields).to_json(Naming::Camel);
    napi::Error::from_reason(String::from_utf8_lossy(&json).into_owned())
}
