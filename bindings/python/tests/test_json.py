"""JSON in both directions, against Python's own ``json``."""

from __future__ import annotations

import gc
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treering import _native

TEXTS = st.text(st.characters(codec=None), max_size=60) | st.sampled_from(
    ["", "role", "x" * 24, "x" * 25, "é" * 12, "木" * 17, "🌲" * 9, "a\nb\t\"c\"\\", "\x00\x1f\x7f", "\ud83d", "\udc00x"]
)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=8),
    max_leaves=30,
)


@given(VALUES)
def test_reading_is_what_json_reads(value: Any) -> None:
    for text in (
        json.dumps(value),
        json.dumps(value, ensure_ascii=False, separators=(",", ":")),
        json.dumps(value, indent=1),
    ):
        encoded = text.encode("utf-8", "surrogatepass")
        for _ in range(3):  # the third time shapes are known
            read = _native.loads(encoded)
            assert read == json.loads(text)
            assert json.dumps(read) == json.dumps(value)


@given(VALUES)
def test_writing_reads_the_same(value: Any) -> None:
    written = _native.dumps(value)
    assert json.loads(written.decode("utf-8", "surrogatepass")) == json.loads(json.dumps(value))


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["x", "y", 1, None])), max_size=6))
def test_a_key_that_comes_twice(members: Any) -> None:
    text = "{" + ", ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in members) + "}"
    for _ in range(4):
        assert _native.loads(text) == json.loads(text)


@given(st.binary(max_size=40), st.integers(0, 40))
def test_nothing_crashes(noise: bytes, place: int) -> None:
    sound = b'{"role":"user","content":[{"type":"text","text":"a\\nb\\u00e9"}],"n":[1,-2.5e3,true,null]}'
    for text in (noise, sound[:place], sound[:place] + noise, sound[:place] + noise + sound[place:]):
        try:
            _native.loads(text)
        except ValueError:
            pass
    assert _native.loads(sound)["n"] == [1, -2500.0, True, None]


def test_objects_are_not_shared() -> None:
    text = '{"a":{"b":"c","d":[],"e":1},"f":"g","h":{}}'
    values = [_native.loads(text) for _ in range(5)]
    for value in values:
        value["a"]["d"].append(1)
        value["a"]["b"] = "changed"
        value["h"]["x"] = 1
        value["new"] = 1
    assert all(value == values[0] for value in values)
    assert _native.loads(text) == json.loads(text)


def test_depth_and_numbers() -> None:
    deep = "[" * 200_000 + "]" * 200_000
    value = _native.loads(deep)
    assert _native.dumps(value) == deep.encode()
    while value:  # freed from outside to inside
        value = value.pop()
    large = "123456789012345678901234567890"
    assert _native.loads(f"[{large},-{large},1E400]") == [int(large), -int(large), float("inf")]
    with pytest.raises(ValueError):
        _native.dumps([float("nan")])


def test_many_shapes() -> None:
    for number in range(3_000):
        text = json.dumps({f"key-{number}": 1, f"other-{number}": {"a": number, "b": "x", "c": None}})
        assert _native.loads(text) == json.loads(text)


def test_the_collector_is_left_as_it_was(session: Any) -> None:
    for text in ("one", "two"):
        session.append({"role": "user", "content": text, "timestamp": 1})
    assert gc.isenabled()
    assert len(session.context().messages) == 2
    assert gc.isenabled()
    gc.disable()
    try:
        assert len(session.context().messages) == 2
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_copies() -> None:
    value: Any = {"a": [1, {"b": []}], "c": "text", "d": {}}
    copied = _native.copy_json(value)
    assert copied == value
    copied["a"][1]["b"].append(1)
    copied["d"]["x"] = 1
    assert value == {"a": [1, {"b": []}], "c": "text", "d": {}}
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    copied_deep = _native.copy_json(deep)
    for value_to_free in (deep, copied_deep):
        while value_to_free:
            value_to_free = value_to_free.pop()
