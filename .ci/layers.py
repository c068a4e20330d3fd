#!/usr/bin/env python3
"""Asks the compiler whether the modules of crates/treering use lower layers only.

rustdoc links every name in the sources to its definition: paths, methods, constants. Fails if a name is defined in a
higher layer than the file that uses it. The layers are those of crates/treering/tests/all/layers.rs, whose test reads the
sources without a compiler: it runs everywhere, but does not see a method that has the name of a method of a lower layer.
Needs a nightly toolchain. Exits with 3 if that cannot write such links.
"""
import html
import os
import re
import subprocess
import sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
target = os.environ.get("CARGO_TARGET_DIR", "target")
code = subprocess.call(
    ["cargo", "+nightly", "rustdoc", "-q", "-p", "treering", "--all-features", "--", "-Zunstable-options"]
    + ["--generate-link-to-definition", "--cap-lints=allow"],
    env={**os.environ, "CARGO_TARGET_DIR": target},
)
pages = os.path.join(target, "doc", "src", "treering")
if code != 0 or not os.path.isdir(pages):
    sys.exit(3)

text = open("crates/treering/tests/all/layers.rs", encoding="utf-8").read()
table = text[text.index("const LAYERS") : text.index("];", text.index("const LAYERS"))]
layers = [re.findall(r'"([\w:]+)"', group) for group in re.findall(r"&\[([^]]*)\]", table)[1:]]
order = [module for modules in layers for module in modules]


def rank(file):
    """Returns the position of a file's module; None for the root."""
    path = file.removesuffix(".rs").removesuffix("/mod").split("/")
    names = ["::".join(path[:length]) for length in (2, 1)]
    return next((order.index(name) for name in names if name in order), None)


uses, problems = 0, set()
for directory, _, names in os.walk(pages):
    for name in names:
        page = os.path.join(directory, name)
        file = os.path.relpath(page, pages).removesuffix(".html")
        source = open(page, encoding="utf-8").read()
        for link, word in re.findall(r'<a [^>]*href="([^"#]+\.rs\.html)#[^"]*"[^>]*>([^<]*)', source):
            defined = os.path.relpath(os.path.join(directory, link), pages).removesuffix(".html")
            own, used = rank(file), rank(defined)
            if defined.startswith("..") or own is None or used is None:
                continue  # Another crate, or the root, which declares the modules.
            uses += 1
            if used > own:
                problems.add(f"{file}: {html.unescape(word)} of {defined}")
if uses < 1000:
    print(f"only {uses} names have links: this rustdoc does not write them", file=sys.stderr)
    sys.exit(3)
for problem in sorted(problems):
    print(problem)
print(f"layers: {len(order)} modules, {uses} names, {len(problems)} in higher layers")
sys.exit(bool(problems))
