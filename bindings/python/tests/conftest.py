"""What the tests share.

Property tests try the same examples in every run, so that no check fails by chance. ``pytest --hypothesis-seed=7`` tries
others.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Dict, Iterator

import hypothesis
import pytest

import treering


def pytest_configure(config: pytest.Config) -> None:
    is_fixed = config.getoption("--hypothesis-seed") is None
    # Without a database no example of an earlier run is tried again; without a deadline a busy machine fails no test.
    hypothesis.settings.register_profile("same", derandomize=is_fixed, database=None, deadline=None)
    hypothesis.settings.load_profile("same")


@pytest.fixture
def session(tmp_path: Path) -> Iterator[treering.Session]:
    with treering.Session.create(tmp_path / "session.jsonl", cwd="/project") as created:
        yield created


@pytest.fixture
def answer() -> Callable[[str], Dict[str, Any]]:
    def build(text: str) -> Dict[str, Any]:
        return treering.assistant(text, provider="acme", model="m")

    return build
