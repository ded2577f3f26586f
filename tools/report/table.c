/* A report as a table for people: the types that took longest to pack, at most a screen. */
#include "tools/report/data.h"
#include "tools/report/label.h"
#include "tools/report/numbers.h"
#include "tools/report/report.h"

#include <stdlib.h>
#include <string.h>

/* Rows on a screen of 24 lines, columns of one of 120 that are left for a type and where it was made, and lines of
 * types that were not freed. */
enum { SCREEN_ROWS = 15, TYPE_COLUMNS = 61, ACCESS_COLUMNS = 10, UNFREED_ROWS = 8 };

typedef char cell[16];

/* A stream into a cell, which is empty at first. NULL: there is no memory. */
static FILE *open_cell(cell out)
{
    *out = '\0';
    return fmemopen(out, sizeof(cell), "w");
}

static char *time_cell(cell out, double ns)
{
    FILE *f = open_cell(out);

    if (f) {
        pw_put_time(f, ns);
        fclose(f);
    }
    return out;
}

static char *bytes_cell(cell out, int64_t bytes)
{
    FILE *f = open_cell(out);

    if (f) {
        pw_put_bytes(f, bytes);
        fclose(f);
    }
    return out;
}

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

static void print_summary(FILE *out, pw_data report)
{
    pw_data sum = pw_data_object(report, "total"), types = pw_json_member(report, "types", PW_JSON_ARRAY);
    int64_t ranks = pw_data_whole(report, "ranks"), layouts = types ? types->n : 0;

    fprintf(out, "packwright: %lld rank%s, %lld layout%s, %lld packs and unpacks of ", (long long)ranks, plural(ranks),
            (long long)layouts, plural(layouts), (long long)pw_data_whole(sum, "packs_and_unpacks"));
    pw_put_bytes(out, pw_data_whole(sum, "packed_bytes"));
    fputs(" in ", out);
    pw_put_time(out, pw_data_ns(sum, "packing_seconds"));
    if (pw_data_whole(sum, "messages") > 0)
        fprintf(out, "; %lld messages", (long long)pw_data_whole(sum, "messages"));
    if (pw_data_whole(sum, "accesses") > 0)
        fprintf(out, "; %lld accesses to windows and files", (long long)pw_data_whole(sum, "accesses"));
    fputs("\npackwright: saved: ", out);
    pw_data_put_saved(out, sum);
    fputc('\n', out);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* The rows that are printed, with the text of each. */
typedef struct table_rows {
    pw_data *at;
    char **texts;
    int64_t n, more, unused;
    bool accesses; /* has a column for accesses */
    const pw_places *places;
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

/* Returns the name and the text of a type, malloc'ed. Of one that nobody knows as it was built, bounds may have to go.
 */
static char *text_of(pw_data type)
{
    const char *name = pw_data_text(type, "name");
    char *text;

    if (asprintf(&text, "%s%s%s", name, *name ? " = " : "", pw_data_type(type)) < 0)
        return NULL;
    if (!*pw_data_text(type, "built") && strlen(text) > TYPE_COLUMNS)
        cut_bounds(text + strlen(name) + (*name ? 3 : 0));
    return text;
}

static void choose_rows(table_rows *rows, pw_data types, bool all)
{
    for (pw_data type = types; type; type = type->next) {
        if (!pw_data_was_used(type))
            rows->unused++;
        else if ((all || rows->n < SCREEN_ROWS) && (rows->texts[rows->n] = text_of(type)))
            rows->at[rows->n++] = type;
        else
            rows->more++;
    }
}

static void print_type(FILE *out, const table_rows *rows, int64_t i)
{
    int columns = TYPE_COLUMNS - (rows->accesses ? ACCESS_COLUMNS : 0);
    const char *place = pw_places_first(rows->places, rows->at[i]);
    char text[TYPE_COLUMNS + 1];

    if ((int)strlen(place) > columns / 2)
        place = "";
    pw_label_cut(text, columns - (*place ? (int)strlen(place) + 2 : 0), rows->texts[i],
                 (const char *const *)rows->texts, rows->n);
    fprintf(out, "%s%s%s\n", text, *place ? ", " : "", place);
}

static void print_row(FILE *out, const table_rows *rows, int64_t i)
{
    pw_data type = rows->at[i];
    const char *mostly = pw_data_text(type, "mostly");
    cell taken, bytes;

    fprintf(out, "packwright: %8s %9s %7lld %8lld ", time_cell(taken, pw_data_ns(type, "packing_seconds")),
            bytes_cell(bytes, pw_data_whole(type, "packed_bytes")),
            (long long)(pw_data_whole(type, "packs") + pw_data_whole(type, "unpacks")),
            (long long)pw_data_whole(type, "messages"));
    if (rows->accesses)
        fprintf(out, "%9lld ", (long long)pw_data_whole(type, "accesses"));
    fprintf(out, " %-10s ", *mostly ? mostly : "-");
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

static void print_left(FILE *out, pw_data left)
{
    int64_t types = pw_data_whole(left, "types"), uses = pw_data_whole(left, "uses");

    if (types == 0 && uses == 0)
        return;
    fputs("packwright:   ", out);
    if (types > 0)
        fprintf(out, "%lld type%s not worth learning%s", (long long)types, plural(types), uses > 0 ? "; " : "");
    if (uses > 0) {
        fprintf(out, "%lld short use%s of types before they were learned, ", (long long)uses, plural(uses));
        pw_put_bytes(out, pw_data_whole(left, "bytes"));
    }
    fputs(", left to MPI\n", out);
}

/* ---- types that were not freed ----------------------------------------------------------------------------------- */

static void print_unfreed_row(FILE *out, pw_data row, const pw_places *places)
{
    int64_t ranks = pw_data_whole(row, "ranks");
    const char *place = pw_places_first(places, row);

    fprintf(out, "packwright:   %8lld on %lld rank%s  %.60s%s%s\n", (long long)pw_data_whole(row, "types"),
            (long long)ranks, plural(ranks), pw_data_text(row, "built"), *place ? ", " : "", place);
}

static void print_unfreed(FILE *out, pw_data rows, const pw_places *places)
{
    int64_t types = 0, n = 0;

    for (pw_data row = rows; row; row = row->next)
        types += pw_data_whole(row, "types");
    if (types == 0)
        return;
    fprintf(out, "packwright:   %lld type%s not freed before MPI_Finalize:\n", (long long)types,
            types == 1 ? " was" : "s were");
    for (pw_data row = rows; row; row = row->next)
        if (n++ < UNFREED_ROWS)
            print_unfreed_row(out, row, places);
    if (n > UNFREED_ROWS)
        fprintf(out, "packwright:   and %lld more kinds\n", (long long)(n - UNFREED_ROWS));
}

void pw_report_table(FILE *out, pw_data report, const pw_places *places, bool all)
{
    pw_data types = pw_json_member(report, "types", PW_JSON_ARRAY);
    size_t n = types ? (size_t)types->n + 1 : 1;
    table_rows rows = {.at = calloc(n, sizeof *rows.at),
                       .texts = calloc(n, sizeof *rows.texts),
                       .accesses = pw_data_whole(pw_data_object(report, "total"), "accesses") > 0,
                       .places = places};

    print_summary(out, report);
    if (rows.at && rows.texts) {
        choose_rows(&rows, types ? types->first : NULL, all);
        print_rows(out, &rows);
        print_rest(out, rows.more, rows.unused);
    }
    print_left(out, pw_data_object(report, "left_to_mpi"));
    print_unfreed(out, pw_data_first(report, "not_freed"), places);
    for (int64_t i = 0; i < rows.n; i++)
        free(rows.texts[i]);
    free(rows.texts);
    free(rows.at);
}
