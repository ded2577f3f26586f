#include "tools/input/input.h"

#include "base/grow.h"
#include "tools/input/internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- finding the text -------------------------------------------------------------------------------------------- */

/* Skips blanks and the comments of both languages. */
static const char *skip_blanks(const char *p)
{
    for (;;) {
        p += strspn(p, " \t\r\n");
        if (*p != '#' && (p[0] != '/' || p[1] != '/'))
            return p;
        p += strcspn(p, "\n");
    }
}

/* Returns whether the text is IR: no type of the datatype language begins with "type" and a parenthesis. */
static bool is_ir_text(const char *text)
{
    const char *p = skip_blanks(text);

    return !strncmp(p, "type", 4) && *skip_blanks(p + 4) == '(';
}

static void report_nothing(void *arg, const pw_diag *diag)
{
    (void)arg;
    (void)diag;
}

static bool parses(const char *text)
{
    pw_ddt_unit *unit = NULL;
    bool good = pw_ddt_parse(text, strlen(text), report_nothing, NULL, &unit) == PW_OK && pw_ddt_count(unit) > 0;

    pw_ddt_destroy(unit);
    return good;
}

/* Returns whether an argument that names no file is meant as a type. Its errors are then those of a type. */
static bool is_meant_as_type(const char *arg)
{
    struct stat st;

    if (!strcmp(arg, "-") || !stat(arg, &st))
        return false;
    return is_ir_text(arg) || parses(arg) || (strpbrk(arg, "[(") && !strchr(arg, '.'));
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

void pw_input_report(pw_input *in, const char *from, const pw_diag *diag)
{
    for (int i = 0; i < in->nerrors; i++)
        if (diag->line > 0 && in->reported[i].from == from && in->reported[i].line == diag->line &&
            in->reported[i].col == diag->col)
            return;
    if (in->nerrors < PW_INPUT_MAX_ERRORS) {
        in->reported[in->nerrors] = (pw_input_place){from, diag->line, diag->col};
        pw_source_error(&in->source, from, diag);
    }
    in->nerrors++;
}

/* Reports an error of the input as a whole. */
static pw_status refuse(pw_input *in, pw_status status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static pw_status refuse(pw_input *in, pw_status status, const char *fmt, ...)
{
    pw_diag diag = {0};
    va_list ap;

    va_start(ap, fmt);
    pw_diag_setv(&diag, status, fmt, ap);
    va_end(ap);
    diag.line = diag.col = 0;
    pw_input_report(in, in->source.text, &diag);
    return status;
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

static bool take_entry(pw_input *in, int64_t entry, const pw_input_choice *choice)
{
    pw_ddt_entry e = pw_input_entry(in, entry);
    int64_t first = choice->only_variant ? choice->variant : 0;
    int64_t last = choice->only_variant ? choice->variant + 1 : e.variants;

    if (first < 0 || last > e.variants) {
        pw_diag diag = {.status = PW_ERR_NOT_FOUND, .line = e.line, .col = e.col};

        snprintf(diag.text, sizeof diag.text, "there is no variant %" PRId64 ": this type has %" PRId64 ", from 0",
                 choice->variant, e.variants);
        pw_input_report(in, in->source.text, &diag);
        return true;
    }
    for (int64_t k = first; k < last; k++) {
        pw_input_ref *ref = pw_grow(in->items, in->nitems, &in->room_items, sizeof *ref);

        if (!ref) {
            refuse(in, PW_ERR_NOMEM, "out of memory");
            return false;
        }
        in->items = ref;
        if (in->nitems == PW_INPUT_MAX_TYPES) {
            refuse(in, PW_ERR_INVALID, "it stands for more than %d types", PW_INPUT_MAX_TYPES);
            return false;
        }
        in->items[in->nitems++] = (pw_input_ref){entry, k};
    }
    return true;
}

static void choose(pw_input *in, const pw_input_choice *choice)
{
    int64_t n = pw_input_entries(in);
    bool found = false;

    if (n == 0)
        refuse(in, PW_ERR_INVALID, "there is no type in it");
    for (int64_t i = 0; i < n; i++) {
        if (choice->name && strcmp(choice->name, pw_input_entry(in, i).name) != 0)
            continue;
        found = true;
        if (!take_entry(in, i, choice))
            return;
    }
    if (n > 0 && !found) {
        pw_diag diag = {0};

        pw_ddt_unknown(in->unit, choice->name, &diag);
        pw_input_report(in, in->source.text, &diag);
    }
}

/* ---- building ---------------------------------------------------------------------------------------------------- */

/* Builds every item once, to report its errors. A bound on the memory of all items bounds the time, too. */
static void check_items(pw_input *in)
{
    int64_t failed_entry = -1;
    uint64_t bytes = 0;

    for (int64_t i = 0; i < in->nitems && in->nerrors < PW_INPUT_MAX_ERRORS; i++) {
        pw_arena *arena = pw_arena_create();
        pw_diag diag = {0};
        pw_type type;

        if (!arena) {
            refuse(in, PW_ERR_NOMEM, "out of memory");
            return;
        }
        if (in->items[i].entry != failed_entry && pw_input_make(in, i, arena, &type, &diag) != PW_OK) {
            pw_input_report(in, pw_input_from(in, i), &diag);
            failed_entry = in->items[i].entry;
        }
        bytes += pw_arena_used(arena);
        pw_arena_destroy(arena);
        if (bytes > PW_INPUT_MAX_BYTES) {
            refuse(in, PW_ERR_INVALID, "the types in it are too large: more than %" PRIu64 " GiB when built",
                   (uint64_t)PW_INPUT_MAX_BYTES >> 30);
            return;
        }
    }
}

pw_status pw_input_build(const pw_input *in, int64_t i, pw_arena *arena, pw_type *out)
{
    pw_diag diag = {0};
    pw_status status = pw_input_make(in, i, arena, out, &diag);

    if (status != PW_OK)
        pw_input_error(in, i, &diag);
    return status;
}

/* ---- the input --------------------------------------------------------------------------------------------------- */

/* Returns whether an argument is a single word that no file has as its name. It may be a misspelt type as well. */
static bool is_word(const char *arg)
{
    struct stat st;

    return *arg && !arg[strspn(arg, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] &&
           stat(arg, &st) != 0;
}

static bool read_source(const char *arg, pw_source *out)
{
    if (is_meant_as_type(arg))
        return pw_source_from_text("<argument>", arg, out);
    if (is_word(arg)) {
        fprintf(stderr,
                "packwright: '%s' is neither a file nor a type; 'packwright help types' says how types are "
                "written\n",
                arg);
        return false;
    }
    return pw_source_read(arg, PW_DDT_MAX_TEXT, out);
}

pw_status pw_input_load(const char *arg, const pw_input_choice *choice, pw_input **out)
{
    static const pw_input_choice all;
    pw_input *in = calloc(1, sizeof *in);

    if (!in) {
        fprintf(stderr, "packwright: %s\n", pw_status_text(PW_ERR_NOMEM));
        return PW_ERR_NOMEM;
    }
    if (!read_source(arg, &in->source)) {
        free(in);
        return PW_ERR_IO;
    }
    if (is_ir_text(in->source.text))
        pw_input_parse_ir(in, skip_blanks);
    else
        pw_input_parse_ddt(in);
    if (in->nerrors == 0)
        choose(in, choice ? choice : &all);
    if (in->nerrors == 0)
        check_items(in);
    if (in->nerrors > 0) {
        pw_input_free(in);
        return PW_ERR_INVALID;
    }
    *out = in;
    return PW_OK;
}

void pw_input_free(pw_input *in)
{
    if (!in)
        return;
    pw_ddt_destroy(in->unit);
    pw_source_free(&in->source);
    free(in->ir);
    free(in->items);
    free(in);
}

const char *pw_input_text(const pw_input *input)
{
    return input->source.text;
}

const char *pw_input_name(const pw_input *in)
{
    return in->source.name;
}

int64_t pw_input_count(const pw_input *in)
{
    return in->nitems;
}

pw_input_item pw_input_get(const pw_input *in, int64_t i)
{
    pw_ddt_entry e = pw_input_entry(in, in->items[i].entry);

    return (pw_input_item){.name = e.name,
                           .line = e.line,
                           .col = e.col,
                           .entry = in->items[i].entry,
                           .variant = in->items[i].variant,
                           .variants = e.variants,
                           .text = in->unit ? in->source.text + e.begin : NULL,
                           .size = e.size,
                           .element = e.element};
}

void pw_input_label(const pw_input *in, int64_t i, char out[PW_INPUT_LABEL])
{
    pw_input_item item = pw_input_get(in, i);
    char variant[24] = "";

    if (item.variants > 1)
        snprintf(variant, sizeof variant, ".%" PRId64, item.variant);
    if (*item.name)
        snprintf(out, PW_INPUT_LABEL, "%.50s%s", item.name, variant);
    else
        snprintf(out, PW_INPUT_LABEL, "line %d%s", item.line, variant);
}

void pw_input_error_at(const pw_input *in, const pw_diag *diag)
{
    pw_source_error(&in->source, in->source.text, diag);
}

void pw_input_error(const pw_input *in, int64_t i, const pw_diag *diag)
{
    pw_input_item item = pw_input_get(in, i);
    pw_diag placed = {.status = diag->status, .line = item.line, .col = item.col};
    char label[PW_INPUT_LABEL];
    bool told = !*item.name && item.variants == 1; /* the place before the text says which type it is */

    pw_input_label(in, i, label);
    snprintf(placed.text, sizeof placed.text, "%s%s%.160s", told ? "" : label, told ? "" : ": ", diag->text);
    pw_source_error(&in->source, in->source.text, &placed);
}
