#!/usr/bin/env python3
"""Runs a command that must end with status 1 and name the first wrong value, and must not claim to be verified."""
import re
import subprocess
import sys

done = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                      text=True)
print(done.stdout)
if done.returncode != 1:
    sys.exit("status %d instead of 1" % done.returncode)
if not re.search(r"^\w+: WRONG on rank 0: ", done.stdout, re.M) or re.search(r": verified$", done.stdout, re.M):
    sys.exit("the wrong value was not reported")
