"""The example agent."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from treering import Session

EXAMPLE = Path(__file__).parent.parent / "examples" / "agent.py"


def test_the_agent_uses_tools_on_two_branches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "agent.jsonl"
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), str(path)])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    shown = capsys.readouterr().out
    assert "I saw: first" in shown and "I saw: second" in shown
    with Session.open(path) as session:
        assert len(session.tree().leaves(conversation=True)) == 2
        assert [it["role"] for it in session.context()] == ["user", "assistant", "toolResult", "assistant"]
        assert session.findings(all=True) == []
