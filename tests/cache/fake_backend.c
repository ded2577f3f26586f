#include "tests/cache/fake_backend.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

static void die(const char *what)
{
    perror(what);
    exit(99);
}

fake_state *fake(void)
{
    static fake_state *state;

    if (!state) {
        state = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (state == MAP_FAILED)
            die("mmap");
    }
    return state;
}

static pw_blob read_fixture(const char *name)
{
    char path[4096];
    pw_blob blob = {0};
    FILE *f;

    snprintf(path, sizeof path, "%s/%s.so", PW_FIXTURES, name);
    f = fopen(path, "rb");
    if (!f)
        die(path);
    blob.data = malloc(1 << 20);
    blob.size = blob.data ? fread(blob.data, 1, 1 << 20, f) : 0;
    fclose(f);
    return blob;
}

static void rename_symbol(pw_blob *blob, const char *verb, const char *to)
{
    char from[PW_SYMBOL_TEXT];
    char *at;

    snprintf(from, sizeof from, "pw_%s_%032d", verb, 0);
    at = memmem(blob->data, blob->size, from, strlen(from));
    if (!at)
        die("fixture without its symbol");
    memcpy(at, to, strlen(from));
}

/* Rebuilds the hash section after symbols got other names: one bucket that chains them all fits any names. */
static void rebuild_hash(pw_blob *blob)
{
    char *base = blob->data;
    Elf64_Ehdr *h = blob->data;
    Elf64_Phdr *p = (Elf64_Phdr *)(base + h->e_phoff);

    for (int i = 0; i < h->e_phnum; i++) {
        Elf64_Dyn *d = (Elf64_Dyn *)(base + p[i].p_offset);

        for (; p[i].p_type == PT_DYNAMIC && d->d_tag != DT_NULL; d++) {
            Elf64_Word *t = (Elf64_Word *)(base + d->d_un.d_ptr); /* the first segment is mapped from 0 */

            if (d->d_tag != DT_HASH)
                continue;
            t[0] = 1;
            t[2] = 1;
            t[3] = 0;
            for (Elf64_Word s = 1; s < t[1]; s++)
                t[3 + s] = s + 1 < t[1] ? s + 1 : 0;
        }
    }
}

static pw_blob make_object(const char *fixture, const char *pack, const char *unpack)
{
    pw_blob blob = read_fixture(fixture);

    rename_symbol(&blob, "pack", pack);
    rename_symbol(&blob, "unpack", unpack);
    rebuild_hash(&blob);
    return blob;
}

pw_blob fake_object(pw_hash key, bool poison)
{
    char pack[PW_SYMBOL_TEXT], unpack[PW_SYMBOL_TEXT];

    pw_kernel_symbols(key, pack, unpack);
    return make_object(poison ? "poison" : "good", pack, unpack);
}

static pw_status fake_compile(const pw_compile_job *job, pw_blob *out, pw_diag *diag)
{
    struct timespec t = {.tv_nsec = atomic_load(&fake()->delay_us) * 1000L};

    atomic_fetch_add(&fake()->begun, 1);
    nanosleep(&t, NULL);
    while (atomic_load(&fake()->held))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    atomic_store(&fake()->priority, getpriority(PRIO_PROCESS, 0));
    if (atomic_load(&fake()->broken))
        return pw_diag_set(diag, PW_ERR_COMPILE, "the fake compiler was told to fail");
    *out = make_object("good", job->pack_name, job->unpack_name);
    atomic_fetch_add(&fake()->compiles, 1);
    return PW_OK;
}

const pw_backend *fake_load_backend(const char *name, pw_diag *diag)
{
    static const pw_backend backend = {"fake", "1", fake_compile};

    atomic_fetch_add(&fake()->loads, 1);
    if (atomic_load(&fake()->missing)) {
        pw_diag_set(diag, PW_ERR_NOT_FOUND, "the fake backend '%s' was told to be missing", name);
        return NULL;
    }
    return &backend;
}
