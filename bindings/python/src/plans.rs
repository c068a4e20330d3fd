//! The plans: what an operation would do, to be inspected before it runs.
//!
//! Each class shows the facts of its plan as attributes, and keeps the plan of the library for the call that applies it.

use crate::data;
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Mutex, PoisonError};
use treering::branch_summary;
use treering::compaction::{self, Prepared};
use treering::{context_edit, doctor, merge};
use treering_bindings::{Data, ToData};

/// The facts of a plan as a dict.
fn facts(py: Python<'_>, plan: &impl ToData) -> PyResult<Py<PyDict>> {
    Ok(data::report(py, plan)?.cast_into::<PyDict>()?.unbind())
}

/// A plan of the library that only one thread uses at a time.
pub(crate) struct SharedRepairPlan(pub(crate) Box<Mutex<doctor::RepairPlan>>);

impl ToData for SharedRepairPlan {
    fn to_data(&self) -> Data {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).to_data()
    }
}

macro_rules! plans {
    ($($(#[doc = $doc:literal])* $name:ident($plan:ty),)*) => {
        $(
            $(#[doc = $doc])*
            #[pyclass(frozen, module = "treering._native")]
            pub(crate) struct $name {
                pub(crate) plan: $plan,
                facts: Py<PyDict>,
            }

            // Python aligns its objects to 16 bytes; what needs more is boxed.
            const _: () = assert!(align_of::<$plan>() <= 16);

            impl $name {
                pub(crate) fn new(py: Python<'_>, plan: $plan) -> PyResult<Self> {
                    let facts = facts(py, &plan)?;
                    Ok($name { plan, facts })
                }
            }

            #[pymethods]
            impl $name {
                fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
                    let fact = self.facts.bind(py).get_item(name)?;
                    fact.ok_or_else(|| {
                        PyAttributeError::new_err(format!("{} has no attribute {name:?}", stringify!($name)))
                    })
                }

                fn __dir__(&self, py: Python<'_>) -> Vec<String> {
                    let names = self.facts.bind(py).keys();
                    names.iter().filter_map(|name| name.extract().ok()).collect()
                }

                fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
                    self.facts.bind(py).copy()
                }

                fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
                    let mut shown = Vec::new();
                    for (name, value) in self.facts.bind(py).iter() {
                        // Messages and lists of entries are too long to be shown.
                        let value = match value.len() {
                            Ok(length) if !value.is_instance_of::<pyo3::types::PyString>() => format!("<{length}>"),
                            _ => value.repr()?.to_string(),
                        };
                        shown.push(format!("{name}={value}"));
                    }
                    Ok(format!("{}({})", stringify!($name), shown.join(", ")))
                }
            }
        )*
    };
}

plans! {
    /// A compaction that was planned: the messages to be summarized, and the first entry that is kept.
    CompactionPlan(Prepared),
    /// The entries that are left behind when the leaf moves.
    AbandonedBranch(branch_summary::AbandonedBranch),
    /// A merge of another branch.
    MergePlan(merge::MergePlan),
    /// Entries to be copied to another branch.
    PickPlan(merge::PickPlan),
    /// A change of what entries contribute to the context.
    EditPlan(context_edit::EditPlan),
    /// A repair of a session file.
    RepairPlan(SharedRepairPlan),
}

#[pymethods]
impl CompactionPlan {
    /// The text for a summarizer that asks for a summary of the history; None if there is nothing before the cut but
    /// the start of a turn.
    #[pyo3(signature = (instructions=None))]
    fn history_request(&self, instructions: Option<&str>) -> Option<String> {
        self.plan.history_request(instructions)
    }

    /// The text for a summarizer that asks for a summary of the first part of a turn that is cut in two; None if no turn
    /// is.
    #[pyo3(signature = (instructions=None))]
    fn prefix_request(&self, instructions: Option<&str>) -> Option<String> {
        self.plan.prefix_request(instructions)
    }

    /// Puts the answers to both requests and the lists of files together.
    #[pyo3(signature = (history=None, prefix=None))]
    fn compose(&self, history: Option<&str>, prefix: Option<&str>) -> String {
        self.plan.compose(history, prefix)
    }

    /// The instructions for a summarizer, as a system prompt.
    #[classattr]
    const SUMMARIZER_ROLE: &'static str = compaction::SUMMARIZER_ROLE;
}

#[pymethods]
impl AbandonedBranch {
    /// The messages as text.
    fn conversation(&self) -> String {
        self.plan.conversation()
    }

    #[getter]
    fn is_empty(&self) -> bool {
        self.plan.is_empty()
    }

    /// The text for a summarizer.
    #[pyo3(signature = (instructions=None, replace_instructions=false))]
    fn request(&self, instructions: Option<&str>, replace_instructions: bool) -> String {
        compaction::branch_request(
            &self.plan.conversation(),
            None,
            instructions,
            replace_instructions,
        )
    }
}

#[pymethods]
impl MergePlan {
    /// The messages as text.
    fn conversation(&self) -> String {
        self.plan.conversation()
    }

    /// The text for a summarizer.
    #[pyo3(signature = (instructions=None, replace_instructions=false))]
    fn request(&self, instructions: Option<&str>, replace_instructions: bool) -> String {
        compaction::branch_request(
            &self.plan.conversation(),
            None,
            instructions,
            replace_instructions,
        )
    }
}
