"""Runs bench/messages quickly on one layout and looks at what it says: the arguments are the command without options.

No time is judged, only that ours and native left the same data (the program's exit status) and that the CSV is whole.
"""
import csv
import os
import subprocess
import sys
import tempfile

MODES = ["ping-pong", "fresh", "in-flight", "alltoall", "neighbours"]


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "messages.csv")
        done = subprocess.run(sys.argv[1:] + ["--quick", "--filter", "Stride8 32K", "--csv", path])
        if done.returncode != 0:
            sys.exit(f"the program ended with {done.returncode}")
        with open(path, newline="") as f:
            rows = list(csv.DictReader(f))
    if [row["mode"] for row in rows] != MODES:
        sys.exit(f"not one row for each mode: {rows}")
    for row in rows:
        if int(row["bytes"]) != 32768 or float(row["block"]) != 8 or int(row["ranks"]) != 2:
            sys.exit(f"another message than was asked for: {row}")
        for column in ("native_least", "native_median", "ours_least", "ours_median", "hand_least", "contiguous_least", "moved_least",
                       "ratio_least", "stores_before", "stores_after"):
            if not float(row[column]) > 0:
                sys.exit(f"{column} is not a time: {row}")


main()
