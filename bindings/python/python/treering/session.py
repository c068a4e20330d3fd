"""Sessions."""

from __future__ import annotations

from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Union,
    overload,
)

from . import _native
from ._options import create_options, directory_or_cwd, search_options
from ._types import JSON, At, Durability, Message, Position, StrPath
from .context import Context
from .errors import InvalidError
from .listener import Change, Subscription
from .reports import (
    Branch,
    ContextTokens,
    ConversionReport,
    Diff,
    Finding,
    Header,
    Merged,
    Outcome,
    RedactionReport,
    SessionHits,
    SessionInfo,
    Stats,
    Upgrade,
    Usage,
)
from .tree import Tree

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Type

    from .store import Store

__all__ = ["Session"]

#: A message or an entry as a dict.
NewEntry = Mapping[str, Any]
#: Called with the text of a request; returns the summary.
Summarizer = Callable[[str], str]


class Session:
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

    __slots__ = ("__weakref__", "_native")

    def __init__(self, native: _native.Session) -> None:
        self._native = native

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
        ``"at_once"``. ``durability`` tells what an append guarantees: ``"none"`` that it survives the process,
        ``"batched"`` (or a number of seconds) that it is on disk shortly after, ``"each"`` that it is on disk.
        """
        options = create_options(
            id, dialect, parent_session, system_prompt, headerless, creation, durability
        )
        return cls(_native.Session.create(path, directory_or_cwd(cwd), options))

    @classmethod
    def open(cls, path: StrPath, *, durability: Durability = "none") -> Session:
        """Open a session file of any agent. Opening writes nothing."""
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
        """Open a session file, or create it if there is none."""
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
        """Bring everything to disk and give up the session. Calls after that raise; a second ``close`` does nothing."""
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
        if path is None:
            raise TypeError("only open sessions that have a file can be pickled: the file is opened again")
        return Session.open, (path,)

    def __repr__(self) -> str:
        if self._native.is_closed:
            return "<Session (closed)>"
        path = self.path
        place = "in memory" if path is None else f"in {str(path)!r}"
        return f"<Session {self.id} {place}, {len(self.tree())} entries>"

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
        """The entry at which the session stands: the next one becomes its child."""
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
        """Return the name of the session, or the first thing that the user said."""
        return self._native.title()

    def header(self) -> Header:
        """Return the header of the session."""
        return Header.from_dict(self._native.header())

    def info(self) -> SessionInfo:
        """Return the facts about the session that lists show."""
        return SessionInfo.from_dict(self._native.info())

    def findings(self, *, all: bool = False) -> List[Finding]:
        """Return everything odd about the session: what reading showed, or ``all`` that doctor finds."""
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
        """Return the id of the entry that a text means: an id, or the beginning of one."""
        return self._native.resolve(text)

    def tree(self) -> Tree:
        """Return the shape of the session as it is now."""
        return Tree(self._native.tree())

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

    def append_all(self, entries: Iterable[NewEntry], *, expecting: Optional[At] = None) -> List[str]:
        """Append several entries in one write: all of them, or none."""
        return self._native.append_all(list(entries), expecting)

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

        With ``recorded=False`` the file does not tell of it, as long as nothing is appended.
        """
        return self._native.branch(at, recorded)

    def label(self, entry: str, label: Optional[str]) -> str:
        """Label an entry; None removes the label."""
        return self._native.label(entry, label)

    def sync(self) -> None:
        """Wait until everything that was appended is on disk."""
        self._native.sync()

    def refresh(self) -> List[str]:
        """Read what other programs have appended and return the ids of the new entries. The leaf stays."""
        return self._native.refresh()

    def follow(self) -> Optional[str]:
        """Read what other programs have appended, and move the leaf to where the file's is. Returns it."""
        self._native.refresh()
        return self._native.follow()

    def has_news(self) -> bool:
        """Return whether another program may have written to the session; for files that is always true."""
        return self._native.has_news()

    def rewind_failed(self) -> List[str]:
        """Go back before failed answers at the leaf, and return their ids."""
        return self._native.rewind_failed()

    def plan_upgrade(self) -> Optional[Upgrade]:
        """Return what :meth:`upgrade` would do; None if the file is of the present version."""
        data = self._native.upgrade(False)
        return None if data is None else Upgrade.from_dict(data)

    def upgrade(self) -> Optional[Upgrade]:
        """Turn a file of an older version into one of the present; the old file is kept."""
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

    # Compaction and summaries.

    def plan_compaction(
        self,
        at: At = Position.LEAF,
        *,
        keep_recent_tokens: Optional[int] = None,
        reserve_tokens: Optional[int] = None,
    ) -> Optional[_native.CompactionPlan]:
        """Return what a compaction would summarize and keep; None if there is nothing to compact."""
        plan, _ = self._native.plan_compaction(at, keep_recent_tokens, reserve_tokens)
        return plan

    def apply_compaction(
        self,
        plan: _native.CompactionPlan,
        summary: str,
        *,
        details: JSON = None,
        from_hook: bool = False,
    ) -> str:
        """Append the compaction of a plan and return its id; raises if the leaf has moved since."""
        return self._native.apply_compaction(plan, summary, details, from_hook)

    def compact(
        self,
        summarizer: Summarizer,
        *,
        instructions: Optional[str] = None,
        keep_recent_tokens: Optional[int] = None,
        reserve_tokens: Optional[int] = None,
    ) -> Optional[str]:
        """Compact the session with a summarizer: a function from the text of a request to a summary.

        Returns the id of the compaction, or None if there is nothing to compact. If the summarizer raises, nothing has
        changed. ``CompactionPlan.SUMMARIZER_ROLE`` is a system prompt for the model behind it.
        """
        plan = self.plan_compaction(
            keep_recent_tokens=keep_recent_tokens, reserve_tokens=reserve_tokens
        )
        if plan is None:
            return None
        history_request = plan.history_request(instructions)
        prefix_request = plan.prefix_request(instructions)
        history = None if history_request is None else summarizer(history_request)
        prefix = None if prefix_request is None else summarizer(prefix_request)
        return self.apply_compaction(plan, plan.compose(history, prefix))

    def abandoned_branch(
        self,
        to: At,
        *,
        leaving: At = Position.LEAF,
        context_window: Optional[int] = None,
        reserve_tokens: int = 16_384,
    ) -> _native.AbandonedBranch:
        """Return the entries that are left behind when the leaf moves ``to`` a position."""
        return self._native.abandoned_branch(leaving, to, context_window, reserve_tokens)

    def branch_with_summary(
        self,
        at: At,
        summary: Union[str, Summarizer],
        *,
        instructions: Optional[str] = None,
        details: JSON = None,
    ) -> Optional[str]:
        """Move the leaf to a position and append a summary of the branch that is left.

        ``summary`` is a text, or a function that makes one from the text of a request; if it raises, nothing has
        changed. Returns the id of the summary, or None if nothing was left behind and the leaf only moved.
        """
        if isinstance(summary, str):
            return self._native.branch_with_summary(at, summary, details)
        branch = self.abandoned_branch(at)
        if branch.is_empty:
            self.branch(at)
            return None
        text = summary(branch.request(instructions))
        return self._native.apply_branch_summary(branch, at, text, details, False)

    # Context edits.

    def plan_drop(self, *entries: str) -> _native.EditPlan:
        """Return what dropping entries from the context would do."""
        return self._native.plan_drop(list(entries))

    def plan_replace(self, entry: str, text: str) -> _native.EditPlan:
        """Return what replacing the text of an entry in the context would do."""
        return self._native.plan_replace(entry, text)

    def plan_restore(self, *entries: str) -> _native.EditPlan:
        """Return what restoring entries in the context would do."""
        return self._native.plan_restore(list(entries))

    def apply_edit(self, plan: _native.EditPlan) -> List[str]:
        """Write the context edits of a plan and return their ids."""
        return self._native.apply_edit(plan)

    def drop_from_context(self, *entries: str) -> List[str]:
        """Drop entries from the context, not from the session."""
        return self.apply_edit(self.plan_drop(*entries))

    def replace_in_context(self, entry: str, text: str) -> List[str]:
        """Replace the text of an entry in the context, not in the session."""
        return self.apply_edit(self.plan_replace(entry, text))

    def restore_in_context(self, *entries: str) -> List[str]:
        """Restore entries that were dropped or replaced."""
        return self.apply_edit(self.plan_restore(*entries))

    # Merges and picks.

    def plan_merge(self, source: At, *, budget: int = 0) -> Optional[_native.MergePlan]:
        """Return what a merge of another branch would bring; None if there is nothing new."""
        return self._native.plan_merge(source, budget)

    def apply_merge(self, plan: _native.MergePlan) -> Merged:
        """Merge by copies of the entries of a plan."""
        return Merged(**self._native.apply_merge(plan))

    def apply_merge_summary(
        self,
        plan: _native.MergePlan,
        summary: str,
        *,
        details: JSON = None,
        from_hook: bool = False,
    ) -> str:
        """Merge by a summary of the entries of a plan and return its id."""
        return self._native.apply_merge_summary(plan, summary, details, from_hook)

    def merge(
        self, source: At, *, summarizer: Optional[Summarizer] = None
    ) -> Union[Merged, str, None]:
        """Merge another branch into this one: as copies, or as a summary if there is a ``summarizer``.

        Returns None if there is nothing new. The summarizer is called with the text of the conversation.
        """
        plan = self.plan_merge(source)
        if plan is None:
            return None
        if summarizer is None:
            return self.apply_merge(plan)
        return self.apply_merge_summary(plan, summarizer(plan.conversation()))

    def plan_pick(
        self,
        first: str,
        last: Optional[str] = None,
        *,
        source: Optional[Session] = None,
        again: bool = False,
    ) -> _native.PickPlan:
        """Return what :meth:`cherry_pick` would copy."""
        native = self._native if source is None else source._native
        return self._native.plan_pick(native, first, last, again)

    def apply_pick(self, plan: _native.PickPlan) -> List[str]:
        """Copy the entries of a plan and return the ids of the copies."""
        return self._native.apply_pick(plan)

    def cherry_pick(
        self,
        first: str,
        last: Optional[str] = None,
        *,
        source: Optional[Session] = None,
        again: bool = False,
    ) -> List[str]:
        """Copy an entry, or a range, to the leaf: from this session or from another one.

        Tool calls come with their results. Entries that are on the path already are left out, unless ``again``.
        """
        return self.apply_pick(self.plan_pick(first, last, source=source, again=again))

    # Usage and differences.

    def stats(self, *, branch: Optional[At] = None) -> Stats:
        """Return counts and usage of the whole session, or of one branch."""
        return Stats.from_dict(self._native.stats(branch))

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

    def diff(self, a: At, b: At = Position.LEAF, *, other: Optional[Session] = None) -> Diff:
        """Return what two branches did since they parted; with ``other``, ``b`` is in that session."""
        native = None if other is None else other._native
        return Diff.from_dict(self._native.diff(a, b, native))

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
        """Create a new session of the path to a position, beside this one, in a ``directory`` or in a ``store``."""
        options = {
            "id": id,
            "dialect": dialect,
            "directory": directory,
            "root": root,
            "cwd": cwd,
            "creation": creation,
            "durability": durability,
        }
        if store is None:
            return Session(self._native.fork(at, options))
        return Session(self._native.fork_into(store._native, at, options))

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
