/*
 * Kernels within the MPI's own pipeline. MPIs over UCX give UCX a derived type with callbacks that pack and unpack
 * pieces of the stream (ucp_dt_create_generic). This library takes the place of that function, and the kernels of a
 * layout take that of the callbacks, for the messages of which a caller says so.
 */
#ifndef PW_RUNTIME_PIPELINE_H
#define PW_RUNTIME_PIPELINE_H

#include <stdbool.h>

struct pw_message;

/* Whether the MPI moves this described message of host memory in pieces, which kernels can take over. */
bool pw_pipeline_serves(const struct pw_message *m);

#endif
