/*
 * The oracle for typemaps: a typemap written out as a list of runs of bytes, and a slow, obvious pack and unpack. It
 * shares no code with Packwright.
 */
#ifndef PW_TESTS_SUPPORT_NAIVE_H
#define PW_TESTS_SUPPORT_NAIVE_H

#include <stdbool.h>
#include <stdint.h>

/* `bytes` bytes at `off`, of which an MPI may leave the last `padding` alone (the unused bytes of long double). */
typedef struct pw_naive_entry {
    int64_t off;
    int32_t bytes, padding;
} pw_naive_entry;

typedef struct pw_naive_map {
    pw_naive_entry *entries; /* in typemap order */
    int64_t n, cap;
    int64_t size;   /* sum of bytes */
    int64_t lo, hi; /* bounds of the bytes; both 0 when there are none */
} pw_naive_map;

/* Adds a run at the end. A run that continues the one before becomes part of it. */
void pw_naive_add(pw_naive_map *map, int64_t off, int64_t bytes, int64_t padding);
/* Adds all runs of `old`, moved by `disp`. */
void pw_naive_append(pw_naive_map *map, const pw_naive_map *old, int64_t disp);
void pw_naive_free(pw_naive_map *map);

/* Finds the bounds of `count` objects, `extent` apart. */
void pw_naive_span(const pw_naive_map *map, int64_t extent, int64_t count, int64_t *lo, int64_t *hi);

/* Objects of a count lie `extent` apart; `mem` is the address of the first. */
void pw_naive_pack(const pw_naive_map *map, int64_t extent, int64_t count, const unsigned char *mem,
                   unsigned char *packed);

/* Unpacks only the packed bytes [first, last); `packed` is where byte `first` is. */
void pw_naive_unpack_range(const pw_naive_map *map, int64_t extent, int64_t count, int64_t first, int64_t last,
                           unsigned char *mem, const unsigned char *packed);

/* Returns whether some byte of memory belongs to two places of the packed stream, which makes unpacking undefined. */
bool pw_naive_overlaps(const pw_naive_map *map, int64_t extent, int64_t count);

#endif
