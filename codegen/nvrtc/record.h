/*
 * The words of a kernel's parameters, as the host writes and device/prelude.cuh reads them. The parameters are
 *
 *     dst, src, blocks                      3 words
 *     w[]: (end block, record | class << 32) for each region, then the regions' records
 *
 * and a region's record is a header, a record for each loop (of the plan's order), and a tail by kind: the pieces
 * (three words each), or the list's tables.
 */
#ifndef PW_CODEGEN_NVRTC_RECORD_H
#define PW_CODEGEN_NVRTC_RECORD_H

enum { PW_GPU_THREADS = 256, PW_GPU_HEAD_WORDS = 3 };

enum {
    PW_REC_FIRST, /* the region's first block */
    PW_REC_BLOCKS,
    PW_REC_UNITS,
    PW_REC_MEM,
    PW_REC_PACKED,
    PW_REC_FLAGS,
    PW_REC_LANES, /* log2 of the lanes that share a block of bytes */
    PW_REC_SPARE,
    PW_REC_DIMS
};

enum {
    PW_DIM_COUNT, /* of iterations, tiles or chunks */
    PW_DIM_MAGIC32,
    PW_DIM_MAGIC64,
    PW_DIM_SHIFT64,
    PW_DIM_MEM,
    PW_DIM_PACKED,
    PW_DIM_TABLE,
    PW_DIM_SCALE,
    PW_DIM_WORDS
};

enum {
    PW_TAIL_OFFS,
    PW_TAIL_OFFS_SCALE,
    PW_TAIL_STARTS,
    PW_TAIL_STARTS_BASE,
    PW_TAIL_STARTS_SCALE,
    PW_TAIL_N,
    PW_TAIL_LEAF,
    PW_TAIL_LIST
};
enum { PW_TAIL_PIECE = 3 };                              /* memory offset, packed offset, bytes */
enum { PW_TAIL_COUNT_A, PW_TAIL_COUNT_B, PW_TAIL_TILE }; /* whole counts of the tiled loops */

enum { PW_FLAG_ALIGNED = 1, PW_FLAG_DENSE = 2, PW_FLAG_CHUNKED = 4 };
enum { PW_TILE_SIDE = 32, PW_PIECE_CHUNK_BYTES = 4096, PW_LIST_CHUNK_BYTES = 8192, PW_BATCH_WORDS = 4 };

#endif
