/*
 * Purpose: PACKWRIGHT_TRACE, every committed type in the datatype language. Data: none of its own. Invariant: the file
 * is replaced whole, by one process alone.
 */
#include "runtime/mpi/stats/report.h"
#include "runtime/mpi/stats/stats.h"

#include "base/env.h"
#include "base/log.h"
#include "base/replace.h"
#include "frontend/ddt/trace_record.h"

#include <stdlib.h>

bool pw_trace_is_on(void)
{
    return *pw_env_string(PW_ENV_TRACE) != '\0';
}

static pw_trace_record record_of(const pw_stats_record *r, int64_t place)
{
    pw_trace_record t = {.hash = r->hash,
                         .commits = r->commits,
                         .packs = r->packs,
                         .unpacks = r->unpacks,
                         .bytes = r->bytes,
                         .ranks = r->ranks,
                         .owner = place};

    for (int id = 0; id < PW_STRATEGY_COUNT; id++) {
        t.sends += r->used[PW_TRANSFER_MESSAGE][id][PW_SEND];
        t.receives += r->used[PW_TRANSFER_MESSAGE][id][PW_RECV];
    }
    return t;
}

static void print(FILE *out, const pw_report *report, pw_trace_record *records)
{
    fprintf(out, "# Types that a run of %lld rank%s committed. See packwright-trace(1).\n", (long long)report->nranks,
            report->nranks == 1 ? "" : "s");
    for (int64_t i = 0; i < report->n; i++)
        records[i] = record_of(&report->records[i], i);
    for (int64_t i = 0, n = pw_trace_merge(records, report->n); i < n; i++) {
        char name[PW_TRACE_NAME];

        pw_trace_name(records[i].hash, name);
        pw_trace_print(out, &records[i], name, report->records[records[i].owner].ddt);
    }
}

void pw_trace_write(const pw_report *report, const char *path)
{
    pw_diag diag = {.status = PW_ERR_NOMEM, .text = "out of memory"};
    pw_trace_record *records = calloc((size_t)report->n + 1, sizeof *records);
    char *text = NULL;
    size_t size = 0;
    FILE *out = records ? open_memstream(&text, &size) : NULL;
    bool printed;

    if (out)
        print(out, report, records);
    printed = out && fclose(out) == 0;
    if (!printed || pw_replace_file(path, text, size, &diag) != PW_OK)
        pw_log(PW_LOG_WARN, "no trace: %s", diag.text);
    free(text);
    free(records);
}
