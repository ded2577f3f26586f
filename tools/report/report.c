/* packwright report: a page of what a run has written down as data. */
#include "tools/report/report.h"

#include "base/replace.h"
#include "base/report_endings.h"
#include "tools/command.h"
#include "tools/input/source.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 30 };

/* Parses data, and writes the page as a text, malloc'ed. */
static bool render(const pw_source *source, char **text, size_t *size)
{
    pw_arena *arena = pw_arena_create();
    const pw_json_value *report = NULL;
    pw_diag diag = {.status = PW_ERR_NOMEM, .text = "out of memory"};
    bool is_report = arena && pw_json_parse(source->text, source->size, arena, &report, &diag) == PW_OK;
    FILE *out;

    if (is_report && !pw_json_member(report, "by_rank", PW_JSON_ARRAY)) {
        pw_diag_set(&diag, PW_ERR_INVALID, "this is no report of a run (packwright run --report=FILE.json)");
        is_report = false;
    }
    if (!is_report)
        pw_source_error(source, source->text, &diag);
    out = is_report ? open_memstream(text, size) : NULL;
    if (out)
        pw_report_page(out, report);
    pw_arena_destroy(arena);
    return out && fclose(out) == 0;
}

bool pw_report_make(const char *command, const char *data, const char *page)
{
    pw_source source;
    pw_diag diag = {0};
    char *text = NULL;
    size_t size = 0;
    bool made;

    if (!pw_source_read(data, MOST_BYTES, &source))
        return false;
    made = render(&source, &text, &size);
    if (made && pw_replace_file(page, text, size, &diag) != PW_OK)
        made = pw_command_error(command, "%s", diag.text);
    free(text);
    pw_source_free(&source);
    return made;
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

static int run(int argc, char **argv)
{
    const char *data = NULL, *page = NULL;
    char beside[4096];

    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-o") && i + 1 < argc)
            page = argv[++i];
        else if (*argv[i] == '-' || data)
            return pw_wrong_argument(&pw_command_report, argv[i]);
        else
            data = argv[i];
    }
    if (!data)
        return pw_usage_error(&pw_command_report, "no report (packwright run --report=FILE.json writes one)");
    if (!page && pw_report_ending_of(data) != PW_REPORT_JSON)
        return pw_usage_error(&pw_command_report, "%s: the name does not end with .json; name the page by -o", data);
    snprintf(beside, sizeof beside, "%.*s.html", (int)(strlen(data) - strlen(".json")), data);
    return pw_report_make("report", data, page ? page : beside) ? PW_EXIT_OK : PW_EXIT_FAILURE;
}

const pw_command pw_command_report = {"report", "make a page of what was done in a run",
                                      "usage: packwright report FILE.json [-o FILE.html]\n\n"
                                      "Makes a page of the data that `packwright run --report=FILE.json` "
                                      "(PACKWRIGHT_REPORT) has written. The page is one\n"
                                      "file that loads nothing. `packwright run --report=FILE.html` does both.\n\n"
                                      "  -o FILE   the page (default: the name of the data, with .html)\n\n"
                                      "Exit status: 0; 1 when the data are none of a run or the page cannot be "
                                      "written; 2 when the command line is wrong.\n",
                                      run};
