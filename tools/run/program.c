#include "tools/run/program.h"

#include "base/env.h"
#include "tools/run/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_executable_file(const char *path)
{
    struct stat st;

    return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

bool pw_program_find(const char *word, char *path, size_t size)
{
    const char *dirs = pw_env_foreign("PATH");

    if (strchr(word, '/')) {
        snprintf(path, size, "%s", word);
        return is_executable_file(path);
    }
    for (const char *dir = dirs ? dirs : "/usr/bin:/bin"; *word && dir;) {
        size_t n = strcspn(dir, ":");

        /* An empty entry is the current directory. */
        snprintf(path, size, "%.*s%s%s", n ? (int)n : 1, n ? dir : ".", "/", word);
        if (is_executable_file(path))
            return true;
        dir = dir[n] ? dir + n + 1 : NULL;
    }
    return false;
}

/* ---- libraries, and those that they need ---------------------------------------------------------------------- */

enum { MOST_LIBRARIES = 512 };

/* A walk over the libraries that a program needs. Each is looked at once. Names are kept in the order in which they
 * were met. */
typedef struct library_walk {
    pw_program *program;
    int n;
    char *names[MOST_LIBRARIES];
} library_walk;

static void examine_dynamic(library_walk *walk, const pw_elf *elf);

static bool met_before(library_walk *walk, const char *name)
{
    for (int i = 0; i < walk->n; i++)
        if (!strcmp(walk->names[i], name))
            return true;
    if (walk->n == MOST_LIBRARIES || !(walk->names[walk->n] = strdup(name)))
        return true;
    walk->n++;
    return false;
}

/* Returns whether this is the name of an MPI's library. Libraries beside it, as for Fortran, have similar names. */
static bool is_mpi_name(const char *name)
{
    return !strncmp(name, "libmpi", 6) && (strchr("._-", name[6]) || !strncmp(name + 6, "ch", 2));
}

static void meet_library(void *arg, const pw_elf *needed_by, const char *name)
{
    library_walk *walk = arg;
    const pw_mpi_abi *mpi = pw_mpi_abi_of_soname(name);
    char path[4096];
    pw_elf elf;

    if (met_before(walk, name))
        return;
    if (!strncmp(name, "libpackwright-", 14))
        walk->program->interposed = true;
    if (mpi) {
        walk->program->mpi = mpi;
        if (!pw_elf_find_library(needed_by, name, walk->program->mpi_library, sizeof walk->program->mpi_library))
            walk->program->mpi_library[0] = '\0';
        return;
    }
    if (is_mpi_name(name))
        snprintf(walk->program->other_mpi, sizeof walk->program->other_mpi, "%s", name);
    if (pw_elf_find_library(needed_by, name, path, sizeof path) && pw_elf_open(path, &elf) == PW_ELF_OK) {
        examine_dynamic(walk, &elf);
        pw_elf_close(&elf);
    }
}

static void examine_dynamic(library_walk *walk, const pw_elf *elf)
{
    pw_elf_each_needed(elf, meet_library, walk);
}

static void examine_elf(pw_program *out, const pw_elf *elf)
{
    library_walk walk = {.program = out};

    out->kind = elf->dynamic ? PW_PROGRAM_DYNAMIC : PW_PROGRAM_STATIC;
    examine_dynamic(&walk, elf);
    if (out->mpi)
        out->other_mpi[0] = '\0';
    while (walk.n)
        free(walk.names[--walk.n]);
}

/* Returns whether the `n` bytes at `text` lie in the strings of the dynamic section. */
static bool has_string(const pw_elf *elf, const char *text, size_t n)
{
    return elf->strings_len > 0 && elf->strings_len <= elf->size && elf->strings_at <= elf->size - elf->strings_len &&
           memmem(elf->data + elf->strings_at, elf->strings_len, text, n);
}

bool pw_program_is_tool(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    bool is = false;
    pw_elf elf;

    if (is_mpi_name(name) || !strncmp(name, "libpackwright-", 14) || pw_elf_open(path, &elf) != PW_ELF_OK)
        return false;
    /* Most tools begin with MPI_Init; one that counts a single call names PMPI_ functions, as no program does. */
    is = has_string(&elf, "MPI_Init", sizeof "MPI_Init") || has_string(&elf, "MPI_Finalize", sizeof "MPI_Finalize") ||
         has_string(&elf, "\0PMPI_", sizeof "\0PMPI_" - 1);
    pw_elf_close(&elf);
    return is;
}

static bool is_script(const char *path)
{
    char start[2] = {0};
    FILE *f = fopen(path, "rb");
    bool yes = f && fread(start, 1, 2, f) == 2 && start[0] == '#' && start[1] == '!';

    if (f)
        fclose(f);
    return yes;
}

void pw_program_examine(const char *path, pw_program *out)
{
    pw_elf elf;

    *out = (pw_program){.kind = PW_PROGRAM_UNKNOWN};
    switch (pw_elf_open(path, &elf)) {
    case PW_ELF_OK:
        examine_elf(out, &elf);
        pw_elf_close(&elf);
        break;
    case PW_ELF_FOREIGN: out->kind = PW_PROGRAM_FOREIGN; break;
    case PW_ELF_NOT:
        if (is_script(path))
            out->kind = PW_PROGRAM_SCRIPT;
        break;
    }
}
