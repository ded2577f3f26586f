"""What goals.py says of a launcher that lacks a library, and of other endings."""
from goals import ending

LOADER = ("/m/usr/bin/mpiexec.hydra: error while loading shared libraries: libslurm.so.38: cannot open shared object file: "
          "No such file or directory\n")

assert ending(127, LOADER) == "not started: mpiexec.hydra misses libslurm.so.38"
assert ending(127, "no such file") == "status 127"
assert ending(1, LOADER) == "status 1" and ending(0, "") == "done"
