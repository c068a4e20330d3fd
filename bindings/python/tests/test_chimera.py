"""Chimera's API, without Chimera: its own tests are run by check.sh."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treering.chimera import LabelEntry, Message, SessionEntry, SessionHeader, SessionTree, ToolCall


def test_branches_and_messages(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    tree = SessionTree(path)
    assert not path.exists() and tree.entry_count == 0 and tree.get_branch() == []
    question = tree.add_message(Message.user("Name a color."))
    red = tree.add_message(Message.assistant("Red.", [ToolCall("1", "bash", {"a": 1.5})]))
    assert tree.fork(question) == question
    blue = tree.add_message(Message.assistant("Blue."))
    assert tree.get_leaves() == [red, blue] and tree.get_branch_points() == [question]
    again = SessionTree(path)
    assert again.active_leaf == blue
    assert [it.content for it in again.get_messages(red)] == ["Name a color.", "Red."]
    assert again.get_messages(red)[1].tool_calls == [ToolCall("1", "bash", {"a": 1.5})]
    assert tree.session.dialect == "chimera"
    with pytest.raises(ValueError, match="not found"):
        tree.switch_branch("nowhere")


def test_lines_are_chimera_s(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    tree = SessionTree(path)
    tree.append(SessionHeader("h", None, 1.0, cwd="/project", system_prompt="é"))
    message = tree.add_message(Message.tool("1", "out"))
    tree.append(LabelEntry("l", message, 2.0, target_id=message, label="here"))
    tree.append(SessionEntry("model_change", "x", "l", 3.5, {"model": "m"}))
    lines = path.read_text().splitlines()
    assert lines[0] == (
        '{"type": "header", "id": "h", "parent_id": null, "timestamp": 1.0, "version": 1,'
        ' "cwd": "/project", "system_prompt": "\\u00e9"}'
    )
    assert json.loads(lines[1])["message"] == {"role": "tool", "content": "out", "call_id": "1"}
    assert lines[3] == (
        '{"type": "model_change", "id": "x", "parent_id": "l", "timestamp": 3.5, "data": {"model": "m"}}'
    )
    assert [type(it).__name__ for it in SessionTree(path).get_branch()] == [
        "SessionHeader",
        "MessageEntry",
        "LabelEntry",
        "SessionEntry",
    ]


def test_summaries(tmp_path: Path) -> None:
    tree = SessionTree(tmp_path / "s.jsonl")
    leaf = tree.add_message(Message.user("one"))

    def fails(messages: object) -> str:
        raise RuntimeError("no model")

    with pytest.raises(RuntimeError):
        tree.summarize_branch(leaf, fails)
    assert tree.active_leaf == leaf
    tree.add_state_change("model", "m")
    id = tree.summarize_branch(leaf, lambda messages: f"{len(messages)} messages")
    assert tree.get_messages()[-1].content == "[Session compacted. Summary: 1 messages]"
    assert tree.active_leaf == id
    with pytest.raises(ValueError):
        tree.summarize_branch("nowhere", fails)


TEXTS = st.text(st.characters(codec=None), max_size=40) | st.sampled_from(
    ["", 'a "b" \\ \n\t\r\b\f\x00\x1f\x7f', "é木🌲" * 9, "\ud83d half", "plain " * 20]
)
ARGUMENTS = st.dictionaries(
    TEXTS, st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.lists(TEXTS, max_size=2), max_size=3
)
CALLS = st.lists(st.builds(ToolCall, TEXTS, TEXTS, ARGUMENTS), max_size=2)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(messages=st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), TEXTS, CALLS, TEXTS), max_size=4))
def test_lines_are_what_json_dumps_writes(tmp_path: Path, messages: Any) -> None:
    path = tmp_path / f"{uuid.uuid4()}.jsonl"
    tree, parent = SessionTree(path), None
    for role, content, calls, call_id in messages:
        id = tree.add_message(Message(role, content, calls, call_id or None))
        body = {"role": role, "content": content}
        if calls:
            body["tool_calls"] = [{"id": it.id, "name": it.name, "arguments": it.arguments} for it in calls]
        if call_id:
            body["call_id"] = call_id
        line = path.read_text().splitlines()[-1]
        head = {"type": "message", "id": id, "parent_id": parent, "timestamp": json.loads(line)["timestamp"]}
        assert line == json.dumps({**head, "message": body})
        parent = id
    if messages:
        whole = SessionTree(path)
        assert len(whole.get_messages()) == len(messages)
        assert [it.content for it in whole.get_messages()] == [it[1] for it in messages]


def test_what_only_json_dumps_writes(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    tree = SessionTree(path)
    tree.add_message(Message.assistant("x", [ToolCall("1", "f", {1: "a", None: True})]))  # type: ignore[dict-item]
    assert json.loads(path.read_text())["message"]["tool_calls"][0]["arguments"] == {"1": "a", "null": True}
    with pytest.raises(TypeError):
        tree.add_message(Message.assistant("x", [ToolCall("1", "f", {"a": object()})]))
    assert tree.entry_count == 1
