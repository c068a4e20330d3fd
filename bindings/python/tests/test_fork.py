"""Sessions and stores in the children of forks."""

from __future__ import annotations

import os
import sys
import traceback
from functools import partial
from pathlib import Path
from typing import Callable, List

import pytest

import treering
from treering import Position, Session
from treering.chimera import Message, SessionTree

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs Unix's fork")


def in_child(work: Callable[[], None]) -> int:
    """Start a child of this process that does some work; it ends with 0 if nothing was raised."""
    child = os.fork()
    if child != 0:
        return child
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_parents_and_children_append_at_the_same_time(session: Session) -> None:
    root = session.append(treering.user("root"))

    def write(name: str) -> None:
        parent = root
        for step in range(300):
            text = f"{name} {step}"
            parent = session.append(treering.user(text), parent=parent)
            # What was written is where the session believes it to be.
            assert session.entry(parent).text == text
        messages = session.context(parent).messages[1:]
        assert [it["content"] for it in messages] == [f"{name} {step}" for step in range(300)]

    children = [in_child(partial(write, name)) for name in ("one", "two", "three")]
    write("parent")
    assert [ended(child) for child in children] == [0, 0, 0]
    session.refresh()
    assert len(session.tree()) == 1 + 4 * 300
    assert session.findings(all=True) == []


@pytest.mark.parametrize("durability", ["none", "batched", "each"])
def test_a_child_continues_at_the_leaf_and_closes_its_session(tmp_path: Path, durability: str) -> None:
    path = tmp_path / "a.jsonl"
    told: List[int] = []
    with Session.create(path, durability=durability) as session:
        first = session.append(treering.user("first"))
        session.append(treering.user("second"))
        session.branch(first, recorded=False)
        session.on_change(lambda change: told.append(len(change.entries)))

        def work() -> None:
            assert session.leaf == first
            with session:
                added = session.append(treering.user("of the child"))
                assert session.tree().parent(added) == first
                assert told == [1]
            assert session.is_closed

        assert ended(in_child(work)) == 0
        assert not session.is_closed and told == []
        assert len(session.refresh()) == 1
        session.append(treering.user("of the parent"))


def test_a_child_drops_sessions_of_its_parent(tmp_path: Path) -> None:
    sessions = [Session.create(tmp_path / "a.jsonl", durability="batched")]
    sessions[0].append(treering.user("first"))
    # Dropping waits for the thread that syncs, which the child does not have.
    assert ended(in_child(sessions.clear)) == 0
    sessions[0].append(treering.user("second"))
    sessions[0].close()


def test_sessions_without_a_file_are_copies_in_the_child(tmp_path: Path) -> None:
    path = tmp_path / "later.jsonl"
    memory, unwritten = Session.in_memory(), Session.create(path)
    memory.append(treering.user("hello"))

    def work() -> None:
        memory.append(treering.user("of the child"))
        assert len(memory.tree()) == 2
        unwritten.append(treering.user("of the child"))
        unwritten.close()

    assert ended(in_child(work)) == 0
    assert len(memory.tree()) == 1
    with Session.open(path) as session:
        assert [entry.text for entry in session] == ["of the child"]


def test_a_child_of_a_child_and_a_session_read_by_its_end(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    with Session.create(path) as session:
        last = session.append(treering.user("hello"))
        for _ in range(20):
            answer = treering.assistant("word " * 20_000, provider="acme", model="m")
            last = session.append(answer)
        record = {"type": "compaction", "summary": "It was long.", "firstKeptEntryId": last}
        session.append({**record, "tokensBefore": 500_000})
    with Session.open(path) as session:
        assert not session._native.is_whole

        def grandchild() -> None:
            assert len(session.context()) == 2
            session.append(treering.user("of the grandchild"))
            assert session.branch(Position.START, recorded=False) is None

        def child() -> None:
            assert ended(in_child(grandchild)) == 0
            session.append(treering.user("of the child"))

        assert ended(in_child(child)) == 0
        assert len(session.tree()) == 22
        assert len(session.refresh()) >= 2


def test_children_choose_ids_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "chimera.jsonl"
    tree = SessionTree(path)
    root = tree.add_message(Message.user("root"))

    def work() -> None:
        own = SessionTree(path)
        parent = root
        for number in range(50):
            parent = own.add_message(Message.user(str(number)), parent)

    children = [in_child(work) for _ in range(3)]
    assert [ended(child) for child in children] == [0, 0, 0]
    assert tree.entry_count == 1
    tree.session.refresh()
    assert tree.entry_count == 1 + 3 * 50
