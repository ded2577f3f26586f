/*
 * What Packwright itself takes on a rank. The figures are those of 2 to 64 ranks on one node, with MPICH and Open MPI,
 * where every message was packed (tests/soak/ranks).
 */
#include "tools/plan/plan.h"

enum {
    START_BYTES = 800 << 10, /* resident after MPI_Init, the table of counts and the own segment included */
    PEER_BYTES = 35 << 10,   /* record of a peer on the node, and the head of its segment */
    DESCRIPTORS = 2
};

static bool is_repeated(const pw_plan_exchange *x, int64_t rank, int k, int64_t to)
{
    /* A transpose sends one block to each rank. */
    for (int i = 0; i < k && x->ndirections; i++)
        if (pw_plan_route(x, rank, i) == to)
            return true;
    return false;
}

static pw_plan_own own_of(const pw_plan_exchange *x, int64_t rank)
{
    int64_t per_node = x->o->ranks_per_node;
    pw_plan_own own = {.descriptors = DESCRIPTORS, .resident = START_BYTES};

    for (int k = 0; k < pw_plan_messages(x); k++) {
        int64_t to = pw_plan_route(x, rank, k),
                bytes = x->types[x->ndirections ? x->directions[k].type : 0].shape.bytes;
        bool near = to != rank && to / per_node == rank / per_node;

        own.copies += 2 * bytes;
        own.peers += near && !is_repeated(x, rank, k, to);
        own.read += near ? bytes : 0;
    }
    own.resident += own.copies + own.peers * PEER_BYTES + own.read;
    return own;
}

pw_plan_own pw_plan_own_most(const pw_plan_exchange *x)
{
    pw_plan_own most = {.resident = 0};

    for (int64_t rank = 0; rank < x->o->ranks; rank++) {
        pw_plan_own own = own_of(x, rank);

        if (own.resident > most.resident)
            most = own;
    }
    return most;
}
