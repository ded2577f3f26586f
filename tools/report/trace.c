/* The trace of a run: every committed type in the datatype language. */
#include "frontend/ddt/trace_record.h"
#include "tools/report/merged.h"

#include <stdlib.h>

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
        t.sends += r->used[PW_STATS_MESSAGES][id][0];
        t.receives += r->used[PW_STATS_MESSAGES][id][1];
    }
    return t;
}

void pw_report_put_trace(FILE *out, const pw_report *report)
{
    const pw_stats_record *types = report->records.at;
    pw_trace_record *records = calloc((size_t)report->records.n + 1, sizeof *records);

    if (!records)
        return;
    fprintf(out, "# Types that a run of %lld rank%s committed. See packwright-trace(1).\n", (long long)report->ranks.n,
            report->ranks.n == 1 ? "" : "s");
    for (int64_t i = 0; i < report->records.n; i++)
        records[i] = record_of(&types[i], i);
    for (int64_t i = 0, n = pw_trace_merge(records, report->records.n); i < n; i++) {
        char name[PW_TRACE_NAME];

        pw_trace_name(records[i].hash, name);
        pw_trace_print(out, &records[i], name, types[records[i].owner].ddt);
    }
    free(records);
}
