/*
 * gpu_fused, a benchmark: several short packs, or unpacks, by the GPU runtime in three ways, side by side: one after
 * the other; all begun before the first is waited for, a launch and a lane each; and as one launch
 * (docs/messages.md). The 26 regions of a box with a halo, and rows of 16 equal transfers of growing size, which
 * say up to where one launch pays.
 *
 * Then 32 packs that come one after the other, each of which is copied to the host as soon as it is seen to be over, as
 * a message would be sent. A launch takes what has come since the one before when that is so many bytes: with few there
 * are many launches (under-fused), with many the copies wait for a long one (over-fused). "model" launches as the sends
 * of MPI do that are gathered.
 *
 * usage: gpu_fused [reps [thresholds|applications|bounds]]. With one of the first two words it measures these alone.
 * "bounds" needs no GPU: it makes all layouts, and finds out whether they fit into the memory that they are given.
 */
#include "base/samples.h"
#include "bench/clock.h"
#include "bench/gpu/rows.h"
#include "passes/passes.h"
#include "runtime/engine/gpu/place.h"
#include "runtime/engine/gpu/transfer.h"
#include "tests/gpu/driver.h"

#include <stdlib.h>
#include <string.h>

enum {
    SKIPPED = 77,
    MOST = 32,
    SAME = 16,
    COMING = 32,
    ROOM = 96 << 20,
    LOOK = 64 << 20,
    SPAN = 1 << 30,
    MAX_REPS = 1001
};

typedef enum way { ONE_BY_ONE, IN_LANES, FUSED, WAYS } way;

typedef struct bench {
    pw_gpu *gpu;
    pw_layout_engine *engine;
    gpu_ptr memory, packed;
    void *pinned;
    gpu_ptr mapped;
    unsigned char *random; /* LOOK bytes */
    gpu_stream sending;
    int reps;
} bench;

/* Transfers that are at hand together. */
typedef struct batch {
    char name[48];
    pw_gpu_order orders[MOST];
    pw_layout *layouts[MOST];
    int n;
    int64_t bytes;
} batch;

static void die(const char *what)
{
    fprintf(stderr, "gpu_fused: %s\n", what);
    exit(1);
}

/* ---- batches ---------------------------------------------------------------------------------------------------- */

/* Where the bytes of an object are, from its address on, must lie in memory. */
static void check_bounds(const pw_layout *layout, int64_t offset)
{
    int64_t first, span;

    if (!pw_layout_bounds(layout, 1, &first, &span) || offset + first < 0 || offset + first + span > SPAN)
        die("an object reaches past the memory");
}

static void add_type(bench *b, batch *all, const pw_type *type, int64_t offset)
{
    pw_layout *layout;
    pw_diag diag = {0};
    pw_gpu_order *o = &all->orders[all->n];

    if (pw_layout_get(b->engine, type, &layout, &diag) != PW_OK)
        die(diag.text);
    check_bounds(layout, offset);
    *o = (pw_gpu_order){.buffer = {.layout = layout,
                                   .place = {.kind = PW_PLACE_DEVICE, .gpu = b->gpu},
                                   .base = (char *)(uintptr_t)b->memory + offset,
                                   .count = 1,
                                   .bytes = layout->size},
                        .bytes = layout->size,
                        .path = PW_GPU_DIRECT};
    all->layouts[all->n++] = layout;
    all->bytes += layout->size;
}

static void add(bench *b, batch *all, const char *text, int64_t offset)
{
    pw_arena *arena = pw_arena_create();
    pw_type type;
    pw_diag diag = {0};

    if (pw_parse(text, arena, &type, NULL, &diag) != PW_OK)
        die(diag.text);
    add_type(b, all, &type, offset);
    pw_arena_destroy(arena);
}

/* Where the packed copies are, one behind the other. */
static void direct(const bench *b, batch *all, bool mapped, bool unpack)
{
    int64_t at = 0;

    for (int i = 0; i < all->n; i++) {
        const pw_gpu_packed whole = {.host = mapped ? b->pinned : NULL, .device = mapped ? b->mapped : b->packed};

        all->orders[i].packed = pw_gpu_packed_at(whole, at);
        all->orders[i].direction = unpack;
        at += (all->orders[i].bytes + 63) & -64;
    }
}

static void make_box(bench *b, batch *all, int side, int halo)
{
    const int element = 8, n = side + 2 * halo;
    int64_t row = (int64_t)n * element, plane = row * n;

    *all = (batch){.n = 0};
    /* The cells that come from neighbours: those that go to them overlap. */
    snprintf(all->name, sizeof all->name, "26 of a box of %d^3, halo %d", side, halo);
    for (int i = 0; i < 27; i++) {
        char text[256];
        int where[] = {i % 3, i / 3 % 3, i / 9}, width[3];
        int64_t first[3];

        for (int d = 0; d < 3; d++) {
            width[d] = where[d] == 1 ? side : halo;
            first[d] = where[d] == 2 ? n - halo : where[d] == 1 ? halo : 0;
        }
        snprintf(text, sizeof text,
                 "type(lb 0, extent %lld) { stream %d stride %lld { stream %d stride %lld { bytes %d align 8 } } }",
                 (long long)(plane * n), width[2], (long long)plane, width[1], (long long)row, width[0] * element);
        if (i != 13)
            add(b, all, text, first[0] * element + first[1] * row + first[2] * plane);
    }
}

/* `count` of `bytes` bytes in blocks at twice their length; block 0: a matrix of doubles by columns. */
static void make_same(bench *b, batch *all, int64_t bytes, int block, int count)
{
    int64_t n = 1;

    *all = (batch){.n = 0};
    snprintf(all->name, sizeof all->name, "%d of %lld in blocks of %d", count, (long long)bytes, block);
    while (n * n * 8 < bytes)
        n *= 2;
    if (block == 0)
        snprintf(all->name, sizeof all->name, "%d of %lld by columns", count, (long long)bytes);
    for (int i = 0; i < count; i++) {
        char text[256];

        if (block == 0)
            snprintf(text, sizeof text,
                     "type(lb 0, extent %lld) { stream %lld stride 8 { stream %lld stride %lld { bytes 8 align 8 } } }",
                     (long long)(n * n * 8), (long long)n, (long long)(bytes / 8 / n), (long long)n * 8);
        else
            snprintf(text, sizeof text, "type(lb 0, extent %lld) { stream %lld stride %d { bytes %d align %d } }",
                     (long long)bytes * 2, (long long)bytes / block, 2 * block, block, block % 4 ? 1 : 4);
        add(b, all, text, i * 3 * bytes);
    }
}

/* Transfers of an application's layout of about so many bytes, each from memory of its own: MOST of them, or as many as
 * the memory holds. False: there is no layout of this size. */
static bool make_application(bench *b, batch *all, const gpu_row *row, int64_t payload)
{
    int64_t at = 0, first, span = 0;

    *all = (batch){.n = 0};
    for (int i = 0; i < MOST && at + span <= SPAN; i++) {
        pw_arena *arena = pw_arena_create();
        pw_type type;

        if (!gpu_row_type(row, payload, arena, &type)) {
            pw_arena_destroy(arena);
            return false;
        }
        add_type(b, all, &type, at);
        if (!pw_layout_bounds(all->layouts[i], 1, &first, &span))
            die("the layout is too large");
        span += first;
        at += (span + 255) & -256;
        pw_arena_destroy(arena);
    }
    snprintf(all->name, sizeof all->name, "%d of %s, %lld", all->n, row->name, (long long)all->layouts[0]->size);
    return true;
}

static void free_batch(batch *all)
{
    for (int i = 0; i < all->n; i++)
        pw_layout_unref(all->layouts[i]);
}

/* ---- ways ------------------------------------------------------------------------------------------------------- */

static void check(pw_status status)
{
    if (status != PW_OK)
        die(pw_status_text(status));
}

/* As the calls of MPI do it (runtime/mpi/collective/block_staging.c). */
static void carry_out(const bench *b, const batch *all, way how)
{
    pw_gpu_transfer *begun[MOST];
    int next = 0;

    atomic_store(&b->gpu->fuseless, how != FUSED);
    for (int i = 0; i < all->n; i++) {
        next = next < i ? i : next;
        for (; how != ONE_BY_ONE && next < all->n && (begun[next] = pw_gpu_begin(&all->orders[next])); next++)
            ;
        check(i < next ? pw_gpu_finish(begun[i]) : pw_gpu_carry_out(&all->orders[i]));
    }
}

static void fill(const bench *b, gpu_ptr at, int64_t bytes)
{
    for (int64_t done = 0; done < bytes; done += LOOK)
        gpu_upload(at + (gpu_ptr)done, b->random, (size_t)(bytes - done < LOOK ? bytes - done : LOOK));
}

/* All ways must leave the same bytes on both sides. */
static void verify(const bench *b, batch *all)
{
    static unsigned char *want, *got;

    want = want ? want : malloc(LOOK);
    got = got ? got : malloc(LOOK);
    for (int unpack = 0; unpack < 2; unpack++) {
        gpu_ptr to = unpack ? b->memory : b->packed;

        direct(b, all, false, unpack);
        fill(b, unpack ? b->packed : b->memory, LOOK);
        for (way how = ONE_BY_ONE; how < WAYS; how++) {
            gpu_fill(to, 0, LOOK);
            carry_out(b, all, how);
            gpu_download(how == ONE_BY_ONE ? want : got, to, LOOK);
            if (how != ONE_BY_ONE && memcmp(want, got, LOOK) != 0)
                die("the ways do not leave the same bytes");
        }
    }
}

/* Without a GPU only the layouts are of interest. */
static void measure(const bench *b, batch *all)
{
    static const char *const labels[] = {"pack to device", "unpack from device", "pack to pinned",
                                         "unpack from pinned"};
    static double us[WAYS][MAX_REPS];

    if (!b->gpu)
        return;
    verify(b, all);
    for (int k = 0; k < 4; k++) {
        direct(b, all, k & 2, k & 1);
        for (int r = -20; r < b->reps; r++)
            for (way how = ONE_BY_ONE; how < WAYS; how++) {
                double start = bench_now();

                carry_out(b, all, how);
                if (r >= 0)
                    us[how][r] = (bench_now() - start) / 1e3;
            }
        for (way how = ONE_BY_ONE; how < WAYS; how++)
            pw_samples_sort(us[how], b->reps);
        printf("%-34s %10lld  %-18s %9.1f %9.1f %9.1f   %5.2f %5.2f\n", all->name, (long long)all->bytes, labels[k],
               us[ONE_BY_ONE][b->reps / 2], us[IN_LANES][b->reps / 2], us[FUSED][b->reps / 2],
               us[ONE_BY_ONE][b->reps / 2] / us[FUSED][b->reps / 2],
               us[IN_LANES][b->reps / 2] / us[FUSED][b->reps / 2]);
    }
}

/* ---- thresholds -------------------------------------------------------------------------------------------------- */

enum { BY_MODEL = 0, THRESHOLDS = 7 };
static const int64_t thresholds[THRESHOLDS] = {BY_MODEL, 1, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20};

/* Packs of which the first `begun` have begun, and the first `sent` are being copied to the host. */
typedef struct coming {
    const bench *bench;
    const batch *all;
    pw_gpu_transfer *packs[COMING];
    int begun, sent, launched; /* `launched`: the number of the first one that no launch has yet */
    int64_t gathered;          /* bytes of these */
} coming;

static void send_next(coming *c)
{
    const pw_gpu_order *o = &c->all->orders[c->sent];
    gpu_ptr to = c->bench->mapped + (o->packed.device - c->bench->packed);

    check(c->packs[c->sent] ? pw_gpu_finish(c->packs[c->sent]) : pw_gpu_carry_out(o));
    gpu_copy_on(c->bench->sending, to, o->packed.device, (size_t)o->bytes);
    c->sent++;
}

static void send_what_is_over(coming *c)
{
    while (c->sent < c->launched && c->packs[c->sent] && pw_gpu_is_over(c->packs[c->sent]))
        send_next(c);
}

/* As runtime/mpi/requests/deferred.c says, but for the time that the model gives to a batch. */
static bool is_due(const coming *c, int64_t threshold)
{
    return threshold == BY_MODEL ? c->sent == c->launched : c->gathered >= threshold;
}

static void launch(coming *c)
{
    pw_gpu_launch_begun();
    c->launched = c->begun;
    c->gathered = 0;
}

static void pack_and_send(const bench *b, const batch *all, int64_t threshold)
{
    coming c = {.bench = b, .all = all};

    while (c.begun < all->n) {
        c.packs[c.begun] = pw_gpu_begin(&all->orders[c.begun]);
        c.gathered += all->orders[c.begun++].bytes;
        send_what_is_over(&c);
        if (is_due(&c, threshold))
            launch(&c);
    }
    launch(&c);
    while (c.sent < all->n)
        send_next(&c);
    gpu_stream_wait(b->sending);
}

/* What arrives must be what is packed one by one. */
static void verify_thresholds(const bench *b, const batch *all)
{
    unsigned char *want = malloc((size_t)all->bytes);

    if (!want)
        die("out of memory");
    carry_out(b, all, ONE_BY_ONE);
    gpu_download(want, b->packed, (size_t)all->bytes);
    atomic_store(&b->gpu->fuseless, false);
    for (int t = 0; t < THRESHOLDS; t++) {
        gpu_fill(b->packed, 0, (size_t)all->bytes);
        memset(b->pinned, 0, (size_t)all->bytes);
        pack_and_send(b, all, thresholds[t]);
        if (memcmp(b->pinned, want, (size_t)all->bytes) != 0)
            die("what was sent is not what was packed");
    }
    free(want);
}

static void measure_thresholds(const bench *b, batch *all)
{
    static double us[THRESHOLDS][MAX_REPS];

    direct(b, all, false, false);
    verify_thresholds(b, all);
    atomic_store(&b->gpu->fuseless, false);
    for (int i = 0; i < all->n; i++)
        pw_gpu_layout_of(all->layouts[i])->fused_most = INT64_MAX;
    for (int r = -20; r < b->reps; r++)
        for (int t = 0; t < THRESHOLDS; t++) {
            double start = bench_now();

            pack_and_send(b, all, thresholds[t]);
            if (r >= 0)
                us[t][r] = (bench_now() - start) / 1e3;
        }
    printf("%-34s %10lld ", all->name, (long long)all->bytes);
    for (int t = 0; t < THRESHOLDS; t++) {
        pw_samples_sort(us[t], b->reps);
        printf(" %9.1f", us[t][b->reps / 2]);
    }
    printf("\n");
}

static void sweep_thresholds(bench *b)
{
    printf("\nmedians of %d, us, by the bytes that a launch waits for\n%-34s %10s  %9s %9s %9s %9s %9s %9s %9s\n",
           b->reps, "", "bytes", "model", "each", "16K", "64K", "256K", "1M", "4M");
    b->sending = gpu_stream_make();
    for (int64_t bytes = 1 << 10; bytes <= 1 << 20; bytes *= 4) {
        batch all;

        make_same(b, &all, bytes, 8, COMING);
        measure_thresholds(b, &all);
        free_batch(&all);
    }
}

/* ---- applications ------------------------------------------------------------------------------------------------ */

/* The layouts and numbers of transfers that Chu et al. measured ("Dynamic Kernel Fusion", CLUSTER 2020). */
static void measure_applications(bench *b)
{
    static const char *const names[] = {"SPECFEM3D_cm", "NAS_MG_y", "MILC_su3_zd"};
    int n;
    const gpu_row *rows = gpu_rows(&n);

    for (int i = 0; i < n; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            for (int64_t bytes = 4 << 10; strcmp(rows[i].name, names[k]) == 0 && bytes <= 256 << 10; bytes *= 4) {
                batch all;

                if (!make_application(b, &all, &rows[i], bytes))
                    continue;
                measure(b, &all);
                free_batch(&all);
            }
}

/* ---- the program ------------------------------------------------------------------------------------------------ */

static void open_engine(bench *b)
{
    pw_layout_config *config = calloc(1, sizeof *config);

    if (!config)
        die("out of memory");
    pw_layout_config_from_env(config);
    config->mode = PW_JIT_OFF; /* of the CPU's kernels */
    check(pw_layout_engine_create(config, &b->engine));
    free(config);
}

static void open_bench(bench *b)
{
    pw_memory_place place;

    b->memory = gpu_alloc(SPAN);
    b->packed = gpu_alloc(ROOM);
    b->pinned = gpu_alloc_mapped(ROOM, &b->mapped);
    b->random = malloc(LOOK);
    if (!b->random)
        die("out of memory");
    for (int64_t i = 0; i < LOOK; i++)
        b->random[i] = (unsigned char)((uint64_t)i * 0x9e3779b97f4a7c15 >> 40);
    fill(b, b->memory, SPAN);
    if (!pw_cu_find())
        die("the driver is not found");
    place = pw_gpu_place_of((const void *)(uintptr_t)b->memory);
    if (place.kind != PW_PLACE_DEVICE)
        die("device memory is not taken for that");
    b->gpu = place.gpu;
    open_engine(b);
}

static void sweep(bench *b, int block, int64_t most)
{
    for (int64_t bytes = 1 << 10; bytes <= most; bytes *= 4) {
        batch all;

        make_same(b, &all, bytes, block, SAME);
        for (int i = 0; i < all.n && b->gpu; i++)
            pw_gpu_layout_of(all.layouts[i])->fused_most = INT64_MAX;
        measure(b, &all);
        free_batch(&all);
    }
}

static void measure_batches(bench *b)
{
    static const int sides[] = {8, 16, 32, 64, 128}, blocks[] = {8, 64, 1024, 28};

    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
        for (int halo = 1; halo <= 3; halo += 2) {
            batch all;

            make_box(b, &all, sides[i], halo);
            measure(b, &all);
            free_batch(&all);
        }
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        sweep(b, blocks[i], 4 << 20);
    sweep(b, 27, 1 << 18);
    sweep(b, 0, 1 << 20);
    measure_applications(b);
}

static bool is_word(const char *word, const char *other)
{
    return strcmp(word, other) == 0;
}

int main(int argc, char **argv)
{
    bench b = {.reps = argc > 1 ? atoi(argv[1]) : 101};
    const char *word = argc > 2 ? argv[2] : "", *why;
    gpu_info info;

    setenv("PACKWRIGHT_JIT", "sync", 0);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (b.reps < 1 || b.reps > MAX_REPS ||
        !(is_word(word, "") || is_word(word, "thresholds") || is_word(word, "applications") || is_word(word, "bounds")))
        die("usage: gpu_fused [reps [thresholds|applications|bounds]]");
    if (is_word(word, "bounds")) {
        open_engine(&b);
        measure_batches(&b);
        printf("all layouts fit\n");
        return 0;
    }
    if (!gpu_open(&info, &why)) {
        printf("SKIPPED: %s\n", why);
        return SKIPPED;
    }
    open_bench(&b);
    if (is_word(word, "thresholds")) {
        sweep_thresholds(&b);
        return 0;
    }
    printf("%s, medians of %d, us\n%-34s %10s  %-18s %9s %9s %9s   %s\n", info.name, b.reps, "", "bytes", "",
           "one by one", "in lanes", "fused", "times as fast as both");
    if (is_word(word, "applications")) {
        measure_applications(&b);
        return 0;
    }
    measure_batches(&b);
    sweep_thresholds(&b);
    return 0;
}
