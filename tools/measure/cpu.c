/* The probes of CPU kernels, and the layouts of all probes. */
#include "tools/measure/node.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CPU_MOST_NEAR = 16 << 20, CPU_MOST_FAR = 4 << 20 };

static const int64_t bytes[] = {64,        256,     1 << 10, 4 << 10,  16 << 10, 64 << 10,
                                256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20};
static const int64_t blocks[] = {4, 8, 16, 64, 512, 8192};

const pw_axis pw_measure_bytes = {bytes, sizeof bytes / sizeof *bytes};
const pw_axis pw_measure_blocks = {blocks, sizeof blocks / sizeof *blocks};
const int pw_measure_every[PW_MEASURE_SPREADS] = {PW_MODEL_NEAR, PW_MODEL_FAR};

/* The time that this thread has had on a CPU: time that a shared machine gives to other processes is not the kernel's.
 */
static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

pw_layout *pw_measure_layout(pw_layout_engine *engine, int64_t size, int64_t block, int every)
{
    pw_arena *arena = pw_arena_create();
    pw_builder b = {.arena = arena, .status = PW_OK};
    pw_layout *layout = NULL;
    pw_type type = {.lb = 0};
    pw_diag diag;

    if (!arena)
        return NULL;
    type.root = pw_build_stream(&b, size / block, block * every,
                                pw_build_bytes(&b, block,
                                               block % 8 == 0   ? 8
                                               : block % 4 == 0 ? 4
                                                                : 1));
    type.extent = size * every;
    if (b.status != PW_OK || pw_layout_get(engine, &type, &layout, &diag) != PW_OK)
        layout = NULL;
    pw_arena_destroy(arena);
    return layout;
}

/* kind: direction * PW_MEASURE_SPREADS + spread. */
static double run(pw_probe *p, int runs)
{
    pw_measure_cpu *c = p->arg;
    int every = pw_measure_every[p->kind % PW_MEASURE_SPREADS];
    double begin;

    if (!p->own)
        p->own = pw_measure_layout(c->engine, p->bytes, p->block, every);
    if (!p->own || p->bytes * every > c->memory_bytes || p->bytes > c->packed_bytes)
        return -1;
    begin = now_ns();
    if (p->kind / PW_MEASURE_SPREADS == PW_PACK)
        for (int i = 0; i < runs; i++)
            pw_layout_pack(p->own, c->memory, 1, c->packed);
    else
        for (int i = 0; i < runs; i++)
            pw_layout_unpack(p->own, c->memory, 1, c->packed);
    return (now_ns() - begin) / runs;
}

static pw_status create_engine(pw_layout_engine **engine)
{
    pw_layout_config config;

    pw_layout_config_from_env(&config);
    if (config.mode == PW_JIT_ASYNC)
        config.mode = PW_JIT_SYNC;
    config.timed = false;
    return pw_layout_engine_create(&config, engine);
}

/* Written, so that it is memory and not the zero page. */
static char *allocate(int64_t size)
{
    char *p = aligned_alloc(4096, (size_t)size);

    if (p)
        memset(p, 1, (size_t)size);
    return p;
}

pw_status pw_measure_cpu_begin(pw_measure_cpu *c, pw_probe_list *list)
{
    static const pw_model_table_id first[PW_DIRECTIONS] = {PW_TABLE_PACK_HOST_NEAR, PW_TABLE_UNPACK_HOST_NEAR};
    pw_status status;

    *c = (pw_measure_cpu){.memory_bytes = (int64_t)CPU_MOST_FAR * pw_measure_every[PW_MEASURE_FAR],
                          .packed_bytes = CPU_MOST_NEAR};
    status = create_engine(&c->engine);
    if (status != PW_OK)
        return status;
    c->memory = allocate(c->memory_bytes);
    c->packed = allocate(c->packed_bytes);
    if (!c->memory || !c->packed) {
        pw_measure_cpu_end(c, list);
        return PW_ERR_NOMEM;
    }
    for (int direction = 0; direction < PW_DIRECTIONS; direction++)
        for (int spread = 0; spread < PW_MEASURE_SPREADS; spread++)
            pw_probe_add(list, first[direction] + (unsigned)spread, &pw_measure_bytes, &pw_measure_blocks,
                         spread == PW_MEASURE_FAR ? CPU_MOST_FAR : CPU_MOST_NEAR,
                         &(pw_probe){.run = run, .arg = c, .kind = direction * PW_MEASURE_SPREADS + spread});
    return PW_OK;
}

void pw_measure_cpu_end(pw_measure_cpu *c, pw_probe_list *list)
{
    for (int i = 0; i < list->n; i++)
        if (list->at[i].run == run)
            pw_layout_unref(list->at[i].own);
    pw_layout_engine_destroy(c->engine);
    free(c->memory);
    free(c->packed);
    *c = (pw_measure_cpu){.engine = NULL};
}
