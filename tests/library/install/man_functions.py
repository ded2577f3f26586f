#!/usr/bin/env python3
"""Checks the manual pages of functions: man_functions.py DIRECTORY HEADER

Every function of the header has a page, with a line for apropos(1), the types and names of its arguments as the header has
them, and text; groff, where it is, finds no fault.
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

pages, header = Path(sys.argv[1]), Path(sys.argv[2]).read_text()
declarations = re.findall(r"^PACKWRIGHT_API\s+([^;]*?\b(packwright_\w+)\s*\([^;]*\)\s*;)", header, re.M)
wrong = ["only %d functions were found in the header" % len(declarations)] if len(declarations) < 30 else []
for prototype, name in declarations:
    page = pages / f"{name}.3"
    if not page.exists():
        wrong.append(f"{page} is not there")
        continue
    text = page.read_text()
    synopsis = re.search(r"^\.SH SYNOPSIS\n(.*?)^\.SH DESCRIPTION\n(.+?)^\.SH", text, re.M | re.S)
    shown = re.sub(r'^\.(?:nf|fi|PP|B #include.*)$|^\.B |"', "", synopsis[1] if synopsis else "", flags=re.M)
    if "".join(shown.split()) != "".join(prototype.split()):
        wrong.append(f"{name}: the synopsis says {' '.join(shown.split())}")
    if not re.search(rf"^\.SH NAME\n{name} \\- \S.{{10,130}}$", text, re.M):
        wrong.append(f"{name}: no line for apropos of at most 130 characters")
    if shutil.which("groff"):
        said = subprocess.run(["groff", "-man", "-ww", "-z", page], capture_output=True, text=True, check=False).stderr
        wrong += [f"{name}: {said.strip()}"] if said else []
print("\n".join(wrong) if wrong else f"{len(declarations)} pages{'' if shutil.which('groff') else ', without groff'}")
sys.exit(bool(wrong))
