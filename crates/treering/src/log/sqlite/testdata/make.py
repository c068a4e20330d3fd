"""Writes databases with Python's SQLite, and what it reads from them.

make.py small DIR   writes small.db and its write-ahead log, the test data that is kept
make.py random DIR  writes databases of many settings, and a line of JSON with the content of each
"""

import json
import os
import random
import shutil
import sqlite3
import sys


def copy_open(source, target):
    """Copies a database with its log while it is open, so that the log is not moved into it."""
    for end in ("", "-wal", "-journal"):
        if os.path.exists(source + end):
            shutil.copyfile(source + end, target + end)


def small(directory):
    work = os.path.join(directory, "work.db")
    connection = sqlite3.connect(work, isolation_level=None)
    connection.execute("PRAGMA page_size = 512")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE `session` (`id` text PRIMARY KEY, `title` text NOT NULL)")
    connection.execute("CREATE TABLE part (id text PRIMARY KEY, session text, data text, number real)")
    connection.execute("CREATE INDEX part_session ON part (session, id)")
    put = lambda n: connection.execute(
        "INSERT INTO part VALUES (?, ?, ?, ?)", (f"p{n:03}", f"s{n % 3}", f"text {n} " * (n * 7 % 90), n / 2)
    )
    for n in range(24):
        put(n)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for n in range(24, 30):
        put(n)
    copy_open(work, os.path.join(directory, "small.db"))
    connection.close()
    os.remove(work)


def value(numbers):
    kind = numbers.randrange(8)
    if kind == 0:
        return None
    if kind == 1:
        return numbers.choice([0, 1, -1, 127, -128, 40_000, -(2**23), 2**31, -(2**47), 2**62, -(2**63)])
    if kind == 2:
        return numbers.choice([0.5, -1e300, 3.0, 1 / 3])
    if kind == 3:
        return bytes(numbers.randrange(256) for _ in range(numbers.randrange(40)))
    length = numbers.choice([0, 3, 10, 30, 30, 300, 3000 if numbers.random() < 0.2 else 1, 70_000 if numbers.random() < 0.01 else 2])
    start = numbers.randrange(9)
    return ("abc äöü€𝄞\n\"" * (length // 9 + 3))[start : start + length]


def shown(found):
    return found.hex() if isinstance(found, bytes) else found


def case(directory, number, numbers):
    settings = {
        "page": numbers.choice([512, 1024, 4096, 32768, 65536]),
        "mode": numbers.choice(["WAL", "DELETE", "PERSIST", "TRUNCATE"]),
        "vacuum": numbers.choice(["NONE", "FULL", "INCREMENTAL"]),
        "rows": numbers.choice([0, 1, 20, 200, 800]),
    }
    name = f"{number}.db"
    work, target = os.path.join(directory, "work.db"), os.path.join(directory, name)
    connection = sqlite3.connect(work, isolation_level=None)
    run = connection.execute
    run(f"PRAGMA page_size = {settings['page']}")
    run(f"PRAGMA auto_vacuum = {settings['vacuum']}")
    run(f"PRAGMA journal_mode = {settings['mode']}")
    run("PRAGMA synchronous = OFF")
    run(f"PRAGMA wal_autocheckpoint = {numbers.choice([0, 5, 1000])}")
    run("CREATE TABLE a (id INTEGER PRIMARY KEY AUTOINCREMENT, `key` TEXT, x, [y z] REAL -- a comment\n)")
    run("CREATE TABLE b (name text PRIMARY KEY, x)")
    if numbers.random() < 0.7:
        run("CREATE INDEX a_key ON a (key)")
    keys = ["k", "kk", "z" * 900, "", "ä"]
    for step in range(numbers.choice([1, 3])):
        run("BEGIN")
        for at in range(settings["rows"] if settings["page"] < 5000 or step == 0 else 20):
            run("INSERT INTO a (key, x, `y z`) VALUES (?, ?, ?)", (numbers.choice(keys), value(numbers), at / 2))
            if at % 5 == 0:
                run("INSERT OR IGNORE INTO b VALUES (?, ?)", (f"n{at}", value(numbers)))
            if numbers.random() < 0.2:
                run("DELETE FROM a WHERE id = ?", (numbers.randrange(1, at + 2),))
        run("UPDATE a SET x = ? WHERE id % 7 = 1", (value(numbers),))
        run("COMMIT" if step == 0 or numbers.random() < 0.8 else "ROLLBACK")
        if step == 0:
            run("ALTER TABLE a ADD COLUMN late text")
    run("INSERT INTO a (key, late) VALUES ('k', 'late')")
    tables = {
        table: [[shown(one) for one in row] for row in run(f"SELECT * FROM {table} ORDER BY rowid")]
        for table in ("a", "b")
    }
    found = {key: [row[0] for row in run("SELECT id FROM a WHERE key = ? ORDER BY id", (key,))] for key in keys}
    copy_open(work, target)
    connection.close()
    for end in ("", "-wal", "-journal"):
        if os.path.exists(work + end):
            os.remove(work + end)
    print(json.dumps({"file": name, "settings": settings, "tables": tables, "found": found}))


if __name__ == "__main__":
    what, directory = sys.argv[1:]
    if what == "small":
        small(directory)
    else:
        for number in range(48):
            case(directory, number, random.Random(number))
