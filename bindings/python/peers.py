"""Runs the tests that other packages publish against treering's classes in place of their own.

The tests come from the source distributions on PyPI, are kept outside of the repository, and only their imports are
changed. Nothing may be skipped; the few tests that are left out are counted. Prints how many tests ran, by package and version.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import List, Tuple

Package = Tuple[str, str]
CHIMERA: Package = ("chimera-run", "0.9.2.3")
#: The tests of Chimera that are about its session tree.
CHIMERA_TESTS = [
    "tests/sessions/test_session_tree.py",
    "tests/sessions/test_session_tree_integration.py",
    "tests/sessions/test_branch_summary.py",
    "tests/sessions/test_compaction_audit.py",
    "tests/integration/test_pi_mono_integration.py",
]


def source(cache: Path, package: Package) -> Path:
    """Return the directory of a package's source distribution, downloaded if it is not there."""
    name, version = package
    directory = cache / f"{name.replace('-', '_')}-{version}"
    if not directory.exists():
        cache.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        subprocess.run([*command, "--dest", str(cache), f"{name}=={version}"], check=True)
        with tarfile.open(cache / f"{directory.name}.tar.gz") as archive:
            archive.extractall(cache)
    return directory


def run(directory: Path, arguments: List[str]) -> int:
    """Run pytest and return the number of tests that passed; anything else than passing ends the program."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""
    found = re.fullmatch(r"(\d+) passed(?:, \d+ (?:warnings?|deselected))* in .*", last)
    if done.returncode != 0 or found is None:
        print(done.stdout[-6000:], done.stderr[-2000:])
        sys.exit(f"the tests in {directory} did not all run and pass: {last!r}")
    return int(found[1])


def chimera(cache: Path) -> None:
    """Chimera's tests of its session tree, with the import replaced."""
    tests = cache / "chimera-tests"
    shutil.rmtree(tests, ignore_errors=True)
    tests.mkdir(parents=True)
    for name in CHIMERA_TESTS:
        text = (source(cache, CHIMERA) / name).read_text(encoding="utf-8")
        replaced, count = re.subn(r"from chimera\.sessions\.tree import", "from treering.chimera import", text)
        if count != 1:
            sys.exit(f"{name} imports Chimera's tree {count} times, not once")
        (tests / Path(name).name).write_text(replaced, encoding="utf-8")
    report(CHIMERA, "session tree", run(tests, ["."]))


OPENAI: Package = ("openai-agents", "0.24.0")
OPENAI_TESTS = ["tests/memory/test_session.py", "tests/memory/test_session_limit.py"]
#: Tests with one of these in them are about SQLite itself: its connections, tables, locks and error texts.
SQLITE = re.compile(r"sqlite3\.|_locked_connection|_get_connection|_file_lock|_connections|SQLiteSession is closed")


def openai_agents(cache: Path) -> None:
    """The SDK's tests of its session, with SQLite's session replaced."""
    tests = cache / "openai-tests"
    shutil.rmtree(tests, ignore_errors=True)
    shutil.copytree(source(cache, OPENAI) / "tests", tests / "tests")
    shutil.copy(source(cache, OPENAI) / "pyproject.toml", tests)
    left_out: List[str] = []
    for name in OPENAI_TESTS:
        file = tests / name
        text = file.read_text(encoding="utf-8")
        # The class is imported last, so that it replaces the SDK's.
        start = re.search(r"^(?:async def|def|class|@)", text, re.M)
        assert start is not None
        line = "from treering.openai_agents import TreeringSession as SQLiteSession\n\n\n"
        file.write_text(text[: start.start()] + line + text[start.start() :], encoding="utf-8")
        for part in re.split(r"\n(?=(?:@pytest|async def test|def test))", text):
            test = re.search(r"def (test_\w+)", part)
            if test is not None and SQLITE.search(part):
                left_out.append(f"{name}::{test[1]}")
    arguments = [it for test in left_out for it in ("--deselect", test)]
    count = run(tests, [*OPENAI_TESTS, *arguments])
    report(OPENAI, "sessions", count)
    print(f"  left out: {len(left_out)} tests that look into SQLite's connections, tables and locks")


CONFORMANCE: Package = ("langgraph-checkpoint-conformance", "0.0.2")


def langgraph(cache: Path) -> None:
    """The conformance suite of LangGraph's checkpointers, with all its extensions."""
    import asyncio
    import tempfile
    from typing import Any, AsyncIterator

    from langgraph.checkpoint.conformance import checkpointer_test, validate

    from treering.langgraph import TreeringSaver

    @checkpointer_test(name="TreeringSaver")
    async def saver() -> AsyncIterator[Any]:
        with tempfile.TemporaryDirectory() as directory, TreeringSaver(directory) as created:
            yield created

    results = asyncio.run(validate(saver)).to_dict()["results"]
    failed = [name for name, it in results.items() if not it["passed"] or it["tests_skipped"]]
    if failed:
        sys.exit(f"the conformance suite failed: {results}")
    report(CONFORMANCE, f"{len(results)} capabilities", sum(it["tests_passed"] for it in results.values()))


def report(package: Package, what: str, count: int) -> None:
    """Print the result of one package."""
    print(f"{package[0]} {package[1]}: {count} tests of its {what} passed, 0 failed, 0 skipped")


def main() -> None:
    """Run the tests of all packages."""
    cache = Path(sys.argv[1]).resolve()
    chimera(cache)
    openai_agents(cache)
    langgraph(cache)


if __name__ == "__main__":
    main()
