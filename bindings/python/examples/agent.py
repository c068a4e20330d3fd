"""An agent with tools and branches.

The model is any function from a request of OpenAI's Chat Completions API to a message of its answer. Without one, a stub
answers, so that the example runs anywhere:

    python agent.py [SESSION FILE]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, List

import treering
from treering import Position, Session, Tool

Model = Callable[[Dict[str, Any]], Dict[str, Any]]


def run_command(command: str) -> str:
    """Run a shell command and return its output."""
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr


def read_file(path: str) -> str:
    """Return the text of a file."""
    return Path(path).read_text(encoding="utf-8")


TOOLS: Dict[str, Callable[..., str]] = {"run_command": run_command, "read_file": read_file}
SCHEMAS: List[Tool] = [
    Tool("run_command", "Runs a shell command", {"type": "object", "properties": {"command": {"type": "string"}}}),
    Tool("read_file", "Reads a file", {"type": "object", "properties": {"path": {"type": "string"}}}),
]


class Agent:
    """A loop of a model and its tools, with its history in a session."""

    def __init__(self, session: Session, model: Model, system: str = "You are a helpful agent.") -> None:
        self.session = session
        self.model = model
        self.system = system

    def ask(self, text: str) -> str:
        """Ask the model, run the tools that it calls, and return its answer."""
        self.session.append(treering.user(text))
        while True:
            answer = self.step()
            calls = [block for block in answer["content"] if block["type"] == "toolCall"]
            if not calls:
                return "".join(it["text"] for it in answer["content"] if it["type"] == "text")
            for call in calls:
                self.session.append(self.call_tool(call))

    def step(self) -> Dict[str, Any]:
        """Ask the model once and record its answer."""
        context = self.session.context()
        answer = self.model(context.to_openai(system=self.system, tools=SCHEMAS).body)
        calls = [
            treering.tool_call(it["id"], it["function"]["name"], json.loads(it["function"]["arguments"]))
            for it in answer.get("tool_calls", [])
        ]
        message = treering.assistant(
            answer.get("content") or "", provider="stub", model="stub-1", tool_calls=calls
        )
        self.session.append(message)
        return message

    def call_tool(self, call: Dict[str, Any]) -> Dict[str, Any]:
        """Run a tool and return its result as a message."""
        try:
            output, failed = TOOLS[call["name"]](**call["arguments"]), False
        except Exception as error:  # The model gets the error and may try something else.
            output, failed = f"{type(error).__name__}: {error}", True
        return treering.tool_result(call["id"], call["name"], output, is_error=failed)

    def again(self, question: str, text: str) -> str:
        """Ask something else in place of an earlier question; what followed it stays as a branch."""
        self.session.branch(self.session.tree().parent(question) or Position.START)
        return self.ask(text)


def stub(request: Dict[str, Any]) -> Dict[str, Any]:
    """A model that lists the files, and then reports what it saw."""
    last = request["messages"][-1]
    if last["role"] == "tool":
        return {"content": f"I saw: {str(last['content']).strip()}"}
    call = {"name": "run_command", "arguments": json.dumps({"command": f"echo {last['content']}"})}
    return {"content": "Let me look.", "tool_calls": [{"id": "call-1", "function": call}]}


def main() -> None:
    """Ask two questions on two branches, and show the tree."""
    path = sys.argv[1] if len(sys.argv) > 1 else Path(tempfile.mkdtemp()) / "agent.jsonl"
    with Session.open_or_create(path) as session:
        agent = Agent(session, stub)
        print(agent.ask("first"))
        question = next(entry.id for entry in session if entry.role == "user")
        print(agent.again(question, "second"))
        for item in session.tree().walk(conversation=True):
            print("  " * item.depth + f"{item.role}: {session.entry(item.id).text}")


if __name__ == "__main__":
    main()
