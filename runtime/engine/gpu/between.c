/*
 * MPI_Pack and MPI_Unpack, where each of the two sides may be host memory or a GPU's. Kernels reach pinned memory and
 * their own GPU's; everything else goes through a pinned block. Each call is complete when it returns.
 */
#include "runtime/engine/gpu/between.h"

#include "runtime/engine/gpu/place.h"

#include <string.h>

/* Up to this size a kernel that writes to pinned memory and a copy by the CPU take less time than the driver's copy to
 * pageable memory. */
enum { THROUGH_PINNED = 1 << 20 };

/* One call of pw_gpu_move_between. */
typedef struct between {
    const pw_buffer *buffer;
    pw_direction direction;
    char *packed;
    pw_memory_place packed_at;
} between;

static pw_status move(const between *b, pw_gpu_packed packed, pw_gpu_path path)
{
    return pw_gpu_carry_out(&(pw_gpu_order){
        .buffer = *b->buffer, .packed = packed, .bytes = b->buffer->bytes, .direction = b->direction, .path = path});
}

/* Both sides lie in memory of one GPU, whose kernels reach them. */
static pw_status in_one_gpu(const between *b)
{
    return move(b, (pw_gpu_packed){.device = pw_cu_address(b->packed)}, PW_GPU_DIRECT);
}

/* The path to host memory that kernels reach. */
static pw_gpu_path path_to_host(const between *b)
{
    return b->buffer->layout && pw_gpu_is_odd(b->buffer->layout, b->buffer->bytes) ? PW_GPU_STAGED : PW_GPU_DIRECT;
}

static pw_status through_pinned(const between *b)
{
    pw_gpu_block *block = NULL;
    pw_status status = pw_gpu_take(b->buffer->place.gpu, PW_GPU_PINNED_MEMORY, b->buffer->bytes, &block);

    if (status != PW_OK)
        return status;
    if (b->direction == PW_UNPACK)
        memcpy(block->host, b->packed, (size_t)b->buffer->bytes);
    status = move(b, pw_gpu_packed_in(block), path_to_host(b));
    if (status == PW_OK && b->direction == PW_PACK)
        memcpy(b->packed, block->host, (size_t)b->buffer->bytes);
    pw_gpu_give(b->buffer->place.gpu, block);
    return status;
}

static pw_cu_ptr mapped(const between *b)
{
    pw_gpu_scope scope;
    pw_cu_ptr address = 0;

    if (pw_gpu_enter(b->buffer->place.gpu, &scope) == PW_OK) {
        address = pw_gpu_mapped_address(b->packed);
        pw_gpu_leave(&scope);
    }
    return address;
}

static pw_status to_host(const between *b)
{
    pw_cu_ptr device = mapped(b);

    if (device)
        return move(b, (pw_gpu_packed){.host = b->packed, .device = device}, path_to_host(b));
    if (b->buffer->layout && b->buffer->bytes <= THROUGH_PINNED && through_pinned(b) == PW_OK)
        return PW_OK;
    return move(b, (pw_gpu_packed){.host = b->packed}, PW_GPU_STAGED);
}

/* The sides lie in memory of two GPUs: the bytes go through pinned memory, which both reach. */
static pw_status between_gpus(const between *b)
{
    pw_gpu *there = b->packed_at.gpu;
    pw_gpu_block *block = NULL;
    pw_status status = pw_gpu_take(b->buffer->place.gpu, PW_GPU_PINNED_MEMORY, b->buffer->bytes, &block);

    if (status != PW_OK)
        return status;
    if (b->direction == PW_UNPACK) {
        status = pw_gpu_copy(there, pw_cu_address(block->host), pw_cu_address(b->packed), b->buffer->bytes);
        if (status == PW_OK)
            status = move(b, pw_gpu_packed_in(block), PW_GPU_DIRECT);
    } else {
        status = move(b, pw_gpu_packed_in(block), PW_GPU_DIRECT);
        if (status == PW_OK)
            status = pw_gpu_copy(there, pw_cu_address(b->packed), pw_cu_address(block->host), b->buffer->bytes);
    }
    pw_gpu_give(b->buffer->place.gpu, block);
    return status;
}

/* ---- the buffer in host memory ----------------------------------------------------------------------------------- */

static void move_on_host(const between *b, void *packed)
{
    const pw_buffer *u = b->buffer;
    char *dense = (char *)u->base + u->offset;

    if (u->layout && b->direction == PW_UNPACK)
        pw_layout_unpack(u->layout, u->base, u->count, packed);
    else if (u->layout)
        pw_layout_pack(u->layout, u->base, u->count, packed);
    else
        memcpy(b->direction == PW_UNPACK ? dense : packed, b->direction == PW_UNPACK ? packed : dense,
               (size_t)u->bytes);
}

static pw_status from_host(const between *b)
{
    pw_gpu *gpu = b->packed_at.gpu;
    pw_gpu_block *block = NULL;
    pw_cu_ptr packed = pw_cu_address(b->packed), host;
    pw_status status = pw_gpu_take(gpu, PW_GPU_PINNED_MEMORY, b->buffer->bytes, &block);

    if (status != PW_OK)
        return status;
    host = pw_cu_address(block->host);
    if (b->direction == PW_UNPACK) {
        status = pw_gpu_copy(gpu, host, packed, b->buffer->bytes);
        if (status == PW_OK)
            move_on_host(b, block->host);
    } else {
        move_on_host(b, block->host);
        status = pw_gpu_copy(gpu, packed, host, b->buffer->bytes);
    }
    pw_gpu_give(gpu, block);
    return status;
}

pw_status pw_gpu_move_between(const pw_buffer *buffer, pw_direction direction, void *packed, pw_memory_place packed_at)
{
    const between b = {.buffer = buffer, .direction = direction, .packed = packed, .packed_at = packed_at};

    if (buffer->place.kind == PW_PLACE_HOST)
        return from_host(&b);
    if (packed_at.kind == PW_PLACE_HOST)
        return to_host(&b);
    return buffer->place.gpu == packed_at.gpu ? in_one_gpu(&b) : between_gpus(&b);
}
