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
 * Threads. Types are immutable. Any number of threads may use one at the same time, and may call anything here; a
 * reference is given back once.
 *
 * Errors. Functions return a packwright_status. On failure outputs and buffers are as they were, and
 * packwright_last_error() says what was wrong with which argument. Functions that return something else need a valid
 * type. The library never aborts. It writes nothing to stderr, unless PACKWRIGHT_LOG is set: then warnings and more, as
 * that variable says, if packwright_options.quiet does not forbid it.
 *
 * The process. All state is one table of what types have been compiled to, made by the first move. There are no signal
 * handlers; errno is left as it was by every call that succeeds; no locale is looked at. A thread that reads and a
 * thread that compiles kernels are started when a type has moved enough bytes, with all signals blocked. The library
 * stays in the process after dlclose(), since these threads and compiled kernels need its code. exit() and fork() wait
 * for a compile under way: some 10 ms, 100 ms when the compiler has to be loaded, never more than 2 s; vfork(),
 * posix_spawn() and system() do not. In a child of fork() types old and new can be moved, by the kernels that its
 * parent had and by the interpreter, but nothing is compiled; where the parent has moved nothing before, all is as
 * usual.
 * Packwright's MPI interposer in the same process has tables of its own, and neither knows of the other.
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
/* Why the last failed call of this thread failed: one line without a line end; "" before any failure. Valid until the
 * thread's next failure. */
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

/*
 * What the process wants, in place of environment variables. Zero-initialise, and set `size`. A field left at zero
 * means what the variable of that name says, else its default (`packwright env` lists them). The compiler is the module
 * libpackwright-llvm.so beside this library; without it, or with PACKWRIGHT_JIT=off, the interpreter moves everything.
 */
typedef struct packwright_options {
    size_t size; /* sizeof(packwright_options): which fields the caller knows */
    packwright_jit jit;
    /* The directory of the kernel cache on disk; NULL: as PACKWRIGHT_CACHE_DIR says, else its default; "": no cache on
     * disk. PACKWRIGHT_CACHE=0 turns it off in any case. */
    const char *cache_dir;
    int64_t hot_bytes; /* packed bytes after which ASYNC compiles a type; 0: PACKWRIGHT_HOT_BYTES, else 4 MiB */
    bool statistics;   /* count uses (packwright_type_statistics) */
    bool quiet;        /* no line on stderr, whatever PACKWRIGHT_LOG says */
} packwright_options;

/* Sets the options of the process, before the first move: afterwards it is PACKWRIGHT_ERR_INVALID, since all types
 * share what has been compiled. Calling it is optional. Fields that this library does not know must be zero, else it is
 * PACKWRIGHT_ERR_UNSUPPORTED. */
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
/* Another reference to the same type, which is MPI's dup where types are immutable. Returns `type`. */
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
/* Contiguous blocks of one object, as packwright_iovs finds them. The type's canonical form says, in which adjacent
 * blocks are merged wherever that makes it smaller. */
PACKWRIGHT_API int64_t packwright_blocks(const packwright_type *type);
/* 128 bits that are equal for types that move the same bytes in the same order and have the same extent, however they
 * were built, and for no others. Stable within a version of the library. PACKWRIGHT_ERR_UNSUPPORTED for a type with an
 * extent beyond 2^61 bytes, which has no canonical form. */
PACKWRIGHT_API packwright_status packwright_hash(const packwright_type *type, uint64_t hash[2]);

typedef enum packwright_text { PACKWRIGHT_TEXT_DDT, PACKWRIGHT_TEXT_IR } packwright_text;
/* The type's text, in canonical form; parses back to a type with the same hash, bounds and extent. The caller frees it
 * with free(). */
PACKWRIGHT_API packwright_status packwright_text_of(const packwright_type *type, packwright_text form, char **out);

typedef struct packwright_statistics {
    size_t size; /* sizeof(packwright_statistics), set by the caller */
    int64_t packs, unpacks, bytes;
    int64_t kernel_calls; /* of these calls, by a compiled kernel */
} packwright_statistics;
/* The uses of this type and of all that are equal to it, in this process. All zero unless packwright_options.statistics
 * or PACKWRIGHT_STATS is set. A copy counts as a pack of the one type and an unpack of the other. What is moved in
 * parts counts as the one call whose part begins with byte 0. */
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
 * *filled is how many were written to `iov`, 0 behind the last. There are count * packwright_blocks(type) of them, or 1
 * where the objects are dense and adjoin. Any block is found in a time that does not depend on `offset`, except in
 * types with a long list of members or of blocks of different lengths. */
PACKWRIGHT_API packwright_status packwright_iovs(const packwright_type *type, const void *memory, int64_t count,
                                                 int64_t offset, int64_t max, packwright_iov *iov, int64_t *filled);

/* From one layout to another: `from_count` objects at `from` to `to_count` objects at `to`, which must be as many bytes
 * (else PACKWRIGHT_ERR_INVALID), in packed order. Buffers must not overlap. */
PACKWRIGHT_API packwright_status packwright_copy(const packwright_type *from_type, const void *from, int64_t from_count,
                                                 const packwright_type *to_type, void *to, int64_t to_count);

/* These do what packwright_pack and packwright_unpack do where `memory`, `packed` or both lie in the memory of a CUDA
 * device, or in managed, pinned or ordinary memory. For the memory of a device the process must use the CUDA driver
 * already; the library does not load it. The calls begin after all earlier work of `stream` (a CUstream or
 * cudaStream_t; NULL: the default stream) and return when the bytes have moved. `stream` must not be being captured
 * into a graph. On PACKWRIGHT_ERR_DEVICE the contents of the target are undefined. */
PACKWRIGHT_API packwright_status packwright_pack_stream(const packwright_type *type, const void *memory, int64_t count,
                                                        void *packed, void *stream);
PACKWRIGHT_API packwright_status packwright_unpack_stream(const packwright_type *type, void *memory, int64_t count,
                                                          const void *packed, void *stream);
/* Does what packwright_copy does where `from`, `to` or both lie in the memory of a CUDA device; stream, return and
 * errors are those of packwright_pack_stream. Within the memory of one device, copied by one context, this is one
 * kernel that reads the one and writes the other. */
PACKWRIGHT_API packwright_status packwright_copy_stream(const packwright_type *from_type, const void *from,
                                                        int64_t from_count, const packwright_type *to_type, void *to,
                                                        int64_t to_count, void *stream);

#ifdef __cplusplus
}
#endif

#endif
