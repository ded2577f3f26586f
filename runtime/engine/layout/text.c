/*
 * Layouts as text of the IR, for other processes. The type is raised from the nest, since layouts keep no tree, and
 * canonicalised.
 */
#include "ir/ir.h"
#include "ir/join.h"
#include "passes/passes.h"
#include "runtime/engine/layout/internal.h"

pw_status pw_layout_raise(const pw_layout *layout, pw_arena *arena, pw_type *out)
{
    pw_builder b = {.arena = arena};
    pw_type raised = {.root = pw_nest_raise(&b, layout->nest), .extent = layout->extent};
    pw_diag diag;

    return raised.root ? pw_canonicalise(&raised, arena, out, NULL, &diag) : b.status;
}

char *pw_layout_text(const pw_layout *layout)
{
    pw_arena *arena = pw_arena_create();
    char *text = NULL;
    pw_type type;

    if (arena && pw_layout_raise(layout, arena, &type) == PW_OK)
        text = pw_print(&type, 0);
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
