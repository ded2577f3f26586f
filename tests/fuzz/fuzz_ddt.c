/* The datatype language: lexer, parser, evaluator; then what it built, and its printed form. */
#include "frontend/ddt/ddt.h"
#include "passes/passes.h"
#include "tests/fuzz/check.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ENTRIES = 16, MAX_VARIANTS = 4, MAX_TREE = 1 << 20, MAX_PRINT = 1 << 14 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every error has a place in the text. */
static void check_place(void *arg, const pw_diag *diag)
{
    size_t size = *(const size_t *)arg;

    if (diag->line < 1 || diag->col < 1 || (size_t)diag->line > size + 1 || (size_t)diag->col > size + 1)
        fuzz_fail("error without a place", diag->text);
    if (!*diag->text)
        fuzz_fail("error", "without a text");
}

static void fail_printed(void *arg, const pw_diag *diag)
{
    (void)arg;
    fuzz_fail("the printed type does not parse", diag->text);
}

static bool canonicalise(const pw_type *type, pw_arena *arena, pw_type *out)
{
    pw_diag diag;

    return pw_canonicalise(type, arena, out, NULL, &diag) == PW_OK;
}

/* Printing gives text that parses back to an equal type. */
static void check_printed(const pw_type *type, pw_arena *arena)
{
    char *text = pw_ddt_print(type);
    pw_builder b = {.arena = arena};
    pw_ddt_unit *unit = NULL;
    pw_type back, want, got;
    pw_diag diag;
    pw_dt dt;

    if (!text)
        fuzz_fail("print", "out of memory");
    pw_ddt_parse(text, strlen(text), fail_printed, NULL, &unit);
    if (pw_ddt_build(unit, 0, 0, &b, &dt, &diag) != PW_OK)
        fuzz_fail("the printed type cannot be built", diag.text);
    back = pw_dt_finish(dt);
    if (canonicalise(type, arena, &want) && canonicalise(&back, arena, &got) &&
        (!pw_type_equal(&want, &got) || want.lb != got.lb))
        fuzz_fail("the printed type is another one", text);
    pw_ddt_destroy(unit);
    free(text);
}

static void check_variant(const pw_ddt_unit *unit, int64_t entry, int64_t variant)
{
    pw_arena *arena = pw_arena_create();
    pw_builder b = {.arena = arena};
    pw_diag diag;
    pw_dt dt;

    if (!arena)
        fuzz_fail("arena", "out of memory");
    if (pw_ddt_build(unit, entry, variant, &b, &dt, &diag) != PW_OK) {
        if (diag.status == PW_OK || !*diag.text || diag.line < 1)
            fuzz_fail("build", "failed without a reason");
    } else if (pw_arena_used(arena) < MAX_TREE) {
        pw_type type = pw_dt_finish(dt);

        fuzz_check_type(&type, arena);
        if (type.root->blocks <= MAX_PRINT)
            check_printed(&type, arena);
    }
    pw_arena_destroy(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pw_ddt_unit *unit = NULL;

    if (pw_ddt_parse((const char *)data, size, check_place, &size, &unit) != PW_OK)
        return 0;
    for (int64_t i = 0; i < pw_ddt_count(unit) && i < MAX_ENTRIES; i++)
        for (int64_t k = 0; k < pw_ddt_get(unit, i).variants && k < MAX_VARIANTS; k++)
            check_variant(unit, i, k);
    pw_ddt_destroy(unit);
    return 0;
}
