"""What tests/gpu/node reads of its programs, which runs count as growth, and what it says when one fails."""
import importlib.machinery
import importlib.util
from pathlib import Path

loader = importlib.machinery.SourceFileLoader("node", str(Path(__file__).with_name("node")))
node = importlib.util.module_from_spec(importlib.util.spec_from_loader("node", loader))
loader.exec_module(node)

# ---- what the programs print

PACKED = "halo3d: pack_us 4.5 transfer_us 82.4 unpack_us 2.0 exchange_us 89.5\nhalo3d: checksum 01\n"
assert node.read_halo(PACKED + "halo3d: verified\n") == {"pack": 4.5, "exchange": 82.4, "unpack": 2.0, "step": 89.5}
assert node.read_halo("halo3d: exchange_us 7.5\nhalo3d: verified\n") == {"step": 7.5}
assert node.read_halo(PACKED) is None  # a wrong byte somewhere
assert node.read_halo("halo3d: verified\n") is None

APP = "4 ranks share 2 GPUs\nstencil2d          4096 | ours      70.7 µs | by hand     128.0 µs = pack 40.1, exchange 50.2, unpack 37.7 |   1.81\n"
assert node.read_app(APP) == ({"step": 70.7}, {"step": 128.0, "pack": 40.1, "exchange": 50.2, "unpack": 37.7})
assert node.read_app("4 ranks share 2 GPUs\n") is None

SET = {"UCX_TLS": "all", "OMPI_MCA_btl": "self", "PATH": "/bin", "OMPI_COMM_WORLD_RANK": "0"}
assert node.settings_of_mpi(SET) == {"OMPI_MCA_btl": "self", "UCX_TLS": "all"}


# ---- growth

def row(ranks, step, who="packwright", gpus=2):
    return {"mpi": "mpich", "ranks": ranks, "gpus": min(ranks, gpus), "program": "halo3d isend", "way": "types", "who": who, "step": step}


ROWS = [row(1, 10.0), row(2, 12.0), row(4, 90.0), row(1, 1.0, "native")]
assert node.growth(ROWS, ROWS[1], 1) == 1.2
assert node.growth(ROWS, ROWS[1], 2) == 1.0
assert node.growth(ROWS, ROWS[0], 2) is None  # fewer ranks than those
assert node.growth(ROWS, ROWS[2], 2) is None  # four ranks on two GPUs
assert node.growth(ROWS[1:], ROWS[1], 1) is None  # the native row is another one
lines = list(node.lines_of(ROWS))
assert len(lines) == 5 and [line.split()[-1] for line in lines[1:]] == ["-", "-", "1.00", "-"], lines
assert lines[3].split()[:3] == ["2", "on", "2"] and "4 on 2" in lines[4], lines


# ---- what runs, and what is said of what does not

class Machine:
    most_seconds = 0

    def __init__(self, mpi, said):
        self.mpi, self.said, self.launched = mpi, said, []

    def path(self, *names):
        return "/" + "/".join(names)

    def launcher(self):
        return "sh"

    def launch(self, name, ranks, command, settings):
        self.launched.append((name, ranks, command, settings))
        return self.said(name)


class Options:
    mpi, modes, apps, quick, within, limit, seconds, json = ["mpich"], ["isend"], ["stencil2d"], True, 100, 50, 0.1, None
    ranks = [1, 4]


def run(said, **more):
    options = type("More", (Options,), more)()
    n = node.Node.__new__(node.Node)
    n.options, n.gpus, n.mps = options, 2, {"CUDA_MPS_PIPE_DIRECTORY": "x"}
    n.machines = {"mpich": Machine("mpich", said)}
    n.end = node.time.time() + options.within
    n.result = {"head": {}, "rows": [], "failed": [], "left_out": []}
    n.why_not = lambda mpi: ""
    node.run(n)
    return n


def answers(takes):
    def said(name):
        if "asked" in name:
            return 0, f"the MPI below {takes} buffers in GPU memory"
        return 0, PACKED + "halo3d: verified\n" if "halo3d" in name else APP
    return said


n = run(answers("does not take"))
launched = n.machines["mpich"].launched
assert [name for name, *_ in launched] == ["mpich.1.asked"] + [f"mpich.{r}.{p}.packwright" for r in (1, 4) for p in ("halo3d.isend", "stencil2d")]
assert "LD_PRELOAD=/lib/libpackwright-mpich.so" in launched[1][2]
assert "CUDA_MPS_PIPE_DIRECTORY" not in launched[1][3] and launched[-1][3]["CUDA_MPS_PIPE_DIRECTORY"] == "x"
assert [(r["ranks"], r["gpus"], r["way"], r["who"]) for r in n.result["rows"]] == [
    (ranks, gpus, way, who) for ranks, gpus in ((1, 1), (4, 2))
    for way, who in (("types", "packwright"), ("types", "packwright"), ("copies", "by hand"))]

n = run(answers("takes"))
launched = n.machines["mpich"].launched
assert [name for name, *_ in launched][1:5] == [f"mpich.1.{p}.{w}" for w in ("native", "packwright") for p in ("halo3d.isend", "stencil2d")]
assert not any("LD_PRELOAD" in word for word in launched[1][2]) and launched[2][3]["PACKWRIGHT_DISABLE"] == "1"
assert "PACKWRIGHT_DISABLE" not in launched[4][3]

n = run(lambda name: (0, "the MPI below takes buffers in GPU memory\nhalo3d: exchange_us 1.0\n") if "asked" in name or "halo" in name else (124, ""))
assert [(f["name"], f["why"]) for f in n.result["failed"]][:2] == [
    ("mpich.1.halo3d.isend.native", "not verified"), ("mpich.1.stencil2d.native", "ended after 50 s")], n.result["failed"]
assert not n.result["rows"]

n = run(lambda name: (1, "no GPU"))
assert len(n.machines["mpich"].launched) == 1 and n.result["failed"][0]["why"] == "status 1"
n = run(answers("takes"), within=0)
assert n.result["left_out"] == ["mpich.1.asked"] and not n.machines["mpich"].launched
