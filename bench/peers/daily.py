#!/usr/bin/env python3
"""Compares `treering usage daily` with ccusage on the same Claude Code files, and a search by `treering mcp`, and as
the picker runs it, with the command.

    daily.py TREERING DIR [SESSIONS]

Installs ccusage 18 (Node) and 20 (native) into DIR, writes SESSIONS sessions (10,000, about 1 GB) in the shape of Claude Code, and
runs everything in turns: three rounds, of which the best counts. ccusage 18 takes minutes and runs once. Lines are counted by `wc -l`.
"""
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

from site_sessions import session

CCUSAGE = ["18.0.11", "20.0.24"]
RARE = "zyzzyva"
BARS = []


def seconds(command, env):
    begin = time.monotonic()
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed: {done.stderr[-500:]}")
    return time.monotonic() - begin, done.stdout


def make(home, count):
    projects = home / ".claude/projects"
    if projects.exists():
        return
    rng = random.Random(7)
    unfinished = home / "unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    for number in range(count):
        session(unfinished, number, rng, turns=14, last=f"the word {RARE}" if number == count // 2 else None)
    projects.parent.mkdir(parents=True, exist_ok=True)
    unfinished.rename(projects)


def bar(name, value, limit, at_most=True):
    is_met = value <= limit if at_most else value >= limit
    BARS.append(is_met)
    print(f"  {name}: {value:.2f} ({'≤' if at_most else '≥'} {limit}) {'met' if is_met else 'MISSED'}")


class Mcp:
    """`treering mcp`, asked line by line."""

    def __init__(self, treering, env):
        self.process = subprocess.Popen([treering, "mcp"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.number = 0
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}})

    def ask(self, method, params):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["result"]

    def search(self, query):
        begin = time.monotonic()
        answer = self.ask("tools/call", {"name": "search", "arguments": {"query": query}})
        elapsed = time.monotonic() - begin
        assert not answer["isError"] and RARE in answer["content"][0]["text"]
        return elapsed

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)


def main():
    treering, base = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).absolute()
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 10_000
    home = base / f"home-{count}"
    make(home, count)
    for version in CCUSAGE:
        place = base / f"ccusage-{version}"
        if not (place / "node_modules").exists():
            place.mkdir(parents=True, exist_ok=True)
            subprocess.run(["npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", place, f"ccusage@{version}"], check=True)
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "TZ": "UTC", "CLAUDE_CONFIG_DIR": str(home / ".claude")}
    files = sorted(home.glob(".claude/projects/*/*.jsonl"))
    size = sum(path.stat().st_size for path in files)
    print(f"{len(files):,} sessions, {size / 1e6:,.0f} MB, load {os.getloadavg()[0]:.1f}")

    usage = [treering, "usage", "daily", "--json", "--agent", "claude-code"]
    lines = ["sh", "-c", f"find {home}/.claude/projects -name '*.jsonl' -print0 | xargs -0 -n 5000 wc -l"]
    # The program itself, without the script of Node that starts it.
    native = next(base.glob("ccusage-20.0.24/node_modules/@ccusage/*/bin/ccusage"))
    # Its script makes it executable when it is first started.
    native.chmod(0o755)
    ccusage = {
        "18": [str(base / "ccusage-18.0.11/node_modules/.bin/ccusage"), "daily", "--json", "--offline"],
        "20": [str(native), "claude", "daily", "--json", "--offline"],
    }
    times = {}

    def run(name, command):
        elapsed, output = seconds(command, env)
        times[name] = min(elapsed, times.get(name, elapsed))
        return output

    for turn in range(3):
        shutil.rmtree(home / ".cache", ignore_errors=True)
        run("lines", lines)
        ours = run("cold", usage)
        run("warm", usage)
        theirs = run("ccusage 20", ccusage["20"])
        if turn == 0:
            run("ccusage 18", ccusage["18"])
    ours, theirs = json.loads(ours)["total"]["usage"], json.loads(theirs)["totals"]
    assert ours["totalTokens"] == theirs["totalTokens"], (ours, theirs)
    for name, elapsed in times.items():
        print(f"  {name}: {elapsed * 1000:,.0f} ms")
    bar("usage daily without a cache / counting lines", times["cold"] / times["lines"], 3)
    bar("usage daily with a cache, ms", times["warm"] * 1000, 200)
    bar("ccusage 18 (Node) / usage daily without a cache", times["ccusage 18"] / times["cold"], 20, at_most=False)
    bar("ccusage 20 (native) / usage daily without a cache", times["ccusage 20"] / times["cold"], 20, at_most=False)
    bar("ccusage 20 (native) / usage daily with a cache", times["ccusage 20"] / times["warm"], 20, at_most=False)

    mcp = Mcp(treering, env)
    searches = []
    for _ in range(7):
        tool = mcp.search(RARE)
        command, output = seconds([treering, "search", RARE, "--json"], env)
        assert RARE in output
        searches.append((tool, command))
    mcp.close()
    tool, command = (min(column) for column in zip(*searches))
    # The picker runs the same search in a process that has listed the files already: this is an upper bound.
    first = min(seconds([treering, "search", "buffer7", "--limit", "1", "--json"], env)[0] for _ in range(7))
    # The names of files are found with one hit of each session, as in the picker.
    commands = [[treering, "search", "buffer7", "-l"], [treering, "search", "buffer7", "--json"]]
    rounds = [[seconds(command, env)[0] for command in commands] for _ in range(5)]
    each, every = (min(column) for column in zip(*rounds))
    print(f"  search for a rare word: mcp {tool * 1000:.0f} ms, command {command * 1000:.0f} ms")
    bar("search by mcp / by the command", tool / command, 1.2)
    print(f"  search for a usual word: first hit {first * 1000:.0f} ms, one hit of each session {each * 1000:.0f} ms, all {every * 1000:.0f} ms")
    bar("first hit of a search, ms", first * 1000, 100)
    bar("one hit of each session (the picker) / all hits (the command)", each / every, 1)
    print(f"bars missed: {BARS.count(False)}")


if __name__ == "__main__":
    main()
