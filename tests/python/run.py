#!/usr/bin/env python3
"""Runs the tests of the Python package with pytest on a build's library, with a kernel cache of their own.

    tests/python/run.py --build=build --work=DIR [--driver=DIR] [ARGUMENTS OF PYTEST]

--driver: only the tests of GPU memory, with the stand-ins for the CUDA driver and its compiler that are in this directory.

Exit status 77: NumPy or pytest is not there.
"""
import argparse
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SKIPPED = 77


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--build", required=True, type=Path)
    options.add_argument("--work", required=True, type=Path)
    options.add_argument("--driver", type=Path)
    options, arguments = options.parse_known_args()
    missing = [name for name in ("numpy", "pytest") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"SKIPPED: no {' and no '.join(missing)} (packages python3-numpy, python3-pytest)")
        return SKIPPED
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    build = options.build.resolve()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PACKWRIGHT_")}
    environment.update(
        PATH=f"{build / 'bin'}:{environment.get('PATH', '')}",
        PYTHONPATH=str(ROOT / "python"),
        PYTHONDONTWRITEBYTECODE="1",
        OPENBLAS_NUM_THREADS="1",
        PACKWRIGHT_CACHE_DIR=str(work / "cache"),
    )
    tests = HERE
    if options.driver:
        driver = options.driver.resolve()
        environment.update(LD_LIBRARY_PATH=str(driver), PACKWRIGHT_NVRTC_MODULE=str(driver / "libpw_fake_nvrtc.so"), PACKWRIGHT_CACHE="0",
                           PACKWRIGHT_JIT="sync", PW_TEST_GPU="1")
        tests = HERE / "test_cuda.py"
    # -r s: says what is skipped, and why.
    return subprocess.run([sys.executable, "-m", "pytest", "-q", "-r", "s", "-p", "no:cacheprovider", str(tests), *arguments],
                          env=environment, cwd=work, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
