"""Driver for Chimera, run with the Python of the venv that install.sh made.

`convert` is not part of any measurement: it writes a pi v3 session in Chimera's
own format, because Chimera reads no other.
"""

import hashlib
import importlib.util
import json
import os
import re
import sys
import time
import types
from datetime import datetime

sys.path.pop(0)  # this script's directory: the script would hide the package of the same name


def session_tree():
    """chimera.sessions.tree, without what chimera/sessions/__init__.py pulls in.

    That file imports the whole agent (about 0.2 s); the tree module needs none of it.
    """
    package = types.ModuleType("chimera.sessions")
    root = importlib.util.find_spec("chimera").submodule_search_locations[0]
    package.__path__ = [os.path.join(root, "sessions")]
    sys.modules["chimera.sessions"] = package
    import chimera.sessions.tree as tree

    return tree


def chimera_id(pi_id):
    """A 12-hex id that is the same for the same pi id, in files and in id lists."""
    if re.fullmatch(r"[0-9a-f]{1,12}", pi_id):
        return pi_id.ljust(12, "0")
    return hashlib.sha256(pi_id.encode()).hexdigest()[:12]


def ms(start, end=None):
    return round(((end or time.perf_counter_ns()) - start) / 1e6, 3)


def context(file):
    tree = session_tree()
    start = time.perf_counter_ns()
    messages = tree.SessionTree(file).get_messages()
    return {"messages": len(messages), "ms": ms(start)}


def leaves(file, ids_file):
    tree = session_tree()
    with open(ids_file, encoding="utf-8") as f:
        ids = [chimera_id(i) for i in json.load(f)]
    start = time.perf_counter_ns()
    session = tree.SessionTree(file)
    opened = time.perf_counter_ns()
    total = sum(len(session.get_messages(i)) for i in ids)
    return {"open_ms": ms(start, opened), "contexts_ms": ms(opened), "messages": total}


def append(directory, count, size):
    tree = session_tree()
    from chimera.types import Message

    session = tree.SessionTree(os.path.join(directory, tree.SessionTree._generate_id() + ".jsonl"))
    session.add_message(Message.user("hello"))
    session.add_message(Message.assistant("hello"))
    text, nanos = "x" * int(size), []
    start = time.perf_counter_ns()
    for _ in range(int(count)):
        before = time.perf_counter_ns()
        session.add_message(Message.user(text))
        nanos.append(time.perf_counter_ns() - before)
    total = ms(start)
    nanos.sort()
    p50, p99 = (round(nanos[int((len(nanos) - 1) * share)] / 1000, 1) for share in (0.5, 0.99))
    return {"p50_us": p50, "p99_us": p99, "total_ms": total}


def list_sessions(_directory):
    return {"unsupported": "lists the names and times of session files only, and only in its own home"}


def fork(_file, _leaf, _out):
    return {"unsupported": "fork() moves the leaf inside the file; no branch is written to a new one"}


def export(_file, _out):
    return {"unsupported": "writes no pages"}


def text_of(content):
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content or [] if block.get("type") == "text")


def chimera_message(message):
    """Role, text, tool calls and call id: all that Chimera stores of a message."""
    role = {"toolResult": "tool", "assistant": "assistant", "system": "system"}.get(message["role"], "user")
    out = {"role": role, "content": text_of(message.get("content"))}
    calls = [b for b in message.get("content") or [] if isinstance(b, dict) and b.get("type") == "toolCall"]
    if calls:
        out["tool_calls"] = [{"id": c["id"], "name": c["name"], "arguments": c["arguments"]} for c in calls]
    if role == "tool":
        out["call_id"] = message["toolCallId"]
    return out


def chimera_entry(entry):
    """The Chimera record of a pi entry: one for one, so that every id stays a possible leaf."""
    kind, parent = entry["type"], entry.get("parentId")
    at = datetime.fromisoformat(entry["timestamp"].replace("Z", "+00:00")).timestamp()
    base = {"type": kind, "id": chimera_id(entry["id"]), "parent_id": parent and chimera_id(parent), "timestamp": at}
    if kind == "message":
        return {**base, "message": chimera_message(entry["message"])}
    if kind == "custom_message":
        return {**base, "type": "message", "message": {"role": "user", "content": text_of(entry["content"])}}
    if kind == "branch_summary":
        return {**base, "type": "message", "message": {"role": "user", "content": entry["summary"]}}
    if kind == "compaction":
        details = entry.get("details") or {}
        return {
            **base,
            "summary": entry["summary"],
            "first_kept_entry_id": chimera_id(entry["firstKeptEntryId"]),
            "tokens_before": entry["tokensBefore"],
            "read_files": details.get("readFiles", []),
            "modified_files": details.get("modifiedFiles", []),
        }
    if kind == "label":
        return {**base, "target_id": chimera_id(entry["targetId"]), "label": entry.get("label") or ""}
    if kind == "model_change":
        return {**base, "type": "state_change", "kind": "model", "value": entry["modelId"]}
    if kind == "thinking_level_change":
        return {**base, "type": "state_change", "kind": "thinking", "value": entry["thinkingLevel"]}
    own = {k: v for k, v in entry.items() if k not in ("type", "id", "parentId", "timestamp")}
    return {**base, "data": own}


def convert(pi_file, out):
    entries = 0
    with open(pi_file, encoding="utf-8", newline="\n") as source, open(out, "w", encoding="utf-8") as target:
        for line in source:
            entry = json.loads(line)
            if entry["type"] != "session":
                target.write(json.dumps(chimera_entry(entry)) + "\n")
                entries += 1
    return {"entries": entries, "bytes": os.path.getsize(out)}


COMMANDS = {
    "context": context,
    "leaves": leaves,
    "append": append,
    "list": list_sessions,
    "fork": fork,
    "export": export,
    "convert": convert,
}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        sys.exit("usage: " + " | ".join(COMMANDS))
    print(json.dumps(COMMANDS[sys.argv[1]](*sys.argv[2:])))
