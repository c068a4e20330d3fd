"""Plans on sessions: the part of :class:`treering.Session` that compacts, edits contexts, merges and picks."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from . import _native
from ._types import JSON, At, Position
from ._writing import WritableSession
from .messages import Summary
from .reports import Merged

__all__ = ["PlannedSession", "Summarizer"]

#: Called with the text of a request; returns the summary, with its usage if that is to be counted.
Summarizer = Callable[[str], Union[str, Summary]]
#: The tokens that are kept free for the answer to a request.
RESERVE_TOKENS = 16_384


def checked_summary(answer: object) -> Summary:
    """Return the answer of a summarizer as a summary."""
    if isinstance(answer, Summary):
        return answer
    if isinstance(answer, str):
        return Summary(answer)
    raise TypeError(f"a summarizer returns a str or a treering.Summary, not {type(answer).__name__}")


def text_and_usage(summary: Union[str, Summary]) -> Tuple[str, Optional[Dict[str, Any]]]:
    """Return a summary as the native part takes it."""
    if isinstance(summary, str):
        return summary, None
    return summary.text, None if summary.usage is None else summary.usage.to_dict()


def requests_of(plan: _native.CompactionPlan, instructions: Optional[str]) -> List[Optional[str]]:
    """Return the requests of a compaction: for its history, and for the beginning of a turn that it cuts in two."""
    return [plan.history_request(instructions), plan.prefix_request(instructions)]


def composed(plan: _native.CompactionPlan, answers: Sequence[Optional[Summary]]) -> Summary:
    """Return the summary made of the answers to the requests of a compaction."""
    texts = [None if it is None else it.text for it in answers]
    usage = None
    for it in answers:
        if it is not None and it.usage is not None:
            usage = it.usage if usage is None else usage + it.usage
    return Summary(plan.compose(*texts), usage)


class PlannedSession(WritableSession):
    """Operations that are planned first, inspected, and then applied."""

    __slots__ = ()

    # Compaction and summaries.

    def plan_compaction(
        self,
        at: At = Position.LEAF,
        *,
        keep_recent_tokens: Optional[int] = None,
        reserve_tokens: Optional[int] = None,
    ) -> Optional[_native.CompactionPlan]:
        """Return what a compaction would summarize and keep; None if there is nothing to compact."""
        plan, _ = self._native.plan_compaction(at, keep_recent_tokens, reserve_tokens)
        return plan

    def apply_compaction(
        self,
        plan: _native.CompactionPlan,
        summary: Union[str, Summary],
        *,
        details: JSON = None,
        from_hook: bool = False,
    ) -> str:
        """Append the compaction of a plan and return its id; raises if the leaf has moved since."""
        return self._native.apply_compaction(plan, *text_and_usage(summary), details, from_hook)

    def compact(
        self,
        summarizer: Summarizer,
        *,
        instructions: Optional[str] = None,
        keep_recent_tokens: Optional[int] = None,
        reserve_tokens: Optional[int] = None,
    ) -> Optional[str]:
        """Compact the session with a summarizer: a function from the text of a request to a summary.

        Returns the id of the compaction, or None if there is nothing to compact. If the summarizer raises, nothing has
        changed. ``CompactionPlan.SUMMARIZER_ROLE`` is a system prompt for the model behind it.
        """
        plan = self.plan_compaction(
            keep_recent_tokens=keep_recent_tokens, reserve_tokens=reserve_tokens
        )
        if plan is None:
            return None
        answers = [
            None if request is None else checked_summary(summarizer(request))
            for request in requests_of(plan, instructions)
        ]
        return self.apply_compaction(plan, composed(plan, answers))

    def abandoned_branch(
        self,
        to: At,
        *,
        leaving: At = Position.LEAF,
        context_window: Optional[int] = None,
        reserve_tokens: int = RESERVE_TOKENS,
    ) -> _native.AbandonedBranch:
        """Return the branch that is abandoned when the leaf moves ``to`` a position.

        Its messages are as many of the latest as fit into the context window of the model that summarizes them.
        """
        return self._native.abandoned_branch(leaving, to, context_window, reserve_tokens)

    def branch_with_summary(
        self,
        at: At,
        summary: Union[str, Summary, Summarizer],
        *,
        instructions: Optional[str] = None,
        context_window: Optional[int] = None,
        details: JSON = None,
    ) -> Optional[str]:
        """Move the leaf to a position and append a summary of the abandoned branch.

        ``summary`` is a text, or a function that makes one from the text of a request; if it raises, nothing has
        changed. Returns the id of the summary, or None if nothing was left behind and the leaf only moved.
        """
        if isinstance(summary, (str, Summary)):
            return self._native.branch_with_summary(at, *text_and_usage(summary), details)
        branch = self.abandoned_branch(at, context_window=context_window)
        if branch.is_empty:
            self.branch(at)
            return None
        text, usage = text_and_usage(checked_summary(summary(branch.request(instructions))))
        return self._native.apply_branch_summary(branch, at, text, usage, details, False)

    # Context edits.

    def plan_drop(self, *entries: str) -> _native.EditPlan:
        """Return what dropping entries from the context would do."""
        return self._native.plan_drop(list(entries))

    def plan_replace(self, entry: str, text: str) -> _native.EditPlan:
        """Return what replacing the text of an entry in the context would do."""
        return self._native.plan_replace(entry, text)

    def plan_restore(self, *entries: str) -> _native.EditPlan:
        """Return what restoring entries in the context would do."""
        return self._native.plan_restore(list(entries))

    def apply_edit(self, plan: _native.EditPlan) -> List[str]:
        """Write the context edits of a plan and return their ids."""
        return self._native.apply_edit(plan)

    def drop_from_context(self, *entries: str) -> List[str]:
        """Drop entries from the context, not from the session."""
        return self.apply_edit(self.plan_drop(*entries))

    def replace_in_context(self, entry: str, text: str) -> List[str]:
        """Replace the text of an entry in the context, not in the session."""
        return self.apply_edit(self.plan_replace(entry, text))

    def restore_in_context(self, *entries: str) -> List[str]:
        """Restore entries that were dropped or replaced."""
        return self.apply_edit(self.plan_restore(*entries))

    # Merges and picks.

    def plan_merge(self, source: At, *, budget: int = 0) -> Optional[_native.MergePlan]:
        """Return what a merge of another branch would bring; None if there is nothing new.

        Its messages are the latest ones of at most ``budget`` tokens; all of them with 0.
        """
        return self._native.plan_merge(source, budget)

    def plan_merge_copies(self, plan: _native.MergePlan) -> _native.PickPlan:
        """Return what :meth:`apply_merge` would copy."""
        return self._native.plan_merge_copies(plan)

    def apply_merge(self, plan: _native.MergePlan) -> Merged:
        """Merge by copies of the entries of a plan."""
        return Merged(**self._native.apply_merge(plan))

    def apply_merge_summary(
        self,
        plan: _native.MergePlan,
        summary: Union[str, Summary],
        *,
        details: JSON = None,
        from_hook: bool = False,
    ) -> str:
        """Merge by a summary of the entries of a plan and return its id."""
        return self._native.apply_merge_summary(plan, *text_and_usage(summary), details, from_hook)

    def merge(
        self,
        source: At,
        *,
        summarizer: Optional[Summarizer] = None,
        instructions: Optional[str] = None,
        context_window: Optional[int] = None,
    ) -> Union[Merged, str, None]:
        """Merge another branch into this one: as copies, or as a summary if there is a ``summarizer``.

        Returns None if there is nothing new. The summarizer is called with the text of a request, which has as many of
        the latest messages as fit into the ``context_window`` of its model. If it raises, nothing has changed.
        """
        if summarizer is None:
            plan = self.plan_merge(source)
            return None if plan is None else self.apply_merge(plan)
        plan = self.plan_merge(source, budget=_native.branch_budget(context_window, RESERVE_TOKENS))
        if plan is None:
            return None
        summary = checked_summary(summarizer(plan.request(instructions)))
        return self.apply_merge_summary(plan, summary)

    def plan_pick(
        self,
        first: str,
        last: Optional[str] = None,
        *,
        source: Optional[WritableSession] = None,
        again: bool = False,
    ) -> _native.PickPlan:
        """Return what :meth:`cherry_pick` would copy."""
        native = self._native if source is None else source._native
        return self._native.plan_pick(native, first, last, again)

    def apply_pick(self, plan: _native.PickPlan) -> List[str]:
        """Copy the entries of a plan and return the ids of the copies."""
        return self._native.apply_pick(plan)

    def cherry_pick(
        self,
        first: str,
        last: Optional[str] = None,
        *,
        source: Optional[WritableSession] = None,
        again: bool = False,
    ) -> List[str]:
        """Copy an entry, or a range, to the leaf: from this session or from another one.

        Tool calls come with their results. Entries that are already on the path are left out, unless ``again``.
        """
        return self.apply_pick(self.plan_pick(first, last, source=source, again=again))
