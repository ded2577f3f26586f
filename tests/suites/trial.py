"""One program of a suite, run in one way: what it did, in a form in which two runs can be compared."""
import hashlib
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
    libraries: Path = None  # where its libraries are that the system does not have
    files: tuple = ()  # paths of what has to lie in its directory
    matters: str = ""  # pattern of the lines that count, when it has much to say; empty: all do
    varies: str = ""  # pattern of what differs between equal runs in its lines
    tells: str = ""  # a file that it writes and that is read as if it had been said
    makes: str = ""  # names (shell pattern) of the files whose bytes count too

    def __str__(self):
        return " ".join([self.name, str(self.ranks), *self.environment, *self.arguments])


@dataclass
class Outcome:
    how: str  # "ok", "timeout", "exit N", "signal N", "said something"
    lines: list = field(default_factory=list)  # what it said, without what differs from run to run, and what the files are that it made
    seconds: float = 0  # from its start to its end

    def __eq__(self, other):
        return self.how == other.how and self.lines == other.lines

    def __str__(self):
        return self.how + "".join(f"\n        {line}" for line in self.lines[:12])

    def against(self, other):
        """What it has that another does not (+), and the other way round (-)."""
        lines = [f"+ {line}" for line in self.lines if line not in other.lines] + [f"- {line}" for line in other.lines if line not in self.lines]
        return self.how + "".join(f"\n        {line}" for line in lines[:12])


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
BAD = re.compile(r"(?<!\b0 )(FAIL|ERROR)")  # in a line that matters
CRASH = re.compile(r"Signal: ([\w ]+) \(\d+\)")  # Open MPI's report of one, of which ranks mix the lines
GOOD = re.compile(r"^\s*(No [Ee]rrors|Test [Pp]assed)\s*\.?\s*$")


def normal(text, varies=""):
    """The lines that were said, each once and in order of the alphabet, since ranks speak in any order."""
    found = set()
    for line in text.splitlines():
        if not GOOD.match(line) and not BANNER.search(line):
            for pattern, name in VOLATILE:
                line = pattern.sub(name, line)
            line = re.sub(varies, "VARIES", line) if varies else line
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


def fingerprints(where, pattern):
    """The files that a program has made: name, length and digest."""
    return [f"{p.name}: {p.stat().st_size} bytes, {hashlib.sha256(p.read_bytes()).hexdigest()[:16]}" for p in sorted(Path(where).glob(pattern))]


def outcome(program, code, said, files):
    lines = normal(said.decode(errors="replace"), program.varies)
    if program.matters and (code == 0 or program.fails):
        lines = [line for line in lines if re.search(program.matters, line)]
    how = f"signal {-code}" if code < 0 else f"exit {code}"
    if (crash := CRASH.search(said.decode(errors="replace"))):
        return Outcome(f"{how}, {crash[1]}", files)
    if code == 0:
        how = "said something" if lines and not program.matters or any(BAD.search(line) for line in lines) else "ok"
    return Outcome(how, lines + files)


def run(launcher, program, settings, limit):
    """Runs a program with `settings` (NAME=VALUE) in its environment, in a directory of its own, for `limit` seconds."""
    mark = uuid.uuid4().hex
    where = tempfile.mkdtemp(prefix="pw_suite_")
    needed = [f"LD_LIBRARY_PATH={program.libraries}"] if program.libraries else []
    command = [*launcher, *program.launcher, "-n", str(program.ranks), "env", *program.environment, *needed, *settings,
               str(program.path), *program.arguments]
    try:
        for path in program.files:
            shutil.copy(path, where)
        began = time.monotonic()
        job = subprocess.Popen(command, cwd=where, env=dict(os.environ, **{MARK: mark}), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        said = wait(job, limit)
        seconds = time.monotonic() - began
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
        end_all(mark)
        if program.tells and (Path(where) / program.tells).exists():
            said += (Path(where) / program.tells).read_bytes()
        found = outcome(program, job.returncode, said, fingerprints(where, program.makes) if program.makes else [])
        found.seconds = seconds
        return found
    finally:
        shutil.rmtree(where, ignore_errors=True)
