/* PACKWRIGHT_STATS: the types that took longest to pack as a table, at most a screen. */
#include "runtime/mpi/stats/label.h"
#include "runtime/mpi/stats/numbers.h"
#include "runtime/mpi/stats/report.h"
#include "runtime/mpi/stats/unfreed.h"

#include <stdlib.h>
#include <string.h>

/* Rows on a screen of 24 lines, and columns of one of 120 that are left for a type and where it was made. */
enum { SCREEN_ROWS = 15, TYPE_COLUMNS = 61, ACCESS_COLUMNS = 10 };

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
    if (sum->messages > 0)
        fprintf(out, "; %lld messages", (long long)sum->messages);
    if (sum->accesses > 0)
        fprintf(out, "; %lld accesses to windows and files", (long long)sum->accesses);
    fputs("\npackwright: saved: ", out);
    pw_report_put_saved(out, report);
    fputc('\n', out);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* The rows that are printed, with the text of each. */
typedef struct table_rows {
    const pw_stats_record **at;
    char (*text)[PW_STATS_NAME + PW_STATS_DDT + 4];
    const char **texts;
    int64_t n, more, unused;
    bool accesses; /* has a column for accesses */
} table_rows;

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

/* Writes the name and the text of a type. Of one that nobody knows as it was built, bounds may have to go. */
static void write_text(char out[PW_STATS_NAME + PW_STATS_DDT + 4], const pw_stats_record *r)
{
    size_t size = PW_STATS_NAME + PW_STATS_DDT + 4;
    int name = snprintf(out, size, "%s%s", r->name, *r->name ? " = " : "");

    snprintf(out + name, size - (size_t)name, "%s", pw_stats_text(r));
    if (!*r->built && strlen(out) > TYPE_COLUMNS)
        cut_bounds(out + name);
}

static void choose_rows(table_rows *rows, const pw_report *report, bool all)
{
    for (int64_t i = 0; i < report->n; i++) {
        const pw_stats_record *r = &report->records[i];

        if (!pw_stats_was_used(r)) {
            rows->unused++;
        } else if (all || rows->n < SCREEN_ROWS) {
            write_text(rows->text[rows->n], r);
            rows->texts[rows->n] = rows->text[rows->n];
            rows->at[rows->n++] = r;
        } else {
            rows->more++;
        }
    }
}

/* Where a type was made, without folders. */
static const char *place_of(const pw_stats_record *r)
{
    const char *slash = strrchr(r->made[0].line, '/');

    return slash ? slash + 1 : r->made[0].line;
}

static void print_type(FILE *out, const table_rows *rows, int64_t i)
{
    int columns = TYPE_COLUMNS - (rows->accesses ? ACCESS_COLUMNS : 0);
    const char *place = place_of(rows->at[i]);
    char text[TYPE_COLUMNS + 1];

    if ((int)strlen(place) > columns / 2)
        place = "";
    pw_label_cut(text, columns - (*place ? (int)strlen(place) + 2 : 0), rows->texts[i], rows->texts, rows->n);
    fprintf(out, "%s%s%s\n", text, *place ? ", " : "", place);
}

static void print_row(FILE *out, const table_rows *rows, int64_t i)
{
    const pw_stats_record *r = rows->at[i];
    int most = pw_stats_most_used(r);
    cell taken, bytes;

    fprintf(out, "packwright: %8s %9s %7lld %8lld ", time_cell(taken, r->nanoseconds), bytes_cell(bytes, r->bytes),
            (long long)(r->packs + r->unpacks), (long long)pw_stats_transfers(r, PW_TRANSFER_MESSAGE));
    if (rows->accesses)
        fprintf(out, "%9lld ", (long long)pw_stats_accesses(r));
    fprintf(out, " %-10s ", most < PW_STRATEGY_COUNT ? pw_stats_strategy(most) : "-");
    print_type(out, rows, i);
}

static void print_rows(FILE *out, const table_rows *rows)
{
    if (rows->n > 0)
        fprintf(out, "packwright: %8s %9s %7s %8s %s %-10s %s\n", "packing", "packed", "packs", "messages",
                rows->accesses ? " accesses " : "", "mostly", "type, where it was made");
    for (int64_t i = 0; i < rows->n; i++)
        print_row(out, rows, i);
}

static void print_rest(FILE *out, int64_t more, int64_t unused)
{
    if (more + unused == 0)
        return;
    fprintf(out, "packwright:   and %lld more, %lld of them never used", (long long)(more + unused), (long long)unused);
    fputs(more > 0 ? "; PACKWRIGHT_STATS=all or packwright run --report=run.html show all\n" : "\n", out);
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
    size_t n = (size_t)report->n + 1;
    table_rows rows = {.at = calloc(n, sizeof *rows.at),
                       .text = calloc(n, sizeof *rows.text),
                       .texts = calloc(n, sizeof *rows.texts),
                       .accesses = report->sum.accesses > 0};

    print_summary(out, report);
    if (rows.at && rows.text && rows.texts) {
        choose_rows(&rows, report, all);
        print_rows(out, &rows);
        print_rest(out, rows.more, rows.unused);
    }
    print_noted(out, &report->noted);
    pw_unfreed_print(out, report->unfreed, report->nunfreed);
    free(rows.at);
    free(rows.text);
    free(rows.texts);
}
