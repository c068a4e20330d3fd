"""Sessions and stores for :mod:`asyncio`.

Every call that may wait runs on another thread, without Python's lock, and is awaited. What never waits stays a property.

>>> import asyncio
>>> async def main() -> int:
...     async with Session.wrap(treering.Session.in_memory()) as session:
...         await session.append(treering.user("hello"))
...         return len(await session.context())
>>> asyncio.run(main())
1

Cancelling a task that waits gives up waiting; the call itself ends by itself.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from pathlib import Path
from typing import (
    Any,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    List,
    Optional,
    Tuple,
    TypeVar,
    Union,
)

from . import _native
from . import session as _session
from . import store as _store
from ._types import JSON, At, Durability, Position, StrPath
from ._writing import NewEntry
from .context import Context
from .reports import (
    ConversionReport,
    Merged,
    RedactionReport,
    SearchResult,
    SessionHits,
    SessionInfo,
    Stats,
    SyncReport,
    Usage,
)
from .tree import Tree

__all__ = ["Session", "Store", "open_store"]

_T = TypeVar("_T")
#: A summarizer may be an ordinary function or a coroutine function.
Summarizer = Callable[[str], Union[str, Awaitable[str]]]


async def _call(function: Callable[..., _T], *args: Any, **kwargs: Any) -> _T:
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(None, functools.partial(function, *args, **kwargs))


async def _ask(summarizer: Summarizer, request: str) -> str:
    answer: Any
    if inspect.iscoroutinefunction(summarizer):
        answer = summarizer(request)
    else:
        answer = await _call(summarizer, request)
    if inspect.isawaitable(answer):
        answer = await answer
    return str(answer)


def _whole(open: Callable[..., _session.Session], *args: Any, **options: Any) -> _session.Session:
    """Open a session and read all of it, so that no property reads a file on the loop's thread."""
    session = open(*args, **options)
    session.tree()
    return session


_END = object()


async def _iterate(items: Iterator[_T], batch: int = 256) -> AsyncIterator[_T]:
    """Iterate without holding up the loop: some items at a time on another thread."""

    def take() -> List[Any]:
        taken: List[Any] = []
        for _ in range(batch):
            item = next(items, _END)
            taken.append(item)
            if item is _END:
                break
        return taken

    while True:
        for item in await _call(take):
            if item is _END:
                return
            yield item


class Session:
    """A :class:`treering.Session` whose calls are awaited; ``sync_session`` is the one behind it."""

    __slots__ = ("sync_session",)

    def __init__(self, session: _session.Session) -> None:
        self.sync_session = session

    @classmethod
    def wrap(cls, session: _session.Session) -> Session:
        """Return a session for asyncio of an ordinary one."""
        return cls(session)

    @classmethod
    async def open(cls, path: StrPath, *, durability: Durability = "none") -> Session:
        """Open a session file."""
        return cls(await _call(_whole, _session.Session.open, path, durability=durability))

    @classmethod
    async def create(cls, path: StrPath, **options: Any) -> Session:
        """Create a session in a new file, with the options of :meth:`treering.Session.create`."""
        return cls(await _call(_session.Session.create, path, **options))

    @classmethod
    async def open_or_create(cls, path: StrPath, **options: Any) -> Session:
        """Open a session file, or create it if there is none."""
        return cls(await _call(_whole, _session.Session.open_or_create, path, **options))

    async def close(self) -> None:
        """Bring everything to disk and give up the session."""
        await _call(self.sync_session.close)

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<aio {self.sync_session!r}>"

    @property
    def id(self) -> str:
        """The id of the session."""
        return self.sync_session.id

    @property
    def path(self) -> Optional[Path]:
        """The file of the session."""
        return self.sync_session.path

    @property
    def leaf(self) -> Optional[str]:
        """The entry at which the session stands."""
        return self.sync_session.leaf

    def tree(self) -> Tree:
        """Return the shape of the session as it is now."""
        return self.sync_session.tree()

    async def context(self, at: At = Position.LEAF) -> Context:
        """Return what a model sees at a position."""
        return await _call(self.sync_session.context, at)

    async def entry(self, entry: str) -> _native.Entry:
        """Return an entry by its id."""
        return await _call(self.sync_session.entry, entry)

    def entries(self, *, after: Optional[str] = None) -> AsyncIterator[_native.Entry]:
        """Iterate over all entries, or over those ``after`` one of them."""
        return _iterate(self.sync_session.entries(after=after))

    def path_to(self, at: At = Position.LEAF) -> AsyncIterator[_native.Entry]:
        """Iterate over the entries from a root to a position."""
        return _iterate(self.sync_session.path_to(at))

    async def append(
        self,
        entry: NewEntry,
        *,
        id: Optional[str] = None,
        parent: Optional[At] = None,
        timestamp: Optional[int] = None,
        expecting: Optional[At] = None,
    ) -> str:
        """Append a message or an entry and return its id."""
        append = self.sync_session.append
        return await _call(
            append, entry, id=id, parent=parent, timestamp=timestamp, expecting=expecting
        )

    async def append_all(
        self, entries: Iterable[NewEntry], *, expecting: Optional[At] = None
    ) -> List[str]:
        """Append several entries in one write."""
        return await _call(self.sync_session.append_all, [*entries], expecting=expecting)

    async def branch(self, at: At, *, recorded: bool = True) -> Optional[str]:
        """Move the leaf to a position."""
        return await _call(self.sync_session.branch, at, recorded=recorded)

    async def label(self, entry: str, label: Optional[str]) -> str:
        """Label an entry; None removes the label."""
        return await _call(self.sync_session.label, entry, label)

    async def set_name(self, name: str) -> None:
        """Name the session."""
        await _call(setattr, self.sync_session, "name", name)

    async def drop_from_context(self, *entries: str) -> List[str]:
        """Leave entries out of the context from here on."""
        return await _call(self.sync_session.drop_from_context, *entries)

    async def replace_in_context(self, entry: str, text: str) -> List[str]:
        """Put a text in the place of an entry in the context from here on."""
        return await _call(self.sync_session.replace_in_context, entry, text)

    async def restore_in_context(self, *entries: str) -> List[str]:
        """Bring entries back into the context."""
        return await _call(self.sync_session.restore_in_context, *entries)

    async def redact(self, **options: Any) -> Tuple[Session, RedactionReport]:
        """Return a copy of the session in which secrets are replaced, and a report."""
        session, report = await _call(self.sync_session.redact, **options)
        return Session(session), report

    async def sync(self) -> None:
        """Wait until everything that was appended is on disk."""
        await _call(self.sync_session.sync)

    async def refresh(self) -> List[str]:
        """Read what other programs have appended."""
        return await _call(self.sync_session.refresh)

    async def follow(self) -> Optional[str]:
        """Read what other programs have appended, and move the leaf to where the file's is."""
        return await _call(self.sync_session.follow)

    async def compact(
        self,
        summarizer: Summarizer,
        *,
        instructions: Optional[str] = None,
        keep_recent_tokens: Optional[int] = None,
        reserve_tokens: Optional[int] = None,
    ) -> Optional[str]:
        """Compact the session with a summarizer; see :meth:`treering.Session.compact`."""
        plan = await _call(
            self.sync_session.plan_compaction,
            keep_recent_tokens=keep_recent_tokens,
            reserve_tokens=reserve_tokens,
        )
        if plan is None:
            return None
        requests = plan.history_request(instructions), plan.prefix_request(instructions)
        answers = [None if it is None else await _ask(summarizer, it) for it in requests]
        return await _call(self.sync_session.apply_compaction, plan, plan.compose(*answers))

    async def branch_with_summary(
        self,
        at: At,
        summary: Union[str, Summarizer],
        *,
        instructions: Optional[str] = None,
        details: JSON = None,
    ) -> Optional[str]:
        """Move the leaf and append a summary of the branch that is left."""
        text = summary
        if not isinstance(text, str):
            branch = await _call(self.sync_session.abandoned_branch, at)
            if branch.is_empty:
                await self.branch(at)
                return None
            answer = await _ask(text, branch.request(instructions))
            native = self.sync_session._native
            return await _call(native.apply_branch_summary, branch, at, answer, details, False)
        return await _call(self.sync_session.branch_with_summary, at, text, details=details)

    async def merge(
        self, source: At, *, summarizer: Optional[Summarizer] = None
    ) -> Union[Merged, str, None]:
        """Merge another branch into this one."""
        plan = await _call(self.sync_session.plan_merge, source)
        if plan is None:
            return None
        if summarizer is None:
            return await _call(self.sync_session.apply_merge, plan)
        summary = await _ask(summarizer, plan.conversation())
        return await _call(self.sync_session.apply_merge_summary, plan, summary)

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
        return await _call(
            self.sync_session.cherry_pick, first, last, source=other, again=again
        )

    async def fork(self, at: At = Position.LEAF, **options: Any) -> Session:
        """Create a new session of the path to a position, with the options of :meth:`treering.Session.fork`."""
        return Session(await _call(self.sync_session.fork, at, **options))

    async def stats(self, *, branch: Optional[At] = None) -> Stats:
        """Return counts and usage."""
        return await _call(self.sync_session.stats, branch=branch)

    async def usage(self, at: At = Position.LEAF) -> Usage:
        """Return the usage along the path to a position."""
        return await _call(self.sync_session.usage, at)

    async def search(self, query: str, **options: Any) -> Optional[SessionHits]:
        """Search all branches of the session."""
        return await _call(self.sync_session.search, query, **options)

    async def export(self, format: str = "html", **options: Any) -> str:
        """Return the session as a document."""
        text: str = await _call(self.sync_session.export, format, **options)
        return text

    async def convert(self, path: StrPath, dialect: str) -> ConversionReport:
        """Write the session as one of another agent to a new file."""
        return await _call(self.sync_session.convert, path, dialect)


class Store:
    """A :class:`treering.Store` whose calls are awaited; ``sync_store`` is the one behind it."""

    __slots__ = ("sync_store",)

    def __init__(self, store: _store.Store) -> None:
        self.sync_store = store

    def __repr__(self) -> str:
        return f"<aio {self.sync_store!r}>"

    def list(self, **query: Any) -> AsyncIterator[SessionInfo]:
        """Iterate over the sessions, newest first."""
        return _iterate(self.sync_store.list(**query))

    async def create(self, **options: Any) -> Session:
        """Create a session."""
        return Session(await _call(self.sync_store.create, **options))

    async def open(self, id: str, *, durability: Durability = "none") -> Session:
        """Open a session by its id."""
        return Session(await _call(_whole, self.sync_store.open, id, durability=durability))

    async def remove(self, id: str) -> None:
        """Remove a session."""
        await _call(self.sync_store.remove, id)

    async def search(self, query: str, **options: Any) -> SearchResult:
        """Search all sessions of the store."""
        return await _call(self.sync_store.search, query, **options)

    async def synchronize(self, other: Store, *, direction: str = "both") -> SyncReport:
        """Bring the sessions of this store and another one to the same state."""
        return await _call(self.sync_store.synchronize, other.sync_store, direction=direction)


async def open_store(
    address: StrPath, *, token: Optional[str] = None, space: Optional[str] = None
) -> Store:
    """Open a store: a directory, a server or a database."""
    return Store(await _call(_store.open_store, address, token=token, space=space))
