"""Contexts of the same session, again and again: what was read before is remembered, and never shown twice."""

from __future__ import annotations

import json
import threading
from typing import Any, Callable, Dict, List

import treering
from treering import Position, typed

Answer = Callable[[str], Dict[str, Any]]


def read(session: treering.Session) -> List[Dict[str, Any]]:
    context = session.context()
    messages = context.messages
    assert messages == json.loads(context.to_json())["messages"]
    return messages


def test_contexts_again_and_again(session: treering.Session, answer: Answer) -> None:
    ids = []
    for number in range(8):
        ids.append(session.append(treering.user(f"question {number} 🌲\n")))
        ids.append(session.append(answer(f"answer {number}")))
        for _ in range(2):
            messages = read(session)
            assert len(messages) == len(ids)
            # What callers do to their dicts is theirs.
            for message in messages:
                message["content"] = None
                message["usage"] = {"changed": True}
            messages.clear()
    session.drop_from_context(ids[3])
    session.replace_in_context(ids[4], "shorter")
    assert "shorter" in str(read(session)) and len(read(session)) == len(ids) - 1
    session.restore_in_context(ids[3], ids[4])
    assert len(read(session)) == len(ids)
    session.branch(ids[5])
    session.append(treering.user("another branch"))
    assert len(read(session)) == 7
    assert len(session.context(ids[-1]).messages) == len(ids)
    assert session.context(Position.START).messages == []
    session.branch_with_summary(ids[0], lambda request: "They spoke.")
    assert read(session)[-1]["role"] == "branchSummary"


def test_threads_read_the_same(session: treering.Session) -> None:
    for number in range(50):
        session.append({"role": "user", "content": f"message {number} " * 20, "timestamp": number})
    expected = json.loads(session.context().to_json())["messages"]
    wrong: List[Any] = []

    def work() -> None:
        for _ in range(30):
            messages = session.context().messages
            if messages != expected:
                wrong.append(messages)
            messages[0]["content"] = "changed"

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_context_outlives_its_session(session: treering.Session) -> None:
    session.append(treering.user("hello"))
    contexts = [session.context() for _ in range(3)]
    session.close()
    for context in contexts:
        assert context.messages[0]["content"] == "hello"


def test_messages_as_dataclasses(session: treering.Session) -> None:
    session.append(treering.system("Be brief."))
    session.append(treering.user([treering.text("Look."), treering.image(b"png")]))
    call = treering.tool_call("1", "bash", {"command": "ls"})
    blocks: List[Any] = [treering.thinking("Hm.", "s"), "Let me look."]
    session.append(treering.assistant(blocks, provider="acme", model="m", tool_calls=[call]))
    session.append(treering.tool_result("1", "bash", "a.txt", is_error=True))
    session.append(treering.bash_execution("ls", "a.txt", exit_code=0))
    session.append(treering.custom_message("note", "seen by the model"))
    context = session.context()
    system, user, assistant, result, bash, note = context.typed()
    assert isinstance(system, typed.SystemMessage) and system.text == "Be brief."
    assert isinstance(user, typed.UserMessage) and isinstance(user.content[1], typed.ImageBlock)
    assert isinstance(assistant, typed.AssistantMessage) and assistant.stop_reason == "toolUse"
    assert assistant.tool_calls == [typed.ToolCallBlock("1", "bash", {"command": "ls"})]
    assert assistant.content[0] == typed.ThinkingBlock("Hm.", "s") and assistant.text == "Let me look."
    assert isinstance(result, typed.ToolResultMessage) and result.is_error and result.text == "a.txt"
    assert isinstance(bash, typed.BashExecution) and (bash.command, bash.exit_code) == ("ls", 0)
    assert isinstance(note, typed.OtherMessage) and note.text == "seen by the model"
    assert [message.raw for message in context.typed()] == context.messages
    # Every kind of content in a file has a message.
    odd: List[Dict[str, Any]] = [{}, {"role": 1}, {"role": "user", "content": 3}]
    for raw in [*odd, {"role": "user", "content": [1, {"type": "toolCall"}]}]:
        assert typed.typed_message(raw).raw is raw
