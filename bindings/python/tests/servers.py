"""Servers for tests: PostgreSQL and ``treering serve``, in temporary directories, on free ports of the loopback."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Sequence, Tuple

#: The command of the wheel, unless another one is named.
COMMAND = os.environ.get("TREERING_BIN") or shutil.which("treering")


def free_port() -> int:
    """Return a port on which no program listens, below those that systems give to connections."""
    while True:
        port = random.randrange(15_000, 30_000)
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def environment() -> Dict[str, str]:
    """Return the environment without settings that would reach a server or its clients."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "TREERING"))}
    return {**kept, "LC_ALL": "C"}


def find_postgres() -> Tuple[Optional[Path], List[str], str]:
    """Return the directory of PostgreSQL's programs and the words that change the user, or the reason why not."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    try:
        done = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True)
        places.insert(0, Path(done.stdout.strip() or "/nowhere"))
    except FileNotFoundError:
        pass
    programs = ("initdb", "pg_ctl", "psql", "postgres")
    found = next((it for it in places if all((it / name).is_file() for name in programs)), None)
    if found is None:
        return None, [], "PostgreSQL is not installed"
    if os.geteuid() != 0:
        return found, [], ""
    # PostgreSQL refuses to run as root.
    ways = (
        ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"],
        ["runuser", "-u", "postgres", "--"],
    )
    for way in ways:
        if shutil.which(way[0]) and subprocess.run([*way, "id", "-u"], capture_output=True).returncode == 0:
            return found, way, ""
    return None, [], "there is no user postgres to run it as"


@contextmanager
def postgres(programs: Path, prefix: Sequence[str]) -> Iterator[str]:
    """Run a server of PostgreSQL, and yield the address of a database that is set up as a store."""

    def run(*words: str, check: bool = True) -> str:
        done = subprocess.run(
            [*prefix, *words], capture_output=True, text=True, cwd="/tmp", env=environment(), timeout=120
        )
        assert not check or done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout.strip()

    directory = run("mktemp", "-d", "/tmp/treering-pg.XXXXXX")
    data, port = f"{directory}/data", free_port()
    options = f"-p {port} -k {directory} -c listen_addresses=127.0.0.1 -c fsync=off"
    try:
        run(f"{programs}/initdb", "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-sync", "-D", data)
        # Without a log of its own the server would keep the pipes of this call open.
        run(f"{programs}/pg_ctl", "-D", data, "-l", f"{directory}/log", "-o", options, "-w", "-t", "60", "start")
        connect = [f"{programs}/psql", "-h", "127.0.0.1", "-p", str(port), "-U", "postgres", "-c"]
        run(*connect, "CREATE ROLE treering LOGIN")
        run(*connect, "CREATE DATABASE treering OWNER treering")
        address = f"postgres://treering@127.0.0.1:{port}/treering"
        assert COMMAND is not None
        subprocess.run([COMMAND, "store", "init", address], check=True, capture_output=True, env=environment())
        yield address
    finally:
        run(f"{programs}/pg_ctl", "-D", data, "-m", "immediate", "-w", "stop", check=False)
        run("rm", "-rf", directory, check=False)


@contextmanager
def node(directory: Path, store: str) -> Iterator[Tuple[str, str]]:
    """Run ``treering serve`` for a store, and yield its address and its token."""
    assert COMMAND is not None
    token = directory / "token"
    words = [COMMAND, "serve", "--no-model", "--listen", "127.0.0.1:0", "--token-file", str(token), "--store", store]
    settings = {**environment(), "HOME": str(directory)}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=settings) as server:
        try:
            assert server.stdout is not None
            for line in server.stdout:
                if line.startswith("listening on "):
                    yield line.split()[2].strip(), token.read_text().strip()
                    return
            raise AssertionError(f"the server ended with {server.wait()}")
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(timeout=60)
