/*
 * Dense types by size. The first 1024 sizes keep their type until MPI ends; further ones have theirs for one call. A
 * kept type does not change, so lookups take no lock.
 */
#include "runtime/mpi/collective/dense_type.h"

#include "runtime/engine/memory/handle_table.h"

#include <limits.h>
#include <pthread.h>

/* The number of sizes whose dense types are kept. Those of further sizes are made for one call, which bounds the memory
 * for programs that go on making types of new sizes. */
enum { KEPT = 1024 };

/* The singleton. A kept type neither moves nor changes between two calls of pw_dense_type_leave. */
static struct {
    pthread_mutex_t lock; /* guards what follows, and what is entered in by_size */
    bool is_open;
    MPI_Datatype kept[KEPT];
    int n;
} dense_types = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pw_handle_table by_size; /* size -> kept type */

static MPI_Datatype *find(int64_t size)
{
    return pw_handle_table_find(&by_size, (uint64_t)size);
}

static int make_contiguous(int64_t size, MPI_Datatype *out)
{
    if (size <= INT_MAX)
        return PMPI_Type_contiguous((int)size, MPI_BYTE, out);
#if PW_MPI_LARGE
    return PMPI_Type_contiguous_c(size, MPI_BYTE, out);
#else
    return MPI_ERR_COUNT;
#endif
}

static MPI_Datatype make(int64_t size)
{
    MPI_Datatype type;

    if (make_contiguous(size, &type) != MPI_SUCCESS)
        return MPI_DATATYPE_NULL;
    if (PMPI_Type_commit(&type) != MPI_SUCCESS) {
        PMPI_Type_free(&type);
        return MPI_DATATYPE_NULL;
    }
    return type;
}

/* Under the lock. */
static bool keep(MPI_Datatype type, int64_t size)
{
    dense_types.is_open = dense_types.is_open || pw_handle_table_open(&by_size) == PW_OK;
    if (dense_types.n == KEPT || !dense_types.is_open)
        return false;
    dense_types.kept[dense_types.n] = type;
    if (pw_handle_table_insert(&by_size, (uint64_t)size, &dense_types.kept[dense_types.n]) != PW_OK)
        return false;
    dense_types.n++;
    return true;
}

bool pw_dense_type_take(int64_t size, pw_dense_type *out)
{
    MPI_Datatype *known = find(size);

    if (!known) {
        pthread_mutex_lock(&dense_types.lock);
        known = find(size); /* another thread may have been faster */
        if (!known) {
            out->type = make(size);
            out->made = out->type != MPI_DATATYPE_NULL && !keep(out->type, size);
        }
        pthread_mutex_unlock(&dense_types.lock);
    }
    if (known)
        *out = (pw_dense_type){.type = *known, .made = false};
    return out->type != MPI_DATATYPE_NULL;
}

void pw_dense_type_give(pw_dense_type *dense_type)
{
    if (dense_type->made)
        PMPI_Type_free(&dense_type->type);
    dense_type->made = false;
}

void pw_dense_type_leave(void)
{
    pthread_mutex_lock(&dense_types.lock);
    if (dense_types.is_open)
        pw_handle_table_clear(&by_size);
    for (int i = 0; i < dense_types.n; i++)
        PMPI_Type_free(&dense_types.kept[i]);
    dense_types.n = 0;
    pthread_mutex_unlock(&dense_types.lock);
}
