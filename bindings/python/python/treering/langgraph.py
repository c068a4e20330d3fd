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
    cast,
)

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_id,
    get_checkpoint_metadata,
)

from ._checkpoints import CheckpointReader, settings
from ._threads import CHECKPOINT, DELETED, LARGEST_RECENT, THREAD, WRITES, Key, Thread, encode, session_id
from ._types import Position
from .errors import ConflictError
from .messages import custom

__all__ = ["TreeringSaver"]

_T = TypeVar("_T")


def _next(items: Iterator[CheckpointTuple]) -> Optional[CheckpointTuple]:
    return next(items, None)


class TreeringSaver(CheckpointReader):
    """A checkpointer on a store of sessions: a :class:`treering.Store`, or the address of one."""

    def __enter__(self) -> TreeringSaver:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Writing.

    def _new_thread(self, thread_id: str) -> Thread:
        thread = self._thread(thread_id)
        if thread is None:
            session = self.store.create(id=session_id(thread_id), creation="at_once")
            root = session.append(custom(THREAD, {"thread_id": thread_id}))
            thread = self._threads[thread_id] = Thread(session, root)
        return thread

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

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Write a checkpoint below its parent."""
        thread_id: str = settings(config)["thread_id"]
        ns: str = settings(config).get("checkpoint_ns", "")
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
        thread_id: str = settings(config)["thread_id"]
        ns: str = settings(config).get("checkpoint_ns", "")
        id: str = settings(config)["checkpoint_id"]
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
        """Make the entry of a checkpoint the active leaf, for other programs that read the session."""
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
