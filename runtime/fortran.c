#include "runtime/fortran.h"

#include "base/log.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* How their files' names begin: MPICH, its ABI's common name (Intel MPI, MVAPICH), Open MPI. The latter's module
 * libraries call the C code in libmpi_mpifh. */
static const char *const bindings[] = {"libmpichfort", "libmpifort", "libmpi_mpifh", "libmpi_usempi"};

/* ---- a mapped library ------------------------------------------------------------------------------------------- */

/* What its dynamic section tells. */
typedef struct library {
    const char *path;
    uintptr_t base;
    const ElfW(Sym) * symbols;
    const char *strings;
    const ElfW(Rela) * table[2]; /* relocations of calls, and of addresses */
    size_t bytes[2];
    bool other_format;                /* relocations without addends */
    uintptr_t relro_begin, relro_end; /* read-only since it was linked */
} library;

/* The loader relocates the pointers of a dynamic section on most machines, but not on all. */
static const void *pointer(const library *l, ElfW(Addr) address)
{
    return (const void *)(address < l->base ? l->base + address : address);
}

static void read_dynamic(library *l, const ElfW(Dyn) * entry)
{
    for (; entry->d_tag != DT_NULL; entry++)
        switch (entry->d_tag) {
        case DT_SYMTAB: l->symbols = pointer(l, entry->d_un.d_ptr); break;
        case DT_STRTAB: l->strings = pointer(l, entry->d_un.d_ptr); break;
        case DT_JMPREL: l->table[0] = pointer(l, entry->d_un.d_ptr); break;
        case DT_PLTRELSZ: l->bytes[0] = entry->d_un.d_val; break;
        case DT_RELA: l->table[1] = pointer(l, entry->d_un.d_ptr); break;
        case DT_RELASZ: l->bytes[1] = entry->d_un.d_val; break;
        case DT_PLTREL: l->other_format |= entry->d_un.d_val != DT_RELA; break;
        case DT_REL: l->other_format = true; break;
        default: break;
        }
}

static void read_library(library *l, const struct dl_phdr_info *info)
{
    *l = (library){.path = info->dlpi_name, .base = info->dlpi_addr};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];

        if (p->p_type == PT_DYNAMIC)
            read_dynamic(l, (const void *)(l->base + p->p_vaddr));
        if (p->p_type == PT_GNU_RELRO) {
            l->relro_begin = l->base + p->p_vaddr;
            /* A page that is only begun stays writable. */
            l->relro_end = (l->relro_begin + p->p_memsz) & -(uintptr_t)sysconf(_SC_PAGESIZE);
        }
    }
}

/* One without any relocations is, too. */
static bool is_readable(const library *l)
{
    return !l->other_format && ((l->symbols && l->strings) || !(l->table[0] || l->table[1]));
}

/* ---- its linkage table ------------------------------------------------------------------------------------------ */

static bool write_slot(const library *l, void **slot, void *function)
{
    uintptr_t page = (uintptr_t)slot & -(uintptr_t)sysconf(_SC_PAGESIZE);
    bool sealed = (uintptr_t)slot >= l->relro_begin && (uintptr_t)slot < l->relro_end;
    size_t bytes = (uintptr_t)(slot + 1) - page;

    if (sealed && mprotect((void *)page, bytes, PROT_READ | PROT_WRITE) != 0)
        return false;
    __atomic_store_n(slot, function, __ATOMIC_RELEASE);
    return !sealed || mprotect((void *)page, bytes, PROT_READ) == 0;
}

static size_t symbol_index(const ElfW(Rela) * r)
{
#if __SIZEOF_POINTER__ == 8
    return ELF64_R_SYM(r->r_info);
#else
    return ELF32_R_SYM(r->r_info);
#endif
}

/* What this library exports in the place of an undefined symbol of the bindings; NULL: nothing. */
static void *stand_in(void *self, const library *l, const ElfW(Rela) * r)
{
    const ElfW(Sym) *symbol = &l->symbols[symbol_index(r)];
    const char *name = l->strings + symbol->st_name;

    if (symbol_index(r) == 0 || symbol->st_shndx != SHN_UNDEF || strncmp(name, "PMPI_", 5))
        return NULL;
    return dlsym(self, name + 1);
}

/* How many entries now lead here; -1 when one cannot be written. */
static int redirect(void *self, const library *l)
{
    int n = 0;

    if (!self)
        return -1;
    for (int t = 0; t < 2; t++)
        for (size_t i = 0; l->table[t] && i < l->bytes[t] / sizeof *l->table[t]; i++) {
            const ElfW(Rela) *r = &l->table[t][i];
            void *function = stand_in(self, l, r);

            if (!function)
                continue;
            if (!write_slot(l, (void **)(l->base + r->r_offset), function))
                return -1;
            n++;
        }
    return n;
}

/* ---- all that are mapped ---------------------------------------------------------------------------------------- */

enum { MOST_LIBRARIES = 16 };

/* The singleton; under its lock. */
static struct {
    pthread_mutex_t lock;
    void *self;              /* handle of this library */
    unsigned long long seen; /* objects that the loader had ever mapped when last looked at */
    bool incomplete;         /* a library could not be taken in */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* What one iteration finds. The loader must not be asked anything before it ends: locks. */
typedef struct found {
    library libraries[MOST_LIBRARIES];
    int n;
    unsigned long long added;
} found;

static bool is_binding(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;

    for (size_t i = 0; i < sizeof bindings / sizeof *bindings; i++)
        if (!strncmp(name, bindings[i], strlen(bindings[i])))
            return true;
    return false;
}

/* Ends at the first object when nothing was mapped since the last time. */
static int look_at_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    found *f = arg;

    (void)size;
    f->added = info->dlpi_adds;
    if (f->added == state.seen)
        return 1;
    if (f->n < MOST_LIBRARIES && is_binding(info->dlpi_name))
        read_library(&f->libraries[f->n++], info);
    return 0;
}

/* Also one that was taken in before: the result is the same. */
static void take_in(const library *l)
{
    int n = is_readable(l) ? redirect(state.self, l) : -1;

    state.incomplete |= n < 0;
    if (n < 0)
        pw_log(PW_LOG_INFO, "the calls of %s cannot be redirected", l->path);
    else
        pw_log(PW_LOG_DEBUG, "%d calls of %s lead here", n, l->path);
}

/* This library stays mapped as long as the process: the handle costs nothing. */
static void *own_handle(void)
{
    Dl_info info;

    return dladdr((void *)&state, &info) ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

bool pw_fortran_redirect(void)
{
    found f = {.n = 0};
    bool complete;

    pthread_mutex_lock(&state.lock);
    dl_iterate_phdr(look_at_object, &f);
    state.seen = f.added;
    if (f.n > 0 && !state.self)
        state.self = own_handle();
    for (int i = 0; i < f.n; i++)
        take_in(&f.libraries[i]);
    complete = !state.incomplete;
    pthread_mutex_unlock(&state.lock);
    return complete;
}
