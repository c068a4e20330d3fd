"""Sessions that are opened by their end, and of which the rest is read when something needs it."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any, Callable, List

import pytest

import treering
from treering import Session, aio
from treering.chimera import Message, SessionHeader, SessionTree

LONG = "lorem ipsum\n" * 8_000
#: The entries of a long session.
COUNT = 24


@pytest.fixture
def long(tmp_path: Path) -> Path:
    """Return a file of 2 MB whose context is at its end, and whose thinking level was set at the start."""
    path = tmp_path / "long.jsonl"
    with Session.create(path, cwd="/project", id="long") as session:
        session.append({"type": "thinking_level_change", "thinkingLevel": "high"})
        for number in range(20):
            session.append(treering.assistant(f"{number} {LONG}", provider="acme", model="m"))
        kept = session.append(treering.user("go on \U0001f332"))
        session.append({"type": "compaction", "summary": "long", "firstKeptEntryId": kept, "tokensBefore": 9})
        session.append(treering.assistant("done", provider="acme", model="m"))
    return path


def is_whole(session: Session) -> bool:
    return session._native.is_whole


def opened_whole(path: Path) -> Session:
    session = Session.open(path)
    session.tree()
    assert is_whole(session)
    return session


def test_the_end_tells_facts_and_the_context(long: Path) -> None:
    session, whole = Session.open(long), opened_whole(long)
    facts: List[Callable[[Session], Any]] = [
        lambda it: it.id,
        lambda it: it.path,
        lambda it: it.cwd,
        lambda it: it.dialect,
        lambda it: it.leaf,
        lambda it: it._native.header(),
        lambda it: it._native.is_written,
        lambda it: it._native.log_length,
        lambda it: it.context().messages,
        lambda it: it.context(whole.leaf or "").messages,
        lambda it: it.context().entries,
        lambda it: it.context().model,
        lambda it: len(it.context()),
        lambda it: it.context().to_anthropic().body,
    ]
    for fact in facts:
        assert fact(session) == fact(whole)
    assert not is_whole(session)
    rest: List[Callable[[Session], Any]] = [
        lambda it: it.tree().ids(),
        lambda it: it.name,
        lambda it: it.title(),
        lambda it: it.context(it.tree().ids()[3]).messages,
        lambda it: it.context().to_json(),
        lambda it: [entry.id for entry in it.entries()],
        lambda it: it.search("ipsum"),
        lambda it: it.export("markdown"),
        repr,
    ]
    for fact in rest:
        session = Session.open(long)
        assert not is_whole(session)
        assert fact(session) == fact(whole)
        assert is_whole(session)


def test_the_thinking_level_is_found_where_it_was_set(long: Path) -> None:
    with Session.open(long) as session:
        context = session.context()
        assert context.model == ("acme", "m") and not is_whole(session)
        session.append({"type": "thinking_level_change", "thinkingLevel": "low"})
        assert (context.thinking_level, session.context().thinking_level) == ("high", "low")
    context = Session.open(long).context()
    assert pickle.loads(pickle.dumps(context)).thinking_level == "low"
    with Session.open(long) as session:
        late = session.context()
    # As any context, this one outlives its session.
    assert late.thinking_level == "low" and len(late.messages) == 3
    assert json.loads(late.to_json())["thinkingLevel"] == "low"


def test_what_others_append_meanwhile_comes_with_a_refresh(long: Path) -> None:
    session = Session.open(long)
    leaf = session.leaf
    code = "import sys, treering; treering.Session.open(sys.argv[1]).append(treering.user('from elsewhere'))"
    subprocess.run([sys.executable, "-c", code, str(long)], check=True)
    assert len(session.context()) == 3 and not is_whole(session)
    assert len(session.tree()) == COUNT and session.leaf == leaf
    (new,) = session.refresh()
    assert session.entry(new).text == "from elsewhere"
    other = Session.open(long)
    subprocess.run([sys.executable, "-c", code, str(long)], check=True)
    mine = other.append(treering.user("mine"))
    assert len(other.tree()) == COUNT + 3 and other.tree().parent(mine) == new


def test_files_that_are_replaced_or_removed(long: Path, tmp_path: Path) -> None:
    renamed, removed, rewritten = Session.open(long), Session.open(long), Session.open(long)
    expected = opened_whole(long)
    ids, messages = expected.tree().ids(), expected.context().messages
    other = tmp_path / "other.jsonl"
    with Session.create(other, id="other") as session:
        session.append(treering.user("another session"))
    if os.name != "nt":
        content = long.read_bytes()
        os.replace(other, long)
        assert renamed.context().messages == messages and renamed.tree().ids() == ids
        other.write_bytes(long.read_bytes())
        long.unlink()
        assert removed.context().messages == messages and removed.tree().ids() == ids
        long.write_bytes(content)
        rewritten = Session.open(long)
    # In place: what was opened is gone.
    context = rewritten.context()
    with open(long, "r+b") as file:
        file.truncate()
        file.write(other.read_bytes())
        file.truncate()
    for _ in range(2):
        with pytest.raises(treering.TreeringError) as raised:
            rewritten.tree()
        assert raised.value.code == "replaced"
    with pytest.raises(treering.TreeringError):
        context.thinking_level
    assert context.messages == messages


@pytest.mark.parametrize(
    "end",
    [
        b'{"type":"message","id":"torn","parentId":',
        b"not json at all\n",
        b"\xff\xfe\n\n",
        b'{"type":"message","id":"x1","parentId":"nowhere","message":{"role":"user","content":"lost"}}\n',
        b'{"type":"message","id":"x2","parentId":null,"message":{"role":"user","content":"root"}}\n',
    ],
)
def test_damaged_ends(long: Path, end: bytes) -> None:
    with open(long, "ab") as file:
        file.write(end)
    session, whole = Session.open(long), opened_whole(long)
    assert session.leaf == whole.leaf
    assert session.context().messages == whole.context().messages
    assert session.context().thinking_level == whole.context().thinking_level
    assert session.findings() == whole.findings()
    assert session.append(treering.user("on")) in session.tree()


def test_what_is_wrong_with_a_file_is_raised_when_it_is_opened(tmp_path: Path, long: Path) -> None:
    for open_session in (Session.open, Session.open_or_create):
        broken = tmp_path / "broken.jsonl"
        broken.write_bytes(b"no session\n" * 200_000)
        with pytest.raises(treering.TreeringError):
            open_session(broken)
        with pytest.raises(treering.TreeringError):
            open_session(tmp_path)
    with pytest.raises(treering.TreeringError):
        Session.open(tmp_path / "missing.jsonl")
    with pytest.raises(treering.InvalidError):
        Session.open_or_create(long, id="another")
    with pytest.raises(treering.InvalidError):
        Session.open_or_create(long, dialect="chimera")
    session = Session.open_or_create(long, id="long", dialect="pi")
    assert session.id == "long" and not is_whole(session)
    session.close()
    with pytest.raises(treering.InvalidError):
        session.context()


def test_threads_that_need_the_rest_at_once(long: Path) -> None:
    expected = opened_whole(long).context().messages
    for _ in range(5):
        session = Session.open(long)
        before = len(opened_whole(long).tree())
        barrier = threading.Barrier(12)
        errors: List[BaseException] = []
        written: List[str] = []

        def work(number: int) -> None:
            try:
                barrier.wait(60)
                if number % 3 == 0:
                    written.append(session.append(treering.user(str(number)), parent=session.tree().ids()[0]))
                elif number % 3 == 1:
                    assert session.context(session.tree().path(kept)[-1]).messages == expected
                else:
                    assert session.context(kept).thinking_level == "high"
            except BaseException as error:  # The main thread raises it.
                errors.append(error)

        kept = Session.open(long).leaf or ""
        threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert len(session.tree()) == before + len(written) == len(opened_whole(long).tree())
        session.branch(kept)
        assert session.context().messages == expected


def test_contexts_are_remembered_across_the_reading_of_the_rest(long: Path) -> None:
    session = Session.open(long)
    for _ in range(3):
        messages = session.context().messages
        messages[0]["summary"] = "changed"
    session.append(treering.user("more"))
    for _ in range(2):
        messages = session.context().messages
        assert [it["role"] for it in messages] == ["compactionSummary", "user", "assistant", "user"]
        assert messages[0]["summary"] == "long"


def test_chimera_s_files(tmp_path: Path) -> None:
    path = tmp_path / "chimera.jsonl"
    tree = SessionTree(path)
    tree.append(SessionHeader("h", None, 1.0, cwd="/project"))
    last = [tree.add_message(Message.user(f"{number} {LONG}")) for number in range(20)][-1]
    record = {"type": "compaction", "id": "c", "parent_id": last, "timestamp": 2.0, "summary": "long"}
    tree.session.append_record(json.dumps({**record, "first_kept_id": last}))
    tree.add_message(Message.user("after"))
    session, whole = Session.open(path), opened_whole(path)
    assert session.context().messages == whole.context().messages
    assert session.dialect == "chimera" and session.id == whole.id
    assert session.context().model == whole.context().model
    assert session.tree().ids() == whole.tree().ids()
    assert SessionTree(path).get_messages()[-1].content == "after"


def test_stores_and_asyncio(long: Path) -> None:
    session = treering.open_store(long.parent).open("long")
    assert not is_whole(session) and len(session.context()) == 3

    async def main() -> None:
        for opened in (
            await aio.Session.open(long),
            await aio.Session.open_or_create(long),
            await (await aio.open_store(str(long.parent))).open("long"),
        ):
            # No property of it reads a file on the loop's thread.
            assert is_whole(opened.sync_session)

    asyncio.run(main())


@pytest.mark.skipif(os.name == "nt", reason="needs Unix signals")
def test_interrupts_and_kills(long: Path) -> None:
    code = """
        import os, signal, sys, treering
        path = sys.argv[1]
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        count = 0
        try:
            while True:
                session = treering.Session.open(path)
                len(session.context().messages), len(session.tree()), session.search("lorem")
                count += 1
        except KeyboardInterrupt:
            pass
        session = treering.Session.open(path)
        print(session.append(treering.user("after the interrupt")), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
        """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(long)], stdout=subprocess.PIPE, text=True, timeout=120
    )
    assert done.returncode == -signal.SIGKILL
    session = Session.open(long)
    assert session.leaf == done.stdout.strip()
    assert session.findings(all=True) == [] and len(session.tree()) == COUNT + 1
