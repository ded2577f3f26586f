/* packwright report: what a run has written down as data, for people. */
#include "tools/report/report.h"

#include "base/replace.h"
#include "base/report_endings.h"
#include "tools/command.h"
#include "tools/input/source.h"
#include "tools/report/merged.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 30 };

typedef enum form { PAGE, TABLE, ALL, DATA, TRACE } form;

static void write_form(FILE *out, pw_data report, form it)
{
    pw_places places;

    pw_places_find(report, &places);
    if (it == PAGE)
        pw_report_page(out, report, &places);
    else
        pw_report_table(out, report, &places, it == ALL);
    if (it == ALL)
        pw_report_details(out, report, &places);
    pw_places_free(&places);
}

/* Writes the trace of processes, or their merged data. */
static void write_merged(FILE *out, pw_data processes, form it)
{
    pw_report merged;

    pw_report_merge(&merged, processes);
    (it == TRACE ? pw_report_put_trace : pw_report_put_data)(out, &merged);
    pw_report_free(&merged);
}

static pw_status parse(const pw_source *source, const char *text, size_t size, form it, pw_arena *arena, pw_data *out)
{
    pw_diag diag = {.status = PW_ERR_NOMEM, .text = "out of memory"};
    pw_status status = arena ? pw_json_parse(text, size, arena, out, &diag) : PW_ERR_NOMEM;

    diag.line = 0; /* the text says where */
    if (status == PW_OK && !pw_report_is_raw(*out) && !pw_json_member(*out, "by_rank", PW_JSON_ARRAY))
        status = pw_diag_set(&diag, PW_ERR_INVALID, "this is no report of a run (packwright run --report=FILE.json)");
    if (status == PW_OK && pw_data_number(*out, "format") > PW_REPORT_FORMAT)
        status =
            pw_diag_set(&diag, PW_ERR_UNSUPPORTED, "a later Packwright has written this: format %g, and %d is known",
                        pw_data_number(*out, "format"), PW_REPORT_FORMAT);
    if (status == PW_OK && it == TRACE && !pw_report_is_raw(*out))
        status =
            pw_diag_set(&diag, PW_ERR_INVALID, "these data are merged: a trace is made in the run (PACKWRIGHT_TRACE)");
    if (status != PW_OK)
        pw_source_error(source, source->text, &diag);
    return status;
}

/* Parses data, and writes a form of them as a text, malloc'ed. Data of processes become those of a run first. */
static bool render(const pw_source *source, const char *from, size_t bytes, form it, char **text, size_t *size)
{
    pw_arena *arena = pw_arena_create();
    pw_data data = NULL;
    FILE *out = parse(source, from, bytes, it, arena, &data) == PW_OK ? open_memstream(text, size) : NULL;
    bool is_raw = out && pw_report_is_raw(data), made;

    if (is_raw)
        write_merged(out, data, it);
    else if (out && it < DATA)
        write_form(out, data, it);
    else if (out)
        fwrite(from, 1, bytes, out);
    pw_arena_destroy(arena);
    made = out && fclose(out) == 0;
    if (made && is_raw && it < DATA) {
        char *merged = *text;

        made = render(source, merged, *size, it, text, size);
        free(merged);
    }
    return made;
}

/* Makes a form of a file of data: in a file, or on stdout, by one write. */
static bool make(const char *command, const char *data, form it, const char *file)
{
    pw_source source;
    pw_diag diag = {0};
    char *text = NULL;
    size_t size = 0;
    bool made;

    if (!pw_source_read(data, MOST_BYTES, &source))
        return false;
    made = render(&source, source.text, source.size, it, &text, &size);
    if (made && !file)
        made = pw_write_all(STDOUT_FILENO, text, size);
    else if (made && pw_replace_file(file, text, size, &diag) != PW_OK)
        made = pw_command_error(command, "%s", diag.text);
    free(text);
    pw_source_free(&source);
    return made;
}

bool pw_report_make(const char *command, const char *data, const char *page)
{
    return make(command, data, PAGE, page);
}

/* The data of one process of sessions are in "run.html.HOST-PID-N.json", and its page is "run.HOST-PID-N.html". */
static void page_of(const char *data, const char *page, char *out, size_t size)
{
    int stem = (int)(strlen(page) - strlen(".html")), whose = (int)(strlen(data) - strlen(page) - strlen(".json"));

    snprintf(out, size, "%.*s%.*s.html", stem, page, whose, data + strlen(page));
}

/* The pattern of data whose names begin with that of the page, which may have any characters. */
static void pattern_of(const char *page, char *out, size_t size)
{
    size_t n = 0;

    for (; *page && n + 8 < size; page++) {
        if (strchr("*?[\\", *page))
            out[n++] = '\\';
        out[n++] = *page;
    }
    snprintf(out + n, size - n, "*.json");
}

int pw_report_make_all(const char *command, const char *page)
{
    char pattern[2 * 4096], to[4096 + 512];
    glob_t found = {0};
    int n = 0;

    pattern_of(page, pattern, sizeof pattern);
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++) {
            page_of(found.gl_pathv[i], page, to, sizeof to);
            if (pw_report_make(command, found.gl_pathv[i], to)) {
                unlink(found.gl_pathv[i]);
                n++;
            }
        }
    globfree(&found);
    return n;
}

/* ---- the command ------------------------------------------------------------------------------------------------ */

/* Names the page as the data. Returns PW_EXIT_OK, or reports that it cannot. */
static int name_page(const char *data, char *out, size_t size)
{
    if (pw_report_ending_of(data) != PW_REPORT_JSON)
        return pw_usage_error(&pw_command_report, "%s: the name does not end with .json; name the page by -o", data);
    snprintf(out, size, "%.*s.html", (int)(strlen(data) - strlen(".json")), data);
    return PW_EXIT_OK;
}

static int run(int argc, char **argv)
{
    const char *data = NULL, *file = NULL;
    char beside[4096];
    form it = PAGE;

    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-o") && i + 1 < argc)
            file = argv[++i];
        else if (!strcmp(argv[i], "--stats"))
            it = TABLE;
        else if (!strcmp(argv[i], "--stats=all"))
            it = ALL;
        else if (!strcmp(argv[i], "--data"))
            it = DATA;
        else if (!strcmp(argv[i], "--trace"))
            it = TRACE;
        else if ((*argv[i] == '-' && argv[i][1]) || data)
            return pw_wrong_argument(&pw_command_report, argv[i]);
        else
            data = argv[i];
    }
    if (!data)
        return pw_usage_error(&pw_command_report, "no report (packwright run --report=FILE.json writes one)");
    if (!file && it == PAGE) {
        if (name_page(data, beside, sizeof beside) != PW_EXIT_OK)
            return PW_EXIT_USAGE;
        file = beside;
    }
    return make("report", data, it, file) ? PW_EXIT_OK : PW_EXIT_FAILURE;
}

const pw_command pw_command_report = {
    "report", "show what was done in a run, as a page or a table",
    "usage: packwright report FILE.json [-o FILE.html]\n"
    "       packwright report FILE.json --stats[=all]|--data|--trace [-o FILE]\n\n"
    "Shows the data that `packwright run --report=FILE.json` (PACKWRIGHT_REPORT) has written: as a page, one file "
    "that\n"
    "loads nothing, or as the table that `packwright run --stats` prints. FILE - is standard input. Where types were\n"
    "made is said by lines of source if the program is here, as it was, and has debug information.\n\n"
    "  -o FILE       what to write (default: a page by the name of the data, with .html; standard output)\n"
    "  --stats       print the types that took longest to pack, on a screen\n"
    "  --stats=all   print of every type what was done with it, and why\n"
    "  --data        print the data of all processes merged, where a run without this command has left them apart\n"
    "  --trace       print the types of such data, as PACKWRIGHT_TRACE writes them\n\n"
    "Exit status: 0; 1 when the data are none of a run or the page cannot be written; 2 when the command line is\n"
    "wrong.\n",
    run};
