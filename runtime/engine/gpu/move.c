/*
 * Puts one move into a lane's stream: by the layout's own kernel, by tier 0, or by copies of the driver, whichever
 * there is first. Nothing here waits for the stream.
 */
#include "runtime/engine/gpu/move.h"

#include "codegen/nvrtc/start.h"
#include "runtime/engine/gpu/graph.h"

/* Up to this many copies (2 us each) take less time than compiling a kernel. */
enum { MAX_COPIES = 20000 };

/* A move with what a launch or a copy needs of it: a nest, an address and bytes. */
typedef struct piece {
    const pw_gpu_move *move;
    const pw_nest *nest;
    pw_gpu_bound *bound;
    char *mem;
    int64_t bytes;
} piece;

/* ---- by kernels -------------------------------------------------------------------------------------------------- */

static pw_gpu_call call_of(const piece *p, const pw_kernel_args *args)
{
    void *packed = (void *)(uintptr_t)p->move->packed.device;

    return (pw_gpu_call){.args = args,
                         .count = p->move->n,
                         .direction = p->move->direction,
                         .dst = p->move->direction == PW_UNPACK ? p->mem : packed,
                         .src = p->move->direction == PW_UNPACK ? packed : p->mem};
}

/* CU_LAUNCH_PARAM_BUFFER_POINTER and _SIZE */
#define PARAM_POINTER ((void *)1)
#define PARAM_SIZE ((void *)2)

/* Launches a kernel with lane->params, which may be overwritten after the call. `by_graph` is for a function that is
 * launched repeatedly, one launch at a time. `flagged`: it writes the lane's flag. */
static pw_status launch_kernel(pw_gpu_lane *lane, void *function, const pw_gpu_launch *l, bool by_graph, bool flagged)
{
    size_t bytes = l->param_bytes;
    void *extra[] = {PARAM_POINTER, lane->params, PARAM_SIZE, &bytes, NULL};
    pw_status status = PW_OK;

    if (l->grid > 0 && !(by_graph && pw_gpu_graph_pays(l) && pw_gpu_graph_launch(lane, function, l)))
        status = pw_cu_check(pw_cu.launch(function, l->grid, 1, 1, l->block, 1, 1, 0, lane->stream, NULL, extra),
                             "cuLaunchKernel");
    lane->flagged = flagged && l->grid > 0 && status == PW_OK;
    lane->value += lane->flagged;
    return status;
}

static pw_status launch(pw_gpu_lane *lane, const pw_gpu_functions *f, const piece *p, const pw_gpu_launch *l,
                        const pw_gpu_call *call, bool alone)
{
    bool unpack = (p->move->direction == PW_UNPACK) != l->swapped;

    return launch_kernel(lane, f->fn[unpack][l->big], l, alone, call->flag.where);
}

/* Returns the lane's flag, if it has one, for a launch that is to write it; else `where` is NULL. */
static pw_gpu_flag flag_of(const pw_gpu_lane *lane, bool flagged)
{
    if (!lane->flag || !flagged)
        return (pw_gpu_flag){.where = NULL};
    return (pw_gpu_flag){.where = (uint64_t *)(uintptr_t)lane->flag_device,
                         .ends = (pw_gpu_ends *)(uintptr_t)lane->ends};
}

pw_status pw_gpu_launch_fused(pw_gpu_lane *lane, const pw_gpu_fused *jobs, bool flagged)
{
    const pw_gpu_functions *f = pw_gpu_fused_functions(lane->gpu);
    const pw_gpu_flag flag = flag_of(lane, flagged);
    pw_gpu_launch l;

    if (!f)
        return PW_ERR_NOT_FOUND;
    pw_gpu_fused_launch(jobs, &flag, &lane->gpu->limits, lane->params, &l);
    return launch_kernel(lane, f->fn[jobs->direction][l.big], &l, true, flag.where);
}

/* Whether the last launch of a move writes the lane's flag. */
static bool is_flagged(const piece *p)
{
    return p->move->last && pw_gpu_flag_pays(p->bytes, p->move->direction);
}

static pw_status launch_own(pw_gpu_lane *lane, const pw_gpu_plan *plan, const pw_gpu_functions *f, const piece *p)
{
    pw_gpu_call call = call_of(p, &p->bound->args);
    pw_gpu_launch l;
    pw_status status;

    call.flag = flag_of(lane, is_flagged(p));
    status = pw_gpu_launch_make(plan, &call, &lane->gpu->limits, lane->params, &l);
    return status == PW_OK ? launch(lane, f, p, &l, &call, true) : status;
}

static pw_status launch_tier0(pw_gpu_lane *lane, const pw_gpu_functions *f, int n, const piece *p)
{
    const pw_gpu_code *code = lane->gpu->code;
    pw_status status = PW_OK;

    for (int i = 0; i < n && status == PW_OK; i++) {
        pw_gpu_call call = call_of(p, NULL);
        pw_gpu_launch l;
        int kernel;

        call.flag = flag_of(lane, i == n - 1 && is_flagged(p));
        status = pw_gpu_tier0_launch(code->tier0, p->nest, i, p->bound->table_addresses, &call, &lane->gpu->limits,
                                     lane->params, &kernel, &l);
        if (status == PW_OK)
            status = launch(lane, &f[kernel], p, &l, &call, n == 1);
    }
    return status;
}

static pw_status move_by_tier0(pw_gpu_lane *lane, const pw_gpu_layout *l, const pw_gpu_functions *f, const piece *p)
{
    const pw_gpu_call call = call_of(p, NULL);
    pw_gpu_fused jobs;

    pw_gpu_fused_begin(&jobs);
    /* One launch of the fused kernel does several of tier 0. */
    if (l->tier0_launches > 1 && p->bytes <= l->fused_most && pw_gpu_fused_functions(lane->gpu) &&
        pw_gpu_fused_add(&jobs, p->nest, p->bound->table_addresses, &call) == PW_OK)
        return pw_gpu_launch_fused(lane, &jobs, is_flagged(p));
    return launch_tier0(lane, f, l->tier0_launches, p);
}

static pw_status move_by_copies(pw_gpu_lane *lane, const piece *p)
{
    lane->flagged = false;
    return pw_gpu_copies_move(lane->stream, p->nest, p->mem, p->move->n, p->move->packed, p->move->direction);
}

/* Whether moves wait for kernels to be compiled, as in sync mode. */
static bool is_patient(const pw_gpu_lane *lane)
{
    return lane->gpu->code && lane->gpu->code->mode == PW_JIT_SYNC;
}

static pw_status move_piece(pw_gpu_lane *lane, const pw_gpu_layout *l, const piece *p)
{
    bool reachable = p->move->packed.device && p->bound->table_addresses;
    const pw_gpu_functions *own = NULL, *tier0 = NULL;

    if (reachable && l->plan)
        own = pw_gpu_layout_functions(p->bound, p->bytes, false);
    if (own)
        return launch_own(lane, l->plan, own, p);
    if (reachable && l->tier0_launches > 0)
        tier0 = pw_gpu_tier0_functions(lane->gpu, false);
    if (!tier0 && reachable && (is_patient(lane) || pw_gpu_copies_calls(p->nest, p->move->n) > MAX_COPIES)) {
        if (l->plan)
            own = pw_gpu_layout_functions(p->bound, p->bytes, true);
        if (own)
            return launch_own(lane, l->plan, own, p);
        if (l->tier0_launches > 0)
            tier0 = pw_gpu_tier0_functions(lane->gpu, true);
    }
    if (tier0)
        return move_by_tier0(lane, l, tier0, p);
    return move_by_copies(lane, p);
}

/* ---- moves ------------------------------------------------------------------------------------------------------- */

bool pw_gpu_launch_bytes(pw_gpu_lane *lane, pw_cu_ptr to, pw_cu_ptr from, int64_t bytes)
{
    const pw_gpu_call call = {
        .count = bytes, .dst = (void *)(uintptr_t)to, .src = (const void *)(uintptr_t)from, .direction = PW_UNPACK};
    pw_gpu_fused jobs;

    pw_gpu_fused_begin(&jobs);
    return lane->flag && pw_gpu_fused_add(&jobs, NULL, NULL, &call) == PW_OK &&
           pw_gpu_launch_fused(lane, &jobs, true) == PW_OK && lane->flagged;
}

pw_status pw_gpu_move_objects(pw_gpu_lane *lane, const pw_buffer *b, const pw_gpu_move *m)
{
    pw_gpu_layout *l = pw_gpu_layout_of(b->layout);
    piece p = {.move = m,
               .nest = b->layout->nest,
               .bound = l ? pw_gpu_layout_bind(l, b->place.gpu) : NULL,
               .mem = (char *)b->base + m->first * b->layout->extent,
               .bytes = m->n * b->layout->size};

    if (!p.bound)
        return PW_ERR_NOMEM;
    return m->plainly ? move_by_copies(lane, &p) : move_piece(lane, l, &p);
}
