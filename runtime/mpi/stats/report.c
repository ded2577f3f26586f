/* The sums of a report, and its form as data, which tools/report reads. */
#include "runtime/mpi/stats/report.h"

#include "base/json.h"
#include "runtime/engine/model/model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FORMAT = 3 }; /* grows when a name of the data changes its meaning or goes */

/* ---- the whole -------------------------------------------------------------------------------------------------- */

/* Finds the last part of the program's path. */
static void program_name(char *out, size_t size)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    const char *slash;

    path[n > 0 ? n : 0] = '\0';
    slash = strrchr(path, '/');
    snprintf(out, size, "%s", slash ? slash + 1 : "a program");
}

/* Finds the first line of what the MPI says of itself. */
static void mpi_name(char *out, size_t size)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
    int n = 0;

    PMPI_Get_library_version(text, &n);
    text[strcspn(text, "\n,")] = '\0';
    for (char *c = text; *c; c++)
        *c = *c == '\t' ? ' ' : *c;
    snprintf(out, size, "%.*s", (int)size - 1, text);
}

/* Says where estimates come from. Those of messages in host memory have defaults only. */
static void source_of_estimates(char *out, size_t size)
{
    const pw_model *m = pw_model_now();

    if (m->measured)
        snprintf(out, size, "model of %.10s", *m->origin.date ? m->origin.date : "unknown date");
    else
        snprintf(out, size, "defaults");
}

void pw_report_complete(pw_report *report)
{
    time_t now = time(NULL);
    struct tm utc;

    program_name(report->program, sizeof report->program);
    mpi_name(report->mpi, sizeof report->mpi);
    source_of_estimates(report->estimates, sizeof report->estimates);
    strftime(report->date, sizeof report->date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    report->sum = (pw_stats_rank){0};
    for (int64_t i = 0; i < report->nranks; i++) {
        const pw_stats_rank *r = &report->ranks[i];

        report->sum.elapsed = r->elapsed > report->sum.elapsed ? r->elapsed : report->sum.elapsed;
        report->sum.nanoseconds += r->nanoseconds;
        report->sum.calls += r->calls;
        report->sum.bytes += r->bytes;
        report->sum.messages += r->messages;
        report->sum.accesses += r->accesses;
        pw_stats_saved_add(&report->sum.saved, r->saved);
        report->sum.noted.types += r->noted.types;
        report->sum.noted.uses += r->noted.uses;
        report->sum.noted.bytes += r->noted.bytes;
    }
}

/* ---- data ------------------------------------------------------------------------------------------------------- */

static void put_seconds(pw_json *json, const char *name, double ns)
{
    pw_json_double(json, name, ns * 1e-9);
}

/* What is not known is null. */
static void put_saved(pw_json *json, pw_stats_saved saved)
{
    if (saved.known > 0 || saved.unknown == 0)
        put_seconds(json, "saved_seconds", (double)saved.ns);
    else
        pw_json_null(json, "saved_seconds");
    pw_json_int(json, "saved_uses", saved.known);
    pw_json_int(json, "saved_unknown_uses", saved.unknown);
}

/* Writes what one rank, or all of them, did. */
static void put_sums(pw_json *json, const pw_stats_rank *r)
{
    put_seconds(json, "elapsed_seconds", (double)r->elapsed);
    put_seconds(json, "packing_seconds", (double)r->nanoseconds);
    put_saved(json, r->saved);
    pw_json_int(json, "packs_and_unpacks", r->calls);
    pw_json_int(json, "packed_bytes", r->bytes);
    pw_json_int(json, "messages", r->messages);
    pw_json_int(json, "accesses", r->accesses);
}

static void put_strategy(pw_json *json, const pw_stats_cell *cell, int id)
{
    pw_json_open(json, pw_stats_strategies[id], '{');
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
    pw_json_string(json, "mostly", pw_stats_strategies[pw_stats_choice_most_used(c)]);
    pw_json_open(json, "strategies", '{');
    for (int id = 0; id < PW_STRATEGY_COUNT; id++)
        if (c->cells[id].uses || c->cells[id].ranks)
            put_strategy(json, &c->cells[id], id);
    pw_json_close(json, '}');
    put_saved(json, c->saved);
    pw_json_close(json, '}');
}

static void put_choices(pw_json *json, const pw_report *report, pw_hash hash)
{
    pw_json_open(json, "choices", '[');
    for (int64_t i = 0; i < report->nchoices; i++)
        if (pw_hash_equal(report->choices[i].hash, hash))
            put_choice(json, &report->choices[i]);
    pw_json_close(json, ']');
}

static void put_choices_to_oneself(pw_json *json, const pw_report *report)
{
    pw_json_open(json, "choices_to_oneself", '[');
    for (int64_t i = 0; i < report->nchoices; i++)
        if (pw_stats_choice_is_to_oneself(&report->choices[i]))
            put_choice(json, &report->choices[i]);
    pw_json_close(json, ']');
}

static void put_used(pw_json *json, const pw_stats_record *r, pw_transfer_kind of, int direction)
{
    pw_json_open(json, pw_stats_transfer_word(of, direction), '{');
    for (int id = 0; id < PW_STRATEGY_COUNT; id++)
        if (r->used[of][id][direction])
            pw_json_int(json, pw_stats_strategies[id], r->used[of][id][direction]);
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

/* Writes where types were committed, as addresses: tools/report finds the lines of source. */
static void put_places(pw_json *json, const pw_stats_record *r)
{
    pw_json_open(json, "made_at", '[');
    for (int i = 0; i < PW_STATS_PLACES && *r->made[i].module; i++) {
        char offset[24];

        snprintf(offset, sizeof offset, "0x%" PRIx64, r->made[i].offset);
        pw_json_open(json, NULL, '{');
        pw_json_string(json, "module", r->made[i].module);
        pw_json_string(json, "offset", offset);
        pw_json_close(json, '}');
    }
    pw_json_close(json, ']');
}

/* Writes a text, and ends one that is too long for a report with dots. */
static void put_shortened(pw_json *json, const char *name, const char *text)
{
    char out[PW_STATS_DDT];

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
    pw_json_int(json, "messages", pw_stats_transfers(r, PW_TRANSFER_MESSAGE));
    pw_json_int(json, "accesses", pw_stats_accesses(r));
    pw_json_string(json, "mostly", most < PW_STRATEGY_COUNT ? pw_stats_strategies[most] : "");
    for (int of = 0; of < PW_TRANSFERS; of++)
        for (int direction = PW_SEND; direction <= PW_RECV; direction++)
            put_used(json, r, (pw_transfer_kind)of, direction);
    pw_json_int(json, "streamed", r->streamed);
    pw_json_int(json, "unpacked_from_sender", r->shared);
    pw_json_int(json, "unpacked_from_sender_gpu", r->from_gpu);
    put_kernel(json, r);
    put_spread(json, r);
    put_choices(json, report, r->hash);
    pw_json_close(json, '}');
}

static void put_json(FILE *out, const pw_report *report)
{
    pw_json json;

    pw_json_begin(&json, out);
    pw_json_open(&json, NULL, '{');
    pw_json_int(&json, "format", FORMAT);
    pw_json_string(&json, "packwright", PW_PROJECT_VERSION);
    pw_json_string(&json, "program", report->program);
    pw_json_string(&json, "mpi", report->mpi);
    pw_json_string(&json, "date", report->date);
    pw_json_string(&json, "estimates", report->estimates);
    pw_json_int(&json, "ranks", report->nranks);
    pw_json_open(&json, "total", '{');
    put_sums(&json, &report->sum);
    pw_json_close(&json, '}');
    pw_json_open(&json, "left_to_mpi", '{');
    pw_json_int(&json, "types", report->sum.noted.types);
    pw_json_int(&json, "uses", report->sum.noted.uses);
    pw_json_int(&json, "bytes", report->sum.noted.bytes);
    pw_json_close(&json, '}');
    pw_json_open(&json, "not_freed", '[');
    for (int64_t i = 0; i < report->nunfreed; i++) {
        pw_json_open(&json, NULL, '{');
        pw_json_string(&json, "built", report->unfreed[i].built);
        put_places(&json, &report->unfreed[i]);
        pw_json_int(&json, "types", report->unfreed[i].unfreed);
        pw_json_int(&json, "ranks", report->unfreed[i].ranks);
        pw_json_close(&json, '}');
    }
    pw_json_close(&json, ']');
    pw_json_open(&json, "types", '[');
    for (int64_t i = 0; i < report->n; i++)
        put_type(&json, report, &report->records[i]);
    pw_json_close(&json, ']');
    put_choices(&json, report, (pw_hash){0, 0}); /* of contiguous types in GPU memory */
    put_choices_to_oneself(&json, report);
    pw_json_open(&json, "by_rank", '[');
    for (int64_t i = 0; i < report->nranks; i++) {
        pw_json_open(&json, NULL, '{');
        pw_json_int(&json, "rank", report->ranks[i].rank);
        pw_json_string(&json, "host", report->ranks[i].host);
        put_sums(&json, &report->ranks[i]);
        pw_json_close(&json, '}');
    }
    pw_json_close(&json, ']');
    pw_json_close(&json, '}');
}

char *pw_report_data(const pw_report *report, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);

    if (!out)
        return NULL;
    put_json(out, report);
    return fclose(out) == 0 ? text : (free(text), NULL);
}
