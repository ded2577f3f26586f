/*
 * The words of a kernel's parameters, as the host writes and device/prelude.cuh reads them. The parameters are
 *
 *     dst, src, flag, ends                  the buffers; what the end of the kernel counts up (launch.h)
 *     w[]: (end block, record | class << 32) for each region, then the regions' records
 *
 * and a region's record is a header, a record for each loop (of the plan's order), and a tail by kind: the pieces
 * (four words each), or the list's tables. In a joined region the tail ends with two words, a table's address and its
 * scale, for each loop that has a table on the packed side.
 */
#ifndef PW_CODEGEN_NVRTC_RECORD_H
#define PW_CODEGEN_NVRTC_RECORD_H

enum { PW_GPU_THREADS = 256 };

enum { PW_HEAD_DST, PW_HEAD_SRC, PW_HEAD_FLAG, PW_HEAD_ENDS, PW_GPU_HEAD_WORDS };

enum {
    PW_REC_FIRST, /* the region's first block */
    PW_REC_BLOCKS,
    PW_REC_UNITS,
    PW_REC_MEM,
    PW_REC_PACKED,
    PW_REC_FLAGS,
    PW_REC_LANES, /* log2 of the lanes that share a block of a list */
    PW_REC_SPARE,
    PW_REC_CHUNK, /* words: units between the first ones of neighbouring blocks, and between those of a thread */
    PW_REC_STEP,
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
    PW_TAIL_SPAN,   /* packed bytes that a block takes at once */
    PW_TAIL_WINDOW, /* blocks of the list that it takes into shared memory at once */
    PW_TAIL_GUESS,  /* blocks of the list in a span on the average, times 2^16 */
    PW_TAIL_STRIDE, /* blocks between the places that are tried first, around the one that is guessed */
    PW_TAIL_LIST,
    PW_TAIL_PACKED_OFFS = PW_TAIL_LIST, /* of joined regions only */
    PW_TAIL_PACKED_SCALE,
    PW_TAIL_JOINED_LIST
};
/* A piece: memory offset, packed offset, bytes, first part. Behind the last, for memory and for packed order: the first
 * byte of all, and at how many places from there on 32 bytes may be read (0: nobody knows). */
enum { PW_TAIL_PIECE = 4, PW_TAIL_RANGES = 4, PW_TAIL_TABLE = 2 };
enum { PW_TAIL_COUNT_A, PW_TAIL_COUNT_B, PW_TAIL_TILE }; /* whole counts of the tiled loops */

enum { PW_FLAG_ALIGNED = 1, PW_FLAG_DENSE = 2, PW_FLAG_CHUNKED = 4, PW_FLAG_NARROW = 8, PW_FLAG_SHORT = 16 };
enum { PW_FLAG_SPARSE = 32, PW_FLAG_FEW = 64 }; /* for the host's decisions alone */
enum { PW_GPU_SECTOR = 32, PW_GPU_FILLED_BYTES = 40 };
enum { PW_FLAG_FILLED = 256, PW_FLAG_FILLED_WIDE = 512 }; /* unpacking reads ends of blocks first */
enum {
    PW_LIST_WINDOW = 512,
    PW_LIST_GROUPS = 256,
    PW_ODD_GROUPS = 208,
    PW_ASKEW_WINDOW = 128,
    PW_LIST_SLACK = 16,
    PW_NARROW_BYTES = 4
};

#endif
