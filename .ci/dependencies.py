#!/usr/bin/env python3
"""Checks the dependencies of a workspace by deny.toml: licenses, banned crates, sources, versions that are not given.

    .ci/dependencies.py [MANIFEST...]

It reads what `cargo metadata` says of all features. `cargo deny check licenses bans sources` checks the same file and more
(it reads the texts of licenses that a package does not name), but takes minutes to compile where it is not installed.
"""
import json
import re
import subprocess
import sys
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:
    print("SKIPPED: the check of dependencies needs Python 3.11 or later, or cargo-deny")
    sys.exit(0)

CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"


def is_allowed(expression: str, allowed: set[str]) -> bool:
    """Evaluates an SPDX expression: `OR` needs one side, `AND` both; `WITH` belongs to its license."""
    tokens = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))
    position = 0

    def term() -> bool:
        nonlocal position
        token = tokens[position]
        position += 1
        if token == "(":
            value = either()
            position += 1
            return value
        if position < len(tokens) and tokens[position] == "WITH":
            token = f"{token} WITH {tokens[position + 1]}"
            position += 2
        return token in allowed

    def both() -> bool:
        nonlocal position
        value = term()
        while position < len(tokens) and tokens[position] == "AND":
            position += 1
            value = term() and value
        return value

    def either() -> bool:
        nonlocal position
        value = both()
        while position < len(tokens) and tokens[position] == "OR":
            position += 1
            value = both() or value
        return value

    return either()


def problems(metadata: dict, rules: dict) -> list[str]:
    """Returns a line for each package that the rules do not allow."""
    found = []
    licenses, bans = rules["licenses"], rules["bans"]
    banned = {rule["crate"] for rule in bans.get("deny", [])}
    exceptions = {rule["crate"]: set(rule["allow"]) for rule in licenses.get("exceptions", [])}
    used = {node["id"] for node in metadata["resolve"]["nodes"]}
    for package in metadata["packages"]:
        if package["id"] not in used:
            continue
        name = f"{package['name']} {package['version']}"
        source = package["source"]
        if source is None:
            for dependency in package["dependencies"]:
                if dependency["req"] == "*" and not dependency.get("path"):
                    found.append(f"{name}: {dependency['name']} is needed in any version")
            if package["publish"] == []:
                continue
        elif source != CRATES_IO:
            found.append(f"{name}: comes from {source}")
        if package["name"] in banned:
            found.append(f"{name}: is banned")
        allowed = set(licenses["allow"]) | exceptions.get(package["name"], set())
        if not package["license"]:
            found.append(f"{name}: names no license")
        elif not is_allowed(package["license"], allowed):
            found.append(f"{name}: {package['license']} is not allowed")
    return found


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    rules = tomllib.loads((root / "deny.toml").read_text())
    failed = False
    for manifest in sys.argv[1:] or ["Cargo.toml"]:
        command = ["cargo", "metadata", "--format-version=1", "--locked", "--all-features", "--manifest-path", str(root / manifest)]
        metadata = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        found = problems(metadata, rules)
        for line in found:
            print(line)
        print(f"{manifest}: {len(metadata['packages'])} packages, {len(found)} not allowed by deny.toml")
        failed = failed or bool(found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
