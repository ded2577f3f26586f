"""Reports of a run: report.py --packwright=P --program=P --work=DIR -- MPIEXEC."""
import argparse
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys

arguments = argparse.ArgumentParser()
for name in "packwright", "program", "work":
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
                          cwd=options.work, env={**env, **more})
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
for key in "time_seconds", "native_seconds", "saved_seconds", "packing_seconds":
    check(near(total[key], sum(t[key] for t in types)) and near(total[key], sum(r[key] for r in by_rank)), "sums of " + key)
check(near(total["native_seconds"], total["time_seconds"] + total["saved_seconds"]), "what was saved")
check(0 < total["time_seconds"] and total["elapsed_seconds"] == max(r["elapsed_seconds"] for r in by_rank), "the times")
check([t["time_seconds"] for t in types] == sorted((t["time_seconds"] for t in types), reverse=True), "types are not by time")

named = [t for t in types if t["name"]]
check(len(named) == 1 and named[0]["name"] == "column <left & right>, twin", "the names: %s" % [t["name"] for t in types])
check("hvec(64 1 512)" in named[0]["ddt"], "the type's text: " + named[0]["ddt"])
check(named[0]["sends"] == {"packed": 40} and named[0]["receives"] == {"packed": 40}, "sends and receives")
spread = named[0]["ranks"]
check(spread["count"] == 2 and 0 < spread["least_seconds"] <= spread["most_seconds"] and spread["slowest"] in (0, 1), "the spread")
check(near(spread["least_seconds"] + spread["most_seconds"], named[0]["time_seconds"]), "the sum of two ranks")
choice, = named[0]["choices"]
check(choice["kind"] == "blocking" and choice["mostly"] == "packed", "the choice")
check(choice["more_than_bytes"] < 512 <= choice["up_to_bytes"], "the range of sizes")
check(choice["strategies"]["packed"]["messages"] == 80, "messages of the choice")
check(choice["strategies"]["native"]["estimated_seconds"] > 0, "the reason")

# ---- page


class Page(html.parser.HTMLParser):
    """Checks that elements are closed in order, and keeps the text."""
    open_ended = {"meta", "br"}

    def __init__(self):
        super().__init__()
        self.stack, self.text = [], ""

    def handle_starttag(self, tag, attrs):
        check(tag not in ("script", "link", "img", "iframe"), "the page is not self-contained: " + tag)
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
check("url(" not in text and "@import" not in text, "the page loads something")
page = Page()
page.feed(text)
check(page.stack == [], "elements are left open: %s" % page.stack)
for t in types:
    check(t["ddt"] in page.text, "the page lacks " + t["ddt"])
for part in "column <left & right>, twin", "160 messages", "2 ranks", "40 packed sends", data["mpi"], "because":
    check(part in page.text, "the page lacks " + part)

# ---- a screen at most, by time, and all

said = run(["--stats", "--strategy=packed"], 1, "many")
lines = [line for line in said.splitlines() if line.startswith("packwright:")]
rows = [line.split() for line in lines if re.match(r"packwright: +[\d.]+ [num]?s ", line)]
check(len(lines) <= 24 and len(rows) == 15, "the table has %d lines, %d rows:\n%s" % (len(lines), len(rows), said))
check(all(len(line) <= 120 for line in lines), "a line is longer than 120 columns:\n" + said)
units = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
times = [float(row[1]) * units[row[2]] for row in rows]
check(times == sorted(times, reverse=True), "the table is not by time:\n" + said)
check("and 25 more, 0 of them never used; PACKWRIGHT_STATS=all" in said, "the rest is not told:\n" + said)
check(run(["--stats=all", "--strategy=packed"], 1, "many").count(" each; packed 50, unpacked 0 times") == 40, "--stats=all does not show all")

# ---- a program in a locale whose numbers have commas

places = os.path.join(options.work, "locales")
os.mkdir(places)
if shutil.which("localedef") and subprocess.run(["localedef", "--no-archive", "-i", "de_DE", "-f", "UTF-8",
                                                 os.path.join(places, "de_DE.UTF-8")]).returncode == 0:
    said = run(["--report=german.json", "--stats", "--strategy=packed"], 2, "named", LOCPATH=places, LC_ALL="de_DE.UTF-8")
    check(json.load(open(os.path.join(options.work, "german.json")))["total"]["time_seconds"] > 0, "the times")
    check(not re.search(r"\d,\d+ (GB/s|[num]?s)", said), "the table has other numbers:\n" + said)
    os.remove(os.path.join(options.work, "german.json"))
shutil.rmtree(places)

# ---- what cannot be written

said = run([], 2, "named", PACKWRIGHT_REPORT="run.pdf")
check(said.count("PACKWRIGHT_REPORT=run.pdf: the name must end with .html or .json") == 1, "no error at start: " + said)
said = run([], 2, "named", PACKWRIGHT_REPORT="/nonexistent/run.html")
check(said.count("warning: no report: ") == 1 and "/nonexistent" in said, "no warning: " + said)
check(said.index("PACKWRIGHT_REPORT: cannot write /nonexistent/run.html") < said.index("no report: "), "no warning at start: " + said)
said = run([], 2, "named", PACKWRIGHT_TRACE="/nonexistent/types.ddt")
check(said.count("PACKWRIGHT_TRACE: cannot write /nonexistent/types.ddt") == 1, "no warning of a trace at start: " + said)
check(sorted(os.listdir(options.work)) == ["run.html", "run.json"], "files: %s" % os.listdir(options.work))
