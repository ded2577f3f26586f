/* IR text: what parses verifies, and printing it is a fixed point of print and parse. */
#include "ir/ir.h"
#include "tests/fuzz/check.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_printed(const pw_type *type, pw_arena *arena)
{
    char *text = pw_print(type, 0), *again;
    pw_type back;
    pw_diag diag;

    if (!text)
        fuzz_fail("print", "out of memory");
    if (pw_parse(text, arena, &back, NULL, &diag) != PW_OK)
        fuzz_fail("the printed type does not parse", diag.text);
    if (!pw_type_equal(type, &back) || type->lb != back.lb)
        fuzz_fail("the printed type is another one", text);
    if (!pw_hash_equal(pw_type_hash(type), pw_type_hash(&back)))
        fuzz_fail("equal types have different hashes", text);
    again = pw_print(&back, 0);
    if (!again || strcmp(text, again) != 0)
        fuzz_fail("printed again, the text is another one", text);
    free(text);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    pw_arena *arena = pw_arena_create();
    pw_type type;
    pw_diag diag = {0};

    if (!text || !arena)
        fuzz_fail("harness", "out of memory");
    memcpy(text, data, size);
    text[size] = '\0';
    if (pw_parse(text, arena, &type, NULL, &diag) == PW_OK) {
        check_printed(&type, arena);
        fuzz_check_type(&type, arena);
    } else if (diag.line < 1 || diag.col < 1 || !*diag.text) {
        fuzz_fail("parse", "failed without a place or a reason");
    }
    pw_arena_destroy(arena);
    free(text);
    return 0;
}
