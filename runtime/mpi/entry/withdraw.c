
#include "base/log.h"
#include "runtime/mpi/entry/linkage.h"
#include "runtime/mpi/entry/locate.h"
#include "runtime/mpi/mpi_compat.h"

#include "next.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* A variable of Open MPI: mpi.h names it, so every version of Open MPI has it, and no other MPI does. */
static const char mark[] = "ompi_mpi_comm_world";

bool pw_withdraw_is_due(void)
{
    void *function = dlsym(RTLD_DEFAULT, "PMPI_Type_commit"), *mpi;
    bool is_open_mpi;
    Dl_info info;

    if (!function || !dladdr(function, &info) || !(mpi = dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY)))
        return false;
    is_open_mpi = dlsym(mpi, mark) != NULL;
    dlclose(mpi);
    return is_open_mpi != PW_MPI_IS_OPEN_MPI;
}

/* ---- everything that is mapped ----------------------------------------------------------------------------------- */

typedef struct object_list {
    pw_linkage *at;
    size_t n;
} object_list;

/* Asking the loader before its iteration ends would deadlock. */
static int take_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    object_list *list = arg;
    pw_linkage *grown = realloc(list->at, (list->n + 1) * sizeof *grown);

    (void)size;
    if (!grown)
        return 1;
    list->at = grown;
    pw_linkage_read(&list->at[list->n++], info);
    return 0;
}

static bool is_own(const void *function)
{
    Dl_info ours, found;

    return dladdr(mark, &ours) && dladdr(function, &found) && ours.dli_fbase == found.dli_fbase;
}

/* Returns the next definition of a name that this library exports; NULL for other names. */
static void *next_of(void *self, const char *name)
{
    void *function = strncmp(name, "MPI_", 4) ? NULL : dlsym(self, name), *next;

    if (!function || !is_own(function))
        return NULL;
    next = pw_locate_next(name);
    return next ? next : pw_linkage_nowhere;
}

static void hide(void *self, const char *name)
{
    void *function = dlsym(self, name);

    if (function && is_own(function))
        pw_linkage_hide(function);
}

void pw_withdraw(void)
{
    object_list list = {NULL, 0};
    void *self = pw_linkage_own_handle();
    int n = 0;

    dl_iterate_phdr(take_object, &list);
    for (size_t i = 0; self && i < list.n; i++) {
        int entries = pw_linkage_redirect(&list.at[i], next_of, self);

        n += entries > 0 ? entries : 0;
    }
    free(list.at);
    if (self)
        pw_next_each(hide, self);
    pw_log(PW_LOG_DEBUG, "%d calls lead past this library", n);
}
