"""Sessions and stores for :mod:`asyncio`.

Every call that may wait runs on another thread, without Python's lock, and is awaited. What never waits stays a property.

>>> import asyncio
>>> async def main() -> int:
...     async with Session.wrap(treering.Session.in_memory()) as session:
...         await session.append(treering.user("hello"))
...         return len(await session.context())
>>> asyncio.run(main())
1

Canceling a task that waits ends the wait; the call itself runs to its end.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import (
    Any,
    AsyncIterator,
    Awaitable,
    Callable,
    Dict,
    Iterable,
    List,
    Optional,
    Tuple,
    Union,
    overload,
)

from . import _native, files
from . import context as _context
from . import session as _session
from . import store as _store
from ._aio import WritableSession, call, iterate, whole
from ._plans import RESERVE_TOKENS, checked_summary, composed, requests_of, text_and_usage
from ._types import JSON, At, Durability, Position, StrPath
from .context import Context
from .messages import Summary
from .reports import (
    Branch,
    ConversionReport,
    Diagnosis,
    Diff,
    Merged,
    Outcome,
    RedactionReport,
    Repair,
    SearchResult,
    SessionHits,
    SessionInfo,
    Stats,
    SyncReport,
    Usage,
    UsageReport,
)

__all__ = [
    "Session",
    "Store",
    "active_context",
    "convert",
    "doctor",
    "list_directory",
    "local_store",
    "open_store",
    "plan_repair",
    "repair",
    "search",
    "session_info",
    "usage",
]

#: A summarizer may be an ordinary function or a coroutine function.
Summarizer = Callable[[str], Union[str, Summary, Awaitable[Union[str, Summary]]]]


async def _ask(summarizer: Summarizer, request: str) -> Summary:
    answer: Any
    if inspect.iscoroutinefunction(summarizer):
        answer = summarizer(request)
    else:
        answer = await call(summarizer, request)
    if inspect.isawaitable(answer):
        answer = await answer
    return checked_summary(answer)


class Session(WritableSession):
    """A :class:`treering.Session` whose calls are awaited; ``sync_session`` is the session that they use."""

    __slots__ = ()

    @classmethod
    def wrap(cls, session: _session.Session) -> Session:
        """Return a session for asyncio of an ordinary one."""
        return cls(session)

    @classmethod
    async def open(cls, path: StrPath, *, durability: Durability = "none") -> Session:
        """Open a session file."""
        return cls(await call(whole, _session.Session.open, path, durability=durability))

    @classmethod
    async def create(cls, path: StrPath, **options: Any) -> Session:
        """Create a session in a new file, with the options of :meth:`treering.Session.create`."""
        return cls(await call(_session.Session.create, path, **options))

    @classmethod
    async def open_or_create(cls, path: StrPath, **options: Any) -> Session:
        """Open a session file, or create it if there is none."""
        return cls(await call(whole, _session.Session.open_or_create, path, **options))

    async def close(self) -> None:
        """Write everything to disk and close the session."""
        await call(self.sync_session.close)

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<aio {self.sync_session!r}>"

    # Compaction and summaries.

    async def plan_compaction(
        self,
        at: At = Position.LEAF,
        *,
        keep_recent_tokens: Optional[int] = None,
        reserve_tokens: Optional[int] = None,
    ) -> Optional[_native.CompactionPlan]:
        """Return what a compaction would summarize and keep; None if there is nothing to compact."""
        return await call(
            self.sync_session.plan_compaction,
            at,
            keep_recent_tokens=keep_recent_tokens,
            reserve_tokens=reserve_tokens,
        )

    async def apply_compaction(
        self,
        plan: _native.CompactionPlan,
        summary: Union[str, Summary],
        *,
        details: JSON = None,
        from_hook: bool = False,
    ) -> str:
        """Append the compaction of a plan and return its id; raises if the leaf has moved since."""
        apply = self.sync_session.apply_compaction
        return await call(apply, plan, summary, details=details, from_hook=from_hook)

    async def compact(
        self,
        summarizer: Summarizer,
        *,
        instructions: Optional[str] = None,
        keep_recent_tokens: Optional[int] = None,
        reserve_tokens: Optional[int] = None,
    ) -> Optional[str]:
        """Compact the session with a summarizer; see :meth:`treering.Session.compact`."""
        plan = await self.plan_compaction(
            keep_recent_tokens=keep_recent_tokens, reserve_tokens=reserve_tokens
        )
        if plan is None:
            return None
        answers = [
            None if request is None else await _ask(summarizer, request)
            for request in requests_of(plan, instructions)
        ]
        return await self.apply_compaction(plan, composed(plan, answers))

    async def abandoned_branch(
        self,
        to: At,
        *,
        leaving: At = Position.LEAF,
        context_window: Optional[int] = None,
        reserve_tokens: int = RESERVE_TOKENS,
    ) -> _native.AbandonedBranch:
        """Return the branch that is abandoned when the leaf moves ``to`` a position."""
        return await call(
            self.sync_session.abandoned_branch,
            to,
            leaving=leaving,
            context_window=context_window,
            reserve_tokens=reserve_tokens,
        )

    async def branch_with_summary(
        self,
        at: At,
        summary: Union[str, Summary, Summarizer],
        *,
        instructions: Optional[str] = None,
        context_window: Optional[int] = None,
        details: JSON = None,
    ) -> Optional[str]:
        """Move the leaf and append a summary of the abandoned branch."""
        if isinstance(summary, (str, Summary)):
            move = self.sync_session.branch_with_summary
            return await call(move, at, summary, details=details)
        branch = await self.abandoned_branch(at, context_window=context_window)
        if branch.is_empty:
            await self.branch(at)
            return None
        text, usage = text_and_usage(await _ask(summary, branch.request(instructions)))
        native = self.sync_session._native
        return await call(native.apply_branch_summary, branch, at, text, usage, details, False)

    # Context edits.

    async def plan_drop(self, *entries: str) -> _native.EditPlan:
        """Return what dropping entries from the context would do."""
        return await call(self.sync_session.plan_drop, *entries)

    async def plan_replace(self, entry: str, text: str) -> _native.EditPlan:
        """Return what replacing the text of an entry in the context would do."""
        return await call(self.sync_session.plan_replace, entry, text)

    async def plan_restore(self, *entries: str) -> _native.EditPlan:
        """Return what restoring entries in the context would do."""
        return await call(self.sync_session.plan_restore, *entries)

    async def apply_edit(self, plan: _native.EditPlan) -> List[str]:
        """Write the context edits of a plan and return their ids."""
        return await call(self.sync_session.apply_edit, plan)

    async def drop_from_context(self, *entries: str) -> List[str]:
        """Drop entries from the context, not from the session."""
        return await call(self.sync_session.drop_from_context, *entries)

    async def replace_in_context(self, entry: str, text: str) -> List[str]:
        """Replace the text of an entry in the context, not in the session."""
        return await call(self.sync_session.replace_in_context, entry, text)

    async def restore_in_context(self, *entries: str) -> List[str]:
        """Restore entries that were dropped or replaced."""
        return await call(self.sync_session.restore_in_context, *entries)

    # Merges and picks.

    async def plan_merge(self, source: At, *, budget: int = 0) -> Optional[_native.MergePlan]:
        """Return what a merge of another branch would bring; None if there is nothing new."""
        return await call(self.sync_session.plan_merge, source, budget=budget)

    async def plan_merge_copies(self, plan: _native.MergePlan) -> _native.PickPlan:
        """Return what :meth:`apply_merge` would copy."""
        return await call(self.sync_session.plan_merge_copies, plan)

    async def apply_merge(self, plan: _native.MergePlan) -> Merged:
        """Merge by copies of the entries of a plan."""
        return await call(self.sync_session.apply_merge, plan)

    async def apply_merge_summary(
        self,
        plan: _native.MergePlan,
        summary: Union[str, Summary],
        *,
        details: JSON = None,
        from_hook: bool = False,
    ) -> str:
        """Merge by a summary of the entries of a plan and return its id."""
        apply = self.sync_session.apply_merge_summary
        return await call(apply, plan, summary, details=details, from_hook=from_hook)

    async def merge(
        self,
        source: At,
        *,
        summarizer: Optional[Summarizer] = None,
        instructions: Optional[str] = None,
        context_window: Optional[int] = None,
    ) -> Union[Merged, str, None]:
        """Merge another branch into this one; see :meth:`treering.Session.merge`."""
        if summarizer is None:
            return await call(self.sync_session.merge, source)
        budget = _native.branch_budget(context_window, RESERVE_TOKENS)
        plan = await self.plan_merge(source, budget=budget)
        if plan is None:
            return None
        summary = await _ask(summarizer, plan.request(instructions))
        return await self.apply_merge_summary(plan, summary)

    async def plan_pick(
        self,
        first: str,
        last: Optional[str] = None,
        *,
        source: Optional[Session] = None,
        again: bool = False,
    ) -> _native.PickPlan:
        """Return what :meth:`cherry_pick` would copy."""
        other = None if source is None else source.sync_session
        return await call(self.sync_session.plan_pick, first, last, source=other, again=again)

    async def apply_pick(self, plan: _native.PickPlan) -> List[str]:
        """Copy the entries of a plan and return the ids of the copies."""
        return await call(self.sync_session.apply_pick, plan)

    async def cherry_pick(
        self,
        first: str,
        last: Optional[str] = None,
        *,
        source: Optional[Session] = None,
        again: bool = False,
    ) -> List[str]:
        """Copy an entry, or a range, to the leaf."""
        other = None if source is None else source.sync_session
        return await call(
            self.sync_session.cherry_pick, first, last, source=other, again=again
        )

    # Usage, differences, searches.

    async def stats(self, *, branch: Optional[At] = None, subtree: Optional[str] = None) -> Stats:
        """Return counts and usage."""
        return await call(self.sync_session.stats, branch=branch, subtree=subtree)

    async def usage(self, at: At = Position.LEAF) -> Usage:
        """Return the usage along the path to a position."""
        return await call(self.sync_session.usage, at)

    async def entry_usage(self, entry: str) -> Optional[Usage]:
        """Return the usage that one entry reports."""
        return await call(self.sync_session.entry_usage, entry)

    async def branches(self) -> List[Branch]:
        """Return all branches with their usage."""
        return await call(self.sync_session.branches)

    async def diff(
        self, a: At, b: At = Position.LEAF, *, other: Optional[Session] = None
    ) -> Diff:
        """Compare two branches since their common ancestor; with ``other``, ``b`` is in that session."""
        session = None if other is None else other.sync_session
        return await call(self.sync_session.diff, a, b, other=session)

    async def search(self, query: str, **options: Any) -> Optional[SessionHits]:
        """Search all branches of the session."""
        return await call(self.sync_session.search, query, **options)

    # Forks, conversions, documents.

    async def fork(self, at: At = Position.LEAF, **options: Any) -> Session:
        """Create a new session of the path to a position, with the options of :meth:`treering.Session.fork`."""
        store = options.pop("store", None)
        if isinstance(store, Store):
            store = store.sync_store
        return Session(await call(self.sync_session.fork, at, store=store, **options))

    async def copy_to(self, path: StrPath) -> None:
        """Write the whole log, byte for byte, to a new file."""
        await call(self.sync_session.copy_to, path)

    async def plan_conversion(self, dialect: str, *, path_to: Optional[At] = None) -> List[Outcome]:
        """Return what a conversion would carry, adapt and leave out."""
        return await call(self.sync_session.plan_conversion, dialect, path_to=path_to)

    async def convert(
        self, path: StrPath, dialect: str, *, path_to: Optional[At] = None
    ) -> ConversionReport:
        """Write the session as one of another agent to a new file, and verify it."""
        return await call(self.sync_session.convert, path, dialect, path_to=path_to)

    @overload
    async def export(self, format: str = ..., path: None = None, **options: Any) -> str: ...

    @overload
    async def export(self, format: str, path: StrPath, **options: Any) -> int: ...

    async def export(
        self, format: str = "html", path: Optional[StrPath] = None, **options: Any
    ) -> Union[str, int]:
        """Return the session as a document, or write it to a file; see :meth:`treering.Session.export`."""
        result: Union[str, int] = await call(self.sync_session.export, format, path, **options)
        return result

    async def redact(self, **options: Any) -> Tuple[Session, RedactionReport]:
        """Return a copy of the session in which secrets are replaced, and a report."""
        session, report = await call(self.sync_session.redact, **options)
        return Session(session), report


class Store:
    """A :class:`treering.Store` whose calls are awaited; ``sync_store`` is the one behind it."""

    __slots__ = ("sync_store",)

    def __init__(self, store: _store.Store) -> None:
        self.sync_store = store

    def __repr__(self) -> str:
        return f"<aio {self.sync_store!r}>"

    @property
    def location(self) -> str:
        """The address of the store for messages, without passwords."""
        return self.sync_store.location

    def list(self, **query: Any) -> AsyncIterator[SessionInfo]:
        """Iterate over the sessions, newest first."""
        return iterate(self.sync_store.list(**query))

    def __aiter__(self) -> AsyncIterator[SessionInfo]:
        return self.list()

    async def create(self, **options: Any) -> Session:
        """Create a session."""
        return Session(await call(self.sync_store.create, **options))

    async def open(self, id: str, *, durability: Durability = "none") -> Session:
        """Open a session by its id."""
        return Session(await call(whole, self.sync_store.open, id, durability=durability))

    async def continue_recent(self, **options: Any) -> Session:
        """Open the session of a project that was written last, or create one; see :class:`treering.Store`."""
        return Session(await call(whole, self.sync_store.continue_recent, **options))

    async def file(self, id: str) -> Optional[Path]:
        """Return the file of a session; None if the store has no files."""
        return await call(self.sync_store.file, id)

    async def remove(self, id: str) -> None:
        """Remove a session."""
        await call(self.sync_store.remove, id)

    async def has_news(self) -> bool:
        """Return whether something may have changed since it was last asked."""
        return await call(self.sync_store.has_news)

    async def changes(self, since: Optional[str] = None) -> Tuple[Dict[str, Optional[int]], str]:
        """Return the sessions that changed since a mark, with the lengths of their logs, and the next mark."""
        return await call(self.sync_store.changes, since)

    async def search(self, query: str, **options: Any) -> SearchResult:
        """Search all sessions of the store."""
        return await call(self.sync_store.search, query, **options)

    async def synchronize(
        self, other: Store, *, direction: str = "both", sessions: Optional[Iterable[str]] = None
    ) -> SyncReport:
        """Bring the sessions of this store and another one to the same state."""
        synchronize = self.sync_store.synchronize
        return await call(synchronize, other.sync_store, direction=direction, sessions=sessions)


async def open_store(
    address: StrPath, *, token: Optional[str] = None, space: Optional[str] = None
) -> Store:
    """Open a store: a directory, a server or a database."""
    return Store(await call(_store.open_store, address, token=token, space=space))


async def local_store() -> Store:
    """Return the sessions of all agents on this machine as a store."""
    return Store(await call(_store.local_store))


async def active_context(path: StrPath) -> Context:
    """Read the context of a session file from its end, without reading the rest of a large file."""
    return await call(_context.active_context, path)


async def session_info(path: StrPath) -> SessionInfo:
    """Return the facts about a session file that lists show, with little reading."""
    return await call(files.session_info, path)


async def list_directory(path: StrPath) -> Tuple[List[SessionInfo], Dict[str, str]]:
    """Return the sessions directly in a directory, newest first, and the files that are none with the reason."""
    return await call(files.list_directory, path)


async def search(
    query: str, directories: Union[StrPath, Iterable[StrPath]] = (), **options: Any
) -> SearchResult:
    """Search sessions, with the options of :func:`treering.search`."""
    return await call(files.search, query, directories, **options)


async def usage(
    directories: Union[StrPath, Iterable[StrPath]] = (), **options: Any
) -> UsageReport:
    """Count usage, with the options of :func:`treering.usage`."""
    return await call(files.usage, directories, **options)


async def doctor(path: StrPath) -> Diagnosis:
    """Return all findings of a session file."""
    return await call(files.doctor, path)


async def plan_repair(path: StrPath) -> _native.RepairPlan:
    """Return what a repair of a session file would change."""
    return await call(files.plan_repair, path)


async def repair(path: StrPath, **options: Any) -> Repair:
    """Repair a session file, with the options of :func:`treering.repair`."""
    return await call(files.repair, path, **options)


async def convert(
    source: StrPath, target: StrPath, dialect: str, *, path_to: Optional[At] = None
) -> ConversionReport:
    """Write a session file as one of another agent, and verify it."""
    return await call(files.convert, source, target, dialect, path_to=path_to)
