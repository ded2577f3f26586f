/*
 * Memory that the ranks of a node have in common: one block of zeroes, which each of them may read and write. Ranks are
 * processes with one parent, as launchers start them; the one with the least process number brings the memory, in the
 * file of its segment (segment.h), where the others find it, and no rank sends a message.
 *
 * Another process of this user may have written anything there, and only such a process. So choices may become worse by
 * what lies there, and what is to be executed is verified first.
 */
#ifndef PW_RUNTIME_COMMONS_H
#define PW_RUNTIME_COMMONS_H

/* What the ranks of a job have in common, each part in its place of the block. What no rank writes takes no memory. */
typedef enum pw_commons_part {
    PW_COMMONS_TRIALS,
    PW_COMMONS_WINDOWS,
    PW_COMMONS_KERNELS,
    PW_COMMONS_PARTS
} pw_commons_part;

enum { PW_COMMONS_PART_BYTES = 8 << 20, PW_COMMONS_BYTES = PW_COMMONS_PARTS * PW_COMMONS_PART_BYTES };

/* Returns one part of the memory, which stays as long as this process; the first call looks for it, which must not be
 * before all ranks have opened their segments: from MPI_Init on, since that returns in no rank before it has begun in
 * all of them. NULL: there is none. */
void *pw_commons_part_of(pw_commons_part part);

#endif
