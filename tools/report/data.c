/* Values of a report by name, and the words that all of its forms share. */
#include "tools/report/data.h"

#include "tools/report/numbers.h"

#include <inttypes.h>
#include <math.h>

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

pw_hash pw_data_hash(pw_data of, const char *name)
{
    pw_hash hash = {0, 0};

    sscanf(pw_data_text(of, name), "%16" SCNx64 "%16" SCNx64, &hash.hi, &hash.lo);
    return hash;
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

void pw_data_native_uses(pw_data of, char text[64])
{
    int64_t native = pw_data_whole(of, "saved_native_uses");

    text[0] = '\0';
    if (native > 0)
        snprintf(text, 64, " with %lld native uses", (long long)native);
}

/* Nothing is known of the program's own packing either. */
void pw_data_put_saved(FILE *out, pw_data of)
{
    int64_t known = pw_data_whole(of, "saved_uses"), unknown = pw_data_whole(of, "saved_unknown_uses");
    double saved = pw_data_ns(of, "saved_seconds");
    char native[64];

    if (known == 0) {
        fputs(unknown + pw_data_whole(of, "packs_and_unpacks") > 0
                  ? "not known (no trial)"
                  : "nothing (all was left to the MPI; what its way there took is not known)",
              out);
        return;
    }
    fputs(saved < 0 ? "nothing: lost about " : "about ", out);
    pw_put_time(out, fabs(saved));
    pw_data_native_uses(of, native);
    fprintf(out, " in %lld uses, by trials%s", (long long)known, native);
    if (unknown > 0)
        fprintf(out, "; not known of %lld (no trial)", (long long)unknown);
}

/* ---- what was done with a type ---------------------------------------------------------------------------------- */

static long long count(pw_data of, const char *name)
{
    return (long long)pw_data_whole(of, name);
}

static void print_kernel(FILE *out, pw_data type)
{
    pw_data kernel = pw_data_object(type, "kernel");
    long long ranks = count(pw_data_object(type, "ranks"), "count");
    const char *separator = "; kernel";

    if (count(kernel, "ranks_compiled")) {
        fprintf(out, "%s compiled by %lld of %lld ranks, %.1f ms", separator, count(kernel, "ranks_compiled"), ranks,
                pw_data_ns(kernel, "longest_compile_seconds") * 1e-6);
        separator = ",";
    }
    if (count(kernel, "ranks_loaded")) {
        fprintf(out, "%s from the disk cache in %lld of %lld ranks, %.2f ms", separator, count(kernel, "ranks_loaded"),
                ranks, pw_data_ns(kernel, "longest_load_seconds") * 1e-6);
        separator = ",";
    }
    if (count(kernel, "ranks_failed")) {
        fprintf(out, "%s not to be had in %lld of %lld ranks", separator, count(kernel, "ranks_failed"), ranks);
        separator = ",";
    }
    if (separator[0] == ';' && count(kernel, "gpu_ranks_compiled") + count(kernel, "gpu_ranks_loaded") == 0)
        fputs("; no kernel yet", out);
    if (count(kernel, "gpu_ranks_compiled"))
        fprintf(out, "; GPU kernel compiled by %lld of %lld ranks", count(kernel, "gpu_ranks_compiled"), ranks);
    if (count(kernel, "gpu_ranks_loaded"))
        fprintf(out, "; GPU kernel from the disk cache in %lld of %lld ranks", count(kernel, "gpu_ranks_loaded"),
                ranks);
}

const char *const pw_data_transfers[PW_STATS_BELONGINGS][PW_STATS_BOTH] = {
    {"sends", "receives"}, {"puts", "gets"}, {"writes", "reads"}};

/* Prints how many transfers took which strategy: "; 200 packed, 6 native sends". */
static void print_transfers(FILE *out, pw_data type)
{
    for (int i = 0; i < PW_STATS_BELONGINGS * PW_STATS_BOTH; i++) {
        const char *word = pw_data_transfers[i / PW_STATS_BOTH][i % PW_STATS_BOTH];
        pw_data by = pw_data_object(type, word);

        for (pw_data s = by ? by->first : NULL; s; s = s->next)
            fprintf(out, "%s%.0f %s", s == by->first ? "; " : ", ", s->number, s->name);
        if (by && by->first)
            fprintf(out, " %s", word);
    }
}

static void print_packing(FILE *out, pw_data type)
{
    double bytes = pw_data_number(type, "packed_bytes"), ns = pw_data_ns(type, "packing_seconds");

    pw_put_bytes(out, pw_data_whole(type, "bytes"));
    fprintf(out, " each; packed %lld, unpacked %lld times, ", count(type, "packs"), count(type, "unpacks"));
    pw_put_bytes(out, pw_data_whole(type, "packed_bytes"));
    if (ns > 0) {
        fputs(" in ", out);
        pw_put_time(out, ns);
        fprintf(out, " (%.2f GB/s)", bytes / ns);
    }
}

void pw_data_put_done(FILE *out, pw_data type)
{
    double calls = pw_data_number(type, "packs") + pw_data_number(type, "unpacks");

    print_packing(out, type);
    if (count(type, "unpacked_from_sender") > 0)
        fprintf(out, "; %lld messages unpacked from the sender's memory", count(type, "unpacked_from_sender"));
    if (count(type, "unpacked_from_sender_gpu") > 0)
        fprintf(out, ", %lld of them from its GPU's", count(type, "unpacked_from_sender_gpu"));
    if (calls > 0)
        fprintf(out, "; compiled kernel in %.0f %% of calls",
                100.0 * pw_data_number(pw_data_object(type, "kernel"), "calls") / calls);
    print_kernel(out, type);
    print_transfers(out, type);
}
