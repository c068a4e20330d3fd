#!/usr/bin/env python3
"""Measures the language of the code and fails where it falls behind what the project asks for.

Prints how many doc comments open with a question word, how many doc comments of functions open with a verb in the
third person, how many comment lines have indefinite people in them, British spellings, and type names that too many
types share. `--list` prints the lines.
"""
import collections
import re
import subprocess
import sys

QUESTION = re.compile(r"(What|Who|Whose|Whoever|Which|How|Where|Why|So many|Whatever)\b")
PEOPLE = re.compile(r"\b(whoever|somebody|nobody|anybody|everybody)\b", re.I)
BRITISH = re.compile(
    r"colour|summaris|labelled(?!by)|labelling|normalis[eai]|serialis[eai]|recognis|optimis[eai]|vectoris|virtualis"
    r"|neighbour|\bfavour|behaviour|honour|\bgrey\b|\blicences?\b|organis[eai]|initialis|\banalyse",
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

files = subprocess.check_output(["git", "ls-files", "*.rs"], text=True).split()
listing = "--list" in sys.argv
types = collections.defaultdict(list)
docs = questions = functions = verbs = comments = people = british = 0


def show(kind, name, number, text):
    if listing:
        print(f"{kind:9} {name}:{number}: {text.strip()}")


for name in files:
    lines = open(name, encoding="utf-8").read().split("\n")
    is_test = "/tests/" in name or name.endswith("tests.rs")
    for number, line in enumerate(lines, 1):
        text = line.strip()
        named = None if is_test or "testkit" in name else TYPE.match(line)
        if named:
            types[named[1]].append((name, number, line))
        if BRITISH.search(line):
            british += 1
            show("british", name, number, line)
        if not text.startswith("//"):
            continue
        comments += 1
        if PEOPLE.search(text):
            people += 1
            show("people", name, number, line)
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

crowded = []
for type_name, places in sorted(types.items()):
    limit = MAX_TYPES_OF_A_VAGUE_NAME if VAGUE.match(type_name) else MAX_TYPES_OF_A_NAME
    if type_name not in CONVENTIONAL and len(places) > limit:
        crowded.append(f"{type_name} ({len(places)})")
        for place in places:
            show("type", *place)

print(f"{docs} doc comments, {questions} ({100 * questions / docs:.2f} %) open with a question word")
print(f"{functions} doc comments of functions, {verbs} ({100 * verbs / functions:.1f} %) open with a verb in the third person")
print(f"{comments} comment lines, {people} with nobody, somebody, whoever, anybody or everybody")
print(f"{british} lines with British spelling")
print(f"{len(crowded)} type names that too many types share{': ' if crowded else ''}{', '.join(crowded)}")
is_plain = questions <= docs * 0.003 and people == 0 and british == 0 and verbs >= functions * 0.8
sys.exit(0 if is_plain and not crowded else 1)
