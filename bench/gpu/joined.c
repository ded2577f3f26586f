/*
 * gpu_joined, a benchmark: copies from layout to layout by the GPU runtime in one launch (runtime/engine/move/move.h),
 * beside packing and unpacking through a buffer. The source is memory of the same GPU and, where there are two, of
 * another one: then it is also packed by its own GPU and unpacked from there. Every row is verified before it is timed.
 *
 * usage: gpu_joined [reps [most-bytes]]. With PACKWRIGHT_JIT=async and PACKWRIGHT_HOT_BYTES=1T tier 0 is measured.
 */
#include "base/samples.h"
#include "bench/clock.h"
#include "passes/passes.h"
#include "runtime/engine/gpu/place.h"
#include "runtime/engine/gpu/transfer.h"
#include "runtime/engine/move/move.h"
#include "tests/gpu/driver.h"
#include "tests/support/rng.h"

#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77, SPANS = 32, ROOMS = 2, LOOK = 64 << 20, MAX_REPS = 1001, WARM = 10, PADDING = 64 };

typedef enum way { JOINED, TWO_PASSES, SENDER_PACKS, WAYS } way;

typedef struct bench {
    pw_gpu *here, *there; /* `there` is NULL if there is one GPU, or none that can be reached */
    pw_layout_engine *engine;
    gpu_ptr to, from, far;              /* `span` bytes each; `far` is the other GPU's */
    gpu_ptr scratch, far_scratch;       /* `room` bytes each */
    unsigned char *random, *want, *got; /* LOOK bytes each */
    int64_t span, room;                 /* of user memory and of packed copies: SPANS and ROOMS times the largest row */
    int reps;
} bench;

/* One pair of layouts. */
typedef struct row {
    const char *name;
    pw_layout *layout[2];
    pw_joined joined;
    int64_t bytes;
} row;

static void die(const char *what)
{
    fprintf(stderr, "gpu_joined: %s\n", what);
    exit(1);
}

static void check(pw_status status)
{
    if (status != PW_OK)
        die(pw_status_text(status));
}

/* ---- layouts ----------------------------------------------------------------------------------------------------- */

static const pw_node *blocks(pw_builder *b, int64_t bytes, int64_t block, int64_t stride)
{
    return pw_build_stream(b, bytes / block, stride, pw_build_bytes(b, block, 8));
}

/* Rows of 24 bytes of a box of n x n rows of 512 bytes; `across`: plane by plane in the other order. */
static const pw_node *face(pw_builder *b, int64_t bytes, bool across)
{
    int64_t n = 1, line = 512;

    while ((n + 1) * (n + 1) * 24 <= bytes)
        n++;
    return pw_build_stream(b, n, across ? line : line * n,
                           pw_build_stream(b, n, across ? line * n : line, pw_build_bytes(b, 24, 8)));
}

static const pw_node *columns(pw_builder *b, int64_t bytes)
{
    int64_t n = 8;

    while (n * n * 8 < bytes)
        n *= 2;
    return pw_build_stream(b, n, 8, pw_build_stream(b, bytes / 8 / n, n * 8, pw_build_bytes(b, 8, 8)));
}

static const pw_node *padded_rows(pw_builder *b, int64_t bytes)
{
    int64_t n = 8;

    while (n * n * 8 < bytes)
        n *= 2;
    return pw_build_stream(b, n, bytes / n + PADDING, pw_build_bytes(b, bytes / n, 8));
}

/* Blocks of 64 bytes at twice their length, in random order. */
static const pw_node *index_of(pw_builder *b, int64_t bytes)
{
    int64_t n = bytes / 64, *offs = malloc((size_t)n * sizeof *offs);
    pw_rng rng = {1};
    const pw_node *node;

    for (int64_t i = 0; i < n; i++)
        offs[i] = i * 128;
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t k = pw_rng_range(&rng, 0, i), t = offs[i];

        offs[i] = offs[k];
        offs[k] = t;
    }
    node = pw_build_index(b, n, offs, pw_build_bytes(b, 64, 8));
    free(offs);
    return node;
}

/* Blocks of 8 to 504 bytes, words of 8, with gaps. */
static const pw_node *list_of(pw_builder *b, int64_t bytes, uint64_t seed)
{
    int64_t most = bytes / 8 + 1, n = 0, at = 0;
    int64_t *offs = malloc((size_t)most * sizeof *offs), *lens = malloc((size_t)most * sizeof *lens);
    pw_rng rng = {seed};
    const pw_node *node;

    while (bytes > 0) {
        int64_t len = 8 * pw_rng_range(&rng, 1, 63);

        len = len < bytes ? len : bytes;
        offs[n] = at;
        lens[n++] = len;
        at += len + 8 * pw_rng_range(&rng, 1, 30);
        bytes -= len;
    }
    node = pw_build_blocks(b, n, offs, lens);
    free(offs);
    free(lens);
    return node;
}

enum { ROWS = 8 };
static const char *const names[ROWS] = {"64 of 128 to the same",  "8 of 64 to the same",     "8 of 64 to 8 of 24",
                                        "64 of 128 to 8 of 16",   "face to the same",        "face to the other one",
                                        "columns to padded rows", "index of 64 to 64 of 128"};

static const pw_node *node_of(pw_builder *b, int number, int side, int64_t bytes)
{
    switch (number) {
    case 0: return blocks(b, bytes, 64, 128);
    case 1: return blocks(b, bytes, 8, 64);
    case 2: return blocks(b, bytes, 8, side ? 24 : 64);
    case 3: return side ? blocks(b, bytes, 8, 16) : blocks(b, bytes, 64, 128);
    case 4: return face(b, bytes, false);
    case 5: return face(b, bytes, side);
    case 6: return side ? padded_rows(b, bytes) : columns(b, bytes);
    case 7: return side ? blocks(b, bytes, 64, 128) : index_of(b, bytes);
    default: return list_of(b, bytes, (uint64_t)side + 1);
    }
}

/* Returns false if the two do not join. */
static bool make_row(const bench *b, row *r, int number, int64_t bytes)
{
    pw_diag diag = {0};
    bool joins;

    *r = (row){.name = number < ROWS ? names[number] : "list to another list"};
    for (int side = 0; side < 2; side++) {
        pw_builder builder = {.arena = pw_arena_create()};
        const pw_node *node = node_of(&builder, number, side, bytes);
        pw_type type = {.root = node, .extent = node ? node->hi : 0};

        check(builder.status);
        check(pw_layout_get(b->engine, &type, &r->layout[side], &diag));
        pw_arena_destroy(builder.arena);
        if (r->layout[side]->nest->hi > b->span)
            die("a row is longer than the memory for it");
    }
    r->bytes = r->layout[0]->size;
    joins = pw_layout_join(r->layout[0], r->layout[1], &r->joined, &diag) == PW_OK;
    if (!joins)
        printf("%-26s %9lld  does not join: %s\n", r->name, (long long)r->bytes, diag.text);
    return joins;
}

static void free_row(row *r)
{
    pw_layout_unref(r->joined.layout);
    for (int side = 0; side < 2; side++)
        pw_layout_unref(r->layout[side]);
}

/* ---- ways -------------------------------------------------------------------------------------------------------- */

static pw_buffer view_of(pw_gpu *gpu, pw_layout *layout, gpu_ptr memory)
{
    return (pw_buffer){.layout = layout,
                       .place = {.kind = PW_PLACE_DEVICE, .gpu = gpu},
                       .base = (void *)(uintptr_t)memory,
                       .count = 1,
                       .bytes = layout->size};
}

static void move(pw_gpu *gpu, pw_layout *layout, gpu_ptr memory, gpu_ptr packed, pw_direction direction)
{
    const pw_gpu_order order = {.buffer = view_of(gpu, layout, memory),
                                .packed = {.device = packed},
                                .bytes = layout->size,
                                .direction = direction,
                                .path = PW_GPU_DIRECT};

    check(pw_gpu_carry_out(&order));
}

static void copy(const bench *b, const row *r, bool far, way how)
{
    gpu_ptr from = far ? b->far : b->from;
    const pw_buffer source = view_of(b->here, r->layout[0], from), target = view_of(b->here, r->layout[1], b->to);

    if (how == JOINED) {
        check(pw_move_now(&source, &target, &r->joined));
    } else if (how == TWO_PASSES) {
        move(b->here, r->layout[0], from, b->scratch, PW_PACK);
        move(b->here, r->layout[1], b->to, b->scratch, PW_UNPACK);
    } else {
        move(b->there, r->layout[0], from, b->far_scratch, PW_PACK);
        move(b->here, r->layout[1], b->to, b->far_scratch, PW_UNPACK);
    }
}

static void verify(const bench *b, const row *r, bool far, int ways)
{
    int64_t hi = r->layout[1]->nest->hi, look = hi < LOOK ? hi : LOOK;

    for (way how = WAYS - 1; (int)how >= 0; how--) {
        if ((int)how >= ways)
            continue;
        gpu_fill(b->to, 0, (size_t)look);
        copy(b, r, far, how);
        gpu_download((int)how == ways - 1 ? b->want : b->got, b->to, (size_t)look);
        if ((int)how < ways - 1 && memcmp(b->want, b->got, (size_t)look) != 0)
            die(r->name);
    }
}

static void measure(const bench *b, const row *r, bool far)
{
    static double us[WAYS][MAX_REPS];
    int ways = far ? WAYS : SENDER_PACKS, reps = r->bytes > 1 << 20 && b->reps > 31 ? 31 : b->reps;
    double best = 0;

    verify(b, r, far, ways);
    for (int k = -WARM; k < reps; k++)
        for (way how = JOINED; (int)how < ways; how++) {
            double start = bench_now();

            copy(b, r, far, how);
            if (k >= 0)
                us[how][k] = (bench_now() - start) / 1e3;
        }
    for (way how = JOINED; (int)how < ways; how++) {
        pw_samples_sort(us[how], reps);
        if (how != JOINED && (best == 0 || us[how][reps / 2] < best))
            best = us[how][reps / 2];
    }
    printf("%-26s %9lld  %-5s %9.1f %9.1f ", r->name, (long long)r->bytes, far ? "other" : "same", us[JOINED][reps / 2],
           us[TWO_PASSES][reps / 2]);
    if (far)
        printf("%9.1f", us[SENDER_PACKS][reps / 2]);
    else
        printf("%9s", "-");
    printf("   %5.2f  %7.1f\n", best / us[JOINED][reps / 2], (double)r->bytes / us[JOINED][reps / 2] / 1e3);
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static void fill(const bench *b, gpu_ptr at)
{
    for (int64_t done = 0; done < b->span; done += LOOK)
        gpu_upload(at + (gpu_ptr)done, b->random, (size_t)(b->span - done < LOOK ? b->span - done : LOOK));
}

static pw_gpu *gpu_at(gpu_ptr memory)
{
    pw_memory_place place = pw_gpu_place_of((const void *)(uintptr_t)memory);

    if (place.kind != PW_PLACE_DEVICE)
        die("device memory is not taken for that");
    return place.gpu;
}

/* Takes the memory of a second GPU that kernels of the first one can read. */
static void open_other(bench *b)
{
    if (gpu_count() < 2)
        return;
    gpu_use(1);
    b->far = gpu_alloc((size_t)b->span);
    b->far_scratch = gpu_alloc((size_t)b->room);
    fill(b, b->far);
    b->there = gpu_at(b->far);
    gpu_use(0);
    if (!gpu_reach(1))
        b->there = NULL;
}

static void open_bench(bench *b)
{
    pw_layout_config *config = calloc(1, sizeof *config);

    b->random = malloc(LOOK);
    b->want = malloc(LOOK);
    b->got = malloc(LOOK);
    if (!config || !b->random || !b->want || !b->got)
        die("out of memory");
    for (int64_t i = 0; i < LOOK; i++)
        b->random[i] = (unsigned char)((uint64_t)i * 0x9e3779b97f4a7c15 >> 40);
    b->to = gpu_alloc((size_t)b->span);
    b->from = gpu_alloc((size_t)b->span);
    b->scratch = gpu_alloc((size_t)b->room);
    fill(b, b->from);
    if (!pw_cu_find())
        die("the driver is not found");
    b->here = gpu_at(b->to);
    open_other(b);
    pw_layout_config_from_env(config);
    config->mode = PW_JIT_OFF; /* of the CPU's kernels */
    check(pw_layout_engine_create(config, &b->engine));
    free(config);
}

int main(int argc, char **argv)
{
    bench b = {.reps = argc > 1 ? atoi(argv[1]) : 101};
    int64_t most = argc > 2 ? atoll(argv[2]) : 32 << 20;
    gpu_info info;
    const char *why;

    setenv("PACKWRIGHT_JIT", "sync", 0);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!gpu_open(&info, &why)) {
        printf("SKIPPED: %s\n", why);
        return SKIPPED;
    }
    if (b.reps < 1 || b.reps > MAX_REPS || most < 4096 || most > 32 << 20)
        die("usage: gpu_joined [reps [most-bytes]]");
    b.span = SPANS * most;
    b.room = ROOMS * most;
    open_bench(&b);
    printf("%s, %s; medians of %d, us\n%-26s %9s  %-5s %9s %9s %9s   %5s  %7s\n", info.name,
           b.there ? "and another one that it can read" : "alone", b.reps, "", "bytes", "from", "joined", "two",
           "sender's", "gain", "GB/s");
    for (int number = 0; number <= ROWS; number++)
        for (int64_t bytes = 4 << 10; bytes <= most; bytes = bytes == 4 << 20 ? 32 << 20 : bytes * 4) {
            row r;

            if (make_row(&b, &r, number, bytes)) {
                measure(&b, &r, false);
                if (b.there)
                    measure(&b, &r, true);
            }
            free_row(&r);
        }
    return 0;
}
