/*
 * The one table of transfer strategies: the ways in which the bytes of a message come to lie where MPI moves them at
 * full speed (runtime/mpi/strategy/strategy.h). X(symbol, name, packed, help):
 *
 *   symbol  PW_STRATEGY_<symbol>; the order of the rows breaks ties between equal costs
 *   name    the record pw_strategy_<name>, and the word of PACKWRIGHT_STRATEGY and of statistics
 *   packed  PW_PACKED_<packed>: where the packed copy lies, on which costs depend (runtime/choice/way.h)
 *   help    what MPI gets, as `packwright run --list-strategies` and the manual page say it
 *
 * It lies here because the environment's table has the names, too, and neither floor of runtime/ owns them.
 */
#ifndef PW_BASE_STRATEGY_TABLE_H
#define PW_BASE_STRATEGY_TABLE_H

#define PW_STRATEGIES(X)                                                                                              \
    X(NATIVE, native, HOST, "the caller's own arguments")                                                             \
    X(PACKED, packed, HOST, "host memory, packed by the CPU")                                                         \
    X(CONTIGUOUS, contiguous, HOST, "the caller's own memory as bytes, if the message is one block")                  \
    X(JOINED, joined, HOST, "nothing: one kernel copies a block to oneself from the caller's memory to the caller's") \
    X(PIPELINE, pipeline, HOST, "the caller's own arguments, moved in pieces by the CPU's kernels, over UCX")         \
    X(DIRECT, direct, HOST, "a stand-in, whose reader copies from the caller's own memory, if that is shared")        \
    X(REMOTE, remote, HOST, "nothing: the receiver reads a long block of a collective over the network")              \
    X(DEVICE, device, DEVICE, "GPU memory, packed by the GPU, if the MPI takes such memory")                          \
    X(ONE_SHOT, one_shot, MAPPED, "pinned host memory, to which the GPU packs")                                       \
    X(STAGED, staged, STAGED, "pinned host memory, to which GPU memory is copied after the GPU has packed")

typedef enum pw_strategy_id {
#define X(symbol, name, packed, help) PW_STRATEGY_##symbol,
    PW_STRATEGIES(X)
#undef X
        PW_STRATEGY_COUNT
} pw_strategy_id;

static const char *const pw_strategy_names[] = {
#define X(symbol, name, packed, help) #name,
    PW_STRATEGIES(X)
#undef X
};

/* The names as PW_ENV_TABLE lists words: "|native|packed|...". */
#define PW_STRATEGY_WORD(symbol, name, packed, help) "|" #name
#define PW_STRATEGY_WORDS PW_STRATEGIES(PW_STRATEGY_WORD)

#endif
