/*
 * Where types were committed: the return address of MPI_Type_commit by handle, for reports. An origin is there from
 * the commit to the program's MPI_Type_free; without a report the table stays empty. The type has it as an attribute,
 * too, whose end takes it out of the table: so it goes with its type, however that is freed.
 */
#include "runtime/mpi/types/origin.h"

#include "base/handle_table.h"
#include "base/lock.h"
#include "runtime/mpi/types/internal.h"

/* The singleton. Callbacks of MPI take `lock`, and under it no type is changed. */
static pw_handle_table origins = PW_HANDLE_TABLE;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int keyval = MPI_KEYVAL_INVALID;

/* The delete callback. */
static int forget(MPI_Datatype type, int key, void *value, void *extra)
{
    PW_HOLD(&lock);

    (void)key, (void)value, (void)extra;
    pw_handle_table_remove(&origins, pw_type_key(type));
    return MPI_SUCCESS;
}

/* Makes the keyval if there is none. MPI_KEYVAL_INVALID: it cannot be made. */
static int make_keyval(void)
{
    int known = keyval, made;

    if (known != MPI_KEYVAL_INVALID ||
        PMPI_Type_create_keyval(pw_type_copy_nothing, forget, &made, NULL) != MPI_SUCCESS)
        return known;
    if (atomic_compare_exchange_strong(&keyval, &known, made))
        return made;
    PMPI_Type_free_keyval(&made); /* another thread was faster */
    return known;
}

void pw_origin_note(MPI_Datatype type, const void *caller)
{
    int key = caller && !pw_predefined_is(type) ? make_keyval() : MPI_KEYVAL_INVALID;

    if (key == MPI_KEYVAL_INVALID || PMPI_Type_set_attr(type, key, (void *)caller) != MPI_SUCCESS)
        return;
    PW_HOLD(&lock);
    pw_handle_table_insert(&origins, pw_type_key(type), (void *)caller);
}

void pw_origin_forget(MPI_Datatype type)
{
    if (pw_origin_of(type))
        PMPI_Type_delete_attr(type, keyval);
}

const void *pw_origin_of(MPI_Datatype type)
{
    return pw_handle_table_find(&origins, pw_type_key(type));
}

void pw_origin_each(void (*fn)(void *arg, uint64_t key, void *caller), void *arg)
{
    PW_HOLD(&lock);

    pw_handle_table_each(&origins, fn, arg);
}

void pw_origin_close(void)
{
    pw_handle_table_clear(&origins);
    keyval = MPI_KEYVAL_INVALID; /* it belonged to one life of MPI only */
}
