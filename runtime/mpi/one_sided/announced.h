/*
 * Where the memory of windows lies, as the ranks of a node tell each other. MPIs map one file for the memory that a
 * window has on a node, so a part of a window is known by that file and its rank in the window. A rank announces its
 * own part in memory that all ranks of the node have in common (runtime/exchange/commons.h). No rank sends a
 * message or waits, so ranks without Packwright may take part in the window.
 *
 * All functions are thread safe.
 */
#ifndef PW_RUNTIME_ONE_SIDED_ANNOUNCED_H
#define PW_RUNTIME_ONE_SIDED_ANNOUNCED_H

#include <stdbool.h>
#include <stdint.h>

/* The part of a window that one rank has. */
typedef struct pw_window_part {
    uint64_t device, inode; /* of the file, as /proc/self/maps has them */
    int64_t at, bytes;      /* offset in the file; length */
    int64_t unit;           /* of displacements */
    int rank;               /* in the window */
} pw_window_part;

/* Announces a part. Returns false if there is no room, or no memory in common. */
bool pw_window_announce(const pw_window_part *part);
/* Takes back what this process has announced. */
void pw_window_withdraw(const pw_window_part *part);
/* Finds the part of the rank in out->rank of the window in the file of *out, and fills in the rest. Returns false if no
 * rank has announced it, or several have. */
bool pw_window_part_find(pw_window_part *out);

#endif
