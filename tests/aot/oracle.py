#!/usr/bin/env python3
"""Random types through `packwright compile` and a C compiler, and then against their typemaps, on this machine or under qemu.

Status 77: a tool that is needed is not installed.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys


def run(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print("+ %s\n%s" % (" ".join(command), done.stdout[-4000:]), flush=True)
    if done.returncode:
        sys.exit("status %d" % done.returncode)
    return done.stdout


def need(tool):
    if not tool or not shutil.which(tool):
        print("SKIPPED: %s is not installed" % (tool or "a compiler"))
        sys.exit(77)
    return tool


def check_undefined(path):
    """Nothing may be wanted of the outside."""
    for line in run("readelf", "-Ws", path).splitlines():
        match = re.search(r" UND +(\S+)", line)
        if match:
            sys.exit("%s needs the symbol %s" % (path, match.group(1)))


def check_header(cc, cxx):
    """The header stands for itself, in the oldest C and C++ that have its types."""
    strict = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"]
    with open("header.c", "w") as f:
        f.write('#include "types.h"\n#include "types.h"\nextern char wide[t1_SIZE >= 0 ? 1 : -1];\nextern char wide[1];\n')
    run(cc, "-std=c99", *strict, "header.c")
    if cxx:
        run(cxx, "-std=c++11", *strict, "-x", "c++", "header.c")


def main():
    parser = argparse.ArgumentParser()
    for name in ["writer", "packwright", "driver", "work", "cc", "kind", "target", "cpu", "types", "seed"]:
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--cxx")
    parser.add_argument("--emulator", help="program, and the root of its libraries, separated by a comma")
    o = parser.parse_args()
    o.driver = os.path.abspath(o.driver)
    cc = need(o.cc)
    emulator = [need(o.emulator.split(",")[0]), "-L", o.emulator.split(",")[1]] if o.emulator else []

    shutil.rmtree(o.work, ignore_errors=True)
    os.makedirs(o.work)
    os.chdir(o.work)
    print("seed %s" % o.seed)
    run(o.writer, ".", o.seed, o.types)
    output = "types." + o.kind
    said = run(o.packwright, "compile", "types.ddt", "-o", output, "--header=types.h", "--target=" + o.target,
               "--target-cpu=" + o.cpu)
    if said:
        sys.exit("a successful compile says nothing")
    if o.kind in ("o", "so"):
        check_undefined(output)
    check_header(cc, o.cxx)
    # clang spells the same target otherwise.
    options = ["-Wno-override-module"] if o.kind == "ll" else []
    run(cc, "-std=gnu11", "-O1", "-Wall", "-Werror", *options, "-I.", o.driver, os.path.abspath(output), "-o", "driver",
        "-Wl,-rpath,$ORIGIN")
    run(*emulator, "./driver", "types.map")


main()
