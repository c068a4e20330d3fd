#!/usr/bin/env python3
"""Fails if a public type of `treering` or `treering-agent` has no compiling example (doctest).

A type has an example if one of these does:
1. its own documentation, or the documentation of one of its methods, or another example that names it;
2. the documentation of a public function that returns it or takes it, or of the trait whose method does, or of a type, if
   the example calls the method that does;
3. a type with an example that holds it in a public field or variant.
The public types and functions are those of the lists in docs/api. `--list` prints the rule that holds for each type.
"""
import pathlib
import re
import sys

CRATES = {"treering": "treering", "treering-agent": "treering_agent"}
TYPE = re.compile(r"^(?:#\[\w+(?:\(\w+\))?\] )*pub (struct|enum|trait|union) ([\w:]+)")
MEMBER = re.compile(r"^pub ([\w:]+)(?:\((.*)\)|: (.*))$")
FUNCTION = re.compile(r"^pub (?:const |async |unsafe )*fn ([\w:<>' ]+?)\((.*)$")
ITEM = re.compile(r"\s*pub (?:const |async |unsafe )*(?:fn|struct|enum|trait) (\w+)")
TRAIT_METHOD = re.compile(r"\s{4}fn (\w+)")
IMPL = re.compile(r"(?:pub )?(?:impl|trait)(?:<[^>]*>)? (?:[\w:]+(?:<[^{]*>)? for )?(?:&)?([A-Za-z_:]+)")


def documented(crate):
    """Returns the examples of items, by name: types, free functions, and methods as Type::method."""
    found = {}
    for path in pathlib.Path(f"crates/{crate}/src").rglob("*.rs"):
        docs, owner, in_attribute = [], None, False
        for line in path.read_text(encoding="utf-8").split("\n"):
            text = line.strip()
            if text.startswith("///"):
                docs.append(text)
                continue
            if text.startswith("#[") or text.startswith("//"):
                in_attribute = text.startswith("#[") and not text.endswith("]")
                continue
            if in_attribute:
                in_attribute = not text.endswith(")]")
                continue
            if not line.startswith((" ", "}")) and (block := IMPL.match(line)):
                owner = block[1].split("::")[-1]
            item = ITEM.match(line) or TRAIT_METHOD.match(line)
            if item and any("```" in doc and "text" not in doc for doc in docs):
                nested = line.startswith(" ")
                # The code stands between every second pair of fences.
                code = "".join("\n".join(docs).split("```")[1::2])
                for name in [f"{owner}::{item[1]}", owner] if nested else [item[1]]:
                    found[name] = found.get(name, "") + code
            docs = []
            if line.startswith("}"):
                owner = None
    return found


def missing(crate, root, listing):
    lines = pathlib.Path(f"docs/api/{crate}.txt").read_text(encoding="utf-8").split("\n")
    types = {match[2].rstrip(":").split("::")[-1] for line in lines if (match := TYPE.match(line))}
    traits = {match[2].rstrip(":").split("::")[-1] for line in lines if (match := TYPE.match(line)) and match[1] == "trait"}
    examples = documented(crate)
    named = {word for code in examples.values() for word in re.findall(r"\w+", code)}
    rule = {name: 1 for name in types if name in examples or name in named}
    words = lambda text: {word for word in re.findall(r"\w+", text) if word in types}
    holds = {name: set() for name in types}
    for line in lines:
        if function := FUNCTION.match(line):
            path = re.sub(r"<[^>]*>", "", function[1]).split("::")
            name = "::".join(path[-2:]) if path[-2][:1].isupper() else path[-1]
            owner, method = path[-2], path[-1]
            code = examples.get(owner, "")
            calls = f".{method}(" in code or f"::{method}(" in code
            if name in examples or (owner in traits and owner in examples) or calls:
                for used in words(function[2]):
                    rule.setdefault(used, 2)
        elif member := MEMBER.match(line):
            path = member[1].split("::")
            if len(path) > 1 and path[-2] in types:
                holds[path[-2]] |= words(member[2] or member[3] or "")
            elif len(path) > 2 and path[-3] in types:
                holds[path[-3]] |= words(member[2] or member[3] or "")
    found = list(rule)
    while found:
        held = holds[found.pop()] - set(rule)
        rule.update({name: 3 for name in held})
        found.extend(held)
    if listing:
        for name in sorted(types):
            print(f"{crate}: {name}: {rule.get(name, 'none')}")
    print(f"{crate}: {len(types)} public types, {sum(1 for name in types if name in rule)} with an example")
    return sorted(types - set(rule))


failed = False
for crate, root in CRATES.items():
    for name in missing(crate, root, "--list" in sys.argv):
        print(f"{crate}: {name} has no example: add one to its documentation or to a function that returns it")
        failed = True
sys.exit(failed)
