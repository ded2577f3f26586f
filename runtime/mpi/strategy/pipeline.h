/*
 * Kernels within the MPI's own pipeline. MPIs over UCX give UCX a derived type with callbacks that pack and unpack
 * pieces of the stream (ucp_dt_create_generic). This library takes the place of that function, and the kernels of a
 * layout take that of the callbacks, for the messages of which a caller says so.
 */
#ifndef PW_RUNTIME_PIPELINE_H
#define PW_RUNTIME_PIPELINE_H

#include "base/direction.h"

#include <stdbool.h>
#include <stdint.h>

struct pw_entry;

/* Whether the MPI has given types to UCX, so that kernels can move its messages. */
bool pw_pipeline_is_there(void);

/* Says that the kernels of `entry` are to move the message of `count` objects at `buf` that this thread is about to
 * give to the MPI; the caller's next message in the same direction replaces this one. If the MPI does not ask UCX for
 * the message, such as one to the same process, nothing happens. */
void pw_pipeline_want(pw_direction direction, const struct pw_entry *entry, const void *buf, int64_t count);

#endif
