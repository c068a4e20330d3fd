"""A session for the OpenAI Agents SDK that keeps its items as entries of a treering session.

>>> import asyncio
>>> session = TreeringSession("chat-1")
>>> asyncio.run(session.add_items([{"role": "user", "content": "Name a color."}]))
>>> asyncio.run(session.get_items())
[{'role': 'user', 'content': 'Name a color.'}]

:attr:`TreeringSession.session` is the treering session, with everything that it can do: a branch is
``session.session.branch(entry)``, and after ``session.session.compact(summarizer)`` the model gets the summary and the
items that were kept. Items that are popped or cleared are left behind on a branch, not erased.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import json
import re
import threading
from pathlib import Path
from typing import Any, Awaitable, Callable, Dict, List, Optional, TypeVar, Union, cast

from agents.items import TResponseInputItem
from agents.memory import SessionSettings
from agents.memory.session import SessionABC
from agents.memory.session_settings import coerce_session_settings, resolve_session_limit

from . import _native
from . import messages as build
from ._types import Entry, Position, StrPath
from .errors import NotFoundError
from .session import Session
from .store import Store, memory_store, open_store

__all__ = ["TreeringSession"]

_T = TypeVar("_T")
#: The member of an entry that holds an item as the SDK gave it.
_ITEM = "openaiItem"


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = (part.get("text") for part in content if isinstance(part, dict))
    return "\n".join(part for part in parts if isinstance(part, str))


def _arguments(text: Any) -> Dict[str, Any]:
    try:
        arguments = json.loads(text)
    except (TypeError, ValueError):
        return {"arguments": text}
    return arguments if isinstance(arguments, dict) else {"arguments": arguments}


class TreeringSession(SessionABC):
    """A session of the OpenAI Agents SDK in a store of treering.

    ``store`` is a :class:`treering.Store`, the address of one, or a directory, which is created if it does not exist;
    without one the session is in memory. The session is created with its first items.
    """

    def __init__(
        self,
        session_id: str,
        store: Union[Store, StrPath, None] = None,
        *,
        session_settings: Union[SessionSettings, Dict[str, Any], None] = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = (
            SessionSettings() if session_settings is None else coerce_session_settings(session_settings)
        )
        if store is None or str(store) == ":memory:":
            self.store = memory_store()
        elif isinstance(store, Store):
            self.store = store
        else:
            if "://" not in str(store):
                Path(store).mkdir(parents=True, exist_ok=True)
            self.store = open_store(store)
        self._is_local = "://" not in self.store.location
        self._session: Optional[Session] = None
        #: The items of the path to an entry, as they were read last. They are copied for every caller.
        self._items: List[TResponseInputItem] = []
        self._items_end: Optional[str] = None
        self._names: Dict[str, str] = {}
        self._closed = False
        self._lock = threading.RLock()

    @property
    def session(self) -> Session:
        """The treering session, which is created if there is none."""
        with self._lock:
            return self._open(create=True)

    def _open(self, *, create: bool) -> Session:
        if self._closed:
            raise RuntimeError("the session is closed")
        if self._session is None:
            id = _session_id(self.session_id)
            try:
                self._session = self.store.open(id)
            except NotFoundError:
                if not create:
                    raise
                self._session = self.store.create(id=id, creation="at_once")
        elif self._session.refresh():
            # Another program, or another object of the same session, has written: stand where it stands.
            self._session.follow()
        return self._session

    # Items and entries.

    def _entry(self, item: Any) -> Entry:
        """Return an item as an entry: as a message if it is one, so that contexts and compaction know it."""
        message: Optional[Dict[str, Any]] = None
        kind, role = item.get("type", "message"), item.get("role")
        if kind == "message" and role == "user":
            message = build.user(_text(item.get("content")))
        elif kind == "message" and role in ("system", "developer"):
            message = build.system(_text(item.get("content")))
        elif kind == "message" and role == "assistant":
            message = build.assistant(_text(item.get("content")), provider="openai", model="")
        elif kind == "function_call":
            self._names[item["call_id"]] = item["name"]
            call = build.tool_call(item["call_id"], item["name"], _arguments(item.get("arguments")))
            message = build.assistant(provider="openai", model="", tool_calls=[call])
        elif kind == "function_call_output":
            name = self._names.get(item["call_id"], "tool")
            output = item.get("output")
            text = output if isinstance(output, str) else _text(output)
            message = build.tool_result(item["call_id"], name, text)
        if message is None:
            return build.custom("openai/item", item)
        return {"type": "message", "message": message, _ITEM: item}

    @staticmethod
    def _item(entry: _native.Entry) -> Optional[TResponseInputItem]:
        """Return the item that an entry holds."""
        if entry.type == "message":
            item = entry.get(_ITEM)
            if item is None and entry.role in ("user", "assistant", "system"):
                # A message of another program.
                item = {"role": entry.role, "content": entry.text}
        elif entry.type == "custom" and entry.get("customType") == "openai/item":
            item = entry.get("data")
        elif entry.type == "branch_summary":
            item = {"role": "user", "content": entry.get("summary")}
        else:
            item = None
        return cast(Optional[TResponseInputItem], item)

    def _read(self, limit: Optional[int]) -> List[TResponseInputItem]:
        try:
            session = self._open(create=False)
        except NotFoundError:
            return []
        leaf = session.leaf
        if leaf is None:
            return []
        if leaf != self._items_end and not (self._items_end and self._read_after(session)):
            self._read_all(session)
        self._items_end = leaf
        if limit is None:
            return _native.copy_json(self._items)
        return _native.copy_json(self._items[-limit:]) if limit > 0 else []

    def _read_after(self, session: Session) -> bool:
        """Add the items after those that were read before; False if all have to be read again."""
        found = session._native.path_with(Position.LEAF, _ITEM, self._items_end)
        if found is None or any(item is None and it.type == "compaction" for it, item in found):
            return False
        items = (self._item(entry) if item is None else item for entry, item in found)
        self._items.extend(item for item in items if item is not None)
        return True

    def _read_all(self, session: Session) -> None:
        path = session._native.path_with(Position.LEAF, _ITEM, None) or []
        start, self._items = 0, []
        compactions = [
            at for at, (entry, item) in enumerate(path) if item is None and entry.type == "compaction"
        ]
        if compactions:
            last = compactions[-1]
            compaction = path[last][0]
            kept = compaction.get("firstKeptEntryId")
            start = next((at for at in range(last) if path[at][0].id == kept), last)
            summary = {"role": "user", "content": self._summary(session, compaction.id)}
            self._items.append(cast(TResponseInputItem, summary))
        items = (self._item(entry) if item is None else item for entry, item in path[start:])
        self._items.extend(item for item in items if item is not None)

    @staticmethod
    def _summary(session: Session, compaction: str) -> str:
        """Return the summary of a compaction in the form in which models receive it."""
        messages, _ = session.context(compaction).to_llm(strict=False)
        return _text(messages[0]["content"])

    # The protocol.

    async def get_items(self, limit: Optional[int] = None) -> List[TResponseInputItem]:
        """Return the items of the conversation, or the latest ones."""
        limit = resolve_session_limit(limit, self.session_settings)

        def read() -> List[TResponseInputItem]:
            with self._lock:
                return self._read(limit)

        # A local session that was read before has little to read: less than what another thread costs.
        if self._items_end is not None and self._is_local and self._lock.acquire(blocking=False):
            try:
                return self._read(limit)
            finally:
                self._lock.release()
        return await _call(read)

    async def add_items(self, items: List[TResponseInputItem]) -> None:
        """Append items, all or none."""

        def add() -> None:
            with self._lock:
                session = self._open(create=True)
                if items:
                    session.append_all([self._entry(item) for item in items])

        await _finish(_call(add))

    async def pop_item(self) -> Optional[TResponseInputItem]:
        """Move the leaf before the latest item and return the item."""

        def pop() -> Optional[TResponseInputItem]:
            with self._lock:
                try:
                    session = self._open(create=False)
                except NotFoundError:
                    return None
                for entry in reversed(list(session.path_to())):
                    item = self._item(entry)
                    if item is not None:
                        session.branch(entry.parent or Position.START)
                        return item
                return None

        return await _finish(_call(pop))

    async def clear_session(self) -> None:
        """Move the leaf before the first item."""

        def clear() -> None:
            with self._lock:
                try:
                    self._open(create=False).branch(Position.START)
                except NotFoundError:
                    pass

        await _finish(_call(clear))

    def close(self) -> None:
        """Close the treering session. Calls after that raise."""
        with self._lock:
            self._closed = True
            session, self._session = self._session, None
            if session is not None:
                session.close()

    def __repr__(self) -> str:
        return f"TreeringSession({self.session_id!r}, {self.store!r})"


def _session_id(session_id: str) -> str:
    """Return the id of a treering session: the SDK's own, if that can be one."""
    if re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?", session_id):
        return session_id
    digest = hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()
    return "session-" + digest[:40]


async def _call(function: Callable[[], _T]) -> _T:
    return await asyncio.get_running_loop().run_in_executor(None, functools.partial(function))


async def _finish(work: Awaitable[_T]) -> _T:
    """Wait until a change is done, also if the caller is canceled meanwhile: its outcome must be known."""
    task = asyncio.ensure_future(work)
    cancelled: Optional[asyncio.CancelledError] = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = cancelled or error
    if cancelled is not None:
        task.exception()
        raise cancelled
    return task.result()
