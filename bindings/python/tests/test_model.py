"""Sessions against the reference model of the Rust test kit, in random stories."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

import treering
from treering import Position, Session

PROGRAM = os.environ.get("TREERING_MODEL") or shutil.which("treering-model")


class Model:
    """The reference model, in a process of its own."""

    def __init__(self, program: str) -> None:
        self.process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def read(self, path: Path) -> Dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{path}\n")
        self.process.stdin.flush()
        answer: Dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def model() -> Iterator[Model]:
    if PROGRAM is None:
        pytest.skip("TREERING_MODEL does not name the program treering-model")
    started = Model(PROGRAM)
    yield started
    started.close()


words = st.text(alphabet=st.characters(codec="utf-8"), max_size=12)


def make_story(model: Model) -> Any:
    class Story(RuleBasedStateMachine):
        """What programs do to a session, checked against the model after every step."""

        @initialize()
        def begin(self) -> None:
            self.directory = Path(tempfile.mkdtemp())
            self.path = self.directory / "session.jsonl"
            self.session = Session.create(self.path, cwd="/project", creation="at_once")

        def entry(self, data: st.DataObject) -> Optional[str]:
            ids = self.session.tree().ids()
            chosen: Optional[str] = data.draw(st.sampled_from([None, *ids]), label="entry")
            return chosen

        @rule(text=words)
        def user(self, text: str) -> None:
            before = self.session.leaf
            id = self.session.append(treering.user(text))
            assert self.session.leaf == id and self.session.tree().parent(id) == before

        @rule(text=words, call=st.booleans())
        def assistant(self, text: str, call: bool) -> None:
            calls = [treering.tool_call("c", "bash", {"command": text})] if call else []
            self.session.append(
                treering.assistant(text, provider="acme", model=f"m{len(text)}", tool_calls=calls)
            )

        @rule(text=words)
        def result(self, text: str) -> None:
            self.session.append(treering.tool_result("c", "bash", text))

        @rule(entries=st.lists(words, min_size=1, max_size=3))
        def several(self, entries: List[str]) -> None:
            self.session.append_all([treering.user(it) for it in entries])

        @rule(level=st.sampled_from(["off", "low", "high"]))
        def thinking(self, level: str) -> None:
            self.session.append(treering.thinking_level_change(level))

        @rule(name=st.text(alphabet="abc ", max_size=5))
        def name(self, name: str) -> None:
            self.session.name = name

        @rule(data=st.data())
        def branch(self, data: st.DataObject) -> None:
            entry = self.entry(data)
            self.session.branch(Position.START if entry is None else entry)
            assert self.session.leaf == entry

        @rule(data=st.data(), label=st.one_of(st.none(), st.text(alphabet="xyz", min_size=1, max_size=4)))
        def label(self, data: st.DataObject, label: Optional[str]) -> None:
            entry = self.entry(data)
            if entry is not None:
                self.session.label(entry, label)

        @rule(data=st.data(), text=words)
        def under(self, data: st.DataObject, text: str) -> None:
            entry = self.entry(data)
            self.session.append(treering.user(text), parent=Position.START if entry is None else entry)

        @rule(text=words)
        def compact(self, text: str) -> None:
            self.session.compact(lambda _: text, keep_recent_tokens=5)

        @rule(text=words, data=st.data())
        def summary(self, text: str, data: st.DataObject) -> None:
            entry = self.entry(data)
            if entry is not None:
                self.session.branch_with_summary(entry, text)

        @rule()
        def reopen(self) -> None:
            self.session.close()
            self.session = Session.open(self.path)

        @invariant()
        def agrees(self) -> None:
            if not hasattr(self, "session"):
                return
            expected = model.read(self.path)
            tree = self.session.tree()
            assert tree.ids() == expected["ids"]
            assert tree.leaves() == expected["leaves"]
            assert tree.branch_points() == expected["branchPoints"]
            assert [item.id for item in tree] == expected["walk"]
            assert sorted(tree.labels().items()) == sorted(map(tuple, expected["labels"]))
            assert self.session.name == expected["name"]
            assert self.session.leaf == expected["leaf"]
            for entry in tree.ids():
                assert tree.parent(entry) == expected["parents"][entry]
                assert tree.children(entry) == expected["children"][entry]
                assert tree.path(entry) == expected["paths"][entry]
                context, wanted = self.session.context(entry), expected["contexts"][entry]
                assert context.entries == [it["entry"] for it in wanted["messages"]]
                assert context.messages == [it["message"] for it in wanted["messages"]]
                assert context.thinking_level == wanted["thinkingLevel"]
                model_of = None if wanted["model"] is None else tuple(wanted["model"])
                assert context.model == model_of

        def teardown(self) -> None:
            if hasattr(self, "session"):
                self.session.close()
                shutil.rmtree(self.directory)

    return Story


def test_stories_agree_with_the_reference_model(model: Model) -> None:
    examples = int(os.environ.get("TREERING_STORIES", "60"))
    checks = settings(
        max_examples=examples,
        stateful_step_count=25,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
    run_state_machine_as_test(make_story(model), settings=checks)
