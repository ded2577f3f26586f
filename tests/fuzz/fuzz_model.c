/* Model files: whatever is taken for a model answers with numbers, and is the same after writing and reading it. */
#include "runtime/choice/way.h"
#include "runtime/engine/model/file.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

static void ask(const pw_model *m)
{
    for (int kind = 0; kind < PW_CALL_KINDS; kind++)
        for (int64_t bytes = 1; bytes < (int64_t)1 << 40; bytes *= 37) {
            const pw_conditions c = {.set = bytes % 2 ? PW_IF_LAYOUT | PW_IF_ON_DEVICE | PW_IF_BYTES | PW_IF_SHORT
                                                      : PW_IF_LAYOUT | PW_IF_BYTES | PW_IF_SHORT,
                                     .kind = (pw_call_kind)kind,
                                     .shape = {bytes, 1 + bytes % 300, 2 + (double)(bytes % 15)}};

            for (int way = 0; way < PW_STRATEGY_COUNT; way++)
                must(pw_way_cost(way, &m->facts, &c) >= 0 || !pw_way_can(way, c.set), "costs are positive");
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pw_model m, again;
    pw_diag diag = {0};
    char *text, *second;

    if (pw_model_parse((const char *)data, size, &m, &diag) != PW_OK) {
        must(*diag.text, "a refusal has a reason");
        return 0;
    }
    ask(&m);
    text = pw_model_text(&m);
    /* Facts are written with six digits, which may make one of them 0 or infinite. */
    if (pw_model_parse(text, strlen(text), &again, &diag) == PW_OK) {
        second = pw_model_text(&again);
        must(!strcmp(text, second), "writing and reading is a fixed point");
        free(second);
    }
    free(text);
    return 0;
}
