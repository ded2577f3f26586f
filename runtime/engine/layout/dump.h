/*
 * PACKWRIGHT_DUMP=DIR: every stage of every kernel, as files named by the kernel's key (which is also in the names of
 * its functions). The stages of layouts, several of which may share a kernel, have the layout's hash behind it:
 *
 *     <key>-<layout>.tree, .canonical, .nest   as `packwright inspect` prints them; .ddt in the datatype language
 *     <key>.shape                              what the kernel was compiled from
 *     <key>.raw.ll, .ll, .s, .so               LLVM IR as generated and optimised, assembly, code
 *
 * Layouts are written when they are made, the rest when a kernel is compiled: there is none of it for kernels that come
 * from the cache. What cannot be written is one warning. Thread safe.
 */
#ifndef PW_RUNTIME_LAYOUT_DUMP_H
#define PW_RUNTIME_LAYOUT_DUMP_H

#include "runtime/engine/layout/layout.h"

/* `raw` is the type as given, `canonical` what it has become. Does nothing unless a dump is asked for. */
void pw_layout_dump(const pw_layout *layout, const pw_type *raw, const pw_type *canonical);

/* For pw_cache_config.load_backend: pw_backend_load, with what is compiled written down. */
const pw_backend *pw_layout_dump_backend(const char *name, pw_diag *diag);

bool pw_layout_dump_is_on(void);

#endif
