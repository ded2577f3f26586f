/*
 * The views of open files, by handle, as far as staging depends on them: is the representation native, is the file
 * type plain. A file that is not in the table has the view it was opened with. Once a view could not be noted, no
 * view counts as native.
 */
#include "runtime/mpi/io/internal.h"

#include "frontend/mpi/contents.h"
#include "runtime/engine/memory/handle_table.h"
#include "runtime/mpi/entry/calls.h"

#include <pthread.h>

/* A view as a value of the table. A file that is not in the table has the view that it was opened with, which is native
 * and plain. */
enum { NOTED = 1, NATIVE = 2, PLAIN = 4 };

/* The singleton. */
static struct {
    pthread_once_t once;
    _Atomic bool lost; /* some view could not be noted: from then on no view counts as native */
} views = {.once = PTHREAD_ONCE_INIT};

static pw_handle_table table;

static void start(void)
{
    static const char *const symbols[] = {"MPI_File_set_view", "MPI_File_close", NULL};
    static pw_calls noting = {.symbols = symbols};

    views.lost = pw_handle_table_open(&table) != PW_OK || !pw_calls_are_ours(&noting);
}

static bool is_predefined(MPI_Datatype type)
{
    pw_envelope envelope;

    return pw_envelope_read(type, &envelope, NULL) == PW_OK && envelope.combiner == MPI_COMBINER_NAMED;
}

pw_io_view pw_io_view_of(MPI_File fh)
{
    uintptr_t noted;

    pthread_once(&views.once, start);
    if (views.lost)
        return (pw_io_view){.native = false};
    noted = (uintptr_t)pw_handle_table_find(&table, pw_file_key(fh));
    return (pw_io_view){.native = !noted || noted & NATIVE, .plain = !noted || noted & PLAIN};
}

void pw_io_view_set(MPI_File fh, MPI_Datatype filetype, const char *representation)
{
    uintptr_t view = NOTED;

    pthread_once(&views.once, start);
    if (!strcmp(representation, "native"))
        view |= NATIVE;
    if (is_predefined(filetype))
        view |= PLAIN;
    if (!views.lost && pw_handle_table_insert(&table, pw_file_key(fh), (void *)view) != PW_OK)
        views.lost = true;
}

void pw_io_view_forget(MPI_File fh)
{
    pthread_once(&views.once, start);
    if (!views.lost)
        pw_handle_table_remove(&table, pw_file_key(fh));
}
