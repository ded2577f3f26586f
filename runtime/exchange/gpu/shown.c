/*
 * Messages that peers' GPUs take from the program's own memory, the sender's side. An entry belongs to the stand-in of
 * its number from pw_gpu_show to pw_gpu_show_end. If somebody else reads the stand-in, the whole message is packed
 * once, in device memory.
 */
#include "runtime/exchange/gpu/shown.h"

#include "base/env.h"
#include "runtime/exchange/board.h"
#include "runtime/exchange/direct.h"
#include "runtime/exchange/gpu/exported.h"
#include "runtime/exchange/late.h"

/* What a stand-in shows. Belongs to the thread that has taken it, or for which lazy memory makes its bytes. */
typedef struct shown {
    pw_buffer buffer;
    pw_segment_exported exported;
    pw_gpu_block *packed; /* device memory with the packed message; NULL: it is not packed */
} shown;

/* The singleton, by the numbers of stand-ins. */
static shown table[PW_SEGMENT_STAND_INS];

bool pw_gpu_may_show(void)
{
    return pw_gpu_can_export() && pw_env_bool(PW_ENV_LAZY) && pw_direct_is_possible();
}

/* ---- showing ----------------------------------------------------------------------------------------------------- */

static bool find(const pw_buffer *buffer, pw_segment_exported *out)
{
    const pw_gpu *gpu = buffer->place.gpu;
    PW_GPU_SCOPE(scope);
    pw_cu_ptr lowest;
    int64_t lo, bytes;

    if (!pw_view_bounds(buffer, &lo, &bytes) || !pw_gpu_is_alive(gpu) || pw_gpu_enter(gpu, &scope) != PW_OK)
        return false;
    lowest = pw_cu_address(buffer->base) + (pw_cu_ptr)lo;
    return pw_gpu_export(gpu, lowest, out) == PW_OK && pw_segment_exported_has(out, lowest, (uint64_t)bytes);
}

bool pw_gpu_show(int number, const pw_buffer *buffer)
{
    pw_gpu_give(table[number].buffer.place.gpu, table[number].packed);
    table[number] = (shown){.buffer = pw_view_plain(*buffer)};
    return find(buffer, &table[number].exported);
}

/* Between the two calls of pw_gpu_show_together: the context whose program this thread has waited for. */
static _Thread_local bool together;
static _Thread_local const pw_gpu *waited_for;

void pw_gpu_show_together(bool on)
{
    together = on;
    waited_for = NULL;
    pw_lazy_together(on);
}

/* Waits for the default stream by an event in an idle lane. cuStreamSynchronize(NULL), for want of a lane, also waits
 * for all streams that are ordered with the default stream: for moves in other lanes, and for what the program computes
 * meanwhile. cuStreamSynchronize of the lane would not wait, since it overlooks an event without other work. */
static pw_status wait_in_lane(pw_gpu *gpu)
{
    pw_gpu_lane *lane = pw_gpu_lane_take_kept(gpu);
    pw_status status;

    if (!lane)
        return pw_cu_check(pw_cu.stream_wait(NULL), "cuStreamSynchronize");
    status = pw_cu_check(pw_cu.event_record(lane->event, lane->stream), "cuEventRecord");
    if (status == PW_OK)
        status = pw_cu_check(pw_cu.event_wait(lane->event), "cuEventSynchronize");
    pw_gpu_lane_give(lane);
    return status;
}

/* Waits for what the program has put into the legacy default stream of the context. */
static pw_status wait_for_program(pw_gpu *gpu)
{
    PW_GPU_SCOPE(scope);
    pw_status status;

    if (waited_for == gpu)
        return PW_OK;
    status = pw_gpu_enter(gpu, &scope);
    if (status == PW_OK && pw_cu.stream_query(NULL) != PW_CU_OK)
        status = wait_in_lane(gpu);
    if (status == PW_OK && together)
        waited_for = gpu;
    return pw_gpu_judge(gpu, status);
}

bool pw_gpu_offer(pw_segment_offer *o, const pw_buffer *buffer)
{
    const pw_buffer plain = pw_view_plain(*buffer);
    pw_segment_text text = {.address = 0};
    pw_segment_exported memory;

    if (!find(&plain, &memory) || (plain.layout && !pw_board_put(plain.layout, &text)) ||
        wait_for_program(plain.place.gpu) != PW_OK)
        return false;
    pw_direct_offer(o, &plain, &memory, &text);
    return true;
}

bool pw_gpu_offer_again(pw_segment_offer *o, const pw_buffer *buffer)
{
    pw_segment_exported memory;

    if (!find(buffer, &memory) || memory.number != o->exported.number || wait_for_program(buffer->place.gpu) != PW_OK)
        return false;
    pw_late_begin(&o->late, true);
    return true;
}

static pw_status pack(shown *s)
{
    pw_gpu_order order = {.buffer = s->buffer, .bytes = s->buffer.bytes, .direction = PW_PACK, .path = PW_GPU_DIRECT};
    pw_status status = pw_gpu_take(s->buffer.place.gpu, PW_GPU_DEVICE_MEMORY, s->buffer.bytes, &s->packed);

    if (status != PW_OK)
        return status;
    order.packed = pw_gpu_packed_in(s->packed);
    return pw_gpu_carry_out(&order);
}

/* Packs the message when its bytes are wanted. */
static bool make(void *arg, void *to, int64_t bytes)
{
    shown *s = arg;
    pw_cu_ptr from;

    if (s->buffer.layout && !s->packed && pack(s) != PW_OK)
        return false;
    from = s->packed ? s->packed->device : pw_cu_address(pw_view_first(&s->buffer));
    return pw_gpu_copy(s->buffer.place.gpu, pw_cu_address(to), from, bytes) == PW_OK;
}

pw_status pw_gpu_show_begin(int number)
{
    shown *s = &table[number];
    const pw_direct_message message = {.objects = s->buffer, .exported = &s->exported, .make = make, .arg = s};
    pw_status status = wait_for_program(s->buffer.place.gpu);

    if (status != PW_OK)
        return status;
    pw_direct_begin(number, &message);
    return PW_OK;
}

void pw_gpu_show_end(int number)
{
    shown *s = &table[number];

    pw_direct_end(number);
    pw_gpu_give(s->buffer.place.gpu, s->packed);
    *s = (shown){.packed = NULL};
    pw_direct_give(number);
}
