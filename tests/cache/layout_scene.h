/* Layout engines for tests, and the check of a layout against the walk that defines the IR. */
#ifndef PW_TESTS_CACHE_LAYOUT_SCENE_H
#define PW_TESTS_CACHE_LAYOUT_SCENE_H

#include "runtime/engine/layout/layout.h"
#include "tests/cache/scene.h"

/* Makes an engine with the fake backend, whose kernels do not pack what the layout says; with `real`, the LLVM backend.
 */
pw_layout_engine *layout_engine(scene *s, pw_jit_mode mode, int64_t hot_bytes, bool real);

/* Returns the layout of a type in text form. A failure ends the process. */
pw_layout *layout_of(pw_layout_engine *engine, const char *text);
pw_layout *layout_of_type(pw_layout_engine *engine, const pw_type *type);

/*
 * Packs `count` objects, unpacks them, and unpacks a prefix of `prefix` bytes; compares with pw_walk over `type`
 * (tests/support/judge.h). Unpacking is left out where blocks overlap. Prints what differs.
 */
bool layout_moves(pw_layout *layout, const pw_type *type, int64_t count, int64_t prefix);

#endif
