#!/usr/bin/env python3
"""Runs a sample native and with Packwright: both must verify, and print the same but for the times.

With --kernels, the statistics must say that Packwright packed and unpacked something.
"""
import argparse
import re
import subprocess
import sys


def run(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    print("+ %s\n%s" % (" ".join(command), done.stdout), flush=True)
    if done.returncode:
        sys.exit("status %d" % done.returncode)
    if not re.search(r"^\w+: verified$", done.stdout, re.M):
        sys.exit("not verified")
    if re.search(r"^packwright(\[\d+\])?: (warning|error)", done.stdout, re.M):
        sys.exit("Packwright complained")
    lines = [line for line in done.stdout.splitlines() if re.match(r"\w+: ", line)]
    return sorted(line for line in lines if "_us" not in line and not line.startswith("packwright: ")), done.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--packwright", required=True)
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--ranks", required=True)
    parser.add_argument("--run-option", action="append", default=[])
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    launch = [options.mpiexec, "-n", options.ranks] + options.command
    native, _ = run(launch)
    ours, text = run([options.packwright, "run", "--stats"] + options.run_option + ["--"] + launch)
    if native != ours:
        sys.exit("the outputs differ:\n%s\n%s" % ("\n".join(native), "\n".join(ours)))
    if options.kernels and not re.search(r"^packwright: .*\b[1-9]\d* packs and unpacks", text, re.M):
        sys.exit("the statistics tell of no packing")


main()
