/*
 * bench/gpu: our GPU kernels beside others and beside the limit (README.md). Needs a GPU, but not to compile kernels:
 * with --prepare they are put into a folder, from which a run on another machine takes them.
 */
#include "bench/clock.h"
#include "bench/gpu/completion.h"
#include "bench/gpu/published.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77, PACKED_ROOM = 72 << 20, SCRUB_BYTES = 256 << 20 };

typedef struct options {
    const char *rows, *csv, *kernels;
    int64_t payloads[16];
    int npayloads, reps, prepare;
    bool completion, mapped, all_rows, published;
    int64_t max_span;
} options;

static const char usage[] =
    "usage: gpu [--rows GLOB,...] [--payloads 4K,64K,1M,4M,64M] [--reps N] [--csv FILE] [--kernels FOLDER]\n"
    "           [--max-span MIB] [--no-mapped] [--all-rows] [--completion] [--published] [--prepare ARCH]\n"
    "--published runs the layouts and sizes of which there are figures of others, and compares.\n"
    "--prepare 90 compiles all kernels for sm_90 into the folder, and needs no GPU.\n";

static int64_t bytes_of(const char *text, char **end)
{
    int64_t n = strtoll(text, end, 10);

    if (**end == 'K')
        n <<= 10, ++*end;
    else if (**end == 'M')
        n <<= 20, ++*end;
    return n;
}

static bool parse_payloads(options *o, const char *text)
{
    char *end;

    for (o->npayloads = 0; o->npayloads < 16; text = end + 1) {
        o->payloads[o->npayloads++] = bytes_of(text, &end);
        if (*end != ',')
            break;
    }
    return *end == '\0';
}

static bool parse_flag(options *o, const char *name)
{
    if (strcmp(name, "--completion") == 0)
        o->completion = true;
    else if (strcmp(name, "--no-mapped") == 0)
        o->mapped = false;
    else if (strcmp(name, "--all-rows") == 0)
        o->all_rows = true;
    else if (strcmp(name, "--published") == 0)
        o->published = true;
    else
        return false;
    return true;
}

static bool parse_value(options *o, const char *name, const char *value)
{
    if (!value)
        return false;
    if (strcmp(name, "--rows") == 0)
        o->rows = value;
    else if (strcmp(name, "--csv") == 0)
        o->csv = value;
    else if (strcmp(name, "--kernels") == 0)
        o->kernels = value;
    else if (strcmp(name, "--reps") == 0)
        o->reps = atoi(value);
    else if (strcmp(name, "--max-span") == 0)
        o->max_span = strtoll(value, NULL, 10) << 20;
    else if (strcmp(name, "--prepare") == 0)
        o->prepare = atoi(value);
    else
        return strcmp(name, "--payloads") == 0 && parse_payloads(o, value);
    return true;
}

static options parse(char **argv)
{
    options o = {.rows = "*", .reps = 15, .mapped = true, .max_span = INT64_C(12) << 30};

    parse_payloads(&o, "4K,64K,1M,4M,64M");
    for (; *argv; argv++)
        if (!parse_flag(&o, *argv) && (!parse_value(&o, argv[0], argv[1]) || !*++argv)) {
            fputs(usage, stderr);
            exit(2);
        }
    if (o.reps < 1 || o.reps > MAX_REPS || (o.prepare && !o.kernels)) {
        fputs(usage, stderr);
        exit(2);
    }
    return o;
}

/* ---- every subject ----------------------------------------------------------------------------------------------- */

/* Is the name matched by one of the patterns, with commas between them? */
static bool is_chosen(const char *patterns, const char *name)
{
    while (*patterns) {
        char one[128];
        size_t n = strcspn(patterns, ",");

        snprintf(one, sizeof one, "%.*s", (int)n, patterns);
        if (fnmatch(one, name, 0) == 0)
            return true;
        patterns += n + (patterns[n] == ',');
    }
    return false;
}

typedef void subject_fn(void *arg, gpu_subject *s);

static void for_payload(const options *o, const gpu_row *row, int64_t payload, subject_fn *fn, void *arg)
{
    gpu_subject s;

    if (gpu_subject_make(&s, row, payload, o->max_span)) {
        fn(arg, &s);
        gpu_subject_free(&s);
    }
}

/* Each row and payload of which there are figures of others, once. */
static void for_each_published(const options *o, subject_fn *fn, void *arg)
{
    int n, nrows;
    const gpu_published *figures = gpu_published_figures(&n);
    const gpu_row *rows = gpu_rows(&nrows);

    for (int i = 0; i < n; i++) {
        bool again = false;

        for (int k = 0; k < i; k++)
            again |= strcmp(figures[k].row, figures[i].row) == 0 && figures[k].payload == figures[i].payload;
        for (int k = 0; k < nrows && !again; k++)
            if (strcmp(rows[k].name, figures[i].row) == 0)
                for_payload(o, &rows[k], figures[i].payload, fn, arg);
    }
}

static void for_each(const options *o, subject_fn *fn, void *arg)
{
    int n;
    const gpu_row *rows = gpu_rows(&n);

    if (o->published) {
        for_each_published(o, fn, arg);
        return;
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < o->npayloads; k++)
            if (is_chosen(o->rows, rows[i].name))
                for_payload(o, &rows[i], o->payloads[k], fn, arg);
}

static void prepare_one(void *arg, gpu_subject *s)
{
    pw_blob cubin;

    if (!gpu_subject_compile(s, arg, &cubin))
        exit(1);
    pw_blob_free(&cubin);
}

/* ---- on a GPU ---------------------------------------------------------------------------------------------------- */

static void open_tier0(gpu_bench *b, const gpu_store *store)
{
    pw_blob cubin;
    const pw_target target = {.arch = "nvptx64"};
    const pw_compile_job *job;
    gpu_module module;

    if (pw_gpu_tier0_create(&b->tier0, NULL) != PW_OK || !gpu_store_tier0(store, b->tier0, &cubin))
        exit(1);
    module = gpu_load(cubin.data);
    pw_blob_free(&cubin);
    job = pw_gpu_tier0_jobs(b->tier0, &target, PW_EMIT_SHARED);
    for (int i = 0; job; job = job->next, i++)
        for (int k = 0; k < 4; k++) {
            char name[96];

            snprintf(name, sizeof name, "%s%s", k & 2 ? job->unpack_name : job->pack_name,
                     k & 1 ? PW_GPU_BIG_SUFFIX : "");
            b->tier0_function[i][k >> 1][k & 1] = gpu_find(module, name);
        }
}

static void open_bench(gpu_bench *b, const options *o, gpu_store *store)
{
    store->arch = 10 * b->gpu.major + b->gpu.minor;
    b->stream = gpu_stream_make();
    b->max_span = (size_t)o->max_span;
    b->memory = gpu_alloc(b->max_span + 4096);
    b->packed = gpu_alloc(PACKED_ROOM);
    b->other = gpu_alloc(PACKED_ROOM);
    b->scrub_bytes = SCRUB_BYTES;
    b->scrub = gpu_alloc(b->scrub_bytes);
    gpu_alloc_mapped(PACKED_ROOM, &b->mapped);
    if (!gpu_generic_load(&b->generic, store))
        exit(1);
    open_tier0(b, store);
    gpu_flagged_open(b);
    b->warm = o->published;
    gpu_fill_random(&b->generic, b->memory, b->max_span, 3);
    gpu_fill_random(&b->generic, b->scrub, b->scrub_bytes, 4);
    gpu_measure_machine(b);
}

typedef struct session {
    const options *options;
    const gpu_store *store;
    gpu_bench bench;
    gpu_results results;
} session;

static void bench_one(void *arg, gpu_subject *s)
{
    session *all = arg;

    if (!gpu_subject_load(s, all->store))
        exit(1);
    gpu_verify(&all->bench, s);
    for (int where = 0; where < (all->options->mapped ? WHERES : 1); where++)
        for (int unpack = 0; unpack < 2; unpack++) {
            gpu_result r = gpu_measure(&all->bench, s, unpack, (gpu_where)where, all->options->reps);

            gpu_results_add(&all->results, &r);
        }
    gpu_flagged_rest(&all->bench);
}

static void completion_one(void *arg, gpu_subject *s)
{
    session *all = arg;

    if (!gpu_subject_load(s, all->store))
        exit(1);
    gpu_bench_completion(&all->bench, s, 501);
}

static void report(const session *all)
{
    gpu_report_machine(&all->bench);
    if (all->options->csv)
        gpu_report_csv(&all->results, all->options->csv);
    if (all->options->all_rows)
        gpu_report_rows(&all->results, 0);
    gpu_report_worst(&all->results, 30);
    gpu_report_means(&all->results);
    if (all->options->published)
        gpu_report_published(&all->results);
}

static int prepare(const options *o, gpu_store *store)
{
    pw_gpu_tier0 *tier0;
    pw_blob cubin;

    store->arch = o->prepare;
    if (pw_gpu_tier0_create(&tier0, NULL) != PW_OK || !gpu_store_tier0(store, tier0, &cubin) ||
        !gpu_generic_compile(store))
        return 1;
    pw_blob_free(&cubin);
    for_each(o, prepare_one, store);
    pw_gpu_tier0_destroy(tier0);
    return 0;
}

int main(int argc, char **argv)
{
    const options o = parse(argv + (argc > 0));
    gpu_store store = {.folder = o.kernels};
    session all = {.options = &o, .store = &store};
    double start = bench_now();
    const char *why;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (o.prepare)
        return prepare(&o, &store);
    if (!gpu_open(&all.bench.gpu, &why)) {
        printf("SKIPPED: %s\n", why);
        return SKIPPED;
    }
    open_bench(&all.bench, &o, &store);
    for_each(&o, o.completion ? completion_one : bench_one, &all);
    if (!o.completion)
        report(&all);
    printf("%.1f s\n", (bench_now() - start) / 1e9);
    return 0;
}
