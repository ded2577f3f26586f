#!/usr/bin/env python3
"""deb.py --cpack CPACK --build DIR --work DIR --version V [--library NAME ...]: makes the DEB package and looks into it."""
import argparse
import shutil
import subprocess
import sys
from pathlib import Path


def run(*command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout}")
    return done.stdout


def expect(condition, what):
    if not condition:
        sys.exit(f"expected: {what}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("cpack", "build", "work", "version"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--library", action="append", default=[])
    options = parser.parse_args([a for a in sys.argv[1:] if a])
    work = Path(options.work)
    shutil.rmtree(work, ignore_errors=True)
    # Little compression: only the content is looked at.
    run(options.cpack, "--config", Path(options.build) / "CPackConfig.cmake", "-G", "DEB", "-B", work,
        "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip", "-D", "CPACK_STRIP_FILES=OFF")
    packages = list(work.glob("*.deb"))
    expect(len(packages) == 1, f"one package, not {packages}")
    for field in ("Package: packwright", f"Version: {options.version}", "Maintainer: ", "Depends: libc6", "Description: "):
        expect(field in run("dpkg-deb", "--info", packages[0]), field)
    files = [line.split()[5] for line in run("dpkg-deb", "--contents", packages[0]).splitlines()]
    wanted = ["bin/packwright", "share/man/man1/packwright.1.gz", "share/man/man3/packwright.3.gz", "share/doc/packwright/copyright", "share/lintian/overrides/packwright",
              "share/doc/packwright/CHANGELOG.md", "share/doc/packwright/changelog.gz", "share/packwright/python/packwright/__init__.py",
              *("lib/" + library for library in options.library)]
    for name in wanted:
        expect("./usr/" + name in files, f"/usr/{name} among the files")
    expect(not [f for f in files if "test" in f], "no tests among the files")
    expect(all(f.startswith("./usr/") or f == "./" for f in files), "all files below /usr")
    print(f"{len(files)} files")


main()
