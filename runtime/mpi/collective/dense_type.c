/*
 * Dense types by size. They keep their type until MPI ends. A type does not change, so lookups take no lock.
 */
#include "runtime/mpi/collective/dense_type.h"

#include "base/handle_table.h"
#include "base/lock.h"

#include <limits.h>
#include <pthread.h>

/* The most sizes, which bounds the memory for programs that go on making types of new sizes. */
enum { MOST = 1 << 14 };

/* The singleton. A kept type neither moves nor changes between two calls of pw_dense_type_leave. */
static struct {
    pthread_mutex_t lock; /* guards what follows, and what is entered in by_size */
    MPI_Datatype kept[MOST];
    int n;
} dense_types = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pw_handle_table by_size = PW_HANDLE_TABLE; /* size -> kept type */

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

/* Makes and keeps a dense type, unless another thread was faster. NULL: it could not. */
static MPI_Datatype *add(int64_t size)
{
    PW_HOLD(&dense_types.lock);
    MPI_Datatype *known = find(size), *type = &dense_types.kept[dense_types.n];

    if (known || dense_types.n == MOST)
        return known;
    *type = make(size);
    if (*type == MPI_DATATYPE_NULL)
        return NULL;
    dense_types.n++; /* pw_dense_type_leave frees it, even if it cannot be entered */
    return pw_handle_table_insert(&by_size, (uint64_t)size, type) == PW_OK ? type : NULL;
}

bool pw_dense_type_get(int64_t size, MPI_Datatype *out)
{
    MPI_Datatype *known = find(size);

    if (!known)
        known = add(size);
    if (known)
        *out = *known;
    return known;
}

void pw_dense_type_leave(void)
{
    pthread_mutex_lock(&dense_types.lock);
    pw_handle_table_clear(&by_size);
    for (int i = 0; i < dense_types.n; i++)
        PMPI_Type_free(&dense_types.kept[i]);
    dense_types.n = 0;
    pthread_mutex_unlock(&dense_types.lock);
}
