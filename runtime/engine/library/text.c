/*
 * Types from text, and the text of types. Data: none. Invariant: what is wrong with a text is said with its place, and
 * errno stays as it was.
 */
#include "runtime/engine/library/internal.h"

#include "frontend/ddt/ddt.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* ---- the datatype language ----------------------------------------------------------------------------- */

static void keep_first(void *arg, const pw_diag *diag)
{
    pw_diag *first = arg;

    if (!first->text[0])
        *first = *diag;
}

static packwright_status parse(const char *text, pw_ddt_unit **unit)
{
    pw_diag diag = {.status = PW_OK};
    pw_status status = pw_ddt_parse(text, strlen(text), keep_first, &diag, unit);

    return status ? pw_library_fail_below(status, NULL, &diag) : PACKWRIGHT_OK;
}

static packwright_status find_named(const pw_ddt_unit *unit, const char *name, int64_t *out)
{
    pw_diag diag = {.status = PW_OK};

    *out = pw_ddt_find(unit, name);
    if (*out >= 0)
        return PACKWRIGHT_OK;
    pw_ddt_unknown(unit, name, &diag);
    return pw_library_fail(PACKWRIGHT_ERR_INVALID, "%s", diag.text);
}

static packwright_status find_only(const pw_ddt_unit *unit, int64_t *out)
{
    int64_t n = pw_ddt_count(unit);

    *out = 0;
    if (n == 0)
        return pw_library_fail(PACKWRIGHT_ERR_INVALID, "the text describes no type");
    if (n > 1)
        return pw_library_fail(PACKWRIGHT_ERR_INVALID,
                               "the text describes %" PRId64 " types: packwright_from_ddt_named takes one of them", n);
    return PACKWRIGHT_OK;
}

static packwright_status build(const pw_ddt_unit *unit, int64_t i, packwright_type **out)
{
    pw_ddt_entry entry = pw_ddt_get(unit, i);
    packwright_type *type;
    pw_builder b;
    pw_status status;
    pw_diag diag = {.status = PW_OK};

    if (entry.variants > 1)
        return pw_library_fail(PACKWRIGHT_ERR_INVALID,
                               "line %d, column %d: ranges make this %" PRId64 " types, where one is wanted",
                               entry.line, entry.col, entry.variants);
    type = pw_library_type_create(1024);
    if (!type)
        return pw_library_no_memory();
    b = (pw_builder){.arena = type->arena};
    status = pw_ddt_build(unit, i, 0, &b, &type->dt, &diag);
    if (status) {
        packwright_type_free(type);
        return pw_library_fail_below(status, NULL, &diag);
    }
    *out = type;
    return PACKWRIGHT_OK;
}

packwright_status packwright_from_ddt_named(const char *text, const char *name, packwright_type **out)
{
    pw_ddt_unit *unit = NULL;
    packwright_status status;
    int64_t i;
    int saved = errno;

    if (!text || !out)
        return pw_library_fail(PACKWRIGHT_ERR_INVALID, text ? "out is NULL" : "text is NULL");
    status = parse(text, &unit);
    if (!status)
        status = name ? find_named(unit, name, &i) : find_only(unit, &i);
    if (!status)
        status = build(unit, i, out);
    pw_ddt_destroy(unit);
    errno = saved;
    return status;
}

packwright_status packwright_from_ddt(const char *text, packwright_type **out)
{
    return packwright_from_ddt_named(text, NULL, out);
}

/* ---- the layout IR ------------------------------------------------------------------------------------- */

packwright_status packwright_from_ir(const char *text, packwright_type **out)
{
    packwright_type *made;
    pw_type type;
    pw_diag diag = {.status = PW_OK};
    pw_status status;
    int saved = errno;
    int64_t ub;

    if (!text || !out)
        return pw_library_fail(PACKWRIGHT_ERR_INVALID, text ? "out is NULL" : "text is NULL");
    made = pw_library_type_create(1024);
    if (!made)
        return pw_library_no_memory();
    status = pw_parse(text, made->arena, &type, NULL, &diag);
    if (!status && __builtin_add_overflow(type.lb, type.extent, &ub))
        status = pw_diag_set(&diag, PW_ERR_OVERFLOW, "lb and extent together do not fit 64 bits");
    errno = saved;
    if (status) {
        packwright_type_free(made);
        return pw_library_fail_below(status, NULL, &diag);
    }
    /* The text does not say by which constructor a type got its bounds, so they are kept as resized would set them. */
    made->dt = (pw_dt){.node = type.root, .lb = type.lb, .ub = ub, .align = 1, .marked = true};
    *out = made;
    return PACKWRIGHT_OK;
}

/* ---- to text ------------------------------------------------------------------------------------------- */

packwright_status packwright_text_of(const packwright_type *type, packwright_text form, char **out)
{
    pw_type raw;
    const pw_canonical *c;
    int saved = errno;
    char *text;

    if (!type || !out)
        return pw_library_fail(PACKWRIGHT_ERR_INVALID, type ? "out is NULL" : "type is NULL");
    if (form != PACKWRIGHT_TEXT_DDT && form != PACKWRIGHT_TEXT_IR)
        return pw_library_fail(PACKWRIGHT_ERR_INVALID, "form is %d, which is no packwright_text", (int)form);
    raw = pw_dt_finish(type->dt);
    c = pw_library_canonical(type, NULL);
    text = form == PACKWRIGHT_TEXT_DDT ? pw_ddt_print(c ? &c->type : &raw) : pw_print(c ? &c->type : &raw, 0);
    errno = saved;
    if (!text)
        return pw_library_no_memory();
    *out = text;
    return PACKWRIGHT_OK;
}
