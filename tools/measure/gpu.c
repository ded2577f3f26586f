/*
 * The probes of a GPU. They call the functions of runtime/engine/gpu, so launches, waiting and copies are those of a
 * transfer.
 */
#include "tools/measure/gpu.h"

#include "base/card.h"
#include "base/clock.h"
#include "runtime/engine/gpu/device.h"
#include "runtime/engine/gpu/transfer.h"
#include "runtime/engine/library/internal.h"
#include "runtime/engine/model/file.h"
#include "runtime/engine/move/move.h"

#include <dlfcn.h>
#include <math.h>
#include <packwright/packwright.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHORT = 64,      /* bytes of what takes no time of its own */
    LONG = 16 << 20, /* and of what takes long */
    LONG_BLOCK = 8192,
    NEAR = 2,      /* the distance from block to block, in lengths of a block */
    GRAPH_RUNS = 2 /* not timed: the first launch of a kernel is a plain one, and the second makes its graph */
};

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

/* Blocks of `block` bytes with gaps of as many, `bytes` in all. */
static packwright_type *make_type(int64_t bytes, int64_t block)
{
    packwright_type *cell, *vector, *whole = NULL;

    if (packwright_bytes(block, block % 8 == 0 ? 8 : 1, &cell))
        return NULL;
    if (packwright_vector(bytes / block, 1, NEAR, cell, &vector))
        vector = NULL;
    packwright_type_free(cell);
    if (vector)
        packwright_resized(0, bytes * NEAR, vector, &whole);
    packwright_type_free(vector);
    return whole;
}

static pw_layout *layout_of(pw_probe *p)
{
    pw_measure_gpu *g = p->arg;

    if (!p->own)
        p->own = make_layout(g->engine, make_type(p->bytes, p->block));
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
    const pw_measure_gpu *g = p->arg;
    pw_gpu_order order = {.packed = pw_gpu_packed_in(p->kind == PW_GPU_LAUNCHED ? g->packed : g->pinned),
                          .direction = p->kind == PW_GPU_MAPPED_READ ? PW_UNPACK : PW_PACK,
                          .path = PW_GPU_DIRECT};
    pw_layout *layout = layout_of(p);
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
    bool from_host = p->kind == PW_GPU_FROM_HOST || p->kind == PW_GPU_FROM_HOST_LONG;
    bool to_host = p->kind == PW_GPU_TO_HOST || p->kind == PW_GPU_TO_HOST_LONG;
    pw_cu_ptr from = from_host ? pw_cu_address(g->pinned->host) : g->memory->device;
    pw_cu_ptr to = to_host ? pw_cu_address(g->pinned->host) : g->packed->device;
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
    PW_GPU_SCOPE(scope);

    *(void **)&enable = dlsym(RTLD_DEFAULT, "cuCtxEnablePeerAccess");
    return enable && pw_gpu_enter(g->gpu, &scope) == PW_OK && enable(g->other->context, 0) == PW_CU_OK;
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
    if (g->other ? !reach_other(g) : pw_card_count() > 1)
        return false;
    owner = g->other ? g->other : g->gpu;
    return pw_gpu_take(owner, PW_GPU_DEVICE_MEMORY, (int64_t)LONG * NEAR, &g->across) == PW_OK;
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
    layout = make_layout(g->engine, make_type(p->bytes, p->block));
    joined = layout ? calloc(1, sizeof *joined) : NULL;
    if (joined && pw_layout_join(layout, layout, joined, &diag) == PW_OK)
        return p->own = joined;
    free(joined);
    pw_layout_unref(layout);
    return NULL;
}

static pw_buffer view_of(const pw_probe *p, pw_layout *layout, const pw_gpu_block *block)
{
    pw_measure_gpu *g = p->arg;

    return (pw_buffer){.layout = layout,
                       .place = {.kind = PW_PLACE_DEVICE, .gpu = g->gpu},
                       .base = (void *)(uintptr_t)block->device,
                       .count = p->bytes / layout->size,
                       .bytes = p->bytes};
}

static double run_across(pw_probe *p, int runs)
{
    pw_measure_gpu *g = p->arg;
    const pw_joined *joined = find_across(g) ? joined_of(p) : NULL;
    pw_buffer from, to;
    pw_status status = PW_OK;
    double begin = 0;

    if (!joined)
        return -1;
    from = view_of(p, joined->from, g->across);
    to = view_of(p, joined->to, g->memory);
    for (int i = -GRAPH_RUNS; i < runs && status == PW_OK; i++) {
        begin = i <= 0 ? pw_clock_ns() : begin;
        status = pw_move_now(&from, &to, joined);
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

/* ---- the driver -------------------------------------------------------------------------------------------------- */

/* Loads the driver. The runtime never does; here this program takes the place of the application, which would. */
static pw_status load_driver(pw_diag *diag)
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
    pw_status status = pw_gpu_take(g->gpu, PW_GPU_DEVICE_MEMORY, (int64_t)LONG * NEAR, &g->memory);

    if (status == PW_OK)
        status = pw_gpu_take(g->gpu, PW_GPU_DEVICE_MEMORY, LONG, &g->packed);
    if (status == PW_OK)
        status = pw_gpu_take(g->gpu, PW_GPU_PINNED_MEMORY, LONG, &g->pinned);
    return status;
}

void pw_measure_gpu_add(pw_measure_gpu *g, pw_probe_list *list)
{
    static const struct {
        pw_probe_fn *run;
        int64_t bytes, block;
    } probes[PW_GPU_PROBES] = {
        [PW_GPU_LAUNCHED] = {run_move, SHORT, SHORT / 2},      [PW_GPU_MAPPED_READ] = {run_move, SHORT, SHORT / 2},
        [PW_GPU_MAPPED_LONG] = {run_move, LONG, LONG_BLOCK},   [PW_GPU_TO_HOST] = {run_copy, SHORT, SHORT},
        [PW_GPU_TO_HOST_LONG] = {run_copy, LONG, LONG},        [PW_GPU_FROM_HOST] = {run_copy, SHORT, SHORT},
        [PW_GPU_FROM_HOST_LONG] = {run_copy, LONG, LONG},      [PW_GPU_WITHIN] = {run_copy, SHORT, SHORT},
        [PW_GPU_WITHIN_LONG] = {run_copy, LONG, LONG},         [PW_GPU_ACROSS] = {run_across, SHORT, SHORT / 2},
        [PW_GPU_ACROSS_LONG] = {run_across, LONG, LONG_BLOCK},
    };

    for (int i = 0; i < PW_GPU_PROBES; i++)
        pw_probe_add(
            list,
            &(pw_probe){.run = probes[i].run, .arg = g, .kind = i, .bytes = probes[i].bytes, .block = probes[i].block});
}

/* ---- facts ------------------------------------------------------------------------------------------------------- */

/* Bytes a nanosecond, of what takes so much longer than something short. A time that was not trusted gives NaN, and
 * times that do not differ give infinity; neither is a fact. */
static double rate(double bytes, double longer)
{
    return longer > 0 ? bytes / longer : isnan(longer) ? NAN : INFINITY;
}

static void set(pw_model *m, pw_fact fact, double value, bool quiet)
{
    pw_diag diag = {0};

    if (pw_model_set(m, fact, value, &diag) != PW_OK && !quiet)
        fprintf(stderr, "GPU: left out: %s\n", isnan(value) ? pw_fact_infos[fact].name : diag.text);
}

void pw_measure_gpu_facts(const pw_probe_list *list, double spread, bool quiet, pw_model *m)
{
    double t[PW_GPU_PROBES], to_host, read;

    for (int i = 0; i < PW_GPU_PROBES; i++)
        t[i] = pw_probe_time(&list->at[i], spread);
    to_host = (t[PW_GPU_TO_HOST] + t[PW_GPU_FROM_HOST]) / 2;
    read = t[PW_GPU_MAPPED_READ] - t[PW_GPU_LAUNCHED];
    set(m, PW_FACT_launch, t[PW_GPU_LAUNCHED], quiet);
    set(m, PW_FACT_mapped_read, read > 0 || isnan(read) ? read : 1, quiet);
    set(m, PW_FACT_host_copy, to_host, quiet);
    set(m, PW_FACT_host_link, rate(LONG, (t[PW_GPU_TO_HOST_LONG] + t[PW_GPU_FROM_HOST_LONG]) / 2 - to_host), quiet);
    set(m, PW_FACT_device_copy, t[PW_GPU_WITHIN], quiet);
    set(m, PW_FACT_gpu_memory, rate(2.0 * LONG, t[PW_GPU_WITHIN_LONG] - t[PW_GPU_WITHIN]), quiet);
    set(m, PW_FACT_mapped, rate(LONG, t[PW_GPU_MAPPED_LONG] - t[PW_GPU_LAUNCHED]), quiet);
    if (list->at[PW_GPU_ACROSS].failed)
        return;
    set(m, PW_FACT_peer_launch, t[PW_GPU_ACROSS], quiet);
    set(m, PW_FACT_peer_bytes, rate(LONG, t[PW_GPU_ACROSS_LONG] - t[PW_GPU_ACROSS]), quiet);
}

/* ---- the part ---------------------------------------------------------------------------------------------------- */

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
    pw_status status = load_driver(diag);

    *g = (pw_measure_gpu){.engine = NULL};
    if (status != PW_OK)
        return status;
    pw_card_name(g->name, sizeof g->name);
    g->gpu = pw_gpu_get_primary(0);
    if (!g->gpu)
        return pw_diag_set(diag, PW_ERR_NOT_FOUND, "the GPU cannot be used");
    status = create_engine(&g->engine);
    if (status == PW_OK)
        status = take_memory(g);
    if (status != PW_OK) {
        pw_measure_gpu_end(g, NULL);
        return pw_diag_set(diag, status, "no memory for measurements: %s", pw_status_text(status));
    }
    if (!*g->name)
        snprintf(g->name, sizeof g->name, "sm_%d%d", g->gpu->major, g->gpu->minor);
    return PW_OK;
}

void pw_measure_gpu_end(pw_measure_gpu *g, pw_probe_list *list)
{
    for (int i = 0; list && i < list->n; i++) {
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
