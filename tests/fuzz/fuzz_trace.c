/* Traces: the records of all ranks as bytes, merged; and a line of counts as text. */
#include "frontend/ddt/trace_record.h"
#include "tests/fuzz/check.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- merging ---------------------------------------------------------------------------------------------------- */

/* Returns the sum of the records of one hash. NULL: there is none. */
static const pw_trace_record *sum_up(const pw_trace_record *records, int64_t n, pw_hash hash, pw_trace_record *sum)
{
    const pw_trace_record *found = NULL;

    for (int64_t i = 0; i < n; i++) {
        if (!pw_hash_equal(records[i].hash, hash))
            continue;
        if (!found) {
            *sum = records[i];
        } else {
            pw_trace_add(sum, &records[i]);
            sum->owner = records[i].owner < sum->owner ? records[i].owner : sum->owner;
        }
        found = sum;
    }
    return found;
}

/* Makes counts non-negative, and takes few hashes, so that some are equal. */
static void tame(pw_trace_record *r)
{
#define X(name) r->name &= INT64_MAX;
    PW_TRACE_COUNTS(X)
#undef X
    r->hash = (pw_hash){r->hash.lo % 3, r->hash.hi % 3};
}

static void check_merge(const uint8_t *data, size_t size)
{
    int64_t n = (int64_t)(size / sizeof(pw_trace_record)), kept;
    pw_trace_record *all = calloc((size_t)n + 1, sizeof *all), *merged = calloc((size_t)n + 1, sizeof *merged), sum;

    if (!all || !merged)
        fuzz_fail("merge", "out of memory");
    memcpy(all, data, (size_t)n * sizeof *all);
    for (int64_t i = 0; i < n; i++)
        tame(&all[i]);
    memcpy(merged, all, (size_t)n * sizeof *all);
    kept = pw_trace_merge(merged, n);
    for (int64_t i = 0; i < kept; i++) {
        for (int64_t j = 0; j < i; j++)
            if (pw_hash_equal(merged[i].hash, merged[j].hash))
                fuzz_fail("merge", "two records of one type");
        if (i > 0 && merged[i - 1].bytes < merged[i].bytes)
            fuzz_fail("merge", "not ordered by bytes");
        if (!sum_up(all, n, merged[i].hash, &sum) || memcmp(&sum, &merged[i], sizeof sum) != 0)
            fuzz_fail("merge", "a record is not the sum of the ranks'");
    }
    for (int64_t i = 0; i < n; i++)
        if (!sum_up(merged, kept, all[i].hash, &sum))
            fuzz_fail("merge", "a type is lost");
    free(all);
    free(merged);
}

/* ---- a line ----------------------------------------------------------------------------------------------------- */

/* A line that was read is written and read again with the same result. */
static void check_line(const char *line, size_t size)
{
    pw_trace_record read = {0}, again = {0};
    char text[1024] = "", name[PW_TRACE_NAME];
    FILE *out;

    if (!pw_trace_parse(line, size, &read))
        return;
    pw_trace_name(read.hash, name);
    out = fmemopen(text, sizeof text, "w");
    if (!out || !pw_trace_is_name(name))
        fuzz_fail("line", name);
    pw_trace_print(out, &read, name, "byte");
    fclose(out);
    if (!pw_trace_parse(text, strcspn(text, "\n"), &again) || memcmp(&read, &again, sizeof read) != 0)
        fuzz_fail("line", text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_merge(data, size);
    if (size > 0)
        check_line((const char *)data, size);
    return 0;
}
