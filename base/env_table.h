/*
 * The one table of environment variables. X(symbol, name, type, default text, help).
 * Types: BOOL (0/1/yes/no/on/off), SIZE (bytes, with K/M/G suffix), STRING, PATH, and
 * CHOICE(a|b|c), whose value is the index of the word. `packwright env` and docs/environment.md print this table.
 */
#include "base/strategy_table.h"

#define PW_ENV_TABLE(X)                                                                                             \
    X(DISABLE, "PACKWRIGHT_DISABLE", BOOL, "0", "1 makes the interposer inert: every call goes to the MPI below")   \
    X(JIT, "PACKWRIGHT_JIT", CHOICE("sync|async|off"), "async",                                                     \
      "when kernels are compiled: at commit (sync), by a worker thread once a type is hot (async), never (off)")    \
    X(STATS, "PACKWRIGHT_STATS", CHOICE("0|1|all"), "0",                                                            \
      "1 prints at MPI_Finalize which types took how long, on a screen; all says of every type what was done, and " \
      "why; without the packwright command beside the library, the data stay in a file")                            \
    X(REPORT, "PACKWRIGHT_REPORT", PATH, "",                                                                        \
      "file.json to which is written at MPI_Finalize what was done in the run, as data")                            \
    X(LOG, "PACKWRIGHT_LOG", CHOICE("error|warn|info|debug"), "warn", "how much is said on stderr")                 \
    X(CACHE, "PACKWRIGHT_CACHE", BOOL, "1", "0 keeps compiled kernels out of the disk cache")                       \
    X(CACHE_DIR, "PACKWRIGHT_CACHE_DIR", PATH, "",                                                                  \
      "directory of the disk cache (default: $XDG_CACHE_HOME/packwright, else ~/.cache/packwright)")                \
    X(SYSTEM_CACHE, "PACKWRIGHT_SYSTEM_CACHE", PATH, "/usr/share/packwright",                                       \
      "directory of kernels and models for all users, only read (`packwright cache seed`), or off")                 \
    X(CACHE_SIZE, "PACKWRIGHT_CACHE_SIZE", SIZE, "256M", "size of the disk cache; least recently used entries go")  \
    X(HOT_BYTES, "PACKWRIGHT_HOT_BYTES", SIZE, "0",                                                                 \
      "packed bytes after which async mode compiles a type; 0: 4 MiB, of GPU memory 1 MiB")                         \
    X(STRATEGY, "PACKWRIGHT_STRATEGY", CHOICE("auto" PW_STRATEGY_WORDS), "auto",                                    \
      "forces a transfer strategy wherever it can; auto takes the cheapest")                                        \
    X(TRIALS, "PACKWRIGHT_TRIALS", BOOL, "1",                                                                       \
      "0 takes the first guess of every choice, instead of trying its rivals in the program's own calls")           \
    X(MODEL, "PACKWRIGHT_MODEL", PATH, "",                                                                          \
      "the file that `packwright measure` wrote, or off (default: in the cache directory)")                         \
    X(ALL_RANKS, "PACKWRIGHT_ALL_RANKS", BOOL, "0",                                                                 \
      "1 says that all ranks of the job have Packwright, as `packwright run` sees to")                              \
    X(STAGING, "PACKWRIGHT_STAGING", SIZE, "256M",                                                                  \
      "largest message that is staged in a packed copy; larger go native")                                          \
    X(SHARED, "PACKWRIGHT_SHARED", BOOL, "1",                                                                       \
      "0 leaves it to MPI to copy packed messages within a node, where receivers could unpack from the sender's "   \
      "memory, and has each rank read kernels from disk")                                                           \
    X(LAZY, "PACKWRIGHT_LAZY", BOOL, "1",                                                                           \
      "0 copies every message of GPU memory to host memory, also where only another GPU reads it")                  \
    X(ONE_COPY, "PACKWRIGHT_ONE_COPY", BOOL, "0",                                                                   \
      "1 lets receivers on the node copy long messages once, from the sender's memory, and puts what "              \
      "MPI_Alloc_mem gives where they can map it")                                                                  \
    X(NET, "PACKWRIGHT_NET", CHOICE("off|ucx"), "off",                                                              \
      "ucx has receivers of all-to-all calls read long blocks over the network, if all ranks have Packwright")      \
    X(GPU_AWARE, "PACKWRIGHT_GPU_AWARE", CHOICE("auto|0|1"), "auto",                                                \
      "whether the MPI below takes buffers in GPU memory: found out (auto), no, yes")                               \
    X(GATHER, "PACKWRIGHT_GATHER", BOOL, "1",                                                                       \
      "0 packs each nonblocking send from GPU memory before its call returns, instead of several by one launch")    \
    X(LLVM_MODULE, "PACKWRIGHT_LLVM_MODULE", PATH, "",                                                              \
      "the compiler module to load (default: libpackwright-llvm.so beside the interposer)")                         \
    X(NVRTC_MODULE, "PACKWRIGHT_NVRTC_MODULE", PATH, "",                                                            \
      "the GPU compiler module to load (default: libpackwright-nvrtc.so beside the interposer)")                    \
    X(TARGET_CPU, "PACKWRIGHT_TARGET_CPU", STRING, "native", "the CPU that kernels are compiled for")               \
    X(RUN, "PACKWRIGHT_RUN", PATH, "",                                                                              \
      "set by `packwright run` and `compare`, which have looked at the variables: the file in which processes say " \
      "that MPI has started and ended")                                                                             \
    X(TRACE, "PACKWRIGHT_TRACE", PATH, "",                                                                          \
      "file to which the types that all ranks committed are written at MPI_Finalize")
