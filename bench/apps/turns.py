"""Programs by turns: natively, with Packwright, packing by themselves and by forced ways; how long they took, and whether all agree."""
import collections
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

NATIVE, OURS, HAND = "native", "packwright", "by hand"
TRIED = 64  # uses in which ways are tried
WORTH_A_LOOK = 0.97  # a row whose ratio is below this may be slower with Packwright


class Missing(Exception):
    """A program that cannot be had on this machine, and why."""


def read_rows(text, _way):
    """The rows that a program has printed: {name: (seconds, result)}, and the seconds of native and of first uses in the same process if
    the program has them. Each is a line of JSON, as programs/rows.h writes it."""
    rows = {}
    for line in text.splitlines():
        if line.startswith('{"row"'):
            row = json.loads(line)
            rows[row["row"]] = (row["seconds"], row["result"], *(row[of] for of in ("native", "first") if of in row))
    return rows


@dataclass(frozen=True)
class Program:
    """What the launcher starts. A run prints rows: an exchange, its seconds, and its result in a form that can be compared."""
    application: str
    command: tuple
    hand: tuple = ()  # the command with which it packs by itself; empty: it cannot
    environment: dict = field(default_factory=dict)
    hand_environment: dict = field(default_factory=dict)  # what is added to it if it packs by itself
    only: str = "--only="  # what stands before a row's name in the argument that has only this row run; empty: there is none
    together: bool = False  # it has too many rows for a process each: the argument may have several, as @(ROW|ROW)
    ranks: int = 2
    limit: int = 300  # seconds of one run
    read: callable = read_rows  # rows of what it has said in a way
    linked: bool = False  # with Packwright: it is started as it is, and told what to do
    turns: str = ""  # what has it time native by turns in the same process, too
    uses: str = ""  # of a program that is not timed natively else: what stands before a number of uses, which it then makes and does not time

    def words(self, way):
        if way == HAND:
            return self.hand or self.command
        return (*self.command, self.turns) if self.turns and way != NATIVE else self.command

    def settings(self, way):
        return {**self.environment, **(self.hand_environment if way == HAND else {})}


@dataclass
class Row:
    """An exchange of a program in all turns."""
    application: str
    mpi: str
    name: str
    times: dict = field(default_factory=lambda: collections.defaultdict(list))  # way: seconds of each turn
    beside: dict = field(default_factory=lambda: collections.defaultdict(list))  # way: native seconds in the same processes
    first: list = field(default_factory=list)  # seconds of first uses with Packwright, in which ways are tried
    results: dict = field(default_factory=lambda: collections.defaultdict(list))
    taken: dict = field(default_factory=dict)  # strategy: messages
    once: float = 0  # the ratio for which it was run again; 0: it was not
    left: dict = field(default_factory=dict)  # what was left to the MPI
    fault: str = ""

    def median(self, way):
        return statistics.median(self.times[way]) if self.times.get(way) else None

    def ratios(self, way=OURS):
        """How many times as fast as natively, in each turn: in the same process if that is known."""
        return [n / t for n, t in zip(self.beside.get(way) or self.times.get(NATIVE, ()), self.times.get(way, ()))]

    def ratio(self, way=OURS):
        if self.beside.get(way):
            return statistics.median(self.ratios(way))
        return self.median(NATIVE) / self.median(way) if self.ratios(way) else None

    def between_processes(self):
        """The same of medians of native processes and those with Packwright, where that is something else."""
        mine, native = self.times.get(OURS), self.times.get(NATIVE)
        return self.median(NATIVE) / self.median(OURS) if mine and native and self.beside.get(OURS) not in (None, native) else None

    def first_ratio(self):
        """The same of first uses."""
        return statistics.median(n / t for n, t in zip(self.beside[OURS], self.first)) if self.first else None

    def disagreement(self):
        """Which ways have another result than the first native run; empty: none."""
        first = self.results[NATIVE][0]
        if any(result != first for result in self.results[NATIVE]):
            return "native runs differ among themselves"
        return ", ".join(f"{way} has another result" for way, results in self.results.items() if any(r != first for r in results))

    def data(self):
        return {"application": self.application, "mpi": self.mpi, "row": self.name, "seconds": dict(self.times), "taken": self.taken,
                "beside": dict(self.beside), "first": self.first, "left": self.left, "once": self.once, "fault": self.fault}

    @classmethod
    def of(cls, data):
        row = cls(data["application"], data["mpi"], data["row"], taken=data["taken"], left=data["left"], once=data.get("once", 0),
                  fault=data["fault"])
        row.times.update(data["seconds"])
        row.beside.update(data.get("beside", {}))
        row.first.extend(data.get("first", ()))
        return row


@dataclass
class Findings:
    """All that a run of the job has found."""
    about: dict = field(default_factory=dict)  # machine, date, what was run
    rows: list = field(default_factory=list)
    skipped: list = field(default_factory=list)  # (application, MPI, reason)

    def faults(self):
        return [row for row in self.rows if row.fault]

    def write(self, path):
        data = {"format": 1, **self.about, "rows": [row.data() for row in self.rows],
                "skipped": [dict(zip(("application", "mpi", "reason"), s)) for s in self.skipped]}
        Path(path).write_text(json.dumps(data, indent=1) + "\n", encoding="utf8")

    @classmethod
    def read(cls, path):
        data = json.loads(Path(path).read_text(encoding="utf8"))
        about = {k: v for k, v in data.items() if k not in ("format", "rows", "skipped")}
        return cls(about, [Row.of(r) for r in data["rows"]], [(s["application"], s["mpi"], s["reason"]) for s in data["skipped"]])


def end(job):
    """Ends a launcher, which ends its ranks; it is in a session of its own."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        os.killpg(job.pid, how)
        try:
            job.communicate(timeout=10)
            return
        except subprocess.TimeoutExpired:
            pass


def run(command, environment, limit):
    """What a command says, or (None, why it failed)."""
    with tempfile.TemporaryFile() as errors:
        job = subprocess.Popen([str(c) for c in command], env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=errors, start_new_session=True)
        try:
            said = job.communicate(timeout=limit)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            end(job)
            return None, f"not over after {limit} s"
        except KeyboardInterrupt:
            end(job)
            raise
        errors.seek(0)
        last = [line for line in (errors.read().decode(errors="replace") + said).splitlines() if line.strip()][-1:]
    return (said, "") if job.returncode == 0 else (None, f"exit status {job.returncode}: {' '.join(last)[:160]}")


class Turns:
    """Runs programs. `launch(program, words, way, options)` is the command line for words of a program in a way. With `alone` each row
    has processes of its own, so that nothing is learned from rows before it. A row that is slower with Packwright is judged `again`, by so
    many more turns alone, in processes without the others: among hundreds of rows the slowest ones are slower in the first turns than they are."""

    def __init__(self, launch, mpi, pairs=5, forced=(), alone=False, again=0, say=lambda text: print(text, file=sys.stderr, flush=True)):
        self.launch, self.mpi, self.pairs, self.forced, self.alone, self.again, self.say = launch, mpi, pairs, forced, alone, again, say

    def rows_of(self, program, way, arguments=(), options=()):
        """The rows of one run, and why there are none."""
        said, why = run(self.launch(program, (*program.words(way), *arguments), way, options), program.settings(way), program.limit)
        rows = program.read(said, way) if said is not None else {}
        return rows, why or ("" if rows else "it printed no rows")

    def judge(self, program):
        """A program's rows after all turns."""
        if not self.alone or not program.only or program.together:
            rows = self.turns(program, [])
        else:
            names, why = self.rows_of(program, NATIVE)
            if why:
                raise Missing(f"fails natively: {why}")
            rows = [row for name in names for row in self.turns(program, [program.only + name])]
        return self.judge_again(program, rows) if self.again and program.only else rows

    def judge_again(self, program, rows):
        """The rows, of which slower ones are judged by more turns, but for those that something is wrong with."""
        once = {row.name: row.ratio() for row in rows if row.ratio() and row.ratio() < WORTH_A_LOOK and not row.fault}
        wanted = [f"@({'|'.join(re.escape(name) for name in once)})"] if program.together and once else list(once)
        judged = {row.name: row for want in wanted for row in self.turns(program, [program.only + want], self.again)}
        for name, row in judged.items():
            row.once = once[name]
        return [judged.get(row.name, row) for row in rows]

    def turns(self, program, arguments, pairs=None):
        """The rows that a program prints with such arguments. The first turn warms up: its results count, its times do not. Of a program
        that times native itself it is the only one natively, for the results, and what warms up is the question what was done."""
        ways = [NATIVE, OURS, *([HAND] if program.hand or program.hand_environment else []), *self.forced]
        rows, failed, pairs = {}, {}, pairs or self.pairs
        for turn in range(pairs + 1):
            self.say(f"{self.mpi}: {program.application}: turn {turn} of {pairs} {' '.join(arguments)}")
            for way in ways if turn % 2 else reversed(ways):
                if way in failed or (program.uses and (way == NATIVE) == bool(turn)):
                    continue
                found, why = self.rows_of(program, way, (*arguments, f"{program.uses}0") if program.uses and not turn else arguments)
                if why:
                    failed[way] = why
                for name, (seconds, result, *within) in found.items():
                    row = rows.setdefault(name, Row(program.application, self.mpi, name))
                    row.results[way].append(result)
                    if not turn:
                        continue
                    row.times[way].append(seconds)
                    if within:
                        row.beside[way].append(within[0])
                    if within and way == OURS:
                        row.first.append(within[1])
                        if program.uses:
                            row.times[NATIVE].append(within[0])
            if NATIVE in failed:
                raise Missing(f"fails natively: {failed[NATIVE]}")
            if program.uses and not turn:
                self.add_ways(program, list(rows.values()))
        rows = {name: row for name, row in rows.items() if row.results.get(NATIVE) or row.results.get(OURS)}
        for row in rows.values():
            row.fault = self.fault(row, failed)
        if OURS not in failed and not program.uses:
            self.add_ways(program, list(rows.values()))
        return list(rows.values())

    @staticmethod
    def fault(row, failed):
        """What is wrong with a row. A program that has no such row where it packs by itself, or where a way is forced, is fine."""
        faults = [f"{way} fails: {why}" for way, why in failed.items()]
        if not row.results.get(NATIVE):
            return "; ".join([*faults, "there is no such row natively"])
        if not row.results.get(OURS) and OURS not in failed:
            faults.append("there is no such row with Packwright")
        if (differs := row.disagreement()):
            faults.append(differs)
        return "; ".join(faults)

    def add_ways(self, program, rows):
        """Asks Packwright what it did with each row, in runs of their own, since counting takes time."""
        if (program.together or not program.only) and len(rows) > 1:
            return
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            for row in rows:
                report.unlink(missing_ok=True)
                words = (*([program.only + row.name] if program.only else []), *([f"{program.uses}{TRIED}"] if program.uses else []))
                self.rows_of(program, OURS, words, [f"--report={report}"])
                if report.exists():
                    row.taken, row.left = ways_of(json.loads(report.read_text()))


def ways_of(report):
    """Messages by strategy, and what was left to the MPI, of a report of Packwright's."""
    taken, packs, used = collections.Counter(), 0, 0
    for kind in report["types"]:
        for direction in ("sends", "receives", "puts", "gets"):
            taken.update(kind.get(direction, {}))
            used += sum(kind.get(direction, {}).values())
        packs += kind["packs"] + kind["unpacks"]
    left = {"native": taken.pop("native", 0), "not learned": report["left_to_mpi"]["uses"]}
    if packs and not used:
        taken["packs and unpacks"] = packs
    return dict(taken.most_common()), {what: n for what, n in left.items() if n}
