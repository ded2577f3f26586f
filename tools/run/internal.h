/* What the files of `packwright run` share, a part for each; program.h and interposer.h are for other commands, too. */
#ifndef PW_TOOLS_RUN_INTERNAL_H
#define PW_TOOLS_RUN_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- elf.c ------------------------------------------------------------------------------------------------------- */

/*
 * Reading of ELF files: is it a dynamically linked program or library of this machine, what does it need, and where
 * would the dynamic linker look for that? Nothing in a file is trusted: every offset is checked against its size.
 */

typedef enum pw_elf_status {
    PW_ELF_OK,
    PW_ELF_FOREIGN, /* ELF, but not this machine's 64-bit kind */
    PW_ELF_NOT      /* no ELF file, unreadable or damaged */
} pw_elf_status;

typedef struct pw_elf {
    char path[4096];
    const unsigned char *data; /* the mapped file */
    size_t size;
    bool dynamic;                     /* has a dynamic section */
    uint64_t dynamic_at, dynamic_len; /* its place in the file, bytes */
    uint64_t strings_at, strings_len; /* of the dynamic section's strings; 0 long when there are none */
} pw_elf;

/* On PW_ELF_OK the caller closes. */
pw_elf_status pw_elf_open(const char *path, pw_elf *out);
void pw_elf_close(pw_elf *elf);

typedef void pw_elf_needed_fn(void *arg, const pw_elf *needed_by, const char *name);
void pw_elf_each_needed(const pw_elf *elf, pw_elf_needed_fn *fn, void *arg);

/*
 * Finds the library `name` that `needed_by` needs: its own run path, LD_LIBRARY_PATH, the directories of
 * /etc/ld.so.conf.d, the system's. An approximation of ld.so(8) that does not read the linker's cache.
 */
bool pw_elf_find_library(const pw_elf *needed_by, const char *name, char *path, size_t size);

/* ---- launcher.c -------------------------------------------------------------------------------------------------- */

/*
 * Command lines of MPI launchers: where in `mpiexec -n 2 ./a x : -n 2 ./b y` are the programs?
 */

/* Is this word (a name or a path) that of a launcher: mpiexec, mpirun, orterun, srun, …, also mpiexec.hydra? */
bool pw_launcher_is(const char *word);

/*
 * The part of the command line that starts one program: words [begin, end) of argv, options first; the next part
 * begins at end + 1, after the ":". `program` is the first word that is no option and no value of one.
 */
typedef struct pw_launcher_part {
    int begin, program, end;
} pw_launcher_part;

/* The part that begins at `begin`, which is 1 for the first. False when it has no program. */
bool pw_launcher_part_at(int argc, char *const *argv, int begin, pw_launcher_part *out);

#endif
