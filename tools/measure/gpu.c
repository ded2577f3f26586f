/*
 * The probes of a GPU. They call the functions of runtime/engine/gpu, so launches, waiting and copies are those of a
 * transfer.
 */
#include "tools/measure/node.h"

#include "base/clock.h"
#include "runtime/engine/gpu/device.h"
#include "runtime/engine/gpu/joined.h"
#include "runtime/engine/gpu/transfer.h"
#include "runtime/engine/library/internal.h"
#include "runtime/engine/model/file.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    GPU_MOST = 64 << 20,
    ACROSS_MOST = 16 << 20,
    LAUNCHED = 64, /* bytes that the kernel moves whose launch is measured */
    GRAPH_RUNS = 2 /* not timed: the first launch of a kernel is a plain one, and the second makes its graph */
};

/* The probe's kind. For a move: memory, direction and spread; for a copy: its pw_model_copy_way. */
enum { BY_DIRECTION = PW_MEASURE_SPREADS, BY_MEMORY = PW_MEASURE_SPREADS * PW_DIRECTIONS };

/* ---- kernels ---------------------------------------------------------------------------------------------------- */

/* The probes carry out orders of the runtime, which are about layouts. NULL: it cannot be had. */
static pw_layout *make_layout(pw_layout_engine *engine, packwright_type *type)
{
    pw_layout *layout = NULL;
    pw_diag diag;

    if (type) {
        pw_type raw = pw_dt_finish(type->dt);

        if (pw_layout_get(engine, &raw, &layout, &diag) != PW_OK)
            layout = NULL;
    }
    packwright_type_free(type);
    return layout;
}

static pw_layout *layout_of(pw_probe *p, int every)
{
    pw_measure_gpu *g = p->arg;

    if (!p->own)
        p->own = make_layout(g->engine, pw_measure_type(p->bytes, p->block, every));
    return p->own;
}

static pw_buffer buffer_of(const pw_measure_gpu *g, pw_layout *layout)
{
    return (pw_buffer){.layout = layout,
                       .place = {.kind = PW_PLACE_DEVICE, .gpu = g->gpu},
                       .base = (void *)(uintptr_t)g->memory->device,
                       .count = 1,
                       .bytes = layout->size};
}

static double run_move(pw_probe *p, int runs)
{
    static const pw_gpu_path paths[PW_MODEL_MEMORIES] = {[PW_MODEL_DEVICE] = PW_GPU_DIRECT,
                                                         [PW_MODEL_MAPPED] = PW_GPU_DIRECT,
                                                         [PW_MODEL_STAGED] = PW_GPU_STAGED,
                                                         [PW_MODEL_PIPELINED] = PW_GPU_PIPELINED};
    const pw_measure_gpu *g = p->arg;
    int memory = p->kind / BY_MEMORY;
    pw_gpu_order order = {.packed = pw_gpu_packed_in(memory == PW_MODEL_DEVICE ? g->packed : g->pinned),
                          .direction = (pw_direction)(p->kind / BY_DIRECTION % PW_DIRECTIONS),
                          .path = paths[memory]};
    pw_layout *layout = layout_of(p, pw_measure_every[p->kind % PW_MEASURE_SPREADS]);
    pw_status status = PW_OK;
    double begin = 0;

    if (!layout)
        return -1;
    order.buffer = buffer_of(g, layout);
    order.bytes = layout->size;
    for (int i = -GRAPH_RUNS; i < runs && status == PW_OK; i++) {
        begin = i <= 0 ? pw_clock_ns() : begin;
        status = pw_gpu_carry_out(&order);
    }
    return status == PW_OK ? (double)(pw_clock_ns() - begin) / runs : -1;
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static double run_copy(pw_probe *p, int runs)
{
    const pw_measure_gpu *g = p->arg;
    pw_cu_ptr from = p->kind == PW_MODEL_H2D ? pw_cu_address(g->pinned->host) : g->memory->device;
    pw_cu_ptr to = p->kind == PW_MODEL_D2H ? pw_cu_address(g->pinned->host) : g->packed->device;
    pw_status status = PW_OK;
    int64_t begin = pw_clock_ns();

    for (int i = 0; i < runs && status == PW_OK; i++)
        status = pw_gpu_copy(g->gpu, to, from, p->bytes);
    return status == PW_OK ? (double)(pw_clock_ns() - begin) / runs : -1;
}

/* ---- from another GPU -------------------------------------------------------------------------------------------- */

/* Lets kernels of the first GPU read memory of the second one. */
static bool reach_other(const pw_measure_gpu *g)
{
    int (*enable)(void *, unsigned);
    pw_gpu_scope scope;
    bool reached;

    *(void **)&enable = dlsym(RTLD_DEFAULT, "cuCtxEnablePeerAccess");
    if (!enable || pw_gpu_enter(g->gpu, &scope) != PW_OK)
        return false;
    reached = enable(g->other->context, 0) == PW_CU_OK;
    pw_gpu_leave(&scope);
    return reached;
}

/* Takes the memory that is read: of a second GPU, or else of the only one of the machine. False: there is none that
 * GPUs of two ranks would read. */
static bool find_across(pw_measure_gpu *g)
{
    pw_gpu *owner;

    if (g->tried)
        return g->across;
    g->tried = true;
    g->other = pw_gpu_get_primary(1);
    if (g->other ? !reach_other(g) : pw_model_gpu_count() > 1)
        return false;
    owner = g->other ? g->other : g->gpu;
    return pw_gpu_take(owner, PW_GPU_DEVICE_MEMORY, (int64_t)ACROSS_MOST * pw_measure_every[PW_MEASURE_FAR],
                       &g->across) == PW_OK;
}

/* The probe keeps the joined layout, and with it the layout of both sides. */
static pw_joined *joined_of(pw_probe *p)
{
    pw_measure_gpu *g = p->arg;
    pw_layout *layout;
    pw_joined *joined;
    pw_diag diag;

    if (p->own)
        return p->own;
    layout = make_layout(g->engine, pw_measure_type(p->bytes, p->block, pw_measure_every[p->kind]));
    joined = layout ? calloc(1, sizeof *joined) : NULL;
    if (joined && pw_layout_join(layout, layout, joined, &diag) == PW_OK)
        return p->own = joined;
    free(joined);
    pw_layout_unref(layout);
    return NULL;
}

static double run_across(pw_probe *p, int runs)
{
    pw_measure_gpu *g = p->arg;
    const pw_joined *joined = find_across(g) ? joined_of(p) : NULL;
    pw_gpu_copy_order order = {.joined = joined, .gpu = g->gpu, .bytes = p->bytes};
    pw_status status = PW_OK;
    double begin = 0;

    if (!joined)
        return -1;
    order.from = (const void *)(uintptr_t)g->across->device;
    order.to = (void *)(uintptr_t)g->memory->device;
    for (int i = -GRAPH_RUNS; i < runs && status == PW_OK; i++) {
        begin = i <= 0 ? pw_clock_ns() : begin;
        status = pw_gpu_joined_copy(&order);
    }
    return status == PW_OK ? (double)(pw_clock_ns() - begin) / runs : -1;
}

static void free_joined(pw_joined *joined)
{
    if (!joined)
        return;
    pw_layout_unref(joined->layout);
    pw_layout_unref(joined->from);
    free(joined);
}

/* ---- the part ---------------------------------------------------------------------------------------------------- */

/* Loads the driver. The runtime never does; here this program takes the place of the application, which would. */
pw_status pw_measure_gpu_load(pw_diag *diag)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_GLOBAL);
    int (*init)(unsigned);

    if (!driver)
        return pw_diag_set(diag, PW_ERR_NOT_FOUND, "there is no CUDA driver");
    *(void **)&init = dlsym(driver, "cuInit");
    if (!init || init(0) != PW_CU_OK)
        return pw_diag_set(diag, PW_ERR_NOT_FOUND, "the CUDA driver finds no GPU");
    return pw_cu_find() ? PW_OK : pw_diag_set(diag, PW_ERR_NOT_FOUND, "the CUDA driver lacks calls that are needed");
}

static pw_status take_memory(pw_measure_gpu *g)
{
    pw_status status =
        pw_gpu_take(g->gpu, PW_GPU_DEVICE_MEMORY, (int64_t)GPU_MOST * pw_measure_every[PW_MEASURE_FAR], &g->memory);

    if (status == PW_OK)
        status = pw_gpu_take(g->gpu, PW_GPU_DEVICE_MEMORY, GPU_MOST, &g->packed);
    if (status == PW_OK)
        status = pw_gpu_take(g->gpu, PW_GPU_PINNED_MEMORY, GPU_MOST, &g->pinned);
    return status;
}

pw_model_table_id pw_measure_gpu_table(pw_model_memory memory, pw_direction direction, int spread)
{
    static const pw_model_table_id near[PW_MODEL_MEMORIES][PW_DIRECTIONS] = {
        [PW_MODEL_DEVICE] = {PW_TABLE_PACK_DEVICE_NEAR, PW_TABLE_UNPACK_DEVICE_NEAR},
        [PW_MODEL_MAPPED] = {PW_TABLE_PACK_MAPPED_NEAR, PW_TABLE_UNPACK_MAPPED_NEAR},
        [PW_MODEL_STAGED] = {PW_TABLE_PACK_STAGED_NEAR, PW_TABLE_UNPACK_STAGED_NEAR},
        [PW_MODEL_PIPELINED] = {PW_TABLE_PACK_PIPELINED_NEAR, PW_TABLE_UNPACK_PIPELINED_NEAR},
    };

    return near[memory][direction] + (unsigned)spread;
}

void pw_measure_gpu_add_moves(pw_measure_gpu *g, pw_probe_list *list, const pw_axis *sizes, const pw_axis *lengths)
{
    for (int memory = PW_MODEL_DEVICE; memory <= PW_MODEL_PIPELINED; memory++)
        for (int direction = 0; direction < PW_DIRECTIONS; direction++)
            for (int spread = 0; spread < PW_MEASURE_SPREADS; spread++)
                pw_probe_add(list, pw_measure_gpu_table((pw_model_memory)memory, (pw_direction)direction, spread),
                             sizes, lengths, GPU_MOST,
                             &(pw_probe){.run = run_move,
                                         .arg = g,
                                         .kind = memory * BY_MEMORY + direction * BY_DIRECTION + spread});
}

void pw_measure_gpu_add_copies(pw_measure_gpu *g, pw_probe_list *list)
{
    static const int64_t least[] = {LAUNCHED};
    static const pw_axis launch = {least, 1};

    for (int way = 0; way < PW_MODEL_COPY_WAYS; way++)
        pw_probe_add(list, PW_TABLE_COPY_D2H + (unsigned)way, &pw_measure_bytes, NULL, GPU_MOST,
                     &(pw_probe){.run = run_copy, .arg = g, .kind = way});
    pw_probe_add(list, PW_TABLE_LAUNCH, &launch, NULL, LAUNCHED,
                 &(pw_probe){.run = run_move, .arg = g, .kind = PW_MODEL_DEVICE * BY_MEMORY});
}

void pw_measure_gpu_add_across(pw_measure_gpu *g, pw_probe_list *list)
{
    for (int spread = 0; spread < PW_MEASURE_SPREADS; spread++)
        pw_probe_add(list, PW_TABLE_DIRECT_DEVICE_NEAR + (unsigned)spread, &pw_measure_bytes, &pw_measure_blocks,
                     ACROSS_MOST, &(pw_probe){.run = run_across, .arg = g, .kind = spread});
}

static pw_status create_engine(pw_layout_engine **engine)
{
    pw_layout_config config;

    /* This engine needs no CPU kernels. */
    pw_layout_config_from_env(&config);
    config.mode = PW_JIT_OFF;
    return pw_layout_engine_create(&config, engine);
}

pw_status pw_measure_gpu_begin(pw_measure_gpu *g, pw_diag *diag)
{
    pw_status status = pw_measure_gpu_load(diag);

    *g = (pw_measure_gpu){.engine = NULL};
    if (status != PW_OK)
        return status;
    pw_model_gpu_name(g->name, sizeof g->name);
    g->gpu = pw_gpu_get_primary(0);
    if (!g->gpu)
        return pw_diag_set(diag, PW_ERR_NOT_FOUND, "the GPU cannot be used");
    status = create_engine(&g->engine);
    if (status == PW_OK)
        status = take_memory(g);
    if (status != PW_OK) {
        pw_measure_gpu_end(g, &(pw_probe_list){.n = 0});
        return pw_diag_set(diag, status, "no memory for measurements: %s", pw_status_text(status));
    }
    if (!*g->name)
        snprintf(g->name, sizeof g->name, "sm_%d%d", g->gpu->major, g->gpu->minor);
    return PW_OK;
}

void pw_measure_gpu_end(pw_measure_gpu *g, pw_probe_list *list)
{
    for (int i = 0; i < list->n; i++) {
        if (list->at[i].run == run_move)
            pw_layout_unref(list->at[i].own);
        else if (list->at[i].run == run_across)
            free_joined(list->at[i].own);
    }
    if (g->across)
        pw_gpu_give(g->other ? g->other : g->gpu, g->across);
    if (g->gpu) {
        pw_gpu_give(g->gpu, g->memory);
        pw_gpu_give(g->gpu, g->packed);
        pw_gpu_give(g->gpu, g->pinned);
    }
    pw_layout_engine_destroy(g->engine);
    pw_gpu_close();
    *g = (pw_measure_gpu){.engine = NULL};
}
