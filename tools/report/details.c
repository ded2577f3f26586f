/* PACKWRIGHT_STATS=all: every type with what was done with it, and why. */
#include "runtime/mpi/stats/numbers.h"
#include "runtime/mpi/stats/report.h"

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

/* Prints how many transfers took which strategy: "; 200 packed, 6 native sends". */
static void print_used(FILE *out, const pw_stats_record *r, pw_transfer_kind of, int direction)
{
    const char *separator = "; ";

    for (int id = 0; id < PW_STRATEGY_COUNT; id++) {
        if (!r->used[of][id][direction])
            continue;
        fprintf(out, "%s%lld %s", separator, (long long)r->used[of][id][direction], pw_stats_strategy(id));
        separator = ", ";
    }
    if (separator[0] == ',')
        fprintf(out, " %s", pw_stats_transfer_word(of, direction));
}

static void print_transfers(FILE *out, const pw_stats_record *r)
{
    for (int of = 0; of < PW_TRANSFERS; of++)
        for (int direction = PW_SEND; direction <= PW_RECV; direction++)
            print_used(out, r, (pw_transfer_kind)of, direction);
}

/* Prints the layout that a type as it was built has, and where it was made. */
static void print_origin(FILE *out, const pw_stats_record *r)
{
    if (*r->built)
        fprintf(out, "packwright:     layout %s\n", r->ddt);
    if (!*r->made[0].line)
        return;
    fputs("packwright:     made at", out);
    for (int i = 0; i < PW_STATS_PLACES && *r->made[i].line; i++)
        fprintf(out, "%s %s", i ? "," : "", r->made[i].line);
    fputc('\n', out);
}

static void print_record(FILE *out, const pw_stats_record *r)
{
    int64_t calls = r->packs + r->unpacks;

    fprintf(out, "packwright:   %s%s%s\n", r->name, *r->name ? " = " : "", pw_stats_text(r));
    print_origin(out, r);
    fputs("packwright:     ", out);
    pw_stats_put_bytes(out, r->size);
    fprintf(out, " each; packed %lld, unpacked %lld times, ", (long long)r->packs, (long long)r->unpacks);
    pw_stats_put_bytes(out, r->bytes);
    if (r->nanoseconds > 0) {
        fputs(" in ", out);
        pw_stats_put_time(out, (double)r->nanoseconds);
        fprintf(out, " (%.2f GB/s)", (double)r->bytes / (double)r->nanoseconds);
    }
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

static void print_choices(FILE *out, const pw_report *report, pw_hash layout)
{
    for (int64_t i = 0; i < report->nchoices; i++)
        if (pw_hash_equal(report->choices[i].hash, layout))
            pw_stats_choice_print(out, &report->choices[i]);
}

/* Prints the choices for contiguous GPU memory, which has strategies but no layout. */
static void print_contiguous(FILE *out, const pw_report *report)
{
    const pw_hash none = {0, 0};

    if (report->nchoices > 0 && pw_hash_equal(report->choices[0].hash, none)) {
        fputs("packwright:   contiguous types\n", out);
        print_choices(out, report, none);
    }
}

/* Prints the choices for what ranks send to themselves, which have two layouts. */
static void print_to_oneself(FILE *out, const pw_report *report)
{
    int64_t shown = 0;

    for (int64_t i = 0; i < report->nchoices; i++) {
        if (!pw_stats_choice_is_to_oneself(&report->choices[i]))
            continue;
        if (shown++ == 0)
            fputs("packwright:   from a rank to itself\n", out);
        pw_stats_choice_print(out, &report->choices[i]);
    }
}

void pw_report_details(FILE *out, const pw_report *report)
{
    int64_t unused = 0;

    for (int64_t i = 0; i < report->n; i++) {
        if (!pw_stats_was_used(&report->records[i])) {
            unused++;
            continue;
        }
        print_record(out, &report->records[i]);
        print_choices(out, report, report->records[i].hash);
    }
    if (unused > 0)
        fprintf(out, "packwright:   and %lld more, never used\n", (long long)unused);
    print_contiguous(out, report);
    print_to_oneself(out, report);
    if (report->nchoices > 0) {
        fputs("packwright:   ", out);
        pw_report_put_source(out, report);
        fputc('\n', out);
    }
}
