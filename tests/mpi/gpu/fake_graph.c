/*
 * Graphs of one kernel node. What the driver demands is checked: parameters are read when a node is made or set, not at
 * the launch; an instance belongs to the context it was made in; nothing is used after it was destroyed.
 */
#include "runtime/engine/gpu/driver.h"
#include "tests/mpi/gpu/fake.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A graph, its node, or an instance of it. */
typedef struct thing {
    enum { GRAPH = 0x6772, NODE, EXEC } kind;
    fake_context_t *context;
    struct thing *node, *older;
    fake_launch_t launch; /* the launch of a node or an instance */
    char params[FAKE_PARAM_BYTES];
} thing;

/* All that were made, also those that were destroyed: LeakSanitizer must find them. */
static _Atomic(thing *) youngest;

static thing *make(int kind)
{
    thing *t = calloc(1, sizeof *t);

    t->older = atomic_load(&youngest);
    while (!atomic_compare_exchange_weak(&youngest, &t->older, t))
        ;
    t->kind = kind;
    t->context = fake_current();
    return t;
}

static bool set(thing *t, const pw_cu_kernel_node *k)
{
    if (k->extra || !k->params || !k->function || !k->grid[0])
        return false;
    t->launch = (fake_launch_t){.function = k->function, .shared = k->shared};
    memcpy(t->launch.grid, k->grid, sizeof k->grid);
    memcpy(t->launch.block, k->block, sizeof k->block);
    memcpy(t->params, k->params[0], sizeof t->params);
    return true;
}

/* Returns no memory to malloc, so that a use after destruction is found. */
static int destroy(thing *t, int kind)
{
    if ((int)t->kind != kind)
        return FAKE_BAD_HANDLE;
    t->kind = 0;
    return FAKE_OK;
}

int cuGraphCreate(void **graph, unsigned flags);
int cuGraphCreate(void **graph, unsigned flags)
{
    FAKE_ENTER();
    *graph = make(GRAPH);
    return flags == 0 ? FAKE_OK : FAKE_INVALID;
}

int cuGraphAddKernelNode(void **node, void *graph, void *const *after, size_t n, const pw_cu_kernel_node *k);
int cuGraphAddKernelNode(void **node, void *graph, void *const *after, size_t n, const pw_cu_kernel_node *k)
{
    thing *g = graph;

    FAKE_ENTER();
    if (g->kind != GRAPH || g->node || after || n)
        return FAKE_INVALID;
    *node = g->node = make(NODE);
    return set(g->node, k) ? FAKE_OK : FAKE_INVALID;
}

int cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags);
int cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags)
{
    const thing *g = graph;
    thing *e;

    FAKE_ENTER();
    if (g->kind != GRAPH || !g->node || flags || !fake_current())
        return FAKE_INVALID;
    *exec = e = make(EXEC);
    e->node = g->node;
    e->launch = g->node->launch;
    memcpy(e->params, g->node->params, sizeof e->params);
    return FAKE_OK;
}

int cuGraphExecKernelNodeSetParams(void *exec, void *node, const pw_cu_kernel_node *k);
int cuGraphExecKernelNodeSetParams(void *exec, void *node, const pw_cu_kernel_node *k)
{
    thing *e = exec;

    FAKE_ENTER();
    if (e->kind != EXEC || e->node != node || e->context != fake_current())
        return FAKE_INVALID;
    return set(e, k) ? FAKE_OK : FAKE_INVALID;
}

int cuGraphLaunch(void *exec, void *stream);
int cuGraphLaunch(void *exec, void *stream)
{
    const thing *e = exec;

    FAKE_ENTER();
    if (e->kind != EXEC || e->context != fake_current())
        return FAKE_INVALID;
    return fake_launch(&e->launch, e->params, sizeof e->params, stream);
}

int cuGraphExecDestroy(void *exec);
int cuGraphExecDestroy(void *exec)
{
    FAKE_ENTER();
    return destroy(exec, EXEC);
}

int cuGraphDestroy(void *graph);
int cuGraphDestroy(void *graph)
{
    FAKE_ENTER();
    return destroy(graph, GRAPH);
}
