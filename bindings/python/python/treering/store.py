"""Stores: sessions in a directory, on a server or in a database."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple

from . import _native
from ._options import create_options, directory_or_cwd, search_options
from ._types import Durability, StrPath
from .reports import SearchResult, SessionInfo, SyncReport
from .session import Session

__all__ = ["Store", "local_store", "memory_store", "open_store"]


class Store:
    """A store of sessions; see :func:`open_store`."""

    __slots__ = ("_address", "_native")

    def __init__(self, native: _native.Store, address: Optional[Tuple[str, Optional[str]]] = None) -> None:
        self._native = native
        self._address = address

    def __repr__(self) -> str:
        return f"<Store {self.location}>"

    def __reduce__(self) -> Tuple[Callable[..., Store], Tuple[Any, ...]]:
        if self._address is None:
            raise TypeError("a store in memory, or one that was opened with a token, cannot be pickled")
        address, space = self._address
        return _reopen, (address, space)

    @property
    def location(self) -> str:
        """Where the sessions are, for people; without passwords."""
        return self._native.location

    def list(
        self,
        *,
        agent: Optional[str] = None,
        cwd: Optional[StrPath] = None,
        since: Optional[int] = None,
        until: Optional[int] = None,
        limit: Optional[int] = None,
    ) -> Iterator[SessionInfo]:
        """Iterate over the sessions, newest first. Pages are read as they are needed.

        ``since`` and ``until`` are times in Unix milliseconds.
        """
        directory = None if cwd is None else os.fspath(cwd)
        cursor: Optional[str] = None
        left = limit
        while left is None or left > 0:
            page, cursor = self._native.list(agent, directory, since, until, left, cursor)
            for item in page[:left]:
                yield SessionInfo.from_dict(item)
            if left is not None:
                left -= len(page)
            if cursor is None:
                return

    def __iter__(self) -> Iterator[SessionInfo]:
        return self.list()

    def create(
        self,
        *,
        cwd: Optional[StrPath] = None,
        id: Optional[str] = None,
        dialect: Optional[str] = None,
        parent_session: Optional[StrPath] = None,
        creation: str = "first_message",
        durability: Durability = "none",
    ) -> Session:
        """Create a session."""
        options = create_options(
            id, dialect, parent_session, creation=creation, durability=durability
        )
        return Session(self._native.create(directory_or_cwd(cwd), options), self)

    def open(self, id: str, *, durability: Durability = "none") -> Session:
        """Open a session by its id."""
        return Session(self._native.open(id, durability), self)

    def continue_recent(
        self,
        *,
        cwd: Optional[StrPath] = None,
        dialect: Optional[str] = None,
        creation: str = "first_message",
        durability: Durability = "none",
    ) -> Session:
        """Open the session of a project that was written last, or create one if there is none that can be written."""
        options = create_options(dialect=dialect, creation=creation, durability=durability)
        return Session(self._native.continue_recent(directory_or_cwd(cwd), options), self)

    def file(self, id: str) -> Optional[Path]:
        """Return the file of a session; None if the store has no files."""
        path = self._native.file(id)
        return None if path is None else Path(path)

    def remove(self, id: str) -> None:
        """Remove a session."""
        self._native.remove(id)

    def has_news(self) -> bool:
        """Return whether something may have changed since it was last asked."""
        return self._native.has_news()

    def changes(self, since: Optional[str] = None) -> Tuple[Dict[str, Optional[int]], str]:
        """Return the sessions that changed since a mark, with the lengths of their logs, and the next mark.

        The length of a session that was removed is None.
        """
        sessions, mark = self._native.changes(since)
        return dict(sessions), mark

    def search(
        self,
        query: str,
        *,
        case_sensitive: bool = False,
        by_relevance: bool = False,
        max_hits: Optional[int] = None,
        hits_per_session: Optional[int] = None,
        snippet_width: Optional[int] = None,
    ) -> SearchResult:
        """Search all sessions of the store."""
        options = search_options(
            case_sensitive, by_relevance, max_hits, hits_per_session, snippet_width
        )
        return SearchResult.from_dict(self._native.search(query, options))

    def synchronize(
        self, other: Store, *, direction: str = "both", sessions: Optional[Iterable[str]] = None
    ) -> SyncReport:
        """Bring the sessions of this store and another one to the same state.

        ``direction`` is ``"both"``, ``"push"`` (to the other one) or ``"pull"``.
        """
        ids: Optional[List[str]] = None
        if sessions is not None:
            ids = [sessions] if isinstance(sessions, str) else [*sessions]
        return SyncReport(**self._native.synchronize(other._native, direction, ids))


def _reopen(address: str, space: Optional[str]) -> Store:
    return open_store(address, space=space)


def open_store(
    address: StrPath, *, token: Optional[str] = None, space: Optional[str] = None
) -> Store:
    """Open a store: a directory, a server (``https://HOST``) or a database (``postgres://USER@HOST/DATABASE``).

    ``token`` is for a server, ``space`` for a database.
    """
    text = os.fspath(address)
    native = _native.open_store(text, token, space)
    return Store(native, None if token is not None else (text, space))


def memory_store() -> Store:
    """Return an empty store in memory."""
    return Store(_native.memory_store())


def local_store() -> Store:
    """Return the sessions of all agents on this machine as a store. What is removed goes to the trash."""
    return Store(_native.local_store())
