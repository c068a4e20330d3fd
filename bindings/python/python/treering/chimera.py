"""Chimera's ``SessionTree`` on treering.

A program that uses ``chimera.sessions.tree`` imports this module instead, and has treering's durability, locking and speed;
:attr:`SessionTree.session` is the treering session behind it, with contexts, compaction plans, merges and everything else.
Files are those that Chimera writes, and Chimera reads them.

Where Chimera is installed its ``Message`` and ``ToolCall`` are used; otherwise the ones here, which have the same fields.
Damaged files are read by treering's rules, and a record whose parent does not exist, or whose id is taken, is refused
instead of being written.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple, Union

from . import _native
from ._options import create_options
from .session import Session

__all__ = [
    "AnyEntry",
    "CompactionEntry",
    "LabelEntry",
    "Message",
    "MessageEntry",
    "SessionEntry",
    "SessionHeader",
    "SessionTree",
    "StateChangeEntry",
    "ToolCall",
]


@dataclass
class _ToolCall:
    """A call of a tool."""

    id: str
    name: str
    arguments: Dict[str, Any]


@dataclass
class _Message:
    """A message."""

    role: str
    content: str
    tool_calls: List[Any] = field(default_factory=list)
    call_id: Optional[str] = None
    content_blocks: List[Any] = field(default_factory=list)

    @classmethod
    def system(cls, content: str) -> _Message:
        return cls(role="system", content=content)

    @classmethod
    def user(cls, content: str) -> _Message:
        return cls(role="user", content=content)

    @classmethod
    def assistant(cls, content: str, tool_calls: Optional[List[Any]] = None) -> _Message:
        return cls(role="assistant", content=content, tool_calls=tool_calls or [])

    @classmethod
    def tool(cls, call_id: str, content: str) -> _Message:
        return cls(role="tool", content=content, call_id=call_id)


if TYPE_CHECKING:
    Message = _Message
    ToolCall = _ToolCall
else:
    try:
        from chimera.types import Message, ToolCall
    except ImportError:
        Message, ToolCall = _Message, _ToolCall


@dataclass
class SessionEntry:
    """An entry of any other type."""

    type: str
    id: str
    parent_id: Optional[str]
    timestamp: float
    data: Dict[str, Any] = field(default_factory=dict)


@dataclass
class SessionHeader:
    """The header, which is an entry and may be absent."""

    id: str
    parent_id: Optional[str]
    timestamp: float
    type: str = "header"
    version: int = 1
    cwd: str = ""
    system_prompt: str = ""


@dataclass
class MessageEntry:
    """A message."""

    id: str
    parent_id: Optional[str]
    timestamp: float
    type: str = "message"
    message: Optional[Message] = None


@dataclass
class CompactionEntry:
    """A compaction."""

    id: str
    parent_id: Optional[str]
    timestamp: float
    type: str = "compaction"
    summary: str = ""
    first_kept_entry_id: str = ""
    tokens_before: int = 0
    read_files: List[str] = field(default_factory=list)
    modified_files: List[str] = field(default_factory=list)


@dataclass
class LabelEntry:
    """A label of another entry."""

    id: str
    parent_id: Optional[str]
    timestamp: float
    type: str = "label"
    target_id: str = ""
    label: str = ""


@dataclass
class StateChangeEntry:
    """A change of a setting: the model, the thinking level."""

    id: str
    parent_id: Optional[str]
    timestamp: float
    type: str = "state_change"
    kind: str = ""
    value: str = ""


AnyEntry = Union[
    SessionEntry, SessionHeader, MessageEntry, CompactionEntry, LabelEntry, StateChangeEntry
]

_FIELDS: Dict[str, Tuple[Tuple[str, Any], ...]] = {
    "compaction": (
        ("summary", ""),
        ("first_kept_entry_id", ""),
        ("tokens_before", 0),
        ("read_files", []),
        ("modified_files", []),
    ),
    "header": (("version", 1), ("cwd", ""), ("system_prompt", "")),
    "label": (("target_id", ""), ("label", "")),
    "state_change": (("kind", ""), ("value", "")),
}
_CLASSES: Dict[str, Any] = {
    "compaction": CompactionEntry,
    "header": SessionHeader,
    "label": LabelEntry,
    "state_change": StateChangeEntry,
}


def _to_record(entry: AnyEntry) -> Dict[str, Any]:
    record: Dict[str, Any] = {
        "type": entry.type,
        "id": entry.id,
        "parent_id": entry.parent_id,
        "timestamp": entry.timestamp,
    }
    message: Optional[Message] = getattr(entry, "message", None)
    if entry.type == "message":
        if message is not None:
            body: Dict[str, Any] = {"role": message.role, "content": message.content}
            record["message"] = body
            if message.tool_calls:
                body["tool_calls"] = [
                    {"id": it.id, "name": it.name, "arguments": it.arguments}
                    for it in message.tool_calls
                ]
            if message.call_id:
                body["call_id"] = message.call_id
    elif entry.type in _FIELDS and not hasattr(entry, "data"):
        for name, _ in _FIELDS[entry.type]:
            record[name] = getattr(entry, name)
    else:
        data = getattr(entry, "data", None)
        if data:
            record["data"] = data
    return record


def _from_record(record: Dict[str, Any]) -> AnyEntry:
    kind = record["type"]
    base: Dict[str, Any] = {
        "id": record["id"],
        "parent_id": record.get("parent_id"),
        "timestamp": record.get("timestamp", 0.0),
    }
    if kind == "message":
        data = record.get("message", {})
        message = Message(role=data["role"], content=data.get("content", ""))
        if "tool_calls" in data:
            message.tool_calls = [
                ToolCall(id=it["id"], name=it["name"], arguments=it["arguments"])
                for it in data["tool_calls"]
            ]
        if "call_id" in data:
            message.call_id = data["call_id"]
        return MessageEntry(**base, message=message)
    if kind in _CLASSES:
        for name, default in _FIELDS[kind]:
            value = record.get(name, default)
            base[name] = list(value) if isinstance(value, list) else value
        entry: AnyEntry = _CLASSES[kind](**base)
        return entry
    return SessionEntry(type=kind, **base, data=record.get("data", record))


class SessionTree:
    """A session of Chimera in one file, with branches.

    >>> import tempfile
    >>> tree = SessionTree(Path(tempfile.mkdtemp()) / "session.jsonl")
    >>> question = tree.add_message(Message.user("Name a color."))
    >>> _ = tree.add_message(Message.assistant("Red."))
    >>> _ = tree.fork(question)
    >>> _ = tree.add_message(Message.assistant("Blue."))
    >>> [message.content for message in tree.get_messages()]
    ['Name a color.', 'Blue.']
    >>> len(tree.get_leaves())
    2
    """

    def __init__(self, path: Union[str, Path]) -> None:
        self._path = Path(path)
        self._lock = threading.RLock()
        self._session: Optional[Session] = None
        if self._path.exists():
            self._open()

    @property
    def session(self) -> Session:
        """The treering session, whose file is created if there is none."""
        with self._lock:
            return self._open()

    def _open(self) -> Session:
        if self._session is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            options = create_options(dialect="chimera", headerless=True, creation="at_once")
            native = _native.Session.open_or_create(self._path, Path.cwd(), options)
            self._session = Session(native)
        return self._session

    def _start(self, header: SessionHeader) -> None:
        """Write a given header as the first record of the file."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with open(self._path, "x", encoding="utf-8") as file:
            file.write(json.dumps(_to_record(header)) + "\n")
        self._open()

    def append(self, entry: AnyEntry) -> None:
        """Append an entry, which becomes the active leaf."""
        with self._lock:
            if entry.type == "header" and self._session is None and not self._path.exists():
                self._start(entry)  # type: ignore[arg-type]
                return
            self._open().append_record(json.dumps(_to_record(entry)))

    def add_message(self, message: Message, parent_id: Optional[str] = None) -> str:
        """Append a message and return its id."""
        with self._lock:
            session = self._session or self._open()
            try:
                return session._native.chimera_append(message, parent_id)
            except TypeError:
                # Values that only `json.dumps` can write, such as keys that are no texts; or it raises as well.
                parent = parent_id if parent_id is not None else self.active_leaf
                entry = MessageEntry(_new_id(), parent, time.time(), message=message)
                self.append(entry)
                return entry.id

    def add_compaction(
        self,
        summary: str,
        first_kept_id: str,
        tokens_before: int,
        read_files: Optional[List[str]] = None,
        modified_files: Optional[List[str]] = None,
    ) -> str:
        """Append a compaction and return its id."""
        with self._lock:
            entry = CompactionEntry(
                _new_id(),
                self.active_leaf,
                time.time(),
                summary=summary,
                first_kept_entry_id=first_kept_id,
                tokens_before=tokens_before,
                read_files=read_files or [],
                modified_files=modified_files or [],
            )
            self.append(entry)
            return entry.id

    def add_label(self, target_id: str, label: str) -> str:
        """Append a label of another entry and return its id."""
        with self._lock:
            entry = LabelEntry(
                _new_id(), self.active_leaf, time.time(), target_id=target_id, label=label
            )
            self.append(entry)
            return entry.id

    def add_state_change(self, kind: str, value: str) -> str:
        """Append a change of a setting and return its id."""
        with self._lock:
            entry = StateChangeEntry(
                _new_id(), self.active_leaf, time.time(), kind=kind, value=value
            )
            self.append(entry)
            return entry.id

    def get_branch(self, leaf_id: Optional[str] = None) -> List[AnyEntry]:
        """Return the entries from a root to a leaf, which is the active one by default."""
        leaf = leaf_id or self.active_leaf
        if leaf is None or self._session is None or leaf not in self._session.tree():
            return []
        records = (_native.loads(it.record) for it in self._session.path_to(leaf) if not it.is_damaged)
        return [_from_record(it) for it in records]

    def get_messages(self, leaf_id: Optional[str] = None) -> List[Message]:
        """Return all messages of a branch as Chimera returns them, with compactions between them."""
        leaf = leaf_id or self.active_leaf
        if leaf is None or self._session is None or leaf not in self._session.tree():
            return []
        return self._session._native.chimera_messages(leaf, Message, ToolCall)

    def summarize_branch(
        self, leaf_id: Optional[str], summarizer: Callable[[List[Message]], str]
    ) -> str:
        """Append a summary of a branch as a compaction below its leaf and return its id.

        Raises ``ValueError`` if there is no such leaf. If the summarizer raises, nothing has changed.
        """
        self._check(leaf_id)
        leaf = leaf_id if leaf_id is not None else self.active_leaf
        summary = summarizer(self.get_messages(leaf))
        with self._lock:
            if leaf is not None:
                self.session.branch(leaf, recorded=False)
            return self.add_compaction(summary, first_kept_id="", tokens_before=0)

    def fork(self, from_entry_id: str) -> str:
        """Make an entry the active leaf, so that the next entry begins a branch below it."""
        self.switch_branch(from_entry_id)
        return from_entry_id

    def switch_branch(self, leaf_id: str) -> None:
        """Make an entry the active leaf."""
        self._check(leaf_id)
        self.session.branch(leaf_id, recorded=False)

    def _check(self, entry_id: Optional[str]) -> None:
        if entry_id is None:
            return
        if self._session is None or entry_id not in self._session.tree():
            raise ValueError(f"Entry {entry_id} not found")

    def get_branch_points(self) -> List[str]:
        """Return the entries that have several children, by their first child."""
        if self._session is None:
            return []
        tree = self._session.tree()
        children: Dict[Optional[str], int] = {}
        for entry in tree.ids():
            parent = tree.parent(entry)
            children[parent] = children.get(parent, 0) + 1
        return [entry for entry, count in children.items() if entry is not None and count > 1]

    def get_leaves(self) -> List[str]:
        """Return the entries that have no children."""
        if self._session is None:
            return []
        tree = self._session.tree()
        leaves = set(tree.leaves())
        return [entry for entry in tree.ids() if entry in leaves]

    @property
    def active_leaf(self) -> Optional[str]:
        """The entry that the next one is appended to."""
        return None if self._session is None else self._session.leaf

    @property
    def entry_count(self) -> int:
        """The number of entries."""
        return 0 if self._session is None else len(self._session.tree())

    # Chimera's own tests and tools look at these members.

    @property
    def _entries(self) -> List[AnyEntry]:
        if self._session is None:
            return []
        records = (_native.loads(it.record) for it in self._session.entries() if not it.is_damaged)
        return [_from_record(it) for it in records]

    @property
    def _by_id(self) -> Dict[str, AnyEntry]:
        return {entry.id: entry for entry in self._entries}

    def __repr__(self) -> str:
        return f"SessionTree({str(self._path)!r})"


def _new_id() -> str:
    return uuid.uuid4().hex[:12]
