"""A backup of the database, restored into another one, holds every session byte for byte, and nodes continue with it.

    python3 backup.py TREERING
"""

import json
import os
import shutil
import subprocess
import sys

import postgres


def main():
    program = os.path.abspath(sys.argv[1])
    if postgres.bin_dir() is None:
        print("SKIPPED: the test of backups needs PostgreSQL, and there is none")
        return 0
    root = postgres.temporary_root()
    server = postgres.Server(root, "primary")

    def treering(database, *args):
        url = f"postgres://treering@127.0.0.1:{server.port}/{database}"
        environment = {**os.environ, "HOME": root, "TREERING_STORE": url}
        done = subprocess.run([program, *args], capture_output=True, text=True, env=environment, cwd=root)
        if done.returncode != 0:
            raise RuntimeError(f"{args}: {done.stderr}")
        return done.stdout

    def logs(database):
        listed = [json.loads(line) for line in treering(database, "ls", "--all", "--json").splitlines()]
        return {session["id"]: (session["entryCount"], treering(database, "log", session["id"], "--json")) for session in listed}

    try:
        server.create()
        server.start()
        server.sql("CREATE ROLE treering LOGIN")
        for database in ("treering", "restored"):
            server.sql(f"CREATE DATABASE {database} OWNER treering")
        url = f"postgres://treering@127.0.0.1:{server.port}"
        subprocess.run([program, "store", "init", f"{url}/treering"], check=True, capture_output=True)
        for number in range(20):
            for entry in range(5):
                treering("treering", "append", f"session-{number}", "--user", f"entry {entry} of {number}")
        treering("treering", "rm", "session-7", "--yes")
        dump = os.path.join(root, "treering.dump")
        connection = ["-h", "127.0.0.1", "-p", str(server.port), "-U", "admin"]
        server.run("pg_dump", *connection, "--format=custom", f"--file={dump}", "treering")
        server.run("pg_restore", *connection, "--dbname=restored", "--exit-on-error", dump)
        before, after = logs("treering"), logs("restored")
        problems = []
        if len(before) != 19 or before != after:
            problems.append(f"{len(before)} sessions before, {len(after)} after, {sum(before[id] != after.get(id) for id in before)} differ")
        # Nodes continue with the copy: appends, lists and new sessions.
        treering("restored", "append", "session-3", "--user", "after the restoration")
        treering("restored", "append", "new", "--user", "a new session")
        restored = logs("restored")
        if restored["session-3"][0] != 6 or "new" not in restored:
            problems.append("the restored database cannot be gone on with")
        check = subprocess.run([program, "store", "check", f"{url}/restored"], capture_output=True, text=True)
        if check.returncode != 0:
            problems.append(f"store check: {check.stdout}")
        for problem in problems:
            print("PROBLEM:", problem)
        print(f"backup: {len(after)} sessions dumped, restored and compared, {len(problems)} problems")
        return 1 if problems else 0
    finally:
        if server.is_running():
            server.stop("immediate")
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
