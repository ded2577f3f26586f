/*
 * Dynamic kernel fusion (Chu et al., CLUSTER 2020): several packs, or several unpacks, of any layouts as one launch of
 * a kernel in which nothing is baked. It takes a table of jobs, one for each piece of each region of each move, within
 * its parameters, so that nothing is uploaded:
 *
 *     dst, src (unused), flag, ends                                    as of every kernel (record.h)
 *     w[0]: jobs; for each (its end block | its record << 32); for each dst, src, whole addresses of its first byte;
 *     then the records, each of one job or of several that differ in their addresses alone:
 *         units
 *         kind | loops << 8 | flags << 16 | words before the loops << 24 | units a block takes << 32
 *         [by kind and flags] TABLE: table, scale, width | its loop << 8. PARTS: three other words, bytes of a piece.
 *                             LIST: offsets, their scale, starts, their base, their scale, widths | log2 lanes << 16
 *         loops, innermost first: count | magic << 32, memory stride << 6 | shift, packed stride
 *
 * There are two sizes of the kernel, since a launch takes the longer the more parameters it has. Like tier 0 it is one
 * module an architecture. Pure functions: no CUDA, no state.
 */
#ifndef PW_CODEGEN_NVRTC_FUSED_H
#define PW_CODEGEN_NVRTC_FUSED_H

#include "codegen/backend.h"
#include "codegen/nvrtc/launch.h"
#include "codegen/nvrtc/record.h"

enum {
    PW_GPU_FUSED_JOBS = 64,
    PW_GPU_FUSED_SMALL = 128 - PW_GPU_HEAD_WORDS, /* words of the table: 1 KiB with the head */
    PW_GPU_FUSED_LARGE = 512 - PW_GPU_HEAD_WORDS  /* 4 KiB, which every driver takes */
};

/* A job's words in the table, and the parts of its record. */
enum { PW_JOB_DST, PW_JOB_SRC, PW_JOB_ADDRESSES, PW_JOB_WORDS };
enum { PW_JOB_UNITS, PW_JOB_SHAPE, PW_JOB_EXTRA };
enum { PW_JOB_LOOP_COUNT, PW_JOB_LOOP_MEM, PW_JOB_LOOP_PACKED, PW_JOB_LOOP_WORDS };
/* Words of 1 to 16 bytes by the logarithm. */
enum { PW_JOB_W1, PW_JOB_W4 = 2, PW_JOB_W16 = 4, PW_JOB_PARTS, PW_JOB_LIST };
enum { PW_JOB_TABLE = 1 };

/* The move that was added last, and where its jobs begin. */
typedef struct pw_gpu_fused_last {
    pw_gpu_call call;
    int jobs;
} pw_gpu_fused_last;

/* Jobs gathered for a launch. */
typedef struct pw_gpu_fused {
    pw_direction direction;    /* of the launch, as of its first move */
    int jobs, words;           /* of the records */
    int at[PW_GPU_FUSED_JOBS]; /* where each job's record begins */
    uint64_t addresses[PW_GPU_FUSED_JOBS][PW_JOB_ADDRESSES];
    uint64_t records[PW_GPU_FUSED_LARGE]; /* steps are not yet there */
    pw_gpu_fused_last last;               /* valid if there is a job */
} pw_gpu_fused;

/* Leaves no jobs. A launch of other ones begins with it. */
static inline void pw_gpu_fused_begin(pw_gpu_fused *f)
{
    f->jobs = f->words = 0;
}

/*
 * Returns the length of the longest moves of this nest that are better fused than launched alone. 0: they cannot be
 * fused. Looks at every block of a list, so callers keep the answer. NULL: bytes one after the other.
 */
int64_t pw_gpu_fused_most(const pw_nest *nest);

/*
 * Adds a move: `call` says count, dst, src and direction; `tables` are the nest's, as of pw_gpu_tier0_launch. Without a
 * nest `count` bytes are moved. A move in the other direction than the first one exchanges the sides of its jobs, as
 * jobs with a table or a list cannot. PW_ERR_OVERFLOW: there is no room, or such a job among others, and nothing has
 * been added; PW_ERR_UNSUPPORTED: there never is.
 */
pw_status pw_gpu_fused_add(pw_gpu_fused *f, const pw_nest *nest, const void *const *tables, const pw_gpu_call *call);
/* Adds the last move once more, which there must be, at other addresses: neighbours in an exchange mostly differ by
 * these alone. PW_ERR_UNSUPPORTED: they are aligned otherwise; nothing has been added. */
pw_status pw_gpu_fused_again(pw_gpu_fused *f, void *dst, const void *src);

/* Makes grid and parameters, at most 4 KiB. `big` of the launch says which size of the kernel to take, `direction` of
 * the jobs which of its two functions. */
void pw_gpu_fused_launch(const pw_gpu_fused *f, const pw_gpu_flag *flag, const pw_gpu_device *device, uint64_t *params,
                         pw_gpu_launch *out);

/* ---- the kernels ------------------------------------------------------------------------------------------------- */

/* The end of the larger kernel's name. */
#define PW_GPU_FUSED_SUFFIX "_large"

/* Stands for the kernels where shapes are compiled and cached: it has no regions. The number in its name goes up with
 * every change of device/fused.cuh or of the table. */
pw_hash pw_gpu_fused_hash(void);
pw_shape *pw_gpu_fused_shape(void); /* NULL: no memory */

static inline bool pw_gpu_is_fused(const pw_shape *shape)
{
    return pw_hash_equal(shape->hash, pw_gpu_fused_hash());
}

#endif
