/* What the files of `packwright run` share, by the file that defines it. program.h and interposer.h are for other
 * commands, too. */
#ifndef PW_TOOLS_RUN_INTERNAL_H
#define PW_TOOLS_RUN_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- elf.c ------------------------------------------------------------------------------------------------------- */

/*
 * Reads ELF files: whether one is a dynamically linked program or library of this machine, what it needs, and where the
 * dynamic linker would look for that. Nothing in a file is trusted: every offset is checked against the file's size.
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
    uint64_t dynamic_at, dynamic_len; /* where the dynamic section is in the file, in bytes */
    uint64_t strings_at, strings_len; /* of the dynamic section's strings; 0 long when there are none */
} pw_elf;

/* After PW_ELF_OK the caller closes the file. */
pw_elf_status pw_elf_open(const char *path, pw_elf *out);
void pw_elf_close(pw_elf *elf);

typedef void pw_elf_needed_fn(void *arg, const pw_elf *needed_by, const char *name);
void pw_elf_each_needed(const pw_elf *elf, pw_elf_needed_fn *fn, void *arg);

/*
 * Finds the library `name` that `needed_by` needs: in its own run path, LD_LIBRARY_PATH, the directories of
 * /etc/ld.so.conf.d, and the system's. This approximates ld.so(8), without the linker's cache.
 */
bool pw_elf_find_library(const pw_elf *needed_by, const char *name, char *path, size_t size);

/* ---- launcher.c -------------------------------------------------------------------------------------------------- */

/* Reads command lines of MPI launchers: where in `mpiexec -n 2 ./a x : -n 2 ./b y` are the programs? */

/* Returns whether a word (a name or a path) is a launcher's: mpiexec, mpirun, orterun, srun, and variants such as
 * mpiexec.hydra. */
bool pw_launcher_is(const char *word);

/*
 * The part of the command line that starts one program: words [begin, end) of argv, options first; the next part
 * begins at end + 1, after the ":". `program` is the first word that is no option and no value of one.
 */
typedef struct pw_launcher_part {
    int begin, program, end;
} pw_launcher_part;

/* Finds the part that begins at `begin`, which is 1 for the first. False: the part has no program. */
bool pw_launcher_part_at(int argc, char *const *argv, int begin, pw_launcher_part *out);

#endif
