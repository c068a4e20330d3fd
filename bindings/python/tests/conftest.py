"""What the tests share."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Dict, Iterator

import pytest

import treering


@pytest.fixture
def session(tmp_path: Path) -> Iterator[treering.Session]:
    with treering.Session.create(tmp_path / "session.jsonl", cwd="/project") as created:
        yield created


@pytest.fixture
def answer() -> Callable[[str], Dict[str, Any]]:
    def build(text: str) -> Dict[str, Any]:
        return treering.assistant(text, provider="acme", model="m")

    return build
