#include "naive.h"

#include <stdlib.h>
#include <string.h>

void pw_naive_add(pw_naive_map *map, int64_t off, int64_t bytes, int64_t padding)
{
    if (bytes == 0)
        return;
    pw_naive_entry *last = map->n > 0 ? &map->entries[map->n - 1] : NULL;
    if (last && last->off + last->bytes == off && last->padding == 0 && padding == 0) {
        last->bytes += (int32_t)bytes;
        map->size += bytes;
        map->hi = off + bytes > map->hi ? off + bytes : map->hi;
        return;
    }
    if (map->n == map->cap) {
        map->cap = map->cap ? 2 * map->cap : 16;
        map->entries = realloc(map->entries, (size_t)map->cap * sizeof *map->entries);
    }
    bool first = map->n == 0;
    map->entries[map->n++] = (pw_naive_entry){off, (int32_t)bytes, (int32_t)padding};
    map->size += bytes;
    map->lo = first || off < map->lo ? off : map->lo;
    map->hi = first || off + bytes > map->hi ? off + bytes : map->hi;
}

void pw_naive_append(pw_naive_map *map, const pw_naive_map *old, int64_t disp)
{
    for (int64_t i = 0; i < old->n; i++)
        pw_naive_add(map, disp + old->entries[i].off, old->entries[i].bytes, old->entries[i].padding);
}

void pw_naive_free(pw_naive_map *map)
{
    free(map->entries);
    *map = (pw_naive_map){0};
}

void pw_naive_span(const pw_naive_map *map, int64_t extent, int64_t count, int64_t *lo, int64_t *hi)
{
    int64_t last = count > 0 ? (count - 1) * extent : 0;
    bool none = map->n == 0 || count == 0;
    *lo = none ? 0 : map->lo + (last < 0 ? last : 0);
    *hi = none ? 0 : map->hi + (last > 0 ? last : 0);
}

void pw_naive_pack(const pw_naive_map *map, int64_t extent, int64_t count, const unsigned char *mem,
                   unsigned char *packed)
{
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < map->n; k++) {
            memcpy(packed, mem + i * extent + map->entries[k].off, (size_t)map->entries[k].bytes);
            packed += map->entries[k].bytes;
        }
}

void pw_naive_unpack_range(const pw_naive_map *map, int64_t extent, int64_t count, int64_t first, int64_t last,
                           unsigned char *mem, const unsigned char *packed)
{
    int64_t at = 0;
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < map->n; k++) {
            const pw_naive_entry *e = &map->entries[k];
            int64_t from = first > at ? first : at;
            int64_t to = last < at + e->bytes ? last : at + e->bytes;
            if (from < to)
                memcpy(mem + i * extent + e->off + (from - at), packed + (from - first), (size_t)(to - from));
            at += e->bytes;
        }
}

bool pw_naive_overlaps(const pw_naive_map *map, int64_t extent, int64_t count)
{
    int64_t lo, hi;
    bool found = false;
    pw_naive_span(map, extent, count, &lo, &hi);
    unsigned char *seen = calloc((size_t)(hi - lo) + 1, 1);
    for (int64_t i = 0; i < count && !found; i++)
        for (int64_t k = 0; k < map->n && !found; k++) {
            unsigned char *p = seen + i * extent + map->entries[k].off - lo;
            for (int64_t j = 0; j < map->entries[k].bytes; j++)
                found |= p[j]++ != 0;
        }
    free(seen);
    return found;
}
