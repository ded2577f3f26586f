/* PACKWRIGHT_STATS: the types that took longest as a table, at most a screen. */
#include "runtime/mpi/stats/numbers.h"
#include "runtime/mpi/stats/report.h"

#include <stdlib.h>
#include <string.h>

/* Rows on a screen of 24 lines, and columns left for a type on one of 120. */
enum { SCREEN_ROWS = 15, TYPE_COLUMNS = 45 };

typedef char cell[16];

/* Prints into a cell by one of the functions of numbers.h. */
static char *time_cell(cell out, int64_t ns)
{
    FILE *f = fmemopen(out, sizeof(cell), "w");

    *out = '\0';
    if (f) {
        pw_stats_put_time(f, (double)ns);
        fclose(f);
    }
    return out;
}

static char *bytes_cell(cell out, int64_t bytes)
{
    FILE *f = fmemopen(out, sizeof(cell), "w");

    *out = '\0';
    if (f) {
        pw_stats_put_bytes(f, bytes);
        fclose(f);
    }
    return out;
}

static void print_summary(FILE *out, const pw_report *report)
{
    const pw_stats_rank *sum = &report->sum;

    fprintf(out, "packwright: %lld rank%s, %lld layout%s, %lld packs and unpacks of ", (long long)report->nranks,
            report->nranks == 1 ? "" : "s", (long long)report->n, report->n == 1 ? "" : "s", (long long)sum->calls);
    pw_stats_put_bytes(out, sum->bytes);
    fputs(" in ", out);
    pw_stats_put_time(out, (double)sum->nanoseconds);
    if (sum->messages > 0) {
        fprintf(out, "; %lld messages took about ", (long long)sum->messages);
        pw_stats_put_time(out, (double)sum->times.taken);
        fputs(", natively ", out);
        pw_stats_put_time(out, (double)sum->times.native);
    }
    fputc('\n', out);
}

/* Cuts a lower bound and an extent from around the text of a type: how it lies in memory says more. */
static void cut_bounds(char *ddt)
{
    const char *inner = !strncmp(ddt, "resized(", 8) ? strchr(ddt, '[') : NULL;
    size_t n = inner ? strlen(inner + 1) : 0;

    if (n > 0 && inner[n] == ']') {
        memmove(ddt, inner + 1, n - 1);
        ddt[n - 1] = '\0';
    }
}

/* Prints the name and the text of a type on at most so many columns. */
static void print_type(FILE *out, const pw_stats_record *r, int columns)
{
    char text[PW_STATS_NAME + PW_STATS_DDT + 4];
    int name = snprintf(text, sizeof text, "%s%s", r->name, *r->name ? " = " : "");

    if (name + snprintf(text + name, sizeof text - (size_t)name, "%s", r->ddt) > columns)
        cut_bounds(text + name);
    if (strlen(text) > (size_t)columns)
        memcpy(text + columns - 3, "...", 4);
    fputs(text, out);
}

/* What was saved is not known of types that are only packed. */
static char *saved_cell(cell out, const pw_stats_record *r)
{
    if (pw_stats_messages(r) > 0)
        return time_cell(out, r->times.saved);
    return memcpy(out, "-", 2);
}

static void print_row(FILE *out, const pw_stats_record *r)
{
    int most = pw_stats_most_used(r);
    cell taken, saved, bytes;

    fprintf(out, "packwright: %9s %9s %10s %9lld %9lld  %-10s ", time_cell(taken, r->times.taken), saved_cell(saved, r),
            bytes_cell(bytes, r->bytes), (long long)(r->packs + r->unpacks), (long long)pw_stats_messages(r),
            most < PW_STRATEGY_COUNT ? pw_stats_strategy(most) : "-");
    print_type(out, r, TYPE_COLUMNS);
    fputc('\n', out);
}

static void print_rest(FILE *out, int64_t more, int64_t unused)
{
    if (more + unused == 0)
        return;
    fprintf(out, "packwright:   and %lld more, %lld of them never used", (long long)(more + unused), (long long)unused);
    fputs(more > 0 ? "; PACKWRIGHT_STATS=all or PACKWRIGHT_REPORT=run.html show all\n" : "\n", out);
}

static void print_noted(FILE *out, const pw_note_totals *noted)
{
    if (noted->types == 0 && noted->uses == 0)
        return;
    fputs("packwright:   ", out);
    if (noted->types > 0)
        fprintf(out, "%lld type%s not worth learning%s", (long long)noted->types, noted->types == 1 ? "" : "s",
                noted->uses > 0 ? "; " : "");
    if (noted->uses > 0) {
        fprintf(out, "%lld short use%s of types before they were learned, ", (long long)noted->uses,
                noted->uses == 1 ? "" : "s");
        pw_stats_put_bytes(out, noted->bytes);
    }
    fputs(", left to MPI\n", out);
}

void pw_report_table(FILE *out, const pw_report *report, bool all)
{
    int64_t shown = 0, more = 0, unused = 0;

    print_summary(out, report);
    for (int64_t i = 0; i < report->n; i++) {
        if (!pw_stats_was_used(&report->records[i])) {
            unused++;
        } else if (all || shown < SCREEN_ROWS) {
            if (shown++ == 0)
                fprintf(out, "packwright: %9s %9s %10s %9s %9s  %-10s %s\n", "time", "saved", "packed", "packs",
                        "messages", "mostly", "type");
            print_row(out, &report->records[i]);
        } else {
            more++;
        }
    }
    print_rest(out, more, unused);
    print_noted(out, &report->noted);
}
