#!/usr/bin/env python3
"""facts.py ROOT: do the files for packages say what the build says? The version of project() in CMakeLists.txt is the newest in
CHANGELOG.md, CITATION.cff and the Spack recipe; what the recipe and pyproject.toml define are options that CMake knows. The
recipe is run with stand-ins for what it needs of Spack."""
import re
import sys
import types
from pathlib import Path

ROOT = Path(sys.argv[1])
wrong = []


def expect(condition, what):
    if not condition:
        wrong.append(what)


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def options_of_cmake():
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "cmake").glob("*.cmake"))
    text += read("codegen/nvrtc/shipped.cmake")
    known = set(re.findall(r"option\((\w+)", text)) | set(re.findall(r"set\((\w+) [^()]*CACHE", text))
    return known | set(re.findall(r"find_program\((\w+)", text)) | {"CMAKE_INSTALL_LIBDIR"}


class Spec(dict):
    """What a recipe asks of a spec: which variants it has, and what it depends on."""

    def __init__(self, variants):
        super().__init__(mpi=types.SimpleNamespace(mpicc="/mpi/bin/mpicc"),
                         llvm=types.SimpleNamespace(prefix=types.SimpleNamespace(bin="/llvm/bin")))
        self.variants = variants

    def satisfies(self, condition):
        return condition[1:] in self.variants


class CMakePackage:
    prefix = "/prefix"

    @staticmethod
    def define(name, value):
        return name, value


def load_recipe():
    """Runs the recipe; returns its class and what its directives said."""
    said = {name: [] for name in ("license", "version", "variant", "depends_on", "conflicts")}
    module = types.ModuleType("spack.package")
    build_systems = types.ModuleType("spack_repo.builtin.build_systems.cmake")
    build_systems.CMakePackage = CMakePackage
    module.join_path = lambda *parts: "/".join(parts)
    for name, calls in said.items():
        setattr(module, name, lambda *args, _calls=calls, **options: _calls.append((args, options)))
    sys.modules.update({"spack.package": module, build_systems.__name__: build_systems})
    for name in ("spack", "spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
        sys.modules[name] = types.ModuleType(name)
    names = {}
    exec(compile(read("packaging/spack/package.py"), "package.py", "exec"), names)
    return names["Packwright"], said


def check_recipe(version, known):
    recipe, said = load_recipe()
    expect(any(args == (version,) for args, _ in said["version"]), f"packaging/spack/package.py: version {version}")
    variants = [args[0] for args, _ in said["variant"]]
    for _, options in said["depends_on"]:
        expect(options.get("when", "+mpi").strip("+") in variants, f"a dependency of a variant that there is: {options}")
    for chosen in (variants, [], ["mpi"], ["llvm"]):
        package = recipe()
        package.spec = Spec(chosen)
        defined = dict(package.cmake_args())
        expect(defined["PACKWRIGHT_MPI"] == ("/mpi/bin/mpicc" if "mpi" in chosen else "OFF"), "the recipe's MPI")
        expect(("LLVM_CONFIG" in defined) == ("llvm" in chosen), "the recipe's LLVM")
        environment = {}
        package.setup_run_environment(types.SimpleNamespace(prepend_path=environment.__setitem__))
        expect(environment == {"PYTHONPATH": "/prefix/share/packwright/python"}, "the recipe's environment")
        for name in defined:
            expect(name in known, f"packaging/spack/package.py defines {name}, which CMake does not know")


def check_pyproject(known):
    defines = read("pyproject.toml").partition("[tool.scikit-build.cmake.define]")[2]
    names = re.findall(r"^(\w+) = ", defines, re.M)
    expect(names, "definitions in pyproject.toml")
    for name in names:
        expect(name in known, f"pyproject.toml defines {name}, which CMake does not know")


def main():
    version = re.search(r"project\(packwright VERSION ([0-9.]+)", read("CMakeLists.txt")).group(1)
    known = options_of_cmake()
    expect(re.search(r"^## (\S+?),", read("CHANGELOG.md"), re.M).group(1) == version, f"CHANGELOG.md: {version} first")
    expect(re.search(r"^version: (\S+)", read("CITATION.cff"), re.M).group(1) == version, f"CITATION.cff: {version}")
    for page in (ROOT / "docs" / "man").iterdir():
        expect(not re.search(r"^\.TH.*[0-9]\.[0-9]", page.read_text(encoding="utf-8"), re.M), f"{page.name}: no version of its own")
    check_recipe(version, known)
    check_pyproject(known)
    for what in wrong:
        print("expected:", what)
    sys.exit(1 if wrong else 0)


main()
