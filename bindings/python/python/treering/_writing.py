"""Writing to sessions: the part of :class:`treering.Session` that appends."""

from __future__ import annotations

import time
from collections import deque
from typing import (
    Any,
    Callable,
    Deque,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Union,
)

from ._reading import ReadableSession
from ._types import At, Position
from .listener import Change, Subscription
from .reports import Upgrade

__all__ = ["NewEntry", "WritableSession"]

#: A message or an entry as a dict.
NewEntry = Mapping[str, Any]


class WritableSession(ReadableSession):
    """Appends, branches, labels, and what other programs have written."""

    __slots__ = ()

    # Writing.

    def append(
        self,
        entry: NewEntry,
        *,
        id: Optional[str] = None,
        parent: Optional[At] = None,
        timestamp: Optional[int] = None,
        expecting: Optional[At] = None,
    ) -> str:
        """Append a message or an entry after the leaf and return its id.

        ``parent`` names another parent; ``expecting`` raises :class:`ConflictError` if another writer has moved the
        leaf; ``timestamp`` is in Unix milliseconds.
        """
        return self._native.append(entry, id, parent, timestamp, expecting)

    def append_all(
        self,
        entries: Iterable[NewEntry],
        *,
        expecting: Optional[At] = None,
        following: bool = False,
    ) -> List[str]:
        """Append several entries in one write: all of them, or none.

        With ``following`` they go after the leaf of the file, wherever other programs have moved it.
        """
        return self._native.append_all(list(entries), expecting, following)

    def append_late(
        self,
        entries: Iterable[NewEntry],
        parent: At,
        *,
        expecting: At = Position.LEAF,
        move_file: bool = False,
        move_own_from: Optional[At] = None,
    ) -> List[str]:
        """Append entries below ``parent``, a branch that the leaf may have left meanwhile, and move no leaf.

        This is for what took long, such as the answer of a model: it belongs to the branch of its question, but does
        not bring back a user who has gone elsewhere. ``move_file`` moves the leaf of the file, ``move_own_from`` that
        of this session if it is there. Raises :class:`ConflictError` if the leaf of the file is not ``expecting``.
        """
        native = self._native
        return native.append_late([*entries], parent, expecting, move_file, move_own_from)

    def append_each(
        self, batches: Iterable[Tuple[Sequence[NewEntry], Optional[At]]]
    ) -> List[Union[List[str], Exception]]:
        """Append batches of several writers in one write, each with its own outcome: the ids, or an exception."""
        return self._native.append_each([(list(entries), at) for entries, at in batches])

    def append_record(self, record: Union[NewEntry, str, bytes]) -> str:
        """Append a record in the shape of the session's own agent, byte for byte if it is a text or bytes."""
        return self._native.append_record(record)

    def append_records(self, records: Iterable[Union[NewEntry, str, bytes]]) -> List[str]:
        """Append several records of the session's own agent in one write."""
        return self._native.append_records(list(records))

    def new_id(self) -> str:
        """Return an id that no entry has."""
        return self._native.new_id()

    def branch(self, at: At, *, recorded: bool = True) -> Optional[str]:
        """Move the leaf to a position, so that the next entry begins a branch there. Returns the new leaf.

        With ``recorded=False`` the file does not record it until something is appended.
        """
        return self._native.branch(at, recorded)

    def label(self, entry: str, label: Optional[str]) -> str:
        """Label an entry; None removes the label."""
        return self._native.label(entry, label)

    def sync(self) -> None:
        """Wait until everything that was appended is on disk."""
        self._native.sync()

    def recreate(self) -> None:
        """Write the whole session to its path again, after its file was deleted."""
        self._native.recreate()

    def refresh(self) -> List[str]:
        """Read what other programs have appended and return the ids of the new entries. The leaf stays."""
        return self._native.refresh()

    def follow(self) -> Optional[str]:
        """Read what other programs have appended, and move the leaf to the leaf of the file. Returns it."""
        self._native.refresh()
        return self._native.follow()

    def has_news(self) -> bool:
        """Return whether another program may have written to the session; for files that is always true."""
        return self._native.has_news()

    def rewind_failed(self) -> List[str]:
        """Move the leaf before failed answers, and return their ids."""
        return self._native.rewind_failed()

    def plan_upgrade(self) -> Optional[Upgrade]:
        """Return what :meth:`upgrade` would do; None if the file has the current version."""
        data = self._native.upgrade(False)
        return None if data is None else Upgrade.from_dict(data)

    def upgrade(self) -> Optional[Upgrade]:
        """Upgrade a file of an older version; the old file is kept."""
        data = self._native.upgrade(True)
        return None if data is None else Upgrade.from_dict(data)

    def on_change(self, listener: Callable[[Change], object]) -> Subscription:
        """Call a function after every change of the session.

        It runs on the thread of the call that made or read the change. An exception that it raises comes out of that
        call; what the call wrote stays written.
        """

        def tell(entries: List[str], is_own: bool) -> None:
            listener(Change(entries, is_own))

        return Subscription(self._native.on_change(tell))

    def changes(self, *, interval: float = 0.2) -> Iterator[Change]:
        """Iterate over the changes of this session and of other programs from now on, until the session is closed.

        What other programs have written is read every ``interval`` seconds.
        """
        found: Deque[Change] = deque()
        with self.on_change(found.append):
            while not self.is_closed:
                if not found and self.has_news():
                    self.refresh()
                if not found:
                    time.sleep(interval)
                while found:
                    yield found.popleft()
