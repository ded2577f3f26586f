/*
 * Random MPI types over all combiners: MPI's own pack, the naive typemap, tier 0, compiled kernels and partial
 * ranges must agree byte for byte. Every rank takes its share of the types; no messages are sent.
 *
 *   --types=N        how many types (20000)
 *   --seed=S         type i has seed S + i
 *   --tier1-every=K  compile every K-th type (4); 0: none
 *   --lists=N        then N lists and structs of 10,000 to a million blocks (0)
 *   --long           20 times as many types, larger ones, all compiled
 *
 * A failure prints the type, its seed and the command that repeats it alone.
 */
#include "absolute.h"
#include "forms.h"
#include "frontend/mpi/decode.h"
#include "judge.h"
#include "passes/passes.h"

#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct options {
    int64_t types, lists, tier1_every;
    uint64_t seed;
    pw_random_mpi_limits limits;
    int64_t room;
    const char *program;
} options;

typedef struct run {
    options o;
    int rank, ranks;
    pw_judge judge;
    pw_layout_engine *plain, *compiling; /* `compiling` is NULL if there is no code generator */
    char cache_dir[64];
    int64_t engine_kernels; /* how many kernels the current engine has compiled */
    int64_t types, kernels, no_kernel, failures, unsupported;
    bool making_lists;
    int64_t used[PW_RANDOM_COMBINER_COUNT], large;
} run;

/* The text that a signal handler prints before the program dies: the only way to report a kernel that has touched a
 * guard page. */
static char crash_text[4096];

static __attribute__((unused)) void on_crash(int sig)
{
    ssize_t ignored = write(STDERR_FILENO, crash_text, strlen(crash_text));
    (void)ignored;
    signal(sig, SIG_DFL);
    raise(sig);
}

/* Not under AddressSanitizer, whose own report says more. */
static void catch_crashes(void)
{
#ifndef __SANITIZE_ADDRESS__
    signal(SIGSEGV, on_crash);
    signal(SIGBUS, on_crash);
    signal(SIGILL, on_crash);
    signal(SIGFPE, on_crash);
#endif
}

static void report(run *r, const pw_random_mpi *t, uint64_t seed, const char *what)
{
    r->failures++;
    fprintf(stderr, "FAILED: %s\n  type: %s\n  lb %lld extent %lld size %lld, bytes in [%lld, %lld)\n", what, t->text,
            (long long)t->lb, (long long)t->extent, (long long)t->map.size, (long long)t->map.lo, (long long)t->map.hi);
    fprintf(stderr, "  again: mpiexec -n 1 %s --seed=%llu %s --tier1-every=1\n", r->o.program, (unsigned long long)seed,
            r->making_lists ? "--types=0 --lists=1" : "--types=1");
}

/* ---- engines ------------------------------------------------------------------------------------- */

static pw_layout_engine *make_engine(pw_jit_mode mode, const char *cache_dir)
{
    pw_layout_config config;
    pw_layout_engine *engine = NULL;
    pw_layout_config_from_env(&config);
    config.mode = mode;
    config.cache.dir = cache_dir;
    config.cache.max_bytes = 64 << 20;
    if (pw_layout_engine_create(&config, &engine) != PW_OK) {
        fprintf(stderr, "no layout engine\n");
        exit(2);
    }
    return engine;
}

static void start_compiling(run *r)
{
    pw_diag diag = {0};
    if (r->o.tier1_every == 0)
        return;
    if (!pw_backend_load("llvm", &diag)) {
        if (r->rank == 0)
            printf("no kernels are compiled: %s\n", diag.text);
        r->failures += PW_TEST_NEEDS_LLVM;
        return;
    }
    snprintf(r->cache_dir, sizeof r->cache_dir, "/tmp/packwright-random-XXXXXX");
    if (!mkdtemp(r->cache_dir)) {
        perror(r->cache_dir);
        exit(2);
    }
    r->compiling = make_engine(PW_JIT_SYNC, r->cache_dir);
}

static int remove_entry(const char *path, const struct stat *sb, int type, struct FTW *position)
{
    (void)sb, (void)type, (void)position;
    return remove(path);
}

static void stop_compiling(run *r)
{
    if (!r->compiling)
        return;
    pw_layout_engine_destroy(r->compiling);
    nftw(r->cache_dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    r->compiling = NULL;
}

/* Bounds the number of mapped libraries: every kernel is one, and a process may have only so many. */
static void bound_mappings(run *r)
{
    enum { MOST_KERNELS = 3000 };
    if (r->engine_kernels < MOST_KERNELS)
        return;
    stop_compiling(r);
    start_compiling(r);
    r->engine_kernels = 0;
}

/* ---- one type ------------------------------------------------------------------------------------ */

static bool build_subject(run *r, const pw_type *raw, bool compile, pw_arena *arena, pw_subject_type *s, char *what,
                          size_t what_size)
{
    pw_diag diag = {0};
    pw_type canonical;
    pw_pass_options verify = {.verify = true};
    pw_status status = pw_canonicalise(raw, arena, &canonical, NULL, &diag);
    if (status == PW_OK)
        status = pw_lower(&canonical, &s->nest, &verify, &diag);
    if (status == PW_OK)
        status = pw_nest_verify(s->nest, &diag);
    if (status == PW_OK)
        status = pw_layout_get(r->plain, raw, &s->plain, &diag);
    if (status == PW_OK && compile)
        status = pw_layout_get(r->compiling, raw, &s->compiled, &diag);
    if (r->making_lists && status == PW_ERR_UNSUPPORTED) { /* so many different members that MPI gets it */
        r->unsupported++;
        return false;
    }
    if (status != PW_OK)
        snprintf(what, what_size, "no nest or layout: %s (%s)", diag.text, pw_status_text(status));
    return status == PW_OK;
}

static void count_kernel(run *r, const pw_layout *l)
{
    if (!l || l->contiguous || l->size == 0)
        return;
    bool ready = l->kernel && atomic_load(&l->kernel->pack);
    r->kernels += ready;
    r->engine_kernels += ready;
    r->no_kernel += !ready;
}

/* A long list may be of more derived members than are looked at: MPI gets it. */
static bool is_supported(run *r, const pw_random_mpi *t, pw_arena *arena)
{
    pw_type raw;
    pw_diag diag;
    bool refused = r->making_lists && pw_mpi_decode(t->type, arena, &raw, &diag) == PW_ERR_UNSUPPORTED;
    r->unsupported += refused;
    return !refused;
}

enum { ABSOLUTE_EVERY = 7 };

static bool judge_type(run *r, const pw_random_mpi *t, uint64_t seed, bool compile, char *what, size_t what_size)
{
    static const int64_t most_counts[] = {2, 3, 7, 33};
    pw_arena *arena = pw_arena_create();
    pw_subject_type s = {.random = t};
    pw_type raw;
    pw_rng rng = {seed ^ 0x5bd1e995};
    bool good = is_supported(r, t, arena) && pw_forms_check(t, arena, &raw, what, what_size) &&
                build_subject(r, &raw, compile && r->compiling, arena, &s, what, what_size);
    count_kernel(r, s.compiled);
    int64_t counts[] = {0, 1, pw_rng_range(&rng, 2, most_counts[pw_rng_range(&rng, 0, 3)])};
    for (int i = 0; good && i < 3; i++)
        if (pw_judge_fits(&r->judge, t, counts[i]))
            good = pw_judge_count(&r->judge, &s, counts[i], seed, what, what_size);
    if (good && seed % ABSOLUTE_EVERY == 0 && pw_judge_fits(&r->judge, t, 1))
        good = pw_absolute_check(&r->judge, t, s.compiled ? r->compiling : r->plain, seed, what, what_size);
    pw_layout_unref(s.plain);
    pw_layout_unref(s.compiled);
    pw_nest_destroy(s.nest);
    pw_arena_destroy(arena);
    return good;
}

/* As many are short as are long. */
static void create_long(const run *r, pw_rng *rng, pw_random_mpi *out)
{
    int64_t least = (int64_t)10000 << pw_rng_range(rng, 0, 6);
    pw_random_mpi_create_long(rng, &r->o.limits, pw_rng_range(rng, least, least + least / 2), out);
}

static void one_type(run *r, int64_t i)
{
    char what[2400] = "";
    uint64_t seed = r->o.seed + (uint64_t)i;
    pw_rng rng = {seed * 0x2545f4914f6cdd1du};
    pw_random_mpi t;
    if (r->making_lists)
        create_long(r, &rng, &t);
    else
        pw_random_mpi_create(&rng, &r->o.limits, &t);
    snprintf(crash_text, sizeof crash_text, "CRASHED with seed %llu, type: %s\n", (unsigned long long)seed, t.text);
    r->types++;
    r->large += t.large;
    for (int c = 0; c < PW_RANDOM_COMBINER_COUNT; c++)
        r->used[c] += t.used >> c & 1;
    bool compile = r->o.tier1_every > 0 && i % r->o.tier1_every == 0;
    if (!judge_type(r, &t, seed, compile, what, sizeof what) && *what)
        report(r, &t, seed, what);
    pw_random_mpi_free(&t);
    bound_mappings(r);
}

static void many_types(run *r, int64_t n)
{
    enum { GIVE_UP_AFTER = 10 };
    int64_t judged = r->judge.bytes_judged;
    pw_judge_create(&r->judge, r->o.room);
    r->judge.bytes_judged = judged;
    for (int64_t i = r->rank; i < n && r->failures < GIVE_UP_AFTER; i += r->ranks)
        one_type(r, i);
    pw_judge_destroy(&r->judge);
}

/* ---- the whole ----------------------------------------------------------------------------------- */

static bool number(const char *arg, const char *name, int64_t *out)
{
    size_t n = strlen(name);
    if (strncmp(arg, name, n) != 0)
        return false;
    *out = (int64_t)strtoull(arg + n, NULL, 0);
    return true;
}

static options parse(int argc, char **argv)
{
    int64_t seed = 1;
    options o = {.types = 20000, .tier1_every = 4, .program = argv[0], .room = 1 << 20};
    o.limits = (pw_random_mpi_limits){.depth = 4, .max_entries = 1000, .max_span = 1 << 16};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--long") == 0) {
            o.types = 400000;
            o.tier1_every = 1;
            o.room = 8 << 20;
            o.limits = (pw_random_mpi_limits){.depth = 6, .max_entries = 8000, .max_span = 1 << 20};
        } else if (!number(argv[i], "--types=", &o.types) && !number(argv[i], "--seed=", &seed) &&
                   !number(argv[i], "--tier1-every=", &o.tier1_every) && !number(argv[i], "--lists=", &o.lists)) {
            fprintf(stderr, "usage: %s [--types=N] [--seed=S] [--tier1-every=K] [--long] [--lists=N]\n", argv[0]);
            exit(2);
        }
    }
    o.seed = (uint64_t)seed;
    return o;
}

static void print_summary(run *r, double seconds)
{
    int64_t mine[] = {r->types, r->kernels, r->no_kernel, r->failures, r->judge.bytes_judged, r->large, r->unsupported};
    int64_t all[7], used[PW_RANDOM_COMBINER_COUNT];
    MPI_Reduce(mine, all, 7, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(r->used, used, PW_RANDOM_COMBINER_COUNT, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (r->rank != 0)
        return;
    printf("%lld types, %lld failed; %lld MB packed; %lld kernels compiled, %lld could not be; %.1f s on %d ranks\n",
           (long long)all[0], (long long)all[3], (long long)(all[4] >> 20), (long long)all[1], (long long)all[2],
           seconds, r->ranks);
    printf("types with:");
    for (int c = 0; c < PW_RANDOM_COMBINER_COUNT; c++)
        printf(" %s %lld", pw_random_combiner_name(c), (long long)used[c]);
    printf(" large-count %lld\n%lld long lists too varied for a layout\n", (long long)all[5], (long long)all[6]);
}

int main(int argc, char **argv)
{
    static run r;
    MPI_Init(&argc, &argv);
    r.o = parse(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &r.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &r.ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    catch_crashes();

    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    r.plain = make_engine(PW_JIT_OFF, NULL);
    start_compiling(&r);
    many_types(&r, r.o.types);
    r.o.room = 256 << 20;
    r.o.limits = (pw_random_mpi_limits){.depth = 2, .max_entries = 8000000, .max_span = r.o.room};
    r.making_lists = true;
    many_types(&r, r.o.lists);
    stop_compiling(&r);
    pw_layout_engine_destroy(r.plain);
    clock_gettime(CLOCK_MONOTONIC, &end);

    print_summary(&r, (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec));
    int bad = r.failures > 0 || r.no_kernel > 0, any = 0;
    MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return any;
}
