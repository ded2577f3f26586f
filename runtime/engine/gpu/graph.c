#include "runtime/engine/gpu/graph.h"

#include "base/log.h"

enum {
    PLACES = 4,      /* where the graph of a function may be */
    MOST_CREDIT = 32 /* launches of others in its place that a graph outlives */
};

/* Drivers before CUDA 11.4 have no cuGraphInstantiateWithFlags, older ones none of these. */
static bool is_known(void)
{
    return pw_cu.graph_create && pw_cu.graph_instantiate && pw_cu.graph_add_kernel && pw_cu.graph_set_kernel &&
           pw_cu.graph_launch && pw_cu.graph_destroy && pw_cu.graph_exec_destroy;
}

static void release(pw_gpu_graph *g)
{
    if (g->exec)
        pw_cu.graph_exec_destroy(g->exec);
    if (g->graph)
        pw_cu.graph_destroy(g->graph);
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
        release(g);
    }
    return status;
}

/* A launch that is under way keeps what it was made with. */
static pw_status set(pw_gpu_graph *g, const pw_cu_kernel_node *node)
{
    if (!g->exec)
        return make(g, node);
    return pw_cu_check(pw_cu.graph_set_kernel(g->exec, g->node, node), "cuGraphExecKernelNodeSetParams");
}

static unsigned home_of(const void *function)
{
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);

    return (unsigned)((uint64_t)(uintptr_t)function * golden >> 32) % PW_GPU_GRAPHS;
}

/*
 * The graph of a function. It may have to be made yet, or be set up for the function that had its place before. NULL
 * for a function's first launch, which may be its only one, and when others that are in use have all its places.
 */
static pw_gpu_graph *find(pw_gpu_lane *lane, void *function)
{
    unsigned home = home_of(function);
    pw_gpu_graph *place = NULL;

    for (unsigned i = 0; i < PLACES; i++) {
        pw_gpu_graph *g = &lane->graphs[(home + i) % PW_GPU_GRAPHS];

        if (g->function == function) {
            g->credit += g->credit < MOST_CREDIT;
            return g;
        }
        if (!g->function && !place)
            place = g;
    }
    if (!place && lane->graphs[home].credit-- <= 0)
        place = &lane->graphs[home];
    if (place) {
        place->function = function;
        place->credit = 0;
    }
    return NULL;
}

bool pw_gpu_graph_launch(pw_gpu_lane *lane, void *function, const pw_gpu_launch *launch)
{
    void *params = lane->params;
    const pw_cu_kernel_node node = {
        .function = function, .grid = {launch->grid, 1, 1}, .block = {launch->block, 1, 1}, .params = &params};
    pw_gpu *gpu = lane->gpu;
    pw_gpu_graph *g;
    pw_status status;

    if (!is_known() || atomic_load_explicit(&gpu->graphless, memory_order_relaxed))
        return false;
    g = find(lane, function);
    if (!g)
        return false;
    status = set(g, &node);
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

void pw_gpu_graphs_free(pw_gpu_lane *lane)
{
    for (int i = 0; i < PW_GPU_GRAPHS; i++)
        release(&lane->graphs[i]);
}
