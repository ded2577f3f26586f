/*
 * Turns the MPI calls of a whole process past Packwright and back, libraries included: each object's references to
 * MPI_Name and mpi_name_ are set to the MPI's own PMPI_Name and pmpi_name_, or to what the linker would find. So both
 * sides of a comparison have the same memory, the same pages and the same peers, which those of two processes do not.
 *
 * The invariant: only references that name such a function change, and never those of Packwright itself.
 */
#define _GNU_SOURCE
#include "rows.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined __aarch64__
enum { CALLED = R_AARCH64_JUMP_SLOT, LOADED = R_AARCH64_GLOB_DAT, STORED = R_AARCH64_ABS64 };
#else
enum { CALLED = R_X86_64_JUMP_SLOT, LOADED = R_X86_64_GLOB_DAT, STORED = R_X86_64_64 };
#endif

/* What the dynamic section of an object says of its references. */
typedef struct object {
    ElfW(Addr) base;
    const ElfW(Sym) * symbols;
    const char *names;
    const ElfW(Rela) * tables[2];
    size_t bytes[2];
} object;

/* The loader has made these addresses absolute. */
static object object_of(const struct dl_phdr_info *info)
{
    object o = {.base = info->dlpi_addr};

    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
            continue;
        for (const ElfW(Dyn) *d = (const void *)(o.base + info->dlpi_phdr[i].p_vaddr); d->d_tag != DT_NULL; d++)
            switch (d->d_tag) {
            case DT_SYMTAB: o.symbols = (const void *)d->d_un.d_ptr; break;
            case DT_STRTAB: o.names = (const void *)d->d_un.d_ptr; break;
            case DT_RELA: o.tables[0] = (const void *)d->d_un.d_ptr; break;
            case DT_RELASZ: o.bytes[0] = d->d_un.d_val; break;
            case DT_JMPREL: o.tables[1] = (const void *)d->d_un.d_ptr; break;
            case DT_PLTRELSZ: o.bytes[1] = d->d_un.d_val; break;
            default: break;
            }
    }
    return o;
}

/* References to functions of MPI. They are found before the first of them is looked up: who looks up while the loader
 * lists its objects may wait for a thread that loads one, which waits for him. */
typedef struct reference {
    void **at;
    const char *name;
} reference;

typedef struct references {
    reference *each;
    size_t n;
} references;

static void note(references *all, void **at, const char *name)
{
    if (!(all->n & (all->n - 1))) /* a power of two, at which the room doubles */
        all->each = realloc(all->each, (all->n ? 2 * all->n : 1) * sizeof *all->each);
    if (!all->each) {
        fprintf(stderr, "no memory for references\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    all->each[all->n++] = (reference){at, name};
}

static int note_object(struct dl_phdr_info *info, size_t size, void *data)
{
    object o = object_of(info);

    (void)size;
    if (strstr(info->dlpi_name, "libpackwright") || strstr(info->dlpi_name, "linux-vdso") || !o.symbols || !o.names)
        return 0;
    for (int t = 0; t < 2; t++)
        for (size_t i = 0; i < o.bytes[t] / sizeof(ElfW(Rela)); i++) {
            const ElfW(Rela) *r = &o.tables[t][i];
            unsigned long kind = ELF64_R_TYPE(r->r_info);
            const char *name = o.names + o.symbols[ELF64_R_SYM(r->r_info)].st_name;

            if ((kind == CALLED || kind == LOADED || kind == STORED) &&
                (!strncmp(name, "MPI_", 4) || !strncmp(name, "mpi_", 4)))
                note(data, (void **)(o.base + r->r_offset), name);
        }
    return 0;
}

/* Sets a reference, unless it is to something else than a function that has two names. */
static void set(const reference *r, bool natively)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char own[128];
    void *function;

    snprintf(own, sizeof own, "%c%s", *r->name == 'M' ? 'P' : 'p', r->name);
    function = dlsym(RTLD_DEFAULT, own) ? dlsym(RTLD_DEFAULT, natively ? own : r->name) : NULL;
    if (!function || *r->at == function)
        return;
    if (mprotect((void *)((uintptr_t)r->at / page * page), page, PROT_READ | PROT_WRITE)) {
        perror("a reference cannot be changed");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    *r->at = function;
}

void rows_call_natively(bool natively)
{
    references all = {NULL, 0};

    dl_iterate_phdr(note_object, &all);
    for (size_t i = 0; i < all.n; i++)
        set(&all.each[i], natively);
    free(all.each);
}
