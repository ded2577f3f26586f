"""Compiles the C that pages show, and compares what it packs with the layout: loops.py PACKWRIGHT CC."""
import html
import os
import re
import subprocess
import sys
import tempfile

packwright, cc = sys.argv[1:3]
TYPES = [
    "vec(5 2 4)[int]",
    "hvec(9 1 8)[hvec(7 1 120)[double]]",
    "struct(0: 3*double, 40: int, 100: vec(4 1 3)[short])",
    "sub(6 5 4 | 3 2 2 | 1 2 1)[int]",
    "idxb(1: 0 3 7 8 11)[double]",
    "idx(0,1 4,3 100,2 130,1 141,9 150,2 160,3 171,4 178,8 190,9 201,1 205,5)[short]",
]


def offsets(text):
    """The memory bytes of a type in packed order, from the printed tree."""
    tree = subprocess.run([packwright, "inspect", "--stage=tree", text], text=True, stdout=subprocess.PIPE, check=True).stdout
    tokens = re.findall(r"@-?\d+|-?\d+|\w+|[{}\[\]:,()]", tree[tree.index("type("):])
    at = tokens.index("{") + 1

    def node():
        nonlocal at
        word = tokens[at]
        at += 1
        if word == "bytes":
            n = int(tokens[at])
            at += 3
            return list(range(n))
        if word == "stream":
            n, stride = int(tokens[at]), int(tokens[at + 2])
            at += 4
            child = node()
            at += 1
            return [i * stride + b for i in range(n) for b in child]
        if word == "seq":
            at += 1
            out = []
            while tokens[at] != "}":
                base = int(tokens[at][1:])
                at += 1
                out += [base + b for b in node()]
            at += 1
            return out
        end = tokens.index("]", at)
        numbers = [int(t) for t in tokens[at + 1:end] if t not in ",:"]
        at = end + 1
        if word == "blocks":
            return [o + b for o, n in zip(numbers[::2], numbers[1::2]) for b in range(n)]
        at += 1
        child = node()
        at += 1
        return [o + b for o in numbers for b in child]

    return node(), int(re.search(r"extent (-?\d+)", tree).group(1))


with tempfile.TemporaryDirectory() as folder:
    source = os.path.join(folder, "a.c")
    with open(source, "w") as f:
        f.write("#include <stdio.h>\n#include <string.h>\n")
        for i, text in enumerate(TYPES):
            page = subprocess.run([packwright, "inspect", "--html", text], text=True, stdout=subprocess.PIPE, check=True).stdout
            loops = html.unescape(re.search(r"<h2 id='loops'>.*?<pre>(.*?)</pre>", page, flags=re.S).group(1))
            assert "more */" not in loops, loops
            f.write(re.sub(r"\b(pack|\w*offset|\w*start)(?=\d*_?\d*[\[(])", r"\1_%d_" % i, loops))
            want, extent = offsets(text)
            size = len(want) * 2
            f.write("static int check%d(void) {\n  static char mem[%d], packed[%d];\n" % (i, 2 * extent + 4096, size))
            f.write("  static const int want[] = {%s};\n" % ",".join(str(o + k * extent) for k in range(2) for o in want))
            f.write("  for (unsigned j = 0; j < sizeof mem; j++) mem[j] = (char)(j * 2654435761u >> 13);\n")
            f.write("  pack_%d_(packed, mem, 2);\n  for (int j = 0; j < %d; j++) if (packed[j] != mem[want[j]]) return 1;\n" % (i, size))
            f.write("  return 0;\n}\n")
        f.write("int main(void) { int bad = 0;\n")
        for i, text in enumerate(TYPES):
            f.write("  if (check%d()) { bad = 1; puts(\"%s\"); }\n" % (i, text))
        f.write("  return bad; }\n")
    subprocess.run([cc, "-w", "-o", os.path.join(folder, "a"), source], check=True)
    sys.exit(subprocess.run([os.path.join(folder, "a")]).returncode)
