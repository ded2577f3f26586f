/*
 * PACKWRIGHT_DUMP=DIR: every stage of every kernel, as files named by the kernel's key (which is also in the names of
 * its functions). The stages of layouts, several of which may share a kernel, have the layout's hash behind it:
 *
 *     <key>-<layout>.tree, .canonical, .nest   as `packwright inspect` prints them; .ddt in the datatype language
 *     <key>.shape                              what the kernel was compiled from
 *     <key>.raw.ll, .ll, .s, .so               LLVM IR as generated and optimised, assembly, code
 *
 * The files of a layout are written when it is made, the others when a kernel is compiled; a kernel from the cache has
 * none. One warning reports a file that cannot be written. Thread safe.
 */
#ifndef PW_RUNTIME_LAYOUT_DUMP_H
#define PW_RUNTIME_LAYOUT_DUMP_H

#include "runtime/engine/layout/layout.h"

/* `raw` is the type as given, `canonical` what it has become. Does nothing unless a dump is asked for. */
void pw_layout_dump(const pw_layout *layout, const pw_type *raw, const pw_type *canonical);

/* The function for pw_cache_config.load_backend: loads the backend as pw_backend_load does, and dumps all that it
 * compiles. */
const pw_backend *pw_layout_dump_backend(const char *name, pw_diag *diag);

bool pw_layout_dump_is_on(void);

#endif
