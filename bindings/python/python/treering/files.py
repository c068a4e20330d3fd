"""Functions on session files and directories."""

from __future__ import annotations

import os
from typing import Dict, Iterable, List, Mapping, Optional, Tuple, Union

from . import _native
from ._options import search_options
from ._types import At, Message, StrPath
from .reports import (
    ConversionReport,
    Diagnosis,
    Repair,
    SearchResult,
    SessionInfo,
    UsageReport,
)

__all__ = [
    "convert",
    "dialects",
    "doctor",
    "estimate_tokens",
    "list_directory",
    "plan_repair",
    "redact_text",
    "repair",
    "search",
    "session_info",
    "usage",
]


def _paths(directories: Union[StrPath, Iterable[StrPath]]) -> List[StrPath]:
    """Return directories as a list. A text is one directory, not many of one letter each."""
    if isinstance(directories, (str, os.PathLike)):
        return [directories]
    return [*directories]


def doctor(path: StrPath) -> Diagnosis:
    """Return all findings of a session file."""
    return Diagnosis.from_dict(_native.examine(path))


def plan_repair(path: StrPath) -> _native.RepairPlan:
    """Return what a repair of a session file would change."""
    return _native.plan_repair(path)


def repair(
    path: StrPath,
    *,
    to: Optional[StrPath] = None,
    in_place: bool = False,
    plan: Optional[_native.RepairPlan] = None,
) -> Repair:
    """Repair a session file: to a new file beside it, ``to`` another one, or ``in_place``, which keeps the old file."""
    plan = plan_repair(path) if plan is None else plan
    return Repair.from_dict(plan.apply(to, in_place))


def convert(
    source: StrPath, target: StrPath, dialect: str, *, path_to: Optional[At] = None
) -> ConversionReport:
    """Write a session file as one of another agent, and verify it."""
    return ConversionReport.from_dict(_native.convert(source, target, dialect, path_to))


def search(
    query: str,
    directories: Union[StrPath, Iterable[StrPath]] = (),
    *,
    case_sensitive: bool = False,
    by_relevance: bool = False,
    max_hits: Optional[int] = None,
    hits_per_session: Optional[int] = None,
    snippet_width: Optional[int] = None,
) -> SearchResult:
    """Search the sessions in one or several directories, or of all agents on this machine if there are none."""
    options = search_options(
        case_sensitive, by_relevance, max_hits, hits_per_session, snippet_width
    )
    return SearchResult.from_dict(_native.search(_paths(directories), query, options))


def redact_text(
    text: str,
    *,
    emails: bool = False,
    home: bool = False,
    patterns: Optional[Mapping[str, str]] = None,
) -> str:
    """Return a text in which secrets are replaced; see :meth:`treering.Session.redact`."""
    return _native.redact_text(text, emails, home, [*(patterns or {}).items()])


def usage(
    directories: Union[StrPath, Iterable[StrPath]] = (),
    *,
    group_by: str = "day",
    zone: Optional[str] = None,
    since: Optional[int] = None,
    until: Optional[int] = None,
) -> UsageReport:
    """Count the usage of the sessions in one or several directories, or of all agents on this machine if there are none.

    ``group_by`` is ``"day"``, ``"week"``, ``"month"``, ``"session"``, ``"model"``, ``"project"`` or ``"agent"``.
    """
    return UsageReport.from_dict(_native.usage(_paths(directories), group_by, zone, since, until))


def session_info(path: StrPath) -> SessionInfo:
    """Return the facts about a session file that lists show, with little reading."""
    return SessionInfo.from_dict(_native.info(path))


def list_directory(path: StrPath) -> Tuple[List[SessionInfo], Dict[str, str]]:
    """Return the sessions directly in a directory, newest first, and the files that are none with the reason."""
    sessions, skipped = _native.list_directory(path)
    return [SessionInfo.from_dict(it) for it in sessions], {str(file): why for file, why in skipped}


def estimate_tokens(message: Message) -> int:
    """Estimate the number of tokens of a message."""
    return _native.estimate_tokens(message)


def dialects() -> Dict[str, bool]:
    """Return the names of the formats that treering reads, and whether it writes them."""
    return dict(_native.dialects())
