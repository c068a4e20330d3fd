#!/usr/bin/env python3
"""Compares `treering export --site` with tools that write sites of Claude Code sessions.

    site.py TREERING DIR [SESSIONS]

Installs claude-code-log and claude-code-transcripts into DIR, writes SESSIONS sessions (1,000) of a few hundred
kilobytes in the shape of Claude Code, and times each tool once on them, in a home directory of its own. Then
times a second run of treering without changes, and one after a session grew.
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import time
import uuid

from site_sessions import session

PACKAGES = ["claude-code-log==1.7.0", "claude-code-transcripts==0.6"]


def seconds(command, env):
    begin = time.monotonic()
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed: {done.stderr[-500:]}")
    return time.monotonic() - begin


def main():
    treering, base = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).absolute()
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
    tools = base / "tools"
    if not (tools / "bin/claude-code-log").exists():
        subprocess.run([sys.executable, "-m", "venv", tools], check=True)
        subprocess.run([tools / "bin/pip", "install", "-q", *PACKAGES], check=True)
    times = {}

    def run(name, command, again=False):
        home = base / f"home-{name.split(',')[0]}"
        if not again:
            rng = random.Random(7)
            for number in range(count):
                session(home / ".claude/projects", number, rng)
        env = os.environ | {"HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache"), "TREERING_CONFIG": os.devnull}
        times[name] = seconds([str(word).replace("HOME", str(home)) for word in command], env)

    site = [treering, "export", "--site", "HOME/site"]
    run("treering", site)
    run("treering, again", site, again=True)
    grown = next((base / "home-treering/.claude/projects").rglob("*.jsonl"))
    last = json.loads(grown.read_text().splitlines()[-1])
    last |= {"parentUuid": last["uuid"], "uuid": str(uuid.uuid4()), "type": "user"}
    last["message"] = {"role": "user", "content": "zebra"}
    with grown.open("a") as file:
        file.write(json.dumps(last) + "\n")
    run("treering, one session grew", site, again=True)
    run("log", [tools / "bin/claude-code-log", "HOME/.claude/projects", "--all-projects", "--combined", "no"])
    run("transcripts", [tools / "bin/claude-code-transcripts", "all", "-q", "-s", "HOME/.claude/projects", "-o", "HOME/site"])
    size = sum(file.stat().st_size for file in (base / "home-treering/.claude/projects").rglob("*.jsonl"))
    print(f"{count} sessions of Claude Code, {size / 1e6:.0f} MB")
    for name, spent in times.items():
        print(f"{name}: {spent:.2f} s, {spent / times['treering']:.3f} × treering's first run")


main()
