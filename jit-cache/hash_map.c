#include "jit-cache/hash_map.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 64 };

/* Linear probing; `lo` is already well mixed. */
static size_t find_cell(const pw_hash_map *map, pw_hash key)
{
    size_t i = key.lo & (map->capacity - 1);

    while (map->cells[i].value && !pw_hash_equal(map->cells[i].key, key))
        i = (i + 1) & (map->capacity - 1);
    return i;
}

void *pw_hash_map_get(const pw_hash_map *map, pw_hash key)
{
    return map->capacity ? map->cells[find_cell(map, key)].value : NULL;
}

static pw_status grow(pw_hash_map *map)
{
    pw_hash_map bigger = {.capacity = map->capacity ? 2 * map->capacity : FIRST_CAPACITY, .used = map->used};

    bigger.cells = calloc(bigger.capacity, sizeof *bigger.cells);
    if (!bigger.cells)
        return PW_ERR_NOMEM;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->cells[i].value)
            bigger.cells[find_cell(&bigger, map->cells[i].key)] = map->cells[i];
    free(map->cells);
    *map = bigger;
    return PW_OK;
}

pw_status pw_hash_map_put(pw_hash_map *map, pw_hash key, void *value)
{
    pw_hash_cell *cell;

    if (4 * (map->used + 1) > 3 * map->capacity && grow(map))
        return PW_ERR_NOMEM;
    cell = &map->cells[find_cell(map, key)];
    map->used += !cell->value;
    *cell = (pw_hash_cell){key, value};
    return PW_OK;
}

void *pw_hash_map_begin(pw_hash_map *map, pw_hash key, size_t bytes, size_t most)
{
    void *value = pw_hash_map_get(map, key);

    if (value || map->used >= most)
        return value;
    value = calloc(1, bytes);
    if (value && pw_hash_map_put(map, key, value) == PW_OK)
        return value;
    free(value);
    return NULL;
}

void pw_hash_map_free(pw_hash_map *map)
{
    for (size_t i = 0; i < map->capacity; i++)
        free(map->cells[i].value);
    pw_hash_map_clear(map);
}

/* Closes the gap at `hole` by moving back every later cell of the cluster whose home is not after it. */
static void close_gap(pw_hash_map *map, size_t hole)
{
    size_t mask = map->capacity - 1;

    for (size_t i = (hole + 1) & mask; map->cells[i].value; i = (i + 1) & mask) {
        size_t home = map->cells[i].key.lo & mask;

        if (((i - home) & mask) < ((i - hole) & mask))
            continue;
        map->cells[hole] = map->cells[i];
        hole = i;
    }
    map->cells[hole].value = NULL;
}

void pw_hash_map_remove(pw_hash_map *map, pw_hash key)
{
    size_t i;

    if (!map->capacity)
        return;
    i = find_cell(map, key);
    if (!map->cells[i].value)
        return;
    map->used--;
    close_gap(map, i);
}

void pw_hash_map_clear(pw_hash_map *map)
{
    free(map->cells);
    *map = (pw_hash_map){0};
}
