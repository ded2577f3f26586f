"""A PMPI tool with Packwright: stacked.py PACKWRIGHT TOOL PROGRAM KIND MPIEXEC...

However the tool is preloaded, it counts the calls that it counts natively, and Packwright packs; doctor names it. So it is with
eztrace, where that is installed, which knows nothing of the standard's ABI; otf2-print tells what it has counted.
"""
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

packwright, tool, program, kind, *mpiexec = sys.argv[1:]
run = [packwright, "run", "--stats", "--strategy=packed", "--"]
launch = [*mpiexec, "-n", "2"]
halo = [program, "--nx=16", "--ny=16", "--nz=16", "--iterations=20", "--mode=isend"]


def said(command, **settings):
    """What a run said on both streams; it must verify."""
    done = subprocess.run(command, env={**os.environ, "PACKWRIGHT_CACHE": "0", **settings}, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    if done.returncode or "verified" not in done.stdout:
        sys.exit(f"failed: {command} {settings}\n{done.stdout}")
    return done.stdout


def check(command, counts, **settings):
    text = said(command, **settings)
    packed = re.search(r"layouts, (\d+) packs", text)
    if not packed or packed[1] == "0" or "warning" in text:
        sys.exit(f"nothing was packed: {command} {settings}\n{text}")
    if re.findall("tool: .*", text) != counts:
        sys.exit(f"other counts than natively, {counts}: {command} {settings}\n{text}")


def traced(folder):
    """How many events of each kind of MPI eztrace has written; none without otf2-print."""
    anchors = list(Path(folder).rglob("*.otf2"))
    if not anchors:
        sys.exit(f"eztrace has traced nothing in {folder}")
    if not shutil.which("otf2-print"):
        return {}
    text = subprocess.run(["otf2-print", str(anchors[0])], text=True, stdout=subprocess.PIPE, check=True).stdout
    return collections.Counter(line.split()[0] for line in text.splitlines() if line.startswith("MPI_"))


native = re.findall("tool: .*", said([*launch, "env", f"LD_PRELOAD={tool}", *halo]))
if len(native) != 2 or "tool: 0" in native[0]:
    sys.exit(f"the tool counts nothing: {native}")
check([*run, *launch, "env", f"LD_PRELOAD={tool}", *halo], native)
check([*run, *launch, *halo], native, LD_PRELOAD=tool)
found = subprocess.run([packwright, "doctor"], env={**os.environ, "LD_PRELOAD": tool}, text=True, stdout=subprocess.PIPE, check=False).stdout
if f"tools         {os.path.basename(tool)}, in LD_PRELOAD" not in found:
    sys.exit(f"doctor does not name the tool:\n{found}")
if shutil.which("eztrace") and kind != "mpi-abi":
    with tempfile.TemporaryDirectory() as alone, tempfile.TemporaryDirectory() as stacked:
        said([*launch, "eztrace", "-o", alone, "-t", kind, *halo])
        check([*run, *launch, "eztrace", "-o", stacked, "-t", kind, *halo], [])
        if traced(alone) != traced(stacked):
            sys.exit(f"eztrace counts other events than natively: {traced(stacked)}, {traced(alone)}")
print("passed")
