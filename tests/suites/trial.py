"""One program of a suite, run in one way: what it did, in a form in which two runs can be compared."""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

MARK = "PW_SUITE_RUN"  # in the environment of every process of a run, so that none is left behind


@dataclass(frozen=True)
class Program:
    """A line of a list: what to start, and with what."""
    name: str  # as told to people, the directory included
    path: Path
    ranks: int
    arguments: tuple = ()
    environment: tuple = ()  # NAME=VALUE
    launcher: tuple = ()  # more arguments of mpiexec
    limit: int = 0  # seconds; 0: the default
    fails: bool = False  # it is to end with an error

    def __str__(self):
        return " ".join([self.name, str(self.ranks), *self.environment, *self.arguments])


@dataclass
class Outcome:
    how: str  # "ok", "timeout", "exit N", "signal N", "said something"
    lines: list = field(default_factory=list)  # what it said, without what differs from run to run

    def __eq__(self, other):
        return self.how == other.how and self.lines == other.lines

    def __str__(self):
        return self.how + "".join(f"\n        {line}" for line in self.lines[:12])


# What differs between equal runs: addresses and handles, processes, times.
VOLATILE = [(re.compile(pattern), name) for pattern, name in (
    (r"^\[[\d.]+\] \[\S+ +:\d+\]", "UCX"),
    (r"0x[0-9a-fA-F]+|=[0-9a-f]{8}\b", "ADDRESS"),
    (r"PID \d+|pid \d+|\[[^\]\s]+:\d+\]|^\S+:\d+:", "PROCESS"),
    (r"\d+\.\d+( s\b| sec)", "TIME"),
    (r"/tmp/\S+", "FILE"))]
# What launchers say of an end, and stacks, which Packwright is part of.
BANNER = re.compile("|".join((
    r"^[\s=\-+|]*$", "BAD TERMINATION", "YOUR APPLICATION TERMINATED", "CLEANING UP", "EXIT CODE:", "= +(PID|RANK)", "RUNNING AT",
    r"^(Primary job|mpiexec|\S*mpirun) ", "per user-direction", "more processes? ha(s|ve) sent help message", "orte_base_help_aggregate",
    "Forwarding signal", "YOU CAN IGNORE", "==== backtrace", "^=====", "^This typically refers", "^Please see the FAQ",
    r"^ *\d+ +\S+\(.*\) \[0x", r"\] \[ *\d+\] \S+\[0x")))
GOOD = re.compile(r"^\s*(No [Ee]rrors|Test [Pp]assed)\s*\.?\s*$")


def normal(text):
    """The lines that were said, each once and in order of the alphabet, since ranks speak in any order."""
    found = set()
    for line in text.splitlines():
        if not GOOD.match(line) and not BANNER.search(line):
            for pattern, name in VOLATILE:
                line = pattern.sub(name, line)
            found.add(line.strip())
    return sorted(found)


def end_all(mark):
    """Ends whatever still carries the mark: launchers put their ranks into sessions of their own."""
    wanted = f"{MARK}={mark}".encode()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (process / "environ").read_bytes().split(b"\0"):
                os.kill(int(process.name), signal.SIGKILL)
        except (OSError, ValueError):
            pass


def wait(job, limit):
    """What a job says until it ends, or None after `limit` seconds; those during which this process was stopped do not count."""
    while limit > 0:
        began = time.monotonic()
        try:
            return job.communicate(timeout=1)[0]
        except subprocess.TimeoutExpired:
            limit -= min(time.monotonic() - began, 2)
    return None


def run(launcher, program, settings, limit):
    """Runs a program with `settings` (NAME=VALUE) in its environment, in an empty directory, for `limit` seconds."""
    mark = uuid.uuid4().hex
    where = tempfile.mkdtemp(prefix="pw_suite_")
    command = [*launcher, *program.launcher, "-n", str(program.ranks), "env", *program.environment, *settings, str(program.path),
               *program.arguments]
    try:
        job = subprocess.Popen(command, cwd=where, env=dict(os.environ, **{MARK: mark}), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        said = wait(job, limit)
        if said is None:
            job.terminate()
            try:
                job.wait(5)
            except subprocess.TimeoutExpired:
                pass
            end_all(mark)
            job.kill()
            job.communicate()
            return Outcome("timeout")
        code = job.returncode
        end_all(mark)
    finally:
        shutil.rmtree(where, ignore_errors=True)
    lines = normal(said.decode(errors="replace"))
    if code == 0:
        return Outcome("said something", lines) if lines else Outcome("ok")
    return Outcome(f"signal {-code}" if code < 0 else f"exit {code}", lines)
