#!/usr/bin/env python3
"""Measures the language of the code and fails where it falls behind what the project asks for.

Prints how many doc comments open with a question word, how many doc comments of functions open with a verb in the
third person, how many comment lines have indefinite people in them, and British spellings. `--list` prints the lines.
"""
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
FUNCTION = re.compile(r"(pub(\([a-z]+\))? )?(const )?(async )?(unsafe )?fn (\w+)")

files = subprocess.check_output(["git", "ls-files", "*.rs"], text=True).split()
listing = "--list" in sys.argv
docs = questions = functions = verbs = comments = people = british = 0


def show(kind, name, number, text):
    if listing:
        print(f"{kind:9} {name}:{number}: {text.strip()}")


for name in files:
    lines = open(name, encoding="utf-8").read().split("\n")
    is_test = "/tests/" in name or name.endswith("tests.rs")
    for number, line in enumerate(lines, 1):
        text = line.strip()
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

print(f"{docs} doc comments, {questions} ({100 * questions / docs:.2f} %) open with a question word")
print(f"{functions} doc comments of functions, {verbs} ({100 * verbs / functions:.1f} %) open with a verb in the third person")
print(f"{comments} comment lines, {people} with nobody, somebody, whoever, anybody or everybody")
print(f"{british} lines with British spelling")
sys.exit(0 if questions <= docs * 0.003 and people == 0 and british == 0 and verbs >= functions * 0.8 else 1)
