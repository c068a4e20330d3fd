"""Measures the package against Chimera's session tree, the stores of frameworks, `json.loads`, and the Rust library.

    python bench.py [--mb 10,100] [--dir DIR]

Needs the package installed with its extras, `chimera-run`, `langgraph-checkpoint-sqlite`, and the programs `treering`,
`treering-gen` (TREERING_GEN) and the example `append` of `treering-bindings` (TREERING_APPEND). Everything is compared in one
run, in turns; times are medians. Prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import marshal
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import treering
import treering.chimera

GEN = os.environ.get("TREERING_GEN", "treering-gen")
APPEND = os.environ.get("TREERING_APPEND")
ROWS: List[Tuple[str, str, str, str, str, str]] = []


def shown(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.2f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} µs"


def turns(
    calls: Dict[str, Callable[[], Any]], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> Dict[str, float]:
    """Call all functions in turns, and return the median time of each."""
    times: Dict[str, List[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = clock()
            result = call()
            times[name].append(clock() - start)
            del result
    return {name: statistics.median(it) for name, it in times.items()}


def row(what: str, ours: float, peer: str, theirs: float, bar: float, faster: bool = True) -> None:
    """Add a row: at least `bar` times as fast, or at most `bar` times the time."""
    ratio = theirs / ours if faster else ours / theirs
    ok = ratio >= bar if faster else ratio <= bar
    sign = "≥" if faster else "≤"
    verdict = "" if bar == 0 else "yes" if ok else "**NO**"
    limit = "" if bar == 0 else f"{sign} {bar:g} ×"
    ROWS.append((what, shown(ours), f"{peer} {shown(theirs)}", f"{ratio:.2f} ×", limit, verdict))


def opening(directory: Path, sizes: List[int]) -> None:
    from chimera.sessions.tree import SessionTree

    for size in sizes:
        source, path = directory / f"{size}.jsonl", directory / f"{size}-chimera.jsonl"
        subprocess.run([GEN, "--mb", str(size), "--out", str(source)], check=True, stdout=subprocess.DEVNULL)
        treering.convert(source, path, "chimera")
        times = turns(
            {
                "treering": lambda: treering.Session.open(path).context().messages,
                "tree": lambda: treering.chimera.SessionTree(path).get_messages(),
                "chimera": lambda: SessionTree(path).get_messages(),
            },
            5 if size <= 20 else 3,
        )
        row(f"open and context, {size} MB of Chimera's", times["treering"], "Chimera", times["chimera"], 20)
        row(f"`treering.chimera`: open and all messages, {size} MB", times["tree"], "Chimera", times["chimera"], 0)


def texts_of(value: Any, found: List[bytes]) -> None:
    """Collect the texts of a value that are too long to be made once for all messages."""
    if isinstance(value, str):
        if len(value) > 24:
            found.append(value.encode("utf-8", "surrogatepass"))
    elif isinstance(value, (dict, list)):
        for it in value.values() if isinstance(value, dict) else value:
            texts_of(it, found)


def contexts(directory: Path) -> None:
    path = directory / "plain.jsonl"
    command = [GEN, "--mb", "10", "--no-compactions", "--out", str(path)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    session = treering.Session.open(path)
    lines = [entry.raw.decode() for entry in session.path_to() if entry.type == "message"]
    context = session.context()
    texts: List[bytes] = []
    texts_of(context.messages, texts)
    objects = marshal.dumps(context.messages)
    rounds = 25
    # Sessions that are open, and whose context was not asked for yet.
    fresh = [treering.Session.open(path) for _ in range(rounds)]
    calls: Dict[str, Callable[[], Any]] = {
        "first": lambda: fresh.pop().context().messages,
        "again": lambda: session.context().messages,
        "reading": session.context,
        "json": lambda: [json.loads(line) for line in lines],
        "texts": lambda: [text.decode("utf-8", "surrogatepass") for text in texts],
        "objects": lambda: marshal.loads(objects),
    }
    try:
        import orjson
    except ImportError:
        pass
    else:
        encoded = [line.encode() for line in lines]
        calls["orjson"] = lambda: [orjson.loads(line) for line in encoded]
    times = turns(calls, rounds, time.process_time)
    size = f"{len(lines)} messages of {sum(len(line.encode()) for line in lines) >> 10} KiB, processor time"
    row(f"context as dicts, {size}, the first time", times["first"], "`json.loads`", times["json"], 3)
    row("the same, again, as an agent asks before every call", times["again"], "`json.loads`", times["json"], 3)
    row("for comparison: only reading the context", times["reading"], "`json.loads`", times["json"], 0)
    row(f"for comparison: only decoding its {len(texts)} texts", times["texts"], "`json.loads`", times["json"], 0)
    row("for comparison: `marshal.loads` of the messages", times["objects"], "`json.loads`", times["json"], 0)
    if "orjson" in times:
        row("for comparison: `orjson.loads` of the lines", times["orjson"], "`json.loads`", times["json"], 0)


def median_of_each(call: Callable[[], Any], count: int) -> float:
    times = []
    for _ in range(count):
        start = time.perf_counter_ns()
        call()
        times.append(time.perf_counter_ns() - start)
    return statistics.median(times) / 1e9


def appends(directory: Path) -> None:
    from chimera.sessions.tree import SessionTree
    from chimera.types import Message

    text, count = "word " * 200, 2_000
    message = Message.user(text)
    ours = {"role": "user", "content": text, "timestamp": 1}
    session = treering.Session.create(directory / "append.jsonl", creation="at_once")
    tree = treering.chimera.SessionTree(directory / "append-tree.jsonl")
    theirs = SessionTree(directory / "append-chimera.jsonl")
    samples: Dict[str, List[float]] = {"session": [], "tree": [], "chimera": [], "rust": []}
    for turn in range(5):
        samples["session"].append(median_of_each(lambda: session.append(ours), count))
        samples["tree"].append(median_of_each(lambda: tree.add_message(message), count))
        samples["chimera"].append(median_of_each(lambda: theirs.add_message(message), count))
        if APPEND:
            file = directory / f"append-rust-{turn}.jsonl"
            done = subprocess.run([APPEND, str(file), str(count)], check=True, capture_output=True, text=True)
            samples["rust"].append(int(done.stdout) / 1e9)
    times = {name: statistics.median(it) for name, it in samples.items() if it}
    row("append of 1 KB, p50", times["session"], "Chimera", times["chimera"], 0.25, faster=False)
    row("`treering.chimera`: append of 1 KB, p50", times["tree"], "Chimera", times["chimera"], 0.25, faster=False)
    if APPEND:
        row("append of 1 KB, p50", times["session"], "the Rust call", times["rust"], 3, faster=False)


def frameworks(directory: Path) -> None:
    from agents import SQLiteSession

    from treering.openai_agents import TreeringSession

    items: List[Any] = [{"role": "user", "content": "word " * 200}]

    async def measure(make: Callable[[], Any]) -> Tuple[float, float]:
        session = make()
        times = []
        for _ in range(300):
            start = time.perf_counter()
            await session.add_items(items)
            times.append(time.perf_counter() - start)
        start = time.perf_counter()
        for _ in range(10):
            assert len(await session.get_items()) == 300
        read = (time.perf_counter() - start) / 10
        session.close()
        return statistics.median(times), read

    ours = asyncio.run(measure(lambda: TreeringSession("bench", directory / "openai")))
    theirs = asyncio.run(measure(lambda: SQLiteSession("bench", directory / "openai.db")))
    row("OpenAI Agents SDK: `add_items` of 1 KB, p50", ours[0], "SQLiteSession", theirs[0], 0)
    row("OpenAI Agents SDK: `get_items`, 300 items", ours[1], "SQLiteSession", theirs[1], 0)

    from langgraph.checkpoint.base import empty_checkpoint
    from langgraph.checkpoint.sqlite import SqliteSaver

    from treering.langgraph import TreeringSaver

    def checkpoints(saver: Any) -> Tuple[float, float]:
        config: Any = {"configurable": {"thread_id": "bench", "checkpoint_ns": ""}}
        times = []
        for number in range(200):
            checkpoint = {**empty_checkpoint(), "channel_values": {"messages": ["word " * 200]}}
            checkpoint["channel_versions"] = {"messages": f"{number:032}"}
            start = time.perf_counter()
            config = saver.put(config, checkpoint, {"step": number}, checkpoint["channel_versions"])
            times.append(time.perf_counter() - start)
        read = median_of_each(lambda: saver.get_tuple({"configurable": {"thread_id": "bench"}}), 100)
        return statistics.median(times), read

    with TreeringSaver(treering.open_store(directory)) as saver:
        ours = checkpoints(saver)
    with SqliteSaver.from_conn_string(str(directory / "langgraph.db")) as sqlite:
        theirs = checkpoints(sqlite)
    row("LangGraph: `put` of a checkpoint, p50", ours[0], "SqliteSaver", theirs[0], 0)
    row("LangGraph: `get_tuple` of the latest of 200, p50", ours[1], "SqliteSaver", theirs[1], 0)


def main() -> None:
    """Run all measurements and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", default="10,100", help="sizes of the sessions to open")
    parser.add_argument("--dir", type=Path, help="where the sessions are made (default: a temporary directory)")
    options = parser.parse_args()
    directory = options.dir or Path(tempfile.mkdtemp())
    directory.mkdir(parents=True, exist_ok=True)
    try:
        contexts(directory)
        opening(directory, [int(it) for it in options.mb.split(",")])
        appends(directory)
        frameworks(directory)
    finally:
        if options.dir is None:
            shutil.rmtree(directory)
    print("| what | treering | peer | ratio | bar | ok |\n|---|---|---|---|---|---|")
    for line in ROWS:
        print("| " + " | ".join(line) + " |")
    version = ".".join(map(str, sys.version_info[:3]))
    print(f"\nPython {version}, treering {treering.__version__}, load {os.getloadavg()[0]:.1f}")
    sys.exit(1 if any("NO" in line[5] for line in ROWS) else 0)


if __name__ == "__main__":
    main()
