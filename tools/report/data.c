/* Values of a report by name, and the words that all of its forms share. */
#include "tools/report/data.h"

#include "tools/report/numbers.h"

#include <math.h>

const char *const pw_data_transfers[PW_DATA_TRANSFERS] = {"sends", "receives", "puts", "gets", "writes", "reads"};

bool pw_data_has(pw_data of, const char *name)
{
    return pw_json_member(of, name, PW_JSON_NUMBER) != NULL;
}

double pw_data_number(pw_data of, const char *name)
{
    pw_data v = pw_json_member(of, name, PW_JSON_NUMBER);

    return v ? v->number : 0;
}

int64_t pw_data_whole(pw_data of, const char *name)
{
    double v = pw_data_number(of, name);

    return fabs(v) < 9e18 ? (int64_t)v : 0;
}

double pw_data_ns(pw_data of, const char *name)
{
    return 1e9 * pw_data_number(of, name);
}

const char *pw_data_text(pw_data of, const char *name)
{
    pw_data v = pw_json_member(of, name, PW_JSON_STRING);

    return v ? v->text : "";
}

pw_data pw_data_object(pw_data of, const char *name)
{
    return pw_json_member(of, name, PW_JSON_OBJECT);
}

pw_data pw_data_first(pw_data of, const char *name)
{
    pw_data v = pw_json_member(of, name, PW_JSON_ARRAY);

    return v ? v->first : NULL;
}

bool pw_data_was_used(pw_data type)
{
    pw_data kernel = pw_data_object(type, "kernel");

    return pw_data_number(type, "packs") + pw_data_number(type, "unpacks") + pw_data_number(type, "moved_bytes") +
               pw_data_number(kernel, "gpu_ranks_compiled") + pw_data_number(kernel, "gpu_ranks_loaded") >
           0;
}

const char *pw_data_type(pw_data type)
{
    const char *built = pw_data_text(type, "built");

    return *built ? built : pw_data_text(type, "ddt");
}

/* Nothing is known of the program's own packing either. */
void pw_data_put_saved(FILE *out, pw_data of)
{
    int64_t known = pw_data_whole(of, "saved_uses"), unknown = pw_data_whole(of, "saved_unknown_uses");
    double saved = pw_data_ns(of, "saved_seconds");

    if (known == 0) {
        fputs(unknown + pw_data_whole(of, "packs_and_unpacks") > 0 ? "not known (no trial)"
                                                                   : "nothing (all was left to the MPI)",
              out);
        return;
    }
    fputs(saved < 0 ? "nothing: lost " : "", out);
    pw_put_time(out, fabs(saved));
    fprintf(out, " in %lld uses, by trials", (long long)known);
    if (unknown > 0)
        fprintf(out, "; not known of %lld (no trial)", (long long)unknown);
}
