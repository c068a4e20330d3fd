//! The native part of the Python package `treering`: the library's sessions and stores as Python classes.
//!
//! Nothing here is for users: the package wraps these classes in typed Python, turns plain dicts into its reports and
//! gives arguments their defaults. Every call that reads or writes bytes runs without the interpreter's lock (`run`);
//! JSON becomes Python objects in one step (`json`), reports through `data`, errors through `error`.

mod bulk;
mod chimera;
mod context;
mod data;
mod entry;
mod error;
mod forks;
mod functions;
mod json;
mod listener;
mod operations;
mod options;
mod plans;
mod remembered;
mod run;
mod session;
mod store;
mod tree;

/// The native module.
#[pyo3::pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use super::bulk::copy_json;
    #[pymodule_export]
    use super::context::{
        Context, active_context, dialects, dumps, estimate_tokens, loads, restore_context,
    };
    #[pymodule_export]
    use super::entry::{Entry, EntryIterator, restore_entry};
    #[pymodule_export]
    use super::forks::after_fork_in_child;
    #[pymodule_export]
    use super::functions::{
        convert, examine, info, list_directory, plan_repair, redact_text, search, usage,
    };
    #[pymodule_export]
    use super::listener::Listener;
    #[pymodule_export]
    use super::operations::budget;
    #[pymodule_export]
    use super::plans::{
        AbandonedBranch, CompactionPlan, EditPlan, MergePlan, PickPlan, RepairPlan,
    };
    #[pymodule_export]
    use super::session::Session;
    #[pymodule_export]
    use super::store::{Store, local_store, memory_store, open_store};
    #[pymodule_export]
    use super::tree::Tree;

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
