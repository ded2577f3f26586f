/*
 * Graphs of a lane, for kernel functions, from their second launch on, and apart from these for parameters that come
 * back often. Each has a few slots; those held by others in use are not taken. A launch under way keeps the parameters
 * that it was started with, so a graph can be set again at once; one that has them already is not.
 */
#include "runtime/engine/gpu/graph.h"

#include "base/log.h"

#include <stdlib.h>
#include <string.h>

enum {
    SLOTS = 4,        /* in which a graph may be */
    MOST_CREDIT = 32, /* a graph keeps its slot for at most so many launches of others that want it */
    OFTEN = 32,       /* making a graph takes the driver as long as setting parameters so often */
    MOST_WORDS = 64   /* of parameters tell them apart: to look at more takes as long as a graph saves */
};

/* Whether the driver has graphs. Before CUDA 11.4 it lacks cuGraphInstantiateWithFlags; older ones lack all calls. */
static bool is_known(void)
{
    return pw_cu.graph_create && pw_cu.graph_instantiate && pw_cu.graph_add_kernel && pw_cu.graph_set_kernel &&
           pw_cu.graph_launch && pw_cu.graph_destroy && pw_cu.graph_exec_destroy;
}

static void release(pw_gpu_graph *g, bool driver)
{
    if (driver && g->exec)
        pw_cu.graph_exec_destroy(g->exec);
    if (driver && g->graph)
        pw_cu.graph_destroy(g->graph);
    free(g->params);
    *g = (pw_gpu_graph){.function = NULL};
}

static pw_status make(pw_gpu_graph *g, const pw_cu_kernel_node *node)
{
    pw_status status = pw_cu_check(pw_cu.graph_create(&g->graph, 0), "cuGraphCreate");

    if (status != PW_OK)
        g->graph = NULL;
    if (status == PW_OK)
        status = pw_cu_check(pw_cu.graph_add_kernel(&g->node, g->graph, NULL, 0, node), "cuGraphAddKernelNode");
    if (status == PW_OK)
        status = pw_cu_check(pw_cu.graph_instantiate(&g->exec, g->graph, 0), "cuGraphInstantiateWithFlags");
    if (status != PW_OK) {
        g->exec = NULL;
        release(g, true);
    }
    return status;
}

static void remember(pw_gpu_graph *g, const pw_gpu_launch *l, const void *params)
{
    void *room = realloc(g->params, l->param_bytes);

    if (!room)
        return;
    g->params = memcpy(room, params, l->param_bytes);
    g->grid = l->grid;
}

/* Sets grid and parameters, which takes the driver as long as a launch, unless the graph has them. */
static pw_status set(pw_gpu_graph *g, const pw_cu_kernel_node *node, const pw_gpu_launch *l, const void *params)
{
    pw_status status;

    if (g->grid == l->grid && !memcmp(g->params, params, l->param_bytes))
        return PW_OK;
    g->grid = 0;
    status = g->exec ? pw_cu_check(pw_cu.graph_set_kernel(g->exec, g->node, node), "cuGraphExecKernelNodeSetParams")
                     : make(g, node);
    if (status == PW_OK)
        remember(g, l, params);
    return status;
}

/* Returns a number for a function, and for its parameters, if there are any. That two may have the same one does no
 * harm, since parameters are compared before a launch. */
static uint64_t key_of(const void *function, const uint64_t *params, size_t words)
{
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t key = (uint64_t)(uintptr_t)function * golden;

    for (size_t i = 0; i < words; i++)
        key = (key ^ key >> 29 ^ params[i]) * golden;
    return key;
}

/* Returns the graph of a key, which may not be made yet, or be set up for what had the slot before. NULL: the key has
 * not come back `least` times, or keys in use have all of its slots. */
static pw_gpu_graph *find(pw_gpu_graph *graphs, void *function, uint64_t key, int least)
{
    unsigned home = (unsigned)(key >> 32) % PW_GPU_GRAPHS;
    pw_gpu_graph *slot = NULL;

    for (unsigned i = 0; i < SLOTS; i++) {
        pw_gpu_graph *g = &graphs[(home + i) % PW_GPU_GRAPHS];

        if (g->function == function && g->key == key) {
            g->credit += g->credit < MOST_CREDIT;
            return g->grid || g->credit >= least ? g : NULL;
        }
        if (!g->function && !slot)
            slot = g;
    }
    if (!slot && graphs[home].credit-- <= 0)
        slot = &graphs[home];
    if (slot) {
        slot->function = function;
        slot->key = key;
        slot->credit = 0;
        slot->grid = 0;
    }
    return NULL;
}

bool pw_gpu_graph_launch(pw_gpu_lane *lane, void *function, const pw_gpu_launch *launch)
{
    void *params = lane->params;
    size_t words = launch->param_bytes / sizeof(uint64_t);
    const pw_cu_kernel_node node = {
        .function = function, .grid = {launch->grid, 1, 1}, .block = {launch->block, 1, 1}, .params = &params};
    pw_gpu *gpu = lane->gpu;
    pw_gpu_graph *g;
    pw_status status;

    if (!is_known() || atomic_load_explicit(&gpu->graphless, memory_order_relaxed))
        return false;
    g = find(lane->graphs[1], function, key_of(function, params, words < MOST_WORDS ? words : MOST_WORDS), OFTEN);
    if (!g)
        g = find(lane->graphs[0], function, key_of(function, params, 0), 1);
    if (!g)
        return false;
    status = set(g, &node, launch, params);
    if (status == PW_OK)
        status = pw_cu_check(pw_cu.graph_launch(g->exec, lane->stream), "cuGraphLaunch");
    if (status == PW_OK)
        return true;
    if (!atomic_exchange(&gpu->graphless, true))
        pw_log(PW_LOG_WARN,
               "GPU %d refuses a CUDA graph (%s): kernels are launched without, which takes a little longer",
               gpu->ordinal, pw_status_text(status));
    return false;
}

void pw_gpu_graphs_free(pw_gpu_lane *lane, bool driver)
{
    for (int i = 0; i < 2 * PW_GPU_GRAPHS; i++)
        release(&lane->graphs[i / PW_GPU_GRAPHS][i % PW_GPU_GRAPHS], driver);
}
