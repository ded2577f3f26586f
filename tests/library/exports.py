"""What the library exports is what its header declares, each with the version of the map, and it needs no library but
the C library's.

usage: exports.py <nm> <readelf> <library> <header> <map>
"""
import re
import subprocess
import sys

BASE = re.compile(r"lib(c|m|pthread|dl)\.so\.|ld-linux")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def declared(header):
    text = re.sub(r"/\*.*?\*/", "", open(header).read(), flags=re.S)
    return set(re.findall(r"PACKWRIGHT_API\b[^;{]*?\b(packwright_\w+)\s*\(", text))


def exported(nm, library):
    symbols = {}
    for line in run(nm, "-D", "--defined-only", library).splitlines():
        kind, name = line.split()[1:3]
        if kind != "A":
            base, _, version = name.partition("@@")
            symbols[base] = version
    return symbols


def main():
    nm, readelf, library, header, version_map = sys.argv[1:]
    wanted, found = declared(header), exported(nm, library)
    listed = set(re.findall(r"^\s+(packwright_\w+);", open(version_map).read(), flags=re.M))
    wrong = []
    for what, names in (("declared, not exported", wanted - set(found)), ("exported, not declared", set(found) - wanted),
                        ("in the map, not declared", listed - wanted),
                        ("without the version PACKWRIGHT_1", {n for n, v in found.items() if v != "PACKWRIGHT_1"})):
        wrong += [f"{what}: {name}" for name in sorted(names)]
    dynamic = run(readelf, "-dW", library)
    wrong += [f"needs {name}" for name in re.findall(r"NEEDED.*\[(.*)\]", dynamic)
              if not BASE.match(name) and "san" not in name]
    if "[libpackwright.so.1]" not in dynamic:
        wrong.append("the SONAME is not libpackwright.so.1")
    if "STATIC_TLS" in dynamic:
        wrong.append("STATIC_TLS: dlopen fails when a process has little of that left")
    if not wanted:
        wrong.append("no declaration found")
    print("\n".join(wrong) if wrong else f"{len(wanted)} functions, as declared")
    return bool(wrong)


sys.exit(main())
