"""The build backend of the package: maturin's, with the command ``treering`` put into the wheel.

The command is a program of its own, built from the workspace of the library. It is laid into the directory
``treering.data/scripts``, from where installers put it beside ``python``. ``TREERING_BIN`` names a program that is built
already.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator, Mapping, Optional

import maturin

HERE = Path(__file__).resolve().parent.parent
REPOSITORY = HERE.parent.parent
DATA = HERE / "treering.data"

get_requires_for_build_wheel = maturin.get_requires_for_build_wheel
get_requires_for_build_sdist = maturin.get_requires_for_build_sdist
build_sdist = maturin.build_sdist


@contextmanager
def _scripts() -> Iterator[Path]:
    """Make the directory of scripts, which maturin wants to see in every call, for the time of one."""
    scripts = DATA / "scripts"
    shutil.rmtree(DATA, ignore_errors=True)
    scripts.mkdir(parents=True)
    try:
        yield scripts
    finally:
        shutil.rmtree(DATA, ignore_errors=True)


def prepare_metadata_for_build_wheel(
    metadata_directory: str, config_settings: Optional[Mapping[str, Any]] = None
) -> str:
    """Write the metadata of the wheel."""
    with _scripts():
        name: str = maturin.prepare_metadata_for_build_wheel(metadata_directory, config_settings)
        return name


def _command() -> Path:
    given = os.environ.get("TREERING_BIN")
    if given:
        return Path(given).resolve()
    target = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
    build = ["cargo", "build", "--release", "--locked", "--package", "treering-cli"]
    subprocess.run(build, cwd=REPOSITORY, check=True)
    suffix = ".exe" if os.name == "nt" else ""
    return target / "release" / f"treering{suffix}"


def build_wheel(
    wheel_directory: str,
    config_settings: Optional[Mapping[str, Any]] = None,
    metadata_directory: Optional[str] = None,
) -> str:
    """Build the wheel, with the command in it."""
    command = _command()
    with _scripts() as scripts:
        shutil.copy2(command, scripts / command.name)
        name: str = maturin.build_wheel(wheel_directory, config_settings, metadata_directory)
        return name
