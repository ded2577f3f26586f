/*
 * The page of a report. It loads nothing, and follows the light or dark scheme of the browser. A script of its own
 * sorts tables by a click, and lets narrow screens show their rows as lists; without it everything is there, too. What
 * the data lack, as those of a later version may, counts as 0 or as an empty text.
 */
#include "base/markup.h"
#include "tools/report/data.h"
#include "tools/report/numbers.h"
#include "tools/report/page_text.h" /* generated: page.css and page.js, as `style` and `script` */
#include "tools/report/report.h"
#include "tools/report/source.h"

#include <stdlib.h>
#include <string.h>

/* Types that the script shows at once, the rest behind a click; ranks that are listed. */
enum { TOP_TYPES = 20, MOST_RANKS = 64 };

/* ---- parts ------------------------------------------------------------------------------------------------------ */

static void put_text(FILE *out, const char *it)
{
    pw_markup_put(out, it, strlen(it));
}

static void put_count(FILE *out, int64_t n, const char *what)
{
    fprintf(out, "%lld %s%s", (long long)n, what, n == 1 ? "" : "s");
}

static double percent(double part, double all)
{
    return all > 0 ? 100.0 * part / all : 0;
}

/* Writes a cell with a number by which the column is sorted. The caller writes the text and the end. */
static void open_number(FILE *out, double it)
{
    fprintf(out, "<td class=\"num\" data-v=\"%.17g\">", it);
}

static void put_time_cell(FILE *out, double time)
{
    open_number(out, time);
    pw_put_time(out, time);
    fputs("</td>", out);
}

static void put_bytes_cell(FILE *out, int64_t bytes)
{
    open_number(out, (double)bytes);
    pw_put_bytes(out, bytes);
    fputs("</td>", out);
}

static void put_count_cell(FILE *out, int64_t n)
{
    open_number(out, (double)n);
    fprintf(out, "%lld</td>", (long long)n);
}

/* Draws a time against the longest one. */
static void put_bar(FILE *out, double time, double longest)
{
    fprintf(out, "<div class=\"bar\" role=\"img\" aria-label=\"time\"><i style=\"width:%.2f%%\"></i></div>\n",
            percent(time, longest));
}

/* Writes bytes, and the rate if a time is known. */
static void put_rate(FILE *out, pw_data of)
{
    pw_put_bytes(out, pw_data_whole(of, "packed_bytes"));
    if (pw_data_number(of, "packing_seconds") > 0)
        fprintf(out, " at %.3g GB/s", pw_data_number(of, "packed_bytes") / pw_data_ns(of, "packing_seconds"));
}

/* ---- the run ---------------------------------------------------------------------------------------------------- */

static void put_head(FILE *out, pw_data report)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>Packwright: ",
          out);
    put_text(out, pw_data_text(report, "program"));
    fprintf(out, "</title>\n<style>\n%s</style></head>\n<body>\n<h1>", style);
    put_text(out, pw_data_text(report, "program"));
    fputs("</h1>\n<p class=\"soft\">", out);
    put_count(out, pw_data_whole(report, "ranks"), "rank");
    fputs(" &middot; ", out);
    put_text(out, pw_data_text(report, "mpi"));
    fputs(" &middot; ", out);
    put_text(out, pw_data_text(report, "date"));
    fputs(" &middot; what Packwright did</p>\n", out);
}

static void open_tile(FILE *out, const char *title)
{
    fprintf(out, "<div class=\"tile\">%s<b>", title);
}

static void close_tile(FILE *out, double time, double share_of, const char *note)
{
    fputs("</b><span class=\"soft\">", out);
    if (share_of > 0)
        fprintf(out, "%.3g %% of ", percent(time, share_of));
    fprintf(out, "%s</span></div>\n", note);
}

static void put_tile(FILE *out, const char *title, double time, double share_of, const char *note)
{
    open_tile(out, title);
    pw_put_time(out, time);
    close_tile(out, time, share_of, note);
}

/* Only trials in the program know what was saved, and only of the uses that they are about. */
static void put_saved_tile(FILE *out, pw_data sum, double ranks)
{
    int64_t known = pw_data_whole(sum, "saved_uses"), unknown = pw_data_whole(sum, "saved_unknown_uses");
    bool any = unknown + pw_data_whole(sum, "packs_and_unpacks") > 0;
    double saved = pw_data_ns(sum, "saved_seconds") / ranks;
    char note[128], native[64];

    if (known == 0) {
        open_tile(out, "Saved");
        fputs(any ? "not known" : "nothing", out);
        close_tile(out, 0, 0,
                   any ? "no trial; packwright compare measures whole runs"
                       : "all was left to the MPI; packwright compare tells what that took");
        return;
    }
    pw_data_native_uses(sum, native);
    snprintf(note, sizeof note, "the run, in %lld of %lld uses, by trials%s", (long long)known,
             (long long)(known + unknown), native);
    put_tile(out, saved < 0 ? "Lost a rank, about" : "Saved a rank, about", saved < 0 ? -saved : saved,
             pw_data_ns(sum, "elapsed_seconds"), note);
}

static void put_left(FILE *out, pw_data left)
{
    int64_t types = pw_data_whole(left, "types"), uses = pw_data_whole(left, "uses");

    if (types + uses == 0)
        return;
    fputs("<p>Left to the MPI: ", out);
    if (types) {
        put_count(out, types, "type");
        fputs(uses ? " not worth learning, and " : " not worth learning", out);
    }
    if (uses) {
        put_count(out, uses, "short use");
        fputs(" (", out);
        pw_put_bytes(out, pw_data_whole(left, "bytes"));
        fputs(") of types before they were learned", out);
    }
    fputs(".</p>\n", out);
}

/* Says which types the program has left committed, a line each. */
static void put_unfreed(FILE *out, pw_data rows, const pw_places *places)
{
    for (pw_data row = rows; row; row = row->next) {
        int64_t ranks = pw_data_whole(row, "ranks");
        pw_data made = pw_data_first(row, "made_at");

        fputs(row == rows ? "<p>Not freed before MPI_Finalize: " : "<br>", out);
        put_count(out, pw_data_whole(row, "types"), "type");
        fprintf(out, " of %lld rank%s, ", (long long)ranks, ranks == 1 ? "" : "s");
        put_text(out, pw_data_text(row, "built"));
        if (made && *pw_places_line(places, made)) {
            fputs(", made at ", out);
            put_text(out, pw_places_line(places, made));
        }
        fputs(row->next ? "\n" : ".</p>\n", out);
    }
}

static void put_tiles(FILE *out, pw_data report, const pw_places *places)
{
    pw_data sum = pw_data_object(report, "total"), types = pw_json_member(report, "types", PW_JSON_ARRAY);
    double ranks = pw_data_number(report, "ranks") > 0 ? pw_data_number(report, "ranks") : 1;

    fputs("<div class=\"tiles\">\n", out);
    put_tile(out, "The run", pw_data_ns(sum, "elapsed_seconds"), 0, "from MPI_Init to MPI_Finalize");
    put_tile(out, "Packing and unpacking", pw_data_ns(sum, "packing_seconds") / ranks,
             pw_data_ns(sum, "elapsed_seconds"), "the run, a rank");
    put_saved_tile(out, sum, ranks);
    fputs("</div>\n<p>", out);
    put_count(out, types ? types->n : 0, "layout");
    fputs(": ", out);
    if (pw_data_whole(sum, "messages") > 0) {
        put_count(out, pw_data_whole(sum, "messages"), "message");
        fputs(", ", out);
    }
    if (pw_data_whole(sum, "accesses") > 0)
        fprintf(out, "%lld accesses to windows and files, ", (long long)pw_data_whole(sum, "accesses"));
    fprintf(out, "%lld packs and unpacks of ", (long long)pw_data_whole(sum, "packs_and_unpacks"));
    put_rate(out, sum);
    fputs(".</p>\n", out);
    put_left(out, pw_data_object(report, "left_to_mpi"));
    put_unfreed(out, pw_data_first(report, "not_freed"), places);
}

/* ---- choices ---------------------------------------------------------------------------------------------------- */

static void put_why(FILE *out, pw_data choice)
{
    pw_data strategies = pw_data_object(choice, "strategies");

    for (pw_data s = strategies ? strategies->first : NULL; s; s = s->next) {
        put_text(out, s->name);
        fputc(' ', out);
        if (pw_data_has(s, "estimated_seconds"))
            pw_put_time(out, pw_data_ns(s, "estimated_seconds"));
        else
            fputs("not estimated", out);
        if (pw_data_has(s, "tried_seconds")) {
            fputs(" (tried: ", out);
            pw_put_time(out, pw_data_ns(s, "tried_seconds"));
            fputs(")", out);
        }
        fputs("<br>", out);
    }
}

static int64_t uses_of(pw_data strategies)
{
    int64_t uses = 0;

    for (pw_data s = strategies ? strategies->first : NULL; s; s = s->next)
        uses += pw_data_whole(s, "uses");
    return uses;
}

static void put_choice(FILE *out, pw_data choice)
{
    pw_data strategies = pw_data_object(choice, "strategies");
    const char *place = pw_data_text(choice, "place");

    fputs("<tbody><tr>", out);
    open_number(out, pw_data_number(choice, "up_to_bytes"));
    pw_put_bytes(out, pw_data_whole(choice, "more_than_bytes"));
    fputs(" to ", out);
    pw_put_bytes(out, pw_data_whole(choice, "up_to_bytes"));
    fputs("</td><td>", out);
    put_text(out, pw_data_text(choice, "kind"));
    if (strcmp(place, "host memory") != 0) {
        fputs(", ", out);
        put_text(out, place);
    }
    fputs("</td>", out);
    put_count_cell(out, uses_of(strategies));
    fputs("<td>", out);
    put_text(out, pw_data_text(choice, "mostly"));
    fputs("</td><td><span>", out);
    put_why(out, choice);
    fputs("</span></td>", out);
    open_number(out, pw_data_ns(choice, "saved_seconds"));
    pw_data_put_saved(out, choice);
    fputs("</td></tr></tbody>\n", out);
}

/* Writes a table of choices, under a heading, if there are any. */
static void put_choices(FILE *out, pw_data choice, const char *heading)
{
    if (!choice)
        return;
    fputs(heading, out);
    fputs("<div class=\"wide\"><table><thead><tr><th class=\"num\">size</th><th>call</th><th class=\"num\">uses"
          "</th><th>strategy</th><th>estimated</th><th class=\"num\">saved</th></tr></thead>\n",
          out);
    for (; choice; choice = choice->next)
        put_choice(out, choice);
    fputs("</table></div>\n", out);
}

/* ---- types ------------------------------------------------------------------------------------------------------ */

static void put_done(FILE *out, pw_data type)
{
    char *text = NULL;
    size_t size;
    FILE *plain = open_memstream(&text, &size);

    if (!plain)
        return;
    pw_data_put_done(plain, type);
    if (!fclose(plain)) {
        fputs("<p class=\"soft\">", out);
        put_text(out, text);
        fputs("</p>\n", out);
    }
    free(text);
}

static void put_spread(FILE *out, pw_data ranks)
{
    fputs("<p class=\"soft\">", out);
    if (pw_data_whole(ranks, "count") < 2) {
        fprintf(out, "On one rank: %lld", (long long)pw_data_whole(ranks, "slowest"));
    } else {
        fprintf(out, "Packing on %lld ranks took from ", (long long)pw_data_whole(ranks, "count"));
        pw_put_time(out, pw_data_ns(ranks, "least_seconds"));
        fputs(" to ", out);
        pw_put_time(out, pw_data_ns(ranks, "most_seconds"));
        fprintf(out, " (rank %lld)", (long long)pw_data_whole(ranks, "slowest"));
    }
    fputs(".</p>\n", out);
}

/* Writes what a type is, and where it was made. */
static void put_identity(FILE *out, pw_data type, const pw_places *places)
{
    const char *before = "<br><span class=\"soft\">made at <code>";

    if (*pw_data_text(type, "name")) {
        fputs("<b>", out);
        put_text(out, pw_data_text(type, "name"));
        fputs("</b> ", out);
    }
    fputs("<code>", out);
    put_text(out, pw_data_type(type));
    fputs("</code>", out);
    for (pw_data at = pw_data_first(type, "made_at"); at; at = at->next) {
        if (!*pw_places_line(places, at))
            continue;
        fputs(before, out);
        put_text(out, pw_places_line(places, at));
        fputs("</code></span>", out);
        before = "<br><span class=\"soft\">and at <code>";
    }
}

/* Writes what is behind the click on a type. */
static void put_more(FILE *out, pw_data type, bool accesses)
{
    fprintf(out, "<tr><td class=\"main\" colspan=\"%d\"><details><summary>what was done, and why</summary>\n",
            accesses ? 7 : 6);
    if (*pw_data_text(type, "built")) {
        fputs("<p class=\"soft\">Its layout: <code>", out);
        put_text(out, pw_data_text(type, "ddt"));
        fputs("</code></p>\n", out);
    }
    put_done(out, type);
    put_spread(out, pw_data_object(type, "ranks"));
    put_choices(out, pw_data_first(type, "choices"), "");
    fputs("</details></td></tr>", out);
}

/* A type is a body of two rows, which stay together when bodies are sorted. */
static void put_type(FILE *out, pw_data type, double longest, bool accesses, const pw_places *places)
{
    fputs("<tbody><tr><td class=\"main\">", out);
    put_identity(out, type, places);
    put_bar(out, pw_data_ns(type, "packing_seconds"), longest);
    fputs("</td>", out);
    put_time_cell(out, pw_data_ns(type, "packing_seconds"));
    put_bytes_cell(out, pw_data_whole(type, "packed_bytes"));
    put_count_cell(out, pw_data_whole(type, "packs") + pw_data_whole(type, "unpacks"));
    put_count_cell(out, pw_data_whole(type, "messages"));
    if (accesses)
        put_count_cell(out, pw_data_whole(type, "accesses"));
    fputs("<td>", out);
    put_text(out, *pw_data_text(type, "mostly") ? pw_data_text(type, "mostly") : "packing only");
    fputs("</td></tr>\n", out);
    put_more(out, type, accesses);
    fputs("</tbody>\n", out);
}

static void put_types(FILE *out, pw_data report, bool accesses, const pw_places *places)
{
    pw_data all = pw_data_first(report, "types");
    int64_t shown = 0, unused = 0;
    bool choices = pw_data_first(report, "choices") || pw_data_first(report, "choices_to_oneself");

    fprintf(out,
            "<h2>Types by the time of packing</h2>\n<div class=\"wide\"><table data-top=\"%d\"><thead><tr><th>type</th>"
            "<th class=\"num\">packing</th><th class=\"num\">packed</th><th class=\"num\">packs</th>"
            "<th class=\"num\">messages</th>%s<th>mostly</th></tr></thead>\n",
            TOP_TYPES, accesses ? "<th class=\"num\">accesses</th>" : "");
    for (pw_data type = all; type; type = type->next) {
        choices |= pw_data_first(type, "choices") != NULL;
        if (pw_data_was_used(type))
            put_type(out, type, pw_data_ns(all, "packing_seconds"), accesses, places);
        shown += pw_data_was_used(type);
        unused += !pw_data_was_used(type);
    }
    fprintf(out, "</table></div><button class=\"all\" hidden>show all %lld types</button>\n", (long long)shown);
    if (shown == 0)
        fputs("<p>No message had a type that Packwright handles.</p>\n", out);
    if (unused > 0) {
        fputs("<p class=\"soft\">And ", out);
        put_count(out, unused, "type");
        fputs(" that no call used.</p>\n", out);
    }
    put_choices(out, pw_data_first(report, "choices"), "<h2>Contiguous types in GPU memory</h2>\n");
    put_choices(out, pw_data_first(report, "choices_to_oneself"), "<h2>From a rank to itself</h2>\n");
    if (choices) {
        fputs("<p class=\"soft\">Of choices, estimates are ", out);
        put_text(out, pw_data_text(report, "estimates"));
        fputs(".</p>\n", out);
    }
}

/* ---- ranks ------------------------------------------------------------------------------------------------------ */

static void put_rank(FILE *out, pw_data rank, bool accesses, double longest)
{
    fputs("<tbody><tr>", out);
    put_count_cell(out, pw_data_whole(rank, "rank"));
    fputs("<td>", out);
    put_text(out, pw_data_text(rank, "host"));
    fputs("</td>", out);
    put_time_cell(out, pw_data_ns(rank, "packing_seconds"));
    put_bytes_cell(out, pw_data_whole(rank, "packed_bytes"));
    put_count_cell(out, pw_data_whole(rank, "messages"));
    if (accesses)
        put_count_cell(out, pw_data_whole(rank, "accesses"));
    fprintf(out, "<td class=\"main\" data-v=\"%.17g\" style=\"width:30%%\">", pw_data_ns(rank, "packing_seconds"));
    put_bar(out, pw_data_ns(rank, "packing_seconds"), longest);
    fputs("</td></tr></tbody>\n", out);
}

static void put_ranks(FILE *out, pw_data report, bool accesses)
{
    pw_data all = pw_data_first(report, "by_rank");
    double longest = 1;
    int shown = 0;

    for (pw_data rank = all; rank; rank = rank->next)
        longest = pw_data_ns(rank, "packing_seconds") > longest ? pw_data_ns(rank, "packing_seconds") : longest;
    fprintf(out,
            "<h2>Ranks</h2>\n<div class=\"wide\"><table><thead><tr><th class=\"num\">rank</th><th>host</th>"
            "<th class=\"num\">packing</th><th class=\"num\">packed</th><th class=\"num\">messages</th>%s<th></th>"
            "</tr></thead>\n",
            accesses ? "<th class=\"num\">accesses</th>" : "");
    for (pw_data rank = all; rank && shown < MOST_RANKS; rank = rank->next, shown++)
        put_rank(out, rank, accesses, longest);
    fputs("</table></div>\n", out);
    if (pw_data_whole(report, "ranks") > MOST_RANKS)
        fprintf(out, "<p class=\"soft\">The first %d of %lld ranks; a report as data (.json) has all.</p>\n",
                MOST_RANKS, (long long)pw_data_whole(report, "ranks"));
}

static void put_notes(FILE *out)
{
    fprintf(
        out,
        "<h2>How to read this</h2>\n<p class=\"soft\">Times of packing were measured in this run, and mean packing "
        "and unpacking. Estimates are the model's, of a whole message. What was saved is said only of uses that a "
        "trial in the program has timed both ways, by the shortest of a few rounds; whether a whole run is faster only "
        "<code>packwright "
        "compare</code> can tell. Messages to oneself count as others; accesses are those to windows and files. A "
        "type stands for all types with the same layout, and is shown as the program built the first of them. It "
        "was made where <code>MPI_Type_commit</code> was called. <code>packwright run --trace</code> writes layouts "
        "in full.</p>\n<script>\n%s</script>\n</body></html>\n",
        script);
}

void pw_report_page(FILE *out, pw_data report, const pw_places *places)
{
    bool accesses = pw_data_whole(pw_data_object(report, "total"), "accesses") > 0;

    put_head(out, report);
    put_tiles(out, report, places);
    put_types(out, report, accesses, places);
    put_ranks(out, report, accesses);
    put_notes(out);
}
