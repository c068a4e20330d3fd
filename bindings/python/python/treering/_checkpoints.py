"""Reading checkpoints of LangGraph: the part of :class:`treering.langgraph.TreeringSaver` that writes nothing."""

from __future__ import annotations

import threading
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    PendingWrite,
    get_checkpoint_id,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from ._threads import LARGEST_RECENT, THREAD, Key, Thread, decoded, session_id
from ._types import StrPath
from .errors import NotFoundError
from .session import Session
from .store import Store, open_store

__all__ = ["CheckpointReader", "settings"]


def settings(config: RunnableConfig) -> Dict[str, Any]:
    """Return the part of a config that names a checkpoint."""
    return config.get("configurable", {})


class CheckpointReader(BaseCheckpointSaver[str]):
    """Finds threads in a store of sessions, and checkpoints in threads."""

    def __init__(
        self, store: Union[Store, StrPath], *, serde: Optional[SerializerProtocol] = None
    ) -> None:
        super().__init__(serde=serde)
        self.store = store if isinstance(store, Store) else open_store(store)
        self._threads: Dict[str, Thread] = {}
        self._lock = threading.RLock()

    def session(self, thread_id: str) -> Session:
        """Return the session of a thread; raises ``NotFoundError`` if there is none."""
        with self._lock:
            thread = self._thread(thread_id)
            if thread is None:
                raise NotFoundError(f"there is no thread {thread_id!r}", "unknown_session")
            return thread.session

    def close(self) -> None:
        """Close the sessions of all threads. They are opened again when they are needed."""
        with self._lock:
            threads, self._threads = self._threads, {}
            for thread in threads.values():
                thread.session.close()

    # Threads.

    def _thread(self, thread_id: str) -> Optional[Thread]:
        """Return a thread with everything that has been written to it; None if there is none."""
        thread = self._threads.get(thread_id)
        if thread is not None:
            try:
                thread.refresh()
                return thread
            except NotFoundError:
                # Another program has removed the session.
                del self._threads[thread_id]
        try:
            session = self.store.open(session_id(thread_id))
        except NotFoundError:
            return None
        thread = self._read(session, thread_id)
        if thread is not None:
            self._threads[thread_id] = thread
        return thread

    @staticmethod
    def _read(session: Session, thread_id: Optional[str]) -> Optional[Thread]:
        thread: Optional[Thread] = None
        for entry in session.entries():
            if entry.type != "custom":
                continue
            kind, data = entry.get("customType"), entry.get("data")
            if thread is None:
                if kind != THREAD or thread_id not in (None, data["thread_id"]):
                    return None
                thread = Thread(session, entry.id)
            else:
                thread.add(entry.id, kind, data)
        return thread

    def _thread_ids(self) -> List[str]:
        found = []
        for info in self.store.list():
            with self.store.open(info.id) as session:
                entry = next(session.entries(), None)
                if entry is not None and entry.get("customType") == THREAD:
                    found.append(str(entry.get("data")["thread_id"]))
        return found

    # Reading.

    def _data(self, thread: Thread, entry: str) -> Dict[str, Any]:
        """Return the data of an entry, with its values as the serializer takes them."""
        kept = thread.recent.get(entry)
        if kept is not None:
            return kept
        read = thread.session.entry(entry)
        data = decoded(read.get("data"))
        if len(read.raw) <= LARGEST_RECENT:
            thread.keep(entry, data)
        return data

    def _load(self, value: Tuple[str, bytes]) -> Any:
        return self.serde.loads_typed(value)

    def _metadata(self, data: Dict[str, Any]) -> CheckpointMetadata:
        return cast(CheckpointMetadata, self._load(data["metadata"]))

    def _tuple(self, thread: Thread, thread_id: str, key: Key) -> CheckpointTuple:
        ns, id = key
        stored = thread.checkpoints[key]
        data = self._data(thread, stored.entry)
        checkpoint: Dict[str, Any] = self._load(data["checkpoint"])
        values: Dict[str, Any] = {}
        for channel, version in checkpoint["channel_versions"].items():
            entry = thread.values.get((ns, channel, str(version)))
            if entry is None:
                continue
            value = (data if entry == stored.entry else self._data(thread, entry))["values"][channel]
            if value[0] != "empty":
                values[channel] = self._load(value)
        writes = sorted(stored.writes.items(), key=lambda it: writes_sort_key(it[1][2], *it[0]))
        pending: List[PendingWrite] = []
        for (task, _), (entry, place, _) in writes:
            channel, value = self._data(thread, entry)["writes"][place]
            pending.append((task, channel, self._load(value)))
        parent = None if stored.parent is None else self._config(thread_id, ns, stored.parent)
        return CheckpointTuple(
            config=self._config(thread_id, ns, id),
            checkpoint=cast(Checkpoint, {**checkpoint, "channel_values": values}),
            metadata=self._metadata(data),
            parent_config=parent,
            pending_writes=pending,
        )

    @staticmethod
    def _config(thread_id: str, ns: str, id: str) -> RunnableConfig:
        return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns, "checkpoint_id": id}}

    def get_tuple(self, config: RunnableConfig) -> Optional[CheckpointTuple]:
        """Return a checkpoint, or the latest one of the thread."""
        with self._lock:
            thread_id: str = settings(config)["thread_id"]
            ns: str = settings(config).get("checkpoint_ns", "")
            thread = self._thread(thread_id)
            if thread is None:
                return None
            id = get_checkpoint_id(config) or thread.newest(ns)
            if id is None or not thread.is_live((ns, id)):
                return None
            return self._tuple(thread, thread_id, (ns, id))

    def list(
        self,
        config: Optional[RunnableConfig],
        *,
        filter: Optional[Dict[str, Any]] = None,
        before: Optional[RunnableConfig] = None,
        limit: Optional[int] = None,
    ) -> Iterator[CheckpointTuple]:
        """Iterate over checkpoints, newest first."""
        wanted = settings(config) if config else {}
        last = None if before is None else get_checkpoint_id(before)
        left = limit
        with self._lock:
            thread_ids = [wanted["thread_id"]] if config else self._thread_ids()
        for thread_id in thread_ids:
            with self._lock:
                thread = self._thread(thread_id)
                keys = [] if thread is None else sorted(thread.live(), key=lambda key: key[1])
            for ns, id in reversed(keys):
                if wanted.get("checkpoint_ns", ns) != ns or wanted.get("checkpoint_id", id) != id:
                    continue
                if last is not None and id >= last:
                    continue
                if left is not None and left <= 0:
                    return
                with self._lock:
                    assert thread is not None
                    stored = thread.checkpoints[ns, id]
                    if filter:
                        metadata = dict(self._metadata(self._data(thread, stored.entry)))
                        if any(metadata.get(name) != value for name, value in filter.items()):
                            continue
                    found = self._tuple(thread, thread_id, (ns, id))
                left = None if left is None else left - 1
                yield found

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return the writes of channels since their last stored values.

        The way back also leads over checkpoints that were pruned: their entries are still there.
        """
        with self._lock:
            thread_id = settings(config)["thread_id"]
            ns = settings(config).get("checkpoint_ns", "")
            thread, target = self._thread(thread_id), self.get_tuple(config)
            if thread is None or target is None:
                return {channel: {"writes": []} for channel in channels}
            collected: Dict[str, List[PendingWrite]] = {channel: [] for channel in channels}
            seeds: Dict[str, Any] = {}
            at = target.parent_config
            while at is not None and len(seeds) < len(collected):
                key = (ns, settings(at)["checkpoint_id"])
                if key not in thread.checkpoints or not thread.checkpoints[key].entry:
                    break
                found = self._tuple(thread, thread_id, key)
                for write in reversed(found.pending_writes or []):
                    if write[1] in collected and write[1] not in seeds:
                        collected[write[1]].append(write)
                values = found.checkpoint["channel_values"]
                seeds.update(
                    (name, values[name]) for name in collected if name not in seeds and name in values
                )
                at = found.parent_config
            history: Dict[str, DeltaChannelHistory] = {}
            for channel in channels:
                history[channel] = {"writes": collected[channel][::-1]}
                if channel in seeds:
                    history[channel]["seed"] = seeds[channel]
            return history
