/*
 * Facts: what the parts of a message cost in host memory, from which a first guess is made (guess.h). A guess need not
 * be right, since trials find out (trial.h); it decides what a message takes that is sent once, and which rivals are
 * worth a turn. So there is one set of facts, on the careful side, for all machines.
 *
 * X(name, value, unit, meaning)
 */
#ifndef PW_RUNTIME_CHOICE_FACTS_H
#define PW_RUNTIME_CHOICE_FACTS_H

#define PW_FACTS(X)                                                                                 \
    X(message, 400, "ns", "a short contiguous message, one way")                                    \
    X(staged, 400, "ns", "what a call takes longer that packs or unpacks, whatever it moves")       \
    X(walked, 4, "ns", "a contiguous block in the MPI's own walk, at one end")                      \
    X(moved, 1, "ns", "the same by a kernel")                                                       \
    X(copied, 0.03, "ns/byte", "a byte copied from cache to cache")                                 \
    X(stored, 0.1, "ns/byte", "a byte copied through memory, as of a packed copy of a file's data") \
    X(passed, 4, "ns", "a block that an MPI passes on to a file system or a window")                \
    X(pipelined, 16384, "byte", "longer messages go in pieces, while both ends work")

typedef struct pw_facts {
#define X(name, value, unit, meaning) double name;
    PW_FACTS(X)
#undef X
} pw_facts;

extern const pw_facts pw_facts_default;

#endif
