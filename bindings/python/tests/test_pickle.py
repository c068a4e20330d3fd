"""Entries, contexts, reports and errors in other processes."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Callable, Dict

import pytest

import treering

Answer = Callable[[str], Dict[str, Any]]


def facts(entry: treering.Entry) -> Dict[str, Any]:
    names = ("id", "parent", "type", "role", "time", "is_damaged", "text", "message", "raw", "record")
    return {name: getattr(entry, name) for name in names}


def roles(context: treering.Context) -> Any:
    return [message["role"] for message in context], context.model, context.thinking_level


def test_entries(session: treering.Session, answer: Answer) -> None:
    session.append(treering.model_change("acme", "m"))
    session.append(treering.user("Name a color 🌲."))
    session.append(answer("Red."))
    session.append({"type": "custom", "customType": "x", "data": {"a": [1, None]}})
    session.append({"type": "unheard-of", "value": 1})
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        for entry in session.entries():
            copied = pickle.loads(pickle.dumps(entry, protocol))
            assert copied == entry and hash(copied) == hash(entry) and repr(copied) == repr(entry)
            assert facts(copied) == facts(entry)
            assert copied.get("data") == entry.get("data")
    entry = session.entry(session.leaf or "")
    assert copy.deepcopy(entry) == entry


def test_entries_of_another_agent(tmp_path: Path, session: treering.Session, answer: Answer) -> None:
    session.append(treering.user("hello"))
    session.append(answer("Hello."))
    session.convert(tmp_path / "chimera.jsonl", "chimera")
    with treering.Session.open(tmp_path / "chimera.jsonl") as other:
        for entry in other.entries():
            assert facts(pickle.loads(pickle.dumps(entry))) == facts(entry)
            assert entry.record != entry.raw


def test_damaged_entries(tmp_path: Path) -> None:
    path = tmp_path / "damaged.jsonl"
    with treering.Session.create(path, creation="at_once") as session:
        session.append(treering.user("hello"))
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole[:-1]) + whole[-1].rstrip(b"}\n") + b"\n")
    with treering.Session.open(path) as session:
        for entry in session.entries():
            copied = pickle.loads(pickle.dumps(entry))
            assert copied.is_damaged == entry.is_damaged
            assert facts(copied) == facts(entry)


def test_contexts(session: treering.Session, answer: Answer) -> None:
    session.append(treering.model_change("acme", "m"))
    session.append(treering.user("Name a color."))
    session.append(answer("Red."))
    context = session.context()
    for copied in (pickle.loads(pickle.dumps(context)), copy.deepcopy(context)):
        assert copied.messages == context.messages
        assert (copied.entries, copied.model, copied.thinking_level) == (
            context.entries,
            context.model,
            context.thinking_level,
        )
        assert copied.to_anthropic().body == context.to_anthropic().body
    # Changes of the dicts are no part of the context.
    context.messages[0]["content"] = "changed"
    assert pickle.loads(pickle.dumps(context)).messages[0]["content"] == "Name a color."


def test_in_another_process(session: treering.Session, answer: Answer) -> None:
    session.append(treering.user("Name a color."))
    session.append(answer("Red."))
    entries = list(session.entries())
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert list(pool.map(facts, entries)) == [facts(entry) for entry in entries]
        assert pool.submit(roles, session.context()).result() == roles(session.context())


def test_reports_and_errors(session: treering.Session, answer: Answer) -> None:
    session.append(treering.user("Name a color."))
    red = session.append(answer("Red."))
    reports = [session.stats(), session.info(), session.header(), session.usage(), session.search("red")]
    reports += [session.context_tokens(), *session.branches(), *session.tree(), *session.findings()]
    reports += [treering.estimate_tokens(treering.user("x")), session.context().to_openai()]
    for report in reports:
        assert pickle.loads(pickle.dumps(report)) == report
    with pytest.raises(treering.NotFoundError) as missing:
        session.entry("nowhere")
    error = pickle.loads(pickle.dumps(missing.value))
    assert (type(error), error.code, error.entry) == (treering.NotFoundError, "unknown_entry", "nowhere")
    assert (error.fields, str(error)) == (missing.value.fields, str(missing.value))
    # A plan belongs to its session.
    with pytest.raises(TypeError):
        pickle.dumps(session.plan_drop(red))


def test_what_is_shown(session: treering.Session, answer: Answer) -> None:
    question = session.append(treering.user("Name a color."))
    red = session.append(answer("Red."))
    shown = repr(session)
    assert session.id in shown and "2 entries" in shown
    assert repr(session.entry(question)) == f"Entry(id={question!r}, type='message', role='user')"
    assert repr(session.context()) == "<Context of 2 messages>"
    assert repr(session.tree()) == "<Tree of 2 entries, 1 leaves>"
    assert "tokens_before=" in repr(session.plan_drop(red))
    with session.on_change(lambda change: None) as subscription:
        assert repr(subscription) == "<Subscription>"
    assert repr(subscription) == "<Subscription (cancelled)>"
    session.close()
    assert repr(session) == f"<Session {session.id} (closed)>"
