#include "runtime/mpi/collective/twin.h"

#include "runtime/engine/memory/handle_table.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

/* Sizes that are remembered. Twins of further sizes are made for one call: programs that go on making types of new
 * sizes need bounded memory. */
enum { KEPT = 1024 };

/* The singleton. A kept type does not move or change between two calls of pw_twin_leave. */
static struct {
    pthread_mutex_t lock;               /* guards what follows, but for lookups in by_size */
    _Atomic(pw_handle_table *) by_size; /* size -> kept type; NULL before the first */
    MPI_Datatype kept[KEPT];
    int n;
} twins = {.lock = PTHREAD_MUTEX_INITIALIZER};

static MPI_Datatype *find(int64_t size)
{
    pw_handle_table *table = atomic_load_explicit(&twins.by_size, memory_order_acquire);

    return table ? pw_handle_table_find(table, (uint64_t)size) : NULL;
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
    pw_handle_table *table = atomic_load_explicit(&twins.by_size, memory_order_relaxed);

    if (twins.n == KEPT || (!table && pw_handle_table_create(&table) != PW_OK))
        return false;
    atomic_store_explicit(&twins.by_size, table, memory_order_release);
    twins.kept[twins.n] = type;
    if (pw_handle_table_insert(table, (uint64_t)size, &twins.kept[twins.n]) != PW_OK)
        return false;
    twins.n++;
    return true;
}

bool pw_twin_take(int64_t size, pw_twin *out)
{
    MPI_Datatype *known = find(size);

    if (!known) {
        pthread_mutex_lock(&twins.lock);
        known = find(size); /* another thread may have been faster */
        if (!known) {
            out->type = make(size);
            out->made = out->type != MPI_DATATYPE_NULL && !keep(out->type, size);
        }
        pthread_mutex_unlock(&twins.lock);
    }
    if (known)
        *out = (pw_twin){.type = *known, .made = false};
    return out->type != MPI_DATATYPE_NULL;
}

void pw_twin_give(pw_twin *twin)
{
    if (twin->made)
        PMPI_Type_free(&twin->type);
    twin->made = false;
}

void pw_twin_leave(void)
{
    pthread_mutex_lock(&twins.lock);
    if (atomic_load_explicit(&twins.by_size, memory_order_relaxed))
        pw_handle_table_clear(atomic_load_explicit(&twins.by_size, memory_order_relaxed));
    for (int i = 0; i < twins.n; i++)
        PMPI_Type_free(&twins.kept[i]);
    twins.n = 0;
    pthread_mutex_unlock(&twins.lock);
}
