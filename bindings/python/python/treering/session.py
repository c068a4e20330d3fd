"""Sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, List, Mapping, Optional, Tuple, Union, overload

from . import _native
from ._options import create_options, directory_or_cwd
from ._plans import PlannedSession
from ._types import At, Durability, Position, StrPath
from .errors import InvalidError
from .reports import ConversionReport, Outcome, RedactionReport

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Type

    from .store import Store

__all__ = ["Session"]


class Session(PlannedSession):
    """An open session: a tree of entries in a file, in memory or in a store.

    >>> session = Session.in_memory()
    >>> question = session.append({"role": "user", "content": "Name a color."})
    >>> _ = session.append(treering.assistant("Red.", provider="acme", model="m"))
    >>> session.branch(question) == question
    True
    >>> _ = session.append(treering.assistant("Blue.", provider="acme", model="m"))
    >>> [message["content"][0]["text"] for message in session.context() if message["role"] == "assistant"]
    ['Blue.']

    Sessions may be used by many threads. Leaving a ``with`` block brings everything to disk and closes the session.
    """

    __slots__ = ()

    # Opening and creating.

    @classmethod
    def create(
        cls,
        path: StrPath,
        *,
        cwd: Optional[StrPath] = None,
        id: Optional[str] = None,
        dialect: Optional[str] = None,
        parent_session: Optional[StrPath] = None,
        system_prompt: Optional[str] = None,
        headerless: bool = False,
        creation: str = "first_message",
        durability: Durability = "none",
    ) -> Session:
        """Create a session in a new file.

        ``creation`` tells when the file appears: with the ``"first_message"``, the ``"first_assistant_message"``, or
        ``"at_once"``. ``durability`` is what an append guarantees: ``"none"`` that it survives the process,
        ``"batched"`` (or a number of seconds) that it is on disk shortly after, ``"each"`` that it is on disk.
        """
        options = create_options(
            id, dialect, parent_session, system_prompt, headerless, creation, durability
        )
        return cls(_native.Session.create(path, directory_or_cwd(cwd), options))

    @classmethod
    def open(cls, path: StrPath, *, durability: Durability = "none") -> Session:
        """Open a session file of any agent. Opening writes nothing.

        Of a long file the header and the end are read, if they determine what the model sees; the rest is read by the
        first call that needs it, which then raises what is wrong with the rest. Either way the session is the one of
        the moment when it was opened.
        """
        return cls(_native.Session.open(path, durability))

    @classmethod
    def open_or_create(
        cls,
        path: StrPath,
        *,
        cwd: Optional[StrPath] = None,
        id: Optional[str] = None,
        dialect: Optional[str] = None,
        creation: str = "first_message",
        durability: Durability = "none",
    ) -> Session:
        """Open a session file, as :meth:`open` does, or create it if there is none."""
        options = create_options(id, dialect, creation=creation, durability=durability)
        return cls(_native.Session.open_or_create(path, directory_or_cwd(cwd), options))

    @classmethod
    def in_memory(
        cls,
        *,
        cwd: Optional[StrPath] = None,
        id: Optional[str] = None,
        dialect: Optional[str] = None,
        system_prompt: Optional[str] = None,
    ) -> Session:
        """Create a session that has no file."""
        options = create_options(id, dialect, system_prompt=system_prompt)
        return cls(_native.Session.in_memory(directory_or_cwd(cwd), options))

    def close(self) -> None:
        """Write everything to disk and close the session. Calls after that raise; a second ``close`` does nothing."""
        self._native.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def __reduce__(self) -> Tuple[Callable[..., Session], Tuple[Any, ...]]:
        path = None if self._native.is_closed else self._native.path
        if path is not None:
            return type(self).open, (path,)
        if self._store is not None and not self._native.is_closed:
            return _open_in, (self._store, self.id)
        raise TypeError("only open sessions of a file or a store can be pickled: they are opened again")

    def __repr__(self) -> str:
        if self._native.is_closed:
            return f"<Session {self.id} (closed)>"
        path = self.path
        if path is None and self._store is not None:
            place = f"in {self._store.location}"
        else:
            place = "in memory" if path is None else f"in {str(path)!r}"
        return f"<Session {self.id} {place}, {len(self.tree())} entries>"

    # Forks, conversions, documents.

    def fork(
        self,
        at: At = Position.LEAF,
        *,
        id: Optional[str] = None,
        dialect: Optional[str] = None,
        directory: Optional[StrPath] = None,
        root: Optional[StrPath] = None,
        cwd: Optional[StrPath] = None,
        store: Optional[Store] = None,
        creation: Optional[str] = None,
        durability: Durability = "none",
    ) -> Session:
        """Create a new session of the path to a position, beside this one, in a ``directory`` or in a ``store``.

        Beside a session that has no file is in its store, if it came from one, and in memory otherwise.
        """
        options = {
            "id": id,
            "dialect": dialect,
            "directory": directory,
            "root": root,
            "cwd": cwd,
            "creation": creation,
            "durability": durability,
        }
        if store is None and directory is None and root is None and self.path is None:
            store = self._store
        if store is None:
            return Session(self._native.fork(at, options))
        return Session(self._native.fork_into(store._native, at, options), store)

    def copy_to(self, path: StrPath) -> None:
        """Write the whole log, byte for byte, to a new file."""
        self._native.copy_to(path)

    def plan_conversion(self, dialect: str, *, path_to: Optional[At] = None) -> List[Outcome]:
        """Return what a conversion would carry, adapt and leave out."""
        return [Outcome(**it) for it in self._native.plan_conversion(dialect, path_to)]

    def convert(
        self, path: StrPath, dialect: str, *, path_to: Optional[At] = None
    ) -> ConversionReport:
        """Write the session as one of another agent to a new file, and verify it."""
        return ConversionReport.from_dict(self._native.convert(path, dialect, path_to))

    @overload
    def export(
        self,
        format: str = ...,
        path: None = None,
        *,
        branch: Optional[At] = ...,
        subtree: Optional[str] = ...,
        thinking: bool = ...,
        full: bool = ...,
    ) -> str: ...

    @overload
    def export(
        self,
        format: str,
        path: StrPath,
        *,
        branch: Optional[At] = ...,
        subtree: Optional[str] = ...,
        thinking: bool = ...,
        full: bool = ...,
        replace: bool = ...,
    ) -> int: ...

    def export(
        self,
        format: str = "html",
        path: Optional[StrPath] = None,
        *,
        branch: Optional[At] = None,
        subtree: Optional[str] = None,
        thinking: bool = False,
        full: bool = False,
        replace: bool = False,
    ) -> Union[str, int]:
        """Return the session as ``"html"``, ``"markdown"``, ``"json"`` or ``"jsonl"``.

        With a ``path`` the document is written to a new file instead, and its size is returned. ``branch`` and
        ``subtree`` choose a part of the session.
        """
        if branch is not None and subtree is not None:
            raise InvalidError("give a branch or a subtree, not both", "invalid_option")
        return self._native.export(format, path, branch, subtree, thinking, full, replace)

    def redact(
        self,
        *,
        emails: bool = False,
        home: bool = False,
        patterns: Optional[Mapping[str, str]] = None,
    ) -> Tuple[Session, RedactionReport]:
        """Return a copy of the session in which secrets are replaced, and a report.

        The copy is in memory or in a file without a name: :meth:`copy_to`, :meth:`export` or :meth:`fork` keep it.
        """
        session, report = self._native.redact(emails, home, list((patterns or {}).items()))
        return Session(session), RedactionReport.from_dict(report)


def _open_in(store: Store, id: str) -> Session:
    return store.open(id)
