/*
 * Launches through CUDA graphs of one kernel node. Setting the node's grid and parameters, and launching it, takes the
 * driver half the time of cuLaunchKernel as long as the node's function stays, and half of that if nothing is to be
 * set. So a lane has a graph for each function that it launches repeatedly, and one for each set of parameters that
 * comes back often.
 */
#ifndef PW_RUNTIME_GPU_GRAPH_H
#define PW_RUNTIME_GPU_GRAPH_H

#include "runtime/engine/gpu/pool.h"

/*
 * Puts the kernel into the lane's stream with lane->params, which may be overwritten after the call. The lane's context
 * must be current. Returns false, and has launched nothing, if the caller is to use cuLaunchKernel. When the driver
 * refuses a graph, the context uses no more graphs, and one warning is logged.
 */
bool pw_gpu_graph_launch(pw_gpu_lane *lane, void *function, const pw_gpu_launch *launch);

/* Frees the lane's graphs; without `driver` the context has ended. */
void pw_gpu_graphs_free(pw_gpu_lane *lane, bool driver);

#endif
