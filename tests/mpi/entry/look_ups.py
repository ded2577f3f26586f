"""What Packwright costs the servers of files, and memory: look_ups.py LIBRARY PROGRAM MPIEXEC...

Counts the system calls with a path that each rank makes from start to end, natively and with Packwright, all kernels cached. Paths in
/proc, /sys and /dev are left out, since no server sees them. Packwright may make CALLS more for a rank, and on a node
two for each kernel, whichever ranks make them. So it is at most CALLS for each rank but the one that has read the kernels before the
others ask for one. A rank has at most KIB more memory than natively. Skips (77) where ranks cannot be traced.
"""
import collections
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

RANKS, KERNELS, CALLS, KIB = 4, 8, 12, 2048

library, program, *mpiexec = sys.argv[1:]


def named(line):
    """The call and its path, without numbers, or None if no server sees it."""
    call = re.match(r'\d+ +(\w+)\((?:(?:AT_FDCWD|\d+)<([^>]*)>(?:\(deleted\))?, )?"([^"]*)"', line)
    if not call or not call[3] and call[1] != "readlinkat":
        return None
    path = os.path.join(call[2] or "/", call[3])
    return None if re.match("/(proc|sys|dev)(/|$)", path) else (call[1], re.sub(r"(?<=tmp\.)\w+|\d+", "N", path))


def calls(folder, preload, *arguments):
    """A Counter of named calls for each rank, whose parent remains the launcher, and the mean of their memory in KiB."""
    tracer = Path(folder, "trace")
    tracer.write_text('#!/bin/sh\nexec strace -D -f -y -e trace=%file -o "$0.$$" "$@"\n')
    tracer.chmod(0o700)
    done = subprocess.run([*mpiexec, "-n", str(RANKS), tracer, *(["-E", f"LD_PRELOAD={library}"] if preload else []), program,
                           *arguments], stdout=subprocess.PIPE, text=True, check=False)
    memory = [int(kib) for kib in re.findall("memory ([0-9]+) KiB", done.stdout)]
    if done.returncode:
        sys.exit("a traced run has failed")
    files = list(Path(folder).glob("trace.*"))
    ranks = [collections.Counter(filter(None, map(named, f.read_text(errors="replace").splitlines()))) for f in files]
    for file in files:
        file.unlink()
    if len(ranks) != RANKS or len(memory) not in (0, RANKS):
        sys.exit(f"{len(ranks)} of {RANKS} ranks were traced\n{done.stdout}")
    return ranks, sum(memory) / RANKS


def more(folder, *arguments):
    """How many calls each rank makes that no rank makes natively, least first. Checks the memory."""
    usual = collections.Counter()
    natively, native_kib = calls(folder, False, *arguments)
    for rank in natively:
        usual |= rank
    traced, kib = calls(folder, True, *arguments)
    ours = [rank - usual for rank in traced]
    ours.sort(key=collections.Counter.total)
    for rank in ours:
        print(rank.total(), dict(rank))
    print(f"memory of a rank: {native_kib:.0f} KiB natively, {kib - native_kib:.0f} KiB more")
    if kib > native_kib + KIB:
        sys.exit(f"a rank has more than {KIB} KiB more memory")
    return [rank.total() for rank in ours]


with tempfile.TemporaryDirectory() as scratch:
    os.environ.update(PACKWRIGHT_CACHE="1", PACKWRIGHT_CACHE_DIR=f"{scratch}/cache", PACKWRIGHT_JIT="sync")
    try:
        subprocess.run(["strace", "-D", "-f", "-y", "-o", "/dev/null", "true"], check=True)
    except (OSError, subprocess.CalledProcessError):
        print("skipped: processes cannot be traced")
        sys.exit(77)
    subprocess.run([*mpiexec, "-n", "1", "env", f"LD_PRELOAD={library}", program], check=True)
    if len(list(Path(scratch, "cache/v1").glob("*.so"))) < KERNELS:
        sys.exit("the kernels are not cached")
    print("rank 0 first:")
    counts = more(scratch, "first")
    if counts[-2] > CALLS:
        sys.exit(f"a rank that finds its kernels read makes {counts[-2]} calls more, not {CALLS}")
    if not counts[0]:
        sys.exit("no rank makes a call more: the library is not there, or nothing is counted")
    print("all at once:")
    counts = more(scratch)
    if sum(counts) > CALLS * RANKS + 2 * KERNELS:
        sys.exit(f"the ranks make {sum(counts)} calls more")
print("passed")
