/* A report in full for people: every type with what was done with it, and why. */
#include "tools/report/data.h"
#include "tools/report/numbers.h"
#include "tools/report/report.h"

#include <string.h>

static long long count(pw_data of, const char *name)
{
    return (long long)pw_data_whole(of, name);
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

/* Prints the layout that a type as it was built has, and where it was made. */
static void print_origin(FILE *out, pw_data type, const pw_places *places)
{
    const char *separator = "packwright:     made at ";

    if (*pw_data_text(type, "built"))
        fprintf(out, "packwright:     layout %s\n", pw_data_text(type, "ddt"));
    for (pw_data made = pw_data_first(type, "made_at"); made; made = made->next) {
        const char *line = pw_places_line(places, made);

        if (!*line)
            continue;
        fprintf(out, "%s%s", separator, line);
        separator = ", ";
    }
    if (*separator == ',')
        fputc('\n', out);
}

static void print_record(FILE *out, pw_data type, const pw_places *places)
{
    const char *name = pw_data_text(type, "name");

    fprintf(out, "packwright:   %s%s%s\n", name, *name ? " = " : "", pw_data_type(type));
    print_origin(out, type, places);
    fputs("packwright:     ", out);
    pw_data_put_done(out, type);
    fputc('\n', out);
}

/* ---- choices ----------------------------------------------------------------------------------------------------- */

/* Prints the times of strategies that have one, but for one of them: " (native 31 us, direct 9 us". Returns whether
 * there are any. */
static bool print_times(FILE *out, pw_data strategies, const char *name, const char *before, const char *except)
{
    const char *separator = before;

    for (pw_data s = strategies ? strategies->first : NULL; s; s = s->next) {
        if (!strcmp(s->name, except) || !pw_data_has(s, name))
            continue;
        fprintf(out, "%s%s ", separator, s->name);
        pw_put_time(out, pw_data_ns(s, name));
        separator = ", ";
    }
    return separator != before;
}

/* Prints a choice, and why, as a line. */
static void print_choice(FILE *out, pw_data choice)
{
    pw_data strategies = pw_data_object(choice, "strategies");
    const char *most = pw_data_text(choice, "mostly"), *place = pw_data_text(choice, "place");
    pw_data taken = pw_data_object(strategies, most);
    bool is_host = !strcmp(place, "host memory");

    fputs("packwright:     ", out);
    pw_put_bytes(out, pw_data_whole(choice, "more_than_bytes"));
    fputs(" to ", out);
    pw_put_bytes(out, pw_data_whole(choice, "up_to_bytes"));
    fprintf(out, ", %s%s%s: %s", pw_data_text(choice, "kind"), is_host ? "" : ", ", is_host ? "" : place, most);
    if (pw_data_has(taken, "estimated_seconds")) {
        fputs(" at an estimated ", out);
        pw_put_time(out, pw_data_ns(taken, "estimated_seconds"));
    }
    if (print_times(out, strategies, "estimated_seconds", " (", most))
        fputc(')', out);
    fprintf(out, ", %lld times", count(taken, "uses"));
    for (pw_data s = strategies ? strategies->first : NULL; s; s = s->next)
        if (s != taken && count(s, "uses"))
            fprintf(out, ", %s %lld", s->name, count(s, "uses"));
    if (print_times(out, strategies, "tried_seconds", "; tried: ", ""))
        fputs(" a use", out);
    if (count(choice, "saved_uses") > 0) {
        fputs("; saved ", out);
        pw_data_put_saved(out, choice);
    }
    fputc('\n', out);
}

/* Prints choices behind a line that says of what, if there are any. */
static bool print_choices(FILE *out, pw_data choices, const char *heading)
{
    fputs(choices ? heading : "", out);
    for (pw_data choice = choices; choice; choice = choice->next)
        print_choice(out, choice);
    return choices != NULL;
}

void pw_report_details(FILE *out, pw_data report, const pw_places *places)
{
    const char *estimates = pw_data_text(report, "estimates");
    int64_t unused = 0;
    bool any = false;

    for (pw_data type = pw_data_first(report, "types"); type; type = type->next) {
        if (!pw_data_was_used(type)) {
            unused++;
            continue;
        }
        print_record(out, type, places);
        any |= print_choices(out, pw_data_first(type, "choices"), "");
    }
    if (unused > 0)
        fprintf(out, "packwright:   and %lld more, never used\n", (long long)unused);
    any |= print_choices(out, pw_data_first(report, "choices"), "packwright:   contiguous types\n");
    any |= print_choices(out, pw_data_first(report, "choices_to_oneself"), "packwright:   from a rank to itself\n");
    if (any)
        fprintf(out, "packwright:   estimates are %s%s\n", !strcmp(estimates, "defaults") ? "" : "those of the ",
                estimates);
}
