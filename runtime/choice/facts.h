/*
 * Facts: what the parts of a message cost, from which a first guess is made (way.h). A
 * guess need not be right, since trials find out (trial.h); it decides what a message takes that is sent once, and
 * which rivals are worth a turn. So there is one set of facts, on the careful side, for all machines. Those of GPUs and
 * networks, which differ more than CPUs do, can be measured (`packwright measure`).
 *
 * X(name, value, unit, meaning)
 */
#ifndef PW_RUNTIME_CHOICE_FACTS_H
#define PW_RUNTIME_CHOICE_FACTS_H

/* Facts about GPUs: of a large one on PCI Express 5, and of two with a fast link, one reading the other's memory. */
#define PW_FACTS(X)                                                                                   \
    X(message, 400, "ns", "a short contiguous message, one way")                                      \
    X(staged, 400, "ns", "what a call takes longer that packs or unpacks, whatever it moves")         \
    X(walked, 4, "ns", "a contiguous block in the MPI's own walk, at one end")                        \
    X(moved, 1, "ns", "the same by a kernel")                                                         \
    X(copied, 0.03, "ns/byte", "a byte copied from cache to cache")                                   \
    X(stored, 0.1, "ns/byte", "a byte copied through memory, as of a packed copy of a file's data")   \
    X(fresh, 0.5, "ns/byte", "memory that the process has not used before")                           \
    X(passed, 4, "ns", "a block that an MPI passes on to a file system or a window")                  \
    X(pipelined, 16384, "byte", "longer messages go in pieces, while both ends work")                 \
    X(launch, 6700, "ns", "a GPU kernel, launched and waited for")                                    \
    X(mapped_read, 900, "ns", "what a kernel takes longer that reads pinned host memory")             \
    X(host_copy, 6300, "ns", "a short copy between a GPU and pinned host memory")                     \
    X(device_copy, 9000, "ns", "a short copy within a GPU")                                           \
    X(gpu_memory, 2986, "byte/ns", "GPU memory, reads and writes together")                           \
    X(host_link, 55, "byte/ns", "long copies between a GPU and pinned host memory")                   \
    X(mapped, 52, "byte/ns", "kernels that read or write pinned host memory")                         \
    X(peer_launch, 8500, "ns", "a kernel that reads memory of another GPU")                           \
    X(peer_bytes, 330, "byte/ns", "what it reads, in whole granules of 64 bytes")                     \
    X(remote_least, 262144, "byte", "the shortest message that gains by being read over the network") \
    X(remote_block, 16384, "byte", "the shortest blocks of which such a message gains")

typedef struct pw_facts {
#define X(name, value, unit, meaning) double name;
    PW_FACTS(X)
#undef X
} pw_facts;

typedef enum pw_fact {
#define X(name, value, unit, meaning) PW_FACT_##name,
    PW_FACTS(X)
#undef X
        PW_FACT_COUNT
} pw_fact;

#define PW_FACT_VALUE(name, value, unit, meaning) (value),
/* The initializer of facts that nothing was measured of. */
#define PW_FACTS_DEFAULT {PW_FACTS(PW_FACT_VALUE)}

extern const pw_facts pw_facts_default;

extern const struct pw_fact_info {
    const char *name, *unit, *meaning;
} pw_fact_infos[PW_FACT_COUNT];

/* The place of a fact. */
static inline double *pw_fact_at(pw_facts *facts, pw_fact fact)
{
    return (double *)facts + fact;
}

#endif
