/*
 * The parts of the runtime in the order in which they start; they end in the opposite one. A part may use what stands
 * above it in the table at any time, and what stands below it never.
 */
#include "runtime/mpi/start/parts.h"

#include "base/env.h"
#include "runtime/engine/gpu/code.h"
#include "runtime/engine/memory/pool.h"
#include "runtime/exchange/net/net.h"
#include "runtime/exchange/segment.h"
#include "runtime/exchange/sharing.h"
#include "runtime/exchange/xpmem.h"
#include "runtime/mpi/collective/communicator.h"
#include "runtime/mpi/collective/dense_type.h"
#include "runtime/mpi/collective/remote.h"
#include "runtime/mpi/entry/gate.h"
#include "runtime/mpi/one_sided/rma.h"
#include "runtime/mpi/requests/deferred.h"
#include "runtime/mpi/requests/pending.h"
#include "runtime/mpi/stats/stats.h"
#include "runtime/mpi/strategy/direct.h"
#include "runtime/mpi/strategy/mpich_split.h"
#include "runtime/mpi/types/noted.h"
#include "runtime/mpi/types/origin.h"
#include "runtime/mpi/types/registry.h"

static void start_types(void)
{
    if (!pw_env_bool(PW_ENV_DISABLE))
        pw_registry_start();
}

/* Types are learned at MPI_Type_commit where a strategy is forced, where kernels are compiled at commit, and where the
 * trace names every committed type. */
static void start_notes(void)
{
    pw_note_is_off = pw_strategy_is_forced() || pw_trace_is_on() || pw_jit_mode_from_env() == PW_JIT_SYNC;
    pw_note_is_reported = pw_layout_use_is_reported();
    pw_note_most_native = pw_split_is_staged() ? PW_SPLIT_WHOLE : INT64_MAX;
}

typedef struct part {
    void (*start)(void); /* called when the next functions are known and the gate opens */
    bool always; /* `start` is called even if the gate stays inert: the part's wrappers ask the gate until then */
    void (*leave)(void); /* called before MPI ends */
    void (*close)(void); /* called after MPI has ended */
} part;

/* Parts start from the first to the last. All other functions are called from the last to the first. */
static const part parts[] = {
    {.leave = pw_gpu_stop, .close = pw_gpu_close},                                  /* GPU memory */
    {.start = pw_segment_open, .close = pw_segment_end},                            /* the node's shared memory */
    {.start = pw_sharing_start},                                                    /* where peers are */
    {.close = pw_pool_trim},                                                        /* staging buffers */
    {.start = start_types, .leave = pw_registry_leave, .close = pw_registry_close}, /* datatypes */
    {.start = pw_direct_start, .close = pw_xpmem_end},                              /* layouts of other processes */
    {.start = pw_stats_start, .close = pw_origin_close},                            /* statistics */
    {.start = pw_strategy_start},                                                   /* strategies */
    {.start = start_notes},                                                         /* types not learned yet */
    {.start = pw_pending_start, .always = true, .close = pw_pending_close},         /* requests */
    {.start = pw_deferred_start, .always = true, .close = pw_deferred_close},       /* deferred sends */
    {.leave = pw_communicator_leave},                                               /* communicators */
    {.start = pw_remote_start, .leave = pw_remote_leave, .close = pw_net_stop},     /* the network */
    {.leave = pw_dense_type_leave},                                                 /* the dense types of collectives */
    {.start = pw_rma_start, .always = true, .leave = pw_rma_leave},                 /* one-sided operations */
};

enum { PARTS = sizeof parts / sizeof *parts };

void pw_parts_start(bool open)
{
    for (int i = 0; i < PARTS; i++)
        if (parts[i].start && (open || parts[i].always))
            parts[i].start();
}

/* While a round is timed, completing calls come through the gate although none of their operations may be pending. */
void pw_parts_flight(int change)
{
    atomic_fetch_add_explicit(&pw_pending_live, change, memory_order_relaxed);
    atomic_fetch_add_explicit(&pw_rma_live, change, memory_order_relaxed);
}

void pw_parts_leave(void)
{
    for (int i = PARTS - 1; i >= 0; i--)
        if (parts[i].leave)
            parts[i].leave();
}

void pw_parts_close(void)
{
    for (int i = PARTS - 1; i >= 0; i--)
        if (parts[i].close)
            parts[i].close();
}
