/*
 * Compiled layouts without MPI: a program that writes the interior of a 3-D field to a checkpoint file and reads it
 * back. The copies between the field and the contiguous file image are functions that `packwright compile` made of
 * field.ddt; nothing of Packwright is needed to run this. Verifies itself.
 */
#include "field.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NX = 48, NY = 40, NZ = 56, G = 2 };

typedef double field[NX + 2 * G][NY + 2 * G][NZ + 2 * G];

/* The header knows the layout's size, so a field that changes without field.ddt does not compile. */
typedef char field_is_the_layout[interior_EXTENT == sizeof(field) ? 1 : -1];

static void *allocate(size_t bytes)
{
    void *p = calloc(1, bytes);

    if (!p) {
        fprintf(stderr, "checkpoint: out of memory\n");
        exit(1);
    }
    return p;
}

static double value_at(int i, int j, int k)
{
    return i + 1e-3 * j + 1e-6 * k;
}

/* Ghosts get a value that must not come back from the file. */
static void fill(field *f)
{
    for (int i = 0; i < NX + 2 * G; i++)
        for (int j = 0; j < NY + 2 * G; j++)
            for (int k = 0; k < NZ + 2 * G; k++)
                (*f)[i][j][k] = -1;
    for (int i = 0; i < NX; i++)
        for (int j = 0; j < NY; j++)
            for (int k = 0; k < NZ; k++)
                (*f)[G + i][G + j][G + k] = value_at(i, j, k);
}

static int write_checkpoint(const char *path, const field *f)
{
    double *image = allocate(interior_SIZE);
    FILE *out = fopen(path, "wb");
    int ok = out != NULL;

    pack_interior(image, f, 1);
    ok = ok && fwrite(image, 1, interior_SIZE, out) == interior_SIZE;
    ok = out && fclose(out) == 0 && ok;
    free(image);
    return ok;
}

static int read_checkpoint(const char *path, field *f)
{
    double *image = allocate(interior_SIZE);
    FILE *in = fopen(path, "rb");
    int ok = in && fread(image, 1, interior_SIZE, in) == interior_SIZE;

    if (ok)
        unpack_interior(f, image, 1);
    if (in)
        fclose(in);
    free(image);
    return ok;
}

/* The interior is back, and nothing else was touched. */
static int is_restored(const field *f)
{
    for (int i = 0; i < NX + 2 * G; i++)
        for (int j = 0; j < NY + 2 * G; j++)
            for (int k = 0; k < NZ + 2 * G; k++) {
                int inside = i >= G && i < G + NX && j >= G && j < G + NY && k >= G && k < G + NZ;

                if ((*f)[i][j][k] != (inside ? value_at(i - G, j - G, k - G) : 0))
                    return 0;
            }
    return 1;
}

/* The preview starts at the first plane of the interior. */
static int preview_is_right(const field *f)
{
    double *planes = allocate(preview_SIZE);
    int right = 1, at = 0;

    pack_preview(planes, &(*f)[G], 1);
    for (int i = 0; i < NX; i += 4)
        for (int j = 0; j < NY; j++)
            for (int k = 0; k < NZ; k++)
                right &= planes[at++] == value_at(i, j, k);
    free(planes);
    return right && at * (int)sizeof *planes == preview_SIZE;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "checkpoint.data";
    field *saved = allocate(sizeof *saved), *restored = allocate(sizeof *restored);
    int ok;

    fill(saved);
    ok = write_checkpoint(path, saved) && read_checkpoint(path, restored);
    if (!ok)
        perror(path);
    remove(path);
    ok = ok && is_restored(restored) && preview_is_right(saved);
    printf("checkpoint: %s\n", ok ? "verified" : "WRONG");
    free(saved);
    free(restored);
    return !ok;
}
