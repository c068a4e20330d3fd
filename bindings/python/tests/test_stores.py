"""The same story on every kind of store: a directory, memory, a server, a database."""

from __future__ import annotations

import asyncio
import os
import pickle
import warnings
from pathlib import Path
from typing import Any, Callable, Dict, Iterator

import pytest
from servers import COMMAND, find_postgres, node, postgres

import treering
import treering.aio
from treering import Position, Session, Store

Answer = Callable[[str], Dict[str, Any]]


@pytest.fixture(scope="session")
def database() -> Iterator[str]:
    programs, prefix, why = find_postgres()
    if programs is None or COMMAND is None:
        reason = f"SKIPPED: tests with PostgreSQL, because {why or 'the command treering is missing'}"
        warnings.warn(reason, stacklevel=1)
        pytest.skip(reason)
    with postgres(programs, prefix) as address:
        yield address


@pytest.fixture(params=["directory", "memory", "server", "database", "server of a database"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Store]]:
    """A function that opens the same store anew, each time as another client would."""
    kind, place = request.param, tmp_path / "sessions"
    place.mkdir()
    space = "".join(it for it in request.node.name if it.isalnum())[:40].lower()
    if kind == "directory":
        yield lambda: treering.open_store(place)
    elif kind == "memory":
        memory = treering.memory_store()
        yield lambda: memory
    elif kind == "database":
        address = request.getfixturevalue("database")
        yield lambda: treering.open_store(address, space=space)
    else:
        if COMMAND is None:
            pytest.skip("the command treering is missing")
        inner = str(place) if kind == "server" else request.getfixturevalue("database")
        with node(tmp_path, inner) as (address, token):
            yield lambda: treering.open_store(address, token=token)


def test_a_story_on_every_store(store: Callable[[], Store], answer: Answer) -> None:
    here, there = store(), store()
    session = here.create(cwd="/project", id="story-1", creation="at_once")
    question = session.append(treering.user("Name a color."))
    red = session.append(answer("Red."))
    assert {info.id for info in there.list()} >= {"story-1"}

    # Another client reads it, and writes to it.
    other = there.open("story-1")
    assert other.context().messages == session.context().messages
    assert [entry.id for entry in other.path_to()] == [question, red]
    other.branch(question)
    blue = other.append(answer("Blåu 🌲."))

    # The first one follows.
    seen = []
    with session.on_change(lambda change: seen.append((change.entries, change.is_own))):
        assert blue in session.refresh()
        assert session.leaf == red
        assert session.follow() == blue
    assert [is_own for entries, is_own in seen if blue in entries] == [False]
    assert session.context().messages[-1]["content"][0]["text"] == "Blåu 🌲."
    assert set(session.tree().leaves(conversation=True)) == {red, blue}

    # A writer that expects another leaf is refused, and nothing is lost.
    with pytest.raises(treering.ConflictError) as moved:
        session.append(treering.user("late"), expecting=red)
    assert moved.value.code == "leaf_moved"
    session.append_all([treering.user("one"), answer("two")])
    session.label(red, "warm")
    session.name = "Colors"
    assert other.follow() is not None
    assert (other.name, other.tree().label(red)) == ("Colors", "warm")

    # A fork in the same store.
    fork = session.fork(red, store=here)
    assert [message["role"] for message in fork.context()] == ["user", "assistant"]
    assert fork.id != session.id
    fork.append(treering.user("Only in the fork."))

    found = there.search("only in the fork")
    assert [hits.session.id for hits in found.sessions] == [fork.id]
    hits = session.search("blåu")
    assert hits is not None and hits.hits[0].entry == blue

    plan = session.plan_drop(blue)
    session.apply_edit(plan)
    assert blue not in other.context(other.follow() or Position.LEAF).entries

    for it in (session, other, fork):
        it.close()
    with pytest.raises(treering.TreeringError) as closed:
        session.context()
    assert closed.value.code == "closed"
    here.remove("story-1")
    with pytest.raises(treering.NotFoundError):
        there.open("story-1")
    left = {info.id for info in there.list()}
    assert fork.id in left and "story-1" not in left


def test_changes_of_a_store(store: Callable[[], Store]) -> None:
    here, there = store(), store()
    _, mark = there.changes()
    session = here.create(cwd="/project", id="changes-1", creation="at_once")
    session.append(treering.user("hello"))
    changed, mark = there.changes(mark)
    assert changed["changes-1"] is not None
    assert there.changes(mark)[0].get("changes-1", changed["changes-1"]) == changed["changes-1"]


def test_a_fork_is_in_the_store_of_its_session(store: Callable[[], Store]) -> None:
    here = store()
    session = here.create(cwd="/project", id="beside-1", creation="at_once")
    session.append(treering.user("hello"))
    with session.fork() as fork:
        fork.append(treering.user("only in the fork"))
        assert fork.id in {info.id for info in here.list()}
        assert str(session.path or here.location) in repr(session)
    with here.open(fork.id) as again:
        assert [message["content"] for message in again.context()] == ["hello", "only in the fork"]
        try:
            pickled = pickle.dumps(again)
        except TypeError:
            # A store in memory, or one that was opened with a token.
            return
        with pickle.loads(pickled) as copy:
            assert copy.id == fork.id


def test_the_latest_session_of_a_project_is_continued(store: Callable[[], Store], tmp_path: Path) -> None:
    project = tmp_path / "project"
    with store().continue_recent(cwd=project, creation="at_once") as created:
        created.append(treering.user("hello"))
    with store().create(cwd=tmp_path / "another", creation="at_once") as other:
        other.append(treering.user("elsewhere"))
    with store().continue_recent(cwd=project) as again:
        assert again.id == created.id
        assert [entry.text for entry in again] == ["hello"]

    async def follow() -> str:
        session = await treering.aio.Store(store()).continue_recent(cwd=project)
        return session.id

    assert asyncio.run(follow()) == created.id
    file = store().file(created.id)
    assert file is None or file.read_bytes().count(b"\n") == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs Unix's fork")
def test_connections_are_not_shared_with_the_child_of_a_fork(store: Callable[[], Store]) -> None:
    here = store()
    session = here.create(cwd="/project", id="forked-1", creation="at_once")
    session.append(treering.user("hello"))
    is_local = "://" not in here.location
    child = os.fork()
    if child == 0:
        codes = []
        for call in (here.has_news, session.tree, lambda: session.append(treering.user("of the child"))):
            try:
                call()
            except treering.InvalidError as error:
                codes.append(error.code)
        session.close()
        del here, session
        os._exit(0 if codes == ([] if is_local else ["forked"] * 3) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    session.append(treering.user("of the parent"))
    assert "forked-1" in {info.id for info in here.list()}


def test_the_sessions_of_all_agents_are_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("XDG_", "TREERING_", "PI_", "CODEX_", "CLAUDE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    chimera = tmp_path / ".chimera" / "sessions" / "a.jsonl"
    with Session.create(chimera, dialect="chimera", id="of-chimera", creation="at_once") as session:
        session.append(treering.user("hello"))
    store = treering.local_store()
    assert [(info.id, info.agent) for info in store.list()] == [("of-chimera", "chimera")]
    assert store.file("of-chimera") == chimera
    with store.open("of-chimera") as opened:
        assert [message["content"] for message in opened.context()] == ["hello"]


def test_the_same_with_asyncio(store: Callable[[], Store], answer: Answer) -> None:
    async def story() -> None:
        session = await treering.aio.Store(store()).create(id="async-1", creation="at_once")
        async with session:
            question = await session.append(treering.user("Name a color."))
            red = await session.append(answer("Red."))
            context = await session.context()
            assert [message["role"] for message in context] == ["user", "assistant"]
            await session.drop_from_context(red)
            assert len(await session.context()) == 1
            await session.branch(question)
            contexts = await asyncio.gather(*(session.context() for _ in range(8)))
            assert all(len(context) == 1 for context in contexts)

    asyncio.run(story())


def test_a_wrong_token_is_refused(tmp_path: Path) -> None:
    if COMMAND is None:
        pytest.skip("the command treering is missing")
    (tmp_path / "sessions").mkdir()
    with node(tmp_path, str(tmp_path / "sessions")) as (address, _):
        wrong = treering.open_store(address, token="wrong")
        with pytest.raises(treering.TreeringError) as refused:
            list(wrong.list())
        assert "token" in str(refused.value) or "401" in str(refused.value)
