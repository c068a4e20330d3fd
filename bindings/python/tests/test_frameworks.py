"""The OpenAI Agents SDK and LangGraph; their own tests are run by check.sh."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, List

import pytest

import treering

pytest.importorskip("agents")
pytest.importorskip("langgraph.checkpoint.base")

from agents.items import TResponseInputItem  # noqa: E402
from langchain_core.runnables import RunnableConfig  # noqa: E402
from langgraph.checkpoint.base import Checkpoint, empty_checkpoint  # noqa: E402

from treering.langgraph import TreeringSaver  # noqa: E402
from treering.openai_agents import TreeringSession  # noqa: E402

ITEMS: List[TResponseInputItem] = [
    {"role": "user", "content": "List the files."},
    {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": '{"command": "ls"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "a.txt"},
    {"type": "reasoning", "id": "r1", "summary": []},
    {"role": "assistant", "content": "There is one file."},
]


def test_items_are_messages_of_the_session(tmp_path: Path) -> None:
    session = TreeringSession("chat/1 with spaces", tmp_path)

    async def main() -> None:
        await session.add_items(ITEMS)
        assert await session.get_items() == ITEMS
        assert await session.get_items(limit=2) == ITEMS[-2:]
        assert await session.pop_item() == ITEMS[-1]
        again = TreeringSession("chat/1 with spaces", tmp_path)
        assert await again.get_items() == ITEMS[:-1]
        await again.add_items(ITEMS[-1:])
        assert await session.get_items() == ITEMS

    asyncio.run(main())
    roles = [it["role"] for it in session.session.context()]
    assert roles == ["user", "assistant", "toolResult", "assistant"]
    assert session.session.context().to_openai().repairs == []


def test_compaction_branches_and_clearing(tmp_path: Path) -> None:
    session = TreeringSession("chat", tmp_path)

    async def main() -> None:
        for number in range(10):
            await session.add_items([{"role": "user", "content": f"{number} " + "word " * 200}])
        tree = session.session
        assert tree.compact(lambda _: "They counted.", keep_recent_tokens=500) is not None
        items: List[Any] = await session.get_items()
        assert "They counted." in items[0]["content"] and 1 < len(items) < 10
        assert items[-1]["content"].startswith("9 ")
        first = tree.tree().ids()[0]
        tree.branch(first)
        assert len(await session.get_items()) == 1
        await session.clear_session()
        assert await session.get_items() == [] and await session.pop_item() is None
        await session.add_items([{"role": "user", "content": "new"}])
        assert await session.get_items() == [{"role": "user", "content": "new"}]
        assert len(tree.tree().leaves(conversation=True)) >= 2

    asyncio.run(main())
    session.close()
    with pytest.raises(RuntimeError):
        asyncio.run(session.get_items())


def checkpoint_id(config: RunnableConfig) -> str:
    id: str = config.get("configurable", {})["checkpoint_id"]
    return id


def put(saver: TreeringSaver, thread: str, value: int, parent: str = "") -> str:
    checkpoint: Checkpoint = {**empty_checkpoint(), "channel_values": {"n": value}}
    checkpoint["channel_versions"] = {"n": f"{value:032}"}
    configurable = {"thread_id": thread, "checkpoint_ns": ""}
    if parent:
        configurable["checkpoint_id"] = parent
    config: RunnableConfig = {"configurable": configurable}
    stored = saver.put(config, checkpoint, {"step": value}, {"n": f"{value:032}"})
    return checkpoint_id(stored)


def test_threads_are_sessions_and_forks_are_branches(tmp_path: Path) -> None:
    with TreeringSaver(tmp_path) as saver:
        first = put(saver, "thread", 1)
        second = put(saver, "thread", 2, first)
        at: RunnableConfig = {
            "configurable": {"thread_id": "thread", "checkpoint_ns": "", "checkpoint_id": first}
        }
        saver.put_writes(at, [("n", 7)], "task")
        third = put(saver, "thread", 3, first)
        session = saver.session("thread")
        tree = session.tree()
        assert tree.is_ancestor(first, second) and tree.is_ancestor(first, third)
        assert tree.common_ancestor(second, third) == first
        assert session.id == "thread"
        with TreeringSaver(tmp_path) as other:
            found = other.get_tuple({"configurable": {"thread_id": "thread"}})
            assert found is not None and found.checkpoint["channel_values"] == {"n": 3}
            fourth = put(other, "thread", 4, third)
        latest = saver.get_tuple({"configurable": {"thread_id": "thread"}})
        assert latest is not None and checkpoint_id(latest.config) == fourth
        before = saver.get_tuple(at)
        assert before is not None and before.pending_writes == [("task", "n", 7)]
        saver.prune(["thread"])
        kept = list(saver.list({"configurable": {"thread_id": "thread"}}))
        assert [checkpoint_id(it.config) for it in kept] == [fourth]
        # What was pruned is still in the log: delta channels are built from it.
        history = saver.get_delta_channel_history(config=latest.config, channels=["n"])
        assert history["n"].get("seed") == 3
        saver.delete_thread("thread")
        assert saver.get_tuple({"configurable": {"thread_id": "thread"}}) is None
        with pytest.raises(treering.NotFoundError):
            saver.session("thread")
