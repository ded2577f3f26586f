/*
 * Launches by way of CUDA graphs of one kernel node, whose grid and parameters are set before every launch. The driver
 * needs half the time for that which it needs for cuLaunchKernel, unless the node's function changes, too
 * (docs/gpu.md). So a lane has a graph for each of the functions that it launches again and again.
 */
#ifndef PW_RUNTIME_GPU_GRAPH_H
#define PW_RUNTIME_GPU_GRAPH_H

#include "runtime/engine/gpu/pool.h"

/*
 * Puts the kernel into the lane's stream, with lane->params, of which nothing is needed after the call. The lane's
 * context must be current. False, and nothing has happened: launch it in the ordinary way. Graphs are given up, for the
 * context and with one warning, when the driver refuses one.
 */
bool pw_gpu_graph_launch(pw_gpu_lane *lane, void *function, const pw_gpu_launch *launch);

/* What the driver holds for the lane's graphs. */
void pw_gpu_graphs_free(pw_gpu_lane *lane);

#endif
