/*
 * Reads the dynamic section of mapped objects and writes entries of their linkage tables, in the format of machines
 * with 64 bits, whose relocations have addends. Pages that the loader has sealed are made writable for a write and then
 * read-only again. A description is valid as long as its object stays mapped.
 */
#include "base/linkage.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- a mapped object -------------------------------------------------------------------------------------------- */

/* The loader relocates the pointers of a dynamic section on most machines, but not on all. */
static const void *pointer(const pw_linkage *l, ElfW(Addr) address)
{
    return (const void *)(address < l->base ? l->base + address : address);
}

static void read_dynamic(pw_linkage *l, const ElfW(Dyn) * entry)
{
    for (; entry->d_tag != DT_NULL; entry++)
        switch (entry->d_tag) {
        case DT_SYMTAB: l->symbols = pointer(l, entry->d_un.d_ptr); break;
        case DT_STRTAB: l->strings = pointer(l, entry->d_un.d_ptr); break;
        case DT_JMPREL: l->table[0] = pointer(l, entry->d_un.d_ptr); break;
        case DT_PLTRELSZ: l->bytes[0] = entry->d_un.d_val; break;
        case DT_RELA: l->table[1] = pointer(l, entry->d_un.d_ptr); break;
        case DT_RELASZ: l->bytes[1] = entry->d_un.d_val; break;
        default: break;
        }
}

static void read_object(pw_linkage *l, const struct dl_phdr_info *info)
{
    *l = (pw_linkage){.path = info->dlpi_name, .base = info->dlpi_addr};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];

        if (p->p_type == PT_DYNAMIC)
            read_dynamic(l, (const void *)(l->base + p->p_vaddr));
        if (p->p_type == PT_GNU_RELRO) {
            l->relro_begin = l->base + p->p_vaddr;
            /* The loader leaves a page writable that is only partly in this range. */
            l->relro_end = (l->relro_begin + p->p_memsz) & -(uintptr_t)sysconf(_SC_PAGESIZE);
        }
    }
}

typedef struct object_list {
    pw_linkage *at;
    size_t n;
    const char *const *names;
    unsigned long long added, *seen; /* the loader's count of all objects it had ever mapped */
} object_list;

/* Asking the loader before its iteration ends would deadlock. Returning 1 ends the iteration. */
static int take_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    object_list *list = arg;
    pw_linkage *grown;

    (void)size;
    list->added = info->dlpi_adds;
    if (list->seen && list->added == *list->seen)
        return 1;
    if (list->names && !pw_linkage_is_named(info->dlpi_name, list->names))
        return 0;
    grown = realloc(list->at, (list->n + 1) * sizeof *grown);
    if (!grown)
        return 1;
    list->at = grown;
    read_object(&list->at[list->n++], info);
    return 0;
}

pw_linkage *pw_linkage_list(const char *const *names, size_t *n, unsigned long long *seen)
{
    object_list list = {.names = names, .seen = seen};

    dl_iterate_phdr(take_object, &list);
    if (seen)
        *seen = list.added;
    *n = list.n;
    return list.at;
}

/* ---- its linkage table ------------------------------------------------------------------------------------------ */

char pw_linkage_nowhere[1];

/* Makes the pages of a few bytes writable, or read-only again. */
static bool protect(const void *at, size_t bytes, int protection)
{
    uintptr_t page = (uintptr_t)at & -(uintptr_t)sysconf(_SC_PAGESIZE);

    return mprotect((void *)page, (uintptr_t)at + bytes - page, protection) == 0;
}

static bool write_slot(const pw_linkage *l, void **slot, void *function)
{
    bool sealed = (uintptr_t)slot >= l->relro_begin && (uintptr_t)slot < l->relro_end;

    if (sealed && !protect(slot, sizeof *slot, PROT_READ | PROT_WRITE))
        return false;
    __atomic_store_n(slot, function, __ATOMIC_RELEASE);
    return !sealed || protect(slot, sizeof *slot, PROT_READ);
}

static bool is_weak(const pw_linkage *l, const ElfW(Rela) * r)
{
    return ELF64_ST_BIND(l->symbols[ELF64_R_SYM(r->r_info)].st_info) == STB_WEAK;
}

/* Returns the address that an entry should point to; NULL: it stays as it is. */
static void *chosen(const pw_linkage *l, const ElfW(Rela) * r, void *(*choose)(void *, const char *), void *arg)
{
    const ElfW(Sym) *symbol = &l->symbols[ELF64_R_SYM(r->r_info)];

    if (ELF64_R_SYM(r->r_info) == 0 || symbol->st_shndx != SHN_UNDEF)
        return NULL;
    return choose(arg, l->strings + symbol->st_name);
}

int pw_linkage_redirect(const pw_linkage *l, void *(*choose)(void *arg, const char *name), void *arg)
{
    int n = 0;

    if (!(l->symbols && l->strings) && (l->table[0] || l->table[1]))
        return -1;
    for (int t = 0; t < 2; t++)
        for (size_t i = 0; l->table[t] && i < l->bytes[t] / sizeof *l->table[t]; i++) {
            const ElfW(Rela) *r = &l->table[t][i];
            void *function = chosen(l, r, choose, arg);

            if (!function || (function == pw_linkage_nowhere && !is_weak(l, r)))
                continue;
            if (function == pw_linkage_nowhere)
                function = NULL;
            if (!write_slot(l, (void **)(l->base + r->r_offset), function))
                return -1;
            n++;
        }
    return n;
}

/* ---- what this library exports ----------------------------------------------------------------------------------- */

/* Sets the symbol's value to 0: the loader passes over symbols without a value. */
bool pw_linkage_hide(const void *function)
{
    Dl_info info, own;
    ElfW(Sym) *symbol = NULL;

    if (!dladdr(pw_linkage_nowhere, &own) || !dladdr1(function, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol ||
        info.dli_saddr != function || info.dli_fbase != own.dli_fbase ||
        !protect(symbol, sizeof *symbol, PROT_READ | PROT_WRITE))
        return false;
    __atomic_store_n(&symbol->st_value, 0, __ATOMIC_RELEASE);
    return protect(symbol, sizeof *symbol, PROT_READ);
}

void *pw_linkage_own_handle(void)
{
    static const char inside = 0;
    Dl_info info;

    return dladdr(&inside, &info) ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}
