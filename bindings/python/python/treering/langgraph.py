"""A checkpointer for LangGraph that keeps threads as sessions.

Each thread is a session, each checkpoint an entry whose id is the checkpoint's, and a run that starts from an older
checkpoint is a branch. Nothing that was written is overwritten: deleted and pruned checkpoints are marked as such, until
their thread is deleted.

>>> import treering
>>> from langgraph.checkpoint.base import empty_checkpoint
>>> saver = TreeringSaver(treering.memory_store())
>>> config = {"configurable": {"thread_id": "thread-1", "checkpoint_ns": ""}}
>>> stored = saver.put(config, empty_checkpoint(), {"step": 1}, {})
>>> saver.get_tuple(config).metadata["step"]
1
>>> entry = stored["configurable"]["checkpoint_id"]
>>> saver.session("thread-1").entry(entry).get("customType")
'langgraph/checkpoint'
"""

from __future__ import annotations

import asyncio
import functools
import random
import threading
from typing import (
    Any,
    AsyncIterator,
    Callable,
    Dict,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
    Union,
    cast,
)

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    PendingWrite,
    get_checkpoint_id,
    get_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from ._threads import (
    CHECKPOINT,
    DELETED,
    LARGEST_RECENT,
    THREAD,
    WRITES,
    Key,
    Thread,
    decoded,
    encode,
    session_id,
)
from ._types import Position, StrPath
from .errors import ConflictError, NotFoundError
from .messages import custom
from .session import Session
from .store import Store, open_store

__all__ = ["TreeringSaver"]

_T = TypeVar("_T")


def _settings(config: RunnableConfig) -> Dict[str, Any]:
    """Return the part of a config that names a checkpoint."""
    return config.get("configurable", {})


def _next(items: Iterator[CheckpointTuple]) -> Optional[CheckpointTuple]:
    return next(items, None)


class TreeringSaver(BaseCheckpointSaver[str]):
    """A checkpointer on a store of sessions: a :class:`treering.Store`, or the address of one."""

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

    def __enter__(self) -> TreeringSaver:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Threads.

    def _thread(self, thread_id: str) -> Optional[Thread]:
        """Return a thread with everything that was written to it by now; None if there is none."""
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

    def _new_thread(self, thread_id: str) -> Thread:
        thread = self._thread(thread_id)
        if thread is None:
            session = self.store.create(id=session_id(thread_id), creation="at_once")
            root = session.append(custom(THREAD, {"thread_id": thread_id}))
            thread = self._threads[thread_id] = Thread(session, root)
        return thread

    def _thread_ids(self) -> List[str]:
        found = []
        for info in self.store.list():
            with self.store.open(info.id) as session:
                entry = next(session.entries(), None)
                if entry is not None and entry.get("customType") == THREAD:
                    found.append(str(entry.get("data")["thread_id"]))
        return found

    def _append(
        self, thread: Thread, kind: str, data: Dict[str, Any], parent: str, id: Optional[str] = None
    ) -> str:
        entry = custom(kind, data)
        try:
            written = thread.session.append(entry, id=id, parent=parent)
        except ConflictError as error:
            if error.code != "duplicate_entry":
                raise
            # The checkpoint is written again: the later entry counts.
            written = thread.session.append(entry, parent=parent)
        thread.add(written, kind, data)
        return written

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
            thread_id: str = _settings(config)["thread_id"]
            ns: str = _settings(config).get("checkpoint_ns", "")
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
        wanted = _settings(config) if config else {}
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
            thread_id = _settings(config)["thread_id"]
            ns = _settings(config).get("checkpoint_ns", "")
            thread, target = self._thread(thread_id), self.get_tuple(config)
            if thread is None or target is None:
                return {channel: {"writes": []} for channel in channels}
            collected: Dict[str, List[PendingWrite]] = {channel: [] for channel in channels}
            seeds: Dict[str, Any] = {}
            at = target.parent_config
            while at is not None and len(seeds) < len(collected):
                key = (ns, _settings(at)["checkpoint_id"])
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

    # Writing.

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Write a checkpoint below its parent."""
        thread_id: str = _settings(config)["thread_id"]
        ns: str = _settings(config).get("checkpoint_ns", "")
        parent = get_checkpoint_id(config)
        whole = dict(checkpoint)
        values = cast(Dict[str, Any], whole.pop("channel_values"))
        kept: Dict[str, Any] = {
            "checkpoint": self.serde.dumps_typed(whole),
            "metadata": self.serde.dumps_typed(get_checkpoint_metadata(config, metadata)),
            "values": {
                channel: self.serde.dumps_typed(values[channel]) if channel in values else ("empty", b"")
                for channel in new_versions
            },
        }
        stored = {
            channel: [str(version), *encode(kept["values"][channel])]
            for channel, version in new_versions.items()
        }
        data = {
            "ns": ns,
            "id": checkpoint["id"],
            "parent": parent,
            "checkpoint": encode(kept["checkpoint"]),
            "metadata": encode(kept["metadata"]),
            "values": stored,
        }
        with self._lock:
            thread = self._new_thread(thread_id)
            above = None if parent is None else thread.checkpoints.get((ns, parent))
            place = thread.root if above is None else above.tail
            entry = checkpoint["id"] if ns == "" else None
            written = self._append(thread, CHECKPOINT, data, place, entry)
            if sum(len(value) for _, value in kept["values"].values()) <= LARGEST_RECENT:
                thread.keep(written, kept)
        return self._config(thread_id, ns, checkpoint["id"])

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[Tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Write what a task wrote, below its checkpoint."""
        thread_id: str = _settings(config)["thread_id"]
        ns: str = _settings(config).get("checkpoint_ns", "")
        id: str = _settings(config)["checkpoint_id"]
        with self._lock:
            thread = self._new_thread(thread_id)
            found = thread.checkpoints.get((ns, id))
            known = {} if found is None else found.writes
            rows: List[List[Any]] = []
            for number, (channel, value) in enumerate(writes):
                number = WRITES_IDX_MAP.get(channel, number)
                if number >= 0 and (task_id, number) in known:
                    continue
                rows.append([number, channel, *encode(self.serde.dumps_typed(value))])
            if rows:
                data = {"ns": ns, "id": id, "task": task_id, "path": task_path, "writes": rows}
                self._append(thread, WRITES, data, thread.root if found is None else found.tail)

    def _delete(self, thread: Thread, keys: List[Key]) -> None:
        if keys:
            data = {"checkpoints": [list(key) for key in keys]}
            self._append(thread, DELETED, data, thread.session.leaf or thread.root)

    def delete_thread(self, thread_id: str) -> None:
        """Remove the session of a thread."""
        with self._lock:
            thread = self._thread(thread_id)
            if thread is None:
                return
            self._threads.pop(thread_id, None)
            thread.session.close()
            self.store.remove(session_id(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Mark the checkpoints of runs as deleted, in all threads."""
        runs = set(run_ids)
        with self._lock:
            for thread_id in self._thread_ids():
                thread = self._thread(thread_id)
                if thread is not None:
                    self._delete(thread, [key for key in thread.live() if self._run(thread, key) in runs])

    def _run(self, thread: Thread, key: Key) -> Any:
        data = self._data(thread, thread.checkpoints[key].entry)
        return dict(self._metadata(data)).get("run_id")

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and writes of a thread to another one."""
        with self._lock:
            source = self._thread(source_thread_id)
            if source is None:
                return
            target = self._new_thread(target_thread_id)
            places = {source.root: target.root}
            for entry in source.session.entries():
                if entry.type != "custom" or entry.id == source.root:
                    continue
                kind, data = entry.get("customType"), entry.get("data")
                parent = places.get(entry.parent or "", target.root)
                self._append(target, kind, data, parent, entry.id)
                places[entry.id] = target.session.leaf or target.root

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Mark checkpoints as deleted: all but the latest of each namespace, or all with ``"delete"``."""
        with self._lock:
            for thread_id in thread_ids:
                thread = self._thread(thread_id)
                if thread is None:
                    continue
                live = thread.live()
                latest: Dict[str, str] = {}
                if strategy != "delete":
                    for ns, id in live:
                        latest[ns] = max(id, latest.get(ns, ""))
                self._delete(thread, [(ns, id) for ns, id in live if latest.get(ns) != id])

    def branch(self, thread_id: str, checkpoint_id: str) -> None:
        """Make a checkpoint the one at which the session stands, for other programs that read it."""
        self.session(thread_id).branch(checkpoint_id or Position.START)

    def get_next_version(self, current: Optional[str], channel: None) -> str:
        """Return the version after another one."""
        number = 0 if current is None else int(str(current).split(".")[0])
        return f"{number + 1:032}.{random.random():016}"

    # The same for asyncio.

    async def _call(self, function: Callable[..., _T], *args: Any, **kwargs: Any) -> _T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, functools.partial(function, *args, **kwargs))

    async def aget_tuple(self, config: RunnableConfig) -> Optional[CheckpointTuple]:
        """Return a checkpoint, or the latest one of the thread."""
        return await self._call(self.get_tuple, config)

    async def alist(
        self,
        config: Optional[RunnableConfig],
        *,
        filter: Optional[Dict[str, Any]] = None,
        before: Optional[RunnableConfig] = None,
        limit: Optional[int] = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Iterate over checkpoints, newest first."""
        items = self.list(config, filter=filter, before=before, limit=limit)
        while True:
            item: Optional[CheckpointTuple] = await self._call(_next, items)
            if item is None:
                return
            yield item

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Write a checkpoint below its parent."""
        return await self._call(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[Tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Write what a task wrote, below its checkpoint."""
        await self._call(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Remove the session of a thread."""
        await self._call(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Mark the checkpoints of runs as deleted."""
        await self._call(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and writes of a thread to another one."""
        await self._call(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Mark checkpoints as deleted."""
        await self._call(self.prune, thread_ids, strategy=strategy)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return the writes of channels since their last stored values."""
        return await self._call(
            self.get_delta_channel_history, config=config, channels=channels
        )
