"""Reports of a run: report.py --packwright=P --program=P --source=FILE --work=DIR -- MPIEXEC."""
import argparse
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys

arguments = argparse.ArgumentParser()
for name in "packwright", "program", "source", "work":
    arguments.add_argument("--" + name, required=True)
arguments.add_argument("mpiexec", nargs="+")
options = arguments.parse_args()
shutil.rmtree(options.work, ignore_errors=True)
os.makedirs(options.work)


def check(condition, what):
    if not condition:
        sys.exit("wrong: " + what)


def run(settings, ranks, *args, **more):
    """What the program says on stderr; it must end well."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("PACKWRIGHT_")}
    done = subprocess.run([options.packwright, "run", "--jit=off", *settings, "--", *options.mpiexec, "-n", str(ranks),
                           options.program, *args], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          cwd=options.work, env={**env, "PACKWRIGHT_MODEL": "off", **more})
    check(done.returncode == 0, "the program has failed: " + done.stderr)
    return done.stderr


def near(a, b):
    return abs(a - b) <= 1e-4 * max(abs(a), abs(b)) + 1e-12


# ---- data

run(["--report=run.json", "--strategy=packed"], 2, "named")
data = json.load(open(os.path.join(options.work, "run.json")))
total, types, by_rank = data["total"], data["types"], data["by_rank"]
check(data["ranks"] == 2 and [r["rank"] for r in by_rank] == [0, 1], "the ranks")
check(data["program"] == os.path.basename(options.program) and "MPI" in data["mpi"], "the program or its MPI")
check(total["messages"] == 160 and sum(r["messages"] for r in by_rank) == 160, "the number of messages")
check(total["packed_bytes"] == 2 * 2 * 20 * (64 + 128) * 8, "the bytes: %d" % total["packed_bytes"])
times = [t["packing_seconds"] for t in types]
check(near(total["packing_seconds"], sum(times)) and near(total["packing_seconds"], sum(r["packing_seconds"] for r in by_rank)),
      "sums of the times")
check(0 < total["packing_seconds"] and total["elapsed_seconds"] == max(r["elapsed_seconds"] for r in by_rank), "the times")
check(times == sorted(times, reverse=True), "types are not by time")

# Nothing was tried, so nothing is known to be saved, and no figure says what the run would have taken without Packwright.

check(total["saved_seconds"] is None and total["saved_uses"] == 0 and total["saved_unknown_uses"] > 0, "what was saved")
check(data["estimates"] == "defaults", "the source of estimates: " + data["estimates"])
check(not {"native_seconds", "time_seconds"} & set(total), "a total is an estimate: %s" % list(total))

named = [t for t in types if t["name"]]
check(len(named) == 1 and named[0]["name"] == "column <left & right>", "the names: %s" % [t["name"] for t in types])
check("hvec(64 1 512)" in named[0]["ddt"], "the type's text: " + named[0]["ddt"])
check(named[0]["built"] == "vec(64 1 64)[double]", "the type as it was built: " + named[0]["built"])
check(named[0]["sends"] == {"packed": 40} and named[0]["receives"] == {"packed": 40}, "sends and receives")
spread = named[0]["ranks"]
check(spread["count"] == 2 and 0 < spread["least_seconds"] <= spread["most_seconds"] and spread["slowest"] in (0, 1), "the spread")
check(near(spread["least_seconds"] + spread["most_seconds"], named[0]["packing_seconds"]), "the sum of two ranks")
choice, = named[0]["choices"]
check(choice["kind"] == "blocking" and choice["mostly"] == "packed", "the choice")
check(choice["more_than_bytes"] < 512 <= choice["up_to_bytes"], "the range of sizes")
check(choice["strategies"]["packed"]["uses"] == 80, "messages of the choice")
check(choice["strategies"]["native"]["estimated_seconds"] > 0, "the reason")

# ---- page


class Page(html.parser.HTMLParser):
    """Checks that elements are closed in order, and keeps the text."""
    open_ended = {"meta", "br"}

    def __init__(self):
        super().__init__()
        self.stack, self.text = [], ""

    def handle_starttag(self, tag, attrs):
        check(tag not in ("link", "img", "iframe"), "the page is not self-contained: " + tag)
        check(not {"src", "href"} & {a for a, _ in attrs}, "the page refers to something else")
        if tag not in self.open_ended:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        check(self.stack and self.stack.pop() == tag, "</%s> closes something else" % tag)

    def handle_data(self, data):
        self.text += data


said = run(["--report=run.html", "--strategy=packed"], 2, "named")
check("packwright" not in said, "a healthy run says: " + said)
text = open(os.path.join(options.work, "run.html")).read()
again = os.path.join(options.work, "again.html")
subprocess.run([options.packwright, "report", os.path.join(options.work, "run.json"), "-o", again], check=True)
check(open(again).read().count("<tbody>") == text.count("<tbody>"), "the page of the data is another one")
os.remove(again)
check("url(" not in text and "@import" not in text, "the page loads something")
page = Page()
page.feed(text)
check(page.stack == [], "elements are left open: %s" % page.stack)
for t in types:
    check(t["ddt"] in page.text, "the page lacks " + t["ddt"])
for part in ("column <left & right>", "vec(64 1 64)[double]", "160 messages", "2 ranks", "40 packed sends", data["mpi"], "not known",
             "estimates are defaults"):
    check(part in page.text, "the page lacks " + part)

# A page whose name has characters of patterns; nothing but the page is left.
run(["--report=run[1]*.html", "--strategy=packed"], 1, "many")
check(sorted(os.listdir(options.work)) == ["run.html", "run.json", "run[1]*.html"], "files: %s" % os.listdir(options.work))
os.remove(os.path.join(options.work, "run[1]*.html"))

# ---- a screen at most, by time, and all

said = run(["--stats", "--strategy=packed"], 1, "many")
lines = [line for line in said.splitlines() if line.startswith("packwright:")]
rows = [line.split() for line in lines if re.match(r"packwright: +[\d.]+ [num]?s ", line)]
check(len(lines) <= 24 and len(rows) == 15, "the table has %d lines, %d rows:\n%s" % (len(lines), len(rows), said))
check(all(len(line) <= 120 for line in lines), "a line is longer than 120 columns:\n" + said)
units = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
times = [float(row[1]) * units[row[2]] for row in rows]
check(times == sorted(times, reverse=True), "the table is not by time:\n" + said)
check("packwright: saved: not known (no trial)" in lines, "what was saved is claimed, or not said:\n" + said)
check("natively" not in said and "took about" not in said, "an estimate is told as a time:\n" + said)
check("and 25 more, 0 of them never used; PACKWRIGHT_STATS=all" in said, "the rest is not told:\n" + said)
check(run(["--stats=all", "--strategy=packed"], 1, "many").count(" each; packed 50, unpacked 0 times") == 40, "--stats=all does not show all")

# ---- messages to oneself count, accesses to files are none; a model's estimates are said to be its own

model = os.path.join(os.path.dirname(os.path.abspath(__file__)), "model.json")
for strategy in "packed", "joined":
    run(["--report=apart.json", "--strategy=" + strategy], 2, "apart", PACKWRIGHT_MODEL=model)
    apart = json.load(open(os.path.join(options.work, "apart.json")))
    check(apart["total"]["messages"] == 2 * (10 + 10), "%s: %d messages to oneself" % (strategy, apart["total"]["messages"]))
    check(strategy == "joined" or apart["total"]["accesses"] == 2 * 5, "%d accesses to files" % apart["total"]["accesses"])
    check(apart["types"][0]["sends"] == {strategy: 20}, "%s: sends to oneself %s" % (strategy, apart["types"][0]["sends"]))
    check(apart["estimates"] == "model of 2026-11-01", "the source of estimates: " + apart["estimates"])
check([c["mostly"] for c in apart["choices_to_oneself"]] == ["joined"], "the choices of messages to oneself")
check("estimates are those of the model of 2026-11-01" in run(["--stats=all"], 2, "apart", PACKWRIGHT_MODEL=model), "the source of estimates")
os.remove(os.path.join(options.work, "apart.json"))

# ---- four faces of a box look different, and it is said where they were made

said = run(["--stats", "--strategy=packed"], 1, "faces")
rows = [line for line in said.splitlines() if "sub(2 96 96 96" in line]
texts = {line[line.index("sub("):] for line in rows}
check(len(rows) == 4 and len(texts) == 4 and all(len(line) <= 120 for line in rows), "faces look alike:\n" + said)
line = 1 + [i for i, text in enumerate(open(options.source)) if "the place that the report names" in text][0]
place = "%s:%d" % (os.path.basename(options.source), line)
run(["--report=faces.json", "--strategy=packed"], 1, "faces")
faces = os.path.join(options.work, "faces.json")
made = [t["made_at"] for t in json.load(open(faces))["types"]]
check(all(len(m) == 1 and m[0]["module"] == os.path.realpath(options.program) and m[0]["offset"].startswith("0x") for m in made),
      "places: %s" % made)


def shown(*settings):
    """What `packwright report` prints of the data of the faces."""
    return subprocess.run([options.packwright, "report", faces, *settings], text=True, stdout=subprocess.PIPE, check=True).stdout


address = "made at %s+%s\n" % (os.path.basename(options.program), made[0][0]["offset"])
if shutil.which("addr2line"):
    check(all(row.endswith(", " + place) for row in rows), "the table does not say %s:\n%s" % (place, said))
    check(shown("--stats=all").count("/%s\n" % place) == 4, "the details do not say " + place)
else:
    check(shown("--stats=all").count(address) == 4, "the details do not say " + address)
# A program that is younger than the report may have other lines.
data_of_faces = json.load(open(faces))
json.dump({**data_of_faces, "date": "2001-01-01T00:00:00Z"}, open(faces, "w"))
check(shown("--stats=all").count(address) == 4, "a program that was built anew is believed:\n" + shown("--stats=all"))
os.remove(faces)

# ---- types that were not freed

said = run(["--report=leaks.json", "--stats"], 2, "leaks")
source = open(options.source).read().split("\n")
line = next(n for n, text in enumerate(source, 1) if "place of the types that are left" in text)
unfreed = json.load(open(os.path.join(options.work, "leaks.json")))["not_freed"]
os.remove(os.path.join(options.work, "leaks.json"))
check([(t["types"], t["ranks"]) for t in unfreed] == [(5, 1), (2, 2)], "types that were not freed: %s" % unfreed)
check(unfreed[0]["built"] == "vec(10 1 2)[double]", "their text: %s" % unfreed)
check("7 types were not freed before MPI_Finalize" in said and "5 on 1 rank  vec(10 1 2)[double], " in said, "the table says: " + said)
check(unfreed[0]["made_at"][0]["module"] == os.path.realpath(options.program), "their place: %s" % unfreed)
if shutil.which("addr2line"):
    check("vec(10 1 2)[double], stats.c:%d\n" % line in said, "the table lacks their place: " + said)
check(data["not_freed"] == [], "all types of an orderly program are freed: %s" % data["not_freed"])

# ---- without the command beside the library the data stay, and the command is named that shows them

alone = os.path.join(options.work, "alone")
os.mkdir(alone)
library = next(word.split("=", 1)[1] for word in subprocess.run(
    [options.packwright, "run", "--dry-run", "--", *options.mpiexec, "-n", "1", options.program], text=True, check=True,
    stdout=subprocess.PIPE).stdout.split() if word.startswith("LD_PRELOAD="))
for folder in "lib", "bin":
    os.mkdir(os.path.join(alone, folder))
copy = shutil.copy(library, os.path.join(alone, "lib"))
if os.getuid() == 0:  # somebody else's command is not started
    planted = shutil.copy("/bin/true", os.path.join(alone, "bin", "packwright"))
    os.chown(planted, 65534, 65534)
by_hand = ["env", "LD_PRELOAD=" + copy, "PACKWRIGHT_STATS=1", "PACKWRIGHT_JIT=off", "PACKWRIGHT_STRATEGY=packed", options.program, "named"]
said = subprocess.run([*options.mpiexec, "-n", "2", *by_hand], text=True, stderr=subprocess.PIPE, stdout=subprocess.PIPE, cwd=alone).stderr
told = re.findall(r"see the statistics by: packwright (report (packwright-\S+\.json) --stats)\n", said)
check(len(told) == 1 and os.path.exists(os.path.join(alone, told[0][1])), "nothing tells where the statistics are: " + said)
shown_later = subprocess.run([options.packwright, *told[0][0].split()], text=True, stdout=subprocess.PIPE, cwd=alone, check=True).stdout
check("packwright: 2 ranks, " in shown_later, "the command that is named shows: " + shown_later)
shutil.rmtree(alone)

# ---- a program in a locale whose numbers have commas

places = os.path.join(options.work, "locales")
os.mkdir(places)
if shutil.which("localedef") and subprocess.run(["localedef", "--no-archive", "-i", "de_DE", "-f", "UTF-8",
                                                 os.path.join(places, "de_DE.UTF-8")]).returncode == 0:
    said = run(["--report=german.json", "--stats", "--strategy=packed"], 2, "named", LOCPATH=places, LC_ALL="de_DE.UTF-8")
    check(json.load(open(os.path.join(options.work, "german.json")))["total"]["packing_seconds"] > 0, "the times")
    check(not re.search(r"\d,\d+ (GB/s|[num]?s)", said), "the table has other numbers:\n" + said)
    os.remove(os.path.join(options.work, "german.json"))
shutil.rmtree(places)

# ---- what cannot be written

said = run([], 2, "named", PACKWRIGHT_REPORT="run.pdf")
check(said.count("PACKWRIGHT_REPORT=run.pdf: the name must end with .json") == 1, "no error at start: " + said)
said = run([], 2, "named", PACKWRIGHT_REPORT="/nonexistent/run.html")
check(said.count("warning: no report: ") == 1 and "/nonexistent" in said, "no warning: " + said)
check(said.index("PACKWRIGHT_REPORT: cannot write /nonexistent/run.html") < said.index("no report: "), "no warning at start: " + said)
said = run([], 2, "named", PACKWRIGHT_TRACE="/nonexistent/types.ddt")
check(said.count("PACKWRIGHT_TRACE: cannot write /nonexistent/types.ddt") == 1, "no warning of a trace at start: " + said)
check(sorted(os.listdir(options.work)) == ["run.html", "run.json"], "files: %s" % os.listdir(options.work))
