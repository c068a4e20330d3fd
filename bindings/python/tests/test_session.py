"""Sessions: opening, reading, writing, branches."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest

import treering
from treering import Position, Session

Answer = Callable[[str], Dict[str, Any]]


class Own(Session):
    """A class of sessions of a program."""


def texts(context: treering.Context) -> List[str]:
    found = []
    for message in context:
        content = message["content"]
        found.append(content if isinstance(content, str) else content[0]["text"])
    return found


def test_a_session_is_created_written_and_opened_again(tmp_path: Path, answer: Answer) -> None:
    path = tmp_path / "deep" / "a.jsonl"
    with Session.create(path, cwd="/project", id="my-session") as session:
        assert not session.is_written
        session.append(treering.user("hello"))
        session.append(answer("hi"))
        assert session.is_written
    with Session.open(str(path)) as again:
        assert (again.id, again.cwd, again.dialect) == ("my-session", "/project", "pi")
        assert again.path == path
        assert texts(again.context()) == ["hello", "hi"]
        assert again.header().id == "my-session"
        assert again.info().message_count == 2
    with Session.open_or_create(path) as third:
        assert len(third.tree()) == 2


def test_a_closed_session_raises_and_closing_twice_does_nothing(session: Session) -> None:
    session.append(treering.user("hello"))
    session.close()
    session.close()
    assert session.is_closed
    assert repr(session) == f"<Session {session.id} (closed)>"
    assert session.path is not None and session.path.name == "session.jsonl"
    with pytest.raises(treering.InvalidError) as caught:
        session.append(treering.user("again"))
    assert caught.value.code == "closed"


def test_contexts_are_dicts_that_may_be_changed(session: Session, answer: Answer) -> None:
    session.append(treering.user("hello"))
    context = session.context()
    context.messages[0]["content"] = "changed"
    assert texts(session.context()) == ["hello"]
    assert len(context) == 1
    assert context.entries == [session.leaf]
    assert context.thinking_level == "off"
    assert context.model is None
    session.append(treering.model_change("acme", "large"))
    session.append(treering.thinking_level_change("high"))
    after = session.context()
    assert after.model == ("acme", "large")
    assert after.thinking_level == "high"
    assert json.loads(after.to_json())["thinkingLevel"] == "high"


def test_positions_name_the_leaf_the_start_and_entries(session: Session) -> None:
    first = session.append(treering.user("one"))
    session.append(treering.user("two"))
    assert texts(session.context(first)) == ["one"]
    assert texts(session.context(Position.START)) == []
    assert texts(session.context(Position.LEAF)) == ["one", "two"]
    with pytest.raises(treering.NotFoundError) as caught:
        session.context("nowhere")
    assert (caught.value.code, caught.value.entry) == ("unknown_entry", "nowhere")
    assert isinstance(caught.value, LookupError)


def test_branches_labels_and_names(session: Session, answer: Answer) -> None:
    question = session.append(treering.user("Name a color."))
    red = session.append(answer("Red."))
    assert session.branch(question) == question
    blue = session.append(answer("Blue."))
    tree = session.tree()
    assert tree.children(question, conversation=True) == [red, blue]
    assert tree.leaves(conversation=True) == [red, blue]
    assert tree.branch_points(conversation=True) == [question]
    assert tree.common_ancestor(red, blue) == question
    assert tree.path(red) == [question, red]
    assert tree.is_ancestor(question, blue) and not tree.is_ancestor(red, blue)
    assert tree.depth(red) == 1
    assert [item.id for item in tree.walk(conversation=True)] == [question, red, blue]
    assert (tree.kind(red), tree.role(red)) == ("message", "assistant")
    assert red in tree and "nowhere" not in tree and 3 not in tree
    session.label(blue, "the good one")
    assert session.tree().labels() == {blue: "the good one"}
    session.label(blue, None)
    assert session.tree().label(blue) is None
    session.name = "colors"
    assert (session.name, session.title()) == ("colors", "colors")
    assert session.resolve(red[:7]) == red


def test_an_unrecorded_branch_is_not_in_the_file(session: Session) -> None:
    first = session.append(treering.user("one"))
    session.append(treering.user("two"))
    length = session.log_length
    session.branch(first, recorded=False)
    assert session.leaf == first
    assert session.log_length == length


def test_entries_are_read_one_after_the_other(session: Session, answer: Answer) -> None:
    first = session.append(treering.user("one"))
    second = session.append(answer("two"))
    entries = list(session)
    assert [entry.id for entry in entries] == [first, second]
    assert [entry.parent for entry in entries] == [None, first]
    assert [entry.role for entry in entries] == ["user", "assistant"]
    assert [entry.text for entry in entries] == ["one", "two"]
    assert [entry.id for entry in session.entries(after=first)] == [second]
    assert [entry.id for entry in session.path_to(second)] == [first, second]
    entry = session.entry(first)
    assert entry == entries[0] and hash(entry) == hash(entries[0])
    assert entry.to_dict()["message"]["content"] == "one"
    assert entry.message == entry.get("message")
    assert entry.get("absent") is None
    assert json.loads(entry.record) == json.loads(entry.raw)
    assert entry.type == "message" and not entry.is_damaged
    assert repr(entry) == f"Entry(id={first!r}, type='message', role='user')"


def test_appends_with_ids_parents_times_and_expectations(session: Session) -> None:
    first = session.append(treering.user("one"), id="my-first", timestamp=1_000)
    assert first == "my-first"
    assert session.entry(first).time == 1_000
    second = session.append(treering.user("two"))
    sibling = session.append(treering.user("other"), parent=first)
    assert session.tree().children(first) == [second, sibling]
    root = session.append(treering.user("root"), parent=Position.START)
    assert session.tree().parent(root) is None
    with pytest.raises(treering.ConflictError) as caught:
        session.append(treering.user("late"), expecting=first)
    assert caught.value.code == "leaf_moved"
    assert (caught.value.expected, caught.value.actual) == (first, root)
    ids = session.append_all([treering.user("a"), treering.user("b")], expecting=root)
    assert session.tree().parent(ids[1]) == ids[0]
    with pytest.raises(treering.ConflictError) as duplicate:
        session.append(treering.user("again"), id=first)
    assert duplicate.value.code == "duplicate_entry"


def test_batches_have_their_own_outcomes(session: Session) -> None:
    first = session.append(treering.user("one"))
    outcomes = session.append_each(
        [([treering.user("two")], first), ([treering.user("late")], first)]
    )
    assert isinstance(outcomes[0], list) and len(outcomes[0]) == 1
    assert isinstance(outcomes[1], treering.ConflictError)


def test_what_is_no_json_is_refused_and_nothing_is_written(session: Session) -> None:
    cycle: Dict[str, Any] = {"role": "user", "content": "x"}
    cycle["self"] = cycle
    for entry, error in [
        ({"role": "user", "content": {1, 2}}, TypeError),
        ({"role": "user", "content": float("nan")}, ValueError),
        ({"role": "user", 3: "x"}, TypeError),
        (cycle, ValueError),
        ({"no": "type"}, treering.InvalidError),
    ]:
        with pytest.raises(error):
            session.append(entry)  # type: ignore[arg-type]
    assert len(session.tree()) == 0


def test_texts_of_other_classes_are_texts(session: Session) -> None:
    class Evil(str):
        def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
            entry.clear()
            return b""

    entry: Dict[str, Any] = {"role": "user", "content": "x", **{f"k{it}": Evil("\ud800") for it in range(5)}}
    id = session.append(entry)
    assert len(entry) == 7 and session.entry(id).message == entry


def test_damaged_entries_are_of_the_package_s_errors(tmp_path: Path) -> None:
    path = tmp_path / "torn.jsonl"
    with Session.create(path) as session:
        ids = [session.append(treering.user("word " * 20)) for _ in range(3)]
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], lines[2][:150] + b"\n", *lines[3:]]))
    with Session.open(path) as session:
        damaged = [entry for entry in session if entry.is_damaged]
        assert [entry.id for entry in damaged] == [ids[1]]
        with pytest.raises(treering.FormatError, match=f"{ids[1]} is damaged") as caught:
            damaged[0].to_dict()
        assert caught.value.code == "damaged_entry"
        assert lines[2].startswith(damaged[0].record.rstrip())


def test_values_come_back_as_they_were(session: Session) -> None:
    value = {
        "text": "é \u2028 \x00 \" \\ \n 😀 \ud800",
        "numbers": [0, -1, 2**63, -(2**70), 1.5, 1e300, 0.1, -0.0],
        "nested": [[], {}, [None, True, False], ("a", 1)],
        "": {"": ""},
    }
    id = session.append(treering.custom("test", value))
    expected = json.loads(json.dumps(value))
    assert session.entry(id).get("data") == expected
    assert session.entry(id).to_dict()["data"] == expected


def test_deep_values_need_no_stack(session: Session) -> None:
    deep: List[Any] = []
    for _ in range(100_000):
        deep = [deep]
    id = session.append(treering.custom("deep", deep))
    found = session.entry(id).get("data")
    depth = 0
    while found:
        found = found[0]
        depth += 1
    assert depth == 100_000


def test_another_program_s_entries_come_with_refresh(session: Session, tmp_path: Path) -> None:
    first = session.append(treering.user("one"))
    with Session.open(tmp_path / "session.jsonl") as other:
        second = other.append(treering.user("two"))
    assert session.has_news()
    assert session.refresh() == [second]
    assert session.leaf == first
    assert session.follow() == second


def test_sessions_with_files_can_be_pickled(session: Session) -> None:
    session.append(treering.user("one"))
    with pickle.loads(pickle.dumps(session)) as copy:
        assert texts(copy.context()) == ["one"]
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(Session.in_memory())
    with Own.open(session.path or "") as own, pickle.loads(pickle.dumps(own)) as copy:
        assert isinstance(copy, Own)


def test_failed_answers_are_rewound(session: Session) -> None:
    session.append(treering.user("one"))
    failed = session.append(treering.assistant(provider="acme", model="m", error="overloaded"))
    assert session.rewind_failed() == [failed]
    assert texts(session.context()) == ["one"]


@pytest.mark.parametrize("dialect", [name for name, writable in treering.dialects().items() if writable])
def test_sessions_of_every_dialect_that_is_written(tmp_path: Path, dialect: str, answer: Answer) -> None:
    path = tmp_path / "a.jsonl"
    with Session.create(path, dialect=dialect, creation="at_once") as session:
        session.append(treering.user("hello"))
        session.append(answer("hi"))
    with Session.open(path) as again:
        assert again.dialect == dialect
        assert texts(again.context()) == ["hello", "hi"]
        assert again.findings(all=True) == []
        again.agent_context()


def test_options_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for options in ({"dialect": "emacs"}, {"creation": "never"}, {"durability": "always"}, {"id": "a/b"}):
        with pytest.raises(treering.InvalidError):
            Session.create(path, **options)  # type: ignore[arg-type]
    with pytest.raises(treering.InvalidError):
        Session.create(path, durability=-1.0)
    for durability in ("each", "batched", 0.01):
        with Session.open_or_create(path, durability=durability) as session:
            session.append(treering.user("x"))


def test_positions(session: Session) -> None:
    question = session.append(treering.user("Name a color."))
    session.append(treering.user("Never mind."))
    entry = session.entry(question)
    assert session.context(entry).entries == [question]
    assert session.branch(entry) == question
    assert session.context()[0]["content"] == "Name a color." and session.context()[5:] == []
    wrong: Any
    for wrong in (None, 1, object()):
        with pytest.raises(TypeError, match="a position is"):
            session.branch(wrong)
