//! The class `Session`: plans, usage, forks, conversions, documents.

use crate::data;
use crate::error::OrRaise;
use crate::json;
use crate::options::{self, At, Fork};
use crate::plans::{AbandonedBranch, CompactionPlan, EditPlan, MergePlan, PickPlan};
use crate::run::{self, Stoppable};
use crate::session::{Session, id_text, id_texts};
use crate::store::Store;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use treering::NewEntry;
use treering::branch_summary::branch_budget;
use treering::compaction::{CompactionSettings, Preparation, SummarySource};
use treering::convert::{ConvertOptions, convert_session};
use treering::merge::{Merge, MergeSummary, Repeated, Selection};
use treering_bindings::{
    Data, ExportFormat, Failure, RedactOptions, SearchOptions, ToData, dialect, export,
    export_to_file, redact, search_session,
};
use treering_export::{Existing, Export};

/// Compaction, summaries of branches, context edits.
#[pymethods]
impl Session {
    fn plan_compaction(
        &self,
        py: Python<'_>,
        at: At,
        keep_recent_tokens: Option<u64>,
        reserve_tokens: Option<u64>,
    ) -> PyResult<(Option<CompactionPlan>, &'static str)> {
        let mut settings = CompactionSettings::new();
        if let Some(tokens) = keep_recent_tokens {
            settings = settings.keep_recent_tokens(tokens);
        }
        if let Some(tokens) = reserve_tokens {
            settings = settings.reserve_tokens(tokens);
        }
        let preparation =
            self.run(py, move |session| match session.plan_compaction_at(at.0, &settings)? {
                Preparation::Ready(plan) => plan.read().map(|plan| (Some(plan), "")),
                Preparation::TooSmall => Ok((None, "too_small")),
                Preparation::AlreadyCompacted => Ok((None, "already_compacted")),
            })?;
        let (plan, reason) = preparation;
        Ok((plan.map(|plan| CompactionPlan::new(py, plan)).transpose()?, reason))
    }

    fn apply_compaction(
        &self,
        py: Python<'_>,
        plan: &CompactionPlan,
        summary: String,
        usage: Option<Bound<'_, PyAny>>,
        details: Option<Bound<'_, PyAny>>,
        from_hook: bool,
    ) -> PyResult<String> {
        let details = optional_json(details)?;
        let source = match from_hook || details.is_some() {
            true => SummarySource::Extension { details: details.as_deref() },
            false => SummarySource::Summarizer,
        };
        let entry = plan.plan.entry(&summary, source);
        let entry = with_usage(entry, optional_json(usage)?).or_raise(py)?;
        let leaf = plan.plan.leaf.clone();
        let ids = self.run(py, move |session| session.append_expecting(leaf, &[entry]))?;
        Ok(ids.first().map(id_text).unwrap_or_default())
    }

    fn abandoned_branch(
        &self,
        py: Python<'_>,
        leaving: At,
        to: At,
        context_window: Option<u64>,
        reserve_tokens: u64,
    ) -> PyResult<AbandonedBranch> {
        let budget = branch_budget(context_window, reserve_tokens);
        let branch =
            self.run(py, move |session| session.abandoned_branch(leaving.0, to.0, budget))?;
        AbandonedBranch::new(py, branch)
    }

    /// Moves the leaf and appends a summary of the branch that was left.
    #[allow(clippy::too_many_arguments, reason = "the arguments of a Python call")]
    fn apply_branch_summary(
        &self,
        py: Python<'_>,
        branch: &AbandonedBranch,
        to: At,
        summary: String,
        usage: Option<Bound<'_, PyAny>>,
        details: Option<Bound<'_, PyAny>>,
        from_hook: bool,
    ) -> PyResult<String> {
        let details = optional_json(details)?;
        let source = match from_hook || details.is_some() {
            true => SummarySource::Extension { details: details.as_deref() },
            false => SummarySource::Summarizer,
        };
        let leaf = self.get(py)?.leaf();
        let entry = branch.plan.entry(leaf.as_ref(), &summary, source);
        let entry = with_usage(entry, optional_json(usage)?).or_raise(py)?;
        let entry = entry.with_parent(to.0);
        let ids = self.run(py, move |session| session.append_expecting(leaf, &[entry]))?;
        Ok(ids.first().map(id_text).unwrap_or_default())
    }

    fn plan_drop(&self, py: Python<'_>, entries: Vec<String>) -> PyResult<EditPlan> {
        EditPlan::new(py, self.run(py, move |session| session.plan_drop(entries))?)
    }

    fn plan_replace(&self, py: Python<'_>, entry: String, text: String) -> PyResult<EditPlan> {
        EditPlan::new(py, self.run(py, move |session| session.plan_replace(entry, &text))?)
    }

    fn plan_restore(&self, py: Python<'_>, entries: Vec<String>) -> PyResult<EditPlan> {
        EditPlan::new(py, self.run(py, move |session| session.plan_restore(entries))?)
    }

    fn apply_edit(&self, py: Python<'_>, plan: &EditPlan) -> PyResult<Vec<String>> {
        let plan = plan.plan.clone();
        Ok(id_texts(&self.run(py, move |session| session.apply_edit(&plan))?))
    }
}

/// Merges and picks.
#[pymethods]
impl Session {
    fn plan_merge(&self, py: Python<'_>, source: At, budget: u64) -> PyResult<Option<MergePlan>> {
        match self.run(py, move |session| session.plan_merge(source.0, budget))? {
            Merge::NothingNew => Ok(None),
            Merge::Ready(plan) => MergePlan::new(py, *plan).map(Some),
        }
    }

    fn plan_merge_copies(&self, py: Python<'_>, plan: &MergePlan) -> PyResult<PickPlan> {
        let plan = plan.plan.clone();
        PickPlan::new(py, self.run(py, move |session| session.plan_merge_copies(&plan))?)
    }

    fn apply_merge<'py>(&self, py: Python<'py>, plan: &MergePlan) -> PyResult<Bound<'py, PyAny>> {
        let plan = plan.plan.clone();
        let merged = self.run(py, move |session| session.apply_merge(&plan))?;
        data::report(py, &merged)
    }

    fn apply_merge_summary(
        &self,
        py: Python<'_>,
        plan: &MergePlan,
        summary: String,
        usage: Option<Bound<'_, PyAny>>,
        details: Option<Bound<'_, PyAny>>,
        from_hook: bool,
    ) -> PyResult<String> {
        let (usage, details) = (optional_json(usage)?, optional_json(details)?);
        let plan = plan.plan.clone();
        let id = self.run(py, move |session| {
            // As with compactions: the text of a summarizer is composed with the lists of files.
            let text = if from_hook { summary } else { plan.compose(&summary) };
            let mut summary = MergeSummary::new(&text);
            summary.usage = usage.as_deref();
            if let Some(details) = &details {
                summary = summary.details(details);
            }
            if from_hook {
                summary = summary.from_hook();
            }
            session.apply_merge_summary(&plan, summary)
        })?;
        Ok(id_text(&id))
    }

    fn plan_pick(
        &self,
        py: Python<'_>,
        source: &Session,
        first: String,
        last: Option<String>,
        again: bool,
    ) -> PyResult<PickPlan> {
        let source = source.get(py)?;
        let selection = match last {
            None => Selection::entry(first),
            Some(last) => Selection::range(first, last),
        };
        let repeated = if again { Repeated::Copied } else { Repeated::Skipped };
        let plan = self.run(py, move |session| session.plan_pick(&source, &selection, repeated))?;
        PickPlan::new(py, plan)
    }

    fn apply_pick(&self, py: Python<'_>, plan: &PickPlan) -> PyResult<Vec<String>> {
        let plan = plan.plan.clone();
        Ok(id_texts(&self.run(py, move |session| session.apply_pick(&plan))?))
    }
}

/// Usage and differences.
#[pymethods]
impl Session {
    fn stats<'py>(
        &self,
        py: Python<'py>,
        branch: Option<At>,
        subtree: Option<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let part = options::part(branch, subtree);
        let stats = self.run(py, move |session| session.part_stats(&part))?;
        data::report(py, &stats)
    }

    fn usage<'py>(&self, py: Python<'py>, at: At) -> PyResult<Bound<'py, PyAny>> {
        let usage = self.run(py, move |session| session.branch_usage(at.0))?;
        data::report(py, &usage)
    }

    fn entry_usage<'py>(&self, py: Python<'py>, entry: String) -> PyResult<Bound<'py, PyAny>> {
        let usage = self.run(py, move |session| session.entry_usage(entry))?;
        data::report(py, &usage)
    }

    fn branches<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let branches = self.run(py, |session| session.branches())?;
        data::report(py, &branches)
    }

    fn diff<'py>(
        &self,
        py: Python<'py>,
        a: At,
        b: At,
        other: Option<&Session>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let other = other.map(|other| other.get(py)).transpose()?;
        let diff = self.run(py, move |session| match &other {
            None => session.diff(a.0, b.0),
            Some(other) => session.diff_with(a.0, other, b.0),
        })?;
        data::report(py, &diff)
    }
}

/// Forks, conversions and documents.
#[pymethods]
impl Session {
    fn fork(&self, py: Python<'_>, at: At, options: Fork<'_>) -> PyResult<Session> {
        let options = options.options()?.or_raise(py)?;
        let fork = self.run(py, move |session| session.fork(at.0, options))?;
        Ok(Session::new(fork, false))
    }

    fn fork_into(
        &self,
        py: Python<'_>,
        store: &Store,
        at: At,
        options: Fork<'_>,
    ) -> PyResult<Session> {
        let options = options.options()?.or_raise(py)?;
        let (store, is_remote) = (store.get(py)?, store.is_remote);
        let fork = self.run(py, move |session| session.fork_into(&store, at.0, options))?;
        Ok(Session::new(fork, is_remote))
    }

    fn copy_to(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.run(py, move |session| session.copy_to(path))
    }

    fn convert<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        to: &str,
        path_to: Option<At>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let to = dialect(to).or_raise(py)?;
        let options = convert_options(path_to);
        let report =
            self.run_long(py, move |session, _| convert_session(session, path, to, &options))?;
        data::report(py, &report)
    }

    fn plan_conversion<'py>(
        &self,
        py: Python<'py>,
        to: &str,
        path_to: Option<At>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let to = dialect(to).or_raise(py)?;
        let options = convert_options(path_to);
        let outcomes = self.run(py, move |session| {
            session.plan_conversion(to, &options).map(|plan| plan.outcomes().to_data())
        })?;
        data::to_python(py, &outcomes)
    }

    /// Writes a document to a file and returns its size, or returns the document if there is no
    /// file.
    #[allow(clippy::too_many_arguments, reason = "the arguments of a Python call")]
    fn export<'py>(
        &self,
        py: Python<'py>,
        format: &str,
        path: Option<PathBuf>,
        branch: Option<At>,
        subtree: Option<String>,
        thinking: bool,
        full: bool,
        replace: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let format: ExportFormat = format.parse().or_raise(py)?;
        let wanted =
            Export::new().part(options::part(branch, subtree)).thinking(thinking).full(full);
        let Some(path) = path else {
            let text = self.run_long(py, move |session, stop| {
                let mut out = Stoppable { out: Vec::new(), stop: stop.clone() };
                export(session, format, &wanted, &mut out).map(|()| out.out)
            })?;
            return Ok(PyString::from_bytes(py, &text)?.into_any());
        };
        let existing = if replace { Existing::Replaced } else { Existing::Kept };
        let size = self.run_long(py, move |session, _| {
            export_to_file(session, format, &wanted, &path, existing)
        })?;
        Ok(size.into_pyobject(py)?.into_any())
    }

    fn redact<'py>(
        &self,
        py: Python<'py>,
        emails: bool,
        home: bool,
        patterns: Vec<(String, String)>,
    ) -> PyResult<(Session, Bound<'py, PyAny>)> {
        let options = RedactOptions { emails, home, patterns };
        let (redacted, report) = self.run_long(py, move |session, _| redact(session, &options))?;
        Ok((Session::new(redacted, false), data::to_python(py, &report)?))
    }

    fn search<'py>(
        &self,
        py: Python<'py>,
        query: String,
        options: Search,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = options.options();
        let hits =
            self.run_long(py, move |session, _| search_session(session, &query, &options))?;
        data::to_python(py, &hits)
    }
}

pub(crate) fn optional_json(value: Option<Bound<'_, PyAny>>) -> PyResult<Option<Vec<u8>>> {
    value.map(|value| json::to_json(&value)).transpose()
}

/// Returns the entry of a summary with the usage of the request that wrote it.
pub(crate) fn with_usage(
    entry: treering::Result<NewEntry>,
    usage: Option<Vec<u8>>,
) -> treering::Result<NewEntry> {
    match usage {
        Some(usage) => entry?.with("usage", &usage),
        None => entry,
    }
}

/// Returns how many tokens of a branch fit into a request to a model with this context window.
#[pyfunction]
#[pyo3(name = "branch_budget")]
pub(crate) fn budget(context_window: Option<u64>, reserve_tokens: u64) -> u64 {
    branch_budget(context_window, reserve_tokens)
}

/// The options of a search.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Search {
    case_sensitive: bool,
    by_relevance: bool,
    max_hits: Option<usize>,
    hits_per_session: Option<usize>,
    snippet_width: Option<usize>,
}

impl Search {
    pub(crate) fn options(self) -> SearchOptions {
        SearchOptions {
            is_case_sensitive: self.case_sensitive,
            by_relevance: self.by_relevance,
            max_hits: self.max_hits,
            hits_per_session: self.hits_per_session,
            snippet_width: self.snippet_width,
        }
    }
}

pub(crate) fn convert_options(path_to: Option<At>) -> ConvertOptions {
    path_to.map_or_else(ConvertOptions::new, |at| ConvertOptions::new().path_to(at.0))
}

/// Runs a long call that has no session.
pub(crate) fn long<T: Send + 'static>(
    py: Python<'_>,
    call: impl FnOnce(&AtomicBool) -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    let stop = Arc::new(AtomicBool::new(false));
    let own = stop.clone();
    run::long(py, &stop, move || call(&own))
}

/// Returns plain data of a long call.
pub(crate) fn long_report<'py>(
    py: Python<'py>,
    call: impl FnOnce(&AtomicBool) -> Result<Data, Failure> + Send + 'static,
) -> PyResult<Bound<'py, PyAny>> {
    data::to_python(py, &long(py, call)?)
}
