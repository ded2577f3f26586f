/*
 * Reads the linkage tables of mapped libraries and programs, which say where their calls lead to, and redirects calls.
 * A description is valid as long as its object stays mapped.
 */
#ifndef PW_BASE_LINKAGE_H
#define PW_BASE_LINKAGE_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What the dynamic section of a mapped object contains. */
typedef struct pw_linkage {
    const char *path; /* "" for the program itself */
    uintptr_t base;
    const ElfW(Sym) * symbols;
    const char *strings;
    const ElfW(Rela) * table[2]; /* the relocations of calls, and those of addresses */
    size_t bytes[2];
    uintptr_t relro_begin, relro_end; /* the loader made this read-only after relocating */
} pw_linkage;

/* Returns the descriptions of the mapped objects with one of these names, malloc'ed, and their number. `names`: as of
 * pw_linkage_is_named; NULL: of all. `seen`, if it is not NULL, is the loader's count of mapped objects at the last
 * call: without further ones there is none in the list. Objects with other names are not read, which would take longer
 * than all else: every kernel that is loaded is a further object. */
pw_linkage *pw_linkage_list(const char *const *names, size_t *n, unsigned long long *seen);

/* Returns whether the file of a library has one of these names, which NULL ends: before a dot, a dash or an underscore.
 * May be called in signal handlers. */
static inline bool pw_linkage_is_named(const char *path, const char *const *names)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;

    for (; *names; names++) {
        size_t n = strlen(*names);

        if (!strncmp(name, *names, n) && name[n] && strchr("._-", name[n]))
            return true;
    }
    return false;
}

/* `choose` below returns this for a name that no library defines: weak references to the name become NULL, and other
 * references stay as they are. */
extern char pw_linkage_nowhere[1];

/*
 * Makes every entry of an undefined symbol point to what `choose` returns for the symbol's name; NULL leaves the entry
 * as it is. Must not be called inside dl_iterate_phdr if `choose` asks the loader. Other threads may call through the
 * tables meanwhile. Returns how many entries were written, or -1 if the tables cannot be read or written.
 */
int pw_linkage_redirect(const pw_linkage *l, void *(*choose)(void *arg, const char *name), void *arg);

/* Hides `function`, which the library of this code exports, from the loader: look-ups no longer find it. Returns false
 * if its symbol cannot be found or written. */
bool pw_linkage_hide(const void *function);

/* Returns a handle of the library that this code is in. The library stays mapped as long as the process, so the handle
 * is never closed. */
void *pw_linkage_own_handle(void);

#endif
