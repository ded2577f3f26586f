/*
 * Packwright's engine as a library: describe a data layout, and move the bytes that it names.
 *
 * A type is what MPI 4.0 chapter 5 calls a derived datatype: a map from packed bytes to places in memory, made by the
 * constructors of that chapter. It can be built by calls, read from text, and used with no MPI, compiler or GPU
 * present. The functions here move objects of a type between memory and a packed stream of bytes, in the order of the
 * standard (section 5.1.1, the typemap's), by compiled kernels where there are some, else by the built-in interpreter.
 *
 *     packwright_type *cell, *rows;
 *
 *     packwright_bytes(8, 8, &cell);
 *     packwright_vector(100, 2, 64, cell, &rows); // 100 blocks of 2 doubles, 64 doubles apart
 *     packwright_pack(rows, field, 1, buffer);    // 1600 bytes
 *     packwright_type_free(rows);
 *     packwright_type_free(cell);
 *
 * Units. Counts and block lengths are in elements of the old type; strides and displacements are in extents of the old
 * type, or in bytes in the forms with h; all are 64-bit and signed. Sizes, extents and positions are in bytes.
 *
 * Ownership. A function that makes a type gives the caller one reference; packwright_type_free gives it back. A type
 * holds what it needs of its old types, which may be freed at once. Buffers and texts of the caller are read during the
 * call only.
 *
 * Threads. Types are immutable. Any number of threads may use and free one at a time, and call anything here.
 *
 * Errors. Functions return a packwright_status. On failure outputs and buffers are as they were, and
 * packwright_last_error() says what was wrong with which argument. The library neither prints nor aborts by itself,
 * except for warnings that the environment asks for (PACKWRIGHT_LOG; packwright_options.quiet silences these).
 */
#ifndef PACKWRIGHT_PACKWRIGHT_H
#define PACKWRIGHT_PACKWRIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKWRIGHT_ABI 1 /* of the SONAME; functions are added to it, never changed */

#if defined(__GNUC__)
#define PACKWRIGHT_API __attribute__((visibility("default")))
#else
#define PACKWRIGHT_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum packwright_status {
    PACKWRIGHT_OK = 0,
    PACKWRIGHT_ERR_NOMEM,       /* an allocation failed */
    PACKWRIGHT_ERR_INVALID,     /* an argument or a text is malformed */
    PACKWRIGHT_ERR_OVERFLOW,    /* a size, offset or count does not fit 64 bits */
    PACKWRIGHT_ERR_UNSUPPORTED, /* legal, but not possible here: a device buffer without a CUDA driver */
    PACKWRIGHT_ERR_TRUNCATED,   /* the range or the buffer is shorter than what was asked for */
    PACKWRIGHT_ERR_DEVICE       /* the GPU's driver reported an error */
} packwright_status;

/* English text of a status, static. */
PACKWRIGHT_API const char *packwright_status_text(packwright_status status);
/* What the last failed call of this thread failed for, one line without a line end; "" before any failure. Valid until
 * the thread's next failure. */
PACKWRIGHT_API const char *packwright_last_error(void);
/* Sets what packwright_last_error says to this thread, and returns `status`. For libraries that make types from other
 * descriptions, as packwright-mpi.h does. */
PACKWRIGHT_API packwright_status packwright_fail(packwright_status status, const char *text);
/* "1.2.3" of the library that is loaded. */
PACKWRIGHT_API const char *packwright_version(void);

/* ---- options ------------------------------------------------------------------------------------ */

typedef enum packwright_jit {
    PACKWRIGHT_JIT_DEFAULT, /* as PACKWRIGHT_JIT says, else ASYNC */
    PACKWRIGHT_JIT_SYNC,    /* kernels are compiled when a type is first used */
    PACKWRIGHT_JIT_ASYNC,   /* by a thread of the library, once a type has moved enough bytes */
    PACKWRIGHT_JIT_OFF      /* never; kernels on disk are not used either */
} packwright_jit;

/* What the process wants, instead of or beside environment variables. Zero-initialise, and set `size`; a field left at
 * zero means what the variable of the same name says, else its default (docs: `packwright env`). */
typedef struct packwright_options {
    size_t size; /* sizeof(packwright_options): which fields the caller knows */
    packwright_jit jit;
    const char
        *cache_dir;    /* of the kernel cache on disk; NULL: PACKWRIGHT_CACHE_DIR or its default; "": no disk cache */
    int64_t hot_bytes; /* packed bytes after which ASYNC compiles a type; 0: measured break-even */
    bool statistics;   /* count uses (packwright_type_statistics) */
    bool quiet;        /* no line on stderr, whatever happens */
} packwright_options;

/* Sets the options of the process. They hold for types that are first moved afterwards; PACKWRIGHT_ERR_INVALID once a
 * type has been moved, since kernels and statistics of one process are shared. Calling it is optional. */
PACKWRIGHT_API packwright_status packwright_configure(const packwright_options *options);

/* ---- types -------------------------------------------------------------------------------------- */

typedef struct packwright_type packwright_type;

/* A block of `bytes` contiguous bytes, aligned to `align` (a power of two from 1 to 16): an element such as a double
 * (8, 8). */
PACKWRIGHT_API packwright_status packwright_bytes(int64_t bytes, int64_t align, packwright_type **out);
PACKWRIGHT_API packwright_status packwright_contiguous(int64_t count, const packwright_type *old,
                                                       packwright_type **out);
PACKWRIGHT_API packwright_status packwright_vector(int64_t count, int64_t blocklength, int64_t stride,
                                                   const packwright_type *old, packwright_type **out);
PACKWRIGHT_API packwright_status packwright_hvector(int64_t count, int64_t blocklength, int64_t stride_bytes,
                                                    const packwright_type *old, packwright_type **out);
/* Lists have `n` entries each. */
PACKWRIGHT_API packwright_status packwright_indexed(int64_t n, const int64_t *blocklengths,
                                                    const int64_t *displacements, const packwright_type *old,
                                                    packwright_type **out);
PACKWRIGHT_API packwright_status packwright_hindexed(int64_t n, const int64_t *blocklengths,
                                                     const int64_t *displacements_bytes, const packwright_type *old,
                                                     packwright_type **out);
PACKWRIGHT_API packwright_status packwright_indexed_block(int64_t n, int64_t blocklength, const int64_t *displacements,
                                                          const packwright_type *old, packwright_type **out);
PACKWRIGHT_API packwright_status packwright_hindexed_block(int64_t n, int64_t blocklength,
                                                           const int64_t *displacements_bytes,
                                                           const packwright_type *old, packwright_type **out);
PACKWRIGHT_API packwright_status packwright_struct(int64_t n, const int64_t *blocklengths,
                                                   const int64_t *displacements_bytes, packwright_type *const *olds,
                                                   packwright_type **out);

typedef enum packwright_order { PACKWRIGHT_ORDER_C, PACKWRIGHT_ORDER_FORTRAN } packwright_order;
typedef enum packwright_distribution {
    PACKWRIGHT_DISTRIBUTE_NONE,
    PACKWRIGHT_DISTRIBUTE_BLOCK,
    PACKWRIGHT_DISTRIBUTE_CYCLIC
} packwright_distribution;
#define PACKWRIGHT_DISTRIBUTE_DEFAULT_ARG (-1)

/* Arrays of `ndims` entries, in elements of `old`; starts from 0. */
PACKWRIGHT_API packwright_status packwright_subarray(int64_t ndims, const int64_t *sizes, const int64_t *subsizes,
                                                     const int64_t *starts, packwright_order order,
                                                     const packwright_type *old, packwright_type **out);
/* The part of process `rank` of `size` (MPI 4.0 section 5.1.4). */
PACKWRIGHT_API packwright_status packwright_darray(int64_t size, int64_t rank, int64_t ndims, const int64_t *gsizes,
                                                   const packwright_distribution *distributions,
                                                   const int64_t *arguments, const int64_t *psizes,
                                                   packwright_order order, const packwright_type *old,
                                                   packwright_type **out);
PACKWRIGHT_API packwright_status packwright_resized(int64_t lb, int64_t extent, const packwright_type *old,
                                                    packwright_type **out);
/* Another reference to the same type: MPI's dup of an immutable type. */
PACKWRIGHT_API packwright_type *packwright_dup(const packwright_type *type);
/* Gives a reference back; NULL is allowed. */
PACKWRIGHT_API void packwright_type_free(packwright_type *type);

/* The one type that `text` describes in the datatype language (packwright help ddt, docs/ddt.md). Errors have line and
 * column. */
PACKWRIGHT_API packwright_status packwright_from_ddt(const char *text, packwright_type **out);
/* The type named `name` in a .ddt text with several; NULL: there is one only. */
PACKWRIGHT_API packwright_status packwright_from_ddt_named(const char *text, const char *name, packwright_type **out);
/* The one type that `text` describes in the text form of the layout IR (docs/ir.md). */
PACKWRIGHT_API packwright_status packwright_from_ir(const char *text, packwright_type **out);

/* Packed bytes of one object. */
PACKWRIGHT_API int64_t packwright_size(const packwright_type *type);
/* Lower bound, and distance of one object to the next. */
PACKWRIGHT_API void packwright_extent(const packwright_type *type, int64_t *lb, int64_t *extent);
/* The bytes that are touched: from true_lb, true_extent of them. */
PACKWRIGHT_API void packwright_true_extent(const packwright_type *type, int64_t *true_lb, int64_t *true_extent);
/* Contiguous blocks of one object after adjacent ones are merged. */
PACKWRIGHT_API int64_t packwright_blocks(const packwright_type *type);
/* 128 bits that are equal for types that move the same bytes in the same order, however they were built, and for no
 * others. Stable within a version of the library. */
PACKWRIGHT_API packwright_status packwright_hash(const packwright_type *type, uint64_t hash[2]);

typedef enum packwright_text { PACKWRIGHT_TEXT_DDT, PACKWRIGHT_TEXT_IR } packwright_text;
/* The type's text, in canonical form; parses back to an equal type. malloc'ed: the caller frees it with free(). */
PACKWRIGHT_API packwright_status packwright_text_of(const packwright_type *type, packwright_text form, char **out);

typedef struct packwright_statistics {
    size_t size; /* sizeof(packwright_statistics), set by the caller */
    int64_t packs, unpacks, bytes;
    int64_t kernel_calls; /* of these calls, by a compiled kernel */
} packwright_statistics;
/* All zero unless packwright_options.statistics or PACKWRIGHT_STATS is set. */
PACKWRIGHT_API packwright_status packwright_type_statistics(const packwright_type *type, packwright_statistics *out);

/* ---- moves -------------------------------------------------------------------------------------- */

/* `count` objects at `memory`, `extent` apart, to or from count * size packed bytes at `packed`. `memory` is the
 * address that displacement 0 stands for. Buffers must not overlap. */
PACKWRIGHT_API packwright_status packwright_pack(const packwright_type *type, const void *memory, int64_t count,
                                                 void *packed);
PACKWRIGHT_API packwright_status packwright_unpack(const packwright_type *type, void *memory, int64_t count,
                                                   const void *packed);
/* Bytes [first, last) of the packed stream of `count` objects only; `packed` points to byte `first`. */
PACKWRIGHT_API packwright_status packwright_pack_range(const packwright_type *type, const void *memory, int64_t count,
                                                       int64_t first, int64_t last, void *packed);
PACKWRIGHT_API packwright_status packwright_unpack_range(const packwright_type *type, void *memory, int64_t count,
                                                         int64_t first, int64_t last, const void *packed);

/* As POSIX's struct iovec, for writev and its kin. */
typedef struct packwright_iov {
    void *base;
    size_t length;
} packwright_iov;
/* The contiguous blocks of `count` objects at `memory`, in packed order, from block `offset` on, at most `max` of them:
 * *filled is how many were written to `iov`, 0 behind the last. */
PACKWRIGHT_API packwright_status packwright_iovs(const packwright_type *type, const void *memory, int64_t count,
                                                 int64_t offset, int64_t max, packwright_iov *iov, int64_t *filled);

/* From one layout to another of as many bytes: `from_count` objects at `from` to `to_count` objects at `to`, which must
 * be as many bytes (else PACKWRIGHT_ERR_INVALID). Buffers must not overlap. */
PACKWRIGHT_API packwright_status packwright_copy(const packwright_type *from_type, const void *from, int64_t from_count,
                                                 const packwright_type *to_type, void *to, int64_t to_count);

/* The same moves where `memory`, `packed` or both lie in the memory of a CUDA device. The CUDA driver must be in use in
 * the process (the library does not load it). The calls order themselves behind the work of `stream` (a CUstream or
 * cudaStream_t; NULL: the default stream) and return when the bytes have moved. */
PACKWRIGHT_API packwright_status packwright_pack_stream(const packwright_type *type, const void *memory, int64_t count,
                                                        void *packed, void *stream);
PACKWRIGHT_API packwright_status packwright_unpack_stream(const packwright_type *type, void *memory, int64_t count,
                                                          const void *packed, void *stream);

#ifdef __cplusplus
}
#endif

#endif
