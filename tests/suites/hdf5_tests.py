"""HDF5's parallel tests (testpar), linked to Debian's libraries: MPI-IO with types made of selections, collective metadata, filters."""
from client import Client, libraries, packages, source
from trial import Program

SOURCE = ("h/hdf5/hdf5_1.10.8%2brepack1.orig.tar.gz", "7b38e58ff83b13fd8959a90b13bf896bc318ba096c940ab0847abf3ad41a0b31",
          "hdf5-1.10.8+repack1", ("src", "test", "testpar"))
HELPERS = "h5test testframe".split()
PHDF5 = ("testphdf5 t_dset t_file t_file_image t_mdset t_ph5basic t_coll_chunk t_span_tree t_chunk_alloc t_filter_read t_prop "
         "t_coll_md_read").split()
# t_pflush ends without MPI_Finalize by design, t_prestart reads what t_pshutdown leaves.
PROGRAMS = {"t_mpi": ["t_mpi"], "t_bigio": ["t_bigio"], "testphdf5": PHDF5, "t_cache": ["t_cache"],
            "t_cache_image": ["t_cache_image", "genall5", "cache_common"], "t_pread": ["t_pread"], "t_init_term": ["t_init_term"],
            "t_shapesame": ["t_shapesame"], "t_filters_parallel": ["t_filters_parallel"], "t_pshutdown": ["t_pshutdown"]}
RANKS = 4


class Hdf5(Client):
    DIRECTORIES = ("hdf5",)

    def prepare(self):
        self.source = source(self.base, *SOURCE)
        self.root = packages(self.base, ["libsz2", "libaec0", "libaec-dev", f"libhdf5-{self.mpi}-103-1", f"libhdf5-{self.mpi}-dev"])

    def path(self, name):
        return next(p for p in (self.source / d / f"{name}.c" for d in ("testpar", "test")) if p.exists())

    def make(self, directory):
        lib = libraries(self.root)
        self.build.mkdir(parents=True, exist_ok=True)
        (self.build / "H5srcdir_str.h").write_text(f'#define config_srcdir "{self.source}/test"\n')  # else their configure makes it
        include = [*(self.source / d for d in ("testpar", "test", "src")), f"{self.root}/usr/include/hdf5/{self.mpi}",
                   f"{self.root}/usr/include", self.build]
        flags = [*(f"-I{d}" for d in include), f"-L{lib}", f"-lhdf5_{self.mpi}", f"-Wl,-rpath-link,{lib}", "-lz", "-lm"]
        self.compile_all({name: [self.path(f) for f in (*files, *HELPERS)] for name, files in PROGRAMS.items()}, flags)

    def programs(self, directory):
        for name in PROGRAMS:
            itself = (self.build / name,) if name == "t_cache_image" else ()  # it starts itself from where it is
            yield Program(name=f"hdf5/{name}", path=self.build / name, ranks=RANKS, limit=600, matters="FAILED|Error|ERROR|failures",
                          files=itself, libraries=libraries(self.root))
