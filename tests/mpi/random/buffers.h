/*
 * Buffers whose neighbourhood is watched: by bytes before and after that must not change, or by pages that fault
 * when touched, flush with the end or the beginning of the buffer. A placement is chosen anew for every use.
 */
#ifndef PW_TESTS_MPI_RANDOM_BUFFERS_H
#define PW_TESTS_MPI_RANDOM_BUFFERS_H

#include "tests/support/rng.h"

enum { PW_WATCHED_MARGIN = 192 };

typedef struct pw_watched {
    unsigned char *map; /* `pages` usable bytes between two pages that cannot be touched */
    int64_t usable;
    unsigned char *at; /* the current placement */
    int64_t bytes, before, after;
    unsigned char *saved; /* the saved contents of the margins and the buffer */
} pw_watched;

/* Exits if there is no memory. `most`: the bytes of the largest placement. */
void pw_watched_create(pw_watched *w, int64_t most);
void pw_watched_destroy(pw_watched *w);

/* Returns a place for `bytes` bytes; it and the margins have random contents. */
unsigned char *pw_watched_place(pw_watched *w, pw_rng *rng, int64_t bytes);

/* Saves the contents of the buffer and the margins. */
void pw_watched_save(pw_watched *w);
/* The saved contents of the buffer; may be changed into what is expected. */
unsigned char *pw_watched_saved(pw_watched *w);

/* Offset, relative to the buffer, of the first byte that differs from what was saved, margins included; where
 * `mask` (of the buffer's length, may be NULL) is not 0, differences are allowed. False when there is none. */
bool pw_watched_differs(const pw_watched *w, const unsigned char *mask, int64_t *where);

#endif
