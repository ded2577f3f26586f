#!/usr/bin/env python3
"""bounded_memory.py MEGABYTES COMMAND ...: fails when the command does, or when more than so much of it was resident.
What sanitizers add is not known, so their builds are only run."""
import resource
import subprocess
import sys

status = subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
with open(sys.argv[2], "rb") as program:
    image = program.read()
if b"__asan_init" not in image and b"__tsan_init" not in image and peak > float(sys.argv[1]):
    sys.exit("%.0f MB were resident" % peak)
sys.exit(status)
