/* Reads the data of processes, merges them, and writes them as the data of a run. */
#include "tools/report/merged.h"

#include "base/json.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TEXT = 320 };

/* ---- types that were not freed ----------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const pw_stats_record *x = a, *y = b;
    int order = strcmp(x->built, y->built);

    if (!order)
        order = strcmp(pw_data_text(x->made, "module"), pw_data_text(y->made, "module"));
    return order ? order : strcmp(pw_data_text(x->made, "offset"), pw_data_text(y->made, "offset"));
}

static void add_unfreed(void *kept, const void *next)
{
    pw_stats_record *to = kept;
    const pw_stats_record *from = next;

    to->unfreed += from->unfreed;
    to->ranks += from->ranks;
}

static int by_number(const void *a, const void *b)
{
    const pw_stats_record *x = a, *y = b;

    if (x->unfreed != y->unfreed)
        return x->unfreed < y->unfreed ? 1 : -1;
    return by_place(a, b);
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

static void read_types(pw_stats_list *records, pw_data first, pw_stats_rank *self)
{
    for (pw_data type = first; type; type = type->next) {
        pw_stats_record *r = pw_stats_list_add(records);

        if (!r)
            return;
        pw_stats_read(r, type, self->rank);
        self->calls += r->packs + r->unpacks;
        self->nanoseconds += r->nanoseconds;
        self->bytes += r->bytes;
        self->messages += pw_stats_transfers(r, PW_STATS_MESSAGES);
        self->accesses += pw_stats_accesses(r);
    }
}

static void read_process(pw_report *report, pw_data process)
{
    pw_stats_rank *self = pw_stats_list_add(&report->ranks);

    if (!self)
        return;
    *self = (pw_stats_rank){.rank = pw_data_whole(process, "rank"),
                            .elapsed = pw_data_whole(process, "elapsed"),
                            .noted_types = pw_data_whole(process, "noted_types"),
                            .noted_uses = pw_data_whole(process, "noted_uses"),
                            .noted_bytes = pw_data_whole(process, "noted_bytes"),
                            .host = pw_data_text(process, "host")};
    read_types(&report->records, pw_data_first(process, "types"), self);
    read_types(&report->unfreed, pw_data_first(process, "not_freed"), self);
    for (pw_data site = pw_data_first(process, "sites"); site; site = site->next) {
        pw_stats_choice *choice = pw_stats_list_add(&report->choices);

        if (!choice)
            return;
        pw_stats_choice_read(choice, site);
        pw_stats_saved_add(&self->saved, choice->saved);
    }
}

static void sum_up(pw_report *report)
{
    const pw_stats_rank *ranks = report->ranks.at;
    pw_stats_rank *sum = &report->sum;

    for (int64_t i = 0; i < report->ranks.n; i++) {
        const pw_stats_rank *r = &ranks[i];

        sum->elapsed = r->elapsed > sum->elapsed ? r->elapsed : sum->elapsed;
        sum->nanoseconds += r->nanoseconds;
        sum->calls += r->calls;
        sum->bytes += r->bytes;
        sum->messages += r->messages;
        sum->accesses += r->accesses;
        pw_stats_saved_add(&sum->saved, r->saved);
        sum->noted_types += r->noted_types;
        sum->noted_uses += r->noted_uses;
        sum->noted_bytes += r->noted_bytes;
    }
}

bool pw_report_is_raw(pw_data data)
{
    return pw_json_member(data, "processes", PW_JSON_ARRAY) != NULL;
}

void pw_report_merge(pw_report *report, pw_data data)
{
    *report = (pw_report){.run = pw_data_object(data, "run"),
                          .records = {.bytes = sizeof(pw_stats_record)},
                          .choices = {.bytes = sizeof(pw_stats_choice)},
                          .ranks = {.bytes = sizeof(pw_stats_rank)},
                          .unfreed = {.bytes = sizeof(pw_stats_record)}};
    for (pw_data process = pw_data_first(data, "processes"); process; process = process->next)
        read_process(report, process);
    pw_stats_merge(&report->records);
    pw_stats_choice_merge(&report->choices);
    pw_stats_list_sort(&report->unfreed, by_place);
    pw_stats_list_merge(&report->unfreed, by_place, add_unfreed);
    pw_stats_list_sort(&report->unfreed, by_number);
    sum_up(report);
}

void pw_report_free(pw_report *report)
{
    free(report->records.at);
    free(report->choices.at);
    free(report->ranks.at);
    free(report->unfreed.at);
}

/* ---- data ------------------------------------------------------------------------------------------------------- */

static void put_seconds(pw_json *json, const char *name, double ns)
{
    pw_json_double(json, name, ns * 1e-9);
}

/* What is not known is null: of uses without a trial, and of the program's own packs and unpacks. */
static void put_saved(pw_json *json, pw_stats_saved saved, int64_t packs_and_unpacks)
{
    if (saved.known > 0 || saved.unknown + packs_and_unpacks == 0)
        put_seconds(json, "saved_seconds", (double)saved.ns);
    else
        pw_json_null(json, "saved_seconds");
    pw_json_int(json, "saved_uses", saved.known);
    pw_json_int(json, "saved_unknown_uses", saved.unknown);
    pw_json_int(json, "saved_native_uses", saved.native);
}

/* Writes what one rank, or all of them, did. */
static void put_sums(pw_json *json, const pw_stats_rank *r)
{
    put_seconds(json, "elapsed_seconds", (double)r->elapsed);
    put_seconds(json, "packing_seconds", (double)r->nanoseconds);
    put_saved(json, r->saved, r->calls);
    pw_json_int(json, "packs_and_unpacks", r->calls);
    pw_json_int(json, "packed_bytes", r->bytes);
    pw_json_int(json, "messages", r->messages);
    pw_json_int(json, "accesses", r->accesses);
}

static void put_strategy(pw_json *json, const pw_stats_cell *cell, int id)
{
    pw_json_open(json, pw_strategy_names[id], '{');
    pw_json_int(json, "uses", cell->uses);
    if (cell->ranks)
        put_seconds(json, "estimated_seconds", cell->total);
    if (cell->tries)
        put_seconds(json, "tried_seconds", cell->tried);
    pw_json_close(json, '}');
}

static void put_choice(pw_json *json, const pw_stats_choice *c)
{
    pw_json_open(json, NULL, '{');
    pw_json_int(json, "more_than_bytes", c->low);
    pw_json_int(json, "up_to_bytes", c->high);
    pw_json_string(json, "kind", pw_stats_kinds[c->kind]);
    pw_json_string(json, "place", pw_stats_memories[c->memory]);
    pw_json_string(json, "mostly", pw_strategy_names[pw_stats_choice_most_used(c)]);
    pw_json_open(json, "strategies", '{');
    for (int id = 0; id < PW_STRATEGY_COUNT; id++)
        if (c->cells[id].uses || c->cells[id].ranks)
            put_strategy(json, &c->cells[id], id);
    pw_json_close(json, '}');
    put_saved(json, c->saved, 0);
    pw_json_close(json, '}');
}

static void put_choices(pw_json *json, const pw_report *report, pw_hash hash)
{
    const pw_stats_choice *choices = report->choices.at;

    pw_json_open(json, "choices", '[');
    for (int64_t i = 0; i < report->choices.n; i++)
        if (pw_hash_equal(choices[i].hash, hash))
            put_choice(json, &choices[i]);
    pw_json_close(json, ']');
}

static void put_choices_to_oneself(pw_json *json, const pw_report *report)
{
    const pw_stats_choice *choices = report->choices.at;

    pw_json_open(json, "choices_to_oneself", '[');
    for (int64_t i = 0; i < report->choices.n; i++)
        if (pw_stats_choice_is_to_oneself(&choices[i]))
            put_choice(json, &choices[i]);
    pw_json_close(json, ']');
}

static void put_used(pw_json *json, const pw_stats_record *r, int of, int direction)
{
    pw_json_open(json, pw_data_transfers[of][direction], '{');
    for (int id = 0; id < PW_STRATEGY_COUNT; id++)
        if (r->used[of][id][direction])
            pw_json_int(json, pw_strategy_names[id], r->used[of][id][direction]);
    pw_json_close(json, '}');
}

static void put_kernel(pw_json *json, const pw_stats_record *r)
{
    pw_json_open(json, "kernel", '{');
    pw_json_int(json, "ranks_compiled", r->compiled);
    pw_json_int(json, "ranks_loaded", r->loaded);
    pw_json_int(json, "ranks_failed", r->failed);
    put_seconds(json, "longest_compile_seconds", (double)r->compile_ns);
    put_seconds(json, "longest_load_seconds", (double)r->load_ns);
    pw_json_int(json, "gpu_ranks_compiled", r->gpu_compiled);
    pw_json_int(json, "gpu_ranks_loaded", r->gpu_loaded);
    pw_json_int(json, "calls", r->tier1_calls);
    pw_json_close(json, '}');
}

static void put_spread(pw_json *json, const pw_stats_record *r)
{
    pw_json_open(json, "ranks", '{');
    pw_json_int(json, "count", r->ranks);
    put_seconds(json, "least_seconds", (double)r->least);
    put_seconds(json, "most_seconds", (double)r->most);
    pw_json_int(json, "slowest", r->slowest);
    pw_json_close(json, '}');
}

/* Writes where types were committed, as addresses: tools/report/source.c finds the lines of source. */
static void put_places(pw_json *json, const pw_stats_record *r)
{
    pw_json_open(json, "made_at", '[');
    for (pw_data place = r->made; place; place = place->next) {
        pw_json_open(json, NULL, '{');
        pw_json_string(json, "module", pw_data_text(place, "module"));
        pw_json_string(json, "offset", pw_data_text(place, "offset"));
        pw_json_close(json, '}');
    }
    pw_json_close(json, ']');
}

/* Writes a text, and ends one that is too long for a report with dots. */
static void put_shortened(pw_json *json, const char *name, const char *text)
{
    char out[MOST_TEXT];

    if (snprintf(out, sizeof out, "%s", text) >= (int)sizeof out)
        memcpy(out + sizeof out - 5, " ...", 5);
    pw_json_string(json, name, out);
}

static void put_type(pw_json *json, const pw_report *report, const pw_stats_record *r)
{
    int most = pw_stats_most_used(r);

    pw_json_open(json, NULL, '{');
    pw_json_string(json, "name", r->name);
    put_shortened(json, "ddt", r->ddt);
    pw_json_string(json, "built", r->built);
    put_places(json, r);
    pw_json_hash(json, "hash", r->hash);
    pw_json_int(json, "bytes", r->size);
    put_seconds(json, "packing_seconds", (double)r->nanoseconds);
    pw_json_int(json, "packs", r->packs);
    pw_json_int(json, "unpacks", r->unpacks);
    pw_json_int(json, "packed_bytes", r->bytes);
    pw_json_int(json, "moved_bytes", r->moved);
    pw_json_int(json, "messages", pw_stats_transfers(r, PW_STATS_MESSAGES));
    pw_json_int(json, "accesses", pw_stats_accesses(r));
    pw_json_string(json, "mostly", most < PW_STRATEGY_COUNT ? pw_strategy_names[most] : "");
    for (int of = 0; of < PW_STATS_BELONGINGS; of++)
        for (int direction = 0; direction < PW_STATS_BOTH; direction++)
            put_used(json, r, of, direction);
    pw_json_int(json, "unpacked_from_sender", r->shared);
    pw_json_int(json, "unpacked_from_sender_gpu", r->from_gpu);
    put_kernel(json, r);
    put_spread(json, r);
    put_choices(json, report, r->hash);
    pw_json_close(json, '}');
}

void pw_report_put_data(FILE *out, const pw_report *report)
{
    const pw_stats_record *records = report->records.at, *unfreed = report->unfreed.at;
    const pw_stats_rank *ranks = report->ranks.at;
    pw_json json;

    pw_json_begin(&json, out);
    pw_json_open(&json, NULL, '{');
    pw_json_int(&json, "format", PW_REPORT_FORMAT);
    pw_json_string(&json, "packwright", pw_data_text(report->run, "packwright"));
    pw_json_string(&json, "program", pw_data_text(report->run, "program"));
    pw_json_string(&json, "mpi", pw_data_text(report->run, "mpi"));
    pw_json_string(&json, "date", pw_data_text(report->run, "date"));
    pw_json_string(&json, "estimates", pw_data_text(report->run, "estimates"));
    pw_json_int(&json, "ranks", report->ranks.n);
    pw_json_open(&json, "total", '{');
    put_sums(&json, &report->sum);
    pw_json_close(&json, '}');
    pw_json_open(&json, "left_to_mpi", '{');
    pw_json_int(&json, "types", report->sum.noted_types);
    pw_json_int(&json, "uses", report->sum.noted_uses);
    pw_json_int(&json, "bytes", report->sum.noted_bytes);
    pw_json_close(&json, '}');
    pw_json_open(&json, "not_freed", '[');
    for (int64_t i = 0; i < report->unfreed.n; i++) {
        pw_json_open(&json, NULL, '{');
        pw_json_string(&json, "built", unfreed[i].built);
        put_places(&json, &unfreed[i]);
        pw_json_int(&json, "types", unfreed[i].unfreed);
        pw_json_int(&json, "ranks", unfreed[i].ranks);
        pw_json_close(&json, '}');
    }
    pw_json_close(&json, ']');
    pw_json_open(&json, "types", '[');
    for (int64_t i = 0; i < report->records.n; i++)
        put_type(&json, report, &records[i]);
    pw_json_close(&json, ']');
    put_choices(&json, report, (pw_hash){0, 0}); /* of contiguous types in GPU memory */
    put_choices_to_oneself(&json, report);
    pw_json_open(&json, "by_rank", '[');
    for (int64_t i = 0; i < report->ranks.n; i++) {
        pw_json_open(&json, NULL, '{');
        pw_json_int(&json, "rank", ranks[i].rank);
        pw_json_string(&json, "host", ranks[i].host);
        put_sums(&json, &ranks[i]);
        pw_json_close(&json, '}');
    }
    pw_json_close(&json, ']');
    pw_json_close(&json, '}');
}
