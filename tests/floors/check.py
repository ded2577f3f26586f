#!/usr/bin/env python3
"""Checks that the four floors of runtime/ hold: choices, the engine, memory of other processes, and the interposer for MPI.

usage: check.py [--build DIR] [--all] [ROOT]
       check.py --self-test

Reads the #include lines of the sources under ROOT (by default the repository of this file) and reports, as
FILE:LINE: [RULE] TEXT, each include that breaks a rule:

  engine    runtime/choice, engine and exchange include neither mpi.h, nor what is generated for an MPI (next.h, hooks.h),
            nor anything of the floors above them
  cycle     no two folders of runtime/ include each other, directly or over other folders; every folder that has
            sources counts as one, so runtime/mpi itself is one, and so is each folder inside it
  order     a folder of runtime/ includes only folders that stand below it in ORDER, and ORDER has every folder
  backend   codegen/backend.c includes nothing of a code generator
  mpi       mpi.h is included only where MPI is the subject: frontend/mpi, runtime/mpi, samples, bench, tests, the
            measuring part of tools, and the public header for programs with MPI
  llvm      LLVM's headers are included only in codegen/llvm
  cuda      cuda.h and nvrtc.h are included only in codegen/nvrtc and runtime/engine/gpu
  pure      what decides about ways (PURE) needs no symbol but of itself and of arithmetic. Checked with --build
  names     PW_STRATEGY_<NAME> and pw_strategy_<name> of the ways in base/strategy_table.h stand in at most MOST_NAMES
            lines of base, runtime and tools outside of their records (RECORDS)
  link      the static libraries of the floors need no symbol of an MPI, and none that is defined under runtime/mpi or in
            a library of a floor above. Checked with --build, for the libraries and objects that were built in DIR

Includes in KNOWN are tolerated; --all reports them, too. An entry of KNOWN that no longer stands for anything is an
error, so the list can only shrink.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCES = {".c", ".h", ".cc", ".cpp", ".hpp", ".cu", ".in"}
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')

FLOORS = ("runtime/choice", "runtime/engine", "runtime/exchange", "runtime/mpi")
CHOICE, MPI = FLOORS[0], FLOORS[-1]
GENERATED = {"next.h", "hooks.h"}
MPI_FOLDERS = ("frontend/mpi", MPI, "samples", "bench", "tests", "tools/measure",
               "include/packwright/packwright-mpi.h")
CUDA_FOLDERS = ("codegen/nvrtc", "runtime/engine/gpu")
ENGINE_LIBRARIES = ("libpw_runtime_base.a", "libpw_gpu_runtime.a", "libpw_layout.a", "libpw_packwright.a")
EXCHANGE_LIBRARIES = ("libpw_exchange.a",)
PURE = ("way.c",)
# Beside functions of libm, what compilers put in for copies, checks and counts of their own.
ARITHMETIC = re.compile(r"(fmax|fmin|fabs|ceil|memcpy|memset|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail"
                        r"|__(asan|ubsan|tsan|gcov|llvm|sanitizer)_\w+)$")
RECORDS = ("base/strategy_table.h", "runtime/choice/way.c",
           *(f"runtime/mpi/strategy/{name}.c" for name in ("host", "direct", "gpu", "pipeline")))
MOST_NAMES = 5
MPI_SYMBOL = re.compile(r"P?MPI_|ompi_")

# The folders of runtime/ from the bottom to the top. Those of one line do not include each other.
ORDER = (
    ("runtime/choice",),
    ("runtime/engine/layout",),
    ("runtime/engine/memory",),
    ("runtime/engine/model", "runtime/engine/gpu"),
    ("runtime/engine/move",),
    ("runtime/engine/library",),
    ("runtime/exchange/net",),
    ("runtime/exchange",),
    ("runtime/exchange/gpu",),
    ("runtime/mpi",),
    ("runtime/mpi/entry",),
    ("runtime/mpi/types",),
    ("runtime/mpi/strategy",),
    ("runtime/mpi/requests", "runtime/mpi/library"),
    ("runtime/mpi/p2p", "runtime/mpi/collective", "runtime/mpi/one_sided", "runtime/mpi/io", "runtime/mpi/stats"),
    ("runtime/mpi/start",),
)

# Pairs that are tolerated until they are mended: an edge between two folders that closes a cycle, or a file and what it
# must not include.
KNOWN = {
}


def is_under(path, folder):
    return path == folder or path.startswith(folder + "/")


class Include:
    def __init__(self, file, line, name, quoted):
        self.file, self.line, self.name, self.quoted = file, line, name, quoted

    def __str__(self):
        return f"{self.file}:{self.line}"


def includes_of(root):
    """All includes of sources, by paths relative to `root`. Build trees and hidden folders are left out."""
    found, paths = [], []
    for folder in root.iterdir():
        if not folder.name.startswith(("build", ".")):
            paths += folder.rglob("*")
    for path in sorted(paths):
        if path.suffix not in SOURCES or not path.is_file():
            continue
        file = path.relative_to(root).as_posix()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            match = INCLUDE.match(line)
            if match:
                found.append(Include(file, number, match[2], match[1] == '"'))
    return found


# ---- rules for one include -------------------------------------------------------------------------------------------

def broken_rules(i):
    """The rules that an include breaks by itself, as pairs of name and text."""
    name = i.name.split("/")[-1]
    for number, floor in enumerate(FLOORS[:-1]):
        above = any(is_under(i.name, f) for f in FLOORS[number + 1:])
        if is_under(i.file, floor) and (i.name == "mpi.h" or i.name in GENERATED or above):
            yield "engine", f"{floor} must not include {i.name}"
    if i.file == "codegen/backend.c" and is_under(i.name, "codegen") and i.name.count("/") > 1:
        yield "backend", f"codegen/backend.c must not include a generator's {i.name}"
    if i.name == "mpi.h" and not i.file.startswith(MPI_FOLDERS):
        yield "mpi", f"mpi.h is for {', '.join(MPI_FOLDERS)}"
    if re.match(r"(llvm(-c)?|lld|clang(-c)?)/", i.name) and not is_under(i.file, "codegen/llvm"):
        yield "llvm", f"{i.name} is for codegen/llvm"
    if name in ("cuda.h", "nvrtc.h") and not i.quoted and not any(is_under(i.file, f) for f in CUDA_FOLDERS):
        yield "cuda", f"{i.name} is for codegen/nvrtc and runtime/engine/gpu"


# ---- cycles of folders -----------------------------------------------------------------------------------------------

def folder_of(file):
    return file.rsplit("/", 1)[0]


def edges_between_folders(includes):
    """(folder, folder) -> an include that makes the first depend on the second."""
    edges = {}
    for i in includes:
        if is_under(i.file, "runtime") and is_under(i.name, "runtime"):
            edges.setdefault((folder_of(i.file), folder_of(i.name)), []).append(i)
    return {edge: made_by for edge, made_by in edges.items() if edge[0] != edge[1]}


def path_between(edges, start, end):
    """The shortest way from one folder to another along the edges, as a list of folders; None: there is none."""
    ways, seen = [[start]], {start}
    for way in ways:
        if way[-1] == end:
            return way
        for source, target in sorted(edges):
            if source == way[-1] and target not in seen:
                seen.add(target)
                ways.append(way + [target])
    return None


def cycles(edges):
    """Each edge that a cycle has, with the shortest such cycle."""
    for source, target in sorted(edges):
        back = path_between(edges, target, source)
        if back:
            yield (source, target), [source] + back


# ---- the order of folders --------------------------------------------------------------------------------------------

LEVEL = {folder: level for level, folders in enumerate(ORDER) for folder in folders}


def folders_of(includes):
    """The folders of runtime/ that have a source with an include, each with such an include."""
    return {folder_of(i.file): i for i in reversed(includes) if is_under(i.file, "runtime")}


def out_of_order(includes, edges):
    """Each folder that ORDER lacks, and each edge that does not lead down, as an edge and lines of text."""
    for folder, i in sorted(folders_of(includes).items()):
        if folder not in LEVEL:
            yield (folder, folder), [f"{i}: [order] ORDER does not say where {folder} stands"]
    for (source, target), made_by in sorted(edges.items()):
        if source in LEVEL and target in LEVEL and LEVEL[source] <= LEVEL[target]:
            how = "beside" if LEVEL[source] == LEVEL[target] else "below"
            yield (source, target), [f"{i}: [order] {source} stands {how} {target}" for i in made_by]


# ---- what libraries need ---------------------------------------------------------------------------------------------

def symbols(files, defined):
    """Names that object files and archives define, or need from elsewhere, each with the file."""
    if not files:
        return {}
    wanted = "--defined-only" if defined else "--undefined-only"
    nm = ["nm", "-A", "-P", "-g", wanted, *map(str, files)]
    text = subprocess.run(nm, check=True, capture_output=True, text=True).stdout
    return {m[2]: m[1] for m in re.finditer(r"^(.+?): (\S+) \S", text, re.MULTILINE)}


def objects_of_mpi(build):
    """The object files made from runtime/mpi. What a target there takes from another folder lies under __."""
    return [o for o in (build / MPI).rglob("*.o") if "/__/" not in o.as_posix()]


def impurities(build):
    """Of this build's own objects: sanitizer builds may lie within its folder."""
    objects = [o for name in PURE for o in (build / CHOICE).rglob(f"pw_choice.dir/{name}.o")]
    own = symbols(objects, defined=True)
    if len(objects) != len(PURE):
        yield f"{build}: [pure] not all of {', '.join(PURE)} were built"
    for name, file in sorted(symbols(objects, defined=False).items()):
        if name not in own and not ARITHMETIC.match(name):
            yield f"{file}: [pure] needs {name}"


# ---- names of ways ---------------------------------------------------------------------------------------------------

def names_of_ways(root):
    """The lines outside of records that name a way, as FILE:LINE; none if there is no table of ways."""
    table, found = root / RECORDS[0], []
    rows = re.findall(r"^ +X\((\w+), (\w+),", table.read_text(), re.MULTILINE) if table.exists() else []
    if not rows:
        return found
    symbols, names = zip(*rows)
    name = re.compile(rf"\bPW_STRATEGY_({'|'.join(symbols)})\b|\bpw_strategy_({'|'.join(names)})\b")
    for path in sorted(p for folder in ("base", "runtime", "tools") for p in (root / folder).rglob("*.[ch]")):
        file = path.relative_to(root).as_posix()
        if file not in RECORDS:
            found += [f"{file}:{number}" for number, line in enumerate(path.read_text().splitlines(), 1)
                      if name.search(line)]
    return found


def link_errors(build):
    archives = sorted(build.rglob("*.a"))
    engine = [a for a in archives if a.name in ENGINE_LIBRARIES]
    exchange = [a for a in archives if a.name in EXCHANGE_LIBRARIES]
    if not engine:
        yield f"{build}: [link] none of {', '.join(ENGINE_LIBRARIES)} was built"
    of_mpi = symbols(objects_of_mpi(build), defined=True)
    above_engine = {**of_mpi, **symbols(exchange, defined=True)}
    for library in engine + exchange:
        own = symbols([library], defined=True)
        above = above_engine if library in engine else of_mpi
        for name in sorted(symbols([library], defined=False)):
            if MPI_SYMBOL.match(name):
                yield f"{library}: [link] needs {name} of an MPI"
            elif name in above and name not in own:
                yield f"{library}: [link] needs {name}, which is defined in {above[name]}"


# ---- all of it -------------------------------------------------------------------------------------------------------

def check(root, build=None, known=KNOWN):
    """The broken rules as lines of text."""
    includes, unused, lines = includes_of(root), set(known), []

    for i in includes:
        for rule, text in broken_rules(i):
            if (i.file, i.name) in known:
                unused.discard((i.file, i.name))
            else:
                lines.append(f"{i}: [{rule}] {text}")
    edges = edges_between_folders(includes)
    in_cycles = {edge for edge, _ in cycles(edges)}
    unused -= in_cycles
    kept = {edge: made_by for edge, made_by in edges.items() if edge not in known or edge not in in_cycles}
    for edge, cycle in cycles(kept):
        lines += [f"{i}: [cycle] {' -> '.join(cycle)}" for i in edges[edge]]
    for edge, broken in out_of_order(includes, edges):
        unused.discard(edge)
        lines += [] if edge in known else broken
    lines += [f"{a} -> {b}: [known] remove this entry of KNOWN: it tolerates nothing" for a, b in sorted(unused)]
    named = names_of_ways(root)
    if len(named) > MOST_NAMES:
        lines.append(f"{' '.join(named)}: [names] ways are named in {len(named)} lines outside of their records")
    return lines + ([*link_errors(build), *impurities(build)] if build else [])


# ---- self-test -------------------------------------------------------------------------------------------------------

def write_tree(root, files):
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def lines_of(files, known={}):
    with tempfile.TemporaryDirectory() as folder:
        write_tree(Path(folder), files)
        return check(Path(folder), known=known)


def lines_of_link(needed, defined, in_exchange=False):
    """Of a build tree in which the engine's library needs a symbol, and runtime/mpi or runtime/exchange defines one."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_tree(root, {"need.c": f"void {needed}(void); void use(void) {{ {needed}(); }}\n",
                          "define.c": f"void {defined}(void) {{ }}\n", "runtime/mpi/x.dir/keep": "", "lib/keep": ""})
        target = "define.o" if in_exchange else "runtime/mpi/x.dir/define.c.o"
        for source, made in (("need.c", "need.o"), ("define.c", target)):
            subprocess.run(["cc", "-c", root / source, "-o", root / made], check=True)
        subprocess.run(["ar", "rc", root / "lib/libpw_runtime_base.a", root / "need.o"], check=True)
        if in_exchange:
            subprocess.run(["ar", "rc", root / "lib/libpw_exchange.a", root / target], check=True)
        return list(link_errors(root))


def lines_of_pure(needed):
    """Of a build tree in which what decides about ways needs a symbol."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_tree(root, {"need.c": f"double {needed}(double, double); double use(double x) {{ return {needed}(x, x); }}\n",
                          f"{CHOICE}/pw_choice.dir/keep": "", f"asan/{CHOICE}/pw_choice.dir/way.c.o": ""})
        for name in PURE:
            subprocess.run(["cc", "-O0", "-c", root / "need.c", "-o", root / CHOICE / f"pw_choice.dir/{name}.o"], check=True)
        return list(impurities(root))


GOOD = {"runtime/engine/memory/pool.c": '#include "runtime/engine/layout/layout.h"\n',
        "runtime/engine/layout/layout.h": "",
        "runtime/mpi/mpi_compat.h": "#include <mpi.h>\n",
        "runtime/mpi/entry/gate.c": '#include "runtime/mpi/mpi_compat.h"\n#include "next.h"\n',
        "runtime/mpi/p2p/hooks.c": '#include "runtime/mpi/entry/gate.h"\n',
        "codegen/backend.c": '#include "codegen/generator.h"\n#include "codegen/shape.h"\n',
        "codegen/llvm/gen.h": "#include <llvm-c/Core.h>\n",
        "codegen/nvrtc/nvrtc.c": "#include <nvrtc.h>\n",
        "build/runtime/engine/copy.c": "#include <mpi.h>\n"}

BROKEN = [
    ("engine", {"runtime/engine/model/a.c": "\n#include <mpi.h>\n"}, "runtime/engine/model/a.c:2"),
    ("engine", {"runtime/engine/model/a.h": '#include "next.h"\n'}, "runtime/engine/model/a.h:1"),
    ("engine", {"runtime/engine/a.c": '# include "hooks.h"\n'}, "runtime/engine/a.c:1"),
    ("engine", {"runtime/engine/a.c": '#include "runtime/mpi/errors.h"\n'}, "runtime/engine/a.c:1"),
    ("engine", {"runtime/engine/a.c": '#include "runtime/exchange/segment.h"\n'}, "runtime/engine/a.c:1"),
    ("engine", {"runtime/exchange/a.c": '#include "runtime/mpi/errors.h"\n'}, "runtime/exchange/a.c:1"),
    ("cycle", {"runtime/engine/gpu/a.c": '#include "runtime/engine/move/b.h"\n',
               "runtime/engine/move/b.h": '#include "runtime/engine/gpu/c.h"\n'}, "runtime/engine/gpu/a.c:1"),
    ("cycle", {"runtime/mpi/x/a.h": '#include "runtime/mpi/y/b.h"\n',
               "runtime/mpi/y/b.h": '#include "runtime/mpi/z/c.h"\n',
               "runtime/mpi/z/c.h": '#include "runtime/mpi/x/a.h"\n'}, "runtime/mpi/z/c.h:1"),
    ("cycle", {"runtime/mpi/counts.h": '#include "runtime/mpi/entry/gate.h"\n',
               "runtime/mpi/entry/gate.h": '#include "runtime/mpi/counts.h"\n'}, "runtime/mpi/counts.h:1"),
    ("order", {"runtime/mpi/entry/a.c": '#include "runtime/mpi/strategy/b.h"\n', "runtime/mpi/strategy/b.h": ""},
     "runtime/mpi/entry/a.c:1"),
    ("order", {"runtime/mpi/p2p/a.c": '\n#include "runtime/mpi/collective/b.h"\n'}, "runtime/mpi/p2p/a.c:2"),
    ("order", {"runtime/mpi/strategy/a.c": '#include "runtime/mpi/start/parts.h"\n'}, "runtime/mpi/strategy/a.c:1"),
    ("order", {"runtime/engine/layout/a.c": '#include "runtime/engine/library/internal.h"\n'},
     "runtime/engine/layout/a.c:1"),
    ("order", {"runtime/mpi/new/a.c": '#include "base/log.h"\n'}, "runtime/mpi/new/a.c:1"),
    ("backend", {"codegen/backend.c": '#include "codegen/nvrtc/plan.h"\n'}, "codegen/backend.c:1"),
    ("mpi", {"ir/a.c": "#include <mpi.h>\n"}, "ir/a.c:1"),
    ("mpi", {"tools/run.c": "#include <mpi.h>\n"}, "tools/run.c:1"),
    ("mpi", {"include/packwright/packwright.h": "#include <mpi.h>\n"}, "include/packwright/packwright.h:1"),
    ("llvm", {"codegen/a.c": "#include <llvm-c/Core.h>\n"}, "codegen/a.c:1"),
    ("llvm", {"passes/a.cpp": '#include "llvm/ADT/SmallVector.h"\n'}, "passes/a.cpp:1"),
    ("cuda", {"runtime/engine/layout/a.c": "#include <cuda.h>\n"}, "runtime/engine/layout/a.c:1"),
    ("cuda", {"codegen/llvm/a.c": "#include <nvrtc.h>\n"}, "codegen/llvm/a.c:1"),
]


def self_test():
    """Trees in which one rule is broken must be refused, and those in which none is must not."""
    failures = []

    def expect(what, lines, *words):
        if not words and lines or words and not any(all(w in line for w in words) for line in lines):
            failures.append(f"{what}: wanted {' '.join(words) or 'nothing'}, got {lines or 'nothing'}")

    expect("a good tree", lines_of(GOOD))
    for rule, files, place in BROKEN:
        expect(f"{rule} at {place}", lines_of({**GOOD, **files}), f"[{rule}]", f"{place}: ")
    loop = next(files for rule, files, _ in BROKEN if rule == "cycle")
    edge = ("runtime/engine/gpu", "runtime/engine/move")
    expect("a known cycle", lines_of(loop, {edge}))
    expect("a known edge that is gone", lines_of(GOOD, {edge}), "[known]")
    expect("a known edge in no cycle", lines_of({"runtime/engine/gpu/a.c": loop["runtime/engine/gpu/a.c"]}, {edge}))
    expect("a known edge that is in order", lines_of(GOOD, {("runtime/engine/memory", "runtime/engine/layout")}),
           "[known]")
    expect("a library that needs nothing", lines_of_link("memcpy_like", "pw_hook_Send"))
    for name in ("MPI_Send", "PMPI_Send", "ompi_request_empty"):
        expect(f"a library that needs {name}", lines_of_link(name, "pw_hook_Send"), "[link]", name)
    expect("a library that needs a hook", lines_of_link("pw_hook_Send", "pw_hook_Send"), "[link]", "pw_hook_Send")
    expect("a library that needs the floor above", lines_of_link("pw_take", "pw_take", True), "[link]", "pw_take")
    table = {"base/strategy_table.h": "    X(NATIVE, native, HOST, \"\") \\\n    X(PACKED, packed, HOST, \"\")\n"}
    named = {f"runtime/mpi/p2p/{i}.c": "int x = PW_STRATEGY_PACKED;\n" for i in range(MOST_NAMES)}
    expect("few names of ways", lines_of({**GOOD, **table, **named}))
    expect("many names of ways", lines_of({**GOOD, **table, **named, "tools/a.c": "&pw_strategy_native;\n"}),
           "[names]", "tools/a.c:1")
    expect("names in records", lines_of({**GOOD, **table, **named, RECORDS[1]: "PW_STRATEGY_NATIVE\n"}))
    expect("a way that needs nothing", lines_of_pure("fmax"))
    expect("a way that calls", lines_of_pure("pw_pool_take"), "[pure]", "pw_pool_take")
    print("\n".join(failures) or "every broken tree was refused")
    return 1 if failures else 0


def main(arguments):
    root, build, known = Path(__file__).resolve().parents[2], None, KNOWN

    while arguments:
        word = arguments.pop(0)
        if word == "--self-test":
            return self_test()
        if word == "--build" and arguments:
            build = Path(arguments.pop(0))
        elif word == "--all":
            known = {}
        elif word.startswith("-"):
            sys.exit(__doc__)
        else:
            root = Path(word)
    lines = check(root, build, known)
    print("\n".join(lines) or "the floors hold")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
