"""Writes sessions.db, a database in the form of Goose's schema 9, with the session of fixture.jsonl and two others."""

import json
import os
import sqlite3
import sys

directory = sys.argv[1]
path = os.path.join(directory, "sessions.db")
if os.path.exists(path):
    os.remove(path)
db = sqlite3.connect(path, isolation_level=None)
db.execute("PRAGMA page_size = 1024")
db.execute("CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP)")
db.execute(
    """CREATE TABLE sessions (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL DEFAULT '',
        description TEXT NOT NULL DEFAULT '',
        user_set_name BOOLEAN DEFAULT FALSE,
        session_type TEXT NOT NULL DEFAULT 'user',
        working_dir TEXT NOT NULL,
        created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
        updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
        accumulated_total_tokens INTEGER,
        accumulated_input_tokens INTEGER,
        accumulated_output_tokens INTEGER,
        schedule_id TEXT,
        provider_name TEXT,
        model_config_json TEXT
    )"""
)
db.execute(
    """CREATE TABLE messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        message_id TEXT,
        session_id TEXT NOT NULL REFERENCES sessions(id),
        role TEXT NOT NULL,
        content_json TEXT NOT NULL,
        created_timestamp INTEGER NOT NULL,
        timestamp TIMESTAMP DEFAULT '2026-03-02 08:00:00',
        tokens INTEGER,
        metadata_json TEXT
    )"""
)
db.execute("CREATE INDEX idx_messages_session ON messages(session_id)")


def session(id, name, kind="user"):
    db.execute(
        "INSERT INTO sessions VALUES (?, ?, '', 0, ?, '/srv/kiln', '2026-03-02 08:00:00', '2026-03-02 08:10:00',"
        " 5100, 5000, 100, NULL, 'anthropic', ?)",
        (id, name, kind, '{"model_name":"claude-sonnet-4-5","context_limit":200000}'),
    )


session("20260302_1", "Kiln sensor")
session("20260302_2", "")
session("20260302_3", "never shown", "hidden")
lines = open(os.path.join(directory, "..", "fixture.jsonl"), encoding="utf-8").read().splitlines()
for number, line in enumerate(lines[1:]):
    message = json.loads(line)
    row = (f"msg_{number}", message["role"], json.dumps(message["content"], ensure_ascii=False), message["created"],
           json.dumps(message["metadata"]) if "metadata" in message else None)
    db.execute(
        "INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp, metadata_json)"
        " VALUES (?, '20260302_1', ?, ?, ?, ?)", row,
    )
    if number == 0:
        db.execute(
            "INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp)"
            " VALUES ('msg_x', '20260302_2', 'user', '[{\"type\":\"text\",\"text\":\"Is there tea?\"}]', 1772438401)"
        )
db.close()
