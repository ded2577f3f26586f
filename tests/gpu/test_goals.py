"""What goals.py says of a launcher that lacks a library, of other endings, and of a choice."""
import argparse
import tempfile
import time

from goals import Machine, Table, add_options, ending, judge_messages

LOADER = ("/m/usr/bin/mpiexec.hydra: error while loading shared libraries: libslurm.so.38: cannot open shared object file: "
          "No such file or directory\n")


def is_running(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8") as stat:
            return stat.read().split()[2] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


assert ending(127, LOADER) == "not started: mpiexec.hydra misses libslurm.so.38"
assert ending(127, "no such file") == "status 127"
assert ending(1, LOADER) == "status 1" and ending(0, "") == "done"

# What takes too long is ended with what it has started.
with tempfile.TemporaryDirectory() as folder:
    parser = argparse.ArgumentParser()
    add_options(parser)
    machine = Machine(parser.parse_args(["-r", "/", "-l", folder, "-x", "0.5", "-p", "/unpacked"]), "openmpi")
    rc, text = machine.run("late", ["sh", "-c", "trap '' TERM; sleep 600 & echo $!; wait; wait"])
    assert rc == 124 and text.strip().isdigit(), (rc, text)
    # A killed process of a busy machine is not gone at once.
    until = time.monotonic() + 20
    while is_running(int(text)):
        assert time.monotonic() < until, "%s still runs" % text
        time.sleep(0.05)
    assert machine.prefix is None  # what is unpacked is an MPICH

# A choice is judged by what the same process took by each strategy; times of one message and of several stay apart.
table = Table()
judge_messages(table, {("blocks_8", 65536, column): us for column, us in (
    ("ping-pong 1", 17.0), ("direct 1", 14.0), ("one_shot 1", 20.0), ("in flight 1", 60.0), ("direct 2", 61.0))})
judged = {row[0]: row[2:] for row in table.rows if row[0].startswith("chosen")}
assert judged == {"chosen: ping-pong, blocks_8 of 64 KiB": ("17.0; direct 14.0, one_shot 20.0 us", False),
                  "chosen: in flight, blocks_8 of 64 KiB": ("60.0; direct 61.0 us", True)}, judged
