/*
 * The report as a page of HTML (PACKWRIGHT_REPORT=run.html). The page loads nothing, and follows the light or dark
 * scheme of the browser. A script of its own sorts tables by a click, and lets narrow screens show their rows as lists;
 * without it everything is there, too.
 */
#include "base/markup.h"
#include "runtime/mpi/stats/numbers.h"
#include "runtime/mpi/stats/report.h"

#include <string.h>

/* Types that the script shows at once, the rest behind a click; ranks that are listed. */
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
    ".num{font-variant-numeric:tabular-nums;white-space:nowrap}\n"
    "code{font:.85rem/1.4 ui-monospace,monospace;overflow-wrap:anywhere}.good{color:var(--saved)}"
    ".bad{color:var(--lost)}\n"
    ".bar{height:.4rem;margin:.35rem 0;background:var(--tile);border-radius:.2rem;overflow:hidden}"
    ".bar i{display:block;height:100%;background:var(--taken)}\n"
    "details{margin-top:.3rem}summary{cursor:pointer;color:var(--soft);font-size:.9rem}.wide{overflow-x:auto}"
    "table{border-collapse:collapse;font-size:.88rem;margin:.5rem 0;min-width:100%}"
    "th,td{text-align:left;padding:.25rem .8rem .25rem 0;border-bottom:1px solid var(--line);vertical-align:top}"
    "th{color:var(--soft);font-weight:600;white-space:nowrap}td.num,th.num{text-align:right}\n"
    "button{all:unset;cursor:pointer}button:focus-visible{outline:2px solid var(--taken)}"
    "th[aria-sort] button::after{content:' \\25be'}th[aria-sort=ascending] button::after{content:' \\25b4'}"
    ".all{color:var(--taken);font-size:.9rem}.all[hidden]{display:none}\n"
    "tr:not(:last-child)>td{border:0;padding-bottom:0}tbody[hidden]{display:none}\n"
    "@media(max-width:44rem){.stack,.stack>thead,.stack>tbody:not([hidden]),.stack>tbody>tr{display:block}"
    ".stack>thead>tr{display:flex;flex-wrap:wrap;gap:.1rem 1rem}.stack>thead th{border:0;padding:0}"
    ".stack>tbody{border-bottom:1px solid var(--line);padding:.5rem 0}"
    ".stack>tbody>tr>td{display:flex;justify-content:space-between;gap:1rem;border:0;"
    "padding:.1rem 0;text-align:right;white-space:normal}"
    ".stack>tbody>tr>td::before{content:attr(data-l);color:var(--soft);text-align:left}"
    ".stack>tbody>tr>td.main{display:block;text-align:left}.stack>tbody>tr>td.main::before{content:none}}\n";

static const char script[] =
    "for (const table of document.querySelectorAll('table')) {\n"
    "  const items = [...table.tBodies], heads = [...table.tHead.rows[0].cells], all = "
    "table.parentNode.nextElementSibling;\n"
    "  const cell = (item, i) => item.rows[0].cells[i], value = (item, i) => cell(item, i).dataset.v ?? cell(item, "
    "i).textContent;\n"
    "  const show = () => items.forEach((item, i) => item.hidden = table.dataset.top <= i);\n"
    "  for (const item of items)\n"
    "    heads.forEach((head, i) => cell(item, i).dataset.l = head.textContent);\n"
    "  table.classList.add('stack');\n"
    "  heads.forEach((head, i) => {\n"
    "    const button = document.createElement('button');\n"
    "    button.append(...head.childNodes);\n"
    "    head.append(button);\n"
    "    button.onclick = () => {\n"
    "      const sign = head.getAttribute('aria-sort') === 'descending' ? 1 : -1;\n"
    "      heads.forEach(other => other.removeAttribute('aria-sort'));\n"
    "      head.setAttribute('aria-sort', sign > 0 ? 'ascending' : 'descending');\n"
    "      items.sort((a, b) => sign * (value(a, i) - value(b, i) || value(a, i).localeCompare(value(b, i))));\n"
    "      table.append(...items);\n"
    "      show();\n"
    "    };\n"
    "  });\n"
    "  if (table.dataset.top < items.length) {\n"
    "    all.hidden = false;\n"
    "    all.onclick = () => { delete table.dataset.top; all.hidden = true; show(); };\n"
    "  }\n"
    "  show();\n"
    "}\n";

/* ---- parts ------------------------------------------------------------------------------------------------------ */

static void put_text(FILE *out, const char *text)
{
    pw_markup_put(out, text, strlen(text));
}

static void put_count(FILE *out, int64_t n, const char *what)
{
    fprintf(out, "%lld %s%s", (long long)n, what, n == 1 ? "" : "s");
}

static double percent(int64_t part, int64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

/* Writes a cell with a number by which the column is sorted. The caller writes the text and the end. */
static void open_number(FILE *out, double value)
{
    fprintf(out, "<td class=\"num\" data-v=\"%.17g\">", value);
}

static void put_time_cell(FILE *out, double ns)
{
    open_number(out, ns);
    pw_stats_put_time(out, ns);
    fputs("</td>", out);
}

static void put_bytes_cell(FILE *out, int64_t bytes)
{
    open_number(out, (double)bytes);
    pw_stats_put_bytes(out, bytes);
    fputs("</td>", out);
}

static void put_count_cell(FILE *out, int64_t n)
{
    open_number(out, (double)n);
    fprintf(out, "%lld</td>", (long long)n);
}

/* Draws a time against the longest one. */
static void put_bar(FILE *out, int64_t ns, int64_t longest)
{
    fprintf(out, "<div class=\"bar\" role=\"img\" aria-label=\"time\"><i style=\"width:%.2f%%\"></i></div>\n",
            percent(ns, longest));
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

static void open_tile(FILE *out, const char *title)
{
    fprintf(out, "<div class=\"tile\">%s<b>", title);
}

static void close_tile(FILE *out, double ns, int64_t share_of, const char *note)
{
    fputs("</b><span class=\"soft\">", out);
    if (share_of > 0)
        fprintf(out, "%.3g %% of ", 100 * ns / (double)share_of);
    fprintf(out, "%s</span></div>\n", note);
}

static void put_tile(FILE *out, const char *title, double ns, int64_t share_of, const char *note)
{
    open_tile(out, title);
    pw_stats_put_time(out, ns);
    close_tile(out, ns, share_of, note);
}

/* Only trials in the program know what was saved, and only of the uses that they are about. */
static void put_saved_tile(FILE *out, const pw_report *report)
{
    const pw_stats_saved *saved = &report->sum.saved;
    double ns = (double)saved->ns / (report->nranks > 0 ? (double)report->nranks : 1);
    char note[96] = "no trial; packwright compare measures whole runs";

    if (saved->known == 0) {
        open_tile(out, "Saved");
        fputs(saved->unknown + report->sum.calls > 0 ? "not known" : "nothing", out);
        close_tile(out, 0, 0, saved->unknown + report->sum.calls > 0 ? note : "all was left to the MPI");
        return;
    }
    snprintf(note, sizeof note, "the run, in %lld of %lld uses, by trials", (long long)saved->known,
             (long long)(saved->known + saved->unknown));
    put_tile(out, ns < 0 ? "Lost a rank" : "Saved a rank", ns < 0 ? -ns : ns, report->sum.elapsed, note);
}

static void put_tiles(FILE *out, const pw_report *report)
{
    const pw_stats_rank *sum = &report->sum;
    double ranks = report->nranks > 0 ? (double)report->nranks : 1;

    fputs("<div class=\"tiles\">\n", out);
    put_tile(out, "The run", (double)sum->elapsed, 0, "from MPI_Init to MPI_Finalize");
    put_tile(out, "Packing and unpacking", (double)sum->nanoseconds / ranks, sum->elapsed, "the run, a rank");
    put_saved_tile(out, report);
    fputs("</div>\n<p>", out);
    put_count(out, report->n, "layout");
    fputs(": ", out);
    if (sum->messages > 0) {
        put_count(out, sum->messages, "message");
        fputs(", ", out);
    }
    if (sum->accesses > 0)
        fprintf(out, "%lld accesses to windows and files, ", (long long)sum->accesses);
    fprintf(out, "%lld packs and unpacks of ", (long long)sum->calls);
    pw_stats_put_bytes(out, sum->bytes);
    if (sum->nanoseconds > 0)
        fprintf(out, " at %.3g GB/s", (double)sum->bytes / (double)sum->nanoseconds);
    fputs(".</p>\n", out);
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
    for (int64_t i = 0; i < report->nunfreed; i++) {
        const pw_stats_record *row = &report->unfreed[i];

        fputs(i ? "<br>" : "<p>Not freed before MPI_Finalize: ", out);
        put_count(out, row->unfreed, "type");
        fprintf(out, " of %lld rank%s, ", (long long)row->ranks, row->ranks == 1 ? "" : "s");
        put_text(out, row->built);
        fputs(*row->made[0].line ? ", made at " : "", out);
        put_text(out, row->made[0].line);
        fputs(i + 1 < report->nunfreed ? "\n" : ".</p>\n", out);
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
            fputs("not estimated", out);
        if (cell->tries) {
            fputs(" (tried, with the program between: ", out);
            pw_stats_put_time(out, cell->tried);
            fputs(")", out);
        }
        fputs("<br>", out);
    }
}

static void put_packing(FILE *out, const pw_stats_cell *cell)
{
    if (!cell->timed) {
        fputs("<td class=\"num\" data-v=\"0\">&ndash;</td><td class=\"num\" data-v=\"0\">&ndash;</td>", out);
        return;
    }
    put_time_cell(out, (double)cell->estimated / (double)cell->timed);
    put_time_cell(out, (double)cell->observed / (double)cell->timed);
}

static void put_choice(FILE *out, const pw_stats_choice *c)
{
    int most = pw_stats_choice_most_used(c);
    int64_t uses = 0;

    for (int id = 0; id < PW_STRATEGY_COUNT; id++)
        uses += c->cells[id].uses;
    fputs("<tbody><tr>", out);
    open_number(out, (double)c->high);
    pw_stats_put_bytes(out, c->low);
    fputs(" to ", out);
    pw_stats_put_bytes(out, c->high);
    fprintf(out, "</td><td>%s%s%s</td>", pw_stats_choice_kind(c), *pw_stats_choice_place(c) ? ", " : "",
            pw_stats_choice_place(c));
    put_count_cell(out, uses);
    fprintf(out, "<td>%s</td><td><span>", pw_stats_strategy(most));
    put_why(out, c);
    fputs("</span></td>", out);
    put_packing(out, &c->cells[most]);
    open_number(out, (double)c->saved.ns);
    pw_stats_saved_print(out, c->saved);
    fputs("</td></tr></tbody>\n", out);
}

/* Begins a table of choices before the first one. */
static void open_choices(FILE *out, int64_t *n)
{
    if ((*n)++ == 0)
        fputs("<div class=\"wide\"><table><thead><tr><th class=\"num\">size</th><th>call</th><th class=\"num\">uses"
              "</th><th>strategy</th><th>estimated</th><th class=\"num\">packing, estimated</th>"
              "<th class=\"num\">observed</th><th class=\"num\">saved</th></tr></thead>\n",
              out);
}

static void put_choices(FILE *out, const pw_report *report, pw_hash hash)
{
    int64_t n = 0;

    for (int64_t i = 0; i < report->nchoices; i++) {
        if (!pw_hash_equal(report->choices[i].hash, hash))
            continue;
        open_choices(out, &n);
        put_choice(out, &report->choices[i]);
    }
    fputs(n > 0 ? "</table></div>\n" : "", out);
}

static void put_choices_to_oneself(FILE *out, const pw_report *report)
{
    int64_t n = 0;

    for (int64_t i = 0; i < report->nchoices; i++) {
        if (!pw_stats_choice_is_to_oneself(&report->choices[i]))
            continue;
        fputs(n == 0 ? "<h2>From a rank to itself</h2>\n" : "", out);
        open_choices(out, &n);
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
    for (int of = 0; of < PW_TRANSFERS; of++)
        for (int direction = PW_SEND; direction <= PW_RECV; direction++)
            for (int id = 0; id < PW_STRATEGY_COUNT; id++)
                if (r->used[of][id][direction])
                    fprintf(out, "; %lld %s %s", (long long)r->used[of][id][direction], pw_stats_strategy(id),
                            pw_stats_transfer_word((pw_transfer_kind)of, direction));
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
        fprintf(out, "On one rank: %lld", (long long)r->slowest);
    } else {
        fprintf(out, "Packing on %lld ranks took from ", (long long)r->ranks);
        pw_stats_put_time(out, (double)r->least);
        fputs(" to ", out);
        pw_stats_put_time(out, (double)r->most);
        fprintf(out, " (rank %lld)", (long long)r->slowest);
    }
    fputs(".</p>\n", out);
}

/* Writes what a type is, and where it was made. */
static void put_identity(FILE *out, const pw_stats_record *r)
{
    if (*r->name) {
        fputs("<b>", out);
        put_text(out, r->name);
        fputs("</b> ", out);
    }
    fputs("<code>", out);
    put_text(out, pw_stats_text(r));
    fputs("</code>", out);
    for (int i = 0; i < PW_STATS_PLACES && *r->made[i].line; i++) {
        fputs(i ? "<br><span class=\"soft\">and at <code>" : "<br><span class=\"soft\">made at <code>", out);
        put_text(out, r->made[i].line);
        fputs("</code></span>", out);
    }
}

/* Writes what is behind the click on a type. */
static void put_more(FILE *out, const pw_report *report, const pw_stats_record *r)
{
    fprintf(out, "<tr><td class=\"main\" colspan=\"%d\"><details><summary>what was done, and why</summary>\n",
            report->sum.accesses > 0 ? 7 : 6);
    if (*r->built) {
        fputs("<p class=\"soft\">Its layout: <code>", out);
        put_text(out, r->ddt);
        fputs("</code></p>\n", out);
    }
    put_counts(out, r);
    put_spread(out, r);
    put_choices(out, report, r->hash);
    fputs("</details></td></tr>", out);
}

/* A type is a body of two rows, which stay together when bodies are sorted. */
static void put_type(FILE *out, const pw_report *report, const pw_stats_record *r, int64_t longest)
{
    int most = pw_stats_most_used(r);

    fputs("<tbody><tr><td class=\"main\">", out);
    put_identity(out, r);
    put_bar(out, r->nanoseconds, longest);
    fputs("</td>", out);
    put_time_cell(out, (double)r->nanoseconds);
    put_bytes_cell(out, r->bytes);
    put_count_cell(out, r->packs + r->unpacks);
    put_count_cell(out, pw_stats_transfers(r, PW_TRANSFER_MESSAGE));
    if (report->sum.accesses > 0)
        put_count_cell(out, pw_stats_accesses(r));
    fprintf(out, "<td>%s</td></tr>\n", most < PW_STRATEGY_COUNT ? pw_stats_strategy(most) : "packing only");
    put_more(out, report, r);
    fputs("</tbody>\n", out);
}

static void put_types(FILE *out, const pw_report *report)
{
    int64_t longest = report->n > 0 ? report->records[0].nanoseconds : 0, shown = 0, unused = 0;

    fprintf(out,
            "<h2>Types by the time of packing</h2>\n<div class=\"wide\"><table data-top=\"%d\"><thead><tr><th>type</th>"
            "<th class=\"num\">packing</th><th class=\"num\">packed</th><th class=\"num\">packs</th>"
            "<th class=\"num\">messages</th>%s<th>mostly</th></tr></thead>\n",
            TOP_TYPES, report->sum.accesses > 0 ? "<th class=\"num\">accesses</th>" : "");
    for (int64_t i = 0; i < report->n; i++) {
        if (pw_stats_was_used(&report->records[i]))
            put_type(out, report, &report->records[i], longest);
        else
            unused++;
    }
    shown = report->n - unused;
    fprintf(out, "</table></div><button class=\"all\" hidden>show all %lld types</button>\n", (long long)shown);
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
    put_choices_to_oneself(out, report);
    if (report->nchoices > 0) {
        fputs("<p class=\"soft\">Of choices, ", out);
        pw_report_put_source(out, report);
        fputs(".</p>\n", out);
    }
}

/* ---- ranks ------------------------------------------------------------------------------------------------------ */

static void put_rank(FILE *out, const pw_stats_rank *r, bool accesses, int64_t longest)
{
    fputs("<tbody><tr>", out);
    put_count_cell(out, r->rank);
    fputs("<td>", out);
    put_text(out, r->host);
    fputs("</td>", out);
    put_time_cell(out, (double)r->nanoseconds);
    put_bytes_cell(out, r->bytes);
    put_count_cell(out, r->messages);
    if (accesses)
        put_count_cell(out, r->accesses);
    fprintf(out, "<td class=\"main\" data-v=\"%lld\" style=\"width:30%%\">", (long long)r->nanoseconds);
    put_bar(out, r->nanoseconds, longest);
    fputs("</td></tr></tbody>\n", out);
}

static void put_ranks(FILE *out, const pw_report *report)
{
    bool accesses = report->sum.accesses > 0;
    int64_t longest = 1;

    for (int64_t i = 0; i < report->nranks; i++)
        longest = report->ranks[i].nanoseconds > longest ? report->ranks[i].nanoseconds : longest;
    fprintf(out,
            "<h2>Ranks</h2>\n<div class=\"wide\"><table><thead><tr><th class=\"num\">rank</th><th>host</th>"
            "<th class=\"num\">packing</th><th class=\"num\">packed</th><th class=\"num\">messages</th>%s<th></th>"
            "</tr></thead>\n",
            accesses ? "<th class=\"num\">accesses</th>" : "");
    for (int64_t i = 0; i < report->nranks && i < MOST_RANKS; i++)
        put_rank(out, &report->ranks[i], accesses, longest);
    fputs("</table></div>\n", out);
    if (report->nranks > MOST_RANKS)
        fprintf(out, "<p class=\"soft\">The first %d of %lld ranks; a report as data (.json) has all.</p>\n",
                MOST_RANKS, (long long)report->nranks);
}

static void put_notes(FILE *out)
{
    fprintf(
        out,
        "<h2>How to read this</h2>\n<p class=\"soft\">Times of packing were measured in this run, and mean packing "
        "and unpacking. Estimates are the model's, of a whole message. What was saved is said only of uses that a "
        "trial in the program has timed both ways; whether a whole run is faster only <code>packwright "
        "compare</code> can tell. Messages to oneself count as others; accesses are those to windows and files. A "
        "type stands for all types with the same layout, and is shown as the program built the first of them. It "
        "was made where <code>MPI_Type_commit</code> was called. <code>packwright run --trace</code> writes layouts "
        "in full.</p>\n<script>\n%s</script>\n</body></html>\n",
        script);
}

void pw_report_page(FILE *out, const pw_report *report)
{
    put_head(out, report);
    put_tiles(out, report);
    put_types(out, report);
    put_ranks(out, report);
    put_notes(out);
}
