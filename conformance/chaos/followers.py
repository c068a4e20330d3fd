"""Two thousand followers of two hundred sessions on one node.

Every follower must see every entry of its session once and in order. The delay of an event is the time from before its append is
sent until a follower has it, so it includes the append itself.

    python3 followers.py TREERING [FOLLOWERS] [SESSIONS] [ENTRIES]
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time

import postgres
from chaos import Node


async def request(port, token, method, path, body=None):
    """Sends a request on a connection of its own. Returns the status and the body."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    data = json.dumps(body).encode() if body is not None else b""
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    writer.write(head.encode() + data)
    answer = await reader.read()
    writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]), body


class Follower:
    def __init__(self, session):
        self.session, self.seen, self.ready = session, [], asyncio.Event()

    async def follow(self, port, token, count):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = f"GET /v1/sessions/{self.session}/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
        writer.write((head + "Last-Event-ID: 0\r\n\r\n").encode())
        status = await reader.readline()
        assert b" 200 " in status, status
        self.ready.set()
        while len(self.seen) < count:
            line = await reader.readline()
            assert line, "the stream ended"
            # Chunks of the transfer encoding end between events, never within a line of one.
            if line.startswith(b"data: "):
                entry = json.loads(line[6:])
                if entry.get("type") == "message":
                    self.seen.append((entry["message"]["content"], time.monotonic()))
        writer.close()


async def measure(node, token, follower_count, session_count, entries):
    sessions = [f"followed-{number}" for number in range(session_count)]
    for session in sessions:
        status, answer = await request(node.port, token, "POST", "/v1/sessions", {"id": session, "cwd": "/followed"})
        assert status == 201, (status, answer)
    followers = [Follower(sessions[number % session_count]) for number in range(follower_count)]
    tasks = []
    for follower in followers:
        tasks.append(asyncio.create_task(follower.follow(node.port, token, entries)))
        if len(tasks) % 50 == 0:
            await asyncio.gather(*(follower.ready.wait() for follower in followers[: len(tasks)]))
    await asyncio.gather(*(follower.ready.wait() for follower in followers))
    sent = {}
    for number in range(entries):
        for session in sessions:
            text = f"{session} {number}"
            sent[text] = time.monotonic()
            entry = [{"type": "message", "message": {"role": "user", "content": text}}]
            status, answer = await request(node.port, token, "POST", f"/v1/sessions/{session}/entries", entry)
            assert status == 200, (status, answer)
            await asyncio.sleep(0.005)
    memory = next(line for line in open(f"/proc/{node.process.pid}/status") if line.startswith("VmHWM"))
    await asyncio.wait_for(asyncio.gather(*tasks), 120)
    wrong = [f for f in followers if [text for text, _ in f.seen] != [f"{f.session} {n}" for n in range(entries)]]
    delays = sorted(at - sent[text] for follower in followers for text, at in follower.seen)
    return wrong, delays, int(memory.split()[1]) / 1024


def main():
    program = os.path.abspath(sys.argv[1])
    counts = [int(argument) for argument in sys.argv[2:5]]
    follower_count, session_count, entries = counts + [2000, 200, 10][len(counts):]
    if postgres.bin_dir() is None:
        print("SKIPPED: the test of followers needs PostgreSQL, and there is none")
        return 0
    root = postgres.temporary_root()
    primary, node = postgres.Server(root, "primary"), None
    try:
        primary.create()
        primary.start()
        primary.sql("CREATE ROLE treering LOGIN")
        primary.sql("CREATE DATABASE treering OWNER treering")
        url = f"postgres://treering@127.0.0.1:{primary.port}/treering"
        subprocess.run([program, "store", "init", url], check=True, capture_output=True)
        node = Node(program, root, "node", url)
        if not node.start():
            raise RuntimeError("the node does not start")
        token = open(node.token_file).read().strip()
        wrong, delays, memory = asyncio.run(measure(node, token, follower_count, session_count, entries))
        middle, late = delays[len(delays) // 2] * 1000, delays[len(delays) * 99 // 100] * 1000
        print(f"{follower_count} followers of {session_count} sessions: {len(delays)} events, {len(wrong)} followers with a wrong one; "
              f"delay p50 {middle:.0f} ms, p99 {late:.0f} ms (bar 500 ms), memory {memory:.0f} MB (bar 300 MB)")
        return 1 if wrong else 0
    finally:
        if node and node.process and node.process.poll() is None:
            node.kill()
        if primary.is_running():
            primary.stop("immediate")
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
