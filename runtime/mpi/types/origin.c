/*
 * Where types were committed: the return address of MPI_Type_commit by handle, for reports. An origin is there from
 * the commit to the program's MPI_Type_free; without a report the table stays empty.
 */
#include "runtime/mpi/types/origin.h"

#include "base/handle_table.h"

/* The singleton. */
static pw_handle_table origins = PW_HANDLE_TABLE;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void pw_origin_note(MPI_Datatype type, const void *caller)
{
    if (!caller)
        return;
    pthread_mutex_lock(&lock);
    pw_handle_table_insert(&origins, pw_type_key(type), (void *)caller);
    pthread_mutex_unlock(&lock);
}

void pw_origin_forget(MPI_Datatype type)
{
    pthread_mutex_lock(&lock);
    pw_handle_table_remove(&origins, pw_type_key(type));
    pthread_mutex_unlock(&lock);
}

const void *pw_origin_of(MPI_Datatype type)
{
    return pw_handle_table_find(&origins, pw_type_key(type));
}

void pw_origin_each(void (*fn)(void *arg, uint64_t key, void *caller), void *arg)
{
    pthread_mutex_lock(&lock);
    pw_handle_table_each(&origins, fn, arg);
    pthread_mutex_unlock(&lock);
}

void pw_origin_close(void)
{
    pw_handle_table_clear(&origins);
}
