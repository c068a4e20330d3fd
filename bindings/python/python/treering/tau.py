"""The session manager of Tau and Operator on treering.

:class:`SessionManager` has the methods that Operator's documentation describes: sessions as files in one directory, entries
with ``id``, ``parent_id`` and ``timestamp``, nothing on disk before the first answer, leaf records for navigation, and
contexts as the agent itself builds them. :attr:`SessionManager.session` is the treering session behind it.

Messages are dicts in the shape of the agent (``{"role": "user", "contents": [...]}``), or objects that have a
``model_dump`` method, as the agents' own classes do. Entries are read-only objects whose attributes are the members of
their records.

>>> manager = SessionManager.in_memory()
>>> question = manager.append_message(text_message("user", "Name a color."))
>>> red = manager.append_message(text_message("assistant", "Red."))
>>> manager.branch(question)
>>> blue = manager.append_message(text_message("assistant", "Blue."))
>>> [message["contents"][0]["content"] for message in manager.build_session_context().messages]
['Name a color.', 'Blue.']
"""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional, Union

from . import _native
from ._types import Position, StrPath
from .files import list_directory
from .reports import SessionInfo
from .session import Session
from .store import memory_store

__all__ = [
    "SessionContext",
    "SessionEntry",
    "SessionManager",
    "SessionTreeNode",
    "default_session_dir",
    "text_message",
]

#: A message as a dict, or an object with ``model_dump``.
AgentMessage = Any


class SessionEntry:
    """A record of a session: its members are attributes, and ``record`` is the whole of it."""

    __slots__ = ("record",)

    def __init__(self, record: Dict[str, Any]) -> None:
        self.record = record

    @property
    def id(self) -> str:
        return str(self.record["id"])

    @property
    def type(self) -> str:
        return str(self.record["type"])

    @property
    def parent_id(self) -> Optional[str]:
        parent: Optional[str] = self.record.get("parent_id")
        return parent

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        # The agents leave members out that have no value.
        return self.record.get(name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SessionEntry) and other.record == self.record

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"SessionEntry(type={self.type!r}, id={self.id!r})"


@dataclass
class SessionTreeNode:
    """An entry and what follows it."""

    entry: SessionEntry
    children: List[SessionTreeNode] = field(default_factory=list)
    label: Optional[str] = None


@dataclass
class SessionContext:
    """What the model sees, as the agent itself builds it."""

    messages: List[Dict[str, Any]]
    thinking_level: str
    model_id: Optional[str]
    provider_id: Optional[str]


def text_message(role: str, text: str) -> Dict[str, Any]:
    """Return a message with one text, in the shape of Tau."""
    contents = [{"type": "text", "content": text}]
    return {"contents": contents, "id": str(uuid.uuid4()), "timestamp": time.time(), "role": role}


def default_session_dir() -> Path:
    """Return the directory in which Operator keeps the sessions of all projects."""
    return Path.home() / ".operator" / "sessions"


def _plain(value: AgentMessage) -> Any:
    dump = getattr(value, "model_dump", None)
    return value if dump is None else dump(mode="json", exclude_none=True)


def _directory(path: Optional[StrPath]) -> Path:
    return default_session_dir() if path is None else Path(path).resolve()


class SessionManager:
    """One session of Tau (or of Operator, with ``dialect="operator"``)."""

    def __init__(
        self,
        cwd: StrPath,
        session_dir: Optional[StrPath] = None,
        session_file: Optional[StrPath] = None,
        persist: bool = True,
        *,
        dialect: str = "tau",
    ) -> None:
        self.cwd = Path(cwd)
        self.persist = persist
        self.session_dir = _directory(session_dir) if persist else None
        self.dialect = dialect
        if session_file is not None and Path(session_file).exists():
            self.session = Session.open(session_file)
        else:
            self.session = self._create(session_file)

    def _create(self, session_file: Optional[StrPath] = None) -> Session:
        id = Session.in_memory().id
        if self.session_dir is None:
            return Session.in_memory(cwd=self.cwd, id=id, dialect=self.dialect)
        stamp = datetime.now().strftime("%Y-%m-%dT%H-%M-%S-%f")
        path = self.session_dir / f"{stamp}_{id}.jsonl" if session_file is None else session_file
        return Session.create(
            path, cwd=self.cwd, id=id, dialect=self.dialect, creation="first_assistant_message"
        )

    # Where sessions come from.

    @classmethod
    def create(cls, cwd: StrPath, session_dir: Optional[StrPath] = None) -> SessionManager:
        """Begin a session in a new file, which appears with the first answer."""
        return cls(Path(cwd).resolve(), session_dir)

    @classmethod
    def open(
        cls,
        path: StrPath,
        session_dir: Optional[StrPath] = None,
        cwd_override: Optional[StrPath] = None,
    ) -> SessionManager:
        """Open a session file."""
        file = Path(path).resolve()
        with Session.open(file) as session:
            cwd = session.cwd if cwd_override is None else cwd_override
        return cls(cwd, file.parent if session_dir is None else session_dir, file)

    @classmethod
    def continue_recent(cls, cwd: StrPath, session_dir: Optional[StrPath] = None) -> SessionManager:
        """Open the session of the directory that was written last, or begin one."""
        sessions = cls.list(cwd, session_dir)
        return cls(cwd, session_dir, sessions[0].path if sessions else None)

    @classmethod
    def in_memory(cls, cwd: Optional[StrPath] = None) -> SessionManager:
        """Begin a session that has no file."""
        return cls(Path.cwd() if cwd is None else cwd, persist=False)

    @classmethod
    def fork_from(
        cls, source: StrPath, target_cwd: StrPath, session_dir: Optional[StrPath] = None
    ) -> SessionManager:
        """Copy all entries of a session file to a new one, for another project."""
        source = Path(source).resolve()
        with Session.open(source) as original:
            records = [it.record for it in original.entries() if not it.is_damaged]
            if original.dialect not in ("tau", "operator"):
                raise ValueError(f"Cannot fork: {source} is a session of {original.dialect}")
            manager = cls(target_cwd, session_dir, dialect=original.dialect)
        directory = _directory(session_dir)
        id = manager.session.id
        stamp = datetime.now().strftime("%Y-%m-%dT%H-%M-%S-%f")
        manager.session = Session.create(
            directory / f"{stamp}_{id}.jsonl",
            cwd=target_cwd,
            id=id,
            dialect=manager.dialect,
            parent_session=source,
            creation="at_once",
        )
        manager.session.append_records(records)
        return manager

    @staticmethod
    def list(cwd: StrPath, session_dir: Optional[StrPath] = None) -> List[SessionInfo]:
        """Return the sessions of the directory, the one written last first."""
        directory = _directory(session_dir)
        return list_directory(directory)[0] if directory.is_dir() else []

    # Facts.

    @property
    def session_id(self) -> str:
        """The id of the session."""
        return self.session.id

    @property
    def session_file(self) -> Optional[Path]:
        """The file of the session, which may not exist yet."""
        return self.session.path

    @property
    def flushed(self) -> bool:
        """Whether the file exists."""
        return self.persist and self.session.is_written

    @property
    def leaf_id(self) -> Optional[str]:
        """The entry that the next one is appended to."""
        return self.session.leaf

    @property
    def by_id(self) -> Dict[str, SessionEntry]:
        """All entries by their ids."""
        return {entry.id: entry for entry in self.get_entries()}

    @property
    def labels_by_id(self) -> Dict[str, str]:
        """The labels by the entries that have them."""
        return self.session.tree().labels()

    # Writing.

    def _append(self, type: str, members: Dict[str, Any], parent: Optional[str] = None) -> str:
        record: Dict[str, Any] = {"id": self.session.new_id(), "timestamp": time.time()}
        parent = self.session.leaf if parent is None else parent
        if parent is not None:
            record["parent_id"] = parent
        record["type"] = type
        record.update((name, value) for name, value in members.items() if value is not None)
        text = json.dumps(record, separators=(",", ":"), ensure_ascii=False)
        return self.session.append_record(text)

    def append_message(self, message: AgentMessage, meta: Any = None) -> str:
        """Append a message and return the id of its entry."""
        return self._append("message", {"message": _plain(message), "meta": _plain(meta)})

    def append_thinking_level_change(self, thinking_level: str) -> str:
        """Append a change of the thinking level."""
        return self._append("thinking_level_change", {"thinking_level": str(thinking_level)})

    def append_model_change(self, model_id: str, provider_id: str) -> str:
        """Append a change of the model."""
        return self._append("model_change", {"model_id": model_id, "provider_id": provider_id})

    def append_compaction(
        self,
        summary: str,
        first_kept_entry_id: str,
        tokens_before: int,
        details: Any = None,
        from_hook: bool = False,
    ) -> str:
        """Append a compaction."""
        members = {
            "summary": summary,
            "first_kept_entry_id": first_kept_entry_id,
            "tokens_before": tokens_before,
            "details": _plain(details),
            "from_hook": from_hook,
        }
        return self._append("compaction", members)

    def append_label_change(self, target_id: str, label: Optional[str] = None) -> str:
        """Append a label of an entry; None removes it."""
        return self._append("label", {"target_id": target_id, "label": label})

    def append_custom_info(self, custom_type: str, data: Any = None) -> str:
        """Append data of an extension that the model does not see."""
        return self._append("custom", {"custom_type": custom_type, "data": _plain(data)})

    def append_custom_message(
        self, custom_type: str, content: Any, display: bool = True, details: Any = None
    ) -> str:
        """Append a message of an extension that the model sees."""
        if isinstance(content, str):
            content = [{"type": "text", "content": content}]
        members = {
            "custom_type": custom_type,
            "content": [_plain(it) for it in content],
            "display": display,
            "details": _plain(details),
        }
        return self._append("custom_message", members)

    def append_session_info(self, name: Optional[str] = None) -> str:
        """Append a name of the session."""
        return self._append("session_info", {"name": name})

    def append_channel_entry(
        self, name: str, chat_id: Optional[str] = None, user_id: Optional[str] = None
    ) -> str:
        """Append the channel that messages come from now."""
        return self._append("channel", {"name": name, "chat_id": chat_id, "user_id": user_id})

    def branch(self, from_id: str) -> None:
        """Move the leaf to an entry and record that; raises ``KeyError`` if there is none."""
        self._check(from_id)
        self.session.branch(from_id)

    def reset_leaf(self) -> None:
        """Move the leaf before the first entry, without recording it."""
        self.session.branch(Position.START, recorded=False)

    def branch_with_summary(
        self, summary: str, from_id: Optional[str] = None, details: Any = None
    ) -> str:
        """Move the leaf and append a summary of the branch that is left."""
        if from_id is not None:
            self._check(from_id)
        else:
            self.reset_leaf()
        members = {"from_id": from_id or "root", "summary": summary, "details": _plain(details)}
        return self._append("branch_summary", members, from_id)

    def create_branched_session(self, leaf_id: str) -> Optional[Path]:
        """Continue in a new session that holds the path to an entry, and return its file."""
        if leaf_id not in self.session.tree():
            raise ValueError(f"Entry {leaf_id} not found.")
        if self.session_dir is None:
            self.session = self.session.fork(leaf_id, store=memory_store(), creation="at_once")
            return None
        self.session = self.session.fork(
            leaf_id, directory=self.session_dir, creation="first_assistant_message"
        )
        return self.session.path

    def _check(self, entry: str) -> None:
        if entry not in self.session.tree():
            raise KeyError(f"Entry {entry} not found.")

    # Reading.

    def get_entries(self) -> List[SessionEntry]:
        """Return all entries in the order of the file, without the header."""
        return _entries(self.session.entries())

    def get_entry(self, id: str) -> Optional[SessionEntry]:
        """Return an entry by its id."""
        if id not in self.session.tree():
            return None
        return SessionEntry(_native.loads(self.session.entry(id).record))

    def get_leaf_id(self) -> Optional[str]:
        """Return the entry that the next one is appended to."""
        return self.session.leaf

    def get_leaf_entry(self) -> Optional[SessionEntry]:
        """Return the entry that the next one is appended to."""
        leaf = self.session.leaf
        return None if leaf is None else self.get_entry(leaf)

    def get_children(self, parent_id: str) -> List[SessionEntry]:
        """Return the children of an entry, oldest first."""
        found = (self.get_entry(id) for id in self.session.tree().children(parent_id))
        return [entry for entry in found if entry is not None]

    def get_label(self, id: str) -> Optional[str]:
        """Return the label of an entry."""
        return self.session.tree().label(id)

    def get_branch(self, from_id: Optional[str] = None) -> List[SessionEntry]:
        """Return the entries from a root to an entry, or to the leaf."""
        at: Union[str, Position] = from_id or Position.LEAF
        if from_id and from_id not in self.session.tree():
            return []
        return _entries(self.session.path_to(at))

    def get_session_name(self) -> Optional[str]:
        """Return the name of the session."""
        return self.session.name

    def get_current_channel(self) -> Optional[str]:
        """Return the channel that was recorded last on the branch."""
        for entry in reversed(self.get_branch()):
            if entry.type == "channel":
                name: Optional[str] = entry.name
                return name
        return None

    def get_tree(self) -> List[SessionTreeNode]:
        """Return the roots of the tree, with everything below them."""
        tree = self.session.tree()
        nodes = {it.id: SessionTreeNode(it, label=tree.label(it.id)) for it in self.get_entries()}
        roots: List[SessionTreeNode] = []
        for item in tree:
            if item.id in nodes:
                parent = None if item.parent is None else nodes.get(item.parent)
                (roots if parent is None else parent.children).append(nodes[item.id])
        return roots

    def build_session_context(self) -> SessionContext:
        """Return what the model sees, exactly as the agent builds it."""
        context = self.session.agent_context() or {}
        model = context.get("model") or {}
        return SessionContext(
            messages=context.get("messages", []),
            thinking_level=context.get("thinking_level", context.get("thinkingLevel", "off")),
            model_id=context.get("model_id", model.get("modelId")),
            provider_id=context.get("provider_id", model.get("provider")),
        )

    def __repr__(self) -> str:
        return f"SessionManager({self.session!r})"


def _entries(entries: Iterable[_native.Entry]) -> List[SessionEntry]:
    return [SessionEntry(_native.loads(it.record)) for it in entries if not it.is_damaged]
