/*
 * The hooks of split collective calls. `_begin` fills the staging buffer, which is kept by file; `_end` unpacks it. MPI
 * checks the order of calls: it refuses a second `_begin`, and an `_end` without a `_begin`, whatever the buffer.
 */
#include "runtime/mpi/io/internal.h"

#include "runtime/engine/memory/handle_table.h"
#include "runtime/engine/memory/pool.h"
#include "runtime/mpi/entry/calls.h"

#include "hooks.h"
#include "next.h"

#include <limits.h>
#include <pthread.h>

typedef int end_fn(MPI_File fh, void *data, MPI_Status *status);

typedef struct split {
    pw_io_use use;
    end_fn *end; /* of the MPI below */
    pw_io_staging staging;
} split;

/* The singleton: split calls under way, by file. */
static struct {
    pthread_once_t once;
    pw_handle_table table;
    bool usable;
} splits = {.once = PTHREAD_ONCE_INIT};

static void start(void)
{
    static const char *const ends[] = {"MPI_File_read_all_end",
                                       "MPI_File_read_at_all_end",
                                       "MPI_File_read_ordered_end",
                                       "MPI_File_write_all_end",
                                       "MPI_File_write_at_all_end",
                                       "MPI_File_write_ordered_end",
                                       "MPI_File_close",
                                       NULL};
    static pw_calls ending = {.symbols = ends};

    splits.usable = pw_calls_are_ours(&ending) && pw_handle_table_open(&splits.table) == PW_OK;
}

static void destroy(split *s)
{
    pw_io_staging_close(&s->staging);
    pw_pool_give(s, sizeof *s);
}

/* Takes the split of a file out of the table, for the caller to free. NULL: there is none. */
static split *take(MPI_File fh)
{
    uint64_t key = pw_file_key(fh);

    return pw_handle_table_find(&splits.table, key) ? pw_handle_table_remove(&splits.table, key) : NULL;
}

/* ---- beginning --------------------------------------------------------------------------------------------------- */

/* Enters a split in the table before MPI is called, since that can fail. NULL: it has failed, and the hook returns
 * *verdict, with *rc set. */
static split *begin(const pw_io_call *call, end_fn *end, pw_verdict *verdict, int *rc)
{
    pw_io_staging staging;
    split *s;

    pthread_once(&splits.once, start);
    *verdict = PW_PASS;
    if (!splits.usable || pw_handle_table_find(&splits.table, pw_file_key(call->fh)))
        return NULL;
    s = pw_io_staging_open_kept(&staging, sizeof *s, call, verdict, rc);
    if (!s)
        return NULL;
    *s = (split){.use = call->use, .end = end, .staging = staging};
    if (pw_handle_table_insert(&splits.table, pw_file_key(call->fh), s) == PW_OK)
        return s;
    pw_io_staging_give_up(&s->staging, call, verdict, rc);
    destroy(s);
    return NULL;
}

static pw_verdict begun(MPI_File fh, int rc)
{
    if (rc != MPI_SUCCESS)
        destroy(take(fh));
    return PW_DONE;
}

/* ---- ending ------------------------------------------------------------------------------------------------------ */

/* Finds the split by the file, as MPI does. If the program passes another buffer than to `_begin`, or calls the `_end`
 * of another call, that is an error that neither MPI detects. */
static int finish(split *s, end_fn *end, MPI_File fh, MPI_Status *status)
{
    MPI_Status own;
    int rc;

    if (status == MPI_STATUS_IGNORE)
        status = &own;
    rc = end(fh, s->staging.data, status);
    if (rc == MPI_SUCCESS && s->use == PW_IO_READ)
        rc = pw_io_fail(fh, pw_io_staging_unpack(&s->staging, status));
    destroy(s);
    return rc;
}

static pw_verdict end_with(end_fn *end, MPI_File fh, MPI_Status *status, int *rc)
{
    split *s = take(fh);

    if (!s)
        return PW_PASS;
    *rc = finish(s, end, fh, status);
    return PW_DONE;
}

void pw_io_split_abandon(MPI_File fh)
{
    split *s = take(fh);

    if (s)
        finish(s, s->end, fh, MPI_STATUS_IGNORE);
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

#define NO_OFFSET
#define OFFSET_PARAMETER MPI_Offset offset,
#define OFFSET_ARGUMENT offset,

#define SPLIT_CALL(call, use, qualifier, parameter, argument)                                                    \
    static int call##_end(MPI_File fh, void *data, MPI_Status *status)                                           \
    {                                                                                                            \
        return pw_next.MPI_File_##call##_end(fh, data, status);                                                  \
    }                                                                                                            \
                                                                                                                 \
    pw_verdict pw_hook_File_##call##_begin(MPI_File fh, parameter qualifier void *buf, MPI_Count count,          \
                                           MPI_Datatype datatype, bool large, int *rc)                           \
    {                                                                                                            \
        pw_verdict verdict;                                                                                      \
        split *s =                                                                                               \
            begin(&(pw_io_call){use, PW_IO_LATER_TOGETHER, fh, buf, count, datatype}, call##_end, &verdict, rc); \
                                                                                                                 \
        (void)large;                                                                                             \
        if (!s)                                                                                                  \
            return verdict;                                                                                      \
        *rc = pw_call_File_##call##_begin(fh, argument s->staging.data, s->staging.count, s->staging.type,       \
                                          s->staging.count > INT_MAX);                                           \
        return begun(fh, *rc);                                                                                   \
    }                                                                                                            \
                                                                                                                 \
    pw_verdict pw_hook_File_##call##_end(MPI_File fh, qualifier void *buf, MPI_Status *status, int *rc)          \
    {                                                                                                            \
        (void)buf;                                                                                               \
        return end_with(call##_end, fh, status, rc);                                                             \
    }

SPLIT_CALL(read_all, PW_IO_READ, , NO_OFFSET, NO_OFFSET)
SPLIT_CALL(read_at_all, PW_IO_READ, , OFFSET_PARAMETER, OFFSET_ARGUMENT)
SPLIT_CALL(read_ordered, PW_IO_READ, , NO_OFFSET, NO_OFFSET)
SPLIT_CALL(write_all, PW_IO_WRITE, const, NO_OFFSET, NO_OFFSET)
SPLIT_CALL(write_at_all, PW_IO_WRITE, const, OFFSET_PARAMETER, OFFSET_ARGUMENT)
SPLIT_CALL(write_ordered, PW_IO_WRITE, const, NO_OFFSET, NO_OFFSET)
