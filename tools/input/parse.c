/* The two languages of an input behind one set of functions. */
#include "tools/input/internal.h"

#include "base/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the datatype language ---------------------------------------------------------------------- */

static void report_ddt(void *arg, const pw_diag *diag)
{
    pw_input *in = arg;

    pw_input_report(in, in->source.text, diag);
}

void pw_input_parse_ddt(pw_input *in)
{
    pw_status status = pw_ddt_parse(in->source.text, in->source.size, report_ddt, in, &in->unit);
    pw_diag diag = {.status = status};

    if (status == PW_OK || in->nerrors > 0)
        return;
    snprintf(diag.text, sizeof diag.text, "%s", pw_status_text(status));
    pw_input_report(in, in->source.text, &diag);
}

static pw_status make_ddt(const pw_input *in, pw_input_ref ref, pw_arena *arena, pw_type *out, pw_diag *diag)
{
    pw_builder b = {.arena = arena};
    pw_dt t;
    pw_status status = pw_ddt_build(in->unit, ref.entry, ref.variant, &b, &t, diag);

    if (status == PW_OK)
        *out = pw_dt_finish(t);
    return status;
}

/* ---- IR text ------------------------------------------------------------------------------------ */

/* Moves the place from `from` on to `to`. */
static void advance_place(const char *from, const char *to, int *line, int *col)
{
    const char *begin = from;

    for (const char *p = from; (p = memchr(p, '\n', (size_t)(to - p))) != NULL; begin = ++p)
        (*line)++;
    *col = (int)(to - begin) + (begin == from ? *col : 1);
}

static bool add_ir(pw_input *in, const char *from, int line, int col)
{
    pw_input_ir *grown = pw_grow(in->ir, in->nir, &in->room_ir, sizeof *grown);
    pw_diag diag = {.status = PW_ERR_NOMEM, .text = "out of memory"};

    if (!grown) {
        pw_input_report(in, from, &diag);
        return false;
    }
    in->ir = grown;
    in->ir[in->nir++] = (pw_input_ir){from, line, col};
    return true;
}

/* Parses the type at `from`; *end is what follows it, or, after an error, the next line that begins one. */
static bool parse_one(pw_input *in, const char *from, const char **end)
{
    pw_arena *arena = pw_arena_create();
    pw_diag diag = {.status = PW_ERR_NOMEM, .text = "out of memory"};
    pw_type type;
    pw_status status = arena ? pw_parse(from, arena, &type, end, &diag) : PW_ERR_NOMEM;

    pw_arena_destroy(arena);
    if (status == PW_OK)
        return true;
    pw_input_report(in, from, &diag);
    *end = strstr(from, "\ntype");
    return arena != NULL && in->nerrors < PW_INPUT_MAX_ERRORS;
}

void pw_input_parse_ir(pw_input *in, pw_skip_fn *skip_blanks)
{
    const char *before = in->source.text, *at = skip_blanks(before);
    int line = 1, col = 1;

    while (at && *at) {
        const char *end = NULL;

        advance_place(before, at, &line, &col);
        if (!add_ir(in, at, line, col) || !parse_one(in, at, &end))
            return;
        before = at;
        at = end ? skip_blanks(end) : NULL;
    }
}

/* ---- both --------------------------------------------------------------------------------------- */

int64_t pw_input_entries(const pw_input *in)
{
    return in->unit ? pw_ddt_count(in->unit) : in->nir;
}

pw_ddt_entry pw_input_entry(const pw_input *in, int64_t entry)
{
    if (in->unit)
        return pw_ddt_get(in->unit, entry);
    return (pw_ddt_entry){.name = "", .line = in->ir[entry].line, .col = in->ir[entry].col, .variants = 1};
}

const char *pw_input_from(const pw_input *in, int64_t i)
{
    return in->unit ? in->source.text : in->ir[in->items[i].entry].from;
}

pw_status pw_input_make(const pw_input *in, int64_t i, pw_arena *arena, pw_type *out, pw_diag *diag)
{
    const char *end;

    if (in->unit)
        return make_ddt(in, in->items[i], arena, out, diag);
    return pw_parse(in->ir[in->items[i].entry].from, arena, out, &end, diag);
}
