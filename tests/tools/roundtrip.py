"""Inspects a file, inspects what was printed, and compares: roundtrip.py PACKWRIGHT FILE TYPES [--stage=STAGE]."""
import subprocess
import sys

packwright, file, types = sys.argv[1], sys.argv[2], int(sys.argv[3])
stage = sys.argv[4] if len(sys.argv) > 4 else "--stage=ddt"


def inspect(option, **source):
    path = [source["path"]] if "path" in source else ["-"]
    run = subprocess.run([packwright, "inspect", option] + path, input=source.get("text"), text=True,
                         stdout=subprocess.PIPE, check=True)
    return run.stdout


def types_only(text):
    """Headings name the entries of the file at hand."""
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def hashes(text):
    return [line.split()[:3] for line in text.splitlines()]


printed = inspect(stage, path=file)
again = inspect(stage, text=printed)
if types_only(printed) != types_only(again):
    sys.exit("printed again, the text of %s differs" % file)
want, got = hashes(inspect("--hash", path=file)), hashes(inspect("--hash", text=printed))
if len(want) != types:
    sys.exit("%s holds %d types, expected %d" % (file, len(want), types))
for i, (a, b) in enumerate(zip(want, got)):
    if a != b:
        sys.exit("%s, type %d: hashes %s, those of its printed form %s" % (file, i, a, b))
if len(want) != len(got):
    sys.exit("%d types came back of %d" % (len(got), len(want)))
