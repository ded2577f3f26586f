/*
 * Pictures of layouts: memory as rows, packed order as colour. Three steps: sample (which blocks are worth
 * showing), grid (the rows, columns and planes around them, with breaks between), svg (the drawing, for which
 * every shown cell is looked up in the layout).
 */
#ifndef PW_TOOLS_DRAW_H
#define PW_TOOLS_DRAW_H

#include "ir/ir.h"
#include "tools/input/input.h"

#include <stdio.h>

/* A contiguous block that is shown: `bytes` at memory offset `mem`, packed at `packed`. */
typedef struct pw_draw_block {
    int64_t mem, packed, bytes;
} pw_draw_block;

typedef struct pw_draw_sample {
    int64_t n, room;
    pw_draw_block *blocks;
} pw_draw_sample;

/* The blocks of `count` objects. Of a type with many blocks, only the first and last iterations of each stream and list
 * are visited, so the cost depends on the depth and not on the size. Free with pw_draw_sample_free. */
pw_status pw_draw_sample_make(const pw_type *type, int64_t count, pw_draw_sample *out);
void pw_draw_sample_free(pw_draw_sample *sample);

/* The positions that are shown on an axis. A break separates positions between which others were left out. */
typedef struct pw_draw_axis {
    int n;
    int64_t *at; /* increasing positions */
} pw_draw_axis;

typedef struct pw_draw_grid {
    int64_t unit;                    /* bytes of a cell */
    int64_t row_bytes;               /* memory bytes of a row */
    int64_t rows_per_plane;          /* 0: there are no planes */
    pw_draw_axis cols, rows, planes; /* positions in units, rows, planes; rows are within a plane when there are any */
} pw_draw_grid;

/* `element`: the size of the type's elements, which are the cells if no block boundary cuts them; 0: not known. */
pw_status pw_draw_grid_make(const pw_type *type, int64_t count, int64_t element, const pw_draw_sample *sample,
                            pw_draw_grid *out);
void pw_draw_grid_free(pw_draw_grid *grid);

/* Returns the packed position of a memory byte among `count` objects. -1: the byte is not moved. Subtracts its steps
 * from *budget, and returns -1 when that is used up. */
int64_t pw_draw_find(const pw_type *type, int64_t count, int64_t mem, int64_t *budget);

/* `name` ("": none) and `title` are shown above the picture. */
pw_status pw_draw_svg(FILE *out, const char *name, const char *title, const pw_type *type, int64_t count,
                      const pw_draw_grid *grid);

/* Writes text as it must stand in SVG, at most `max` characters of it. */
void pw_draw_text(FILE *out, const char *text, int max);

/* All three steps for a type of an input, of which `canonical` is the canonical form. */
pw_status pw_draw_picture(FILE *out, const pw_input *input, int64_t item, const pw_type *canonical, int64_t count);

/* Returns whether the name of a file ends as those of pictures that can be written do: in .svg or .png. */
bool pw_draw_is_picture(const char *file);
/* Writes a picture to a file, or to standard output if `file` is NULL. FILE.png gets PNG, by rsvg-convert. False: it
 * failed, which is reported for the command of this name, and no file was written. */
bool pw_draw_write(const char *command, const char *file, const char *svg, size_t size);

#endif
