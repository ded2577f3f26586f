/* A program that was built with the header of version 1.0: options, a type, its facts and text, moves, statistics. */
#include <packwright/packwright.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 20, COLUMNS = 12, WIDTH = 3 };

static int failures;

static void check(bool right, const char *what)
{
    if (!right)
        printf("wrong: %s (%s)\n", what, packwright_last_error());
    failures += !right;
}

static packwright_type *make(void)
{
    packwright_type *cell = NULL, *columns = NULL;

    check(packwright_bytes(8, 8, &cell) == PACKWRIGHT_OK, "bytes");
    check(packwright_vector(ROWS, WIDTH, COLUMNS, cell, &columns) == PACKWRIGHT_OK, "vector");
    packwright_type_free(cell);
    return columns;
}

static void look(const packwright_type *columns)
{
    int64_t lb = -1, extent = -1, filled = -1;
    packwright_iov blocks[2];
    packwright_type *again = NULL;
    uint64_t hash[2], other[2];
    char *text = NULL, memory[8];

    packwright_extent(columns, &lb, &extent);
    check(lb == 0 && extent == 8 * ((ROWS - 1) * COLUMNS + WIDTH), "extent");
    check(packwright_size(columns) == 8L * ROWS * WIDTH && packwright_blocks(columns) == ROWS, "size and blocks");
    check(packwright_iovs(columns, memory, 1, 1, 2, blocks, &filled) == PACKWRIGHT_OK && filled == 2 &&
              blocks[0].length == 8 * WIDTH && (char *)blocks[1].base - (char *)blocks[0].base == 8 * COLUMNS,
          "iovs");
    check(packwright_text_of(columns, PACKWRIGHT_TEXT_DDT, &text) == PACKWRIGHT_OK, "text");
    check(packwright_from_ddt(text, &again) == PACKWRIGHT_OK, "type from text");
    check(packwright_hash(columns, hash) == PACKWRIGHT_OK && packwright_hash(again, other) == PACKWRIGHT_OK &&
              !memcmp(hash, other, sizeof hash),
          "hash");
    free(text);
    packwright_type_free(again);
}

static void move(const packwright_type *columns)
{
    static double field[ROWS * COLUMNS], back[ROWS * COLUMNS], packed[ROWS * WIDTH];
    packwright_statistics statistics = {.size = sizeof statistics};

    for (int i = 0; i < ROWS * COLUMNS; i++)
        field[i] = i;
    check(packwright_pack(columns, field, 1, packed) == PACKWRIGHT_OK, "pack");
    check(packwright_unpack(columns, back, 1, packed) == PACKWRIGHT_OK, "unpack");
    for (int i = 0; i < ROWS * COLUMNS; i++)
        check(back[i] == (i % COLUMNS < WIDTH ? field[i] : 0), "what came back");
    check(packwright_type_statistics(columns, &statistics) == PACKWRIGHT_OK && statistics.packs == 1 &&
              statistics.unpacks == 1 && statistics.bytes == 2 * (int64_t)sizeof packed,
          "statistics");
}

int main(void)
{
    packwright_options options = {
        .size = sizeof options, .jit = PACKWRIGHT_JIT_OFF, .cache_dir = "", .statistics = true, .quiet = true};
    packwright_type *columns;

    check(packwright_configure(&options) == PACKWRIGHT_OK, "configure");
    columns = make();
    look(columns);
    move(columns);
    check(packwright_from_ddt("vec(", &columns) == PACKWRIGHT_ERR_INVALID && *packwright_last_error(), "an error");
    packwright_type_free(columns);
    return failures != 0;
}
