"""Writes opencode.db, a database in the form of OpenCode 1.18, with sessions that were made up."""

import json
import os
import sqlite3
import sys

path = os.path.join(sys.argv[1], "opencode.db")
if os.path.exists(path):
    os.remove(path)
db = sqlite3.connect(path, isolation_level=None)
db.execute("PRAGMA page_size = 1024")
db.execute(
    "CREATE TABLE `session` (`id` text PRIMARY KEY, `project_id` text NOT NULL, `parent_id` text, `slug` text NOT NULL,"
    " `directory` text NOT NULL, `title` text NOT NULL, `version` text NOT NULL, `share_url` text, `revert` text,"
    " `agent` text, `time_created` integer NOT NULL, `time_updated` integer NOT NULL, `time_archived` integer)"
)
db.execute(
    "CREATE TABLE `message` (`id` text PRIMARY KEY, `session_id` text NOT NULL, `time_created` integer NOT NULL,"
    " `time_updated` integer NOT NULL, `data` text NOT NULL,"
    " CONSTRAINT `fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE)"
)
db.execute(
    "CREATE TABLE `part` (`id` text PRIMARY KEY, `message_id` text NOT NULL, `session_id` text NOT NULL,"
    " `time_created` integer NOT NULL, `time_updated` integer NOT NULL, `data` text NOT NULL)"
)
db.execute("CREATE INDEX `message_idx` ON `message` (`session_id`,`time_created`,`id`)")
db.execute("CREATE INDEX `part_message_id_id_idx` ON `part` (`message_id`,`id`)")
db.execute("CREATE INDEX `session_parent_idx` ON `session` (`parent_id`)")

clock = 1772438400000
numbers = {"msg": 0, "prt": 0}


def new(kind):
    numbers[kind] += 1
    return f"{kind}_{numbers[kind]:04}"


def dumps(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def session(id, title, parent=None, revert=None):
    db.execute(
        "INSERT INTO session VALUES (?, 'global', ?, 'quiet-kiln', '/srv/kiln', ?, '1.18.33', NULL, ?, 'build', ?, ?, NULL)",
        (id, parent, title, revert and dumps(revert), clock, clock + 1000),
    )


def message(session, info, *parts):
    global clock
    clock += 1000
    id = new("msg")
    info = {"time": {"created": clock}, **info}
    if info["role"] == "assistant":
        info["time"]["completed"] = clock + 500
    db.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", (id, session, clock, clock + 500, dumps(info)))
    for part in parts:
        row = (new("prt"), id, session, clock, clock, dumps(part))
        db.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", row)
    return id


def user(session, *parts, **more):
    model = {"providerID": "anthropic", "modelID": "claude-sonnet-4-5"}
    return message(session, {"role": "user", "agent": "build", "model": model, **more}, *parts)


def answer(session, asked, *parts, finish="stop", cost=0.01, **more):
    tokens = {"total": 1085, "input": 600, "output": 50, "reasoning": 30, "cache": {"write": 5, "read": 400}}
    info = {
        "parentID": asked, "role": "assistant", "mode": "build", "agent": "build",
        "path": {"cwd": "/srv/kiln", "root": "/"}, "cost": cost, "tokens": tokens,
        "modelID": "claude-sonnet-4-5", "providerID": "anthropic", "finish": finish, **more,
    }
    start = {"type": "step-start", "snapshot": "4b825dc"}
    end = {"reason": finish, "type": "step-finish", "tokens": tokens, "cost": cost}
    return message(session, info, start, *parts, end)


def text(words, **more):
    return {"type": "text", "text": words, **more}


def tool(name, call, state):
    return {"type": "tool", "tool": name, "callID": call, "state": state}


def done(input, output, **more):
    return {"status": "completed", "input": input, "output": output, "title": "", "metadata": {},
            "time": {"start": clock, "end": clock + 20, **more}}


MAIN = "ses_main1"
session(MAIN, "Kiln sensor")
asked = user(
    MAIN,
    text("Why does the kiln overheat?\nSee the picture."),
    text("Called the Read tool with the following input: {}", synthetic=True),
    text("only for people", ignored=True),
    {"type": "file", "mime": "text/plain", "filename": "a.txt", "url": "file:///srv/kiln/a.txt"},
    {"type": "file", "mime": "image/png", "filename": "k.png", "url": "data:image/png;base64,iVBORw0KGgo="},
    {"type": "file", "mime": "application/pdf", "filename": "k.pdf", "url": "data:application/pdf;base64,JVBERi0="},
    {"type": "agent", "name": "explore", "source": {"value": "@explore", "start": 0, "end": 8}},
)
answer(
    MAIN, asked,
    {"type": "reasoning", "text": "A sensor?", "metadata": {"anthropic": {"signature": "c2ln"}}, "time": {"start": clock}},
    text("I look."),
    tool("bash", "call_1", done({"command": "cat sensor.c"}, "return 7;\n" + "// long\n" * 300)),
    tool("read", "call_2", {"status": "error", "input": {"filePath": "/x"}, "error": "File not found", "time": {"start": 1, "end": 2}}),
    {"type": "patch", "hash": "abc", "files": ["/srv/kiln/sensor.c"]},
    finish="tool-calls",
)
CHILD = "ses_child1"
answer(
    MAIN, asked,
    text("I ask another."),
    tool("task", "call_3", done({"prompt": "Look at the fan", "subagent_type": "explore"}, "The fan is fine.", compacted=5)),
    finish="tool-calls",
)
session(CHILD, "Look at the fan (@explore subagent)", parent=MAIN)
inner = user(CHILD, text("Look at the fan"))
answer(CHILD, inner, text("The fan is fine."))
kept = answer(MAIN, asked, text("The sensor always reads 7."))
compact = user(MAIN, {"type": "compaction", "auto": True, "tail_start_id": kept})
answer(MAIN, compact, text("The kiln overheats: the sensor reads 7."), summary=True, agent="compaction")
again = user(MAIN, text("Continue if you have next steps.", synthetic=True))
answer(MAIN, again, text("Shall I fix it?"))
fix = user(MAIN, text("Fix the sensor."))
answer(
    MAIN, fix,
    text("I begin."),
    tool("edit", "call_4", {"status": "running", "input": {"filePath": "sensor.c"}, "time": {"start": clock}}),
    finish="tool-calls", cost=0,
    error={"name": "MessageAbortedError", "data": {"message": "stopped"}},
)

PART = "ses_part1"
first = user(PART, text("Count to three."))
second = answer(PART, first, text("one"), text("two"), text("three"))
session(PART, "New session - 2026-03-02T08:00:00.000Z", revert={"messageID": second, "partID": f"prt_{numbers['prt'] - 2:04}"})
WHOLE = "ses_whole1"
first = user(WHOLE, text("Say tea."))
answer(WHOLE, first, text("tea"))
second = user(WHOLE, text("Say milk."))
answer(WHOLE, second, text("milk"))
session(WHOLE, "Tea", revert={"messageID": second, "snapshot": "abc"})
db.close()
