#!/usr/bin/env python3
"""Installs the build, moves the installation, and builds and runs projects outside of the tree with it."""
import argparse
import os
import re
import shutil
import subprocess
import sys
import time


def run(command, expect_failure=False, **options):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          **options)
    print("+ %s\n%s" % (" ".join(command), done.stdout), flush=True)
    if bool(done.returncode) != expect_failure:
        sys.exit("status %d" % done.returncode)
    return done.stdout


def expect(condition, what):
    if not condition:
        sys.exit("expected: " + what)


def expect_verified(program, name=None, **environment):
    """Runs a program with nothing in its environment but HOME, where a kernel cache may be."""
    out = run([program], env=dict({"HOME": os.path.dirname(program)}, **environment), cwd=os.path.dirname(program))
    expect(re.search(r"^%s: verified" % (name or os.path.basename(program)), out, re.M), "a verified run")


def parse_arguments():
    parser = argparse.ArgumentParser()
    for name in ["cmake", "build", "source", "work", "libdir", "compiler", "version", "types"]:
        parser.add_argument("--" + name, required=True)
    for name in ["fortran", "mpicc", "pkg-config", "make", "ninja"]:
        parser.add_argument("--" + name)
    return parser.parse_args()


def install(options):
    """The installation is found where it was moved to, not where it was put first."""
    shutil.rmtree(options.work, ignore_errors=True)
    first, prefix = os.path.join(options.work, "first"), os.path.join(options.work, "the prefix")
    run([options.cmake, "--install", options.build, "--prefix", first])
    os.rename(first, prefix)
    return prefix


def check_library(options, prefix):
    """Neither an MPI, a compiler nor a GPU's libraries are needed."""
    out = run(["readelf", "-d", os.path.join(prefix, options.libdir, "libpackwright.so")])
    needed = re.findall(r"\(NEEDED\).*\[(.*?)\]", out)
    expect(all(re.match(r"(libc|libm|libdl|libpthread|librt|ld-linux.*)\.so", name) for name in needed),
           "libraries of the system's C library only, not " + " ".join(needed))
    expect("[libpackwright.so.1]" in out, "a SONAME with the version of the ABI")


# ---- CMake ---------------------------------------------------------------------------------------------------------


class Project:
    """The project outside, configured with the installation."""

    def __init__(self, options, prefix, generator, tool):
        self.cmake, self.directory = options.cmake, os.path.join(options.work, generator.replace(" ", "-").lower())
        source = os.path.join(options.source, "tests", "library", "install", "outside")
        self.configure = [options.cmake, "-G", generator, "-DCMAKE_MAKE_PROGRAM=" + tool, "-S", source, "-B", self.directory,
                          "-DCMAKE_C_COMPILER=" + options.compiler, "-DCMAKE_PREFIX_PATH=" + prefix,
                          "-DSAMPLES=" + os.path.join(options.source, "samples"), "-DWITH_TYPES=" + options.types]
        if options.fortran:
            self.configure += ["-DWITH_FORTRAN=ON", "-DCMAKE_Fortran_COMPILER=" + options.fortran]

    def make(self, *arguments, **how):
        return run([self.cmake, "--build", self.directory, "--parallel", "2", *arguments], **how)

    def path(self, name):
        return os.path.join(self.directory, name)


def check_project(options, project):
    run(project.configure)
    project.make()
    expect_verified(project.path("halo"))
    expect_verified(project.path("halo"), PACKWRIGHT_LLVM_MODULE="/nonexistent", PACKWRIGHT_JIT="sync", PACKWRIGHT_LOG="error")
    expect_verified(project.path("halo"), PACKWRIGHT_JIT="sync")
    if options.fortran:
        expect_verified(project.path("restart"))
    if options.types == "1":
        expect_verified(project.path("checkpoint"))
        expect_verified(project.path("columns"))
        check_rebuild(project)


def check_rebuild(project):
    """A build after a build compiles no types; a changed file does, and so does a wrong one, which is reported."""
    quiet = project.make()
    expect("Compiling the types" not in quiet, "nothing to do")
    ddt = project.path("field.ddt")
    text = open(ddt).read()
    write_later(ddt, text.replace("NX = 48", "NX = 47"))
    out = project.make(expect_failure=True)
    expect("Compiling the types" in out and "field_is_the_layout" in out, "a program that notices the change")
    write_later(ddt, text.replace("sub(", "sup("))
    out = project.make(expect_failure=True)
    expect(re.search(r"field\.ddt:\d+:\d+: ", out), "the place of the mistake")
    write_later(ddt, text)
    project.make()
    expect_verified(project.path("checkpoint"))


def write_later(path, text):
    """Makefiles compare times."""
    time.sleep(0.05)
    with open(path, "w") as file:
        file.write(text)


MISTAKES = {
    "component": r"This installation of Packwright has no component 'cobol'",
    "target": r"packwright_add_types: 'nothing' is not a target",
    "imported": r"packwright_add_types: 'Packwright::packwright' must be an executable",
    "file": r"packwright_add_types: there is no file .*absent\.ddt",
    "none": r"packwright_add_types: no file of types was given for the target 'halo'",
    "twice": r"packwright_add_types: 'halo' already has types of a file field\.ddt",
    "elsewhere": r"packwright_add_types: call it in the directory of the target 'halo'",
}


def check_mistakes(project):
    for mistake, message in MISTAKES.items():
        out = run(project.configure + ["-DMISTAKE=" + mistake], expect_failure=True)
        expect(re.search(message, " ".join(out.split())), "a message that says " + message)


# ---- pkg-config ----------------------------------------------------------------------------------------------------


def check_pkg_config(options, prefix):
    libdir = os.path.join(prefix, options.libdir)

    def ask(package, *what):
        out = run([options.pkg_config, *what, package], env=dict(os.environ, PKG_CONFIG_PATH=os.path.join(libdir, "pkgconfig")))
        return [word.replace("\\ ", " ") for word in re.findall(r"(?:\\ |\S)+", out)]

    def build(compiler, package, source, *flags):
        program = os.path.join(options.work, os.path.splitext(os.path.basename(source))[0])
        run([compiler, *flags, *ask(package, "--cflags"), source, "-o", program, *ask(package, "--libs"),
             "-Wl,-rpath," + libdir])
        return program

    expect(ask("packwright", "--modversion") == [options.version], "the version")
    command = ask("packwright", "--variable=command")[0]
    expect("packwright " + options.version in run([command, "version"]), "the command")
    samples = os.path.join(options.source, "samples", "library")
    expect_verified(build(options.compiler, "packwright", os.path.join(samples, "halo.c"), "-std=c99", "-Wall", "-Werror"))
    if options.fortran:
        expect_verified(build(options.fortran, "packwright-fortran", os.path.join(samples, "restart.f90"), "-std=f2018"))
    if options.mpicc:
        outside = os.path.join(options.source, "tests", "library", "install", "outside")
        expect_verified(build(options.mpicc, "packwright-mpi-mpich", os.path.join(outside, "from_mpi.c")))


def main():
    options = parse_arguments()
    prefix = install(options)
    check_library(options, prefix)
    projects = [Project(options, prefix, generator, tool) for generator, tool in
                [("Ninja", options.ninja), ("Unix Makefiles", options.make)] if tool]
    for project in projects:
        check_project(options, project)
    check_mistakes(projects[0])
    if options.pkg_config:
        check_pkg_config(options, prefix)


main()
