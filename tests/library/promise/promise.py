#!/usr/bin/env python3
"""What the kept header promises still holds: promise.py KEPT HEADER [NM LIBRARY]

Every function has its prototype and its symbol version, every constant of an enum its value, every struct its fields in their
order; only a struct that begins with its size may have more of them at its end. Macros with values have these values.
"""
import re
import subprocess
import sys

VERSION = "PACKWRIGHT_1"


def squeezed(text):
    return " ".join(text.split())


def read(path):
    """What a header says: {kind: {name: what may not change}}."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", open(path, encoding="utf8").read(), flags=re.S)
    functions = {name: squeezed(whole) for whole, name in re.findall(r"PACKWRIGHT_API\s+([^;]*?\b(packwright_\w+)\s*\([^;]*);", text)}
    structs = {name: tuple(squeezed(f) for f in body.split(";") if f.strip())
               for body, name in re.findall(r"typedef struct \w+\s*\{(.*?)\}\s*(\w+)\s*;", text, flags=re.S)}
    constants = {}
    for body in re.findall(r"typedef enum \w+\s*\{(.*?)\}", text, flags=re.S):
        value = -1
        for entry in body.split(","):
            name, _, given = (part.strip() for part in entry.partition("="))
            value = int(given, 0) if given else value + 1
            constants |= {name: value} if name else {}
    macros = {name: value.strip() for name, value in re.findall(r"^#define (PACKWRIGHT_\w+) +([^_\s][^\n]*)$", text, flags=re.M)
              if name != "PACKWRIGHT_API"}
    return {"function": functions, "struct": structs, "constant": constants, "macro": macros}


def holds(kind, old, new):
    if kind == "struct" and new and old[0] == "size_t size":
        return new[:len(old)] == old
    return new == old


def broken(kept, today):
    for kind, promised in kept.items():
        for name, old in promised.items():
            new = today[kind].get(name)
            if not holds(kind, old, new):
                yield f"{kind} {name} was {old}, is {'gone' if new is None else new}"


def main():
    kept, today = read(sys.argv[1]), read(sys.argv[2])
    wrong = list(broken(kept, today))
    wrong += [f"the kept header has only {len(kept[kind])} of kind {kind}" for kind, least in
              (("function", 30), ("struct", 3), ("constant", 15), ("macro", 1)) if len(kept[kind]) < least]
    if len(sys.argv) > 3:
        nm = subprocess.run([sys.argv[3], "-D", "--defined-only", sys.argv[4]], check=True, capture_output=True, text=True).stdout
        exported = {line.split()[-1] for line in nm.splitlines()}
        wrong += [f"{name}@@{VERSION} is not exported" for name in kept["function"] if f"{name}@@{VERSION}" not in exported]
    print("\n".join(wrong) if wrong else ", ".join(f"{len(names)} {kind}s" for kind, names in kept.items()))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
