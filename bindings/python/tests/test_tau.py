"""The session manager of Tau and Operator."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from treering.tau import SessionManager, text_message


def test_the_file_appears_with_the_first_answer(tmp_path: Path) -> None:
    manager = SessionManager.create("/project", tmp_path)
    manager.append_model_change("large", "acme")
    question = manager.append_message(text_message("user", "Name a color."))
    assert manager.session_file is not None
    assert not manager.flushed and not manager.session_file.exists()
    manager.append_message(text_message("assistant", "Red."))
    assert manager.flushed
    lines = [json.loads(line) for line in manager.session_file.read_text().splitlines()]
    assert [line["type"] for line in lines] == ["session", "model_change", "message", "message"]
    assert lines[0]["version"] == 3 and lines[0]["cwd"] == "/project"
    assert list(lines[2]) == ["id", "timestamp", "parent_id", "type", "message"]
    assert lines[2]["id"] == question


def test_navigation_is_a_leaf_record_that_survives(tmp_path: Path) -> None:
    manager = SessionManager.create("/project", tmp_path)
    question = manager.append_message(text_message("user", "Name a color."))
    red = manager.append_message(text_message("assistant", "Red."))
    manager.branch(question)
    assert manager.session_file is not None
    record = json.loads(manager.session_file.read_text().splitlines()[-1])
    assert (record["type"], record["parent_id"], record["target_id"]) == ("leaf", red, question)
    again = SessionManager.open(manager.session_file)
    assert again.leaf_id == question
    with pytest.raises(KeyError):
        again.branch("nowhere")
    blue = again.append_message(text_message("assistant", "Blue."))
    assert [it.id for it in again.get_branch()] == [question, blue]
    assert [it.entry.id for it in again.get_tree()] == [question]
    assert again.get_entry(red) is not None and again.get_entry("nowhere") is None


def test_contexts_honor_compactions_labels_and_settings(tmp_path: Path) -> None:
    manager = SessionManager.create("/project", tmp_path)
    manager.append_thinking_level_change("high")
    manager.append_model_change("large", "acme")
    manager.append_message(text_message("user", "one"))
    kept = manager.append_message(text_message("assistant", "two"))
    manager.append_compaction("They counted.", kept, 100)
    manager.append_message(text_message("user", "three"))
    manager.append_label_change(kept, "here")
    manager.append_session_info("Counting")
    manager.append_channel_entry("chat")
    context = manager.build_session_context()
    assert (context.thinking_level, context.model_id, context.provider_id) == ("high", "large", "acme")
    assert len(context.messages) == 3
    assert "They counted." in json.dumps(context.messages[0])
    assert manager.get_label(kept) == "here" and manager.labels_by_id == {kept: "here"}
    assert manager.get_session_name() == "Counting" and manager.get_current_channel() == "chat"
    manager.append_label_change(kept)
    assert manager.get_label(kept) is None


def test_forks_and_branched_sessions(tmp_path: Path) -> None:
    manager = SessionManager.create("/project", tmp_path)
    question = manager.append_message(text_message("user", "Name a color."))
    manager.append_message(text_message("assistant", "Red."))
    summary = manager.branch_with_summary("They said red.", question)
    assert manager.get_branch()[-1].summary == "They said red."
    source, count = manager.session_file, len(manager.get_entries())
    assert source is not None
    path = manager.create_branched_session(summary)
    assert path is not None and path != source and len(manager.get_branch()) == 2
    fork = SessionManager.fork_from(source, "/elsewhere", tmp_path)
    assert len(fork.get_entries()) == count
    assert fork.session.header().parent_session == str(source)
    assert fork.session.cwd == "/elsewhere"
    recent = SessionManager.continue_recent("/project", tmp_path)
    assert recent.session_id in {it.id for it in SessionManager.list("/project", tmp_path)}
    memory = SessionManager.in_memory()
    first = memory.append_message(text_message("user", "x"))
    assert memory.create_branched_session(first) is None and memory.session_file is None
