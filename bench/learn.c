/*
 * What it costs to learn a type: time and memory, from the arguments of a constructor to a layout that can be packed.
 *
 *     build/bench/learn [LARGEST]      lists of up to so many entries; 10000000
 *
 * No MPI is involved, and no kernel is compiled. Regular types are 500 different vectors, subarrays, short lists and
 * structs, each learned once while all others live. Lists have blocks at random places; their own bytes are those of
 * the arrays that a program gives to MPI, four bytes a number. `build` makes the tree from the arguments, as a frontend
 * does; `learn` is pw_layout_get.
 */
#include "bench/clock.h"
#include "frontend/combiner.h"
#include "runtime/engine/layout/layout.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TYPES = 500, LONGEST = 10000000, TREE_MAX = 64 };

typedef struct cost {
    double build, learn;      /* ns */
    int64_t live, peak, bare; /* bytes: of the layout; most during all of it; before it */
} cost;

static void need(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

static int64_t heap_bytes(void)
{
    struct mallinfo2 m = mallinfo2();

    return (int64_t)(m.uordblks + m.hblkhd);
}

/* The most memory that the process has had since this was last asked, in bytes. */
static int64_t peak_bytes(void)
{
    char text[4096] = "";
    int64_t kib = 0;
    int fd = open("/proc/self/status", O_RDONLY);
    const char *line;

    need(fd >= 0 && read(fd, text, sizeof text - 1) > 0, "cannot read /proc/self/status");
    close(fd);
    line = strstr(text, "VmHWM:");
    if (line)
        kib = strtoll(line + strlen("VmHWM:"), NULL, 10);
    fd = open("/proc/self/clear_refs", O_WRONLY);
    if (fd >= 0 && write(fd, "5", 1) != 1)
        fprintf(stderr, "bench: peaks are those of the whole run\n");
    if (fd >= 0)
        close(fd);
    return kib * 1024;
}

static uint64_t next_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    return (*state ^ *state >> 29) * 0xbf58476d1ce4e5b9u >> 20;
}

/* ---- types ----------------------------------------------------------------------------------------------- */

static pw_dt a_struct(pw_builder *b, int64_t i)
{
    int64_t lens[] = {1 + i % 3, 2, 1 + i % 5}, displs[] = {0, 64 + 8 * i, 4096 + 16 * i};
    pw_dt real = pw_dt_basic(b, 8, 8), olds[] = {real, pw_dt_basic(b, 4, 4), real};

    return pw_dt_struct(b, 3, lens, displs, olds);
}

static pw_dt a_short_list(pw_builder *b, int64_t i, bool blocks)
{
    enum { N = 24 };
    int64_t lens[N], displs[N], at = 0;
    uint64_t seed = (uint64_t)i;

    for (int k = 0; k < N; k++) {
        lens[k] = 1 + (int64_t)(next_random(&seed) % 4);
        displs[k] = at += 5 + (int64_t)(next_random(&seed) % 50);
    }
    return blocks ? pw_dt_indexed_block(b, N, 2, displs, pw_dt_basic(b, 8, 8))
                  : pw_dt_indexed(b, N, lens, displs, pw_dt_basic(b, 8, 8));
}

static pw_dt a_subarray(pw_builder *b, int64_t i)
{
    int64_t sizes[] = {40 + i, 64, 64}, subsizes[] = {20, 1 + i % 32, 8}, starts[] = {2, 3, i % 8};

    return pw_dt_subarray(b, 3, sizes, subsizes, starts, i % 2 ? PW_ORDER_C : PW_ORDER_FORTRAN, pw_dt_basic(b, 8, 8));
}

static pw_dt a_nested_vector(pw_builder *b, int64_t i)
{
    return pw_dt_hvector(b, 10 + i % 9, 1, 100000 + 8 * i, pw_dt_vector(b, 100 + i, 2, 7, pw_dt_basic(b, 8, 8)));
}

/* Number i of the regular types. */
static pw_dt regular(pw_builder *b, int64_t i)
{
    switch (i % 8) {
    case 0:
    case 1: return pw_dt_vector(b, 100 + i, 1 + i % 6, 1000 + i, pw_dt_basic(b, 8, 8));
    case 2: return pw_dt_hvector(b, 20 + i, 3, 4096 + 8 * i, pw_dt_basic(b, 4, 4));
    case 3: return a_subarray(b, i);
    case 4: return a_nested_vector(b, i);
    case 5: return a_short_list(b, i, true);
    case 6: return a_short_list(b, i, false);
    default: return a_struct(b, i);
    }
}

static pw_dt strided(pw_builder *b, int64_t i)
{
    return i % 2 ? pw_dt_vector(b, 100 + i, 1 + i % 6, 1000 + i, pw_dt_basic(b, 8, 8)) : a_subarray(b, i);
}

/* Blocks of one element, or of 1 to 8, at random distances. */
typedef struct list {
    int64_t n, *displs, *lens;
} list;

static list make_list(int64_t n)
{
    list l = {n, malloc((size_t)n * sizeof(int64_t)), malloc((size_t)n * sizeof(int64_t))};
    uint64_t seed = 7;
    int64_t at = 0;

    need(l.displs && l.lens, "no memory");
    for (int64_t i = 0; i < n; i++) {
        l.displs[i] = at += 9 + (int64_t)(next_random(&seed) % 32);
        l.lens[i] = 1 + (int64_t)(next_random(&seed) % 8);
    }
    return l;
}

static pw_dt of_list(pw_builder *b, const list *l, bool blocks)
{
    pw_dt old = pw_dt_basic(b, 4, 4);

    return blocks ? pw_dt_indexed_block(b, l->n, 1, l->displs, old) : pw_dt_indexed(b, l->n, l->lens, l->displs, old);
}

/* ---- measuring -------------------------------------------------------------------------------------------- */

static pw_layout_engine *open_engine(void)
{
    pw_layout_config config = {.mode = PW_JIT_ASYNC, .hot_bytes = INT64_MAX};
    pw_layout_engine *engine;

    config.cache.backend = "llvm";
    config.cache.target = pw_target_host();
    need(pw_layout_engine_create(&config, &engine) == PW_OK, "cannot start the engine");
    return engine;
}

static pw_layout *learn(pw_layout_engine *engine, pw_builder *b, pw_dt dt)
{
    pw_type type = pw_dt_finish(dt);
    pw_layout *layout = NULL;
    pw_diag diag = {0};

    if (b->status != PW_OK || pw_layout_get(engine, &type, &layout, &diag) != PW_OK)
        fprintf(stderr, "bench: a type is not supported: %s\n", diag.text);
    need(layout != NULL, "nothing to measure");
    return layout;
}

typedef pw_dt make_fn(pw_builder *b, int64_t i);

static cost measure_types(make_fn *make)
{
    pw_layout_engine *engine = open_engine();
    pw_layout *layouts[TYPES];
    cost c = {.bare = heap_bytes()};

    for (int64_t i = 0; i < TYPES; i++) {
        double begin = bench_now(), built;
        pw_arena *arena = pw_arena_create();
        pw_builder b = {.arena = arena};
        pw_dt dt = make(&b, i);

        built = bench_now();
        layouts[i] = learn(engine, &b, dt);
        c.learn += bench_now() - built;
        c.build += built - begin;
        pw_arena_destroy(arena);
    }
    c.live = heap_bytes() - c.bare;
    for (int i = 0; i < TYPES; i++)
        pw_layout_unref(layouts[i]);
    pw_layout_engine_destroy(engine);
    return c;
}

static cost measure_list(const list *l, bool blocks)
{
    pw_layout_engine *engine = open_engine();
    pw_arena *arena = pw_arena_create();
    pw_builder b = {.arena = arena};
    pw_layout *layout;
    cost c = {0};
    double begin, built;
    pw_dt dt;
    int64_t resident;

    malloc_trim(0);
    peak_bytes();
    resident = peak_bytes();
    c.bare = heap_bytes() - (int64_t)pw_arena_used(arena);
    begin = bench_cpu_now();
    dt = of_list(&b, l, blocks);
    built = bench_cpu_now();
    layout = learn(engine, &b, dt);
    c.learn = bench_cpu_now() - built;
    c.build = built - begin;
    pw_arena_destroy(arena);
    c.live = heap_bytes() - c.bare;
    c.peak = peak_bytes() - resident;
    pw_layout_unref(layout);
    pw_layout_engine_destroy(engine);
    return c;
}

/* The best of a few, for times: the machine is shared. A list takes long enough to be interrupted, so its time is the
 * thread's on a CPU. */
static void report_types(const char *name, make_fn *make)
{
    cost best = measure_types(make);

    for (int i = 0; i < 9; i++) {
        cost c = measure_types(make);

        best.build = c.build < best.build ? c.build : best.build;
        best.learn = c.learn < best.learn ? c.learn : best.learn;
    }
    printf("%-24s build %7.0f ns  learn %7.0f ns  live %6lld bytes  a type\n", name, best.build / TYPES,
           best.learn / TYPES, (long long)(best.live / TYPES));
}

static void report_list(int64_t n, bool blocks)
{
    list l = make_list(n);
    cost best = measure_list(&l, blocks);
    double own = (double)n * 4 * (blocks ? 1 : 2);

    for (int i = 0; i < (n < 1000000 ? 9 : 2); i++) {
        cost c = measure_list(&l, blocks);

        best.build = c.build < best.build ? c.build : best.build;
        best.learn = c.learn < best.learn ? c.learn : best.learn;
    }
    printf("%-13s %10lld build %7.2f ns  learn %7.2f ns  an entry; live %5.2f, peak %5.2f times its own bytes\n",
           blocks ? "indexed_block" : "indexed", (long long)n, best.build / (double)n, best.learn / (double)n,
           (double)best.live / own, (double)best.peak / own);
    free(l.displs);
    free(l.lens);
}

int main(int argc, char **argv)
{
    int64_t longest = argc > 1 ? strtoll(argv[1], NULL, 10) : LONGEST;

    report_types("strided", strided);
    report_types("all regular types", regular);
    for (int64_t n = 1000; n <= longest; n *= 10) {
        report_list(n, true);
        report_list(n, false);
    }
    return 0;
}
