"""Threads, listeners, interrupts, memory, and processes that are killed."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import weakref
from pathlib import Path
from typing import Any, Callable, Dict, List, Set

import pytest

import treering
from treering import Session, aio

Answer = Callable[[str], Dict[str, Any]]


def test_sixteen_threads_on_one_session(session: Session) -> None:
    root = session.append(treering.user("start"))
    written: List[List[str]] = [[] for _ in range(16)]
    errors: List[BaseException] = []

    def work(number: int) -> None:
        try:
            parent = root
            for step in range(50):
                parent = session.append(treering.user(f"{number}:{step}"), parent=parent)
                written[number].append(parent)
                assert session.context(parent).messages[-1]["content"] == f"{number}:{step}"
                if step % 10 == 0:
                    session.label(parent, f"label {number}")
                    sum(1 for _ in session.path_to(parent))
                    len(session.tree().leaves())
        except BaseException as error:  # The main thread raises it.
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    for number, ids in enumerate(written):
        messages = session.context(ids[-1]).messages[1:]
        assert [it["content"] for it in messages] == [f"{number}:{step}" for step in range(50)]
    assert session.findings(all=True) == []


def test_a_call_lets_other_threads_run(session: Session) -> None:
    # A listener waits for another Python thread: that ends only if the append does not hold Python's lock.
    asked, answered = threading.Event(), threading.Event()

    def helper() -> None:
        asked.wait(60)
        answered.set()

    thread = threading.Thread(target=helper)
    thread.start()

    def listener(change: treering.Change) -> None:
        asked.set()
        assert answered.wait(60)

    with session.on_change(listener):
        session.append(treering.user("hello"))
    thread.join(60)
    assert answered.is_set()


def test_listeners_are_told_until_they_are_cancelled(session: Session, tmp_path: Path) -> None:
    changes: List[treering.Change] = []
    subscription = session.on_change(changes.append)
    first = session.append(treering.user("one"))
    with Session.open(tmp_path / "session.jsonl") as other:
        second = other.append(treering.user("two"))
    session.refresh()
    assert [(it.entries, it.is_own) for it in changes] == [([first], True), ([second], False)]
    subscription.cancel()
    session.append(treering.user("three"))
    assert len(changes) == 2


def test_the_exception_of_a_listener_comes_out_of_the_call(session: Session) -> None:
    class Stopped(Exception):
        pass

    def listener(change: treering.Change) -> None:
        raise Stopped(change.entries[0])

    with session.on_change(listener), pytest.raises(Stopped) as caught:
        session.append(treering.user("one"))
    assert session.leaf == caught.value.args[0]
    assert session.append(treering.user("two")) == session.leaf


def test_listeners_do_not_keep_their_sessions_alive() -> None:
    class Agent:
        def __init__(self) -> None:
            self.told = 0
            self.session = Session.in_memory()
            self.subscription = self.session.on_change(self.tell)

        def tell(self, change: treering.Change) -> None:
            self.told += 1

    agent = Agent()
    agent.session.append(treering.user("hello"))
    gc.collect()
    agent.session.append(treering.user("hello"))
    assert agent.told == 2
    is_alive = weakref.ref(agent)
    del agent
    gc.collect()
    assert is_alive() is None


def test_listeners_that_are_cancelled_are_forgotten(session: Session) -> None:
    told: List[int] = []
    for _ in range(100):
        session.on_change(lambda change: told.append(0)).cancel()
    first = session.on_change(lambda change: told.append(-1))
    second = session.on_change(lambda change: told.append(-2))
    session.append(treering.user("one"))
    first.cancel()
    session.append(treering.user("two"))
    second.cancel()
    assert told == [-1, -2, -2]


def test_a_listener_may_use_the_session(session: Session) -> None:
    def listener(change: treering.Change) -> None:
        if session.entry(change.entries[0]).role == "user":
            session.append(treering.assistant("noted", provider="acme", model="m"))

    with session.on_change(listener):
        session.append(treering.user("one"))
    assert [it["role"] for it in session.context()] == ["user", "assistant"]


def run(code: str, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_listener_may_cancel_itself_or_close_its_session() -> None:
    # In a separate process, because a failure stops every thread of the process.
    process = run(
        """
        import threading, treering
        session, told = treering.Session.in_memory(), []

        def once(change):
            told.append(change)
            subscription.cancel()

        subscription = session.on_change(once)
        session.append(treering.user("one"))
        session.append(treering.user("two"))
        assert len(told) == 1, told

        # Another thread cancels while the function runs.
        running, canceled = threading.Event(), threading.Event()

        def slow(change):
            running.set()
            assert canceled.wait(60)

        def cancel():
            running.wait(60)
            subscription.cancel()
            canceled.set()

        subscription = session.on_change(slow)
        thread = threading.Thread(target=cancel)
        thread.start()
        session.append(treering.user("three"))
        thread.join()

        session.on_change(lambda change: session.close())
        session.append(treering.user("four"))
        assert session.is_closed
        print("done")
        """
    )
    out, errors = process.communicate(timeout=120)
    assert out == "done\n", errors


@pytest.mark.skipif(os.name == "nt", reason="needs Unix signals")
def test_a_killed_process_leaves_every_entry_that_it_was_told_of(tmp_path: Path) -> None:
    path = tmp_path / "killed.jsonl"
    process = run(
        """
        import sys, treering
        with treering.Session.create(sys.argv[1], creation="at_once") as session:
            while True:
                print(session.append(treering.user("x" * 500)), flush=True)
        """,
        str(path),
    )
    assert process.stdout is not None
    ids = [process.stdout.readline().strip() for _ in range(200)]
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read()
    process.communicate()
    # The last line of the pipe may be torn; every whole one names an entry.
    ids += [line.strip() for line in rest.splitlines(keepends=True) if line.endswith("\n")]
    with Session.open(path) as session:
        tree = session.tree()
        assert [id for id in ids if id not in tree] == []
        assert tree.ids()[: len(ids)] == ids
        assert not any(session.entry(id).is_damaged for id in ids)
        more = session.append(treering.user("after"))
        # The kernel may end a write in its middle: the fragment is of an entry that was not told of.
        assert session.tree().parent(more) in tree.ids()[-2:]
    assert {finding.entry for finding in treering.doctor(path).findings}.isdisjoint(ids)


@pytest.mark.skipif(os.name == "nt", reason="needs Unix signals")
def test_an_interrupt_ends_a_call_that_waits(tmp_path: Path) -> None:
    # A listener on the store's side would be simpler; a server that never answers is what happens.
    process = run(
        """
        import signal, socket, sys, threading, treering
        # A process that a script starts in the background inherits an ignored SIGINT.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        silent = socket.socket()
        silent.bind(("127.0.0.1", 0))
        silent.listen(8)

        def tell():
            connection, _ = silent.accept()
            print("waiting", flush=True)
            threading.Event().wait()

        threading.Thread(target=tell, daemon=True).start()
        store = treering.open_store("http://127.0.0.1:%d" % silent.getsockname()[1], token="t")
        try:
            list(store.list())
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            sys.stdout.flush()
            import os
            os._exit(0)
        """
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=120)
    assert out == "interrupted\n", errors


def resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_stays_flat(tmp_path: Path) -> None:
    rounds = int(os.environ.get("TREERING_LEAK_ROUNDS", "20000"))
    message = treering.assistant("word " * 20, provider="acme", model="m")

    def work(count: int) -> None:
        # A session grows by its index; what must not grow is everything else.
        session = Session.in_memory()
        for number in range(count):
            session.append(message)
            if number % 20 == 19:
                session.branch(Position.START, recorded=False)
            len(session.context().messages)
            if number % 500 == 499:
                session.close()
                session = Session.in_memory()
            try:
                session.entry("nowhere")
            except treering.NotFoundError as error:
                assert error.fields

    from treering import Position

    work(rounds // 4)
    gc.collect()
    before = resident()
    work(rounds)
    gc.collect()
    grown = resident() - before
    # A leak of a context, a message or an exception for each round would be many times this.
    assert grown < rounds * 100 + 4_000_000, f"{grown} bytes more after {rounds} rounds"


def test_asyncio(tmp_path: Path, answer: Answer) -> None:
    async def main() -> None:
        path = tmp_path / "a.jsonl"
        async with await aio.Session.create(path) as session:
            question = await session.append(treering.user("Name a color."))
            red = await session.append(answer("Red."))
            await session.branch(question)
            ids = await asyncio.gather(*(session.append(answer(str(it))) for it in range(8)))
            assert len(set(ids)) == 8
            assert {it.id async for it in session.entries()} >= {question, red, *ids}
            assert [it.id async for it in session.path_to(red)] == [question, red]

            async def summarizer(request: str) -> str:
                return "A summary."

            assert await session.branch_with_summary(question, summarizer) == session.leaf
            merged = await session.merge(red, summarizer=lambda text: text)
            assert isinstance(merged, str)
            assert len(await session.context()) == 3
            assert (await session.stats()).messages["user"] == 1
            assert (await session.export("markdown")).startswith("#")
            assert await session.compact(summarizer, keep_recent_tokens=10**6) is None
            with pytest.raises(treering.NotFoundError):
                await session.entry("nowhere")
        store = await aio.open_store(tmp_path)
        assert [it.id async for it in store.list()] == [session_id(path)]

    asyncio.run(main())


def test_every_method_has_a_version_for_asyncio() -> None:
    def public(of: type) -> Set[str]:
        return {name for name in dir(of) if not name.startswith("_")}

    # Sessions in memory never wait, and are wrapped.
    assert public(Session) - public(aio.Session) == {"in_memory"}
    assert public(treering.Store) - public(aio.Store) == set()
    functions = {"active_context", "local_store", "open_store", *treering.files.__all__}
    assert functions - set(aio.__all__) == {"dialects", "estimate_tokens", "redact_text"}


def test_changes_are_iterated_over(tmp_path: Path, answer: Answer) -> None:
    path = tmp_path / "a.jsonl"

    async def main() -> None:
        async with await aio.Session.create(path, creation="at_once") as session:
            changes = session.changes(interval=0.001)
            first = asyncio.ensure_future(changes.__anext__())
            with Session.open(path) as other:
                # The iteration has not begun yet, and must report this entry nevertheless.
                id = other.append(treering.user("one"))
                change = await first
                assert (change.entries, change.is_own) == ([id], False)
                own = await session.append(answer("two"))
                change = await changes.__anext__()
                assert (change.entries, change.is_own) == ([own], True)
            last = asyncio.ensure_future(changes.__anext__())
            await asyncio.sleep(0)
            await session.close()
            with pytest.raises(StopAsyncIteration):
                await last

    asyncio.run(main())
    with Session.open(path) as session:
        changes = session.changes(interval=0.0)
        with Session.open(path) as other:
            added = threading.Thread(target=other.append, args=(treering.user("three"),))
            added.start()
            assert next(changes).is_own is False
            added.join()
        session.close()
        assert list(changes) == []


def test_a_summarizer_must_return_a_text(session: Session, answer: Answer) -> None:
    question = session.append(treering.user("Name a color."))
    red = session.append(answer("Red."))
    nothing: Any = lambda request: None  # noqa: E731

    async def coroutine(request: str) -> Any:
        return None

    async def main() -> None:
        wrapped = aio.Session.wrap(session)
        for summarizer in (nothing, coroutine):
            with pytest.raises(TypeError, match="not NoneType"):
                await wrapped.branch_with_summary(question, summarizer)

    with pytest.raises(TypeError, match="not NoneType"):
        session.branch_with_summary(question, nothing)
    asyncio.run(main())
    assert session.leaf == red


def session_id(path: Path) -> str:
    with Session.open(path) as session:
        return session.id
