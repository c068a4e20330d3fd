"""Two nodes over one database while everything around them fails.

16 writers append to 4 sessions and 8 followers read their events, through two nodes of `treering serve`. Meanwhile nodes are
killed and started again, the database runs out of connections, the primary is killed and its synchronous standby promoted, and
the database is stopped and started. In the end every acknowledged entry must be in its session exactly once, and every
follower must have seen every entry once, in the order of the log.

    python3 chaos.py TREERING [SECONDS] [SEED]
"""

import http.client
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid

import postgres

SESSIONS, WRITERS, FOLLOWERS = 4, 16, 8


class Node:
    """A node of `treering serve`, which is killed and started again on the same port."""

    def __init__(self, program, root, name, url):
        self.port = postgres.free_port()
        self.token_file = os.path.join(root, "token")
        self.command = [program, "serve", "--listen", f"127.0.0.1:{self.port}", "--store", url, "--token-file", self.token_file]
        self.log = open(os.path.join(root, name + ".log"), "ab")
        self.root, self.process = root, None

    def start(self):
        environment = {**os.environ, "HOME": self.root, "XDG_STATE_HOME": self.root}
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=self.log, env=environment)
        line = self.process.stdout.readline().decode()
        return line.startswith("listening on ")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)


class Client:
    """Talks to the nodes in turn."""

    def __init__(self, nodes, token, seed):
        self.nodes, self.token = nodes, token
        self.random = random.Random(seed)

    def request(self, method, path, body=None, headers=None, timeout=15, node=None):
        node = node or self.random.choice(self.nodes)
        connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=timeout)
        try:
            all_headers = {"Authorization": f"Bearer {self.token}", **(headers or {})}
            if body is not None:
                all_headers["Content-Type"] = "application/json"
            connection.request(method, path, body, all_headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def until_answered(self, method, path, body=None, headers=None, stop=None):
        """Repeats a request until it is answered for good. Returns None if `stop` is set before."""
        while stop is None or not stop.is_set():
            try:
                status, answer = self.request(method, path, body, headers)
                if status < 500 and status != 429:
                    return status, answer
            except (OSError, http.client.HTTPException):
                pass
            time.sleep(0.02)
        return None


class Writer(threading.Thread):
    def __init__(self, number, session, client, stop):
        super().__init__(daemon=True)
        self.number, self.session, self.client, self.stop = number, session, client, stop
        self.acknowledged, self.attempted, self.failure = {}, set(), None
        self.longest_wait = 0.0

    def run(self):
        count = 0
        while not self.stop.is_set():
            text = f"writer-{self.number}-{count}"
            count += 1
            self.attempted.add(text)
            entry = [{"type": "message", "message": {"role": "user", "content": text}}]
            began = time.monotonic()
            answer = self.client.until_answered(
                "POST", f"/v1/sessions/{self.session}/entries", json.dumps(entry), {"Idempotency-Key": str(uuid.uuid4())}, self.stop)
            if answer is None:
                return  # It was not acknowledged.
            self.longest_wait = max(self.longest_wait, time.monotonic() - began)
            status, body = answer
            if status not in (200, 201):
                self.failure = f"{text}: {status} {body[:300]}"
                return
            self.acknowledged[text] = json.loads(body)["ids"][0]


class Follower(threading.Thread):
    def __init__(self, session, client, done):
        super().__init__(daemon=True)
        self.session, self.client, self.done = session, client, done
        self.seen, self.last, self.reconnects = [], None, 0

    def run(self):
        while not self.done.is_set():
            try:
                self.follow()
            except (OSError, http.client.HTTPException, ValueError):
                pass
            self.reconnects += 1
            time.sleep(0.05)

    def follow(self):
        node = self.client.random.choice(self.client.nodes)
        connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=20)
        headers = {"Authorization": f"Bearer {self.client.token}", "Accept": "text/event-stream"}
        headers["Last-Event-ID"] = self.last if self.last is not None else "0"
        try:
            connection.request("GET", f"/v1/sessions/{self.session}/events", headers=headers)
            answer = connection.getresponse()
            if answer.status != 200:
                return
            position, kind, data = None, None, None
            while not self.done.is_set():
                line = answer.readline()
                if not line.endswith(b"\n"):
                    return  # The connection ended, perhaps in the middle of an event.
                line = line.rstrip(b"\r\n").decode()
                if line.startswith("id: "):
                    position = line[4:]
                elif line.startswith("event: "):
                    kind = line[7:]
                elif line.startswith("data: "):
                    data = line[6:]
                elif line == "" and position is not None and data is not None:
                    if kind == "entry":
                        self.seen.append(json.loads(data)["id"])
                    self.last, position, kind, data = position, None, None, None
        finally:
            connection.close()


class Faults:
    """What happens to the nodes and the database, one after the other."""

    def __init__(self, nodes, primary, standby, seed):
        self.nodes, self.primary, self.standby = nodes, primary, standby
        self.random = random.Random(seed)
        self.counts = {"node kills": 0, "pool exhaustions": 0, "failovers": 0, "database restarts": 0}

    def run(self, seconds):
        end = time.monotonic() + seconds
        plan = ["kill"] * 6 + ["exhaust"] * 2 + ["failover"] + ["restart"] * 2
        self.random.shuffle(plan)
        pause = seconds / (len(plan) + 2)
        for fault in plan:
            time.sleep(min(pause, max(0.0, end - time.monotonic())))
            getattr(self, fault)()
        time.sleep(max(0.0, end - time.monotonic()))

    def database(self):
        return self.standby if self.counts["failovers"] else self.primary

    def kill(self):
        node = self.random.choice(self.nodes)
        node.kill()
        self.counts["node kills"] += 1
        # A node does not start while its database is away.
        postgres.wait_until("a node starts", node.start)

    def exhaust(self):
        taken = postgres.occupy(self.database().port, 200)
        time.sleep(1.0)
        for connection in taken:
            connection.close()
        self.counts["pool exhaustions"] += 1

    def failover(self):
        self.primary.kill()
        self.standby.promote()
        self.counts["failovers"] += 1

    def restart(self):
        database = self.database()
        database.stop()
        time.sleep(0.3)
        database.start()
        self.counts["database restarts"] += 1


def verify(client, sessions, writers, followers):
    """Returns the problems, and the number of entries in all sessions."""
    problems, total = [], 0
    for session in sessions:
        status, log = client.until_answered("GET", f"/v1/sessions/{session}/log")
        lines = [json.loads(line) for line in log.decode().splitlines()]
        entries = [line for line in lines if line.get("type") == "message"]
        total += len(entries)
        texts = {}
        for entry in entries:
            texts.setdefault(entry["message"]["content"], []).append(entry["id"])
        for text, ids in texts.items():
            if len(ids) > 1:
                problems.append(f"{text} is {len(ids)} times in {session}")
        order = [line["id"] for line in lines if line.get("type") not in ("session", "leaf")]
        for writer in writers:
            if writer.session != session:
                continue
            for text, id in writer.acknowledged.items():
                if texts.get(text) != [id]:
                    problems.append(f"{text} was acknowledged as {id} and is {texts.get(text)} in {session}")
            for text in texts:
                if text.startswith(f"writer-{writer.number}-") and text not in writer.attempted:
                    problems.append(f"{text} was never written")
        for number, follower in enumerate(followers):
            if follower.session == session and follower.seen != order:
                missing = len(set(order) - set(follower.seen))
                repeated = len(follower.seen) - len(set(follower.seen))
                problems.append(f"follower {number} of {session}: {missing} missing, {repeated} repeated, {len(follower.seen)} of {len(order)} seen, in another order" )
    problems += [writer.failure for writer in writers if writer.failure]
    return problems, total


def main():
    program = os.path.abspath(sys.argv[1])
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 40.0
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 32)
    if postgres.bin_dir() is None:
        print("SKIPPED: the chaos test needs PostgreSQL, and there is none")
        return 0
    root = postgres.temporary_root()
    primary, standby = postgres.Server(root, "primary"), postgres.Server(root, "standby")
    nodes, is_good = [], False
    try:
        primary.create()
        primary.start()
        primary.sql("CREATE ROLE treering LOGIN")
        primary.sql("CREATE DATABASE treering OWNER treering")
        primary.copy_to(standby)
        standby.start()
        primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
        primary.sql("SELECT pg_reload_conf()")
        postgres.wait_until("the standby is synchronous", lambda: primary.sql("SELECT sync_state FROM pg_stat_replication") == "sync")
        hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
        url = f"postgres://treering@{hosts}/treering?target_session_attrs=read-write"
        subprocess.run([program, "store", "init", url], check=True, capture_output=True)
        nodes = [Node(program, root, f"node-{number}", url) for number in range(2)]
        for node in nodes:
            if not node.start():
                raise RuntimeError("a node does not start")
        token = open(nodes[0].token_file).read().strip()
        client = Client(nodes, token, seed)
        sessions = []
        for number in range(SESSIONS):
            body = json.dumps({"id": f"chaos-{number}", "cwd": "/chaos"})
            status, answer = client.until_answered("POST", "/v1/sessions", body)
            assert status == 201, (status, answer)
            sessions.append(f"chaos-{number}")
        stop, done = threading.Event(), threading.Event()
        writers = [Writer(n, sessions[n % SESSIONS], Client(nodes, token, seed + n), stop) for n in range(WRITERS)]
        followers = [Follower(sessions[n % SESSIONS], Client(nodes, token, seed + 100 + n), done) for n in range(FOLLOWERS)]
        for thread in followers + writers:
            thread.start()
        faults = Faults(nodes, primary, standby, seed)
        faults.run(seconds)
        stop.set()
        for writer in writers:
            writer.join(60)
        # Followers may be behind by a reconnection.
        lengths = {}
        for session in sessions:
            _, log = client.until_answered("GET", f"/v1/sessions/{session}/log")
            lengths[session] = sum(1 for line in log.splitlines() if json.loads(line).get("type") not in ("session", "leaf"))
        caught_up = lambda: all(len(follower.seen) >= lengths[follower.session] for follower in followers)
        try:
            postgres.wait_until("followers have caught up", caught_up, 30)
        except RuntimeError:
            pass  # The verification says what is missing.
        done.set()
        problems, total = verify(client, sessions, writers, followers)
        acknowledged = sum(len(writer.acknowledged) for writer in writers)
        slowest = max(writer.longest_wait for writer in writers)
        reconnects = sum(follower.reconnects for follower in followers)
        print(f"chaos, seed {seed}, {seconds:.0f} s: {acknowledged} entries acknowledged to {WRITERS} writers, {total} in the log, "
              f"{reconnects} reconnections of {FOLLOWERS} followers, longest wait of a writer {slowest:.1f} s")
        print("  " + ", ".join(f"{count} {what}" for what, count in faults.counts.items()))
        for problem in problems[:20]:
            print("PROBLEM:", problem)
        codes = [node.stop() for node in nodes]
        if codes != [0, 0]:
            problems.append(f"nodes ended with {codes}")
            print("PROBLEM:", problems[-1])
        if acknowledged < WRITERS:
            problems.append("hardly anything was written")
        is_good = not problems
        print("chaos: nothing lost, nothing doubled" if is_good else f"chaos: {len(problems)} problems")
        return 0 if is_good else 1
    finally:
        for node in nodes:
            if node.process and node.process.poll() is None:
                node.kill()
        for server in (primary, standby):
            if server.is_running():
                try:
                    server.stop("immediate")
                except RuntimeError:
                    pass
        if is_good or not os.environ.get("KEEP"):
            shutil.rmtree(root, ignore_errors=True)
        else:
            print("kept", root)


if __name__ == "__main__":
    sys.exit(main())
