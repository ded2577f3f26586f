"""bench/apps with invented programs: turns, results that disagree, programs that cannot be had, tables. Nothing here measures time."""
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "apps"))
import table  # noqa: E402
import turns  # noqa: E402
from places import Mpi, Place  # noqa: E402
from turns import HAND, NATIVE, OURS, Findings, Missing, Program, Row, Turns  # noqa: E402

# A program whose rows, times and results are told by its arguments and by the way it is run in.
SPEAKER = """
import json, sys
way, report, *words = sys.argv[1:]
only = next((w[7:] for w in words if w.startswith("--only=")), "")
for name, seconds, result, *within in json.loads(words[0]).get(way, []):
    if name == "crash":
        sys.exit("it has crashed")
    if not only or only == name or only[:2] == "@(" and name in only[2:-1].split("|"):
        print(json.dumps({"row": name, "seconds": seconds, "result": result, **dict(zip(("native", "first"), within))}))
if report:
    open(report, "w").write(json.dumps({"left_to_mpi": {"uses": 7}, "types": [
        {"sends": {"packed": 3}, "receives": {"packed": 2, "native": 4}, "packs": 5, "unpacks": 0}]}))
"""


class Invented:
    """Launches speakers, and notes in which ways, and how many uses they are told to make."""

    def __init__(self):
        self.ways, self.uses = [], []

    def launch(self, _program, words, way, options):
        self.ways.append(way)
        self.uses.append(next((word for word in words if word.startswith("--uses=")), ""))
        report = "".join(o.split("=")[1] for o in options)
        return [sys.executable, "-c", SPEAKER, way, report, *words]


def judge(speech, hand=False, uses="", invented=None, turns="", **how):
    invented = invented or Invented()
    words = (json.dumps(speech),)
    program = Program("invented", words, words if hand else (), uses=uses, turns=turns)
    rows = Turns(invented.launch, "an MPI", pairs=3, say=lambda text: None, **how).judge(program)
    return rows, invented.ways


def same(*ways, row="r", seconds=(2.0, 1.0), result="x"):
    return {way: [[row, second, result]] for way, second in zip(ways, seconds)}


def test_ways_take_turns():
    _, ways = judge(same(NATIVE, OURS))
    assert ways[:8] == [OURS, NATIVE, NATIVE, OURS, OURS, NATIVE, NATIVE, OURS]


def test_the_first_turn_is_not_timed():
    rows, _ = judge(same(NATIVE, OURS))
    assert len(rows[0].times[NATIVE]) == len(rows[0].times[OURS]) == 3
    assert len(rows[0].results[OURS]) == 4
    assert rows[0].ratio() == 2


def test_by_hand_and_forced_ways_are_rivals():
    rows, _ = judge(same(NATIVE, OURS, HAND, "packed", seconds=(4.0, 2.0, 1.0, 8.0)), hand=True, forced=["packed"])
    assert rows[0].median(HAND) == 1 and rows[0].ratio("packed") == 0.5 and not rows[0].fault


def test_a_program_with_turns_of_its_own_is_its_own_judge():
    speech = {NATIVE: [["r", 8.0, "x", 8.0, 8.0]], OURS: [["r", 1.0, "x", 2.0, 4.0]]}
    invented = Invented()
    rows, ways = judge(speech, uses="--uses=", invented=invented)
    row = rows[0]
    assert row.ratio() == 2 and row.first_ratio() == 0.5
    assert row.median(NATIVE) == 2 and row.taken == {"packed": 5}
    assert list(zip(ways, invented.uses)) == [(NATIVE, "--uses=0"), (OURS, "--uses=64"), *[(OURS, "")] * 3]
    back = Row.of(row.data())
    assert back.ratio() == 2 and back.first_ratio() == 0.5


def test_turns_of_one_process_judge_and_processes_stand_beside():
    speech = {NATIVE: [["r", 3.0, "x"]], OURS: [["r", 1.0, "x", 2.0, 4.0]]}
    row = judge(speech, turns="--turns")[0][0]
    assert row.ratio() == 2 and row.between_processes() == 3
    findings = Findings(rows=[row])
    assert "| 2.00 (2.00 to 2.00) | 3.00 " in table.of_findings(findings)
    assert judge({way: [["r", 1.0, "x"]] for way in (NATIVE, OURS)})[0][0].between_processes() is None


def test_what_was_done_is_asked_in_runs_of_its_own():
    rows, ways = judge({way: [["a", 1, "x"], ["b", 1, "x"]] for way in (NATIVE, OURS)})
    assert ways[8:] == [OURS, OURS]  # one for each row
    assert rows[0].taken == {"packed": 5} and rows[0].left == {"native": 4, "not learned": 7}


def test_packs_count_where_nothing_was_sent():
    report = {"left_to_mpi": {"uses": 0}, "types": [{"sends": {}, "receives": {}, "packs": 5, "unpacks": 1}]}
    assert turns.ways_of(report) == ({"packs and unpacks": 6}, {})


def test_puts_and_gets_count():
    report = {"left_to_mpi": {"uses": 0}, "types": [{"puts": {"packed": 3}, "gets": {"native": 4}, "packs": 3, "unpacks": 0}]}
    assert turns.ways_of(report) == ({"packed": 3}, {"native": 4})


def test_alone_each_row_has_processes_of_its_own():
    rows, ways = judge({way: [["a", 1, "x"], ["b", 1, "x"]] for way in (NATIVE, OURS)}, alone=True)
    assert [row.name for row in rows] == ["a", "b"] and all(len(row.times[OURS]) == 3 for row in rows)
    assert len(ways) == 1 + 2 * (2 * 4 + 1)


def test_a_slower_row_is_judged_by_more_turns_alone():
    invented = Invented()
    speech = {way: [["bad", bad, "x"], ["good", 2.0, "x"], ["worse", worse, "x"]] for way, bad, worse in ((NATIVE, 0.9, 1.0), (OURS, 1.0, 2.0))}
    program = Program("invented", (json.dumps(speech),), together=True)
    rows = Turns(invented.launch, "an MPI", pairs=1, alone=True, again=5, say=lambda text: None).judge(program)
    assert [(row.name, row.once, len(row.times[OURS])) for row in rows] == [("bad", 0.9, 5), ("good", 0, 1), ("worse", 0.5, 5)]
    assert len(invented.ways) == 2 * 2 + 2 * 6
    text = table.of_findings(Findings(rows=[Row.of(row.data()) for row in rows]))
    assert "Slower than 0.97 with Packwright: 2 of 3 rows\n  0.50  an MPI: invented: worse" in text and "more turns alone, since they were slower once: 2 of 3" in text


def test_a_wrong_row_is_not_judged_again():
    speech = {NATIVE: [["r", 0.5, "x"]], OURS: [["r", 1.0, "y"]]}
    rows, _ = judge(speech, again=5)
    assert len(rows) == 1 and rows[0].fault and not rows[0].once


def test_another_result_is_noticed():
    speech = same(NATIVE, OURS)
    speech[OURS][0][2] = "y"
    rows, _ = judge(speech)
    assert rows[0].fault == "packwright has another result"
    assert "WRONG" in table.of_findings(Findings(rows=rows))


def test_results_that_vary_natively_are_not_blamed_on_packwright():
    row = Row("a", "m", "r")
    row.results.update({NATIVE: ["x", "y"], OURS: ["y"]})
    assert row.disagreement() == "native runs differ among themselves"


def test_a_row_that_is_missing_is_noticed():
    speech = same(NATIVE, OURS)
    speech[NATIVE].append(["s", 1, "x"])
    rows, _ = judge(speech)
    assert [row.fault for row in rows] == ["", "there is no such row with Packwright"]


def test_a_crash_with_packwright_is_a_fault():
    speech = same(NATIVE)
    speech[OURS] = [["crash", 0, ""]]
    rows, _ = judge(speech)
    assert rows[0].fault == "packwright fails: exit status 1: it has crashed"


def test_a_rival_that_has_no_such_row_is_none():
    rows, _ = judge({**same(NATIVE, OURS), HAND: [["other", 1, "x"]]}, hand=True)
    assert rows[0].fault == "" and rows[0].median(HAND) is None


def test_a_program_that_fails_natively_cannot_be_had():
    with pytest.raises(Missing, match="fails natively: exit status 1: it has crashed"):
        judge({NATIVE: [["crash", 0, ""]], **same(OURS)})


def test_silence_natively_cannot_be_had():
    with pytest.raises(Missing, match="it printed no rows"):
        judge(same(OURS))


def test_a_program_that_does_not_end_is_ended():
    assert turns.run([sys.executable, "-c", "import time; time.sleep(600)"], {}, 0.2) == (None, "not over after 0.2 s")


def row_of(name, native, ours, **more):
    row = Row("app", "mpich", name, **more)
    row.times.update({NATIVE: native, OURS: ours})
    return row


def test_what_was_skipped_is_seen():
    text = table.of_findings(Findings(rows=[row_of("r", [2], [1])], skipped=[("gone", "mpich", "no network")]))
    assert "skipped: no network" in text and "| gone" in text


def test_slower_rows_are_named():
    text = table.of_findings(Findings(rows=[row_of("fine", [1.0], [1.0]), row_of("bad", [1.0], [2.0])]))
    assert "Slower than 0.97 with Packwright: 1 of 2 rows\n  0.50  mpich: app: bad" in text


def test_a_busy_machine_is_noticed():
    text = table.of_findings(Findings(rows=[row_of("calm", [1.0, 1.5], [1.0, 1.0]), row_of("busy", [1.0, 2.5], [1.0, 1.0])]))
    assert "The machine was not quiet: native times of 1 of 2 rows" in text


def test_findings_are_kept(tmp_path):
    findings = Findings({"machine": "a machine"}, [row_of("r", [2.0], [1.0], taken={"packed": 1}, fault="f")], [("x", "mpich", "why")])
    findings.write(tmp_path / "a.json")
    again = Findings.read(tmp_path / "a.json")
    assert again.about == findings.about and again.skipped == findings.skipped
    assert table.of_findings(again) == table.of_findings(findings)


def test_compare_shows_the_worst_change_first(tmp_path):
    before = [row_of("worse", [2.0, 2.2], [1.0, 1.0]), row_of("better", [1.0, 1.1], [1.0, 1.1]), row_of("unsure", [1.0, 2.0], [1.0, 1.0]),
              row_of("gone", [1.0], [1.0])]
    after = [row_of("worse", [1.0, 1.1], [1.0, 1.0]), row_of("better", [3.0, 3.0], [1.0, 1.0]), row_of("unsure", [1.5, 1.5], [1.0, 1.0]),
             row_of("new", [1.0], [1.0])]
    for name, rows in (("a", before), ("b", after)):
        Findings(rows=rows).write(tmp_path / f"{name}.json")
    said = subprocess.run([sys.executable, ROOT / "bench/apps/compare", tmp_path / "a.json", tmp_path / "b.json"], check=True,
                          capture_output=True, text=True).stdout
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in said.splitlines() if line.startswith("| app")]
    assert [(line[2], line[-1]) for line in lines[1:]] == [("worse", "0.50"), ("unsure", "1.00 ?"), ("better", "3.00")]
    assert "app: mpich: gone: only before" in said and "app: mpich: new: only after" in said


def test_compare_says_what_it_cannot_read(tmp_path):
    (tmp_path / "a.json").write_text("{")
    done = subprocess.run([sys.executable, ROOT / "bench/apps/compare", tmp_path / "a.json", tmp_path / "none.json"], check=False,
                          capture_output=True, text=True)
    assert done.returncode == 1 and "cannot be read" in done.stderr


def test_run_refuses_what_it_does_not_know():
    done = subprocess.run([sys.executable, ROOT / "bench/apps/run", "nosuch"], check=False, capture_output=True, text=True)
    assert done.returncode == 1 and "there is no 'nosuch'; dtfft, " in done.stderr


def test_an_mpi_that_is_not_there_is_skipped(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "packwright").touch()
    done = subprocess.run([sys.executable, ROOT / "bench/apps/run", "types", f"--build={tmp_path}", "--mpi=/nowhere/mpicc"], check=False,
                          capture_output=True, text=True)
    assert done.returncode == 2 and "skipped: there is no mpicc or mpiexec of /nowhere/mpicc" in done.stdout


def test_packwright_is_left_out_where_this_is_asked_for(tmp_path):
    mpi = SimpleNamespace(launcher="mpiexec", kind="mpich")
    native, ours = ([Place(tmp_path, tmp_path, mpi, without=without).command(Program("a", ("a",)), ["a"], OURS) for without in (True, False)])
    assert native == ["mpiexec", "-n", 2, "a"] and ours[-4:] == native and ours[1] == "run"


def test_the_libraries_of_an_mpi_are_those_that_its_mpicc_names(tmp_path):
    """Debian's MPICH would be found else, whose libraries have the names that Intel's have."""
    (tmp_path / "libmpi.so.12").touch()
    for name, says in (("mpicc", f"gcc -L\"{tmp_path / 'none'}\" -L\"{tmp_path}\" -lmpi"), ("mpiexec", "Intel(R) MPI Library 2021.19")):
        (tmp_path / name).write_text(f"#!/bin/sh\necho '{says}'\n")
        (tmp_path / name).chmod(0o755)
    assert Mpi(str(tmp_path / "mpicc")).libraries() == tmp_path
