/* The probes of CPU kernels, by the public interface, and the types of all probes. */
#include "base/env.h"
#include "runtime/engine/layout/layout.h"
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

/* Returns the time that this thread has had on a CPU: time that a shared machine gives to other processes does not
 * count. */
static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static packwright_status make_vector(int64_t size, int64_t block, int every, packwright_type **out)
{
    int64_t align = block % 8 == 0 ? 8 : block % 4 == 0 ? 4 : 1;
    packwright_type *cell;
    packwright_status status = packwright_bytes(block, align, &cell);

    if (status)
        return status;
    status = packwright_vector(size / block, 1, every, cell, out);
    packwright_type_free(cell);
    return status;
}

packwright_type *pw_measure_type(int64_t size, int64_t block, int every)
{
    packwright_type *vector, *whole = NULL;

    if (make_vector(size, block, every, &vector))
        return NULL;
    packwright_resized(0, size * every, vector, &whole);
    packwright_type_free(vector);
    return whole;
}

/* The first use of a type compiles its kernel, which is no part of what is measured. */
static packwright_type *make_ready(packwright_type *type)
{
    if (!type || !packwright_pack(type, NULL, 0, NULL))
        return type;
    packwright_type_free(type);
    return NULL;
}

/* The probe's kind is direction * PW_MEASURE_SPREADS + spread. */
static double run(pw_probe *p, int runs)
{
    pw_measure_cpu *c = p->arg;
    int every = pw_measure_every[p->kind % PW_MEASURE_SPREADS];
    double begin;

    if (!p->own)
        p->own = make_ready(pw_measure_type(p->bytes, p->block, every));
    if (!p->own || p->bytes * every > c->memory_bytes || p->bytes > c->packed_bytes)
        return -1;
    begin = now_ns();
    if (p->kind / PW_MEASURE_SPREADS == PW_PACK)
        for (int i = 0; i < runs; i++)
            packwright_pack(p->own, c->memory, 1, c->packed);
    else
        for (int i = 0; i < runs; i++)
            packwright_unpack(p->own, c->memory, 1, c->packed);
    return (now_ns() - begin) / runs;
}

/* Kernels are compiled when a type is first used, unless the user wants none. Unlike programs with the library, the
 * command warns on stderr, whether PACKWRIGHT_LOG is set or not. */
static packwright_status configure(void)
{
    packwright_options options = {.size = sizeof options};

    if (pw_jit_mode_from_env() == PW_JIT_ASYNC)
        options.jit = PACKWRIGHT_JIT_SYNC;
    pw_env_replace_choice(PW_ENV_LOG, pw_env_choice(PW_ENV_LOG));
    return packwright_configure(&options);
}

/* Allocates and writes memory, so that it is not all the zero page. */
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

    *c = (pw_measure_cpu){.memory_bytes = (int64_t)CPU_MOST_FAR * pw_measure_every[PW_MEASURE_FAR],
                          .packed_bytes = CPU_MOST_NEAR};
    if (configure())
        return PW_ERR_INVALID;
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
            packwright_type_free(list->at[i].own);
    free(c->memory);
    free(c->packed);
    *c = (pw_measure_cpu){.memory = NULL};
}
