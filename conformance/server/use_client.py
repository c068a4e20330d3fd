"""Uses the client that was generated from the document: creates a session, appends, reads, repeats, is refused."""

import os

from client import AuthenticatedClient
from client.api.entries import append_entries, get_context, get_tree
from client.api.server import get_health
from client.api.sessions import create_session, get_session, list_sessions, remove_session
from client.models import NewEntry, NewSession

checks = 0


def check(holds, what):
    global checks
    assert holds, what
    checks += 1


def entry(text):
    return NewEntry.from_dict({"type": "message", "message": {"role": "user", "content": text}})


client = AuthenticatedClient(base_url=os.environ["TREERING_URL"], token=os.environ["TREERING_TOKEN"])
with client:
    check(get_health.sync(client=client).status == "ok", "health")
    created = create_session.sync_detailed(client=client, body=NewSession(id="generated", cwd="/tmp"))
    check(created.status_code == 201 and created.parsed.id == "generated", "create")
    again = create_session.sync_detailed(client=client, body=NewSession(id="generated", cwd="/tmp"))
    check(again.status_code == 409 and again.parsed.code == "session_exists", "create twice")
    for _ in range(2):
        appended = append_entries.sync("generated", client=client, body=[entry("hello"), entry("there")], idempotency_key="k")
        check(len(appended.ids) == 2 and appended.leaf == appended.ids[1], "append")
    tree = get_tree.sync("generated", client=client)
    check([row.preview for row in tree.rows] and len(tree.rows) == 2, "tree")
    context = get_context.sync("generated", client=client)
    check(len(context.messages) == 2, "context")
    session = get_session.sync("generated", client=client)
    check(session.entry_count == 2 and session.length == appended.length, "session")
    listed = list_sessions.sync(client=client, limit=10)
    check(any(session.id == "generated" for session in listed.sessions), "list")
    check(remove_session.sync_detailed("generated", client=client).status_code == 204, "remove")
    missing = get_session.sync_detailed("generated", client=client)
    check(missing.status_code == 404 and missing.parsed.code == "unknown_session", "removed")
stranger = AuthenticatedClient(base_url=os.environ["TREERING_URL"], token="tr_wrong")
refused = list_sessions.sync_detailed(client=stranger)
check(refused.status_code == 401 and refused.parsed.code == "unauthorized", "wrong token")
print(f"{checks} checks with the generated client")
