#!/usr/bin/env python3
"""What messages of GPU memory are to reach, measured on the GPUs of this machine: goals and what was reached, in a table.

Meant for two linked GPUs; with one, the rows for two are left out. First comes what everything else depends on: whether
the driver numbers allocations, tells their ranges, and lets other processes open them. Then the tests of direct
messages, then the times. Works where tests/gpu/run does: in a build tree, and in the tarball that cpack makes.

usage: goals.py [-r root] [-m mpi] [-p mpich-prefix] [-l log-folder] [-t seconds a row] [-x seconds a program] [-o parts] [--quick]

Ends with 0 when every goal that could be measured was reached, 1 otherwise, 77 when there is no GPU.
"""
import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
MOST_SECONDS = 240  # of one program, if nothing else is said


def ending(rc, text):
    """Says how a command ended; of one that did not start, which library it misses."""
    missing = re.search(r"^(\S+): error while loading shared libraries: ([^:\s]+)", text, re.M)
    if rc == 127 and missing:
        return "not started: %s misses %s" % (os.path.basename(missing[1]), missing[2])
    return "done" if rc == 0 else "status %d" % rc


def end_all(job):
    """A launcher that is told to end ends its ranks, which may be in sessions of their own."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(job.pid, how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            job.wait(timeout=5)
    job.wait()


class Machine:
    """Where the programs are, and how they are started."""

    def __init__(self, options, mpi):
        self.here = os.path.dirname(os.path.abspath(__file__))
        self.root = options.root or self.find_root()
        self.mpi = mpi
        self.prefix = options.prefix if self.mpi == "mpich" else None
        self.logs = options.logs or tempfile.mkdtemp(prefix="packwright-goals-")
        self.seconds = options.seconds
        self.quick = options.quick
        self.most_seconds = options.limit
        self.begun = time.time()
        os.makedirs(self.logs, exist_ok=True)

    def find_root(self):
        for where in ("", "..", "../..", "../../build"):
            root = os.path.join(self.here, where)
            if os.path.exists(os.path.join(root, "lib/libpackwright-nvrtc.so")):
                return os.path.abspath(root)
        sys.exit("no lib/libpackwright-nvrtc.so near %s: say where with -r" % self.here)

    def path(self, *names):
        return os.path.join(self.root, *names)

    def libraries(self):
        """The folders of the build and of an MPI that is not installed."""
        found = [self.path("lib")]
        for folder, _, names in os.walk(self.prefix) if self.prefix else ():
            if any(re.match(r"lib.*\.so\.", name) for name in names):
                found.append(folder)
        return ":".join(found + [p for p in (os.environ.get("LD_LIBRARY_PATH"),) if p])

    def launcher(self):
        if self.prefix:
            return os.path.join(self.prefix, "usr/bin/mpiexec.hydra")
        return shutil.which("mpiexec." + self.mpi) or shutil.which("mpiexec") or "mpiexec"

    def environment(self, settings):
        env = dict(os.environ)
        env.update({
            "LD_LIBRARY_PATH": self.libraries(),
            "PACKWRIGHT_NVRTC_MODULE": self.path("lib/libpackwright-nvrtc.so"),
            "PACKWRIGHT_CACHE_DIR": os.path.join(self.logs, "cache"),
            "PACKWRIGHT_MODEL": "off",
            "PACKWRIGHT_JIT": "sync",
            "HYDRA_LAUNCHER": "fork",
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
        })
        env.update(settings)
        return env

    def run(self, name, command, settings=None):
        """Returns the exit status and what the command printed; the log keeps it."""
        begin = time.time()
        path = os.path.join(self.logs, name + ".log")
        with open(path, "wb") as log:
            rc = self.wait_for(command, settings or {}, log)
        with open(path, encoding="utf-8", errors="replace") as log:
            text = log.read()
        print("%5.0f s  %-28s %s (%.0f s)" % (time.time() - self.begun, name, ending(rc, text), time.time() - begin),
              flush=True)
        return rc, text

    def wait_for(self, command, settings, log):
        """Returns the exit status. What takes too long is ended with all that it has started."""
        try:
            job = subprocess.Popen(command, env=self.environment(settings), stdout=log, stderr=subprocess.STDOUT,
                                   start_new_session=True)
        except OSError as error:
            log.write(str(error).encode())
            return 127
        try:
            return job.wait(timeout=self.most_seconds)
        except subprocess.TimeoutExpired:
            return 124
        finally:
            if job.poll() is None:
                end_all(job)

    def launch(self, name, ranks, command, settings=None):
        return self.run(name, [self.launcher(), "-n", str(ranks)] + command, settings)


class Table:
    """Goals, and what was reached."""

    def __init__(self):
        self.rows = []

    def add(self, what, goal, reached, is_reached):
        """`is_reached` None: this could not be measured, as `reached` says."""
        self.rows.append((what, goal, reached, is_reached))

    def at_most(self, what, goal, value, unit="us"):
        self.add(what, "<= %g %s" % (goal, unit), "not measured" if value is None else "%.1f %s" % (value, unit),
                 None if value is None else value <= goal)

    def at_least(self, what, goal, value):
        self.add(what, ">= %g times" % goal, "not measured" if value is None else "%.2f times" % value,
                 None if value is None else value >= goal)

    def show(self):
        words = {True: "yes", False: "NO", None: "-"}
        print("\n%-64s %-16s %-34s %s" % ("", "goal", "reached", ""))
        for what, goal, reached, is_reached in self.rows:
            print("%-64s %-16s %-34s %s" % (what, goal, reached, words[is_reached]))
        return all(row[3] is not False for row in self.rows)


def ratio(a, b):
    return a / b if a and b else None


# ---- what all depends on ----------------------------------------------------------------------------------------------


def count_gpus():
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    except OSError:
        return 0
    return max(1, listed.stdout.decode().count("GPU ")) if listed.returncode == 0 else 0


def check_driver(machine, table):
    rc, text = machine.run("exported", [machine.path("tests/test_runtime_gpu_exported"), "-"])
    sys.stdout.write("".join("         %s\n" % line for line in text.splitlines()))
    table.add("the driver identifies allocations, and others open them", "holds", "holds" if rc == 0 else "see exported.log",
              rc == 0)
    return rc == 0


def test_direct(machine, table):
    run = next(p for p in (os.path.join(machine.here, "run"), machine.path("run")) if os.path.exists(p))
    command = ["sh", run, "-r", machine.root, "-m", machine.mpi, "-l", os.path.join(machine.logs, "run"), "-n",
               "400" if machine.quick else "4000"]
    rc, text = machine.run("direct", command + (["-p", machine.prefix] if machine.prefix else []) + ["direct"])
    last = text.strip().splitlines()[-1] if text.strip() else "nothing was printed"
    table.add("tests/gpu/run direct", "passes", last.split(";")[0], rc == 0)


# ---- messages ---------------------------------------------------------------------------------------------------------

LAYOUTS = ("contiguous", "blocks_8", "blocks_64", "sparse_8")


def sizes_of(machine):
    return "64,4096" if machine.quick else "64,512,4096,32768"


def time_messages(machine, name, settings):
    """Returns the times by (layout, bytes, column); columns of one name are numbered."""
    times = {}
    for layout in LAYOUTS:
        _, text = machine.launch("%s.%s" % (name, layout), 2,
                                 [machine.path("bench/device_messages_" + machine.mpi), "-f", layout, "-s",
                                  sizes_of(machine), "-t", str(machine.seconds)], settings)
        for line in text.splitlines():
            cells = line.split("|")
            head = cells[0].split()
            if len(cells) < 2 or len(head) != 2 or head[0] != layout:
                continue
            seen = {}
            for cell in cells[1:]:
                found = re.match(r"\s*(.+?)\s+([0-9.]+) µs", cell)
                if found:
                    number = seen[found[1]] = seen.get(found[1], 0) + 1
                    times[layout, int(head[1]), "%s %d" % (found[1], number)] = float(found[2])
    return times


def by_strategies(times, layout, size, number):
    """The times of the ping-pong (1) or of many in flight (2), in the same process, by strategy."""
    known = {way: times.get((layout, size, "%s %d" % (way, number))) for way in ("direct", "one_shot", "staged")}
    return {way: us for way, us in known.items() if us}


def judge_messages(table, times):
    mib = 4 << 20
    table.at_most("ping-pong of 4 MiB in blocks of 8 of 16, directly", 45, times.get(("blocks_8", mib, "direct 1")))
    table.at_most("ping-pong of 4 MiB, contiguous, directly", 45, times.get(("contiguous", mib, "direct 1")))
    table.at_most("ping-pong of 64 KiB in blocks of 8 of 16, directly", 15, times.get(("blocks_8", 64 << 10, "direct 1")))
    table.at_most("8 in flight each way of 4 MiB, directly", 400, times.get(("blocks_8", mib, "direct 2")))
    for (layout, size, column), value in sorted(times.items()):
        number = {"ping-pong 1": 1, "in flight 1": 2}.get(column)
        ways = by_strategies(times, layout, size, number) if number else {}
        if ways:
            table.add("chosen: %s, %s of %d KiB" % (column[:-2], layout, size >> 10), "<= 1.05 best",
                      "%.1f; %s us" % (value, ", ".join("%s %.1f" % way for way in ways.items())),
                      value <= 1.05 * min(ways.values()))


def two_gpus(machine, table):
    judge_messages(table, time_messages(machine, "two", {}))


def start_mps(machine):
    """Two processes share a GPU at once under MPS only. Returns what its clients need, or nothing."""
    control = shutil.which("nvidia-cuda-mps-control")
    if not control or machine.quick:
        return None
    folders = {"CUDA_MPS_PIPE_DIRECTORY": os.path.join(machine.logs, "mps"),
               "CUDA_MPS_LOG_DIRECTORY": os.path.join(machine.logs, "mps")}
    os.makedirs(folders["CUDA_MPS_PIPE_DIRECTORY"], exist_ok=True)
    rc, _ = machine.run("mps", [control, "-d"], folders)
    return folders if rc == 0 else None


def stop_mps(machine, folders):
    subprocess.run(["nvidia-cuda-mps-control"], input=b"quit\n", env=machine.environment(folders),
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60, check=False)


def one_gpu(machine, table, gpus):
    """Two ranks on one GPU; where there is no other, their gathered sends, too."""
    mps = start_mps(machine)
    times = time_messages(machine, "one", dict(mps or {}, CUDA_VISIBLE_DEVICES="0"))
    if gpus == 1:
        sends(machine, table, 2, mps or {})
    if mps:
        stop_mps(machine, mps)
    for size in (64 << 10, 4 << 20):
        ways = by_strategies(times, "blocks_8", size, 1)
        direct, before = ways.pop("direct", None), min(ways.values(), default=None)
        table.add("one GPU, two ranks%s: %d KiB directly" % ("" if mps else " without MPS", size >> 10),
                  "not slower" if before is None else "<= %.1f us" % before,
                  "not measured" if direct is None else "%.1f us" % direct,
                  None if not mps or None in (before, direct) else direct <= 1.05 * before)


# ---- gathered sends ---------------------------------------------------------------------------------------------------


def time_sends(machine, name, ranks, settings):
    """Returns (time of all, time of a call of MPI_Isend), us, by layout, bytes and number of messages."""
    _, text = machine.launch(name, ranks, [machine.path("bench/device_sends_" + machine.mpi), "-t", str(machine.seconds)],
                             settings)
    times = {}
    for line in text.splitlines():
        found = re.match(r"(\w+)\s+(\d+) B x\s+(\d+)\s+([0-9.]+) us\s+a send\s+([0-9.]+) us", line)
        if found:
            times[found[1], int(found[2]), int(found[3])] = (float(found[4]), float(found[5]))
    return times


def sends(machine, table, ranks, settings):
    name = "sends.%d" % ranks
    gathered = time_sends(machine, name, ranks, settings)
    alone = time_sends(machine, name + ".alone", ranks, dict(settings, PACKWRIGHT_GATHER="0"))
    who = "one rank" if ranks == 1 else "two ranks"
    for (layout, size, count), (us, call) in sorted(gathered.items()):
        what = "%s: %d of %s, %d B" % (who, count, layout, size)
        before = alone.get((layout, size, count), (None, None))[0]
        if count == 1:
            table.add(what, "not slower" if not before else "<= 1.05 x %.1f us" % before, "%.1f us" % us,
                      us <= 1.05 * before if before else None)
            continue
        if (layout, count) == ("blocks_4K", 26):
            table.at_most(what, 100, us)
        if before:
            table.add(what + ", over one by one", "(MPI's part too)", "%.2f times" % ratio(before, us), None)
        if count >= 26:
            table.at_most(what + ", a call of MPI_Isend", 2, call)


# ---- the model --------------------------------------------------------------------------------------------------------


def measure(machine, table):
    model = os.path.join(machine.logs, "model.json")
    rc, text = machine.run("measure", [machine.path("bin/packwright"), "measure", "--only=gpu", "--seconds=40",
                                       "--output=" + model])
    known = os.path.exists(model) and "peer_bytes" in open(model, encoding="utf-8").read()
    table.add("packwright measure knows direct messages", "facts", "facts" if known else "none; see measure.log",
              rc == 0 and known)
    return model if known else None


def fused(machine, table, _):
    """Transfers of the runtime alone, without an MPI."""
    program = machine.path("bench/gpu_fused")
    if not os.path.exists(program):
        return
    _, text = machine.run("thresholds", [program, "31" if machine.quick else "101", "thresholds"])
    print(text)
    _, text = machine.run("applications", [program, "31" if machine.quick else "101", "applications"])
    print(text)
    goals = {"SPECFEM3D_cm": 8, "NAS_MG_y": 4, "MILC_su3_zd": 4}
    for line in text.splitlines():
        found = re.match(r"(\d+ of (\w+), \d+)\s+\d+\s+(.*? device)\s+([0-9.]+)\s+[0-9.]+\s+([0-9.]+)\s", line)
        if found:
            table.at_least("%s, %s: one launch over one by one" % (found[1], found[3]), goals[found[2]],
                           ratio(float(found[4]), float(found[5])))


def driver(machine, table, _):
    if check_driver(machine, table):
        test_direct(machine, table)


def messages(machine, table, gpus):
    if gpus > 1:
        two_gpus(machine, table)
    else:
        table.add("messages between two GPUs", "two GPUs", "there is one", None)


def all_sends(machine, table, gpus):
    if gpus > 1:
        sends(machine, table, 2, {})
    sends(machine, table, 1, {})


def model(machine, table, gpus):
    measured = measure(machine, table)
    if measured and gpus > 1 and not machine.quick:
        again = time_messages(machine, "two.model", {"PACKWRIGHT_ALL_RANKS": "1", "PACKWRIGHT_STRATEGY": "auto",
                                                     "PACKWRIGHT_MODEL": measured})
        for key, value in sorted(again.items()):
            print("         by the measured model: %s %d %s: %.1f us" % (key + (value,)))


PARTS = {"driver": driver, "messages": messages, "sends": all_sends, "one": one_gpu, "fused": fused, "model": model}


def end_with_what_is_there():
    """From now on who ends this program ends what it has started, too, and its table is still shown."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def add_options(parser):
    """What a machine needs to know."""
    parser.add_argument("-r", dest="root", help="the build tree or the unpacked tarball")
    parser.add_argument("-p", dest="prefix", help="where an MPICH that is not installed is unpacked")
    parser.add_argument("-l", dest="logs")
    parser.add_argument("-t", dest="seconds", type=float, default=0.2)
    parser.add_argument("-x", dest="limit", type=float, default=MOST_SECONDS, help="seconds that one program may take")
    parser.add_argument("--quick", action="store_true", help="few sizes, to see whether everything runs")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("-m", dest="mpi", default="mpich")
    parser.add_argument("-o", dest="parts", default=",".join(PARTS), help="only these, by commas (default %(default)s)")
    options = parser.parse_args()
    parts = options.parts.split(",")
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        parser.error("-o: there is no '%s', but %s" % (unknown[0], ", ".join(PARTS)))
    machine = Machine(options, options.mpi)
    table = Table()
    gpus = count_gpus()
    if gpus == 0:
        print("SKIPPED: no NVIDIA GPU")
        return SKIPPED
    end_with_what_is_there()
    try:
        for part in parts:
            PARTS[part](machine, table, gpus)
    finally:
        reached = table.show()
    print("\nlogs in %s" % machine.logs)
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
