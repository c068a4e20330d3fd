"""Compaction, merges, edits, usage, search, conversion, doctor, export, redaction, stores."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest

import treering
from treering import Session

Answer = Callable[[str], Dict[str, Any]]


def fill(session: Session, turns: int = 20) -> List[str]:
    ids = []
    for turn in range(turns):
        ids.append(session.append(treering.user(f"question {turn} " + "word " * 400)))
        usage = treering.TokenUsage(100, 10, cost=treering.Cost(0.01, 0.02))
        message = treering.assistant(
            f"answer {turn} " + "word " * 400, provider="acme", model="m", usage=usage
        )
        ids.append(session.append(message))
    return ids


def test_a_compaction_is_planned_looked_at_and_applied(session: Session) -> None:
    ids = fill(session)
    assert session.plan_compaction(keep_recent_tokens=1_000_000) is None
    plan = session.plan_compaction(keep_recent_tokens=2_000)
    assert plan is not None
    assert plan.first_kept in ids
    assert plan.tokens_before > 0 and plan.tokens_kept > 0
    assert plan.messages_to_summarize[0]["content"].startswith("question 0")
    assert "question 0" in (plan.history_request() or "")
    assert "first_kept=" in repr(plan) and "first_kept" in plan.to_dict()
    with pytest.raises(AttributeError):
        plan.nothing  # type: ignore[attr-defined]
    compaction = session.apply_compaction(plan, "They counted.")
    context = session.context()
    assert context.messages[0]["role"] == "compactionSummary"
    assert "They counted." in context.messages[0]["summary"]
    assert session.leaf == compaction
    with pytest.raises(treering.ConflictError):
        session.apply_compaction(plan, "Too late.")


def test_a_summarizer_that_raises_changes_nothing(session: Session, answer: Answer) -> None:
    ids = fill(session)

    class Refused(Exception):
        pass

    def summarizer(request: str) -> str:
        raise Refused(request[:10])

    length = session.log_length
    with pytest.raises(Refused):
        session.compact(summarizer, keep_recent_tokens=2_000)
    with pytest.raises(Refused):
        session.branch_with_summary(ids[0], summarizer)
    assert (session.log_length, session.leaf) == (length, ids[-1])
    requests: List[str] = []

    def works(request: str) -> str:
        requests.append(request)
        return "A summary."

    assert session.compact(works, keep_recent_tokens=2_000) == session.leaf
    assert requests and "question 0" in requests[0]
    assert session.compact(works, keep_recent_tokens=2_000) is None


def test_branch_summaries(session: Session, answer: Answer) -> None:
    question = session.append(treering.user("Name a color."))
    red = session.append(answer("Red."))
    summary = session.branch_with_summary(question, lambda request: f"Left: {'Red.' in request}")
    assert summary is not None and session.tree().parent(summary) == question
    assert "Left: True" in session.context().messages[-1]["summary"]
    branch = session.abandoned_branch(question, leaving=red)
    assert branch.entries == [red] and "Red." in branch.conversation()
    other = session.branch_with_summary(red, "Given.", details={"by": "test"})
    assert other is not None and session.entry(other).get("details") == {"by": "test"}
    assert session.branch_with_summary(other, lambda _: "Nothing was left.") is None


def test_merges_and_picks(session: Session, answer: Answer, tmp_path: Path) -> None:
    question = session.append(treering.user("Name a color."))
    red = session.append(answer("Red."))
    session.branch(question)
    session.append(answer("Blue."))
    plan = session.plan_merge(red)
    assert plan is not None and plan.entries == [red]
    merged = session.merge(red)
    assert isinstance(merged, treering.reports.Merged) and len(merged.copies) == 1
    assert session.entry(merged.copies[0]).copied_from == (red, None)
    assert session.merge(red) is None
    with Session.create(tmp_path / "other.jsonl") as other:
        first = other.append(treering.user("From elsewhere."))
        summary = session.cherry_pick(first, source=other)
        assert session.entry(summary[0]).text == "From elsewhere."
        assert session.plan_pick(first, source=other).entries == []
        assert len(session.cherry_pick(first, source=other, again=True)) == 1
    session.branch(question)
    green = session.append(answer("Green."))
    session.branch(red)
    id = session.merge(green, summarizer=lambda conversation: "Summary of " + conversation)
    assert isinstance(id, str) and "Green." in session.context().messages[-1]["summary"]
    diff = session.diff(red, green)
    assert diff.common_ancestor == question and diff.b.entries[-1] == green


def test_summarizers_are_asked_with_instructions_and_their_usage_is_counted(
    session: Session, answer: Answer
) -> None:
    usage = treering.TokenUsage(1_000, 50, cost=treering.Cost(0.5, 0.25))
    asked: List[str] = []

    def summarizer(request: str) -> treering.Summary:
        asked.append(request)
        return treering.Summary("A summary.", usage)

    fill(session)
    compaction = session.compact(summarizer, keep_recent_tokens=2_000)
    assert compaction is not None
    spent = session.entry_usage(compaction)
    assert spent is not None and spent.input == 1_000 * len(asked)
    question = session.append(treering.user("Name a color."))
    red = session.append(answer("Red."))
    asked.clear()
    left = session.branch_with_summary(question, summarizer, instructions="Only colors.")
    assert left is not None
    merged = session.merge(red, summarizer=summarizer, instructions="Only colors.")
    assert isinstance(merged, str)
    # The text of a conversation alone would be continued by a model, not summarized.
    for request in asked:
        assert "<conversation>" in request and "Red." in request and "Only colors." in request
    assert len(asked) == 2
    given = session.branch_with_summary(question, treering.Summary("Given.", usage))
    assert given is not None
    for entry in (left, merged, given):
        found = session.entry_usage(entry)
        assert found is not None and (found.input, found.output) == (1_000, 50)
        assert found.cost == pytest.approx(0.75)


def test_branches_fit_into_the_window_of_the_model(session: Session) -> None:
    question = session.append(treering.user("Begin."))
    fill(session)
    whole, small = (session.abandoned_branch(question, context_window=it) for it in (None, 18_000))
    assert 0 < len(small.messages) < len(whole.messages)
    end = session.leaf
    session.branch(question)
    asked: List[int] = []
    assert end is not None

    def summarizer(request: str) -> str:
        asked.append(len(request))
        return "A summary."

    assert session.merge(end, summarizer=summarizer, context_window=18_000)
    session.branch(question)
    assert session.merge(end, summarizer=summarizer)
    assert asked[0] < asked[1]


def test_should_compact(session: Session) -> None:
    fill(session)
    tokens = session.context_tokens().tokens
    assert session.should_compact(tokens + 16_383)
    assert not session.should_compact(tokens + 16_384)
    assert session.should_compact(tokens, reserve_tokens=1)


def test_late_answers_move_no_leaf(session: Session, answer: Answer, tmp_path: Path) -> None:
    question = session.append(treering.user("Name a color."))
    other = session.append(treering.user("Never mind."))
    late = session.append_late([answer("Red."), treering.user("Thanks.")], question)
    assert session.leaf == other
    assert session.tree().path(late[1]) == [question, *late]
    assert session.tree().file_leaf == other
    moved = session.append_late([answer("Blue.")], question, move_file=True, move_own_from=other)
    assert session.leaf == session.tree().file_leaf == moved[0]
    with pytest.raises(treering.ConflictError):
        session.append_late([answer("Green.")], question, expecting=other)
    with Session.open(tmp_path / "session.jsonl") as writer:
        last = writer.append(treering.user("From another program."))
    ids = session.append_all([answer("Hello.")], following=True)
    assert session.tree().parent(ids[0]) == last


def test_a_file_that_was_deleted_is_written_again(session: Session, tmp_path: Path) -> None:
    session.append(treering.user("hello"))
    (tmp_path / "session.jsonl").unlink()
    session.recreate()
    session.append(treering.user("again"))
    with Session.open(tmp_path / "session.jsonl") as written:
        assert [entry.text for entry in written] == ["hello", "again"]


def test_statistics_of_a_subtree(session: Session, answer: Answer) -> None:
    question = session.append(treering.user("Name a color."))
    red = session.append(answer("Red."))
    session.branch(question)
    session.append(answer("Blue."))
    assert session.stats(subtree=red).messages == {"assistant": 1}
    with pytest.raises(treering.InvalidError):
        session.stats(branch=red, subtree=red)


def test_one_directory_is_enough(session: Session, tmp_path: Path) -> None:
    session.append(treering.user("needle"))
    usage = treering.TokenUsage(100, 10)
    session.append(treering.assistant("found", provider="acme", model="m", usage=usage))
    for directories in (tmp_path, str(tmp_path), [tmp_path]):
        # A text must not be split into directories of one letter, among them "/".
        assert treering.search("needle", directories).files == 1
        assert treering.usage(directories).total.usage.input == 100


def test_documents_replace_no_file(session: Session, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    session.append(treering.user("hello"))
    assert session.export("html", page) == page.stat().st_size
    with pytest.raises(treering.ConflictError, match=re.escape(f"{page}: the file already exists")):
        session.export("html", page)
    session.export("html", page, replace=True)


def test_texts_are_redacted() -> None:
    secret = "ghp_x8Kq2LmN4pR7sT1vW3yZ6aB9cD0eF5gH1jK2"
    assert secret not in treering.redact_text(f"the key is {secret}")
    assert treering.redact_text("to a@example.com") == "to a@example.com"
    assert "a@example.com" not in treering.redact_text("to a@example.com", emails=True)
    assert "X-17" not in treering.redact_text("ticket X-17", patterns={"ticket": r"X-\d+"})
    with pytest.raises(treering.InvalidError):
        treering.redact_text("", patterns={"bad": "("})


def test_context_edits(session: Session, answer: Answer) -> None:
    first = session.append(treering.user("secret"))
    session.append(answer("ok"))
    plan = session.plan_drop(first)
    assert plan.targets == [first] and plan.tokens_after < plan.tokens_before
    assert len(session.context()) == 2
    session.drop_from_context(first)
    assert len(session.context()) == 1
    session.restore_in_context(first)
    session.replace_in_context(first, "hidden")
    assert "secret" not in session.context().to_json().decode()


def test_usage(session: Session, tmp_path: Path) -> None:
    fill(session, 3)
    usage = session.usage()
    assert (usage.input, usage.output, usage.requests) == (300, 30, 3)
    assert usage.cost == pytest.approx(0.09)
    stats = session.stats()
    assert stats.by_model["acme/m"] == usage if "acme/m" in stats.by_model else stats.usage == usage
    assert stats.messages == {"user": 3, "assistant": 3}
    assert session.branches()[0].is_active
    assert session.entry_usage(session.leaf or "") == treering.reports.Usage.from_dict(
        {**vars(usage), "input": 100, "output": 10, "total": 110, "requests": 1, "cost": 0.03}
    )
    session.sync()
    report = treering.usage([tmp_path], group_by="model", zone="UTC")
    assert report.total.usage.total == 330
    assert session.context_tokens().tokens > 0


def test_search(session: Session, tmp_path: Path) -> None:
    question = session.append(treering.user("Where is the Needle?"))
    hits = session.search("needle")
    assert hits is not None and hits.hits[0].entry == question
    assert [it.text for it in hits.hits[0].pieces if it.is_match] == ["Needle"]
    assert session.search("needle", case_sensitive=True) is None
    session.sync()
    assert treering.search("needle", [tmp_path]).hits == 1
    with pytest.raises(treering.InvalidError) as caught:
        session.search('"open')
    assert caught.value.code == "invalid_query"


def test_conversion_and_doctor(session: Session, answer: Answer, tmp_path: Path) -> None:
    session.append(treering.user("hello"))
    session.append(answer("hi"))
    outcomes = session.plan_conversion("chimera")
    assert sum(it.count for it in outcomes) >= 2
    report = session.convert(tmp_path / "c.jsonl", "chimera")
    assert (report.source, report.target, report.left_out) == ("pi", "chimera", 0)
    back = treering.convert(tmp_path / "c.jsonl", tmp_path / "p.jsonl", "pi")
    assert back.verified > 0
    with (tmp_path / "c.jsonl").open("ab") as file:
        file.write(b'{"type": "message", "id": "torn')
    diagnosis = treering.doctor(tmp_path / "c.jsonl")
    assert not diagnosis.is_healthy and diagnosis.findings
    plan = treering.plan_repair(tmp_path / "c.jsonl")
    assert not plan.is_empty
    repair = treering.repair(tmp_path / "c.jsonl", to=tmp_path / "r.jsonl", plan=plan)
    assert repair.output == tmp_path / "r.jsonl"
    assert treering.doctor(tmp_path / "r.jsonl").is_healthy


def test_exports(session: Session, tmp_path: Path) -> None:
    first = session.append(treering.user("hello <b>"))
    session.append(treering.user("second"))
    assert session.export("html").startswith("<!doctype html>")
    assert "second" not in session.export("markdown", branch=first)
    path = tmp_path / "page.html"
    assert session.export("html", path) == path.stat().st_size
    with pytest.raises(treering.ConflictError):
        session.export("html", path)
    session.export("html", path, replace=True)
    with pytest.raises(treering.InvalidError):
        session.export("pdf")
    with pytest.raises(treering.InvalidError):
        session.export("html", branch=first, subtree=first)


def test_redaction(session: Session, tmp_path: Path) -> None:
    secret = "ghp_" + "x8Kq2LmN4pR7sT1vW3yZ6aB9cD0eF5gH1jK2"
    session.append(treering.user(f"token {secret} and code-77"))
    redacted, report = session.redact(patterns={"ticket": "code-[0-9]+"})
    assert {it.kind for it in report.kinds} >= {"ticket"}
    assert secret not in redacted.context().to_json().decode()
    redacted.copy_to(tmp_path / "clean.jsonl")
    assert secret not in (tmp_path / "clean.jsonl").read_text()
    with pytest.raises(treering.InvalidError):
        session.redact(patterns={"bad": "("})


def test_forks(session: Session, tmp_path: Path) -> None:
    first = session.append(treering.user("one"))
    session.append(treering.user("two"))
    with session.fork(first, directory=tmp_path / "forks", id="forked") as fork:
        assert fork.id == "forked" and len(fork.tree()) == 1
        assert fork.path is not None and fork.path.parent == tmp_path / "forks"


def test_stores(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    store = treering.open_store(tmp_path / "store")
    with store.create(cwd="/project", id="one") as session:
        session.append(treering.user("hello"))
    _, mark = store.changes()
    with store.create(cwd="/elsewhere", id="two") as session:
        session.append(treering.user("needle"))
    assert {it.id for it in store} == {"one", "two"}
    assert [it.id for it in store.list(cwd="/project")] == ["one"]
    assert len(list(store.list(limit=1))) == 1
    assert "two" in store.changes(mark)[0]
    assert store.search("needle").sessions[0].session.id == "two"
    assert pickle.loads(pickle.dumps(store)).location == store.location
    memory = treering.memory_store()
    report = store.synchronize(memory, direction="push")
    assert report.created == 2 and report.is_complete
    with memory.open("one") as copied, copied.fork(store=store, id="three") as fork:
        assert fork.id == "three"
    store.remove("two")
    assert {it.id for it in store} == {"one", "three"}
    with pytest.raises(treering.NotFoundError):
        store.open("two")
    with pytest.raises(treering.NotFoundError):
        treering.open_store(tmp_path / "absent")
    with pytest.raises(treering.InvalidError):
        treering.open_store("ftp://host/")
    with pytest.raises(TypeError):
        pickle.dumps(memory)


def test_requests_of_providers(session: Session) -> None:
    session.append(treering.user("List the files."))
    call = treering.tool_call("call-1", "bash", {"command": "ls"})
    session.append(treering.assistant("Looking.", provider="acme", model="m", tool_calls=[call]))
    session.append(treering.tool_result("call-1", "bash", "a.txt"))
    tool = treering.Tool("bash", "Runs a command", {"type": "object"})
    context = session.context()
    request = context.to_anthropic(system="Be brief.", tools=[tool], cache=True)
    assert [it["role"] for it in request.messages] == ["user", "assistant", "user"]
    assert request.body["tools"][0]["name"] == "bash" and request.repairs == []
    chat = context.to_openai(system="Be brief.", model="gpt", tools=[tool])
    assert chat.messages[-1]["role"] == "tool"
    assert context.to_openai_responses().messages[-1]["type"] == "function_call_output"
    messages, repairs = session.context(session.tree().ids()[1]).to_llm()
    assert len(messages) == 3 and repairs[0].entry == session.tree().ids()[1]


def test_reports_can_be_compared_copied_and_pickled(session: Session) -> None:
    session.append(treering.user("hello"))
    info = session.info()
    assert copy.deepcopy(info) == info == pickle.loads(pickle.dumps(info))
    try:
        session.entry("nowhere")
    except treering.TreeringError as error:
        again = pickle.loads(pickle.dumps(error))
        assert (again.code, again.fields, str(again)) == (error.code, error.fields, str(error))


def test_the_command_comes_with_the_package() -> None:
    command = Path(sys.executable).with_name("treering")
    if not command.exists():
        pytest.skip("the package was not installed from a wheel")
    shown = subprocess.run([command, "--version"], check=True, capture_output=True, text=True)
    assert shown.stdout.startswith("treering ")
