/*
 * Purpose: what this process has to report, as data. Data: none of its own; counts are read from layouts, entries and
 * sites. Invariant: the names are those that tools/report/record.h, choice.h and merged.c read.
 */
#include "runtime/mpi/stats/report.h"

#include "frontend/ddt/ddt.h"
#include "runtime/engine/gpu/layout.h"
#include "runtime/engine/model/model.h"
#include "runtime/mpi/strategy/strategy.h"
#include "runtime/mpi/types/registry.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void put_count(pw_json *json, const char *name, int64_t count)
{
    if (count)
        pw_json_int(json, name, count);
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

/* Writes transfers of one kind and direction by strategy. */
static void put_used(pw_json *json, const pw_entry *entry, pw_transfer_kind of, pw_role direction)
{
    static const char *const words[PW_TRANSFERS][2] = {{"sends", "receives"}, {"puts", "gets"}, {"writes", "reads"}};

    pw_json_open(json, words[of][direction], '{');
    for (int id = 0; id < PW_STRATEGY_COUNT; id++)
        put_count(json, pw_strategy_names[id], entry->choices.used[of][id][direction]);
    pw_json_close(json, '}');
}

static void put_kernel(pw_json *json, const pw_kernel *kernel)
{
    bool compiled = kernel->origin == PW_ORIGIN_COMPILED;

    put_count(json, "failed", kernel->state == PW_KERNEL_FAILED);
    if (!compiled && kernel->origin != PW_ORIGIN_DISK)
        return;
    pw_json_int(json, compiled ? "compiled" : "loaded", 1);
    pw_json_int(json, compiled ? "compile_ns" : "load_ns", kernel->ready_ns);
}

static void put_text(pw_json *json, const pw_layout *layout)
{
    pw_arena *arena = pw_arena_create();
    pw_type type;
    char *text = arena && pw_layout_raise(layout, arena, &type) == PW_OK ? pw_ddt_print(&type) : NULL;

    pw_json_string(json, "ddt", text ? text : "?");
    free(text);
    pw_arena_destroy(arena);
}

static void put_type(void *arg, const pw_entry *entry)
{
    pw_json *json = arg;
    const pw_layout *layout = entry->layout;

    pw_json_open(json, NULL, '{');
    pw_json_hash(json, "hash", layout->hash);
    pw_json_int(json, "size", layout->size);
    put_text(json, layout);
    pw_built_put(json, entry->built);
    put_count(json, "packs", layout->stats.packs);
    put_count(json, "unpacks", layout->stats.unpacks);
    put_count(json, "bytes", layout->stats.bytes);
    put_count(json, "nanoseconds", layout->stats.nanoseconds);
    put_count(json, "tier1_calls", layout->stats.tier1_calls);
    put_count(json, "shared", layout->stats.shared);
    put_count(json, "from_gpu", layout->stats.from_gpu);
    put_count(json, "moved", entry->choices.moved);
    if (layout->kernel)
        put_kernel(json, layout->kernel);
    put_count(json, "gpu_compiled", pw_gpu_layout_origin(layout) == PW_ORIGIN_COMPILED);
    put_count(json, "gpu_loaded", pw_gpu_layout_origin(layout) == PW_ORIGIN_DISK);
    for (int of = 0; of < PW_TRANSFERS; of++)
        for (int direction = PW_SEND; direction <= PW_RECV; direction++)
            put_used(json, entry, (pw_transfer_kind)of, (pw_role)direction);
    pw_json_close(json, '}');
}

/* ---- sites ------------------------------------------------------------------------------------------------------- */

static bool was_used(const pw_site *site)
{
    for (int id = 0; id < site->ways; id++)
        if (site->cells[id].uses)
            return true;
    return false;
}

/* A way that cannot carry the messages has no total. */
static void put_way(pw_json *json, const pw_site_cell *cell, const char *name)
{
    float total = cell->total, tried = cell->tried;

    pw_json_open(json, name, '{');
    put_count(json, "uses", cell->uses);
    if (total >= 0)
        pw_json_double(json, "total", (double)total);
    if (tried > 0)
        pw_json_double(json, "tried", (double)tried);
    pw_json_close(json, '}');
}

static void put_site(void *arg, const pw_site *site)
{
    pw_json *json = arg;

    if (!was_used(site))
        return;
    pw_json_open(json, NULL, '{');
    pw_json_hash(json, "hash", site->example);
    put_count(json, "low", site->key.size > 0 ? pw_site_most((uint16_t)(site->key.size - 1)) : 0);
    put_count(json, "high", pw_site_most(site->key.size));
    put_count(json, "kind", site->key.kind % PW_CALL_KINDS + site->key.role / PW_SITE_LATER % 2);
    put_count(json, "memory", (site->key.place & 0xffff) != 0);
    pw_json_open(json, "ways", '{');
    for (int id = 0; id < site->ways; id++)
        put_way(json, &site->cells[id], pw_strategy_names[id]);
    pw_json_close(json, '}');
    pw_json_close(json, '}');
}

/* ---- the process, and the run ------------------------------------------------------------------------------------ */

void pw_report_put_process(FILE *out, int rank, int64_t elapsed)
{
    const pw_note_totals noted = pw_note_total();
    char host[64] = "";
    pw_json json;

    gethostname(host, sizeof host - 1);
    if (rank > 0)
        fputc(',', out);
    pw_json_begin(&json, out);
    pw_json_open(&json, NULL, '{');
    pw_json_int(&json, "rank", rank);
    pw_json_string(&json, "host", host);
    pw_json_int(&json, "elapsed", elapsed);
    put_count(&json, "noted_types", noted.types);
    put_count(&json, "noted_uses", noted.uses);
    put_count(&json, "noted_bytes", noted.bytes);
    pw_json_open(&json, "types", '[');
    pw_registry_each(put_type, &json);
    pw_json_close(&json, ']');
    pw_json_open(&json, "sites", '[');
    pw_site_each(put_site, &json);
    pw_json_close(&json, ']');
    pw_json_open(&json, "not_freed", '[');
    pw_unfreed_put(&json);
    pw_json_close(&json, ']');
    pw_json_close(&json, '}');
}

/* Writes the last part of the program's path. */
static void put_program(pw_json *json)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    const char *slash;

    path[n > 0 ? n : 0] = '\0';
    slash = strrchr(path, '/');
    pw_json_string(json, "program", slash ? slash + 1 : "a program");
}

/* Writes the first line of what the MPI says of itself. */
static void put_mpi(pw_json *json)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
    int n = 0;

    PMPI_Get_library_version(text, &n);
    text[strcspn(text, "\n,")] = '\0';
    for (char *c = text; *c; c++)
        *c = *c == '\t' ? ' ' : *c;
    pw_json_string(json, "mpi", text);
}

/* Writes where estimates come from: "defaults", or a model and the day when it was measured. Those of messages in host
 * memory have defaults only. */
static void put_source_of_estimates(pw_json *json)
{
    const pw_model *m = pw_model_now();
    char text[64] = "defaults";

    if (m->measured)
        snprintf(text, sizeof text, "model of %.10s", *m->origin.date ? m->origin.date : "unknown date");
    pw_json_string(json, "estimates", text);
}

void pw_report_put_run(FILE *out)
{
    time_t now = time(NULL);
    char date[32];
    struct tm utc;
    pw_json json;

    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    fputs("{\"run\": ", out);
    pw_json_begin(&json, out);
    pw_json_open(&json, NULL, '{');
    pw_json_string(&json, "packwright", PW_PROJECT_VERSION);
    put_program(&json);
    put_mpi(&json);
    pw_json_string(&json, "date", date);
    put_source_of_estimates(&json);
    pw_json_close(&json, '}');
    fputs(", \"processes\": [\n", out);
}
