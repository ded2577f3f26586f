/*
 * Layouts as text of the IR, for other processes. The type is raised from the nest, since layouts keep no tree, and
 * canonicalised.
 */
#include "ir/ir.h"
#include "ir/join.h"
#include "passes/passes.h"
#include "runtime/engine/layout/layout.h"

char *pw_layout_text(const pw_layout *layout)
{
    pw_arena *arena = pw_arena_create();
    pw_builder b = {.arena = arena};
    char *text = NULL;
    pw_type raised, canonical;
    pw_diag diag;

    if (!arena)
        return NULL;
    raised = (pw_type){.root = pw_nest_raise(&b, layout->nest), .extent = layout->extent};
    if (raised.root && pw_canonicalise(&raised, arena, &canonical, NULL, &diag) == PW_OK)
        text = pw_print(&canonical, 0);
    pw_arena_destroy(arena);
    return text;
}

pw_layout *pw_layout_of_text(pw_layout_engine *engine, const char *text)
{
    pw_arena *arena = pw_arena_create();
    pw_layout *layout = NULL;
    pw_diag diag;
    pw_type type;

    if (arena && pw_parse(text, arena, &type, NULL, &diag) == PW_OK)
        pw_layout_get(engine, &type, &layout, &diag);
    pw_arena_destroy(arena);
    return layout;
}
