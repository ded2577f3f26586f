/*
 * The report as a page of HTML (PACKWRIGHT_REPORT=run.html). The page is static: it loads nothing, runs no script, and
 * follows the light or dark scheme of the browser.
 */
#include "base/markup.h"
#include "runtime/mpi/stats/numbers.h"
#include "runtime/mpi/stats/report.h"

#include <string.h>

/* Types that are shown at once, the rest behind a click; ranks that are listed. */
enum { TOP_TYPES = 20, MOST_RANKS = 64 };

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1c2024;--soft:#5b6570;--line:#d8dde2;--paper:#fff;--tile:#f4f6f8;"
    "--taken:#2f6fb3;--saved:#2e8b57;--lost:#b5472f}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6e9ec;--soft:#9aa5b0;--line:#39424b;--paper:#15191d;"
    "--tile:#1e242a;--taken:#6ba6e6;--saved:#5fbf8a;--lost:#e58a72}}\n"
    "*{box-sizing:border-box}body{margin:0 auto;max-width:72rem;padding:1.5rem 1rem 4rem;color:var(--ink);"
    "background:var(--paper);font:16px/1.45 system-ui,sans-serif}\n"
    "h1{font-size:1.6rem;margin:0}h2{font-size:1.15rem;margin:2.2rem 0 .6rem}p{margin:.4rem 0}"
    ".soft{color:var(--soft);font-size:.9rem}\n"
    ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(12rem,1fr));gap:.8rem;margin:1.2rem 0}"
    ".tile{background:var(--tile);border:1px solid var(--line);border-radius:.5rem;padding:.7rem .9rem}"
    ".tile b{display:block;font-size:1.5rem;font-variant-numeric:tabular-nums}\n"
    ".type{border-top:1px solid var(--line);padding:.7rem 0}.head{display:flex;flex-wrap:wrap;gap:.2rem 1rem;"
    "align-items:baseline}.head>:first-child{flex:1 1 18rem;min-width:0}"
    ".num{font-variant-numeric:tabular-nums;white-space:nowrap}\n"
    "code{font:.85rem/1.4 ui-monospace,monospace;overflow-wrap:anywhere}.good{color:var(--saved)}"
    ".bad{color:var(--lost)}\n"
    ".bar{display:flex;height:.55rem;margin:.35rem 0;background:var(--tile);border-radius:.2rem;overflow:hidden}"
    ".bar i{background:var(--taken)}.bar i+i{background:var(--saved);opacity:.55}.key{display:inline-block;"
    "width:.8rem;height:.55rem;border-radius:.15rem;background:var(--taken)}.key.s{background:var(--saved);"
    "opacity:.55}\n"
    "details{margin-top:.3rem}summary{cursor:pointer;color:var(--soft);font-size:.9rem}.wide{overflow-x:auto}"
    "table{border-collapse:collapse;font-size:.88rem;margin:.5rem 0;min-width:100%}"
    "th,td{text-align:left;padding:.25rem .8rem .25rem 0;border-bottom:1px solid var(--line);vertical-align:top}"
    "th{color:var(--soft);font-weight:600;white-space:nowrap}td.num,th.num{text-align:right}\n";

/* ---- parts ------------------------------------------------------------------------------------------------------ */

static void put_text(FILE *out, const char *text)
{
    pw_markup_put(out, text, strlen(text));
}

static void put_count(FILE *out, int64_t n, const char *what)
{
    fprintf(out, "%lld %s%s", (long long)n, what, n == 1 ? "" : "s");
}

/* Prints a time that was saved, or lost, in its colour. */
static void put_saved(FILE *out, int64_t ns)
{
    fprintf(out, "<span class=\"num %s\">%s ", ns < 0 ? "bad" : "good", ns < 0 ? "lost" : "saved");
    pw_stats_put_time(out, (double)(ns < 0 ? -ns : ns));
    fputs("</span>", out);
}

static double percent(int64_t part, int64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

/* Draws what was taken, and behind it what was saved, against `longest`. */
static void put_bar(FILE *out, pw_stats_times times, int64_t longest)
{
    fprintf(out, "<div class=\"bar\" role=\"img\" aria-label=\"time\"><i style=\"width:%.2f%%\"></i>",
            percent(times.taken, longest));
    if (times.saved > 0)
        fprintf(out, "<i style=\"width:%.2f%%\"></i>", percent(times.saved, longest));
    fputs("</div>\n", out);
}

/* ---- the run ---------------------------------------------------------------------------------------------------- */

static void put_head(FILE *out, const pw_report *report)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>Packwright: ",
          out);
    put_text(out, report->program);
    fprintf(out, "</title>\n<style>\n%s</style></head>\n<body>\n<h1>", style);
    put_text(out, report->program);
    fputs("</h1>\n<p class=\"soft\">", out);
    put_count(out, report->nranks, "rank");
    fputs(" &middot; ", out);
    put_text(out, report->mpi);
    fprintf(out, " &middot; %s &middot; what Packwright did</p>\n", report->date);
}

static void put_tile(FILE *out, const char *title, double ns, int64_t share_of, const char *note)
{
    fprintf(out, "<div class=\"tile\">%s<b>", title);
    pw_stats_put_time(out, ns);
    fputs("</b><span class=\"soft\">", out);
    if (share_of > 0)
        fprintf(out, "%.3g %% of ", 100 * ns / (double)share_of);
    fprintf(out, "%s</span></div>\n", note);
}

static void put_tiles(FILE *out, const pw_report *report)
{
    const pw_stats_rank *sum = &report->sum;
    double ranks = report->nranks > 0 ? (double)report->nranks : 1;
    int64_t saved = sum->times.saved;

    fputs("<div class=\"tiles\">\n", out);
    if (sum->messages > 0)
        put_tile(out, saved < 0 ? "Lost a rank" : "Saved a rank", (double)(saved < 0 ? -saved : saved) / ranks,
                 sum->elapsed, "the run, by estimate");
    put_tile(out, "Messages and packing", (double)sum->times.taken / ranks, sum->elapsed, "the run, a rank");
    if (sum->messages > 0)
        put_tile(out, "The same natively", (double)sum->times.native / ranks, 0, "a rank, by estimate");
    put_tile(out, "The run", (double)sum->elapsed, 0, "from MPI_Init to MPI_Finalize");
    fputs("</div>\n<p>", out);
    put_count(out, report->n, "layout");
    fputs(": ", out);
    if (sum->messages > 0) {
        put_count(out, sum->messages, "message");
        fputs(", ", out);
    }
    fprintf(out, "%lld packs and unpacks of ", (long long)sum->calls);
    pw_stats_put_bytes(out, sum->bytes);
    if (sum->nanoseconds > 0)
        fprintf(out, " at %.3g GB/s", (double)sum->bytes / (double)sum->nanoseconds);
    fputs(sum->calls > 0 ? ". What packing by itself saves is not estimated.</p>\n" : ".</p>\n", out);
    if (report->noted.types || report->noted.uses) {
        fputs("<p>Left to the MPI: ", out);
        if (report->noted.types) {
            put_count(out, report->noted.types, "type");
            fputs(report->noted.uses ? " not worth learning, and " : " not worth learning", out);
        }
        if (report->noted.uses) {
            put_count(out, report->noted.uses, "short use");
            fputs(" (", out);
            pw_stats_put_bytes(out, report->noted.bytes);
            fputs(") of types before they were learned", out);
        }
        fputs(".</p>\n", out);
    }
}

/* ---- types ------------------------------------------------------------------------------------------------------ */

static void put_why(FILE *out, const pw_stats_choice *c)
{
    for (int id = 0; id < PW_STRATEGY_COUNT; id++) {
        const pw_stats_cell *cell = &c->cells[id];

        if (!cell->ranks && !cell->uses)
            continue;
        fprintf(out, "%s ", pw_stats_strategy(id));
        if (cell->ranks)
            pw_stats_put_time(out, cell->total);
        else
            fputs("forced", out);
        if (cell->tries) {
            fputs(" (tried: ", out);
            pw_stats_put_time(out, cell->tried);
            fputs(")", out);
        }
        fputs("<br>", out);
    }
}

static void put_packing(FILE *out, const pw_stats_cell *cell)
{
    if (!cell->timed) {
        fputs("<td class=\"num\">&ndash;</td><td class=\"num\">&ndash;</td>", out);
        return;
    }
    fputs("<td class=\"num\">", out);
    pw_stats_put_time(out, (double)cell->estimated / (double)cell->timed);
    fputs("</td><td class=\"num\">", out);
    pw_stats_put_time(out, (double)cell->observed / (double)cell->timed);
    fputs("</td>", out);
}

static void put_choice(FILE *out, const pw_stats_choice *c)
{
    int most = pw_stats_choice_most_used(c);
    int64_t uses = 0;

    for (int id = 0; id < PW_STRATEGY_COUNT; id++)
        uses += c->cells[id].uses;
    fputs("<tr><td class=\"num\">", out);
    pw_stats_put_bytes(out, c->low);
    fputs(" to ", out);
    pw_stats_put_bytes(out, c->high);
    fprintf(out, "</td><td>%s%s%s</td><td class=\"num\">%lld</td><td>%s</td><td>", pw_stats_choice_kind(c),
            *pw_stats_choice_place(c) ? ", " : "", pw_stats_choice_place(c), (long long)uses, pw_stats_strategy(most));
    put_why(out, c);
    fputs("</td>", out);
    put_packing(out, &c->cells[most]);
    fputs("</tr>\n", out);
}

static void put_choices(FILE *out, const pw_report *report, pw_hash hash)
{
    int64_t n = 0;

    for (int64_t i = 0; i < report->nchoices; i++) {
        if (!pw_hash_equal(report->choices[i].hash, hash))
            continue;
        if (n++ == 0)
            fputs("<div class=\"wide\"><table><tr><th class=\"num\">size</th><th>call</th><th class=\"num\">messages"
                  "</th><th>strategy</th><th>because (estimated)</th><th class=\"num\">packing, estimated</th>"
                  "<th class=\"num\">observed</th></tr>\n",
                  out);
        put_choice(out, &report->choices[i]);
    }
    fputs(n > 0 ? "</table></div>\n" : "", out);
}

static void put_counts(FILE *out, const pw_stats_record *r)
{
    int64_t calls = r->packs + r->unpacks;

    fputs("<p class=\"soft\">", out);
    pw_stats_put_bytes(out, r->size);
    fprintf(out, " each; packed %lld times, unpacked %lld times, ", (long long)r->packs, (long long)r->unpacks);
    pw_stats_put_bytes(out, r->bytes);
    if (r->nanoseconds > 0)
        fprintf(out, " at %.3g GB/s", (double)r->bytes / (double)r->nanoseconds);
    for (int direction = PW_SEND; direction <= PW_RECV; direction++)
        for (int id = 0; id < PW_STRATEGY_COUNT; id++)
            if (r->used[id][direction])
                fprintf(out, "; %lld %s %s", (long long)r->used[id][direction], pw_stats_strategy(id),
                        direction == PW_SEND ? "sends" : "receives");
    if (r->shared)
        fprintf(out, "; %lld unpacked from the sender's memory", (long long)r->shared);
    if (r->while_coming)
        fprintf(out, "; %lld unpacked while they came", (long long)r->while_coming);
    if (r->while_leaving)
        fprintf(out, "; %lld packed while they left", (long long)r->while_leaving);
    if (calls > 0)
        fprintf(out, "; compiled kernel in %.0f %% of calls", percent(r->tier1_calls, calls));
    if (r->compiled)
        fprintf(out, "; compiled by %lld of %lld ranks in %.1f ms", (long long)r->compiled, (long long)r->ranks,
                (double)r->compile_ns * 1e-6);
    if (r->loaded)
        fprintf(out, "; kernel from the cache in %lld of %lld ranks", (long long)r->loaded, (long long)r->ranks);
    if (r->failed)
        fprintf(out, "; no kernel to be had in %lld of %lld ranks", (long long)r->failed, (long long)r->ranks);
    fputs("</p>\n", out);
}

static void put_spread(FILE *out, const pw_stats_record *r)
{
    fputs("<p class=\"soft\">", out);
    if (r->ranks < 2) {
        fprintf(out, "On rank %lld alone", (long long)r->slowest);
    } else {
        fprintf(out, "On %lld ranks, from ", (long long)r->ranks);
        pw_stats_put_time(out, (double)r->least);
        fputs(" to ", out);
        pw_stats_put_time(out, (double)r->most);
        fprintf(out, " (rank %lld)", (long long)r->slowest);
    }
    fputs(".</p>\n", out);
}

static void put_type(FILE *out, const pw_report *report, const pw_stats_record *r, int64_t longest)
{
    int most = pw_stats_most_used(r);

    fputs("<div class=\"type\"><div class=\"head\"><div>", out);
    if (*r->name) {
        fputs("<b>", out);
        put_text(out, r->name);
        fputs("</b> ", out);
    }
    fputs("<code>", out);
    put_text(out, r->ddt);
    fputs("</code></div><span class=\"num\"><b>", out);
    pw_stats_put_time(out, (double)r->times.taken);
    fprintf(out, "</b> (%.1f %%)</span>", percent(r->times.taken, report->sum.times.taken));
    if (r->times.saved)
        put_saved(out, r->times.saved);
    fprintf(out, "<span>%s</span></div>\n", most < PW_STRATEGY_COUNT ? pw_stats_strategy(most) : "packing only");
    put_bar(out, r->times, longest);
    fputs("<details><summary>what was done, and why</summary>\n", out);
    put_counts(out, r);
    put_spread(out, r);
    put_choices(out, report, r->hash);
    fputs("</details></div>\n", out);
}

/* The longest bar: time with what was saved. */
static int64_t longest_of(const pw_report *report)
{
    int64_t longest = 1;

    for (int64_t i = 0; i < report->n; i++) {
        const pw_stats_times *t = &report->records[i].times;
        int64_t length = t->taken + (t->saved > 0 ? t->saved : 0);

        longest = length > longest ? length : longest;
    }
    return longest;
}

static void put_types(FILE *out, const pw_report *report)
{
    int64_t longest = longest_of(report), shown = 0, unused = 0;

    fputs("<h2>Types by time</h2>\n<p class=\"soft\"><span class=\"key\"></span> time of messages and packing, all "
          "ranks",
          out);
    if (report->sum.messages > 0)
        fputs(" &nbsp; <span class=\"key s\"></span> saved, by estimate", out);
    fputs("</p>\n", out);
    for (int64_t i = 0; i < report->n; i++) {
        if (!pw_stats_was_used(&report->records[i])) {
            unused++;
            continue;
        }
        if (shown++ == TOP_TYPES)
            fputs("<details><summary>further types</summary>\n", out);
        put_type(out, report, &report->records[i], longest);
    }
    fputs(shown > TOP_TYPES ? "</details>\n" : "", out);
    if (shown == 0)
        fputs("<p>No message had a type that Packwright handles.</p>\n", out);
    if (unused > 0) {
        fputs("<p class=\"soft\">And ", out);
        put_count(out, unused, "type");
        fputs(" that no call used.</p>\n", out);
    }
    if (report->nchoices > 0 && pw_hash_equal(report->choices[0].hash, (pw_hash){0, 0})) {
        fputs("<h2>Contiguous types in GPU memory</h2>\n", out);
        put_choices(out, report, (pw_hash){0, 0});
    }
}

/* ---- ranks ------------------------------------------------------------------------------------------------------ */

static void put_rank(FILE *out, const pw_stats_rank *r, int64_t longest)
{
    fprintf(out, "<tr><td class=\"num\">%lld</td><td>", (long long)r->rank);
    put_text(out, r->host);
    fputs("</td><td class=\"num\">", out);
    pw_stats_put_time(out, (double)r->times.taken);
    fputs("</td><td>", out);
    if (r->messages > 0)
        put_saved(out, r->times.saved);
    else
        fputs("&ndash;", out);
    fprintf(out, "</td><td class=\"num\">%lld</td><td class=\"num\">", (long long)r->messages);
    pw_stats_put_bytes(out, r->bytes);
    fputs("</td><td style=\"width:30%\">", out);
    put_bar(out, r->times, longest);
    fputs("</td></tr>\n", out);
}

static void put_ranks(FILE *out, const pw_report *report)
{
    int64_t longest = 1;

    for (int64_t i = 0; i < report->nranks; i++) {
        const pw_stats_times *t = &report->ranks[i].times;
        int64_t length = t->taken + (t->saved > 0 ? t->saved : 0);

        longest = length > longest ? length : longest;
    }
    fputs("<h2>Ranks</h2>\n<div class=\"wide\"><table><tr><th class=\"num\">rank</th><th>host</th><th class=\"num\">"
          "time</th><th>saved</th><th class=\"num\">messages</th><th class=\"num\">packed</th><th></th></tr>\n",
          out);
    for (int64_t i = 0; i < report->nranks && i < MOST_RANKS; i++)
        put_rank(out, &report->ranks[i], longest);
    fputs("</table></div>\n", out);
    if (report->nranks > MOST_RANKS)
        fprintf(out, "<p class=\"soft\">The first %d of %lld ranks; a report as data (.json) has all.</p>\n",
                MOST_RANKS, (long long)report->nranks);
}

static void put_notes(FILE *out)
{
    fputs(
        "<h2>How to read this</h2>\n<p class=\"soft\">The time of messages is the model's estimate for their end, with "
        "the time that packing was observed to take in the place of what the model expects of it; <code>packwright "
        "measure</code> measures the model. What was saved is the difference to the estimate for the MPI alone, or to "
        "what a trial of both ways took. MPI_Pack and MPI_Unpack count with their observed time, and as saving "
        "nothing. A type stands for all types with the same layout; a long text ends with dots, and PACKWRIGHT_TRACE "
        "writes it in full. <code>packwright compare</code> measures whole runs.</p>\n</body></html>\n",
        out);
}

void pw_report_page(FILE *out, const pw_report *report)
{
    put_head(out, report);
    put_tiles(out, report);
    put_types(out, report);
    put_ranks(out, report);
    put_notes(out);
}
