/*
 * The image of a disk entry: a shared object followed by a footer (docs/cache.md). The loader of ELF files
 * ignores what follows the object, so objdump, gdb and perf read an entry as it is.
 */
#ifndef PW_JIT_CACHE_ENTRY_H
#define PW_JIT_CACHE_ENTRY_H

#include "base/hash.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PW_ENTRY_VERSION = 1,         /* of the file format; names the subdirectory, too */
    PW_ENTRY_MAX_BYTES = 64 << 20 /* larger files are refused unread */
};

#define PW_ENTRY_MAGIC "PWkernel"

/* In the machine's byte order; an entry of the other order fails at `version`. */
typedef struct pw_entry_footer {
    char magic[8];
    uint32_t version;
    uint32_t footer_bytes; /* sizeof (pw_entry_footer) */
    uint64_t elf_bytes;    /* where the footer starts */
    uint64_t key_lo, key_hi;
    uint64_t sum_lo, sum_hi; /* XXH3-128 of every byte before these two */
} pw_entry_footer;

/*
 * Is this the intact image of the kernel `key` for this machine or a GPU? Looks at nothing but the bytes, which may be
 * anything at all. CORRUPT (damaged, another version or key) or UNSUPPORTED (another machine), with the reason.
 */
pw_status pw_entry_check(const void *data, size_t size, pw_hash key, pw_diag *diag);

/* Of bytes that passed the check: are they code for a GPU? */
bool pw_entry_is_foreign(const void *data);

/* Appends the footer to an ELF image. The result is malloc'ed. */
pw_status pw_entry_seal(const void *elf, size_t elf_bytes, pw_hash key, void **out, size_t *out_size);

#endif
