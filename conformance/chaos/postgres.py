"""A PostgreSQL server in a temporary directory, and its standby. Ends only processes that it started."""

import os
import pwd
import random
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time


def bin_dir():
    """Returns the directory of PostgreSQL's programs, or None."""
    candidates = []
    if shutil.which("pg_config"):
        candidates.append(subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True).stdout.strip())
    base = "/usr/lib/postgresql"
    if os.path.isdir(base):
        candidates += [os.path.join(base, version, "bin") for version in sorted(os.listdir(base), key=int, reverse=True)]
    return next((dir for dir in candidates if os.path.exists(os.path.join(dir, "initdb"))), None)


def free_port():
    """Returns a port on which no program listens, below those that systems give to connections.

    A server that is stopped and started again finds it free, however many connections there are in between.
    """
    while True:
        port = random.randrange(15_000, 30_000)
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def as_server_user(command):
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return command
    return ["runuser", "-u", "postgres", "--"] + command


class Server:
    def __init__(self, root, name):
        self.bin, self.name, self.port = bin_dir(), name, free_port()
        self.data = os.path.join(root, name)
        self.root = root

    def run(self, program, *args):
        command = as_server_user([os.path.join(self.bin, program), *args])
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.root)
        if done.returncode != 0:
            raise RuntimeError(f"{program}: {done.stderr}{done.stdout}")
        return done.stdout

    def configure(self, **settings):
        with open(os.path.join(self.data, "postgresql.auto.conf"), "a") as file:
            for key, value in settings.items():
                file.write(f"{key} = '{value}'\n")

    def create(self):
        self.run("initdb", "-D", self.data, "-A", "trust", "-U", "admin", "--no-locale", "-E", "UTF8")
        with open(os.path.join(self.data, "pg_hba.conf"), "a") as file:
            file.write("host replication all 127.0.0.1/32 trust\n")
        self.configure(
            listen_addresses="127.0.0.1", port=self.port, unix_socket_directories=self.root,
            fsync="on", wal_level="replica", max_connections=80, max_wal_senders=8, hot_standby="on",
            shared_buffers="64MB", log_min_messages="fatal", checkpoint_timeout="30min",
        )

    def copy_to(self, standby):
        self.run("pg_basebackup", "-D", standby.data, "-h", "127.0.0.1", "-p", str(self.port), "-U", "admin", "-R", "-X", "stream", "-c", "fast")
        standby.configure(port=standby.port)

    def start(self):
        # Without a log file the server would keep the caller's pipes open.
        self.run("pg_ctl", "-D", self.data, "-l", os.path.join(self.root, self.name + ".log"), "-w", "-t", "60", "start")

    def stop(self, mode="fast"):
        self.run("pg_ctl", "-D", self.data, "-m", mode, "-w", "-t", "60", "stop")

    def kill(self):
        """Ends the server and its children as a crash of the machine would."""
        with open(os.path.join(self.data, "postmaster.pid")) as file:
            postmaster = int(file.readline())
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(postmaster)], capture_output=True, text=True).stdout.split()
        os.kill(postmaster, signal.SIGKILL)
        for child in children:
            try:
                os.kill(int(child), signal.SIGKILL)
            except ProcessLookupError:
                pass

    def promote(self):
        self.run("pg_ctl", "-D", self.data, "-w", "-t", "60", "promote")

    def sql(self, statement, database="postgres"):
        return self.run("psql", "-h", "127.0.0.1", "-p", str(self.port), "-U", "admin", "-d", database, "-Atc", statement).strip()

    def is_running(self):
        return os.path.exists(os.path.join(self.data, "postmaster.pid"))


def occupy(port, count):
    """Opens connections until the server refuses one. Returns their sockets."""
    taken = []
    body = b"user\0treering\0database\0treering\0\0"
    startup = struct.pack("!II", len(body) + 8, 196608) + body
    for _ in range(count):
        connection = socket.create_connection(("127.0.0.1", port), timeout=5)
        connection.sendall(startup)
        if not is_accepted(connection):
            connection.close()
            break
        taken.append(connection)
    return taken


def is_accepted(connection):
    """Reads the answers to a new connection, up to the one that it is ready."""
    answers = connection.makefile("rb")
    while True:
        head = answers.read(5)
        if len(head) < 5 or head[:1] == b"E":
            return False
        if head[:1] == b"Z":
            return True
        answers.read(struct.unpack("!I", head[1:])[0] - 4)


def temporary_root():
    root = tempfile.mkdtemp(prefix="treering-chaos-")
    if os.geteuid() == 0:
        user = pwd.getpwnam("postgres")
        os.chown(root, user.pw_uid, user.pw_gid)
    return root


def wait_until(what, condition, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.05)
    raise RuntimeError(f"timed out waiting until {what}")
