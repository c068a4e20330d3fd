//! Functions on files and directories.

use crate::data;
use crate::error::OrRaise;
use crate::operations::{Search, convert_options, long, long_report};
use crate::options::At;
use crate::plans::{RepairPlan, SharedRepairPlan};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use treering::catalog;
use treering::doctor::{self, RepairOptions, RepairTo};
use treering_bindings::{
    RedactOptions, ToData, UsageOptions, dialect, redact_text as redacted_text, search_directories,
    usage_report,
};

/// Examines a session file.
#[pyfunction]
pub(crate) fn examine(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyAny>> {
    long_report(py, move |_| Ok(doctor::examine(path)?.to_data()))
}

/// Plans the repair of a session file.
#[pyfunction]
pub(crate) fn plan_repair(py: Python<'_>, path: PathBuf) -> PyResult<RepairPlan> {
    let plan = long(py, move |_| Ok(doctor::plan_repair(path)?))?;
    RepairPlan::new(py, SharedRepairPlan(Box::new(Mutex::new(plan))))
}

#[pymethods]
impl RepairPlan {
    /// Repairs the file in place, or writes the repaired session to another file.
    fn apply<'py>(
        &self,
        py: Python<'py>,
        to: Option<PathBuf>,
        in_place: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let to = match (to, in_place) {
            (Some(path), _) => RepairTo::Path(path),
            (None, true) => RepairTo::InPlace,
            (None, false) => RepairTo::Beside,
        };
        let repair = crate::run::quick(py, || {
            let plan = self.plan.0.lock().unwrap_or_else(PoisonError::into_inner);
            plan.apply(RepairOptions::new().to(to))
        })?;
        data::report(py, &repair)
    }
}

/// Converts a session file into the format of another agent.
#[pyfunction]
pub(crate) fn convert<'py>(
    py: Python<'py>,
    source: PathBuf,
    target: PathBuf,
    to: &str,
    path_to: Option<At>,
) -> PyResult<Bound<'py, PyAny>> {
    let to = dialect(to).or_raise(py)?;
    let options = convert_options(path_to);
    long_report(
        py,
        move |_| Ok(treering::convert::convert(source, target, to, &options)?.to_data()),
    )
}

/// Searches sessions in directories.
#[pyfunction]
pub(crate) fn search(
    py: Python<'_>,
    directories: Vec<PathBuf>,
    query: String,
    options: Search,
) -> PyResult<Bound<'_, PyAny>> {
    let options = options.options();
    long_report(py, move |stop| search_directories(&directories, &query, &options, stop))
}

/// Returns a text without secrets.
#[pyfunction]
pub(crate) fn redact_text(
    py: Python<'_>,
    text: String,
    emails: bool,
    home: bool,
    patterns: Vec<(String, String)>,
) -> PyResult<String> {
    let options = RedactOptions { emails, home, patterns };
    crate::run::quick(py, || redacted_text(&text, &options))
}

/// Counts the usage of the sessions in directories.
#[pyfunction]
pub(crate) fn usage(
    py: Python<'_>,
    directories: Vec<PathBuf>,
    group_by: Option<String>,
    zone: Option<String>,
    since: Option<i64>,
    until: Option<i64>,
) -> PyResult<Bound<'_, PyAny>> {
    let options = UsageOptions { directories, group_by, zone, since, until };
    long_report(py, move |_| usage_report(&options))
}

/// Reads the facts of a session file that lists show.
#[pyfunction]
pub(crate) fn info(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyAny>> {
    let info = crate::run::quick(py, || catalog::info(&path))?;
    data::report(py, &info)
}

/// The files that are no sessions, and the reasons.
type SkippedFiles = Vec<(PathBuf, String)>;

/// Lists the sessions directly in a directory, newest first, and the files that are none.
#[pyfunction]
pub(crate) fn list_directory(
    py: Python<'_>,
    path: PathBuf,
) -> PyResult<(Bound<'_, PyAny>, SkippedFiles)> {
    let listing = long(py, move |_| Ok(catalog::list_dir(path, |_| ())?))?;
    let skipped =
        listing.skipped.iter().map(|(path, error)| (path.clone(), error.to_string())).collect();
    Ok((data::report(py, &listing.sessions)?, skipped))
}
