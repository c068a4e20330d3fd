//! The objects that JavaScript holds.

use crate::args::Args;
use crate::outcome::{JsOutcome, js_error};
use crate::shared::SharedSession;
use crate::task::{Cancellation, Invocation, Subject};
use napi::bindgen_prelude::{AsyncTask, ClassInstance};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi_derive::napi;
use std::sync::{Arc, Mutex, PoisonError};
use treering::session::Writer;
use treering::store::Store;
use treering::{NewEntry, Session};
use treering_bindings::{Category, Data, Failure, Naming, ToData};

/// An open session.
#[napi]
pub struct NativeSession {
    session: Mutex<Option<Arc<SharedSession>>>,
}

/// A function of JavaScript that is called from any thread and does not keep the process alive.
type Listener = ThreadsafeFunction<String, (), String, napi::Status, false, true>;

impl NativeSession {
    pub(crate) fn new(session: SharedSession) -> Self {
        NativeSession { session: Mutex::new(Some(Arc::new(session))) }
    }

    /// Returns the session, of which perhaps only the end was read, unless it was closed.
    fn shared(&self) -> Result<Arc<SharedSession>, Failure> {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        session
            .clone()
            .ok_or_else(|| Failure::new(Category::Conflict, "closed", "the session was closed"))
    }

    /// Returns the whole session, unless it was closed.
    pub(crate) fn get(&self) -> Result<Arc<Session>, Failure> {
        self.shared()?.whole()
    }

    fn subject(&self) -> Result<Subject, Failure> {
        self.shared().map(Subject::Session)
    }
}

#[napi]
impl NativeSession {
    /// Carries out an operation in the calling thread.
    #[napi]
    pub fn invoke(
        &self,
        operation: String,
        args: String,
        data: Option<Vec<String>>,
        other: Option<ClassInstance<NativeSession>>,
    ) -> napi::Result<JsOutcome> {
        let args = arguments(&args, data, other).map_err(js_error)?;
        self.subject()
            .and_then(|subject| subject.invoke(&operation, &args))
            .map_err(js_error)?
            .into_js()
    }

    /// Carries out an operation on the thread pool.
    #[napi(ts_return_type = "Promise<string | Buffer | NativeSession | NativeStore>")]
    pub fn invoke_async(
        &self,
        operation: String,
        args: String,
        data: Option<Vec<String>>,
        other: Option<ClassInstance<NativeSession>>,
        cancellation: Option<ClassInstance<Cancellation>>,
    ) -> napi::Result<AsyncTask<Invocation>> {
        let args = arguments(&args, data, other).map_err(js_error)?;
        let subject = self.subject().map_err(js_error)?;
        Ok(Invocation::new(subject, operation, args, cancellation.as_deref()))
    }

    /// Appends one entry, given as JSON with a `type` and an `id`.
    #[napi]
    pub fn append_entry(&self, entry: String) -> napi::Result<()> {
        let append = |session: Arc<Session>| {
            session.append(NewEntry::from_json(entry.as_bytes())?)?;
            Ok(())
        };
        self.get().and_then(append).map_err(js_error)
    }

    /// Returns the id of the leaf.
    #[napi(getter)]
    pub fn leaf(&self) -> napi::Result<Option<String>> {
        let session = self.shared().map_err(js_error)?;
        let leaf = match session.tail() {
            Some(tail) => tail.leaf(),
            None => session.whole().map_err(js_error)?.leaf(),
        };
        Ok(leaf.map(|id| id.to_string()))
    }

    /// Returns the number of entries.
    #[napi(getter)]
    pub fn entry_count(&self) -> napi::Result<u32> {
        Ok(u32::try_from(self.get().map_err(js_error)?.tree().len()).unwrap_or(u32::MAX))
    }

    /// Returns whether other writers appended something that was not read yet.
    #[napi]
    pub fn has_news(&self) -> napi::Result<bool> {
        Ok(self.get().map_err(js_error)?.has_news())
    }

    /// Returns whether there is an entry of exactly this id.
    #[napi]
    pub fn has(&self, id: String) -> napi::Result<bool> {
        Ok(self.get().map_err(js_error)?.tree().contains(&id))
    }

    /// Calls a function with each change, as JSON. It cannot be removed; JavaScript registers one and passes the
    /// changes on.
    #[napi(ts_args_type = "listener: (change: string) => void")]
    pub fn on_change(&self, listener: Listener) -> napi::Result<()> {
        self.get().map_err(js_error)?.on_change(move |change| {
            let entries: Vec<&str> = change.entries.iter().map(|id| id.as_str()).collect();
            let is_own = matches!(change.writer, Writer::This);
            let change =
                Data::Record(vec![("entries", entries.to_data()), ("is_own", is_own.to_data())]);
            let json = String::from_utf8_lossy(&change.to_json(Naming::Camel)).into_owned();
            listener.call(json, ThreadsafeFunctionCallMode::NonBlocking);
        });
        Ok(())
    }

    /// Closes the session. Running operations continue; later ones fail.
    #[napi]
    pub fn close(&self) {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// An open store.
#[napi]
pub struct NativeStore {
    store: Arc<dyn Store>,
}

impl NativeStore {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        NativeStore { store }
    }
}

#[napi]
impl NativeStore {
    /// Carries out an operation in the calling thread.
    #[napi]
    pub fn invoke(
        &self,
        operation: String,
        args: String,
        other: Option<ClassInstance<NativeSession>>,
    ) -> napi::Result<JsOutcome> {
        let args = arguments(&args, None, other).map_err(js_error)?;
        Subject::Store(self.store.clone()).invoke(&operation, &args).map_err(js_error)?.into_js()
    }

    /// Carries out an operation on the thread pool.
    #[napi(ts_return_type = "Promise<string | Buffer | NativeSession | NativeStore>")]
    pub fn invoke_async(
        &self,
        operation: String,
        args: String,
        other: Option<ClassInstance<NativeSession>>,
        cancellation: Option<ClassInstance<Cancellation>>,
    ) -> napi::Result<AsyncTask<Invocation>> {
        let args = arguments(&args, None, other).map_err(js_error)?;
        let subject = Subject::Store(self.store.clone());
        Ok(Invocation::new(subject, operation, args, cancellation.as_deref()))
    }
}

/// Carries out an operation of the module in the calling thread.
#[napi]
pub fn invoke(
    operation: String,
    args: String,
    data: Option<Vec<String>>,
) -> napi::Result<JsOutcome> {
    let args = arguments(&args, data, None).map_err(js_error)?;
    Subject::Module.invoke(&operation, &args).map_err(js_error)?.into_js()
}

/// Carries out an operation of the module on the thread pool.
#[napi(ts_return_type = "Promise<string | Buffer | NativeSession | NativeStore>")]
pub fn invoke_async(
    operation: String,
    args: String,
    data: Option<Vec<String>>,
    cancellation: Option<ClassInstance<Cancellation>>,
) -> napi::Result<AsyncTask<Invocation>> {
    let args = arguments(&args, data, None).map_err(js_error)?;
    Ok(Invocation::new(Subject::Module, operation, args, cancellation.as_deref()))
}

fn arguments(
    json: &str,
    data: Option<Vec<String>>,
    other: Option<ClassInstance<NativeSession>>,
) -> Result<Args, Failure> {
    let other = other.map(|other| other.get()).transpose()?;
    Args::new(json, data.unwrap_or_default(), other)
}
