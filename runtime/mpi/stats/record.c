#include "runtime/mpi/stats/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A report lists at most so many layouts in full, those that moved most. */
enum { LISTED = 100, CHOICES_LISTED = 8 };

/* ---- merging ------------------------------------------------------------------------------------------------- */

static int by_hash(const void *a, const void *b)
{
    return pw_hash_compare(((const pw_stats_record *)a)->hash, ((const pw_stats_record *)b)->hash);
}

static int by_bytes(const void *a, const void *b)
{
    const pw_stats_record *x = a, *y = b;

    return x->bytes != y->bytes ? (x->bytes > y->bytes ? -1 : 1) : by_hash(a, b);
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void add(pw_stats_record *to, const pw_stats_record *from)
{
    to->packs += from->packs;
    to->unpacks += from->unpacks;
    to->bytes += from->bytes;
    to->nanoseconds += from->nanoseconds;
    to->tier1_calls += from->tier1_calls;
    to->streamed += from->streamed;
    to->shared += from->shared;
    to->from_gpu += from->from_gpu;
    for (int id = 0; id < PW_STRATEGY_COUNT; id++) {
        to->used[id][PW_SEND] += from->used[id][PW_SEND];
        to->used[id][PW_RECV] += from->used[id][PW_RECV];
    }
    to->ranks += from->ranks;
    to->compiled += from->compiled;
    to->loaded += from->loaded;
    to->failed += from->failed;
    to->gpu_compiled += from->gpu_compiled;
    to->gpu_loaded += from->gpu_loaded;
    to->compile_ns = larger(to->compile_ns, from->compile_ns);
    to->load_ns = larger(to->load_ns, from->load_ns);
}

int64_t pw_stats_merge(pw_stats_record *records, int64_t n)
{
    int64_t kept = 0;

    if (n == 0)
        return 0;
    qsort(records, (size_t)n, sizeof *records, by_hash);
    for (int64_t i = 1; i < n; i++) {
        if (pw_hash_equal(records[kept].hash, records[i].hash))
            add(&records[kept], &records[i]);
        else
            records[++kept] = records[i];
    }
    qsort(records, (size_t)++kept, sizeof *records, by_bytes);
    return kept;
}

/* ---- text ----------------------------------------------------------------------------------------------------- */

static void print_bytes(FILE *out, int64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double v = (double)bytes;
    int unit = 0;

    for (; v >= 1024 && unit < 5; unit++)
        v /= 1024;
    fprintf(out, unit ? "%.1f %s" : "%.0f %s", v, units[unit]);
}

static void print_kernel(FILE *out, const pw_stats_record *r)
{
    const char *separator = "; kernel";

    if (r->compiled) {
        fprintf(out, "%s compiled by %lld of %lld ranks, %.1f ms", separator, (long long)r->compiled,
                (long long)r->ranks, (double)r->compile_ns * 1e-6);
        separator = ",";
    }
    if (r->loaded) {
        fprintf(out, "%s from the disk cache in %lld of %lld ranks, %.2f ms", separator, (long long)r->loaded,
                (long long)r->ranks, (double)r->load_ns * 1e-6);
        separator = ",";
    }
    if (r->failed) {
        fprintf(out, "%s not to be had in %lld of %lld ranks", separator, (long long)r->failed, (long long)r->ranks);
        separator = ",";
    }
    if (separator[0] == ';' && r->gpu_compiled + r->gpu_loaded == 0)
        fputs("; no kernel yet", out);
}

static void print_gpu_kernel(FILE *out, const pw_stats_record *r)
{
    if (r->gpu_compiled)
        fprintf(out, "; GPU kernel compiled by %lld of %lld ranks", (long long)r->gpu_compiled, (long long)r->ranks);
    if (r->gpu_loaded)
        fprintf(out, "; GPU kernel from the disk cache in %lld of %lld ranks", (long long)r->gpu_loaded,
                (long long)r->ranks);
}

static void print_transfers(FILE *out, const pw_stats_record *r)
{
    static const char *const names[] = {
#define X(symbol, name, packed, help) #name,
        PW_STRATEGIES(X)
#undef X
    };
    static const char *const what[] = {"sends", "receives"};

    for (int direction = PW_SEND; direction <= PW_RECV; direction++) {
        const char *separator = "; ";

        for (int id = 0; id < PW_STRATEGY_COUNT; id++) {
            if (!r->used[id][direction])
                continue;
            fprintf(out, "%s%lld %s", separator, (long long)r->used[id][direction], names[id]);
            separator = ", ";
        }
        if (separator[0] == ',')
            fprintf(out, " %s", what[direction]);
    }
}

static void print_record(FILE *out, const pw_stats_record *r)
{
    int64_t calls = r->packs + r->unpacks;

    fprintf(out, "packwright:   %s\npackwright:     ", r->text);
    print_bytes(out, r->size);
    fprintf(out, " each; packed %lld, unpacked %lld times, ", (long long)r->packs, (long long)r->unpacks);
    print_bytes(out, r->bytes);
    if (r->nanoseconds > 0)
        fprintf(out, " at %.2f GB/s", (double)r->bytes / (double)r->nanoseconds);
    if (r->streamed > 0)
        fprintf(out, "; %lld messages streamed past the caches", (long long)r->streamed);
    if (r->shared > 0)
        fprintf(out, "; %lld messages unpacked from the sender's memory", (long long)r->shared);
    if (r->from_gpu > 0)
        fprintf(out, ", %lld of them from its GPU's", (long long)r->from_gpu);
    if (calls > 0)
        fprintf(out, "; tier 1 in %.0f %% of calls", 100.0 * (double)r->tier1_calls / (double)calls);
    print_kernel(out, r);
    print_gpu_kernel(out, r);
    print_transfers(out, r);
    fputc('\n', out);
}

static bool was_used(const pw_stats_record *r)
{
    int64_t transfers = 0;

    for (int id = 0; id < PW_STRATEGY_COUNT; id++)
        transfers += r->used[id][PW_SEND] + r->used[id][PW_RECV];
    return r->packs + r->unpacks + transfers + r->gpu_compiled + r->gpu_loaded > 0;
}

static void print_summary(FILE *out, const pw_stats_record *records, int64_t n, int nranks)
{
    int64_t bytes = 0, calls = 0;

    for (int64_t i = 0; i < n; i++) {
        bytes += records[i].bytes;
        calls += records[i].packs + records[i].unpacks;
    }
    fprintf(out, "packwright: %d rank%s, %lld layout%s, %lld packs and unpacks of ", nranks, nranks == 1 ? "" : "s",
            (long long)n, n == 1 ? "" : "s", (long long)calls);
    print_bytes(out, bytes);
    fputc('\n', out);
}

/* Prints the choices for contiguous GPU memory, which has strategies but no layout. */
static void print_contiguous(FILE *out, const pw_stats_choice *choices, int64_t n)
{
    const pw_hash none = {0, 0};

    if (n > 0 && pw_hash_equal(choices[0].hash, none)) {
        fputs("packwright:   contiguous types\n", out);
        pw_stats_choice_print(out, choices, n, none, CHOICES_LISTED);
    }
}

static void print_noted(FILE *out, const pw_note_totals *noted)
{
    if (noted->types == 0 && noted->uses == 0)
        return;
    fprintf(out, "packwright:   %lld type%s not worth learning; %lld short use%s of types before they were learned, ",
            (long long)noted->types, noted->types == 1 ? "" : "s", (long long)noted->uses, noted->uses == 1 ? "" : "s");
    print_bytes(out, noted->bytes);
    fputs(", left to MPI\n", out);
}

char *pw_stats_text(const pw_stats_record *records, int64_t n, const pw_stats_choice *choices, int64_t nchoices,
                    const pw_note_totals *noted, int nranks)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    int64_t listed = 0, unused = 0;

    if (!out)
        return NULL;
    print_summary(out, records, n, nranks);
    for (int64_t i = 0; i < n; i++) {
        if (!was_used(&records[i])) {
            unused++;
        } else if (listed < LISTED) {
            print_record(out, &records[i]);
            pw_stats_choice_print(out, choices, nchoices, records[i].hash, CHOICES_LISTED);
            listed++;
        }
    }
    if (n > listed)
        fprintf(out, "packwright:   and %lld more, %lld of them never used\n", (long long)(n - listed),
                (long long)unused);
    print_contiguous(out, choices, nchoices);
    print_noted(out, noted);
    return fclose(out) == 0 ? text : (free(text), NULL);
}
