"""Open MPI's corpus of datatypes (28 types, most of DDTBench) and to_self, the benchmark that its contrib/datatype runs on other
MPIs, too."""
import hashlib
import subprocess

from client import HERE, Client, stop
from trial import Program

COMMIT = "8efebee745e15516a7f5f1f295df86c78014c76c"  # of 2026-08-21; in no release yet
FILES = {"to_self.c": "a035fef62b317142c323bac1689f2e5368100c2230d36692caccb4426a6279dc",
         "datatype_corpus.c": "d447364c8e13f7b579f16ec06682e27939992d12c0f1d8a9822494a777f4242d",
         "datatype_corpus.h": "69add511bd6cbaa2a927c23cbc0207239a4a674888a81c803ffc9609510c54f6"}
URL = f"https://raw.githubusercontent.com/open-mpi/ompi/{COMMIT}/ompi/test/datatype"
QUICK = ("--cycles=1", "--trials=2", "--warmups=0", "--validate")


class Corpus(Client):
    DIRECTORIES = ("corpus",)

    def prepare(self):
        self.tree = self.base / "ompi-datatype"
        self.tree.mkdir(parents=True, exist_ok=True)
        for name, sha256 in FILES.items():
            file = self.tree / name
            if not file.exists() and subprocess.run(["curl", "-fsSL", "-o", str(file), f"{URL}/{name}"], check=False).returncode:
                file.unlink(missing_ok=True)
                stop(f"cannot fetch {URL}/{name}; put it into {self.tree}")
            if hashlib.sha256(file.read_bytes()).hexdigest() != sha256:
                stop(f"{file} has another SHA-256 than {sha256}")

    def make(self, directory):
        types = self.tree / "datatype_corpus.c"
        flags = ["-O3", f"-I{self.tree}", "-lm"]
        self.compile_all({"to_self": [self.tree / "to_self.c", types], "types": [HERE / "corpus.c", types]}, flags)

    def programs(self, directory):
        yield Program(name="corpus/types", path=self.build / "types", ranks=2, limit=240)
        for ranks, check in ((1, "pack,unpack"), (2, "isend_recv,irecv_isend")):
            yield Program(name="corpus/to_self", path=self.build / "to_self", ranks=ranks, arguments=(f"--check={check}", *QUICK),
                          matters="VALIDATION", limit=240)
