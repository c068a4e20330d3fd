#!/usr/bin/env python3
"""Compares `treering export --site` with tools that write sites of Claude Code sessions.

    site.py TREERING DIR [SESSIONS]

Installs claude-code-log and claude-code-transcripts into DIR, writes SESSIONS sessions (1,000) of a few hundred
kilobytes in the shape of Claude Code, and times each tool on them, in a home directory of its own: by the clock, and
by the processor, which other programs disturb less. treering has three turns, before, between and after the other
tools, and the best one counts. Then times a second run of treering without changes, and one after a session grew.
"""
import json
import os
import pathlib
import random
import resource
import shutil
import subprocess
import sys
import time
import uuid

from site_sessions import session

PACKAGES = ["claude-code-log==1.7.0", "claude-code-transcripts==0.6"]


def processor():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def seconds(command, env):
    """Returns the time of a command by the clock and by the processor."""
    begin, used = time.monotonic(), processor()
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed: {done.stderr[-500:]}")
    return time.monotonic() - begin, processor() - used


def main():
    treering, base = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).absolute()
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
    tools = base / "tools"
    if not (tools / "bin/claude-code-log").exists():
        subprocess.run([sys.executable, "-m", "venv", tools], check=True)
        subprocess.run([tools / "bin/python", "-m", "pip", "install", "-q", *PACKAGES], check=True)
    times = {}

    def home(name):
        return base / f"home-{name}"

    def run(name, command, title=None):
        env = os.environ | {"HOME": str(home(name)), "XDG_CACHE_HOME": str(home(name) / ".cache"), "TREERING_CONFIG": os.devnull}
        spent = seconds([str(word).replace("HOME", str(home(name))) for word in command], env)
        best = times.get(title or name, spent)
        times[title or name] = tuple(map(min, best, spent))

    def first_run():
        for made in ["site", ".cache"]:
            shutil.rmtree(home("treering") / made, ignore_errors=True)
        run("treering", site)

    for name in ["treering", "claude-code-log", "claude-code-transcripts"]:
        rng = random.Random(7)
        for number in range(count):
            session(home(name) / ".claude/projects", number, rng)
    site = [treering, "export", "--site", "HOME/site"]
    first_run()
    run("claude-code-log", [tools / "bin/claude-code-log", "HOME/.claude/projects", "--all-projects", "--combined", "no"])
    first_run()
    sources = ["-s", "HOME/.claude/projects", "-o", "HOME/site"]
    run("claude-code-transcripts", [tools / "bin/claude-code-transcripts", "all", "-q", *sources])
    first_run()
    run("treering", site, "treering, again")
    grown = next((home("treering") / ".claude/projects").rglob("*.jsonl"))
    last = json.loads(grown.read_text().splitlines()[-1])
    last |= {"parentUuid": last["uuid"], "uuid": str(uuid.uuid4()), "type": "user"}
    last["message"] = {"role": "user", "content": "zebra"}
    with grown.open("a") as file:
        file.write(json.dumps(last) + "\n")
    run("treering", site, "treering, one session grew")
    size = sum(file.stat().st_size for file in (home("treering") / ".claude/projects").rglob("*.jsonl"))
    print(f"{count} sessions of Claude Code, {size / 1e6:.0f} MB")
    wall, processor_time = times["treering"]
    for name, (spent, used) in times.items():
        ratios = f"{spent / wall:.3f} and {used / processor_time:.3f} × treering's first run"
        print(f"{name}: {spent:.2f} s, {used:.2f} s of the processor; {ratios}")


main()
