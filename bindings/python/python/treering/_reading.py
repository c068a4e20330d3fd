"""Reading sessions: the part of :class:`treering.Session` that reads entries, trees and contexts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional

from . import _native
from ._options import search_options
from ._types import At, Message, Position
from .context import Context
from .errors import InvalidError
from .reports import (
    Branch,
    ContextTokens,
    Diff,
    Finding,
    Header,
    SessionHits,
    SessionInfo,
    Stats,
    Usage,
)
from .tree import Tree

if TYPE_CHECKING:
    from .store import Store

__all__ = ["ReadableSession"]


class ReadableSession:
    """Facts, contexts, entries, usage and searches of a session."""

    __slots__ = ("__weakref__", "_native", "_store")

    def __init__(self, native: _native.Session, store: Optional[Store] = None) -> None:
        self._native = native
        #: The store that the session is in, if it came from one.
        self._store = store

    # Facts.

    @property
    def id(self) -> str:
        """The id of the session."""
        return self._native.id

    @property
    def path(self) -> Optional[Path]:
        """The file of the session."""
        path = self._native.path
        return None if path is None else Path(path)

    @property
    def cwd(self) -> str:
        """The directory of the session's project."""
        return self._native.cwd

    @property
    def dialect(self) -> str:
        """The name of the format: ``"pi"``, ``"chimera"``, ``"claude-code"`` …"""
        return self._native.dialect

    @property
    def name(self) -> Optional[str]:
        """The name of the session. Setting it appends an entry."""
        return self._native.name

    @name.setter
    def name(self, name: Optional[str]) -> None:
        self._native.set_name(name or "")

    @property
    def leaf(self) -> Optional[str]:
        """The leaf: the parent of the next entry; None before the first entry."""
        return self._native.leaf

    @property
    def is_closed(self) -> bool:
        """Whether the session was closed."""
        return self._native.is_closed

    @property
    def is_written(self) -> bool:
        """Whether the session's file exists yet."""
        return self._native.is_written

    @property
    def log_length(self) -> int:
        """The length of the session's log in bytes."""
        return self._native.log_length

    def title(self) -> str:
        """Return the name of the session, or the first message of the user."""
        return self._native.title()

    def header(self) -> Header:
        """Return the header of the session."""
        return Header.from_dict(self._native.header())

    def info(self) -> SessionInfo:
        """Return the facts about the session that lists show."""
        return SessionInfo.from_dict(self._native.info())

    def findings(self, *, all: bool = False) -> List[Finding]:
        """Return the findings of reading the session, or ``all`` findings."""
        return [Finding.from_dict(it) for it in self._native.findings(all)]

    def check_writable(self) -> None:
        """Raise if the session cannot be written."""
        self._native.check_writable()

    # Reading.

    def context(self, at: At = Position.LEAF) -> Context:
        """Return what a model sees at a position."""
        return Context(self._native.context(at))

    def agent_context(self, at: At = Position.LEAF) -> Optional[Dict[str, Any]]:
        """Return the context exactly as the session's own agent builds it; None if it builds it as treering does."""
        return self._native.agent_context(at)

    def context_tokens(self, at: At = Position.LEAF) -> ContextTokens:
        """Return the size of the context at a position."""
        return ContextTokens(**self._native.context_tokens(at))

    def system_message(self, at: At = Position.LEAF) -> Optional[Message]:
        """Return the system message of a position."""
        return self._native.system_message(at)

    def entry(self, entry: str) -> _native.Entry:
        """Return an entry by its id."""
        return self._native.entry(entry)

    def entries(self, *, after: Optional[str] = None) -> Iterator[_native.Entry]:
        """Iterate over all entries in the order of the file, or over those ``after`` one of them."""
        return self._native.entries() if after is None else self._native.entries_after(after)

    def __iter__(self) -> Iterator[_native.Entry]:
        return self._native.entries()

    def path_to(self, at: At = Position.LEAF) -> Iterator[_native.Entry]:
        """Iterate over the entries from a root to a position."""
        return self._native.path_to(at)

    def resolve(self, text: str) -> str:
        """Return the id of the entry that a text names: an id, or the beginning of one."""
        return self._native.resolve(text)

    def tree(self) -> Tree:
        """Return the tree of the session at this moment."""
        return Tree(self._native.tree())

    # Usage and differences.

    def should_compact(self, context_window: int, *, reserve_tokens: int = 16_384) -> bool:
        """Return whether the context leaves less than ``reserve_tokens`` of a model's window."""
        return self.context_tokens().tokens + reserve_tokens > context_window

    def stats(self, *, branch: Optional[At] = None, subtree: Optional[str] = None) -> Stats:
        """Return counts and usage of the whole session, of one branch, or of an entry and everything below it."""
        if branch is not None and subtree is not None:
            raise InvalidError("give a branch or a subtree, not both", "invalid_option")
        return Stats.from_dict(self._native.stats(branch, subtree))

    def usage(self, at: At = Position.LEAF) -> Usage:
        """Return the usage along the path to a position."""
        return Usage.from_dict(self._native.usage(at))

    def entry_usage(self, entry: str) -> Optional[Usage]:
        """Return the usage that one entry reports."""
        data = self._native.entry_usage(entry)
        return None if data is None else Usage.from_dict(data)

    def branches(self) -> List[Branch]:
        """Return all branches with their usage."""
        return [Branch.from_dict(it) for it in self._native.branches()]

    def diff(self, a: At, b: At = Position.LEAF, *, other: Optional[ReadableSession] = None) -> Diff:
        """Compare two branches since their common ancestor; with ``other``, ``b`` is in that session."""
        native = None if other is None else other._native
        return Diff.from_dict(self._native.diff(a, b, native))

    def search(
        self,
        query: str,
        *,
        case_sensitive: bool = False,
        max_hits: Optional[int] = None,
        snippet_width: Optional[int] = None,
    ) -> Optional[SessionHits]:
        """Search all branches of the session; None if nothing was found."""
        options = search_options(
            case_sensitive, hits_per_session=max_hits, snippet_width=snippet_width
        )
        data = self._native.search(query, options)
        return None if data is None else SessionHits.from_dict(data)
