#include "bench/gpu/rows.h"

#include "frontend/ddt/ddt.h"

#include <inttypes.h>
#include <stdlib.h>

#define N PRId64

static int64_t root(int64_t n)
{
    int64_t r = 1;

    while ((r + 1) * (r + 1) <= n)
        r++;
    return r;
}

/* ---- strided ------------------------------------------------------------------------------------------------- */

static bool contiguous(FILE *f, int64_t payload, const int64_t *args)
{
    (void)args;
    fprintf(f, "ctg(%" N ")[double]", payload / 8);
    return true;
}

/* Blocks of args[0] bytes at a distance of args[1]. */
static bool vector(FILE *f, int64_t payload, const int64_t *args)
{
    const char *const names[] = {"byte", "short", "int", "double"};
    int64_t width = 8, which = 3;

    for (; args[0] % width != 0; which--)
        width /= 2;
    fprintf(f, "vec(%" N " %" N " %" N ")[%s]", payload / args[0], args[0] / width, args[1] / width, names[which]);
    return true;
}

/* The same of bytes, as TEMPI's objects are. */
static bool bytes(FILE *f, int64_t payload, const int64_t *args)
{
    fprintf(f, "vec(%" N " %" N " %" N ")[byte]", payload / args[0], args[0], args[1]);
    return true;
}

static bool nas_lu_y(FILE *f, int64_t payload, const int64_t *args)
{
    fprintf(f, "vec(%" N " 1 %" N ")[ctg(5)[double]]", payload / 40, args[0] + 2);
    return true;
}

/* Columns of columns: Y * Z doubles, each in a row of X. */
static bool nas_mg_x(FILE *f, int64_t payload, const int64_t *args)
{
    int64_t x = args[0], y = 2, z;

    while (2 * y * y <= payload / 8)
        y *= 2;
    z = payload / 8 / y;
    fprintf(f, "hvec(%" N " 1 %" N ")[vec(%" N " 1 %" N ")[double]]", z, 8 * x * (y + 2), y, x);
    return true;
}

static bool nas_mg(FILE *f, int64_t payload, const int64_t *args)
{
    int64_t x = args[0], y = args[1]; /* rows of x doubles, a plane apart or next to each other */

    fprintf(f, "vec(%" N " %" N " %" N ")[double]", payload / (8 * (x - 2)), x - 2, x * y);
    return payload >= 8 * (x - 2);
}

static bool milc(FILE *f, int64_t payload, const int64_t *args)
{
    int64_t t = payload / 2 / 3072;

    (void)args;
    fprintf(f, "hvec(2 1 %" N ")[vec(%" N " 128 2048)[ctg(6)[float]]]", t * 49152, t);
    return t > 0;
}

/* ---- boxes --------------------------------------------------------------------------------------------------- */

/* A face of a grid of 3-D points of 64 bytes, three points thick across dimension args[0]. */
static bool tempi_face(FILE *f, int64_t payload, const int64_t *args)
{
    int64_t g = root(payload / 3 / 64), n = g + 6, sub[] = {g, g, g};

    sub[args[0]] = 3;
    fprintf(f, "sub(%" N " %" N " %" N " | %" N " %" N " %" N " | 3 3 3)[ctg(8)[double]]", n, n, n, sub[0], sub[1],
            sub[2]);
    return true;
}

/* All 26 regions of such a grid, one after another. */
static bool tempi_halo(FILE *f, int64_t payload, const int64_t *args)
{
    int64_t g = root(payload / 1152), n = g + 6;
    const char *comma = "";

    (void)args;
    fprintf(f, "struct(");
    for (int k = 0; k < 27; k++) {
        int64_t sub[3], start[3];

        for (int d = 0, rest = k; d < 3; d++, rest /= 3) {
            sub[d] = rest % 3 == 1 ? g : 3;
            start[d] = rest % 3 == 2 ? g : 3;
        }
        if (k == 13)
            continue;
        fprintf(f, "%s0: sub(%" N " %" N " %" N " | %" N " %" N " %" N " | %" N " %" N " %" N ")[ctg(8)[double]]",
                comma, n, n, n, sub[0], sub[1], sub[2], start[0], start[1], start[2]);
        comma = ", ";
    }
    fprintf(f, ")");
    return g >= 6;
}

/* Three lines of a box of floats: args[0] 0 across the rows, 1 along them. */
static bool cosmo(FILE *f, int64_t payload, const int64_t *args)
{
    int64_t side = root(payload / 12), levels = side;

    if (args[0] == 0)
        fprintf(f, "sub(%" N " %" N " 106 | %" N " %" N " 3 | 0 3 3)[float]", levels, side + 6, levels, side);
    else
        fprintf(f, "sub(%" N " 106 %" N " | %" N " 3 %" N " | 0 3 3)[float]", levels, side + 6, levels, side);
    return true;
}

/* Two 2-D, three 3-D and two 4-D arrays of floats, i fastest; 23 of 32, all of 65 levels, 3 of `j` lines each 52. */
static bool wrf(FILE *f, int64_t payload, const int64_t *args)
{
    int64_t levels = payload >= 65536 ? 65 : 6, plane = 23 * 4 * (2 + levels * 7), j = payload / plane, at = 0;
    int64_t lines = args[0] * j;

    if (j == 0)
        return false;
    fprintf(f, "struct(");
    for (int a = 0; a < 2; a++, at += lines * 32 * 4)
        fprintf(f, "%" N ": sub(%" N " 32 | %" N " 23 | 3 4)[float], ", at, lines, j);
    for (int a = 0; a < 3; a++, at += lines * levels * 32 * 4)
        fprintf(f, "%" N ": sub(%" N " %" N " 32 | %" N " %" N " 23 | 3 0 4)[float], ", at, lines, levels, j, levels);
    for (int a = 0; a < 2; a++, at += 2 * lines * levels * 32 * 4)
        fprintf(f, "%" N ": sub(2 %" N " %" N " 32 | 2 %" N " %" N " 23 | 0 3 0 4)[float]%s", at, lines, levels, j,
                levels, a ? ")" : ", ");
    return lines >= j + 3;
}

/* ---- structs and particles -------------------------------------------------------------------------------------- */

static bool particles(FILE *f, int64_t payload, const int64_t *args)
{
    (void)args;
    fprintf(f, "ctg(%" N ")[resized(0 88)[struct(0: 10*double, 80: int)]]", payload / 84);
    return true;
}

/* Force and charge of half the particles. */
static bool particles_indexed(FILE *f, int64_t payload, const int64_t *args)
{
    int64_t n = payload / 32;

    (void)args;
    fprintf(f, "idxb(1: sample(%" N ", %" N ", 7))[resized(0 168)[struct(24: 3*double, 72: double)]]", n, 2 * n);
    return true;
}

static bool soup(FILE *f, int64_t payload, const int64_t *args)
{
    (void)args;
    fprintf(f,
            "ctg(%" N ")[resized(0 320)[struct(0: 3*char, 4: 2*short, 8: 5*double, 64: vec(4 1 3)[float], "
            "128: sub(4 6 | 2 3 | 1 2)[double], 312: MPI_SHORT_INT)]]",
            payload / 117);
    return true;
}

/* ---- lists -------------------------------------------------------------------------------------------------- */

/* Members 8-byte columns by one list, the last with three doubles an entry: args[0] of args[1]; args[2] columns. */
static bool lammps(FILE *f, int64_t payload, const int64_t *args)
{
    int64_t columns = args[2], n = payload / (8 * (columns + 2)), m = n * args[1] / args[0];

    fprintf(f, "struct(");
    for (int64_t i = 0; i < columns - 1; i++)
        fprintf(f, "%" N ": idxb(1: sample(%" N ", %" N ", 3))[double], ", i * m * 8, n, m);
    fprintf(f, "%" N ": idxb(3: sample(%" N ", %" N ", 3)*3)[double])", (columns - 1) * m * 8, n, m);
    return true;
}

/* Random blocks of args[0] elements of args[1] bytes, one of args[2] of the array. */
static bool indexed(FILE *f, int64_t payload, const int64_t *args)
{
    int64_t n = payload / (args[0] * args[1]);

    fprintf(f, "idxb(%" N ": sample(%" N ", %" N ", 5)*%" N ")[%s]", args[0], n, n * args[2], args[0],
            args[1] == 4 ? "float" : "double");
    return true;
}

/* Two such arrays. */
static bool specfem_cm(FILE *f, int64_t payload, const int64_t *args)
{
    int64_t n = payload / 24;

    fprintf(f,
            "struct(0: idxb(3: sample(%" N ", %" N ", 5)*3)[float], %" N ": idxb(3: sample(%" N ", %" N
            ", 6)*3)[float])",
            n, n * args[0], n * args[0] * 12, n, n * args[0]);
    return true;
}

static bool triangle(FILE *f, int64_t payload, const int64_t *args)
{
    int64_t n = root(payload / 4);

    (void)args;
    fprintf(f, "idx(");
    for (int64_t i = 0; i < n; i++)
        fprintf(f, "%s%" N ",%" N, i ? " " : "", i * n, i + 1);
    fprintf(f, ")[double]");
    return true;
}

/* Blocks of 8 to args[0] bytes, args[0] apart: lengths as a fixed sequence of pseudorandom numbers. */
static bool lengths(FILE *f, int64_t payload, const int64_t *args)
{
    uint64_t x = 1;

    fprintf(f, "hidx(");
    for (int64_t at = 0, done = 0; done < payload; at += args[0]) {
        int64_t n;

        x = x * 6364136223846793005u + 1442695040888963407u;
        n = 8 + (int64_t)((x >> 33) % (uint64_t)(args[0] - 8)) / args[1] * args[1];
        fprintf(f, "%s%" N ",%" N, at ? " " : "", at, n / args[1]);
        done += n;
    }
    fprintf(f, ")[%s]", args[1] == 8 ? "double" : "byte");
    return true;
}

/* ---- transposes ------------------------------------------------------------------------------------------------- */

static bool transpose(FILE *f, int64_t payload, const int64_t *args)
{
    int64_t w = args[0], n = args[1] ? args[1] : root(payload / w);
    const char *const element = w == 4 ? "float" : w == 8 ? "double" : "ctg(2)[double]";

    if (args[1] && n * n * w != payload)
        return false;
    fprintf(f, "ctg(%" N ")[resized(0 %" N ")[vec(%" N " 1 %" N ")[%s]]]", n, w, n, n, element);
    return true;
}

/* An alltoall of four ranks: a quarter of each row, by columns; and what is received. */
static bool fft(FILE *f, int64_t payload, const int64_t *args)
{
    int64_t n = root(payload / 16);

    if (args[0])
        fprintf(f, "vec(%" N " %" N " %" N ")[ctg(2)[double]]", n, n, 4 * n);
    else
        fprintf(f, "ctg(%" N ")[resized(0 16)[vec(%" N " 1 %" N ")[ctg(2)[double]]]]", n, n, 4 * n);
    return true;
}

/* ------------------------------------------------------------------------------------------------------------------ */

static const gpu_row all[] = {
    {"contiguous", contiguous, {0}},
    {"half_1", bytes, {1, 2}},
    {"half_2", vector, {2, 4}},
    {"half_4", vector, {4, 8}},
    {"half_8", vector, {8, 16}},
    {"half_16", vector, {16, 32}},
    {"half_32", vector, {32, 64}},
    {"half_64", vector, {64, 128}},
    {"half_256", vector, {256, 512}},
    {"half_4096", vector, {4096, 8192}},
    {"quarter_4", vector, {4, 16}},
    {"TEMPI_2D_1", bytes, {1, 512}},
    {"TEMPI_2D_2", bytes, {2, 512}},
    {"TEMPI_2D_4", bytes, {4, 512}},
    {"TEMPI_2D_8", bytes, {8, 512}},
    {"TEMPI_2D_16", bytes, {16, 512}},
    {"TEMPI_2D_32", bytes, {32, 512}},
    {"TEMPI_2D_64", bytes, {64, 512}},
    {"TEMPI_2D_128", bytes, {128, 512}},
    {"TEMPI_2D_256", bytes, {256, 512}},
    {"TEMPI_2D_odd", bytes, {251, 509}},
    {"TEMPI_face_0", tempi_face, {0}},
    {"TEMPI_face_1", tempi_face, {1}},
    {"TEMPI_face_2", tempi_face, {2}},
    {"TEMPI_halo", tempi_halo, {0}},
    {"NAS_LU_y", nas_lu_y, {162}},
    {"NAS_MG_x", nas_mg_x, {130}},
    {"NAS_MG_y", nas_mg, {258, 130}},
    {"NAS_MG_z", nas_mg, {258, 1}},
    {"MILC_su3_zd", milc, {0}},
    {"COSMO_x", cosmo, {0}},
    {"COSMO_y", cosmo, {1}},
    {"Jacobi2D_column", vector, {8, 4112}},
    {"WRF_y", wrf, {17}},
    {"NBody_struct", particles, {0}},
    {"NBody_indexed", particles_indexed, {0}},
    {"Soup", soup, {0}},
    {"LAMMPS_full", lammps, {3062, 3534, 6}},
    {"LAMMPS_atomic", lammps, {243, 4084, 4}},
    {"SPECFEM3D_oc", indexed, {1, 4, 27}},
    {"SPECFEM3D_cm", specfem_cm, {17}},
    {"SPECFEM3D_mt", vector, {12, 24}},
    {"indexed_4", indexed, {1, 4, 8}},
    {"indexed_8", indexed, {1, 8, 2}},
    {"indexed_24", indexed, {3, 8, 4}},
    {"indexed_64", indexed, {8, 8, 2}},
    {"indexed_512", indexed, {64, 8, 2}},
    {"Triangle", triangle, {0}},
    {"lengths_512", lengths, {512, 8}},
    {"lengths_odd", lengths, {200, 1}},
    {"lengths_short", lengths, {32, 1}},
    {"lengths_15", lengths, {16, 1}},
    {"Transpose_4", transpose, {4}},
    {"Transpose_8", transpose, {8}},
    {"Transpose_8_1024", transpose, {8, 1024}},
    {"FFT2_send", fft, {0}},
    {"FFT2_receive", fft, {1}},
};

const gpu_row *gpu_rows(int *n)
{
    *n = (int)(sizeof all / sizeof *all);
    return all;
}

static void complain(void *arg, const pw_diag *diag)
{
    fprintf(stderr, "%s: %d:%d: %s\n", (const char *)arg, diag->line, diag->col, diag->text);
}

bool gpu_row_type(const gpu_row *row, int64_t payload, pw_arena *arena, pw_type *out)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    pw_builder b = {.arena = arena};
    pw_ddt_unit *unit = NULL;
    pw_diag diag = {0};
    pw_dt t;
    bool there = f && row->write(f, payload, row->args);

    if (f)
        fclose(f);
    if (there && (pw_ddt_parse(text, size, complain, (void *)(uintptr_t)row->name, &unit) != PW_OK ||
                  pw_ddt_build(unit, pw_ddt_count(unit) - 1, 0, &b, &t, &diag) != PW_OK)) {
        fprintf(stderr, "%s: %.200s: %s\n", row->name, text, diag.text);
        exit(1);
    }
    if (there)
        *out = pw_dt_finish(t);
    pw_ddt_destroy(unit);
    free(text);
    return there;
}
