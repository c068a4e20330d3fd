"""A long-lived process that holds Chimera and answers requests, one line of JSON each.

Run with the Python of the venv that install.mjs made.
"""

import importlib.util
import json
import os
import random
import sys
import types


def session_tree():
    """chimera.sessions.tree, without the whole agent that chimera/sessions/__init__.py imports."""
    package = types.ModuleType("chimera.sessions")
    root = importlib.util.find_spec("chimera").submodule_search_locations[0]
    package.__path__ = [os.path.join(root, "sessions")]
    sys.modules["chimera.sessions"] = package
    import chimera.sessions.tree as tree

    return tree


tree = session_tree()
from chimera.types import Message, ToolCall  # noqa: E402

# Times and ids come from the script, so that a seed gives the same file every time.
START = 1767323045.678123
now = START
ids = random.Random(0)
tree.time = types.SimpleNamespace(time=lambda: now)
tree.uuid = types.SimpleNamespace(uuid4=lambda: types.SimpleNamespace(hex=f"{ids.getrandbits(128):032x}"))


def is_move(entry):
    """Whether this is how treering notes that the leaf was moved."""
    return entry.type == "leaf" and "targetId" in entry.data


def entry_at(session, pick):
    """The entry that a number in [0, 1) stands for; None if there is none."""
    entries = [e for e in session._entries if not is_move(e)]
    return entries[int(pick * len(entries))].id if entries else None


def run(request):
    """Carries out a script in a file, which is created if absent."""
    session = tree.SessionTree(request["file"])
    done = []
    for op in request["ops"]:
        tick(1)
        if op["op"] == "reopen":
            session = tree.SessionTree(request["file"])
        else:
            done.append({**op, "did": step(session, op)})
    if session.entry_count == 0:
        done.append({"op": "message", "did": session.add_message(Message.user("x"))})
    return {"done": done}


def tick(ms):
    global now
    now += ms / 1000


def step(session, op):
    kind = op["op"]
    target = entry_at(session, op["pick"]) if op.get("pick") is not None else None
    if kind == "tick":
        return tick(op["ms"])
    if kind == "message":
        message = Message(role=op["role"], content=op["content"], call_id=op.get("call_id"))
        message.tool_calls = [ToolCall(**call) for call in op.get("tool_calls", [])]
        if op.get("root"):
            return add(session, tree.MessageEntry(**placed(session, None), message=message))
        return session.add_message(message, parent_id=op.get("parent", target))
    if kind == "header":
        return add(session, tree.SessionHeader(**placed(session, session.active_leaf), cwd=op["cwd"], system_prompt=op["system_prompt"]))
    if kind == "generic":
        return add(session, tree.SessionEntry(type=op["type"], **placed(session, session.active_leaf), data=op["data"]))
    if kind == "compaction":
        kept = op["kept"] if op["kept"] is not None else target or ""
        return session.add_compaction(op["summary"], kept, op["tokens"], op.get("read_files"), op.get("modified_files"))
    if kind == "state":
        return session.add_state_change(op["kind"], op["value"])
    if kind == "summarize":
        return session.summarize_branch(target, lambda messages: f"{len(messages)}: {op['summary']}")
    if target is None:
        return None
    if kind == "label":
        return session.add_label(target, op["label"])
    if kind == "fork":
        return session.fork(target)
    if kind == "switch":
        return session.switch_branch(target)
    raise ValueError(f"Chimera has no operation {kind}")


def placed(session, parent):
    return {"id": session._generate_id(), "parent_id": parent, "timestamp": now}


def add(session, entry):
    session.append(entry)
    return entry.id


def inspect(request):
    """Chimera's reading of a file; the first context is that of the active leaf."""
    session = tree.SessionTree(request["file"])
    picked = [entry_at(session, pick) for pick in request.get("picks", [])]
    leaves = [session.active_leaf, *request.get("leaves", []), *(leaf for leaf in picked if leaf)]
    return {
        "leaf": session.active_leaf,
        "entries": [{"id": e.id, "parentId": e.parent_id, "type": e.type, "isMove": is_move(e)} for e in session._entries],
        "labels": labels(session),
        "leaves": session.get_leaves(),
        "branchPoints": session.get_branch_points(),
        "contexts": [context(session, leaf) for leaf in leaves],
    }


def labels(session):
    """Chimera only keeps labels; the latest of an entry counts, and an empty one takes it away."""
    found = {}
    for entry in session._entries:
        if isinstance(entry, tree.LabelEntry):
            found[entry.target_id] = entry.label
    return {target: label for target, label in found.items() if label}


def context(session, leaf):
    path = [e.id for e in session.get_branch(leaf)]
    return {"leaf": leaf, "path": path, "context": {"messages": [message(m) for m in session.get_messages(leaf)]}}


def message(m):
    out = {"role": m.role, "content": m.content}
    if m.tool_calls:
        out["tool_calls"] = [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in m.tool_calls]
    if m.call_id:
        out["call_id"] = m.call_id
    return out


def answer(line):
    global now
    asked = json.loads(line)
    request = asked["request"]
    if "seed" in request:
        now = START
        ids.seed(request["seed"])
    try:
        return {"answer": {"run": run, "inspect": inspect}[asked["verb"]](request)}
    except Exception as error:
        import traceback

        return {"error": "".join(traceback.format_exception(error))}


print(json.dumps({"answer": "ready"}), flush=True)
for line in sys.stdin.buffer:
    print(json.dumps(answer(line)), flush=True)
