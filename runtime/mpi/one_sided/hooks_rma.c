/*
 * The hooks of one-sided transfers (MPI 4.0 section 12.3): one line for each call. X_PARAMS are the parameters of a
 * hook, X_SIDES sets the fields of a transfer from them, and X_ARGS passes them on.
 */
#include "runtime/mpi/one_sided/internal.h"
#include "runtime/mpi/strategy/operand.h"

#include "hooks.h"
#include "next.h"

/* ---- with a request, or without ---------------------------------------------------------------------------------- */

#define PLAIN_PARAMS
#define PLAIN_MORE
#define PLAIN_ARGS
#define REQUEST_PARAMS , MPI_Request *request
#define REQUEST_MORE , .with_request = true, .request = request
#define REQUEST_ARGS , t->request

/* ---- one hook ---------------------------------------------------------------------------------------------------- */

#define TRANSFER_HOOK(name, shape, of_family, form)                              \
    static int next_##name(const pw_transfer *t)                                 \
    {                                                                            \
        return pw_call_##name(shape##_ARGS form##_ARGS, t->large);               \
    }                                                                            \
                                                                                 \
    pw_verdict pw_hook_##name(shape##_PARAMS form##_PARAMS, bool large, int *rc) \
    {                                                                            \
        pw_transfer t = {.family = of_family,                                    \
                         .next = next_##name,                                    \
                         shape##_SIDES,                                          \
                         .rank = target_rank,                                    \
                         .disp = target_disp,                                    \
                         .count = target_count,                                  \
                         .type = target_datatype,                                \
                         .win = win,                                             \
                         .large = large form##_MORE};                            \
                                                                                 \
        return pw_transfer_call(&t, rc);                                         \
    }

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

#define TARGET_PARAMS int target_rank, MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype
#define TARGET_ARGS t->rank, t->disp, t->count, t->type
#define SENT_PARAMS const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype
#define SENT_SIDE .sent = {(void *)origin_addr, origin_count, origin_datatype}
#define SENT_ARGS t->sent.buf, t->sent.count, t->sent.type
#define GOT_ARGS t->got.buf, t->got.count, t->got.type

#define PUT_PARAMS SENT_PARAMS, TARGET_PARAMS, MPI_Win win
#define PUT_SIDES SENT_SIDE
#define PUT_ARGS SENT_ARGS, TARGET_ARGS, t->win

#define GET_PARAMS void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, TARGET_PARAMS, MPI_Win win
#define GET_SIDES .got = {origin_addr, origin_count, origin_datatype}
#define GET_ARGS GOT_ARGS, TARGET_ARGS, t->win

#define ACCUMULATE_PARAMS SENT_PARAMS, TARGET_PARAMS, MPI_Op op, MPI_Win win
#define ACCUMULATE_SIDES SENT_SIDE, .op = op
#define ACCUMULATE_ARGS SENT_ARGS, TARGET_ARGS, t->op, t->win

#define GET_ACCUMULATE_PARAMS                                                                                       \
    SENT_PARAMS, void *result_addr, MPI_Count result_count, MPI_Datatype result_datatype, TARGET_PARAMS, MPI_Op op, \
        MPI_Win win
#define GET_ACCUMULATE_SIDES SENT_SIDE, .got = {result_addr, result_count, result_datatype}, .op = op
#define GET_ACCUMULATE_ARGS SENT_ARGS, GOT_ARGS, TARGET_ARGS, t->op, t->win

/* clang-format off: a table */
TRANSFER_HOOK(Put, PUT, PW_PUT, PLAIN)
TRANSFER_HOOK(Rput, PUT, PW_PUT, REQUEST)
TRANSFER_HOOK(Get, GET, PW_GET, PLAIN)
TRANSFER_HOOK(Rget, GET, PW_GET, REQUEST)
TRANSFER_HOOK(Accumulate, ACCUMULATE, PW_ACCUMULATE, PLAIN)
TRANSFER_HOOK(Raccumulate, ACCUMULATE, PW_ACCUMULATE, REQUEST)
TRANSFER_HOOK(Get_accumulate, GET_ACCUMULATE, PW_GET_ACCUMULATE, PLAIN)
TRANSFER_HOOK(Rget_accumulate, GET_ACCUMULATE, PW_GET_ACCUMULATE, REQUEST)
/* clang-format on */

/* ---- of one element ---------------------------------------------------------------------------------------------- */

/* The type is passed on unchanged: the call may not allow it, which MPI reports. */
static int next_Fetch_and_op(const pw_transfer *t)
{
    return pw_next.MPI_Fetch_and_op(t->sent.buf, t->got.buf, t->type, t->rank, t->disp, t->op, t->win);
}

pw_verdict pw_hook_Fetch_and_op(const void *origin_addr, void *result_addr, MPI_Datatype datatype, int target_rank,
                                MPI_Aint target_disp, MPI_Op op, MPI_Win win, int *rc)
{
    pw_transfer t = {.family = PW_FETCH_AND_OP,
                     .next = next_Fetch_and_op,
                     .sent = {(void *)origin_addr, 1, datatype},
                     .got = {result_addr, 1, datatype},
                     .rank = target_rank,
                     .disp = target_disp,
                     .count = 1,
                     .type = datatype,
                     .op = op,
                     .win = win};

    /* With MPI_NO_OP the origin may be null; its type is then learned, so that the next call knows it. */
    if (pw_operands_are_native(origin_addr, result_addr, datatype))
        return origin_addr ? PW_PASS : PW_LEARN;
    return pw_transfer_call(&t, rc);
}

static int next_Compare_and_swap(const pw_transfer *t)
{
    return pw_next.MPI_Compare_and_swap(t->sent.buf, t->compared.buf, t->got.buf, t->type, t->rank, t->disp, t->win);
}

pw_verdict pw_hook_Compare_and_swap(const void *origin_addr, const void *compare_addr, void *result_addr,
                                    MPI_Datatype datatype, int target_rank, MPI_Aint target_disp, MPI_Win win, int *rc)
{
    pw_transfer t = {.family = PW_COMPARE_AND_SWAP,
                     .next = next_Compare_and_swap,
                     .sent = {(void *)origin_addr, 1, datatype},
                     .compared = {(void *)compare_addr, 1, datatype},
                     .got = {result_addr, 1, datatype},
                     .rank = target_rank,
                     .disp = target_disp,
                     .count = 1,
                     .type = datatype,
                     .op = MPI_REPLACE,
                     .win = win};
    bool native = pw_operands_are_native(origin_addr, compare_addr, datatype) &&
                  pw_operands_are_native(result_addr, result_addr, datatype);

    return native ? PW_PASS : pw_transfer_call(&t, rc);
}
