/*
 * The linkage tables of mapped libraries and programs: where their calls lead to, and leading them elsewhere.
 *
 * A description is valid as long as the object stays mapped.
 */
#ifndef PW_RUNTIME_LINKAGE_H
#define PW_RUNTIME_LINKAGE_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an object's dynamic section tells. */
typedef struct pw_linkage {
    const char *path; /* "" for the program itself */
    uintptr_t base;
    const ElfW(Sym) * symbols;
    const char *strings;
    const ElfW(Rela) * table[2]; /* relocations of calls, and of addresses */
    size_t bytes[2];
    bool other_format;                /* relocations without addends */
    uintptr_t relro_begin, relro_end; /* read-only since it was linked */
} pw_linkage;

/* From what dl_iterate_phdr shows. */
void pw_linkage_read(pw_linkage *l, const struct dl_phdr_info *info);

/* What `choose` below returns for a name that no library defines: weak references to it become NULL, others stay. */
extern char pw_linkage_nowhere[1];

/*
 * Has every entry of an undefined symbol lead to what `choose` returns for its name; NULL leaves it as it is. Not
 * inside dl_iterate_phdr if `choose` asks the loader. Returns how many entries were written; -1 when the tables cannot
 * be read or written. Other threads may be calling through them.
 */
int pw_linkage_redirect(const pw_linkage *l, void *(*choose)(void *arg, const char *name), void *arg);

/* The loader no longer finds `function`, one that the library of this code exports. False: the symbol cannot be found
 * or written. */
bool pw_linkage_hide(const void *function);

/* A handle of the library that this code is in; never closed, since it stays mapped as long as the process. */
void *pw_linkage_own_handle(void);

#endif
