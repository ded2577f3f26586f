# The recipe for Spack 1.0 or later: copy this file to a repository of your own as packages/packwright/package.py (`spack repo
# create`), then `spack install packwright ^mpich`. It builds the interposer of one MPI; `spack load packwright` puts the command
# on the PATH.
from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Packwright(CMakePackage):
    """Packwright is a compiler for MPI datatypes. It makes MPI programs with derived datatypes faster, without changing the
    program or its MPI."""

    homepage = "https://packwright.example"
    git = "https://packwright.example/packwright.git"

    license("BSD-3-Clause")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    variant("mpi", default=True, description="Build the interposer of the MPI; without it, the library alone")
    variant("llvm", default=True, description="Compile kernels; without it, datatypes are interpreted")
    variant("fortran", default=False, description="Build the library's Fortran module")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.25:", type="build")
    depends_on("python@3.8:", type="build")
    depends_on("re2c", type="build")
    depends_on("xxhash")
    depends_on("mpi", when="+mpi")
    depends_on("llvm@19 +lld targets=x86,aarch64", when="+llvm")
    depends_on("zlib-api", when="+llvm")
    depends_on("zstd", when="+llvm")

    # The MPICH ABI and Open MPI's are known, no other.
    for mpi in ("hpcx-mpi", "fujitsu-mpi", "spectrum-mpi", "mpt"):
        conflicts(f"^[virtuals=mpi] {mpi}", when="+mpi")

    def setup_run_environment(self, env):
        env.prepend_path("PYTHONPATH", join_path(self.prefix, "share", "packwright", "python"))

    def cmake_args(self):
        spec = self.spec
        args = [
            self.define("PACKWRIGHT_MPI", spec["mpi"].mpicc if spec.satisfies("+mpi") else "OFF"),
            self.define("PW_LLVM", "ON" if spec.satisfies("+llvm") else "OFF"),
            self.define("PW_FORTRAN", "ON" if spec.satisfies("+fortran") else "OFF"),
            self.define("PW_SAMPLES", False),
            self.define("PW_TESTS", False),
        ]
        if spec.satisfies("+llvm"):
            # Spack's LLVM has the archives; linked in, a run loads less.
            args.append(self.define("PW_LLVM_STATIC", True))
            args.append(self.define("LLVM_CONFIG", join_path(spec["llvm"].prefix.bin, "llvm-config")))
        return args
