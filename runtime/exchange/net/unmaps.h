/* Tells when this process unmaps memory: by UCX's library of memory hooks (UCM), which is loaded at run time. */
#ifndef PW_RUNTIME_NET_UNMAPS_H
#define PW_RUNTIME_NET_UNMAPS_H

#include <stdbool.h>
#include <stdint.h>

/* Called in the midst of munmap and its kin, on any thread: it must take no lock and touch no heap. */
typedef void pw_unmap_fn(uintptr_t begin, uintptr_t end);

/* From now on `tell` is called before memory is unmapped. One caller at a time. False: nothing tells of it. */
bool pw_unmaps_watch(pw_unmap_fn *tell);
/* Ends it; harmless if it was not watched. */
void pw_unmaps_ignore(void);

#endif
