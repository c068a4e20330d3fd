"""Listeners: functions that are called after changes."""

from __future__ import annotations

from typing import List

from . import _native

__all__ = ["Change", "Subscription"]


class Change:
    """A change of a session, as listeners receive it."""

    __slots__ = ("entries", "is_own")

    def __init__(self, entries: List[str], is_own: bool) -> None:
        #: The ids of the new entries.
        self.entries = entries
        #: Whether this session wrote them, and not another program or another session object.
        self.is_own = is_own

    def __repr__(self) -> str:
        return f"Change(entries={self.entries!r}, is_own={self.is_own!r})"


class Subscription:
    """A function that is called after changes, until it is canceled or its ``with`` block ends."""

    __slots__ = ("_is_cancelled", "_listener")

    def __init__(self, listener: _native.Listener) -> None:
        self._listener = listener
        self._is_cancelled = False

    def __repr__(self) -> str:
        return "<Subscription (cancelled)>" if self._is_cancelled else "<Subscription>"

    def cancel(self) -> None:
        """End the calls of the function."""
        self._is_cancelled = True
        self._listener.cancel()

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()
