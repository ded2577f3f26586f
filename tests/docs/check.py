#!/usr/bin/env python3
"""check.py ROOT | --self-test: do the documents keep their rules?

- README.md has at most 900 words, docs/mpi.md, docs/gpu.md and docs/messages.md at most 3,000 each.
- All documents together have at most 45,000 words.
- Lines of all README.md and of docs/ have at most 100 columns. Rows of tables and code may be longer, but not in the
  first three.
- Every folder with three or more sources has a README.md of at most 80 lines. Folders below tests/ may do without.
- What a folder's README lists (tables whose first column is "file" or "folder") is there.
- A source of C, C++ or CUDA begins with a comment that says what it is for, or its header does. Sources below tests/
  may do without.
- Links within the repository lead to a file, and to a heading of it.
- Paths in backticks exist, where the first component is a folder of the repository or of the document's own.
  docs/results.md may name what was there when something was measured.
- Paths in comments of C, C++ and CUDA exist, where the first component is a folder of the repository.
"""
import glob
import os
import re
import sys
import tempfile

WORDS = {"README.md": 900, "docs/mpi.md": 3000, "docs/gpu.md": 3000, "docs/messages.md": 3000}
WIDE_TABLES = ("docs/messages.md",)
ALL_WORDS = 45000
COLUMNS = 100
README_LINES = 80
SOURCES = (".c", ".h", ".cpp", ".cuh", ".re", ".f90", ".api")
LEAST_SOURCES = 3
COMMENTED = (".c", ".h", ".cpp", ".cuh", ".re")
# Strings are matched, too, so that what they contain is not taken for a comment.
COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*', re.S)
# Not within a word, an address, an absolute path or one that is made of variables (DIR/name, <key>/x, ../x).
PATH = re.compile(r"(?<![\w/.<>$~{}*%:-])((?:[\w*-]+/)+[\w*.-]*[\w*])(?![\w/<>{}])")


def walk(root):
    """Folders of the source tree with their files, relative to the root; no build folders, nothing hidden."""
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if not f.startswith((".", "build")) and f != "__pycache__" and
                            not os.path.exists(os.path.join(folder, f, "CMakeCache.txt")))
        yield os.path.relpath(folder, root), files


def documents(root):
    for folder, files in walk(root):
        for file in sorted(files):
            if file.endswith(".md") and (file == "README.md" or folder.split(os.sep)[0] == "docs"):
                yield os.path.normpath(os.path.join(folder, file))


def prose(lines):
    """(number, line) of those lines that are neither rows of tables nor code."""
    fenced = False
    before = ""
    for number, line in enumerate(lines, 1):
        code = line.startswith("    ") and (not before.strip() or before.startswith("    "))
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and not code and not line.startswith("|"):
            yield number, line
        before = line if not code else "    "


def headings(text):
    """The anchors of a document's headings, as GitHub makes them."""
    anchors = []
    for line in re.findall(r"^#+ +(.*)$", text, re.M):
        anchor = re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", line).strip().lower()).replace(" ", "-")
        again = anchors.count(anchor)
        anchors.append(anchor if not again else "%s-%d" % (anchor, again))
    return anchors


def check_size(path, text):
    lines = text.split("\n")
    most = WORDS.get(path)
    if most and len(text.split()) > most:
        yield "%s: %d words, at most %d" % (path, len(text.split()), most)
    for number, line in enumerate(lines, 1) if most and path not in WIDE_TABLES else prose(lines):
        if len(line) > COLUMNS and not re.fullmatch(r"\s*\S*https?://\S*", line):
            yield "%s:%d: %d columns, at most %d" % (path, number, len(line), COLUMNS)


def check_links(root, path, text):
    bare = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", bare):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = os.path.normpath(os.path.join(root, os.path.dirname(path), name)) if name else os.path.join(root, path)
        if not os.path.exists(file):
            yield "%s: the link to %s leads nowhere" % (path, target)
        elif anchor and anchor not in headings(open(file, encoding="utf-8").read()):
            yield "%s: %s has no heading #%s" % (path, name or path, anchor)


def exists(folder, name):
    """Also for `memory` where there are memory.c and memory.h, and for `hooks_*.c`."""
    pattern = os.path.join(folder, name)
    return bool(glob.glob(pattern)) or bool(glob.glob(pattern + ".[ch]"))


def check_paths(root, path, text):
    if path == os.path.join("docs", "results.md"):
        return
    here = os.path.join(root, os.path.dirname(path))
    for name in re.findall(r"`([\w.*\-]+(?:/[\w.*\-]*)+)`", re.sub(r"```.*?```", "", text, flags=re.S)):
        first = name.split("/")[0]
        homes = [home for home in (root, here) if os.path.isdir(os.path.join(home, first))]
        if first not in ("build", "..") and homes and not any(exists(home, name) for home in homes):
            yield "%s: there is no `%s`" % (path, name)


def check_comments(root, path, text):
    for match in COMMENT.finditer(text):
        if match.group(0).startswith('"'):
            continue
        for found in PATH.finditer(match.group(0)):
            name = found.group(1)
            first = name.split("/")[0]
            if first in ("build", "__pycache__") or not os.path.isdir(os.path.join(root, first)):
                continue
            if not exists(root, name):
                line = text.count("\n", 0, match.start() + found.start()) + 1
                yield "%s:%d: there is no %s" % (path, line, name)


def check_map(root, path, text):
    folder = os.path.join(root, os.path.dirname(path))
    if os.path.basename(path) != "README.md" or os.listdir(folder) == ["README.md"]:
        return
    for table in re.findall(r"^\| (?:file|folder) \|.*\n((?:\|.*\n)*)", text, re.M):
        for row in table.split("\n"):
            for name in re.findall(r"`([^`]+)`", row.split("|")[1] if "|" in row else ""):
                homes = (folder, os.path.join(folder, "*"), root)
                if not name.startswith("_") and not any(exists(home, name) for home in homes):
                    yield "%s: there is no `%s`" % (path, name)


def check_heads(folder, files, root):
    """The sources that do not say what they are for."""
    silent = {}
    for source in sorted(file for file in files if file.endswith(COMMENTED)):
        with open(os.path.join(root, folder, source), encoding="utf-8") as file:
            text = file.read()
        # A header may have its guard and its includes first.
        text = re.sub(r"^(?:#.*\n|\s)*", "", text) if source.endswith((".h", ".cuh")) else text
        stem = os.path.splitext(source)[0]
        silent[stem] = silent.get(stem, True) and not text.startswith(("/*", "//"))
    if not folder.startswith("tests"):
        yield from ("%s: no comment at its beginning says what it is for" % os.path.normpath(os.path.join(folder, stem))
                    for stem in silent if silent[stem])


def check_readmes(root):
    for folder, files in walk(root):
        yield from check_heads(folder, files, root)
        sources = [file for file in files if file.endswith(SOURCES)]
        if "README.md" in files:
            with open(os.path.join(root, folder, "README.md"), encoding="utf-8") as file:
                text = file.read()
            n = text.count("\n")
            if folder != "." and n > README_LINES:
                yield "%s/README.md: %d lines, at most %d" % (folder, n, README_LINES)
        elif len(sources) >= LEAST_SOURCES and not folder.startswith("tests" + os.sep):
            yield "%s: %d sources and no README.md" % (folder, len(sources))


def check(root):
    faults = list(check_readmes(root))
    words = 0
    for path in documents(root):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
        faults += check_size(path, text)
        faults += check_links(root, path, text)
        faults += check_paths(root, path, text)
        faults += check_map(root, path, text)
        words += len(text.split())
    if words > ALL_WORDS:
        faults.append("all documents: %d words, at most %d" % (words, ALL_WORDS))
    for folder, files in walk(root):
        for name in sorted(files):
            if name.endswith(COMMENTED):
                path = os.path.normpath(os.path.join(folder, name))
                with open(os.path.join(root, path), encoding="utf-8") as file:
                    faults += check_comments(root, path, file.read())
    return faults


def self_test():
    """Each rule refuses a tree in which it is broken, and only that."""
    sound = {"README.md": "# Title\n\nSee [docs](docs/mpi.md#one-call) and `src/a.c`.\n",
             "docs/mpi.md": "# MPI\n\n## One call\n\n`src/b`, `src/*.h`, `coll/x`.\n",
             "src/README.md": "# src\n\n`a.c`\n", "src/a.c": "/* A. */\n",
             "src/b.h": "#ifndef B_H\n#define B_H\n\n/* B. */\n#endif\n",
             "src/b.c": "/* src/a.c, src/b, src/*.h, and/or, ../src/c, DIR/src/c */\nchar s[] = \"/* src/c */\"; // src/a.c.\n"}
    broken = {"words": ("docs/mpi.md", "# MPI\n## One call\n" + "word\n" * 3000),
              "all words": ("docs/ir.md", ("word " * 19 + "word\n") * 2900),
              "columns": ("docs/ir.md", "word " * 25),
              "columns of a folder": ("src/README.md", "word " * 25),
              "wide table": ("README.md", "| " + "cell | " * 20),
              "lines": ("src/README.md", "line\n" * 81),
              "readme": ("src/README.md", None),
              "file": ("src/README.md", "| file | what |\n|---|---|\n| `a`, `b.c`, `none` | |\n"),
              "head": ("src/a.c", "int a; /* A. */\n"),
              "link": ("README.md", "[x](docs/none.md)\n"),
              "anchor": ("README.md", "[x](docs/mpi.md#none)\n"),
              "path": ("docs/mpi.md", "# MPI\n## One call\n`src/none.c`\n"),
              "comment": ("src/b.c", "/* As in\n * src/none.c. */\n"),
              "line comment": ("src/b.c", "int x; // see src/none\n")}
    for name, (path, text) in [("nothing", ("README.md", sound["README.md"]))] + list(broken.items()):
        tree = dict(sound)
        tree[path] = text
        with tempfile.TemporaryDirectory() as root:
            for file, content in tree.items():
                if content is not None:
                    os.makedirs(os.path.dirname(os.path.join(root, file)), exist_ok=True)
                    with open(os.path.join(root, file), "w", encoding="utf-8") as out:
                        out.write(content)
            faults = check(root)
        if len(faults) != (name in broken):
            sys.exit("%s: expected %s, got %s" % (name, "one fault" if name in broken else "none", faults))


if sys.argv[1:] == ["--self-test"]:
    self_test()
elif len(sys.argv) == 2:
    found = check(sys.argv[1])
    if found:
        sys.exit("\n".join(found))
else:
    sys.exit(__doc__)
