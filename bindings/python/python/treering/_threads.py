"""Threads of LangGraph as entries of sessions. The checkpointer itself is :mod:`treering.langgraph`."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Set, Tuple

from .session import Session

#: A namespace and the id of a checkpoint.
Key = Tuple[str, str]

THREAD = "langgraph/thread"
CHECKPOINT = "langgraph/checkpoint"
WRITES = "langgraph/writes"
DELETED = "langgraph/deleted"

#: The number of entries of a thread whose values stay in memory.
_RECENT = 16
#: Entries with longer values are read again.
LARGEST_RECENT = 1 << 20


@dataclass
class Stored:
    """A checkpoint of a thread, by the ids of the entries that hold it."""

    entry: str
    parent: Optional[str]
    #: The entry below which the next one of this checkpoint goes.
    tail: str
    #: By task and number: the entry, its place in it, and the path of the task.
    writes: Dict[Tuple[str, int], Tuple[str, int, str]] = field(default_factory=dict)


@dataclass
class Thread:
    """An open thread: its session, and an index of its entries."""

    session: Session
    root: str
    checkpoints: Dict[Key, Stored] = field(default_factory=dict)
    deleted: Set[Key] = field(default_factory=set)
    #: By namespace, channel and version: the entry that holds the value.
    values: Dict[Tuple[str, str, str], str] = field(default_factory=dict)
    #: The values of the entries that were read or written last.
    recent: Dict[str, Dict[str, Any]] = field(default_factory=dict)
    #: The latest checkpoints by namespace; None if they have to be looked for.
    latest: Optional[Dict[str, str]] = None

    def keep(self, entry: str, values: Dict[str, Any]) -> None:
        """Keep the values of an entry in memory."""
        while len(self.recent) >= _RECENT:
            del self.recent[next(iter(self.recent))]
        self.recent[entry] = values

    def newest(self, ns: str) -> Optional[str]:
        """Return the latest checkpoint of a namespace."""
        if self.latest is None:
            self.latest = {}
            for space, id in self.live():
                self.latest[space] = max(id, self.latest.get(space, ""))
        return self.latest.get(ns)

    def is_live(self, key: Key) -> bool:
        """Return whether a checkpoint exists and was not deleted."""
        stored = self.checkpoints.get(key)
        return stored is not None and stored.entry != "" and key not in self.deleted

    def add(self, entry: str, kind: Any, data: Dict[str, Any]) -> None:
        """Add an entry of the session."""
        if kind == CHECKPOINT:
            key = (data["ns"], data["id"])
            before = self.checkpoints.get(key)
            stored = Stored(entry, data["parent"], entry)
            if before is not None:
                stored.writes = before.writes
            self.checkpoints[key] = stored
            self.deleted.discard(key)
            if self.latest is not None:
                self.latest[key[0]] = max(key[1], self.latest.get(key[0], ""))
            for channel, (version, _, _) in data["values"].items():
                self.values[data["ns"], channel, version] = entry
        elif kind == WRITES:
            found = self.checkpoints.setdefault(
                (data["ns"], data["id"]), Stored("", None, self.root)
            )
            found.tail = entry
            for place, (number, _, _, _) in enumerate(data["writes"]):
                at = (data["task"], number)
                # Ordinary writes of a task are written once; the special ones are replaced.
                if number < 0 or at not in found.writes:
                    found.writes[at] = (entry, place, data["path"])
        elif kind == DELETED:
            self.deleted.update((ns, id) for ns, id in data["checkpoints"])
            self.latest = None

    def refresh(self) -> None:
        """Add the entries that other programs have written."""
        for id in self.session.refresh():
            entry = self.session.entry(id)
            if entry.type == "custom":
                self.add(id, entry.get("customType"), entry.get("data"))

    def live(self) -> List[Key]:
        """Return the checkpoints that exist and were not deleted."""
        return [key for key in self.checkpoints if self.is_live(key)]


def encode(value: Tuple[str, bytes]) -> List[str]:
    kind, data = value
    return [kind, base64.b64encode(data).decode()]


def decode(kind: str, data: str) -> Tuple[str, bytes]:
    return kind, base64.b64decode(data)


def decoded(data: Dict[str, Any]) -> Dict[str, Any]:
    """Return the data of an entry with its values as the serializer takes them."""
    whole = dict(data)
    for name in ("checkpoint", "metadata"):
        if name in data:
            whole[name] = decode(*data[name])
    if "values" in data:
        values = data["values"].items()
        whole["values"] = {channel: decode(kind, text) for channel, (_, kind, text) in values}
    if "writes" in data:
        whole["writes"] = [(channel, decode(kind, text)) for _, channel, kind, text in data["writes"]]
    return whole


def session_id(thread_id: str) -> str:
    """Return the id of a thread's session: the thread's own, if that can be one."""
    if re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?", thread_id):
        return thread_id
    return "thread-" + hashlib.sha256(thread_id.encode("utf-8", "surrogatepass")).hexdigest()[:40]
