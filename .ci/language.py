#!/usr/bin/env python3
"""Measures the language of code and documents and fails where it falls behind what the project asks for.

Prints how many doc comments open with a question word, how many doc comments of functions open with a verb in the
third person, how many lines of comments and documents have indefinite people or translated idioms in them, British
spellings, names that are vague or idioms, and type names that too many types share. `--list` prints the lines.
"""
import collections
import os
import re
import subprocess
import sys

QUESTION = re.compile(r"(What|Who|Whose|Whoever|Which|How|Where|Why|So many|Whatever)\b")
PEOPLE = re.compile(r"\b(whoever|somebody|nobody|anybody|everybody)\b", re.I)
BRITISH = re.compile(
    r"colour|summaris|labelled(?!by)|labelling|normalis[eai]|serialis[eai]|recognis|optimis[eai]|vectoris|virtualis"
    r"|neighbour|\bfavour|behaviour|honour|\bgrey\b|\blicences?\b|organis[eai]|initialis|\banalyse|catalogue\b"
    r"|modell(ed|ing)|signall(ed|ing)|travell(ed|ing)|\bcentre|\bartefact|\bdefence|\bfulfil\b|judgement|\blearnt|whilst"
    r"|(real|util|priorit|minim|maxim|custom|author|categor|synchron|final|general|special|standard|visual|token|sanit"
    r"|random|capital|memor|local|stabil|material|character|amort|anonym|central|equal|emphas)is(e[sd]?|ing|ation)\b",
    re.I,
)
# Only in comments and documents: fields and methods of others have these names.
BRITISH_IN_PROSE = re.compile(r"(?<!`)\bcancell(ed|ing)\b(?!`)", re.I)
# Idioms that are translated word by word from another language. Each has a plain word: continue, current, this many.
IDIOM = re.compile(
    r"\b(is|are|was|were|be|been|being) (told|said|heard|spoken)\b|\b(goes|go|going|went) on\b|\bin force\b"
    r"|\bso (many|much) (?!as\b|that\b|of\b|more\b|faster\b)\w+|\bstands? (beside|before|after|at|on|there)\b|\bany more\b(?! than)"
    r"|\bused to (be|do|happen|take|have)\b|\bbecomes? of\b|\bmakes? of (it|them|a|the)\b",
    re.I,
)
VERB = re.compile(r"[A-Z][a-z]+(s|es)\b(?!')")
NOT_A_VERB = re.compile(r"(This|Its|Whose|Messages|Entries|Names|Bytes|Tokens|Sessions|Files|Lines|Ids|Always|Others|As|Is|Does)\b")
# An item of a module or a function, but not an associated type, which repeats the name that its trait has.
TYPE = re.compile(r"(?:\s*(?:pub(?:\([a-z: ]+\))? )?(?:struct|enum|trait)|(?:pub(?:\([a-z: ]+\))? )?type) (\w+)")
# Names that are the same by convention in many modules, each of which has one: the options of a command, the error and
# the events of a part of the program, a row of a table.
CONVENTIONAL = {"Args", "Action", "Error", "Event", "Row"}
# More types of one name than this, and a reader has to know the module to know the thing.
MAX_TYPES_OF_A_NAME = 4
# Words that say nothing about the thing. A public type may have one; a second type needs a name of its own.
VAGUE = re.compile(
    r"(About|Added|Asked|Counted|Found|Inner|Kept|Known|Listed|Look|Looked|Missing|Object|Open|Piece|Place|Planned|Said"
    r"|Seen|Shown|Told|Waiting|Wanted|Watched|What|Written)$"
)
MAX_TYPES_OF_A_VAGUE_NAME = 2
FUNCTION = re.compile(r"(pub(\([a-z]+\))? )?(const )?(async )?(unsafe )?fn (\w+)")
# Names that tell how a value was obtained instead of what it is, and limits without the thing that they limit.
VAGUE_NAME = re.compile(r"\b(said|told|heard|is_said|is_told|PATIENCE|MOST|MOST_\w+|LOOK)\b|\b(Said|Told|Asked)\b(?! \w)")
STRING = re.compile(r'"(?:\\.|[^"\\])*"')
COMMENT_MARKS = {
    "//": (".rs", ".js", ".mjs", ".ts", ".mts", ".cts"),
    "#": (".py", ".pyi", ".toml", ".sh", ".bash", ".service", "/run", "Containerfile", "Dockerfile"),
    "--": (".sql",),
}
# Sentences of others, tables of names, and the records of decisions, which may quote.
NOT_OURS = ("LICENSE", "docs/api/", "crates/treering-display/src/languages.json", ".ci/language.py", "/fixtures/")
TEXT_FILES = (".md", ".html", ".css", ".txt", ".json") + sum(COMMENT_MARKS.values(), ())

listing = "--list" in sys.argv
types = collections.defaultdict(list)
docs = questions = functions = verbs = comments = people = idioms = british = vague = 0


def show(kind, name, number, text):
    if listing:
        print(f"{kind:9} {name}:{number}: {text.strip()}")


def prose(name, lines):
    """Returns the comments of a file, or the text of a document, as pairs of line number and text."""
    if name.endswith(".md"):
        is_code = False
        for number, line in enumerate(lines, 1):
            is_code ^= line.lstrip().startswith("```")
            if not is_code:
                yield number, line
        return
    mark = next((mark for mark, ends in COMMENT_MARKS.items() if name.endswith(ends)), None)
    block_ends = None
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if block_ends:
            yield number, text
            block_ends = None if block_ends in text else block_ends
        elif name.endswith((".py", ".pyi")) and text.startswith(('"""', 'r"""')):
            yield number, text
            block_ends = '"""' if text.count('"""') == 1 else None
        elif mark in ("//", None) and "/*" in text and not name.endswith(".rs"):
            yield number, text[text.index("/*") :]
            block_ends = None if "*/" in text else "*/"
        elif mark and text.startswith(mark):
            yield number, text
        elif mark and f" {mark} " in text:
            yield number, text[text.index(f" {mark} ") :]


def measure_words(name, lines):
    """Counts the words that no comment and no document should have."""
    global people, idioms, british, vague
    for number, line in enumerate(lines, 1):
        if BRITISH.search(line):
            british += 1
            show("british", name, number, line)
        code = STRING.sub('""', line).split("//")[0] if name.endswith(".rs") else ""
        function = FUNCTION.match(code.strip())
        sentence = function[6].replace("_", " ") if function else ""
        if VAGUE_NAME.search(code) or IDIOM.search(sentence) or PEOPLE.search(sentence):
            vague += 1
            show("vague", name, number, line)
    for number, text in prose(name, lines):
        if BRITISH_IN_PROSE.search(text):
            british += 1
            show("british", name, number, text)
        if PEOPLE.search(text):
            people += 1
            show("people", name, number, text)
        if IDIOM.search(text):
            idioms += 1
            show("idiom", name, number, text)


def measure_rust(name, lines):
    """Counts the doc comments of a Rust file by how they open, and collects its types."""
    global docs, questions, functions, verbs, comments
    is_test = "/tests/" in name or name.endswith("tests.rs")
    for number, line in enumerate(lines, 1):
        text = line.strip()
        named = None if is_test or "testkit" in name else TYPE.match(line)
        if named:
            types[named[1]].append((name, number, line))
        if not text.startswith("//"):
            continue
        comments += 1
        doc = re.match(r"//[/!] ?(.*)", text)
        if not doc or (number > 1 and lines[number - 2].strip().startswith(text[:3])):
            continue
        docs += 1
        if QUESTION.match(doc[1]):
            questions += 1
            show("question", name, number, line)
        at = number
        while at < len(lines) and re.match(r"\s*(//|#\[|\))", lines[at]):
            at += 1
        item = FUNCTION.match(lines[at].strip()) if at < len(lines) else None
        if item and not is_test and text.startswith("///"):
            functions += 1
            if VERB.match(doc[1]) and not NOT_A_VERB.match(doc[1]):
                verbs += 1
            else:
                show("no verb", name, number, line)


for name in subprocess.check_output(["git", "ls-files"], text=True).split("\n"):
    if not name.endswith(TEXT_FILES) or any(part in name for part in NOT_OURS) or not os.path.isfile(name):
        continue
    lines = open(name, encoding="utf-8").read().split("\n")
    measure_words(name, lines)
    if name.endswith(".rs"):
        measure_rust(name, lines)

crowded = []
for type_name, places in sorted(types.items()):
    limit = MAX_TYPES_OF_A_VAGUE_NAME if VAGUE.match(type_name) else MAX_TYPES_OF_A_NAME
    if type_name not in CONVENTIONAL and len(places) > limit:
        crowded.append(f"{type_name} ({len(places)})")
        for place in places:
            show("type", *place)

print(f"{docs} doc comments, {questions} ({100 * questions / docs:.2f} %) open with a question word")
print(f"{functions} doc comments of functions, {verbs} ({100 * verbs / functions:.1f} %) open with a verb in the third person")
print(f"{comments} comment lines in Rust; in all files, {people} lines with nobody, somebody, whoever, anybody or everybody")
print(f"{idioms} lines with translated idioms")
print(f"{british} lines with British spelling")
print(f"{vague} names that are vague or idioms")
print(f"{len(crowded)} type names that too many types share{': ' if crowded else ''}{', '.join(crowded)}")
is_plain = questions <= docs * 0.003 and people + idioms + british + vague == 0 and verbs >= functions * 0.8
sys.exit(0 if is_plain and not crowded else 1)
