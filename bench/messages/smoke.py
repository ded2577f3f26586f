"""Runs bench/messages quickly on some rows and looks at what it says: the arguments are the command without options.

No time is checked, only that ours and native left the same data (the program's exit status) and that the CSV is whole.
"""
import csv
import os
import subprocess
import sys
import tempfile

MODES = ["ping-pong", "fresh", "stream", "overlap", "in-flight", "alltoall", "neighbours"]
# bytes and block of the rows, and the modes that are run
ROWS = {
    "Stride8 32K": (32768, 8, MODES),
    "Edge 480": (480, 40, MODES),
    "FaceX 512K": (524288, 8, ["ping-pong", "in-flight"]),
    "FaceY 256K": (262144, 2048, ["ping-pong", "in-flight"]),
}
TIMES = ["native_least", "native_median", "ours_least", "ours_median", "hand_least", "contiguous_least", "packed_least", "ratio_least",
         "stores_before", "stores_after"]


def run(command, row, modes):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "messages.csv")
        done = subprocess.run(command + ["--quick", "--own", "--strategies", "--filter", row, "--mode", ",".join(modes), "--csv", path])
        if done.returncode != 0:
            sys.exit(f"{row}: the program ended with {done.returncode}")
        with open(path, newline="") as f:
            return list(csv.DictReader(f))


def main():
    for name, (size, block, modes) in ROWS.items():
        rows = run(sys.argv[1:], name, modes)
        if [row["mode"] for row in rows] != modes:
            sys.exit(f"{name}: not one row for each mode: {rows}")
        for row in rows:
            if int(row["bytes"]) != size or float(row["block"]) != block or int(row["ranks"]) != 2:
                sys.exit(f"{name}: another message than was asked for: {row}")
            for column in TIMES:
                if not float(row[column]) > 0:
                    sys.exit(f"{name}: {column} is not a time: {row}")


main()
