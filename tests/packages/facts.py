#!/usr/bin/env python3
"""facts.py ROOT: do the files for packages say what the build says? The version of project() in CMakeLists.txt is the newest in
CHANGELOG.md, CITATION.cff and the recipes; what the recipes and pyproject.toml define are options that CMake knows. Spack's
recipe is run with stand-ins for what it needs of Spack. The two environment modules say the same, and name folders and variables
that there are."""
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


def check_conda(version, known):
    recipe = read("packaging/conda/recipe.yaml")
    expect(f"\n  version: {version}\n" in recipe, f"packaging/conda/recipe.yaml: version {version}")
    names = re.findall(r"-D(\w+)=", recipe)
    expect(names, "definitions in packaging/conda/recipe.yaml")
    for name in names:
        expect(name in known, f"packaging/conda/recipe.yaml defines {name}, which CMake does not know")


def check_pyproject(known):
    defines = read("pyproject.toml").partition("[tool.scikit-build.cmake.define]")[2]
    names = re.findall(r"^(\w+) = ", defines, re.M)
    expect(names, "definitions in pyproject.toml")
    for name in names:
        expect(name in known, f"pyproject.toml defines {name}, which CMake does not know")


MODULES = {
    "packwright.lua.in": (r'^(prepend|append)_path\("(\w+)", (?:(prefix)|pathJoin\(prefix, "([^"]*)"\)|(""))\)', r'^local prefix = "@PREFIX@"$',
                          r'^-- setenv\("(\w+)", pathJoin\(prefix, "([^"]*)"\)\)$'),
    "packwright.tcl.in": (r'^(prepend|append)-path (\w+) (?:"\$(prefix)"|"\$prefix/([^"]*)"|(""))', r'^set prefix "@PREFIX@"$',
                          r'^# setenv (\w+) "\$prefix/([^"]*)"$'),
}


def installed_folders():
    """The folders that CMake installs to, below a prefix, with the names that GNUInstallDirs gives them by default."""
    names = {"BINDIR": "bin", "LIBDIR": "lib", "INCLUDEDIR": "include", "DATADIR": "share", "MANDIR": "share/man"}
    files = [*(ROOT / "cmake").glob("*.cmake"), ROOT / "tools/CMakeLists.txt", ROOT / "runtime/engine/CMakeLists.txt"]
    text = "".join(path.read_text(encoding="utf-8") for path in files)
    found = re.findall(r"DESTINATION \${CMAKE_INSTALL_(\w+)}(/[\w/-]+)?", text)
    folders = {"", *(names[name] + rest for name, rest in found if name in names)}
    return folders | {str(parent) for folder in folders for parent in Path(folder).parents}


def check_modules():
    said = {}
    for name, (setting, prefix, commented) in MODULES.items():
        text = read("packaging/modules/" + name)
        where = f"packaging/modules/{name}"
        said[name] = [(how, variable, folder) for how, variable, _, folder, _ in re.findall(setting, text, re.M)]
        lines = re.findall(r"^(?:prepend|append)[_-]path", text, re.M)
        expect(len(lines) == len(said[name]) > 0, f"{where}: a prefix and a folder in each setting")
        expect(len(re.findall(prefix, text, re.M)) == 1, f"{where}: one place for the prefix")
        expect(set(re.findall(r"@\w+@", text)) == {"@PREFIX@", "@VERSION@"}, f"{where}: @PREFIX@ and @VERSION@ to replace, nothing else")
        for _, variable, folder in said[name]:
            expect(folder in installed_folders(), f"{where}: {variable} has {folder}, which nothing installs")
        for variable, _ in re.findall(commented, text, re.M):
            expect(f'"{variable}"' in read("base/env_table.h"), f"{where}: {variable} is a variable of Packwright's")
        expect("packwright run -- mpiexec" in text and re.findall(commented, text, re.M), f"{where}: help, and the cache for all users")
    expect(said["packwright.lua.in"] == said["packwright.tcl.in"], "the two modules to set the same, in the same order")
    expect(("prepend", "PYTHONPATH", "share/packwright/python") in said["packwright.tcl.in"], "modules to set what the Spack recipe sets")


def main():
    version = re.search(r"project\(packwright VERSION ([0-9.]+)", read("CMakeLists.txt")).group(1)
    known = options_of_cmake()
    expect(re.search(r"^## (\S+?),", read("CHANGELOG.md"), re.M).group(1) == version, f"CHANGELOG.md: {version} first")
    expect(re.search(r"^version: (\S+)", read("CITATION.cff"), re.M).group(1) == version, f"CITATION.cff: {version}")
    for page in (ROOT / "docs" / "man").iterdir():
        expect(not re.search(r"^\.TH.*[0-9]\.[0-9]", page.read_text(encoding="utf-8"), re.M), f"{page.name}: no version of its own")
    check_recipe(version, known)
    check_conda(version, known)
    check_pyproject(known)
    check_modules()
    for what in wrong:
        print("expected:", what)
    sys.exit(1 if wrong else 0)


main()
