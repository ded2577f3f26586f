#!/usr/bin/env python3
"""environment_table.py PACKWRIGHT DOCUMENT [--write]: is the table of docs/environment.md that of `packwright env --markdown`?"""
import re
import subprocess
import sys

BEGIN, END = "<!-- environment: begin -->\n", "<!-- environment: end -->\n"

table = subprocess.run([sys.argv[1], "env", "--markdown"], check=True, stdout=subprocess.PIPE, text=True).stdout
text = open(sys.argv[2]).read()
match = re.search(re.escape(BEGIN) + "(.*?)" + re.escape(END), text, re.S)
if not match:
    sys.exit("%s has no '%s'" % (sys.argv[2], BEGIN.strip()))
if sys.argv[3:] == ["--write"]:
    open(sys.argv[2], "w").write(text[:match.start(1)] + table + text[match.end(1):])
elif match.group(1) != table:
    sys.exit("%s is out of step; run %s with --write. It should be:\n%s" % (sys.argv[2], sys.argv[0], table))
