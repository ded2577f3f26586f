"""A cache that `packwright compile --gpu` has filled serves a run without NVRTC, and holds what the run would compile.

usage: seeded.py PACKWRIGHT PROGRAM DRIVER NVRTC-MODULE FOLDER LAUNCHER...

DRIVER is the stand-in, or - for a GPU's. What is in FOLDER goes. Exits 77, for "skipped", when the program does.
"""
import os
import re
import shutil
import subprocess
import sys

packwright, program, driver, module, folder = sys.argv[1:6]
launcher = sys.argv[6:]
SKIPPED = 77
NO_NVRTC = os.path.join(folder, "no-nvrtc.so")
types = os.path.join(folder, "types.ddt")
failures = []


def check(good, text):
    if not good:
        failures.append(text)


def place(name):
    return os.path.join(folder, name)


def entries(name):
    """File name -> bytes."""
    at = os.path.join(place(name), "v1")
    return {f: open(os.path.join(at, f), "rb").read() for f in os.listdir(at) if f.endswith(".so")} if os.path.isdir(at) else {}


def environment(**more):
    result = {k: v for k, v in os.environ.items() if not k.startswith("PACKWRIGHT_")}
    return {**result, "PACKWRIGHT_LLVM_MODULE": NO_NVRTC, **more}


def run(cache, nvrtc, jit="sync", **more):
    """What the program says, and the kernels that it has had: {"compiled" or "from the disk cache": keys}."""
    done = subprocess.run([*launcher, "-n", "1", program, driver], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT,
                          env=environment(PACKWRIGHT_CACHE_DIR=place(cache), PACKWRIGHT_JIT=jit, PACKWRIGHT_LOG="info",
                                          PACKWRIGHT_HOT_BYTES="1", PACKWRIGHT_STATS="all", PACKWRIGHT_NVRTC_MODULE=nvrtc, **more))
    if done.returncode == SKIPPED:
        print(done.stdout)
        sys.exit(SKIPPED)
    check(done.returncode == 0, "%s: the program has failed:\n%s" % (cache, done.stdout))
    had = {"compiled": set(), "from the disk cache": set()}
    for key, origin in re.findall(r"kernel ([0-9a-f]{32}) (compiled|from the disk cache)", done.stdout):
        had[origin].add(key + ".so")
    return done.stdout, had


def fill(cache, gpus, what=types):
    """The entries that it says it has made."""
    done = subprocess.run([packwright, "compile", "--cache=" + place(cache), "--gpu=" + gpus, what], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=environment(PACKWRIGHT_NVRTC_MODULE=module))
    check(done.returncode == 0, "packwright compile has failed:\n" + done.stdout)
    return {key + ".so" for key in re.findall(r"^([0-9a-f]{32})  sm_", done.stdout, flags=re.M)}


for needed in packwright, program:
    if not os.access(needed, os.X_OK):
        sys.exit("there is no program " + needed)
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
# Where no kernels lie beside it, as they do beside the one that is built with them.
os.symlink(os.path.abspath(module), place("nvrtc.so"))
module = place("nvrtc.so")

# What the run compiles by itself, and its types.
text, had = run("own", module, PACKWRIGHT_TRACE=types)
own = entries("own")
check(had["compiled"] == set(own), "the log has other kernels than the cache: %s, %s" % (had, sorted(own)))
check(not had["from the disk cache"], "an empty cache had kernels")
check("GPU kernel compiled by 1 of 1 ranks" in text, "not in the statistics: " + text)
gpus = set(re.findall(r"GPU \d+ \((sm_\d+)\): kernel", text))
check(len(gpus) == 1, "not one kind of GPU: %s" % gpus)
gpu = gpus.pop() if gpus else "sm_90"
another = "sm_80" if gpu != "sm_80" else "sm_90"
whatever = fill("whatever", gpu, "int")  # tier 0, several transfers, pairs
check(len(whatever) == 5 and whatever < set(own), "not every kind of kernel was asked for: " + text)

# The same, ahead of time.
printed = fill("seeded", another + "," + gpu)
seeded = entries("seeded")
check(printed == set(seeded), "not the entries that were printed: %s, %s" % (sorted(printed), sorted(seeded)))
for name, data in own.items():
    check(name in seeded, "%s was compiled by the run only" % name)
    check(seeded.get(name) == data, "%s is another kernel" % name)

# Every kernel from there, no compiler.
for jit in "sync", "async":
    text, had = run("seeded", NO_NVRTC, jit)
    check(not had["compiled"] and "no nvrtc compiler" not in text, "%s: NVRTC was asked for: %s" % (jit, text))
    check(had["from the disk cache"] <= set(seeded), "%s: kernels from nowhere: %s" % (jit, had))
    if jit == "sync":
        check(had["from the disk cache"] == set(own), "not the kernels of the first run: %s, %s" % (had, sorted(own)))
        check("GPU kernel from the disk cache in 1 of 1 ranks" in text and "GPU kernel compiled" not in text,
              "not in the statistics: " + text)
check(entries("seeded") == seeded, "the runs have changed the cache")

# Those that come with the library are taken where the cache has none: what serves all layouts, without a compiler, and is
# not stored again.
os.makedirs(place("installed"))
shutil.copytree(place("whatever"), os.path.join(place("installed"), "packwright-kernels"))
text, had = run("empty", os.path.join(place("installed"), "no-nvrtc.so"))
check(had["from the disk cache"] == set(whatever), "not the kernels that came with the library: %s, %s" % (had, sorted(whatever)))
check(not had["compiled"] and not entries("empty"), "the cache has entries: %s" % sorted(entries("empty")))

# Kernels for another GPU do not serve.
fill("other", another)
text, had = run("other", NO_NVRTC)
check("no nvrtc compiler" in text and not had["from the disk cache"], "kernels of " + another + " were taken: " + text)

print("\n".join(failures) or "passed: %d kernels asked for, %d in the cache" % (len(own), len(seeded)))
sys.exit(bool(failures))
