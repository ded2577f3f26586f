/*
 * What is true of a message when its way is chosen (runtime/choice/way.h), found out once for each choice. All looks at
 * the process, the MPI and the peers that a choice needs are made here, so that the choice itself is pure.
 */
#ifndef PW_RUNTIME_STRATEGY_CONDITIONS_H
#define PW_RUNTIME_STRATEGY_CONDITIONS_H

#include "runtime/choice/way.h"
#include "runtime/mpi/strategy/strategy.h"

typedef struct pw_asked {
    const pw_message *message;
    pw_conditions now, to; /* `to`: of the other buffer of a message to oneself */
    bool is_complete;
} pw_asked;

/* Returns half of the second-level cache: so many packed bytes stay there, beside what they are copied from or to. */
int64_t pw_cached_bytes(void);
/* Returns those conditions of a described message that say which ways can carry it. */
unsigned pw_message_conditions(const pw_message *m);
/* Finds these out, and its shape. */
void pw_ask(pw_asked *a, const pw_message *m);
/* Finds out the rest, which costs depend on, if that has not been done. */
const pw_conditions *pw_ask_all(pw_asked *a);

/* Chooses a strategy that is not in the set `refused` (bit 1 << id). *record is the site's; NULL: not remembered. */
pw_strategy_id pw_strategy_choose(pw_asked *a, unsigned refused, struct pw_site **record);

/* Returns the site that keeps the way of a described message, which another one of its layout and size took, and counts
 * a use of it; NULL: pw_strategy_choose must be asked. */
struct pw_site *pw_strategy_again(const pw_message *m, int *way);

/* ---- pipeline.c -------------------------------------------------------------------------------------------------- */

/*
 * Kernels within the MPI's own pipeline. MPIs over UCX give UCX a derived type with callbacks that pack and unpack
 * pieces of the stream (ucp_dt_create_generic). This library takes the place of that function, and the kernels of a
 * layout take that of the callbacks, for the messages of which a caller says so.
 */

/* Whether the MPI moves this described message of host memory in pieces, which kernels can take over. */
bool pw_pipeline_serves(const pw_message *m);

#endif
