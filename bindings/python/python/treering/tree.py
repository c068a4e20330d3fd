"""The shape of a session."""

from __future__ import annotations

from typing import Dict, Iterator, List, Optional

from . import _native
from .reports import TreeItem

__all__ = ["Tree"]


class Tree:
    """The shape of a session at one moment. It never changes.

    With ``conversation=True`` the methods leave out bookkeeping entries, as user interfaces do.
    """

    __slots__ = ("_native",)

    def __init__(self, native: _native.Tree) -> None:
        self._native = native

    def __len__(self) -> int:
        return len(self._native)

    def __contains__(self, entry: object) -> bool:
        return isinstance(entry, str) and entry in self._native

    def __iter__(self) -> Iterator[TreeItem]:
        return self.walk()

    def __repr__(self) -> str:
        return repr(self._native)

    def ids(self) -> List[str]:
        """Return the ids of all entries, in the order of the file."""
        return self._native.ids()

    def roots(self, *, conversation: bool = False) -> List[str]:
        """Return the entries that have no parent."""
        return self._native.roots(conversation)

    def leaves(self, *, conversation: bool = False) -> List[str]:
        """Return the entries that have no children."""
        return self._native.leaves(conversation)

    def branch_points(self, *, conversation: bool = False) -> List[str]:
        """Return the entries that have several children."""
        return self._native.branch_points(conversation)

    def children(self, entry: str, *, conversation: bool = False) -> List[str]:
        """Return the children of an entry."""
        return self._native.children(entry, conversation)

    def parent(self, entry: str, *, conversation: bool = False) -> Optional[str]:
        """Return the parent of an entry."""
        return self._native.parent(entry, conversation)

    def path(self, entry: str) -> List[str]:
        """Return the ids from a root to an entry."""
        return self._native.path(entry)

    def depth(self, entry: str) -> int:
        """Return the number of entries above an entry."""
        return self._native.depth(entry)

    def common_ancestor(self, a: str, b: str) -> Optional[str]:
        """Return the last entry that is on the paths to both."""
        return self._native.common_ancestor(a, b)

    def is_ancestor(self, ancestor: str, entry: str) -> bool:
        """Return whether an entry is on the path to another one."""
        return self._native.is_ancestor(ancestor, entry)

    def kind(self, entry: str) -> Optional[str]:
        """Return the type of an entry; None if treering does not know it."""
        return self._native.kind(entry)

    def role(self, entry: str) -> Optional[str]:
        """Return the role of the message of an entry."""
        return self._native.role(entry)

    def label(self, entry: str) -> Optional[str]:
        """Return the label of an entry."""
        return self._native.label(entry)

    def labels(self) -> Dict[str, str]:
        """Return all labels by entry."""
        return {entry: label for entry, label, _ in self._native.labels()}

    @property
    def file_leaf(self) -> Optional[str]:
        """The leaf at which a program that opens the file begins."""
        return self._native.file_leaf

    def walk(self, *, conversation: bool = False) -> Iterator[TreeItem]:
        """Iterate over all entries, parents before their children."""
        for item in self._native.walk(conversation):
            yield TreeItem.from_dict(item)
