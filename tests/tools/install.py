#!/usr/bin/env python3
"""Installs the build, with a prefix and with DESTDIR, and uses what was installed."""
import argparse
import os
import shutil
import subprocess
import sys


def run(command, **variables):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=dict(os.environ, **variables))
    print("+ %s\n%s" % (" ".join(command), done.stdout), flush=True)
    if done.returncode:
        sys.exit("status %d" % done.returncode)
    return done.stdout


def expect(condition, what):
    if not condition:
        sys.exit("expected: " + what)


def parse_arguments():
    parser = argparse.ArgumentParser()
    for name in ["cmake", "build", "work", "prefix", "bindir", "libdir", "docdir", "version", "pkg-config", "compiler",
                 "sample", "mpicc"]:
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--library", action="append", default=[])
    return parser.parse_args([a for a in sys.argv[1:] if a])


def package(mpi):
    return "packwright-" + mpi


def interposer(mpi):
    return "lib" + package(mpi) + ".so"


def mpis(options):
    return [mpi for mpi in ("mpich", "openmpi") if interposer(mpi) in options.library]


def check_files(options, root):
    for path in [os.path.join(options.bindir, "packwright"),
                 os.path.join(options.docdir, "README.md"), os.path.join(options.docdir, "LICENSE"),
                 os.path.join(options.docdir, "docs", "ir.md")] + [os.path.join(options.libdir, l) for l in options.library] + [
                 os.path.join(options.libdir, "pkgconfig", package(mpi) + ".pc") for mpi in mpis(options)]:
        expect(os.path.exists(os.path.join(root, path)), "%s in %s" % (path, root))


def check_pkg_config(options, prefix, mpi):
    path = os.path.join(prefix, options.libdir, "pkgconfig")

    def ask(*what):
        return run([options.pkg_config, *what, package(mpi)], PKG_CONFIG_PATH=path).split()

    expect(ask("--modversion") == [options.version], "the version")
    expect("-l" + package(mpi) in ask("--libs"), "the interposer among the libraries")
    expect(os.path.samefile(ask("--variable=preload")[0], os.path.join(prefix, options.libdir, interposer(mpi))),
           "the preload path")
    return ask("--libs")


def check_linked_program(options, prefix, libs):
    """By link order instead of LD_PRELOAD: the same source, linked to the interposer first."""
    program = os.path.join(options.work, "transpose")
    libdir = os.path.join(prefix, options.libdir)
    words = run([options.mpicc, "-show"]).split()[1:]
    flags = [w for w in words if w.startswith("-I")]
    run([options.compiler, *flags, options.sample, "-o", program, *libs, "-Wl,-rpath," + libdir, *words])
    out = run([program, "--n=64", "--iterations=1", "--mode=pack"], PACKWRIGHT_STATS="1", PACKWRIGHT_JIT="off")
    expect("transpose: verified" in out and "packwright:" in out, "a verified run, and statistics")


def main():
    options = parse_arguments()
    shutil.rmtree(options.work, ignore_errors=True)
    prefix, destdir = os.path.join(options.work, "prefix"), os.path.join(options.work, "destdir")
    run([options.cmake, "--install", options.build], DESTDIR=destdir)
    check_files(options, destdir + options.prefix)
    run([options.cmake, "--install", options.build, "--prefix", prefix])
    check_files(options, prefix)
    packwright = os.path.join(prefix, options.bindir, "packwright")
    out = run([packwright, "version"])
    expect("packwright " + options.version in out, "the version")
    for library in options.library:
        expect(os.path.join(prefix, "lib") in out or os.path.join(prefix, options.libdir) in out,
               "%s found beside the installed command" % library)
    out = run([sys.executable, "-c", "import packwright; print(packwright.Type('vec(3 1 2)[int]').size, packwright.__version__)"],
              PYTHONPATH=os.path.join(prefix, "share", "packwright", "python"),
              PATH=os.path.dirname(packwright) + os.pathsep + os.environ["PATH"])
    expect(out.split() == ["12", options.version], "the Python package")
    if options.pkg_config and "NOTFOUND" not in options.pkg_config:
        for mpi in mpis(options):
            libs = check_pkg_config(options, prefix, mpi)
            if mpi == "mpich":
                check_linked_program(options, prefix, libs)


main()
