"""Reading and writing with :mod:`asyncio`: the part of :class:`treering.aio.Session` that needs no plans."""

from __future__ import annotations

import asyncio
import functools
from collections import deque
from pathlib import Path
from typing import (
    Any,
    AsyncIterator,
    Callable,
    Deque,
    Dict,
    Iterable,
    Iterator,
    List,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
    Union,
)

from . import _native
from . import session as _session
from ._plans import RESERVE_TOKENS
from ._types import At, Message, Position
from ._writing import NewEntry
from .context import Context
from .errors import InvalidError
from .listener import Change, Subscription
from .reports import ContextTokens, Finding, Header, SessionInfo, Upgrade
from .tree import Tree

_T = TypeVar("_T")


async def call(function: Callable[..., _T], *args: Any, **kwargs: Any) -> _T:
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(None, functools.partial(function, *args, **kwargs))


def whole(open: Callable[..., _session.Session], *args: Any, **options: Any) -> _session.Session:
    """Open a session and read all of it, so that no property reads a file on the loop's thread."""
    session = open(*args, **options)
    session.tree()
    return session


_END = object()


async def iterate(items: Iterator[_T], batch: int = 256) -> AsyncIterator[_T]:
    """Iterate without blocking the loop: some items at a time on another thread."""

    def take() -> List[Any]:
        taken: List[Any] = []
        for _ in range(batch):
            item = next(items, _END)
            taken.append(item)
            if item is _END:
                break
        return taken

    while True:
        for item in await call(take):
            if item is _END:
                return
            yield item


class WritableSession:
    """Facts, contexts, entries, appends, and what other programs have written."""

    __slots__ = ("sync_session",)

    def __init__(self, session: _session.Session) -> None:
        self.sync_session = session

    @property
    def id(self) -> str:
        """The id of the session."""
        return self.sync_session.id

    @property
    def path(self) -> Optional[Path]:
        """The file of the session."""
        return self.sync_session.path

    @property
    def cwd(self) -> str:
        """The directory of the session's project."""
        return self.sync_session.cwd

    @property
    def dialect(self) -> str:
        """The name of the format."""
        return self.sync_session.dialect

    @property
    def name(self) -> Optional[str]:
        """The name of the session; :meth:`set_name` sets it."""
        return self.sync_session.name

    @property
    def leaf(self) -> Optional[str]:
        """The leaf: the parent of the next entry; None before the first entry."""
        return self.sync_session.leaf

    @property
    def is_closed(self) -> bool:
        """Whether the session was closed."""
        return self.sync_session.is_closed

    @property
    def is_written(self) -> bool:
        """Whether the session's file exists yet."""
        return self.sync_session.is_written

    @property
    def log_length(self) -> int:
        """The length of the session's log in bytes."""
        return self.sync_session.log_length

    def tree(self) -> Tree:
        """Return the tree of the session at this moment."""
        return self.sync_session.tree()

    def header(self) -> Header:
        """Return the header of the session."""
        return self.sync_session.header()

    def resolve(self, text: str) -> str:
        """Return the id of the entry that a text names: an id, or the beginning of one."""
        return self.sync_session.resolve(text)

    def new_id(self) -> str:
        """Return an id that no entry has."""
        return self.sync_session.new_id()

    # Facts and reading.

    async def title(self) -> str:
        """Return the name of the session, or the first message of the user."""
        return await call(self.sync_session.title)

    async def info(self) -> SessionInfo:
        """Return the facts about the session that lists show."""
        return await call(self.sync_session.info)

    async def findings(self, *, all: bool = False) -> List[Finding]:
        """Return the findings of reading the session, or ``all`` findings."""
        return await call(self.sync_session.findings, all=all)

    async def check_writable(self) -> None:
        """Raise if the session cannot be written."""
        await call(self.sync_session.check_writable)

    async def context(self, at: At = Position.LEAF) -> Context:
        """Return what a model sees at a position."""
        return await call(self.sync_session.context, at)

    async def agent_context(self, at: At = Position.LEAF) -> Optional[Dict[str, Any]]:
        """Return the context exactly as the session's own agent builds it; None if it builds it as treering does."""
        return await call(self.sync_session.agent_context, at)

    async def context_tokens(self, at: At = Position.LEAF) -> ContextTokens:
        """Return the size of the context at a position."""
        return await call(self.sync_session.context_tokens, at)

    async def should_compact(
        self, context_window: int, *, reserve_tokens: int = RESERVE_TOKENS
    ) -> bool:
        """Return whether the context leaves less than ``reserve_tokens`` of a model's window."""
        should_compact = self.sync_session.should_compact
        return await call(should_compact, context_window, reserve_tokens=reserve_tokens)

    async def system_message(self, at: At = Position.LEAF) -> Optional[Message]:
        """Return the system message of a position."""
        return await call(self.sync_session.system_message, at)

    async def entry(self, entry: str) -> _native.Entry:
        """Return an entry by its id."""
        return await call(self.sync_session.entry, entry)

    def entries(self, *, after: Optional[str] = None) -> AsyncIterator[_native.Entry]:
        """Iterate over all entries, or over those ``after`` one of them."""
        return iterate(self.sync_session.entries(after=after))

    def __aiter__(self) -> AsyncIterator[_native.Entry]:
        return self.entries()

    def path_to(self, at: At = Position.LEAF) -> AsyncIterator[_native.Entry]:
        """Iterate over the entries from a root to a position."""
        return iterate(self.sync_session.path_to(at))

    # Writing.

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
        return await call(
            append, entry, id=id, parent=parent, timestamp=timestamp, expecting=expecting
        )

    async def append_all(
        self,
        entries: Iterable[NewEntry],
        *,
        expecting: Optional[At] = None,
        following: bool = False,
    ) -> List[str]:
        """Append several entries in one write; see :meth:`treering.Session.append_all`."""
        append_all = self.sync_session.append_all
        return await call(append_all, [*entries], expecting=expecting, following=following)

    async def append_each(
        self, batches: Iterable[Tuple[Sequence[NewEntry], Optional[At]]]
    ) -> List[Union[List[str], Exception]]:
        """Append batches of several writers in one write, each with its own outcome: the ids, or an exception."""
        return await call(self.sync_session.append_each, [*batches])

    async def append_late(
        self,
        entries: Iterable[NewEntry],
        parent: At,
        *,
        expecting: At = Position.LEAF,
        move_file: bool = False,
        move_own_from: Optional[At] = None,
    ) -> List[str]:
        """Append to a branch that the leaf may have left meanwhile; see :meth:`treering.Session.append_late`."""
        return await call(
            self.sync_session.append_late,
            [*entries],
            parent,
            expecting=expecting,
            move_file=move_file,
            move_own_from=move_own_from,
        )

    async def append_record(self, record: Union[NewEntry, str, bytes]) -> str:
        """Append a record in the shape of the session's own agent, byte for byte if it is a text or bytes."""
        return await call(self.sync_session.append_record, record)

    async def append_records(self, records: Iterable[Union[NewEntry, str, bytes]]) -> List[str]:
        """Append several records of the session's own agent in one write."""
        return await call(self.sync_session.append_records, [*records])

    async def branch(self, at: At, *, recorded: bool = True) -> Optional[str]:
        """Move the leaf to a position."""
        return await call(self.sync_session.branch, at, recorded=recorded)

    async def label(self, entry: str, label: Optional[str]) -> str:
        """Label an entry; None removes the label."""
        return await call(self.sync_session.label, entry, label)

    async def set_name(self, name: Optional[str]) -> None:
        """Name the session; None removes the name."""
        await call(setattr, self.sync_session, "name", name)

    async def sync(self) -> None:
        """Wait until everything that was appended is on disk."""
        await call(self.sync_session.sync)

    async def recreate(self) -> None:
        """Write the whole session to its path again, after its file was deleted."""
        await call(self.sync_session.recreate)

    async def refresh(self) -> List[str]:
        """Read what other programs have appended."""
        return await call(self.sync_session.refresh)

    async def follow(self) -> Optional[str]:
        """Read what other programs have appended, and move the leaf to the leaf of the file."""
        return await call(self.sync_session.follow)

    async def has_news(self) -> bool:
        """Return whether another program may have written to the session; for files that is always true."""
        return await call(self.sync_session.has_news)

    async def rewind_failed(self) -> List[str]:
        """Move the leaf before failed answers, and return their ids."""
        return await call(self.sync_session.rewind_failed)

    async def plan_upgrade(self) -> Optional[Upgrade]:
        """Return what :meth:`upgrade` would do; None if the file has the current version."""
        return await call(self.sync_session.plan_upgrade)

    async def upgrade(self) -> Optional[Upgrade]:
        """Upgrade a file of an older version; the old file is kept."""
        return await call(self.sync_session.upgrade)

    def on_change(self, listener: Callable[[Change], object]) -> Subscription:
        """Call an ordinary function after every change, on the thread of the call that made or read it.

        :meth:`changes` is the same for tasks.
        """
        return self.sync_session.on_change(listener)

    async def changes(self, *, interval: float = 0.2) -> AsyncIterator[Change]:
        """Iterate over the changes of this session and of other programs from now on, until the session is closed.

        What other programs have written is read every ``interval`` seconds.
        """
        found: Deque[Change] = deque()
        with self.on_change(found.append):
            while not self.is_closed:
                try:
                    if not found and await self.has_news():
                        await self.refresh()
                except InvalidError as error:
                    if error.code != "closed":
                        raise
                if not found:
                    await asyncio.sleep(interval)
                while found:
                    yield found.popleft()
