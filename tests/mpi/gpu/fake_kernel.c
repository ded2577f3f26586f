/* Launches without a GPU: the regions of a plan, walked with the numbers of the parameters. */
#define _GNU_SOURCE
#include "codegen/nvrtc/launch.h"
#include "codegen/nvrtc/plan.h"
#include "codegen/nvrtc/record.h"
#include "tests/mpi/gpu/fake.h"

#include <elf.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct fake_function {
    char name[FAKE_NAME + 8];
    bool unpack;
    const fake_kernel *kernel;
};

enum { FUNCTIONS = 20 };

typedef struct module {
    const fake_kernel *first;
    fake_function functions[FUNCTIONS];
    int n;
} module;

int fake_module_load(void **out, const void *image)
{
    const Elf64_Ehdr *header = image;
    const fake_kernel *k = (const void *)(header + 1);
    module *m;

    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_machine != FAKE_MACHINE || k->magic != FAKE_MAGIC)
        return FAKE_INVALID;
    m = calloc(1, sizeof *m);
    m->first = k;
    *out = m;
    return FAKE_OK;
}

void fake_module_unload(void *m)
{
    free(m);
}

/* The variants for 64 bits and for long tables do the same. */
static bool names(const char *wanted, const char *name)
{
    size_t n = strlen(name);

    return !strncmp(wanted, name, n) && (!wanted[n] || !strcmp(wanted + n, "_64") || !strcmp(wanted + n, "_large"));
}

const fake_function *fake_module_find(void *handle, const char *name)
{
    module *m = handle;

    for (const fake_kernel *k = m->first;; k = (const void *)((const char *)k + k->bytes)) {
        bool unpack = names(name, k->unpack);

        if ((unpack || names(name, k->pack)) && m->n < FUNCTIONS) {
            fake_function *f = &m->functions[m->n++];

            *f = (fake_function){.unpack = unpack, .kernel = k};
            strncpy(f->name, name, sizeof f->name - 1);
            return f;
        }
        if (k->bytes == 0)
            return NULL;
    }
}

/* ---- processes that end --------------------------------------------------------------------------------------------
 */

static _Atomic int doomed; /* 0: none */

void fake_kill_at_launch(int pid)
{
    doomed = pid;
}

static void kill_the_doomed(void)
{
    int pid = atomic_exchange(&doomed, 0), fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    struct pollfd ended = {.fd = fd, .events = POLLIN};

    if (pid <= 0)
        return;
    kill(pid, SIGKILL);
    if (fd >= 0)
        poll(&ended, 1, -1);
    close(fd);
}

/* ---- launches that are late, or fail ----------------------------------------------------------------------------- */

static _Atomic int delay_ms;
static _Atomic bool faulty;

void fake_delay(int ms)
{
    delay_ms = ms;
}

void fake_fault_at_launch(void)
{
    faulty = true;
}

static void wait_if_told(void)
{
    int ms = delay_ms;

    if (ms > 0)
        nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
}

/* ---- a launch ---------------------------------------------------------------------------------------------------- */

typedef struct run {
    const fake_context_t *context;
    const fake_region *region;
    const fake_piece *pieces;
    const uint64_t *rec;
    uint64_t mem, packed; /* addresses of the two sides */
    bool unpack;
    int error;
} run;

static int64_t entry(run *r, uint64_t table, int width, int64_t i)
{
    const void *p = fake_reach(r->context, table + (uint64_t)i * (uint64_t)width, (size_t)width, false);

    if (!p) {
        r->error = FAKE_FAULT;
        return 0;
    }
    return width == 2 ? *(const uint16_t *)p : width == 4 ? (int64_t)*(const uint32_t *)p : *(const int64_t *)p;
}

static void copy(run *r, int64_t mem, int64_t packed, int64_t bytes)
{
    void *m, *p;

    if (bytes <= 0)
        return;
    m = fake_reach(r->context, r->mem + (uint64_t)mem, (size_t)bytes, false);
    p = fake_reach(r->context, r->packed + (uint64_t)packed, (size_t)bytes, false);
    if (!m || !p)
        r->error = FAKE_FAULT;
    else
        memcpy(r->unpack ? m : p, r->unpack ? p : m, (size_t)bytes);
}

static void copy_list(run *r, int64_t mem, int64_t packed)
{
    const uint64_t *tail = r->rec + r->region->tail;
    uint64_t spare = r->rec[PW_REC_SPARE];
    int offs = r->region->offs_width ? r->region->offs_width : (int)(spare & 255);
    int starts = r->region->starts_width ? r->region->starts_width : (int)(spare >> 8 & 255);
    int64_t base = (int64_t)tail[PW_TAIL_STARTS_BASE], scale = (int64_t)tail[PW_TAIL_STARTS_SCALE];

    for (int64_t i = 0; i < (int64_t)tail[PW_TAIL_N] && !r->error; i++) {
        int64_t from = base + scale * entry(r, tail[PW_TAIL_STARTS], starts, i);
        int64_t to = base + scale * entry(r, tail[PW_TAIL_STARTS], starts, i + 1);

        int64_t at = from;

        if (r->region->packed_offs_width)
            at = (int64_t)tail[PW_TAIL_PACKED_SCALE] *
                 entry(r, tail[PW_TAIL_PACKED_OFFS], r->region->packed_offs_width, i);
        copy(r, mem + (int64_t)tail[PW_TAIL_OFFS_SCALE] * entry(r, tail[PW_TAIL_OFFS], offs, i), packed + at,
             to - from);
    }
}

static void copy_pieces(run *r, int64_t mem, int64_t packed)
{
    const uint64_t *tail = r->rec + r->region->tail;

    for (int i = 0; i < r->region->npieces; i++) {
        const fake_piece *p = &r->pieces[r->region->first_piece + i];

        if (r->region->kind == PW_GPU_PIECES)
            copy(r, mem + (int64_t)tail[PW_TAIL_PIECE * i], packed + (int64_t)tail[PW_TAIL_PIECE * i + 1],
                 (int64_t)tail[PW_TAIL_PIECE * i + 2]);
        else
            copy(r, mem + p->mem, packed + p->packed, p->bytes);
    }
}

static int64_t loop_count(const run *r, int dim)
{
    const uint64_t *tail = r->rec + r->region->tail;

    switch ((pw_gpu_role)r->region->dims[dim].role) {
    case PW_GPU_TILE_A: return (int64_t)tail[PW_TAIL_COUNT_A];
    case PW_GPU_TILE_B: return (int64_t)tail[PW_TAIL_COUNT_B];
    case PW_GPU_PART:
    case PW_GPU_ENTRY: return 1;
    case PW_GPU_WORD: return r->region->npieces > 1 ? 1 : (int64_t)r->rec[PW_REC_DIMS + PW_DIM_WORDS * dim];
    default: return (int64_t)r->rec[PW_REC_DIMS + PW_DIM_WORDS * dim + PW_DIM_COUNT];
    }
}

static void leaf(run *r, int64_t mem, int64_t packed)
{
    if (r->region->kind == PW_GPU_LIST)
        copy_list(r, mem, packed);
    else if (r->region->kind == PW_GPU_PIECES || r->region->npieces > 1)
        copy_pieces(r, mem, packed);
    else
        copy(r, mem, packed, r->region->word);
}

static void walk(run *r, int dim, int64_t mem, int64_t packed)
{
    const uint64_t *d = r->rec + PW_REC_DIMS + PW_DIM_WORDS * dim;
    int64_t count;

    if (dim == r->region->ndims) {
        leaf(r, mem, packed);
        return;
    }
    count = loop_count(r, dim);
    for (int64_t i = 0; i < count && !r->error; i++) {
        int64_t off = i * (int64_t)d[PW_DIM_MEM], packed_off = i * (int64_t)d[PW_DIM_PACKED];
        const uint64_t *table = r->rec + r->region->dims[dim].packed_word;
        int width = r->region->dims[dim].width ? r->region->dims[dim].width : (int)(r->rec[PW_REC_SPARE] & 255);

        if (r->region->dims[dim].has_table && width > 0 && d[PW_DIM_TABLE])
            off += (int64_t)d[PW_DIM_SCALE] * entry(r, d[PW_DIM_TABLE], width, i);
        if (r->region->dims[dim].packed_width)
            packed_off += (int64_t)table[1] * entry(r, table[0], r->region->dims[dim].packed_width, i);
        walk(r, dim + 1, mem + off, packed + packed_off);
    }
}

static int write_flag(const fake_context_t *context, const uint64_t *params)
{
    volatile uint64_t *flag;
    pw_gpu_ends *ends;

    if (!params[PW_HEAD_FLAG])
        return FAKE_OK;
    flag = fake_reach(context, params[PW_HEAD_FLAG], sizeof *flag, false);
    ends = fake_reach(context, params[PW_HEAD_ENDS], sizeof *ends, false);
    if (!flag || !ends)
        return FAKE_FAULT;
    __atomic_store_n(flag, ++ends->count, __ATOMIC_RELEASE);
    return FAKE_OK;
}

int fake_run(const fake_context_t *context, const fake_function *f, const uint64_t *params)
{
    const fake_region *regions = (const void *)(f->kernel + 1);
    run r = {.context = context,
             .pieces = (const void *)(regions + f->kernel->nregions),
             .mem = f->unpack ? params[PW_HEAD_DST] : params[PW_HEAD_SRC],
             .packed = f->unpack ? params[PW_HEAD_SRC] : params[PW_HEAD_DST],
             .unpack = f->unpack};

    wait_if_told();
    kill_the_doomed();
    if (atomic_exchange(&faulty, false))
        return FAKE_FAULT;
    if (f->kernel->fused)
        r.error = fake_run_fused(context, f->unpack, params);
    for (int64_t i = 0; i < f->kernel->nregions && !r.error; i++) {
        r.region = &regions[i];
        r.rec = params + PW_GPU_HEAD_WORDS + regions[i].record;
        walk(&r, 0, (int64_t)r.rec[PW_REC_MEM], (int64_t)r.rec[PW_REC_PACKED]);
    }
    return r.error ? r.error : write_flag(context, params);
}
